//! Consequences of a proved KL or evidence: probabilities of events, and differences of log evidences.

use super::global::{on_the_line, scatter};
use super::line::Answer;
use super::posterior::Line;
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::space::objective;
use crate::trial::Trial;
use provi::Result;
use provi::solve::Solver;
use provi::target::Family;
use provi::theory::certificate as theory;

/// KL divergence of two coins.
fn coins(a: f64, b: f64) -> f64 {
    let part = |x: f64, y: f64| if x > 0.0 { x * (x / y).ln() } else { 0.0 };
    part(a, b) + part(1.0 - a, 1.0 - b)
}

/// [cert-event]: for events {x > c} on the line, the divergence of the two coins against KL(q‖p), true and certified.
pub(crate) fn event(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |answer: &Answer<'_>| {
        let certified = theory::kl(answer.square / answer.low);
        for c in [-2.0, -1.0, 0.0, 0.35, 1.0, 2.0] {
            let [posterior, own] = answer.masses_above(c);
            let found = coins(own, posterior);
            let name = format!("line: {}, P(x > {c})", answer.name);
            outcome.check(Check::at_most(
                format!("{name}, from the true KL"),
                found,
                trial.upper(answer.kl()) + 1e-8,
            ));
            outcome.check(Check::at_most(format!("{name}, certified"), found, trial.upper(certified) + 1e-8));
            points.push((found, answer.kl()));
        }
        Ok(())
    })?;
    let mut panel = scatter("Probabilities of events", "", points, 0);
    panel.x = Axis::log("divergence of the two coins, nats");
    panel.y = Axis::log("KL(q‖p), nats");
    panel.series[1].name = "equality".into();
    outcome.figures.push(Figure {
        name: "cert-event".into(),
        caption: "Events {x > c} on the line: the divergence of the two coins, q's and the posterior's, against KL(q‖p)."
            .into(),
        panels: vec![panel],
    });
    Ok(outcome)
}

/// [evidence-difference]: two priors for the same rows, their intervals and the true log Bayes factor.
pub(crate) fn evidence_difference(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for k in 0..trial.effort(6u64, 40) {
        let rows = [5, 20, 80, 300][k as usize % 4];
        let mut intervals = Vec::new();
        let mut truths = Vec::new();
        for precision in [0.3, 3.0] {
            // The same stream: the same rows under another prior.
            let line = Line::random(Family::Bernoulli, 80_000 + 10 * k, rows, precision, 1.0);
            let target = line.target()?;
            let q = Solver::default().run(&target)?.gaussian;
            let f = objective(&target, &q)?;
            let s = q.factor()[0];
            let mean2: f64 =
                provi_testkit::cubature::cubature(1, &provi_testkit::cubature::trapezoid(0.02), |u| {
                    Ok((s * line.potential(q.mean()[0] + s * u[0])[1] - u[0]).powi(2))
                })?;
            intervals.push((-f, theory::kl(mean2 / (s * s * precision))));
            truths.push(line.truth().log_evidence);
        }
        let (truth, [(l1, w1), (l2, w2)]) = (truths[0] - truths[1], [intervals[0], intervals[1]]);
        let name = format!("N = {rows}, pair {k}");
        // l₁ − u₂ ≤ log BF ≤ u₁ − l₂, each side measured from the difference of the lower ends.
        outcome.check(Check::at_most(
            format!("{name}: above l₁ − l₂ by"),
            truth - (l1 - l2),
            trial.upper(w1) + 1e-9,
        ));
        outcome.check(Check::at_most(
            format!("{name}: below l₁ − l₂ by"),
            (l1 - l2) - truth,
            trial.upper(w2) + 1e-9,
        ));
        points.push((truth, l1 - l2 - w2, l1 - l2 + w1));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let column = |f: fn(&(f64, f64, f64)) -> f64| points.iter().map(|p| (p.0, f(p))).collect::<Vec<_>>();
    outcome.figures.push(Figure {
        name: "evidence-difference".into(),
        caption: "Two priors for the same rows: the proved interval of the log Bayes factor against its true value.".into(),
        panels: vec![Panel {
            title: "Log Bayes factors".into(),
            x: Axis::linear("true log Bayes factor, nats"),
            y: Axis::linear("proved interval, nats"),
            series: vec![
                Series::new("upper end", Mark::Points, 0, column(|p| p.2)),
                Series::new("lower end", Mark::Points, 1, column(|p| p.1)),
                Series::new("true", Mark::Reference, 7, column(|p| p.0)),
            ],
        }],
    });
    Ok(outcome)
}
