//! What no theorem covers: the automatic method and the importance-sampling estimates.

use super::posterior::{Hidden, Line};
use crate::algebra::{dot, extremes, product, transposed};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, regression, small, w1};
use crate::space::{moments, objective};
use crate::trial::Trial;
use provi::estimate::estimate as importance;
use provi::solve::Solver;
use provi::target::{Evaluator, Family};
use provi::{Auto, Result, Seed, Target};

/// [auto]: no theorem about the steps; the answer is a fixed point, and its certified gap covers the true one.
pub(crate) fn auto(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut problems = small()?;
    if !trial.quick {
        problems.push(w1()?);
    }
    let easy = problems.len();
    for k in 0..trial.effort(4u64, 24) {
        let precision = 10f64.powf(1.0 - 4.0 * k as f64 / trial.effort(4.0, 24.0));
        let model = regression(Family::Bernoulli, 8_000 + 5 * k, 2 + k as usize % 5, precision)?;
        problems.push(Problem::new(format!("random logistic {k}"), model)?);
    }
    let mut points = Vec::new();
    for (i, problem) in problems.iter().enumerate() {
        let target: &(dyn Target + Send + Sync) = problem.target.as_ref();
        let answer = Auto::default().run(target, Seed(3))?;
        let q = &answer.fit.gaussian;
        let truth = objective(problem.target(), q)? - problem.best;
        let bound = answer.certificate().gap.bound().unwrap_or(f64::INFINITY);
        let name = &problem.name;
        outcome.check(Check::at_most(format!("{name}: true gap"), truth, trial.upper(bound) + 1e-10));
        points.push((problem.condition(), bound));
        if i >= easy {
            continue;
        }
        outcome.check(Check::at_most(format!("{name}: certified gap"), bound, trial.upper(1e-9)));
        // E∇V = 0 and CᵀE∇²V C = I.
        let at = moments(problem.target(), q)?;
        let c = q.factor_matrix();
        let seen = product(&product(&transposed(&c), &at.hessian), &c);
        let pulled = product(&transposed(&c), &provi::Matrix::new(q.dim(), 1, at.gradient.clone())?);
        let slope = dot(pulled.entries(), pulled.entries()).sqrt();
        outcome.check(Check::at_most(format!("{name}: ‖CᵀE∇V‖"), slope, 1e-4));
        let (low, high) = extremes(&seen);
        let off = (high - 1.0).abs().max((1.0 - low).abs());
        outcome.check(Check::at_most(format!("{name}: ‖CᵀE∇²V C − I‖"), off, 1e-4));
    }
    // The looks at a certificate share δ: Σ 1/(k(k+1)) over any number of looks.
    let spent: f64 = (1..10_000u32).map(|k| 1.0 / (f64::from(k) * (f64::from(k) + 1.0))).sum();
    outcome.check(Check::at_most("share of δ spent by 9999 looks", spent, trial.upper(1.0)));
    outcome.figures.push(Figure {
        name: "auto".into(),
        caption:
            "The automatic path: the certified gap to the best Gaussian, over the condition number: logistic \
                  regressions with weaker and weaker priors, and the problems of the other experiments."
                .into(),
        panels: vec![Panel {
            title: "Certified gap of the automatic path".into(),
            x: Axis::log("condition number κ"),
            y: Axis::log("certified gap, nats"),
            series: vec![Series::new("problems", Mark::Points, 0, points)],
        }],
    });
    Ok(outcome)
}

/// [estimate]: no bound; the importance-sampling estimate is within six of its own standard errors where k̂ < 0.7.
pub(crate) fn estimate(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for (k, rows) in [10usize, 30, 100].into_iter().enumerate() {
        let lines: Vec<Line> = (0..3)
            .map(|j| Line::random(Family::Bernoulli, 60_000 + 100 * k as u64 + 3 * j, rows, 1.0, 1.0))
            .collect();
        let hidden = Hidden::new(&lines, 61_000)?;
        let q = Solver::default().run(&hidden.target)?.gaussian;
        for seed in 0..trial.effort(10, 100) {
            let found =
                importance(Evaluator::Serial(&hidden.target), &q, Seed(seed), trial.effort(1000, 4000))?;
            if found.pareto_k >= 0.7 {
                continue;
            }
            let off = (found.log_evidence - hidden.log_evidence).abs() / found.log_evidence_se;
            outcome.check(Check::at_most(
                format!("N/d = {rows}, seed {seed}: error in standard errors"),
                off,
                trial.upper(6.0),
            ));
            points.push((rows as f64 * (1.0 + 0.004 * seed as f64), off.max(1e-2)));
        }
    }
    outcome.figures.push(Figure {
        name: "estimate".into(),
        caption: "The importance-sampling estimate of log p(x): its error in units of its own standard error, over seeds. \
                  An estimate, not a bound."
            .into(),
        panels: vec![Panel {
            title: "Estimated log evidence".into(),
            x: Axis::log("rows per coordinate N/d"),
            y: Axis::linear("|error|/standard error"),
            series: vec![
                Series::new("seeds", Mark::Points, 0, points),
                Series::new("six", Mark::Bound, 1, vec![(10.0, 6.0), (150.0, 6.0)]),
            ],
        }],
    });
    Ok(outcome)
}
