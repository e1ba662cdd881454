//! The confidence bound of F: how often it fails, over many samples.

use super::line::cases;
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::normals;
use crate::statistics::quantile;
use crate::trial::Trial;
use provi::Result;
use provi::theory::certificate::fisher_upper;
use rayon::prelude::*;

/// [confidence]: F and L are known exactly on the line; Ȳ is drawn.
pub(crate) fn confidence(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let delta = 0.1;
    let replicates = trial.effort(300u64, 3000);
    let (mut upper, mut mean, mut band) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases(trial.quick)?.iter().filter(|c| c.name.starts_with("bernoulli")).take(4) {
        for answer in case.answers()?.iter().take(3) {
            let Some(high) = answer.high else { continue };
            let fisher = answer.square / answer.low;
            // |dŝ/dx| = |U'' − 1|/√(s²H_lo), with U'' between s²H_lo and s²H_hi.
            let lipschitz = (answer.low - 1.0).abs().max((high - 1.0).abs()) / answer.low.sqrt();
            for draws in [50u64, 1000] {
                let found: Vec<(f64, f64)> = (0..replicates)
                    .into_par_iter()
                    .map(|k| {
                        let x = normals(500_000 + k, draws as usize);
                        let y = x.iter().map(|x| answer.residual(*x).powi(2) / answer.low).sum::<f64>()
                            / draws as f64;
                        (y, fisher_upper(y, lipschitz, draws, delta).unwrap_or(f64::NAN))
                    })
                    .collect();
                let failures = found.iter().filter(|(_, bound)| trial.upper(*bound) < fisher).count() as u64;
                outcome.check(Check::coverage(
                    format!("{}, n = {draws}, δ = {delta}: F above its bound", answer.name),
                    failures,
                    replicates,
                    delta,
                ));
            }
        }
    }
    // One answer, the price of confidence over the number of draws.
    let cases = cases(true)?;
    if let Some(answer) =
        cases.iter().find(|c| c.name.starts_with("bernoulli")).map(|c| c.answers()).transpose()?
        && let Some(answer) = answer.first()
        && let Some(high) = answer.high
    {
        let fisher = answer.square / answer.low;
        let lipschitz = (answer.low - 1.0).abs().max((high - 1.0).abs()) / answer.low.sqrt();
        for draws in [30u64, 100, 300, 1000, 3000, 10_000] {
            let bounds: Vec<f64> = (0..trial.effort(20u64, 100))
                .map(|k| {
                    let x = normals(700_000 + k, draws as usize);
                    let y = x.iter().map(|x| answer.residual(*x).powi(2) / answer.low).sum::<f64>()
                        / draws as f64;
                    fisher_upper(y, lipschitz, draws, 1e-6).unwrap_or(f64::NAN) / fisher
                })
                .collect();
            let n = draws as f64;
            mean.push((n, 1.0));
            upper.push((n, quantile(&bounds, 0.5)));
            band.push((n, quantile(&bounds, 0.05), quantile(&bounds, 0.95)));
        }
    }
    outcome.figures.push(Figure {
        name: "confidence".into(),
        caption: "The price of confidence: the upper bound of F at δ = 10⁻⁶, in units of F, over the number of draws \
                  (logistic on the line, best answer; median and 5–95% of samples)."
            .into(),
        panels: vec![Panel {
            title: "An upper confidence bound of F".into(),
            x: Axis::log("draws n"),
            y: Axis::log("bound/F"),
            series: vec![
                Series::new("bound, δ = 10⁻⁶", Mark::Measured, 0, upper).with_band(band),
                Series::new("F", Mark::Reference, 7, mean),
            ],
        }],
    });
    Ok(outcome)
}
