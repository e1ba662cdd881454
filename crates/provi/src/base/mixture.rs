//! Mixtures of Gaussians, q = Σ_c w_c N(m_c, C_cC_cᵀ).

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::normal_mixture;
use crate::base::stop;
use provi_kernels::{axpy, dot, triangle};

/// How far from 1 the sum of given weights may be.
const SUM: f64 = 1e-6;
/// The lane of the uniforms that choose the component of a draw; the normals of the draw are in lane 0.
const CHOICE: u32 = 1;

/// q = Σ_c w_c N(m_c, C_cC_cᵀ), a mixture of Gaussians.
///
/// ```
/// use provi::{Gaussian, mixture::Mixture};
///
/// let at = |mean: f64| Gaussian::new(&[mean], &[1.0]);
/// let q = Mixture::new(&[0.3, 0.7], vec![at(-4.0)?, at(4.0)?])?;
/// assert!((q.mean()[0] - 1.6).abs() < 1e-12);
/// assert!((q.quantile(0, 0.3)?).abs() < 1.0);                  // between the two
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    weights: Vec<f64>,
    components: Vec<Gaussian<Triangular>>,
    /// −log det C_c − (d/2) log 2π.
    constants: Vec<f64>,
}

impl Mixture {
    /// From weights, which are not negative and whose sum is 1, and as many components of one dimension.
    pub fn new(weights: &[f64], components: Vec<Gaussian<Triangular>>) -> Result<Self> {
        let Some(dim) = components.first().map(Gaussian::dim) else {
            return Err(Error::Empty { what: "components" });
        };
        if weights.len() != components.len() {
            let (found, expected) = (weights.len(), components.len());
            return Err(Error::Shape { what: "weights", found, expected });
        }
        if let Some(found) = components.iter().map(Gaussian::dim).find(|d| *d != dim) {
            return Err(Error::Shape { what: "component", found, expected: dim });
        }
        let needed = "a number that is not negative";
        if let Some(&value) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::OutOfRange { what: "weight", value, needed });
        }
        let total: f64 = weights.iter().sum();
        if (total - 1.0).abs() > SUM {
            return Err(Error::OutOfRange { what: "sum of the weights", value: total, needed: "1" });
        }
        let half = 0.5 * dim as f64 * (2.0 * std::f64::consts::PI).ln();
        let constants = components.iter().map(|q| Ok(-q.log_det()? - half)).collect::<Result<Vec<f64>>>()?;
        Ok(Self { weights: weights.iter().map(|w| w / total).collect(), components, constants })
    }

    /// The dimension d.
    pub fn dim(&self) -> usize {
        self.components[0].dim()
    }

    /// The number of components.
    #[allow(clippy::len_without_is_empty, reason = "a mixture has at least one component")]
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// w.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// N(m_c, C_cC_cᵀ).
    pub fn components(&self) -> &[Gaussian<Triangular>] {
        &self.components
    }

    /// log q(z).
    pub fn log_density(&self, z: &[f64]) -> Result<f64> {
        self.check(z)?;
        let mut logs = vec![0.0; self.len()];
        self.log_joint(z, &mut logs, &mut vec![0.0; self.dim()]);
        Ok(log_sum_exp(&logs))
    }

    /// Returns log q(z) and writes ∇ log q = −Σ_c r_c (C_cC_cᵀ)⁻¹(z − m_c) into `gradient`; r_c is the part of component c
    /// in q(z).
    pub fn log_density_with_gradient(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.check(z)?;
        self.check(gradient)?;
        let (mut logs, mut u) = (vec![0.0; self.len()], vec![0.0; self.dim()]);
        self.log_joint(z, &mut logs, &mut u);
        let value = log_sum_exp(&logs);
        gradient.fill(0.0);
        for (q, log) in self.components.iter().zip(&logs) {
            let part = (log - value).exp();
            // An exact zero cannot become NaN if u overflows.
            if part > 0.0 {
                whiten(q, z, &mut u);
                triangle::solve_transposed(q.factor(), &mut u);
                axpy(-part, &u, gradient);
            }
        }
        Ok(value)
    }

    /// Σ_c w_c m_c.
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.dim()];
        self.weights.iter().zip(&self.components).for_each(|(w, q)| axpy(*w, q.mean(), &mut mean));
        mean
    }

    /// Σ_c w_c (C_cC_cᵀ + (m_c − m)(m_c − m)ᵀ) with the mean m of the mixture.
    pub fn covariance(&self) -> Matrix {
        let (d, mean) = (self.dim(), self.mean());
        let mut out = Matrix::zeros(d, d);
        for (w, q) in self.weights.iter().zip(&self.components) {
            out.add_scaled(*w, &q.covariance());
            for i in 0..d {
                for j in 0..d {
                    out[(i, j)] += w * (q.mean()[i] - mean[i]) * (q.mean()[j] - mean[j]);
                }
            }
        }
        out
    }

    /// The marginal standard deviations.
    pub fn standard_deviations(&self) -> Vec<f64> {
        let (mean, mut squares) = (self.mean(), vec![0.0; self.dim()]);
        for (w, q) in self.weights.iter().zip(&self.components) {
            for (i, square) in squares.iter_mut().enumerate() {
                *square += w * (q.deviation(i).powi(2) + (q.mean()[i] - mean[i]).powi(2));
            }
        }
        squares.into_iter().map(f64::sqrt).collect()
    }

    /// The quantile of coordinate i at this level, to rounding: its law is a mixture of normal laws.
    pub fn quantile(&self, i: usize, level: f64) -> Result<f64> {
        if i >= self.dim() {
            let needed = "a coordinate of the mixture, counted from 0";
            return Err(Error::OutOfRange { what: "coordinate", value: i as f64, needed });
        }
        let parts: Vec<_> = self
            .weights
            .iter()
            .zip(&self.components)
            .filter(|(w, _)| **w > 0.0)
            .map(|(w, q)| (*w, q.mean()[i], q.deviation(i)))
            .collect();
        normal_mixture::quantile(&parts, level)
    }

    /// `count` independent draws, one per row; a pure function of the seed.
    pub fn sample(&self, count: usize, seed: Seed) -> Matrix {
        let draws = Draws::new(seed, Purpose::Sample);
        let mut out = Matrix::zeros(count, self.dim());
        let mut u = vec![0.0; self.dim()];
        for k in (0..count).take_while(|_| !stop::trips()) {
            let which = self.component_at(draws.uniform(k as u64, CHOICE));
            draws.fill(k as u64, 0, &mut u);
            self.components[which].transport(&u, out.row_mut(k));
        }
        out
    }

    /// The component whose part of [0, 1] holds x.
    pub(crate) fn component_at(&self, x: f64) -> usize {
        let mut above = 0.0;
        for (c, w) in self.weights.iter().enumerate() {
            above += w;
            if x < above {
                return c;
            }
        }
        // Rounding can leave x beyond the last sum.
        self.weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
    }

    /// Writes log w_c N_c(z) for every component; −∞ for a weight of zero.
    pub(crate) fn log_joint(&self, z: &[f64], logs: &mut [f64], u: &mut [f64]) {
        self.log_components(z, logs, u);
        logs.iter_mut().zip(&self.weights).for_each(|(log, w)| *log += w.ln());
    }

    /// Writes log N_c(z) for every component; `u` is working memory.
    pub(crate) fn log_components(&self, z: &[f64], logs: &mut [f64], u: &mut [f64]) {
        for ((q, constant), log) in self.components.iter().zip(&self.constants).zip(logs) {
            whiten(q, z, u);
            *log = constant - 0.5 * dot(u, u);
        }
    }

    /// The same components with other weights, which are not checked.
    pub(crate) fn with_weights(&self, weights: Vec<f64>) -> Self {
        Self { weights, ..self.clone() }
    }

    fn check(&self, z: &[f64]) -> Result<()> {
        match z.len() == self.dim() {
            true => Ok(()),
            false => Err(Error::Shape { what: "point", found: z.len(), expected: self.dim() }),
        }
    }
}

/// u = C⁻¹(z − m).
pub(crate) fn whiten(q: &Gaussian<Triangular>, z: &[f64], u: &mut [f64]) {
    u.iter_mut().zip(z).zip(q.mean()).for_each(|((u, z), m)| *u = z - m);
    triangle::solve(q.factor(), u);
}

/// log Σ eˣ, without overflow.
pub(crate) fn log_sum_exp(x: &[f64]) -> f64 {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top.is_finite() { top + x.iter().map(|x| (x - top).exp()).sum::<f64>().ln() } else { top }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Mixture {
        let narrow = Gaussian::new(&[-2.0, 1.0], &[0.5, 0.2, 0.7]).unwrap();
        let wide = Gaussian::new(&[3.0, 0.0], &[1.5, -0.4, 1.0]).unwrap();
        Mixture::new(&[0.25, 0.75], vec![narrow, wide]).unwrap()
    }

    #[test]
    fn the_gradient_is_that_of_the_log_density() {
        let (q, h) = (pair(), 1e-5);
        for z in [[-2.0, 1.0], [0.3, -0.7], [5.0, 2.0]] {
            let mut gradient = [0.0; 2];
            let value = q.log_density_with_gradient(&z, &mut gradient).unwrap();
            assert!((value - q.log_density(&z).unwrap()).abs() < 1e-14);
            let parts = q.weights().iter().zip(q.components());
            let sum: f64 = parts.map(|(w, c)| w * c.log_density(&z).unwrap().exp()).sum();
            assert!((value - sum.ln()).abs() < 1e-12, "{value}");
            for i in 0..2 {
                let at = |s: f64| {
                    let mut z = z;
                    z[i] += s * h;
                    q.log_density(&z).unwrap()
                };
                let slope = (at(1.0) - at(-1.0)) / (2.0 * h);
                assert!((gradient[i] - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{gradient:?} {slope}");
            }
        }
    }

    /// 40 000 draws; each difference is within 5 standard errors, a false alarm of about 3e-6 in all.
    #[test]
    fn draws_have_the_moments_and_quantiles_of_the_mixture() {
        let q = pair();
        let rejected = |drawn: &Mixture| {
            let (n, sample) = (40_000, drawn.sample(40_000, Seed(3)));
            let (mean, sds) = (q.mean(), q.standard_deviations());
            (0..2).any(|i| {
                let found = (0..n).map(|k| sample[(k, i)]).sum::<f64>() / n as f64;
                let level = 0.2;
                let below = q.quantile(i, level).unwrap();
                let part = (0..n).filter(|k| sample[(*k, i)] < below).count() as f64 / n as f64;
                (found - mean[i]).abs() > 5.0 * sds[i] / (n as f64).sqrt()
                    || (part - level).abs() > 5.0 * (level * (1.0 - level) / n as f64).sqrt()
            })
        };
        assert!(!rejected(&q));
        // Planted: the weights are ignored when a component is chosen.
        assert!(rejected(&q.with_weights(vec![0.5, 0.5])));
        let covariance = q.covariance();
        for i in 0..2 {
            assert!((covariance[(i, i)].sqrt() - q.standard_deviations()[i]).abs() < 1e-12);
        }
    }

    #[test]
    fn bad_weights_and_shapes_are_refused() {
        let one = || Gaussian::standard(1);
        let bad = [
            Mixture::new(&[], vec![]),
            Mixture::new(&[1.0], vec![one(), one()]),
            Mixture::new(&[0.5, 0.6], vec![one(), one()]),
            Mixture::new(&[1.5, -0.5], vec![one(), one()]),
            Mixture::new(&[f64::NAN, 1.0], vec![one(), one()]),
            Mixture::new(&[0.5, 0.5], vec![one(), Gaussian::standard(2)]),
        ];
        for found in bad {
            assert!(found.is_err(), "{found:?}");
        }
        let q = Mixture::new(&[1.0], vec![one()]).unwrap();
        assert!(
            q.log_density(&[0.0, 0.0]).is_err() && q.quantile(1, 0.5).is_err() && q.quantile(0, 0.0).is_err()
        );
        // Far away nothing overflows to NaN.
        let mut gradient = [0.0];
        assert!(q.log_density_with_gradient(&[1e200], &mut gradient).unwrap() == f64::NEG_INFINITY);
    }
}
