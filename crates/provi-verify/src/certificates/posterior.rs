//! Posteriors known by quadrature: every row depends on one coordinate, and a rotation hides this from the library.

use crate::algebra::dot;
use crate::problems::{normals, orthogonal};
use provi::target::{Family, Glm, Prior};
use provi::{Design, Matrix, Result};
use std::f64::consts::PI;

/// One coordinate: V(z) = ½λz² + ½ log(2π/λ) + Σ φ(az; y).
pub(crate) struct Line {
    pub(crate) family: Family,
    pub(crate) precision: f64,
    /// (a, y).
    pub(crate) rows: Vec<(f64, f64)>,
}

/// Evidence, mean and standard deviation of a posterior on the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    pub(crate) log_evidence: f64,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

/// φ, φ', φ''. Other families are not used here.
fn likelihood(family: Family, s: f64, y: f64) -> [f64; 3] {
    match family {
        Family::Gaussian { noise_sd } => {
            let theta = noise_sd.powi(-2);
            [0.5 * theta * (s - y).powi(2) + 0.5 * (2.0 * PI / theta).ln(), theta * (s - y), theta]
        }
        Family::Poisson => [s.exp() - y * s + libm::lgamma(y + 1.0), s.exp() - y, s.exp()],
        _ => {
            let e = (-s.abs()).exp();
            let p = if s > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
            [s.max(0.0) + e.ln_1p() - y * s, p - y, e / ((1.0 + e) * (1.0 + e))]
        }
    }
}

impl Line {
    /// Rows from numbered streams: a true coefficient, features of unit scale, responses from the model.
    pub(crate) fn random(family: Family, key: u64, rows: usize, precision: f64, scale: f64) -> Self {
        let truth = normals(key, 1)[0];
        let (features, noise) = (normals(key + 1, rows), normals(key + 2, rows));
        let rows = features
            .iter()
            .zip(&noise)
            .map(|(x, n)| {
                let (a, coin) = (scale * x, 0.5 * libm::erfc(-n / std::f64::consts::SQRT_2));
                let s = a * truth;
                let y = match family {
                    Family::Gaussian { noise_sd } => s + noise_sd * n,
                    Family::Poisson => poisson(s.min(3.0).exp(), coin),
                    _ => f64::from(u8::from(coin < 1.0 / (1.0 + (-s).exp()))),
                };
                (a, y)
            })
            .collect();
        Self { family, precision, rows }
    }

    /// V, V', V'' at z.
    pub(crate) fn potential(&self, z: f64) -> [f64; 3] {
        let prior = 0.5 * (2.0 * PI / self.precision).ln();
        let mut out = [0.5 * self.precision * z * z + prior, self.precision * z, self.precision];
        for &(a, y) in &self.rows {
            let [v, first, second] = likelihood(self.family, a * z, y);
            out[0] += v;
            out[1] += a * first;
            out[2] += a * a * second;
        }
        out
    }

    /// The mode, by damped Newton.
    pub(crate) fn mode(&self) -> f64 {
        let mut z = 0.0;
        for _ in 0..200 {
            let [v, g, h] = self.potential(z);
            let mut t = 1.0;
            while t > 1e-9 && self.potential(z - t * g / h)[0] > v {
                t *= 0.5;
            }
            z -= t * g / h;
            if g.abs() < 1e-13 * (1.0 + h) {
                break;
            }
        }
        z
    }

    /// By Simpson's rule over everything within 40 nats of the top.
    pub(crate) fn truth(&self) -> Truth {
        let mode = self.mode();
        let [top, _, h] = self.potential(mode);
        let reach = |sign: f64| {
            let mut r = 6.0 / h.sqrt();
            while self.potential(mode + sign * r)[0] - top < 40.0 {
                r *= 1.2;
            }
            mode + sign * r
        };
        let (low, high) = (reach(-1.0), reach(1.0));
        let n = 2000;
        let step = (high - low) / f64::from(2 * n);
        let mut sums = [0.0; 3];
        for i in 0..=2 * n {
            let z = low + step * f64::from(i);
            let weight = if i == 0 || i == 2 * n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
            let p = weight * step / 3.0 * (top - self.potential(z)[0]).exp();
            sums[0] += p;
            sums[1] += p * (z - mode);
            sums[2] += p * (z - mode).powi(2);
        }
        let shift = sums[1] / sums[0];
        Truth {
            log_evidence: sums[0].ln() - top,
            mean: mode + shift,
            sd: (sums[2] / sums[0] - shift * shift).sqrt(),
        }
    }

    /// The library's model of this coordinate alone.
    pub(crate) fn target(&self) -> Result<Glm> {
        let (entries, response): (Vec<f64>, Vec<f64>) = self.rows.iter().copied().unzip();
        let design = Design::from_rows(self.rows.len(), 1, entries)?;
        Glm::new(self.family, design, &response, Prior::precision(self.precision)?)
    }
}

/// The Poisson count whose distribution function first exceeds `coin`.
fn poisson(rate: f64, coin: f64) -> f64 {
    let (mut left, mut count, mut term) = (coin, 0.0, (-rate).exp());
    while left > term && count < 1e4 {
        left -= term;
        count += 1.0;
        term *= rate / count;
    }
    count
}

/// Independent coordinates, rotated.
pub(crate) struct Hidden {
    pub(crate) target: Glm,
    pub(crate) log_evidence: f64,
    pub(crate) mean: Vec<f64>,
    pub(crate) covariance: Matrix,
}

impl Hidden {
    pub(crate) fn new(lines: &[Line], key: u64) -> Result<Self> {
        let d = lines.len();
        let rotation = orthogonal(key, d);
        let (mut entries, mut response) = (Vec::new(), Vec::new());
        let mut mean = vec![0.0; d];
        let mut covariance = Matrix::zeros(d, d);
        let mut log_evidence = 0.0;
        for (j, line) in lines.iter().enumerate() {
            let truth = line.truth();
            log_evidence += truth.log_evidence;
            for i in 0..d {
                mean[i] += rotation[(i, j)] * truth.mean;
                for k in 0..d {
                    covariance[(i, k)] += rotation[(i, j)] * truth.sd.powi(2) * rotation[(k, j)];
                }
            }
            for &(a, y) in &line.rows {
                entries.extend((0..d).map(|i| a * rotation[(i, j)]));
                response.push(y);
            }
        }
        let design = Design::from_rows(response.len(), d, entries)?;
        let target = Glm::new(lines[0].family, design, &response, Prior::precision(lines[0].precision)?)?;
        Ok(Self { target, log_evidence, mean, covariance })
    }

    /// Mean and standard deviation of vᵀz.
    pub(crate) fn functional(&self, v: &[f64]) -> (f64, f64) {
        (dot(v, &self.mean), crate::algebra::form(&self.covariance, v, v).sqrt())
    }
}
