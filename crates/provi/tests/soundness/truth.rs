//! The posterior itself, by quadrature over blocks of one to three coordinates.

use super::problem::{Block, Problem};
use crate::common::{cholesky, inverse};
use provi::{Gaussian, Matrix, Triangular};

/// What is true of a posterior, in the coordinates the library sees.
pub(crate) struct Truth {
    pub(crate) log_evidence: f64,
    pub(crate) mean: Vec<f64>,
    pub(crate) covariance: Matrix,
    /// What halving the step of the quadrature changed, summed over blocks: log evidence, and moments in units of
    /// the posterior's deviations.
    pub(crate) error: f64,
}

struct Moments {
    log_evidence: f64,
    mean: Vec<f64>,
    covariance: Matrix,
}

/// Log densities below the top by this much are left out.
const DEPTH: f64 = 36.0;

/// The mode by damped Newton, and the Cholesky factor of the inverse Hessian there.
fn laplace(block: &Block) -> (Vec<f64>, Matrix, f64) {
    let mut z = block.center.clone();
    let (mut value, mut gradient, mut hessian) = block.potential(&z);
    for _ in 0..200 {
        let step: Vec<f64> = {
            let h = inverse(&hessian);
            (0..z.len()).map(|i| crate::common::dot(h.row(i), &gradient)).collect()
        };
        let promise = crate::common::dot(&step, &gradient);
        let mut t = 1.0;
        let mut moved = false;
        while t > 1e-6 && promise > 1e-20 {
            let trial: Vec<f64> = z.iter().zip(&step).map(|(z, s)| z - t * s).collect();
            let next = block.potential(&trial);
            if next.0 < value - 1e-4 * t * promise {
                z = trial;
                (value, gradient, hessian) = next;
                moved = true;
                break;
            }
            t *= 0.5;
        }
        if !moved {
            break;
        }
    }
    (z, cholesky(&inverse(&hessian)), value)
}

/// Calls `see` with every point of the grid lo + (hi − lo)·i/n, the index in each axis beside it.
fn grid(low: &[f64], high: &[f64], n: usize, mut see: impl FnMut(&[usize], &[f64])) {
    let k = low.len();
    let mut index = vec![0; k];
    let mut t = low.to_vec();
    loop {
        see(&index, &t);
        let Some(next) = index.iter().position(|&i| i < n) else { return };
        index[next] += 1;
        index[..next].fill(0);
        for i in 0..=next {
            t[i] = low[i] + (high[i] - low[i]) * index[i] as f64 / n as f64;
        }
    }
}

/// A box outside of which the density is below e^−DEPTH of its top: V is convex, so it is enough to look at faces.
fn cover(k: usize, value: &dyn Fn(&[f64]) -> f64, top: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut low, mut high) = (vec![-4.0; k], vec![4.0; k]);
    loop {
        let mut least = vec![[f64::INFINITY; 2]; k];
        let n = 14;
        grid(&low, &high, n, |index, t| {
            let faces = (0..k).filter(|&i| index[i] == 0 || index[i] == n);
            for i in faces {
                let side = usize::from(index[i] == n);
                least[i][side] = least[i][side].min(value(t) - top);
            }
        });
        let mut grown = false;
        for i in 0..k {
            for (side, end) in [&mut low[i], &mut high[i]].into_iter().enumerate() {
                if least[i][side] < DEPTH {
                    *end *= 1.2;
                    grown = true;
                }
            }
        }
        if !grown {
            return (low, high);
        }
    }
}

/// Evidence, mean and covariance of one block by the trapezoid rule in Laplace's coordinates, with the same from every
/// second node.
fn block_moments(block: &Block) -> (Moments, f64) {
    let k = block.coordinates.len();
    let (mode, factor, top) = laplace(block);
    let place = |t: &[f64]| -> Vec<f64> {
        (0..k).map(|i| mode[i] + (0..=i).map(|j| factor[(i, j)] * t[j]).sum::<f64>()).collect()
    };
    let value = |t: &[f64]| block.value(&place(t));
    let (low, high) = cover(k, &value, top);
    let log_det: f64 = (0..k).map(|i| factor[(i, i)].ln()).sum();
    let mut n = [128, 56, 40][k - 1];
    let most = [1 << 14, 900, 160][k - 1];
    loop {
        // Zeroth, first and second moments in t: fine, coarse.
        let mut sums = [vec![0.0; 1 + k + k * k], vec![0.0; 1 + k + k * k]];
        grid(&low, &high, n, |index, t| {
            let weight = (top - value(t)).exp();
            let coarse = index.iter().all(|i| i % 2 == 0);
            for sums in &mut sums[..1 + usize::from(coarse)] {
                sums[0] += weight;
                for i in 0..k {
                    sums[1 + i] += weight * t[i];
                    for j in 0..k {
                        sums[1 + k + i * k + j] += weight * t[i] * t[j];
                    }
                }
            }
        });
        let cell: f64 = (0..k).map(|i| (high[i] - low[i]) / n as f64).product();
        let logs = [(sums[0][0] * cell).ln(), (sums[1][0] * cell * f64::from(1u32 << k)).ln()];
        let mut error = (logs[0] - logs[1]).abs();
        for i in 1..sums[0].len() {
            error = error.max((sums[0][i] / sums[0][0] - sums[1][i] / sums[1][0]).abs());
        }
        if error > 1e-8 && 2 * n <= most {
            n *= 2;
            continue;
        }
        let t: Vec<f64> = (0..k).map(|i| sums[0][1 + i] / sums[0][0]).collect();
        let mut covariance = Matrix::zeros(k, k);
        let spread = |i: usize, j: usize| sums[0][1 + k + i * k + j] / sums[0][0] - t[i] * t[j];
        for i in 0..k {
            for j in 0..k {
                for a in 0..=i {
                    for b in 0..=j {
                        covariance[(i, j)] += factor[(i, a)] * spread(a, b) * factor[(j, b)];
                    }
                }
            }
        }
        return (Moments { log_evidence: logs[0] + log_det - top, mean: place(&t), covariance }, error);
    }
}

impl Problem {
    /// Everything about the posterior.
    pub(crate) fn truth(&self) -> Truth {
        let d = self.dim();
        let mut out =
            Truth { log_evidence: 0.0, mean: vec![0.0; d], covariance: Matrix::zeros(d, d), error: 0.0 };
        for block in &self.blocks {
            let (moments, error) = block_moments(block);
            out.log_evidence += moments.log_evidence;
            out.error += error;
            let r = &self.rotation;
            for i in 0..d {
                for (a, &p) in block.coordinates.iter().enumerate() {
                    out.mean[i] += r[(i, p)] * moments.mean[a];
                    for j in 0..d {
                        for (b, &q) in block.coordinates.iter().enumerate() {
                            out.covariance[(i, j)] += r[(i, p)] * moments.covariance[(a, b)] * r[(j, q)];
                        }
                    }
                }
            }
        }
        out
    }

    /// TV(q, p) for d ≤ 2, and how far it may be off; `None` where the grid would be too costly.
    pub(crate) fn total_variation(&self, q: &Gaussian<Triangular>, truth: &Truth) -> Option<(f64, f64)> {
        let d = self.dim();
        if d > 2 || self.rows() > [400, 40][d - 1] {
            return None;
        }
        let c = q.factor_matrix();
        let back = inverse(&c);
        let pulled = crate::common::product(
            &crate::common::product(&back, &truth.covariance),
            &crate::common::transposed(&back),
        );
        let shift = crate::common::difference(&truth.mean, q.mean());
        let (mut low, mut high) = (vec![-7.0f64; d], vec![7.0f64; d]);
        for i in 0..d {
            let (center, sd) = (crate::common::dot(back.row(i), &shift), pulled[(i, i)].sqrt());
            low[i] = low[i].min(center - 10.0 * sd);
            high[i] = high[i].max(center + 10.0 * sd);
        }
        let n = [2000, 160][d - 1];
        let mut sums = [0.0; 2];
        let mut z = vec![0.0; d];
        let normaliser = q.log_det().unwrap();
        let tau = 2.0 * std::f64::consts::PI;
        grid(&low, &high, n, |index, x| {
            q.transport(x, &mut z);
            let p = (-self.value(&z) - truth.log_evidence + normaliser).exp();
            let gap = (p - (-0.5 * crate::common::dot(x, x) - 0.5 * d as f64 * tau.ln()).exp()).abs();
            sums[0] += gap;
            if index.iter().all(|i| i % 2 == 0) {
                sums[1] += gap;
            }
        });
        let cell: f64 = (0..d).map(|i| (high[i] - low[i]) / n as f64).product();
        let (fine, coarse) = (0.5 * cell * sums[0], 0.5 * cell * sums[1] * f64::from(1u32 << d));
        Some((fine, 2.0 * (fine - coarse).abs() + 1e-6))
    }
}
