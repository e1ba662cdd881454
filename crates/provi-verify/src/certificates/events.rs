//! Signs and predicted probabilities, measured.

use super::global::{on_the_line, scatter};
use super::line::Answer;
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::audit::Audit;
use provi::{Result, Seed};

/// Radii of the exact checks.
const RADII: [f64; 2] = [3.0, 4.5];

/// [measured-events].
pub(crate) fn events(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut points, mut bands, mut claimed) = (Vec::new(), Vec::new(), Vec::new());
    let mut seed = 0;
    on_the_line(trial, |a| {
        for radius in RADII {
            let Some(found) = a.excess(radius)? else { continue };
            let name = format!("line: {}, R = {radius}", a.name);
            for [truth, bound] in found.events {
                let name = format!("{name}, beyond the ball");
                outcome.check(Check::at_most(name, truth, trial.upper(bound) + 1e-7));
                points.push((truth, bound));
            }
            for [truth, bound] in found.bands {
                let name = format!("{name}, the rest of the cubic");
                outcome.check(Check::at_most(name, truth, trial.upper(bound) + 1e-8));
                bands.push((truth, bound));
            }
        }
        seed += 1;
        if let Some([truth, bound]) = measured(a, seed)? {
            let name = format!("line: {}, P(z > 0) by an audit", a.name);
            outcome.check(Check::at_most(name, truth, trial.upper(bound) + 1e-8));
            claimed.push((truth, bound));
        }
        Ok(())
    })?;
    outcome.figures.push(Figure {
        name: "measured-events".into(),
        caption: "Signs and probabilities behind links on the line: what a ball leaves out of ∫(g−γ)p̃, what is left of log q/p without its cubic, \
                  and the errors of P(z > 0) that audits certify."
            .into(),
        panels: vec![
            scatter("Beyond the ball, exact", "integral", points, 0),
            scatter("Without the cubic", "log q/p", bands, 1),
            scatter("Audits from draws", "error of P(z > 0)", claimed, 2),
        ],
    });
    Ok(outcome)
}

/// The error of the audit's P(z > 0), and its bound.
fn measured(a: &Answer<'_>, seed: u64) -> Result<Option<[f64; 2]>> {
    let audited = Audit { draws: 4_000, ..Audit::default() }.run(&a.case.target, &a.q, Seed(seed))?;
    let Some(own) = audited.posterior_moments() else { return Ok(None) };
    let (Some(value), Some(error)) = (own.positive.first(), own.positive_error.first()) else {
        return Ok(None);
    };
    let [truth, _] = a.masses_above(-a.q.mean()[0] / a.q.factor()[0]);
    Ok(Some([(value - truth).abs(), *error]))
}
