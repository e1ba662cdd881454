//! Moments in every direction at once.

use super::global::{audited, scatter};
use super::sharp::uniforms;
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::Result;
use provi::theory::betting::Wager;
use rayon::prelude::*;

/// Points of the plane; Y = c·xxᵀ at one of them, all alike.
const POINTS: [[f64; 2]; 4] = [[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6], [0.0, 1.0]];

/// c from a uniform, with its mean and its largest value.
type Law = (&'static str, fn(f64) -> f64, f64, f64);

const LAWS: [Law; 3] = [
    ("rare", |u| if u < 1.0 / 16.0 { 4.0 } else { 0.0 }, 0.25, 4.0),
    ("signed", |u| if u < 0.5 { 1.0 } else { -1.0 }, 0.0, 1.0),
    ("skewed", |u| 3.0 * u * u, 1.0, 3.0),
];

/// [every-direction].
pub(crate) fn every(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (delta, count) = (0.1, 400u64);
    let replicates = trial.effort(300u64, 2000);
    let entries = |[a, b]: [f64; 2]| [a * a, a * b, b * b];
    for (name, law, mean, most) in LAWS {
        let wager = Wager::new(most, 0.7, count, delta / 2.0);
        let truth = POINTS
            .map(entries)
            .iter()
            .fold([0.0; 3], |sum, y| [0, 1, 2].map(|k| sum[k] + 0.25 * mean * y[k]));
        let failed = |k: u64| {
            let (mut first, mut second) = ([0.0; 3], [0.0; 3]);
            for pair in uniforms(800_000 + k, 2 * count as usize).chunks_exact(2) {
                let (c, y) = (law(pair[1]), entries(POINTS[(4.0 * pair[0]) as usize]));
                for i in 0..3 {
                    first[i] += c * y[i] / count as f64;
                    // x has length 1.
                    second[i] += c * c * y[i];
                }
            }
            (0..90).any(|turn| {
                let (b, a) = (2.0 * f64::from(turn)).to_radians().sin_cos();
                let form = |m: [f64; 3]| a * a * m[0] + 2.0 * a * b * m[1] + b * b * m[2];
                form(truth) > form(first) + trial.upper(wager.spread(count, form(second))) + 1e-12
            })
        };
        let failures = (0..replicates).into_par_iter().filter(|k| failed(*k)).count() as u64;
        outcome.check(Check::coverage(format!("matrices, {name}, δ = {delta}"), failures, replicates, delta));
    }
    let claimed = audited(&mut outcome, trial, "every-direction", &[|a| &a.means, |a| &a.deviations])?;
    outcome.figures.push(Figure {
        name: "every-direction".into(),
        caption: "Errors of the mean and deviation of a random combination of coefficients, in its deviations, beside what audits certify \
                  of all combinations at once."
            .into(),
        panels: vec![scatter("Audits from draws", "error", claimed, 1)],
    });
    Ok(outcome)
}
