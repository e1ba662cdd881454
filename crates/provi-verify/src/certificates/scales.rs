//! Mixtures over scales: the KL of a mixture against what its parts give.

use super::global::scatter;
use crate::figure::{Axis, Figure};
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::Result;
use provi::Seed;
use provi::draws::{Draws, Purpose};

/// One part of both mixtures on the line.
struct Part {
    weight: f64,
    /// The logarithm of its prior mass, and of its evidence.
    log_mass: f64,
    log_evidence: f64,
    /// Mean and deviation under q and under p.
    q: [f64; 2],
    p: [f64; 2],
}

fn density([mean, sd]: [f64; 2], x: f64) -> f64 {
    (-0.5 * ((x - mean) / sd).powi(2)).exp() / (sd * (2.0 * std::f64::consts::PI).sqrt())
}

/// KL between two normal laws.
fn kl([m, s]: [f64; 2], [n, t]: [f64; 2]) -> f64 {
    (t / s).ln() + 0.5 * (s * s + (m - n).powi(2)) / (t * t) - 0.5
}

/// [scale-mixture]: mixtures of normal laws on the line, from parts on top of each other to parts far apart, where the bound is an equality.
pub(crate) fn scale_mixture(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for k in 0..trial.effort(8u64, 60) {
        let mut e = [0.0; 32];
        Draws::new(Seed(90_000 + k), Purpose::Sample).fill(0, 0, &mut e);
        // How far apart the parts are, and how far the bounds of each evidence are from it.
        let apart = [0.2, 2.0, 8.0, 30.0][k as usize % 4];
        let loose = [0.0, 1e-3][k as usize / 4 % 2];
        let mut parts: Vec<Part> = (0..4)
            .map(|i| {
                let u = &e[8 * i..8 * i + 8];
                let mean = apart * (i as f64 - 1.5) + 0.1 * u[0];
                let sd = (0.2 * u[1]).exp();
                Part {
                    weight: (0.5 * u[2]).exp(),
                    log_mass: 0.3 * u[3],
                    log_evidence: 0.6 * u[4],
                    q: [mean, sd],
                    p: [mean + 0.2 * sd * u[5], sd * (0.15 * u[6]).exp()],
                }
            })
            .collect();
        let total: f64 = parts.iter().map(|part| part.weight).sum();
        parts.iter_mut().for_each(|part| part.weight /= total);
        let sum = |shift: f64| -> f64 {
            parts.iter().map(|part| (part.log_mass + part.log_evidence + shift).exp()).sum::<f64>().ln()
        };
        let (evidence, upper) = (sum(0.0), sum(loose));
        let of_weights: f64 = parts
            .iter()
            .map(|part| part.weight * (part.weight.ln() - part.log_mass - (part.log_evidence - loose)))
            .sum::<f64>()
            + upper;
        let bound = of_weights + parts.iter().map(|part| part.weight * kl(part.q, part.p)).sum::<f64>();
        let step = 2e-3;
        let reach = 1.5 * apart + 12.0;
        let steps = (2.0 * reach / step) as u64;
        let (mut truth, mut moved) = (0.0, 0.0);
        for i in 0..steps {
            let x = -reach + step * i as f64;
            let q: f64 = parts.iter().map(|part| part.weight * density(part.q, x)).sum();
            let p: f64 = parts
                .iter()
                .map(|part| (part.log_mass + part.log_evidence - evidence).exp() * density(part.p, x))
                .sum();
            if q > 0.0 {
                truth += step * q * (q / p).ln();
            }
            moved += 0.5 * step * (q - p).abs();
        }
        let name = format!("parts {apart} apart, evidence to {loose:e}, mixture {k}");
        outcome.check(Check::at_most(format!("{name}: KL"), truth, trial.upper(bound) + 1e-7));
        // Each part is moved by at most √(KL/2).
        let variation = (0.5 * of_weights.max(0.0)).sqrt()
            + parts.iter().map(|part| part.weight * (0.5 * kl(part.q, part.p)).sqrt()).sum::<f64>();
        outcome.check(Check::at_most(format!("{name}: TV"), moved, variation + 1e-7));
        points.push((truth, bound));
    }
    let mut panel = scatter("Mixtures over scales", "", points, 0);
    panel.x = Axis::log("KL(q‖p), nats");
    panel.y = Axis::log("its bound, nats");
    outcome.figures.push(Figure {
        name: "scale-mixture".into(),
        caption: "Mixtures of four normal laws on the line: their KL against the sum of that of the weights and those of the parts. Parts that \
                  are far apart make it an equality."
            .into(),
        panels: vec![panel],
    });
    Ok(outcome)
}
