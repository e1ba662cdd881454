//! Statements by the mass of the posterior: KL, evidence, moments, and the bets behind them.

use super::global::{audited, audited_evidence, on_the_line, scatter};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::normals;
use crate::trial::Trial;
use provi::Result;
use provi::theory::betting::{Wager, mean_lower, mean_upper};
use rayon::prelude::*;
use std::f64::consts::SQRT_2;

/// K and P of the exact checks: the values that an audit would choose, and others.
const CHOICES: [(f64, f64); 3] = [(1.35, 0.9), (2.0, 0.6), (1.1, 0.95)];

/// [sharp-kl].
pub(crate) fn kl(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        for (cap, precision) in CHOICES {
            let [truth, bound] = a.mass(cap, precision).kl;
            let name = format!("line: {}, K = {cap}, P = {precision}", a.name);
            outcome.check(Check::at_most(name, truth, trial.upper(bound.max(0.0)) + 1e-6));
            points.push((truth, bound));
        }
        Ok(())
    })?;
    let claimed = audited(&mut outcome, trial, "sharp-kl", &[|a| &a.kl])?;
    audited(&mut outcome, trial, "sharp-kl", &[|a| &a.tv])?;
    outcome.figures.push(Figure {
        name: "sharp-kl".into(),
        caption: "KL(q‖p) by the mass of p: the three terms by quadrature on the line, for several K and P; and audits from \
                  draws, where confidence is added. Nothing below the diagonal, and audits of near answers close to it."
            .into(),
        panels: vec![
            scatter("Three terms, exact", "KL, nats", points, 0),
            scatter("Audits from draws", "KL, nats", claimed, 1),
        ],
    });
    Ok(outcome)
}

/// [sharp-evidence].
pub(crate) fn evidence(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    on_the_line(trial, |a| {
        for (cap, precision) in CHOICES {
            let [core, whole] = a.mass(cap, precision).core;
            let name = format!("line: {}, K = {cap}", a.name);
            outcome.check(Check::at_most(name, core, trial.upper(whole) + 1e-6));
        }
        Ok(())
    })?;
    audited_evidence(&mut outcome, trial, "sharp-evidence")?;
    Ok(outcome)
}

/// [sharp-moments].
pub(crate) fn moments(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    on_the_line(trial, |a| {
        for (cap, precision) in CHOICES {
            for (j, [rest, bound]) in a.mass(cap, precision).moments.into_iter().enumerate() {
                let name = format!("line: {}, K = {cap}, P = {precision}, moment {}", a.name, j + 1);
                outcome.check(Check::at_most(name, rest, trial.upper(bound) + 1e-6));
                points.push((rest, bound));
            }
        }
        Ok(())
    })?;
    let claimed = audited(&mut outcome, trial, "sharp-moments", &[|a| &a.means, |a| &a.deviations])?;
    outcome.figures.push(Figure {
        name: "sharp-moments".into(),
        caption: "What the posterior's first two moments may have beyond min(p̃, Kq), by quadrature on the line, and the errors of \
                  means and deviations that audits certify, in units of q's deviation."
            .into(),
        panels: vec![
            scatter("Moments beyond K", "moment", points, 0),
            scatter("Audits from draws", "error", claimed, 1),
        ],
    });
    Ok(outcome)
}

/// Bounded variables as functions of a uniform number, with their means.
type Law = (&'static str, fn(f64) -> f64, f64);

const LAWS: [Law; 4] = [
    ("rare", |u| if u < 0.003 { 1.0 } else { 0.0 }, 0.003),
    ("coin", |u| if u < 0.5 { 1.0 } else { 0.0 }, 0.5),
    ("narrow", |u| 0.7 + 0.01 * u, 0.705),
    ("skewed", |u| u * u * u * u, 0.2),
];

/// Uniform numbers.
pub(super) fn uniforms(key: u64, count: usize) -> Vec<f64> {
    normals(key, count).into_iter().map(|x| 0.5 * libm::erfc(-x / SQRT_2)).collect()
}

/// [betting].
pub(crate) fn betting(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (delta, count) = (0.1, 400usize);
    let replicates = trial.effort(300u64, 2000);
    for (name, law, mean) in LAWS {
        let found: Vec<[bool; 3]> = (0..replicates)
            .into_par_iter()
            .map(|k| {
                let y: Vec<f64> = uniforms(900_000 + k, count).into_iter().map(law).collect();
                let looks = [40, 133, count];
                let above = looks.map(|n| mean_upper(&y[..n], count as u64, 0.0, delta));
                let below = looks.map(|n| mean_lower(&y[..n], count as u64, 1.0, delta));
                let average = y.iter().sum::<f64>() / count as f64;
                let squares: f64 = y.iter().map(|y| (y - average).powi(2)).sum();
                let fixed = average + Wager::new(1.0, 0.3, count as u64, delta).margin(count as u64, squares);
                [
                    above.iter().any(|x| trial.upper(*x) < mean - 1e-12),
                    below.iter().any(|x| trial.upper(1.0 - x) < 1.0 - mean - 1e-12),
                    trial.upper(fixed) < mean - 1e-12,
                ]
            })
            .collect();
        for (which, what) in ["from above", "from below", "one bet"].into_iter().enumerate() {
            let failures = found.iter().filter(|f| f[which]).count() as u64;
            let title = format!("{name}, {what}, three looks, δ = {delta}");
            outcome.check(Check::coverage(title, failures, replicates, delta));
        }
    }
    let curve = |floor: f64| -> Vec<(f64, f64)> {
        [100usize, 300, 1000, 3000, 10_000, 30_000]
            .map(|n| {
                let y: Vec<f64> = uniforms(990_000, n).into_iter().map(LAWS[2].1).collect();
                let average = y.iter().sum::<f64>() / n as f64;
                (n as f64, mean_upper(&y, n as u64, floor, 1e-6) - average)
            })
            .to_vec()
    };
    let normal: Vec<(f64, f64)> =
        [100.0, 30_000.0].map(|n: f64| (n, 0.01 / 12f64.sqrt() * (2.0 * 1e6f64.ln() / n).sqrt())).to_vec();
    outcome.figures.push(Figure {
        name: "betting".into(),
        caption: "The price of confidence by betting, δ = 10⁻⁶: what is added to the mean of n draws of a narrow variable, without and \
                  with a floor below the mean, beside σ√(2 log(1/δ)/n)."
            .into(),
        panels: vec![Panel {
            title: "Price of confidence".into(),
            x: Axis::log("draws"),
            y: Axis::log("bound − mean"),
            series: vec![
                Series::new("no floor", Mark::Bound, 0, curve(0.0)),
                Series::new("floor 0.65", Mark::SecondBound, 1, curve(0.65)),
                Series::new("σ√(2 log(1/δ)/n)", Mark::Reference, 7, normal),
            ],
        }],
    });
    Ok(outcome)
}
