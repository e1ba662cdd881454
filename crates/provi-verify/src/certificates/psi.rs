//! Statements by an envelope of log q/p and cells: KL, evidence and moments.

use super::global::{audited, audited_evidence, on_the_line, scatter};
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::Result;

/// Radii of the exact checks.
const RADII: [f64; 3] = [3.0, 4.5, 6.0];

/// [psi-envelope].
pub(crate) fn envelope(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        if let Some(found) = a.excess(RADII[1])? {
            for [truth, bound] in found.points {
                let name = format!("line: {}", a.name);
                outcome.check(Check::at_most(name, truth, trial.upper(bound)));
                points.push((truth, bound));
            }
        }
        Ok(())
    })?;
    outcome.figures.push(Figure {
        name: "psi-envelope".into(),
        caption: "p/q and q/p beside their envelopes, at points of the line out to 4.5 deviations. Nothing below the diagonal.".into(),
        panels: vec![scatter("Envelopes", "p/q and q/p", points, 0)],
    });
    Ok(outcome)
}

/// [psi-kl].
pub(crate) fn kl(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        for radius in RADII {
            let Some(found) = a.excess(radius)? else { continue };
            let [_, truth, bound] = found.whole;
            let name = format!("line: {}, R = {radius}", a.name);
            outcome.check(Check::at_most(name, truth.ln(), trial.upper(bound.ln().max(0.0)) + 1e-7));
            points.push((truth.ln(), bound.ln()));
        }
        Ok(())
    })?;
    let claimed = audited(&mut outcome, trial, "psi-kl", &[|a| &a.kl])?;
    audited(&mut outcome, trial, "psi-kl", &[|a| &a.tv])?;
    outcome.figures.push(Figure {
        name: "psi-kl".into(),
        caption: "KL(q‖p) by the mean of e^{−t} − 1 + t at t = log q/p less its mean: on the line by quadrature in a ball and a bound \
                  beyond it; and audits from draws, where confidence is added."
            .into(),
        panels: vec![
            scatter("Ball and beyond, exact", "KL, nats", points, 0),
            scatter("Audits from draws", "KL, nats", claimed, 1),
        ],
    });
    Ok(outcome)
}

/// [psi-evidence].
pub(crate) fn evidence(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    on_the_line(trial, |a| {
        for radius in RADII {
            let Some(found) = a.excess(radius)? else { continue };
            let [low, truth, _] = found.whole;
            outcome.check(Check::at_most(
                format!("line: {}, R = {radius}", a.name),
                low,
                trial.upper(truth) + 1e-7,
            ));
        }
        Ok(())
    })?;
    audited_evidence(&mut outcome, trial, "psi-evidence")?;
    Ok(outcome)
}

/// [psi-moments].
pub(crate) fn moments(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        for radius in RADII {
            let Some(found) = a.excess(radius)? else { continue };
            for (which, [truth, bound]) in found.moments.into_iter().enumerate() {
                let what = ["mean", "|x| beyond", "x² beyond"][which];
                let name = format!("line: {}, R = {radius}, {what}", a.name);
                outcome.check(Check::at_most(name, truth, trial.upper(bound) + 1e-7));
                points.push((truth, bound));
            }
        }
        Ok(())
    })?;
    let claimed = audited(&mut outcome, trial, "psi-moments", &[|a| &a.means, |a| &a.deviations])?;
    outcome.figures.push(Figure {
        name: "psi-moments".into(),
        caption: "The posterior's mean in units of q's deviation, and the moments of e^{−t} − 1 + t beyond a ball, by quadrature on the line; \
                  and the errors of means and deviations that audits certify."
            .into(),
        panels: vec![
            scatter("Mean, and beyond the ball", "moment", points, 0),
            scatter("Audits from draws", "error", claimed, 1),
        ],
    });
    Ok(outcome)
}
