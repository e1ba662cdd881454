//! Errors in the paper's printed text: for each row of the errata, a case in which the printed form fails and the
//! form used here holds, if there is one.

mod algorithms;
mod constants;
mod models;

use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::Outcome;
use crate::trial::Trial;
use provi::Result;
use provi::schedule::{Schedule, StepKind};
use provi::theory::{NoiseBound, Recursion, rate};

/// All demonstrations.
pub(crate) fn errata(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for part in [constants::demonstrations, models::demonstrations, algorithms::demonstrations] {
        outcome.absorb(part(trial)?);
    }
    outcome.notes.push(
        "three rows print a form that is not false, only loose, unproved or a slip of notation: the stationary point of \
         the residual (not needed: see stl-floor), θ_max = 1 for the logistic model (true, four times too large), and \
         the projection on 𝒯ᵈ in the derivation of Algorithm 2"
            .into(),
    );
    outcome.figures.push(pictures()?);
    Ok(outcome)
}

/// The anytime step and its cap; the printed rate and the truth; TV and W₂.
fn pictures() -> Result<Figure> {
    let ratio = 9.9;
    let switch = 4.0 * f64::floor(ratio);
    let times: Vec<f64> = (20..60).map(f64::from).collect();
    let decayed = |t: f64| (2.0 * t + 1.0) / (t + 1.0).powi(2);
    let cap = 1.0 / (2.0 * ratio);
    let printed = times.iter().map(|&t| (t, if t < switch { cap } else { decayed(t) })).collect();
    let used = times.iter().map(|&t| (t, cap.min(decayed(t)))).collect();

    let noise = NoiseBound::new(100.0, 0.0)?;
    let schedule = Schedule::anytime(StepKind::Proj, 1.0, 100.0)?;
    let recursion = Recursion::new(1.0, noise)?;
    let lengths = [50u64, 100, 200, 400, 800, 1600, 3200];
    let at = |f: &dyn Fn(u64) -> Result<f64>| -> Result<Vec<(f64, f64)>> {
        lengths.iter().map(|&t| Ok((t as f64, f(t)?))).collect()
    };
    let truth = at(&|t| Ok(recursion.propagate(&schedule, t, 1.0)))?;
    let wrong = at(&|t| Ok(32.0 * 100.0 / (t * t) as f64))?;
    let right = at(&|t| rate::proj_strong_anytime(1.0, noise, 1.0, t))?;

    let shares: Vec<f64> = (0..=20).map(|i| 10f64.powf(-0.2 * f64::from(i) - 0.3)).collect();
    let variation = shares.iter().map(|&t| (t, models::mixture(t)[0])).collect();
    let transport = shares.iter().map(|&t| (t, models::mixture(t)[1])).collect();
    Ok(Figure {
        name: "errata".into(),
        caption: "Left: the printed switch at t* = 4⌊a/μ²⌋ lets the anytime step pass its cap (a/μ² = 9.9). Middle: the \
                  printed 32a/(μ²T²) lies below the error of a problem for which the recursion is exact (a/μ² = 100). \
                  Right: a mixture that moves a share t of its mass to 1/t: total variation vanishes, W₂ grows."
            .into(),
        panels: vec![
            Panel {
                title: "The anytime step".into(),
                x: Axis::linear("step t"),
                y: Axis::linear("μγ_t"),
                series: vec![
                    Series::new("printed", Mark::Measured, 1, printed),
                    Series::new("used", Mark::Measured, 0, used),
                    Series::new("cap μ²/2a", Mark::Reference, 7, vec![(20.0, cap), (59.0, cap)]),
                ],
            },
            Panel {
                title: "The anytime rate of Proj-SGD".into(),
                x: Axis::log("steps T"),
                y: Axis::log("E‖w_T − w*‖²/e_0"),
                series: vec![
                    Series::new("truth", Mark::Measured, 0, truth),
                    Series::new("printed", Mark::Bound, 1, wrong),
                    Series::new("used", Mark::Bound, 2, right),
                ],
            },
            Panel {
                title: "TV does not bound W₂".into(),
                x: Axis::log("share t of the mass moved to 1/t"),
                y: Axis::log("distance to N(0, 1)"),
                series: vec![
                    Series::new("total variation, at most", Mark::Measured, 0, variation),
                    Series::new("W₂, at least", Mark::Measured, 1, transport),
                ],
            },
        ],
    })
}
