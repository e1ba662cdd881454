//! Statements with the curvature on a ball around the answer.

use super::audits::audits;
use super::global::{audited, hold, on_the_line, scatter};
use super::line::{Answer, Cut};
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::Result;
use std::f64;

/// Every answer in one dimension, restricted to every ball whose hypotheses hold.
fn cuts(trial: &Trial, mut see: impl FnMut(&str, &Answer<'_>, &Cut)) -> Result<()> {
    let radii: &[f64] = if trial.quick { &[2.5, 4.0, 6.0] } else { &[1.5, 2.0, 3.0, 4.0, 5.0, 7.0] };
    on_the_line(trial, |answer| {
        for &radius in radii {
            if let Some(cut) = answer.cut(radius)? {
                see(&format!("line: {}, R = {radius}", answer.name), answer, &cut);
            }
        }
        Ok(())
    })
}

/// KL(q_B‖p): log p(x) minus the claim's lower end E_{q_B}D − log(1−α), with the sign reversed.
fn ball_kl(answer: &Answer<'_>, cut: &Cut) -> f64 {
    cut.value - (-cut.ball.alpha).ln_1p() + answer.case.truth.log_evidence
}

/// [cert-local]: the mass outside, and KL(q_B‖p) ≤ K_B.
pub(crate) fn ball(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut masses, mut divergences) = (Vec::new(), Vec::new());
    cuts(trial, |name, answer, cut| {
        for j in 0..3 {
            let (found, bound) = (cut.beyond[j], cut.ball.outside.moments[j]);
            outcome.check(Check::at_most(format!("{name}, T_{j}"), found, trial.upper(bound) + 1e-12));
        }
        masses.push((cut.beyond[0], cut.ball.outside.moments[0]));
        let (found, bound) = (ball_kl(answer, cut), cut.ball.kl());
        outcome.check(Check::at_most(format!("{name}, KL(q_B‖p)"), found, trial.upper(bound) + 1e-9));
        divergences.push((found, bound));
    })?;
    outcome.figures.push(Figure {
        name: "cert-local".into(),
        caption: "On the line, by quadrature: the posterior's mass outside the ball against T_0, and KL(q_B‖p) against K_B."
            .into(),
        panels: vec![
            scatter("Mass outside the ball", "p(Bᶜ)/p(B)", masses, 0),
            scatter("KL of the ball", "KL(q_B‖p), nats", divergences, 1),
        ],
    });
    Ok(outcome)
}

/// [local-kl].
pub(crate) fn local_kl(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    let mut below = 0usize;
    cuts(trial, |name, answer, cut| {
        let bound = cut.ball.kl_of_whole(cut.excess);
        outcome.check(Check::at_most(name, answer.kl(), trial.upper(bound) + 1e-9));
        below += usize::from(cut.ball.kl() < answer.kl());
        points.push((answer.kl(), bound));
    })?;
    outcome.notes.push(format!(
        "K_B alone lies below KL(q‖p) in {below} of {} cases: it is a statement about q_B",
        points.len()
    ));
    let claimed = audited(&mut outcome, trial, "local-kl", &[|a| &a.kl])?;
    outcome.figures.push(Figure {
        name: "local-kl".into(),
        caption: "KL(q‖p): the local bound against the truth, on the line by quadrature for every radius, and from draws \
                  (δ = 10⁻⁶) in two to five dimensions."
            .into(),
        panels: vec![
            scatter("By quadrature, all radii", "KL, nats", points, 0),
            scatter("Audits from draws", "KL, nats", claimed, 1),
        ],
    });
    Ok(outcome)
}

/// [local-tv].
pub(crate) fn local_tv(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    cuts(trial, |name, answer, cut| {
        let bound = cut.ball.total_variation();
        outcome.check(Check::at_most(name, answer.variation, trial.upper(bound) + 1e-6));
        points.push((answer.variation, bound));
    })?;
    let mut claimed = Vec::new();
    for a in audits(trial.quick)? {
        hold(&mut outcome, &a.tv, &["local-tv", "local-kl", "cert-kl", "cert-transport"], trial);
        claimed.extend(a.tv.iter().map(|c| (c.truth, c.bound)));
    }
    outcome.figures.push(Figure {
        name: "local-tv".into(),
        caption: "Total variation: bound against truth, on the line and from audits.".into(),
        panels: vec![
            scatter("By quadrature, all radii", "total variation", points, 0),
            scatter("Audits from draws", "total variation", claimed, 1),
        ],
    });
    Ok(outcome)
}

/// [local-evidence].
pub(crate) fn local_evidence(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    cuts(trial, |name, answer, cut| {
        // E_{q_B}D − log(1−α) ∈ [−log p(x), −log p(x) + K_B].
        let above = ball_kl(answer, cut);
        outcome.check(Check::at_least(format!("{name}, lower end"), above + 1e-9, 0.0));
        outcome.check(Check::at_most(format!("{name}, upper end"), above, trial.upper(cut.ball.kl()) + 1e-9));
        points.push((above, cut.ball.kl()));
    })?;
    let mut claimed = Vec::new();
    for a in audits(trial.quick)? {
        for claim in a.evidence.iter().filter(|c| c.key.starts_with("local")) {
            outcome.check(Check::at_least(
                format!("audit: {}, lower end", claim.name),
                claim.truth + 1e-9,
                0.0,
            ));
        }
        hold(&mut outcome, &a.evidence, &["local-evidence", "local-kl"], trial);
        claimed.extend(a.evidence.iter().map(|c| (c.truth, c.bound)));
    }
    outcome.figures.push(Figure {
        name: "local-evidence".into(),
        caption: "Log evidence: the width of the interval against the part of it that is needed.".into(),
        panels: vec![
            scatter("By quadrature, all radii", "distance to the lower end, nats", points, 0),
            scatter("Audits from draws", "distance to the lower end, nats", claimed, 1),
        ],
    });
    Ok(outcome)
}

/// [local-moments].
pub(crate) fn local_moments(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut means, mut deviations) = (Vec::new(), Vec::new());
    cuts(trial, |name, answer, cut| {
        let [mean, sd] = cut.ball.moments(1.0, cut.low.powf(-0.5));
        outcome.check(Check::at_most(format!("{name}, mean"), answer.mean_error(), trial.upper(mean) + 1e-9));
        outcome.check(Check::at_most(format!("{name}, sd"), answer.sd_error(), trial.upper(sd) + 1e-9));
        means.push((answer.mean_error(), mean));
        deviations.push((answer.sd_error(), sd));
    })?;
    for a in audits(trial.quick)? {
        hold(&mut outcome, &a.means, &["local-moments"], trial);
        hold(&mut outcome, &a.deviations, &["local-moments"], trial);
    }
    outcome.figures.push(Figure {
        name: "local-moments".into(),
        caption: "Errors of mean and standard deviation in units of q's deviation: local bound against truth, on the line \
                  by quadrature for every radius."
            .into(),
        panels: vec![
            scatter("Mean", "error of the mean, sd", means, 0),
            scatter("Standard deviation", "error of the sd, sd", deviations, 1),
        ],
    });
    Ok(outcome)
}
