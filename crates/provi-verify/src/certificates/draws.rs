//! Draws of the posterior itself, held against quadrature on the line.

use super::global::{on_the_line, scatter};
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::statistics::Mean;
use crate::trial::Trial;
use provi::exact_draws::ExactDraws;
use provi::{Error, Result, Seed};

/// [exact-draws].
pub(crate) fn exact_draws(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let count = trial.effort(4_000usize, 40_000);
    let mut costs = Vec::new();
    on_the_line(trial, |a| {
        let mut draws = match ExactDraws::new(&a.case.target, &a.q, Seed(17)) {
            // A q that is too far away costs too much, or rounds too much, and is refused.
            Err(Error::ExactDrawsCost { .. } | Error::ExactDrawsRounding { .. }) => return Ok(()),
            other => other?,
        };
        let points = draws.draw(count)?;
        // Accepted or not: the share is at least one in the bound.
        let (made, proposed) = (draws.accepted() as f64, draws.proposed() as f64);
        let share = made / proposed;
        let error = (share * (1.0 - share) / proposed).sqrt();
        let bound = trial.upper(draws.proposals_bound());
        let name = format!("line: {}, proposals a draw", a.name);
        outcome.check(Check::at_most(name, 1.0 / (share + 6.0 * error), bound));
        costs.push((1.0 / share, draws.proposals_bound()));
        // Both first moments, in deviations of the posterior.
        let truth = &a.case.truth;
        let scaled = |k: usize| (points[(k, 0)] - truth.mean) / truth.sd;
        let first = Mean::of(&(0..count).map(scaled).collect::<Vec<f64>>());
        let second = Mean::of(&(0..count).map(|k| scaled(k).powi(2)).collect::<Vec<f64>>());
        for (what, mean, expected) in [("mean", first, 0.0), ("second moment", second, 1.0)] {
            let off = (mean.value - expected).abs() / mean.error.max(1e-300);
            outcome.check(Check::at_most(format!("line: {}, {what} in standard errors", a.name), off, 6.0));
        }
        Ok(())
    })?;
    outcome.figures.push(Figure {
        name: "exact-draws".into(),
        caption: "Proposals that a draw of the posterior took, and their bound, known before the first: wrong answers cost more, and \
                  their draws have the same law. The bound is the mass of the envelope over e^{ELBO}, so it is e^{KL(q‖p)} times what is needed."
            .into(),
        panels: vec![scatter("Proposals a draw", "proposals", costs, 0)],
    });
    Ok(outcome)
}
