//! Draws of the posterior itself, held against quadrature on the line.

use super::global::{on_the_line, scatter};
use super::line::Answer;
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::statistics::Mean;
use crate::trial::Trial;
use provi::exact_draws::ExactDraws;
use provi::target::Declared;
use provi::{Error, Result, Seed, Target};

/// [exact-draws].
pub(crate) fn exact_draws(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut by_rows, mut by_curvature) = (Vec::new(), Vec::new());
    on_the_line(trial, |a| {
        let own = ExactDraws::new(&a.case.target, &a.q, Seed(17));
        by_rows.extend(held(trial, a, &a.name, own, &mut outcome)?);
        // The same density, of which nothing is known but bounds of its curvature.
        let Some(curvature) = a.case.target.curvature()? else { return Ok(()) };
        let bare = Declared::new(&a.case.target).with_curvature(curvature)?;
        let name = format!("{}, by curvature alone", a.name);
        by_curvature.extend(held(trial, a, &name, ExactDraws::new(&bare, &a.q, Seed(17)), &mut outcome)?);
        Ok(())
    })?;
    outcome.figures.push(Figure {
        name: "exact-draws".into(),
        caption: "Proposals that a draw of the posterior took, and their bound, known before the first: wrong answers cost more, and \
                  their draws have the same law. The bound is the mass of the envelope over e^{ELBO}, so it is e^{KL(q‖p)} times what is needed."
            .into(),
        panels: vec![
            scatter("By rows", "proposals", by_rows, 0),
            scatter("By bounds of the curvature alone", "proposals", by_curvature, 0),
        ],
    });
    Ok(outcome)
}

/// Checks the draws of one answer; returns the proposals that a draw took and their bound, unless they are refused: a q that is too far away costs
/// too much, or rounds too much, and not every curvature has an upper bound.
fn held(
    trial: &Trial,
    a: &Answer<'_>,
    name: &str,
    draws: Result<ExactDraws<'_>>,
    outcome: &mut Outcome,
) -> Result<Option<(f64, f64)>> {
    let mut draws = match draws {
        Err(Error::ExactDrawsCost { .. } | Error::ExactDrawsRounding { .. } | Error::ExactDrawsCurvature) => {
            return Ok(None);
        }
        other => other?,
    };
    let count = trial.effort(4_000usize, 40_000);
    let points = draws.draw(count)?;
    // Accepted or not: the share is at least one in the bound.
    let (made, proposed) = (draws.accepted() as f64, draws.proposed() as f64);
    let share = made / proposed;
    let error = (share * (1.0 - share) / proposed).sqrt();
    let bound = trial.upper(draws.proposals_bound());
    let check = Check::at_most(format!("line: {name}, proposals a draw"), 1.0 / (share + 6.0 * error), bound);
    outcome.check(check);
    // Both first moments, in deviations of the posterior.
    let truth = &a.case.truth;
    let scaled = |k: usize| (points[(k, 0)] - truth.mean) / truth.sd;
    let first = Mean::of(&(0..count).map(scaled).collect::<Vec<f64>>());
    let second = Mean::of(&(0..count).map(|k| scaled(k).powi(2)).collect::<Vec<f64>>());
    for (what, mean, expected) in [("mean", first, 0.0), ("second moment", second, 1.0)] {
        let off = (mean.value - expected).abs() / mean.error.max(1e-300);
        outcome.check(Check::at_most(format!("line: {name}, {what} in standard errors"), off, 6.0));
    }
    Ok(Some((1.0 / share, draws.proposals_bound())))
}
