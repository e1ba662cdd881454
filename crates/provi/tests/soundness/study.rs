//! How tight the certificates are: one standard regression, its best Gaussian, the certified and the true KL.

use super::answers::optimum;
use super::problem::Dice;
use crate::common::objective;
use provi::audit::{Audit, Audited};
use provi::draws::{Draws, Purpose};
use provi::target::{Glm, Prior, Scratch};
use provi::{Design, Gaussian, Seed, Target, Triangular};

/// N rows of independent standard normal features, coefficients that give logits of unit standard deviation, labels
/// by coin.
pub(crate) fn logistic(d: usize, rows: usize, prior_sd: f64, seed: u64) -> Glm {
    let mut dice = Dice::new(seed);
    let truth = dice.direction(d);
    let mut entries = Vec::with_capacity(rows * d);
    let mut labels = Vec::with_capacity(rows);
    for _ in 0..rows {
        let mut s = 0.0;
        for beta in &truth {
            let x = dice.normal();
            s += beta * x;
            entries.push(x);
        }
        labels.push(f64::from(u8::from(dice.uniform() < 1.0 / (1.0 + f64::exp(-s)))));
    }
    Glm::logistic(Design::from_rows(rows, d, entries).unwrap(), &labels, Prior::scale(prior_sd).unwrap())
        .unwrap()
}

/// KL(q‖p) = f(q) + log p(x) with log p(x) by importance sampling, in pairs u, −u: (KL, standard error, k̂).
pub(crate) fn sampled_kl(target: &Glm, q: &Gaussian<Triangular>, pairs: usize, seed: u64) -> (f64, f64, f64) {
    let (d, f) = (q.dim(), objective(target, q));
    let draws = Draws::new(Seed(seed), Purpose::Sample);
    let constant = 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln() + q.log_det().unwrap();
    let batch = 128;
    let (mut u, mut z) = (vec![0.0; 2 * batch * d], vec![0.0; 2 * batch * d]);
    let (mut values, mut gradients) = (vec![0.0; 2 * batch], vec![0.0; 2 * batch * d]);
    let mut scratch = Scratch::default();
    let mut ratios = Vec::with_capacity(2 * pairs);
    for first in (0..pairs).step_by(batch) {
        for k in 0..batch {
            let (one, rest) = u[2 * k * d..].split_at_mut(d);
            draws.fill((first + k) as u64, 0, one);
            rest[..d].iter_mut().zip(one).for_each(|(a, b)| *a = -*b);
        }
        q.transport(&u, &mut z);
        target.log_densities(&z, &mut values, &mut gradients, &mut scratch).unwrap();
        for (k, value) in values.iter().enumerate() {
            let u = &u[k * d..(k + 1) * d];
            // p(z, x)/q(z), with e^{−f} taken out.
            ratios.push((value + 0.5 * u.iter().map(|x| x * x).sum::<f64>() + constant + f).exp());
        }
    }
    let means: Vec<f64> = ratios.chunks_exact(2).map(|r| 0.5 * (r[0] + r[1])).collect();
    let (mean, error) = crate::common::mean_and_error(&means);
    (mean.ln(), error / mean, pareto(&mut ratios))
}

/// The shape k̂ of a generalised Pareto distribution fitted to the largest ratios (Zhang and Stephens).
fn pareto(ratios: &mut [f64]) -> f64 {
    ratios.sort_by(f64::total_cmp);
    let m = (3.0 * (ratios.len() as f64).sqrt()).min(0.2 * ratios.len() as f64) as usize;
    let cut = ratios[ratios.len() - m - 1];
    let x: Vec<f64> = ratios[ratios.len() - m..].iter().map(|r| r - cut).collect();
    let (n, quarter, top) = (x.len() as f64, x[(x.len() as f64 / 4.0 + 0.5) as usize - 1], x[x.len() - 1]);
    let count = 30 + n.sqrt() as usize;
    let shape = |theta: f64| x.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / n;
    let thetas: Vec<f64> = (1..=count)
        .map(|j| 1.0 / top + (1.0 - (count as f64 / (j as f64 - 0.5)).sqrt()) / (3.0 * quarter))
        .collect();
    let logs: Vec<f64> = thetas.iter().map(|&t| n * ((-t / shape(t)).ln() - shape(t) - 1.0)).collect();
    let weight = |i: usize| 1.0 / logs.iter().map(|l| (l - logs[i]).exp()).sum::<f64>();
    shape((0..count).map(|i| thetas[i] * weight(i)).sum())
}

/// The best Gaussian of a target, audited with enough draws that confidence costs little.
pub(crate) fn audited(target: &Glm, draws: u64) -> (Gaussian<Triangular>, Audited) {
    let q = optimum(target);
    let audit = Audit { draws, price: 0.1, ..Audit::default() };
    let found = audit.run(target, &q, Seed(17)).unwrap();
    (q, found)
}
