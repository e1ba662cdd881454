//! Statements with the curvature over all z: gap, KL, moments, evidence.

use super::audits::{Audited, Claim, audits};
use super::line::{Answer, cases};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{normals, small};
use crate::space::{gradient, objective};
use crate::trial::Trial;
use provi::target::Evaluator;
use provi::theory::certificate as theory;
use provi::{Audit, Gaussian, Result, Seed, Triangular};

/// Checks the claims of the audits that rest on one of `keys`: the true value is below the bound, with failure
/// probability 1e-6.
pub(crate) fn hold(outcome: &mut Outcome, claims: &[Claim], keys: &[&str], trial: &Trial) {
    for claim in claims.iter().filter(|c| keys.contains(&c.key.as_str())) {
        let mean = crate::statistics::Mean { value: claim.truth, error: claim.error };
        outcome.check(Check::mean_at_most(
            format!("audit: {}", claim.name),
            mean,
            trial.upper(claim.bound) + 1e-9,
        ));
    }
}

/// Checks what the audits claim by one statement, and returns true values with their bounds.
pub(crate) fn audited(
    outcome: &mut Outcome,
    trial: &Trial,
    key: &str,
    parts: &[fn(&Audited) -> &[Claim]],
) -> Result<Vec<(f64, f64)>> {
    let mut points = Vec::new();
    for a in audits(trial.quick)? {
        for claims in parts.iter().map(|part| part(a)) {
            hold(outcome, claims, &[key], trial);
            points.extend(claims.iter().filter(|c| c.key == key).map(|c| (c.truth, c.bound)));
        }
    }
    Ok(points)
}

/// Checks what the audits claim of the log evidence by one statement, with a figure.
pub(crate) fn audited_evidence(outcome: &mut Outcome, trial: &Trial, key: &str) -> Result<()> {
    let points = audited(outcome, trial, key, &[|a| &a.evidence])?;
    outcome.figures.push(Figure {
        name: key.into(),
        caption: "The width of the certified interval of the log evidence against the part of it that is needed, from its lower end \
                  to the truth."
            .into(),
        panels: vec![scatter("Audits from draws", "log evidence, nats", points, 1)],
    });
    Ok(())
}

/// Certified against true values, log–log, with the diagonal.
pub(crate) fn scatter(title: &str, what: &str, points: Vec<(f64, f64)>, color: usize) -> Panel {
    let points: Vec<(f64, f64)> = points.into_iter().filter(|(x, y)| *x > 1e-12 && y.is_finite()).collect();
    let low = points.iter().fold(f64::INFINITY, |a, p| a.min(p.0));
    let high = points.iter().fold(0.0f64, |a, p| a.max(p.0));
    Panel {
        title: title.into(),
        x: Axis::log(&format!("true {what}")),
        y: Axis::log(&format!("certified {what}")),
        series: vec![
            Series::new("answers", Mark::Points, color, points),
            Series::new("certified = true", Mark::Reference, 7, vec![(low, low), (high, high)]),
        ],
    }
}

/// Every answer on the line.
pub(crate) fn on_the_line(trial: &Trial, mut see: impl FnMut(&Answer<'_>) -> Result<()>) -> Result<()> {
    for case in &cases(trial.quick)? {
        for answer in case.answers()? {
            see(&answer)?;
        }
    }
    Ok(())
}

/// [cert-gap].
pub(crate) fn gap(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        let g = gradient::<Triangular>(&a.case.target, &a.q, true)?;
        // ‖G‖² in the dual norm of H_lo, on the line: (g_m² + g_C²)/H_lo.
        let scale = a.q.factor()[0].powi(2);
        let norm = (crate::algebra::dot(&g, &g) * scale / a.low).sqrt();
        let bound = theory::gap(norm, 0.0);
        outcome.check(Check::at_most(format!("line: {}", a.name), a.f - a.best, trial.upper(bound) + 1e-9));
        points.push((a.f - a.best, bound));
        Ok(())
    })?;
    for a in audits(trial.quick)? {
        hold(&mut outcome, &a.gap, &["cert-gap"], trial);
        points.extend(a.gap.iter().map(|c| (c.truth, c.bound)));
    }
    // Away from w* on the small problems.
    for problem in &small()? {
        for k in 0..trial.effort(3u64, 20) {
            let shift = normals(40_000 + k, problem.star.parameters().len());
            let size = 10f64.powf(-2.0 + 0.2 * (k % 10) as f64);
            let d = problem.dim();
            let w: Vec<f64> =
                problem.star.parameters().iter().zip(&shift).map(|(w, s)| w + 0.2 * size * s).collect();
            let Ok(q) = Gaussian::<Triangular>::new(&w[..d], &w[d..]) else { continue };
            let audit = Audit { draws: 1000, ..Audit::default() };
            let c = audit.run(Evaluator::Serial(problem.target()), &q, Seed(k))?.certificate().clone();
            let Some(bound) = c.gap.bound() else { continue };
            let truth = objective(problem.target(), &q)? - problem.best;
            outcome.check(Check::at_most(
                format!("{}, near w*", problem.name),
                truth,
                trial.upper(bound) + 1e-9,
            ));
            points.push((truth, bound));
        }
    }
    outcome.figures.push(Figure {
        name: "cert-gap".into(),
        caption: "The certified gap ½‖G‖² to the best Gaussian against the true one: answers on the line and in several \
                  dimensions. Nothing below the diagonal."
            .into(),
        panels: vec![scatter("Gap to the best Gaussian", "gap, nats", points, 0)],
    });
    Ok(outcome)
}

/// [cert-kl].
pub(crate) fn kl(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        let bound = theory::kl(a.square / a.low);
        outcome.check(Check::at_most(format!("line: {}", a.name), a.kl(), trial.upper(bound) + 1e-9));
        points.push((a.kl(), bound));
        Ok(())
    })?;
    for a in audits(trial.quick)? {
        hold(&mut outcome, &a.kl, &["cert-kl"], trial);
    }
    outcome.figures.push(Figure {
        name: "cert-kl".into(),
        caption: "½F in the metric of the global H_lo against KL(q‖p), on the line, every number by quadrature. It is \
                  attained by shifted answers to linear regressions, and loose where H_lo is only the prior's."
            .into(),
        panels: vec![scatter("The log-Sobolev bound", "KL, nats", points, 0)],
    });
    Ok(outcome)
}

/// [cert-transport].
pub(crate) fn transport(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut points, mut shares) = (Vec::new(), Vec::new());
    on_the_line(trial, |a| {
        let (bound, plain) = (a.transport(), theory::kl(a.square / a.low));
        outcome.check(Check::at_most(format!("line: {}", a.name), a.kl(), trial.upper(bound) + 1e-9));
        outcome.check(Check::at_most(
            format!("line: {}, E G below ½F", a.name),
            bound,
            trial.upper(plain) + 1e-9,
        ));
        points.push((a.kl(), bound));
        shares.push((plain, bound));
        Ok(())
    })?;
    let mut audited = Vec::new();
    for a in audits(trial.quick)? {
        hold(&mut outcome, &a.kl, &["cert-transport"], trial);
        hold(&mut outcome, &a.tv, &["cert-transport"], trial);
        audited.extend(a.kl.iter().filter(|c| c.key == "cert-transport").map(|c| (c.truth, c.bound)));
    }
    outcome.figures.push(Figure {
        name: "cert-transport".into(),
        caption: "E_q G by transport against KL(q‖p), on the line by quadrature and from audits, where confidence is added; \
                  and against the log-Sobolev bound ½F of the same answers, which it never exceeds."
            .into(),
        panels: vec![
            scatter("The transport bound", "KL, nats", points, 0),
            scatter("Audits from draws", "KL, nats", audited, 1),
            Panel {
                title: "Against log-Sobolev".into(),
                x: Axis::log("½F, nats"),
                y: Axis::log("E G, nats"),
                series: against(shares),
            },
        ],
    });
    Ok(outcome)
}

/// Points, and the diagonal that they must not cross.
fn against(points: Vec<(f64, f64)>) -> Vec<Series> {
    let points: Vec<(f64, f64)> = points.into_iter().filter(|(x, y)| *x > 1e-12 && *y > 1e-12).collect();
    let low = points.iter().fold(f64::INFINITY, |a, p| a.min(p.0));
    let high = points.iter().fold(0.0f64, |a, p| a.max(p.0));
    vec![
        Series::new("answers", Mark::Points, 2, points),
        Series::new("equal", Mark::Reference, 7, vec![(low, low), (high, high)]),
    ]
}

/// [cert-moments].
pub(crate) fn moments(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut means, mut deviations) = (Vec::new(), Vec::new());
    on_the_line(trial, |a| {
        let bound = theory::moment_error(a.low.powf(-0.5), theory::kl(a.square / a.low));
        outcome.check(Check::at_most(
            format!("line: {}, mean and sd together", a.name),
            a.mean_error().hypot(a.sd_error()),
            trial.upper(bound) + 1e-7,
        ));
        let variation = theory::total_variation(a.kl().max(0.0));
        outcome.check(Check::at_most(
            format!("line: {}, TV from KL", a.name),
            a.variation,
            trial.upper(variation) + 1e-6,
        ));
        means.push((a.mean_error(), bound));
        deviations.push((a.sd_error(), bound));
        Ok(())
    })?;
    for a in audits(trial.quick)? {
        hold(&mut outcome, &a.means, &["cert-moments"], trial);
        hold(&mut outcome, &a.deviations, &["cert-moments"], trial);
    }
    outcome.figures.push(Figure {
        name: "cert-moments".into(),
        caption:
            "The global moment bound against the true errors of mean and standard deviation, in units of q's \
                  deviation, on the line by quadrature."
                .into(),
        panels: vec![
            scatter("Mean", "error of the mean, sd", means, 0),
            scatter("Standard deviation", "error of the sd, sd", deviations, 1),
        ],
    });
    Ok(outcome)
}

/// [cert-evidence].
pub(crate) fn evidence(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        let (truth, width) = (a.case.truth.log_evidence, theory::kl(a.square / a.low));
        // −f ≤ log p(x) ≤ −f + ½F, measured from the lower end.
        outcome.check(Check::at_least(format!("line: {}, above −f", a.name), truth + a.f + 1e-9, 0.0));
        outcome.check(Check::at_most(
            format!("line: {}, below −f + ½F", a.name),
            truth + a.f,
            trial.upper(width) + 1e-9,
        ));
        points.push((truth + a.f, width));
        Ok(())
    })?;
    for a in audits(trial.quick)? {
        hold(&mut outcome, &a.evidence, &["cert-evidence"], trial);
        for claim in a.evidence.iter().filter(|c| c.key == "cert-evidence") {
            outcome.check(Check::at_least(
                format!("audit: {}, lower end", claim.name),
                claim.truth + 1e-9,
                0.0,
            ));
        }
    }
    outcome.figures.push(Figure {
        name: "cert-evidence".into(),
        caption: "The evidence interval [−f, −f + ½F]: its width against the part of it that is needed, on the line.".into(),
        panels: vec![scatter("Log evidence", "log p(x) above −f, nats", points, 0)],
    });
    Ok(outcome)
}
