//! Coverage and tightness of whole certificates, over data sizes and priors.

use super::audits::{Audited, Claim, audits};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::statistics::quantile;
use crate::trial::Trial;
use provi::Result;

type Pick = fn(&Audited) -> &Vec<Claim>;

const NUMBERS: [(&str, &str, Pick); 5] = [
    ("KL to the posterior", "nats", |a| &a.kl),
    ("gap to the best Gaussian", "nats", |a| &a.gap),
    ("error of a mean", "sd", |a| &a.means),
    ("error of an sd", "sd", |a| &a.deviations),
    ("log evidence", "nats", |a| &a.evidence),
];

/// Study of whole certificates: no claim of any audit is below the true value, and how far above they are.
pub(crate) fn coverage(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let found = audits(trial.quick)?;
    for (name, _, pick) in NUMBERS {
        let claims: Vec<&Claim> = found.iter().flat_map(pick).collect();
        let failures = claims.iter().filter(|c| c.truth > trial.upper(c.bound) + 1e-9).count() as u64;
        outcome.check(Check::coverage(
            format!("{name}: claims below the truth, of {}", claims.len()),
            failures,
            claims.len() as u64,
            1e-6,
        ));
    }
    let mut panels = Vec::new();
    for (name, unit, pick) in NUMBERS.into_iter().filter(|n| n.0 != "gap to the best Gaussian") {
        let mut series = Vec::new();
        for (color, prior) in [0.5, 1.0, 2.5].into_iter().enumerate() {
            let of = |rows: f64| {
                found
                    .iter()
                    .filter(|a| {
                        a.is_best && (a.cell.1 - prior).abs() < 1e-12 && (a.cell.0 - rows).abs() < 0.5
                    })
                    .flat_map(&pick)
                    .collect::<Vec<&Claim>>()
            };
            let (mut bounds, mut truths) = (Vec::new(), Vec::new());
            for rows in [10.0, 30.0, 100.0, 1000.0] {
                let claims = of(rows);
                if claims.is_empty() {
                    continue;
                }
                let middle =
                    |f: fn(&Claim) -> f64| quantile(&claims.iter().map(|c| f(c)).collect::<Vec<_>>(), 0.5);
                bounds.push((rows, middle(|c| c.bound)));
                truths.push((rows, middle(|c| c.truth)));
            }
            series.push(Series::new(format!("certified, prior sd {prior}"), Mark::Bound, color, bounds));
            series.push(Series::new(format!("true, prior sd {prior}"), Mark::Measured, color, truths));
        }
        series.retain(|s| !s.points.is_empty());
        panels.push(Panel {
            title: name.into(),
            x: Axis::log("rows per coordinate N/d"),
            y: Axis::log(unit),
            series,
        });
    }
    outcome.figures.push(Figure {
        name: "certificates".into(),
        caption: "Logistic regressions, best Gaussian, audited from draws at δ = 10⁻⁶: certified (dashed) and true (solid) \
                  numbers, medians over coordinates and problems of d = 2 and 5. Data narrows the gap between them; a weak \
                  prior with few rows has no local certificate, and the global one is loose."
            .into(),
        panels,
    });
    Ok(outcome)
}
