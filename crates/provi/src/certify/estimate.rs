//! Estimates without proof that users expect beside a certificate: evidence, ELBO, KL and k̂, from draws of q.
//!
//! Nothing here is a bound. For S draws z_k ~ q the log ratios are r_k = log p(z_k, x) − log q(z_k), and with
//! w_k = e^{r_k}, Pareto smoothed ([`psis`]),
//! ```text
//! log p(x) ≈ log w̄,      ELBO ≈ r̄,      KL(q‖p) ≈ log w̄ − r̄
//! ```
//! Standard errors are those of the means of w_k/w̄, r_k and w_k/w̄ − r_k (the delta method). [`Reliability`] says
//! how far to trust them: for a large k̂ the draws have missed the region of large weights, and the standard error
//! has missed it too.

mod psis;
mod reliability;
mod resample;

pub use psis::psis;
pub use reliability::{FEWEST_EFFECTIVE, MOSTLY_KEPT, Reliability};
pub use resample::resample;

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::target::evaluate::Evaluator;

/// Default number of draws for estimates; the tail to which k̂ is fitted then has 190 weights. If an audit has made
/// at least as many draws, the estimates need no further ones
/// ([`Audited::log_ratios`](crate::audit::Audited::log_ratios)).
pub const USUAL_DRAWS: usize = 4000;

/// Draws evaluated at a time; limits the memory and changes no number.
const BATCH: usize = 256;

/// Estimates, not bounds; see the [module](self) for the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Estimates {
    /// log p(x), from the smoothed weights.
    pub log_evidence: f64,
    /// Its standard error.
    pub log_evidence_se: f64,
    /// E_q log p(z, x)/q(z); −∞ if a draw fell where p = 0.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "or_infinite::<_, true>"))]
    pub elbo: f64,
    /// Its standard error; ∞ if the ELBO is −∞.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "or_infinite::<_, false>"))]
    pub elbo_se: f64,
    /// KL(q‖p) = log p(x) − ELBO. If it is near zero, noise and smoothing can make it negative.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "or_infinite::<_, false>"))]
    pub kl: f64,
    /// Its standard error, which accounts for the correlation of the two parts' errors.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "or_infinite::<_, false>"))]
    pub kl_se: f64,
    /// k̂, the shape of the weights' tail; ∞ if none could be fitted ([`psis`]).
    #[cfg_attr(feature = "serde", serde(deserialize_with = "or_infinite::<_, false>"))]
    pub pareto_k: f64,
    /// The number of draws S.
    pub draws: usize,
    /// (Σw)²/Σw² of the smoothed weights: S if they are equal, 1 if one has all the mass.
    pub effective_draws: f64,
}

/// Estimates from `draws` fresh draws of q, at least two; a pure function of the seed.
///
/// ```
/// use provi::{Matrix, Seed, estimate::estimate, target::GaussianTarget};
/// # fn main() -> provi::Result<()> {
/// let target = GaussianTarget::new(&[1.0, 2.0], Matrix::scaled_identity(2, 1.0))?.constant(-3.0)?;
/// let found = estimate(&target, &target.optimum()?, Seed(1), 1000)?;
/// assert!((found.log_evidence - target.log_evidence()).abs() < 1e-12 && found.kl.abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
pub fn estimate<'t>(
    target: impl Into<Evaluator<'t>>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    draws: usize,
) -> Result<Estimates> {
    let (target, mut log_ratios) = (target.into(), Vec::with_capacity(draws));
    stop::phase("the estimates", || {
        for_each_batch(target, q, seed, draws, |_, ratios| log_ratios.extend_from_slice(ratios))
    })?;
    Estimates::from_log_ratios(&log_ratios)
}

/// The draws behind [`estimate`], one per row, and their log ratios, unsmoothed. With [`psis`] and [`resample`]
/// they give draws closer to the posterior than q.
pub fn weighted_draws<'t>(
    target: impl Into<Evaluator<'t>>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    draws: usize,
) -> Result<(Matrix, Vec<f64>)> {
    let target = target.into();
    let (mut points, mut log_ratios) = (Vec::with_capacity(draws * q.dim()), Vec::with_capacity(draws));
    stop::phase("the draws", || {
        for_each_batch(target, q, seed, draws, |z, ratios| {
            points.extend_from_slice(z);
            log_ratios.extend_from_slice(ratios);
        })
    })?;
    Ok((Matrix::new(draws, q.dim(), points)?, log_ratios))
}

/// log p(z, x) − log q(z) at given points, one per row. If the points are draws of q, these are their log weights.
pub fn log_ratios<'t>(
    target: impl Into<Evaluator<'t>>,
    q: &Gaussian<Triangular>,
    points: &Matrix,
) -> Result<Vec<f64>> {
    let target = target.into();
    if q.dim() != target.dim() {
        return Err(Error::Shape { what: "Gaussian", found: q.dim(), expected: target.dim() });
    }
    log_ratios_under(target, points, |z| q.log_density(z))
}

/// [`log_ratios`] for any law with a log density `log_q`.
pub fn log_ratios_under<'t>(
    target: impl Into<Evaluator<'t>>,
    points: &Matrix,
    log_q: impl Fn(&[f64]) -> Result<f64>,
) -> Result<Vec<f64>> {
    let (target, d) = (target.into(), points.columns());
    if d != target.dim() {
        return Err(Error::Shape { what: "point", found: d, expected: target.dim() });
    }
    let mut ratios = vec![0.0; points.rows()];
    let mut gradients = vec![0.0; BATCH * d];
    let mut scratch = target.scratch(BATCH.min(points.rows()));
    for (b, (ratios, z)) in ratios.chunks_mut(BATCH).zip(points.entries().chunks(BATCH * d)).enumerate() {
        target.evaluate(z, ratios, &mut gradients[..z.len()], &mut scratch)?;
        for (k, (ratio, z)) in ratios.iter_mut().zip(z.chunks_exact(d)).enumerate() {
            check_weight(*ratio, b * BATCH + k, z)?;
            *ratio -= log_q(z)?;
        }
    }
    Ok(ratios)
}

/// Refuses a log density that is NaN or +∞.
fn check_weight(value: f64, draw: usize, z: &[f64]) -> Result<()> {
    if value.is_nan() || value == f64::INFINITY {
        let norm = crate::base::linalg::norm(z);
        return Err(Error::TargetNotFinite { quantity: "log-density", value, step: 0, draw, norm });
    }
    Ok(())
}

/// Calls `see` with points and log ratios, batch after batch.
fn for_each_batch(
    target: Evaluator<'_>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    draws: usize,
    mut see: impl FnMut(&[f64], &[f64]),
) -> Result<()> {
    let d = q.dim();
    if target.dim() != d {
        return Err(Error::Shape { what: "Gaussian", found: d, expected: target.dim() });
    }
    let stream = Draws::new(seed, Purpose::Estimate);
    let normaliser = q.log_det()? + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
    let most = BATCH.min(draws);
    let (mut u, mut z, mut gradients) = (vec![0.0; most * d], vec![0.0; most * d], vec![0.0; most * d]);
    let mut ratios = vec![0.0; most];
    let mut scratch = target.scratch(most);
    for begin in (0..draws).step_by(BATCH) {
        let count = BATCH.min(draws - begin);
        let (u, z) = (&mut u[..count * d], &mut z[..count * d]);
        for (k, u) in u.chunks_exact_mut(d).enumerate() {
            stream.fill((begin + k) as u64, 0, u);
        }
        q.transport(u, z);
        let (gradients, ratios) = (&mut gradients[..count * d], &mut ratios[..count]);
        target.evaluate(z, ratios, gradients, &mut scratch)?;
        for (k, ratio) in ratios.iter_mut().enumerate() {
            check_weight(*ratio, begin + k, &z[k * d..(k + 1) * d])?;
            let u = &u[k * d..(k + 1) * d];
            *ratio += 0.5 * provi_kernels::dot(u, u) + normaliser;
        }
        see(z, ratios);
    }
    Ok(())
}

impl Estimates {
    /// Estimates from log ratios of draws of q.
    pub fn from_log_ratios(log_ratios: &[f64]) -> Result<Self> {
        let draws = log_ratios.len();
        if draws < 2 {
            return Err(Error::OutOfRange {
                what: "number of draws",
                value: draws as f64,
                needed: "at least 2",
            });
        }
        let mut weights = log_ratios.to_vec();
        let pareto_k = psis(&mut weights)?;
        let log_evidence = log_mean_exp(&weights);
        // w_k/w̄, whose mean is one.
        weights.iter_mut().for_each(|w| *w = (*w - log_evidence).exp());
        let (elbo, elbo_se) = mean_and_error(log_ratios.iter().copied());
        let (_, log_evidence_se) = mean_and_error(weights.iter().copied());
        let (_, kl_se) = mean_and_error(weights.iter().zip(log_ratios).map(|(w, r)| w - r));
        let squares = provi_kernels::dot(&weights, &weights);
        Ok(Self {
            log_evidence,
            log_evidence_se,
            elbo,
            elbo_se,
            kl: log_evidence - elbo,
            kl_se,
            pareto_k,
            draws,
            effective_draws: weights.iter().sum::<f64>().powi(2) / squares,
        })
    }

    /// How far to trust the estimates, judged by k̂, the number of draws and how many of them the weights keep.
    pub fn reliability(&self) -> Reliability {
        // Equal weights have no tail to fit: importance sampling is exact there.
        if self.draws as f64 - self.effective_draws < 1e-12 * self.draws as f64 {
            return Reliability::Exact;
        }
        match Reliability::new(self.pareto_k, self.draws) {
            // Enough draws that half of them are many.
            Reliability::Unreliable
                if self.kept() >= MOSTLY_KEPT && self.effective_draws >= FEWEST_EFFECTIVE =>
            {
                Reliability::Even
            }
            judged => judged,
        }
    }

    /// The part of the draws that the weights keep.
    pub fn kept(&self) -> f64 {
        self.effective_draws / self.draws as f64
    }
}

impl std::fmt::Display for Estimates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "estimates from {} draws, with standard errors; not bounds", self.draws)?;
        writeln!(f, "  log p(x)  {:.4} ± {:.2e}", self.log_evidence, self.log_evidence_se)?;
        writeln!(f, "  ELBO      {:.4} ± {:.2e}", self.elbo, self.elbo_se)?;
        writeln!(f, "  KL(q‖p)   {:.3e} ± {:.2e}", self.kl, self.kl_se)?;
        write!(f, "  k̂ = {:.2}: {}", self.pareto_k, self.reliability())
    }
}

/// log of the mean of e^x, without overflow; the largest entry is finite.
fn log_mean_exp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + (x.iter().map(|x| (x - max).exp()).sum::<f64>() / x.len() as f64).ln()
}

/// x̄ and √(Σ(x−x̄)²/(n(n−1))); an infinite mean has an infinite error.
fn mean_and_error(x: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = x.clone().count() as f64;
    let rough = x.clone().sum::<f64>() / n;
    if rough.is_infinite() {
        return (rough, f64::INFINITY);
    }
    // A second pass removes the rounding of the first: the mean of equal numbers is that number.
    let mean = rough + x.clone().map(|x| x - rough).sum::<f64>() / n;
    (mean, (x.map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}

/// JSON has no infinities and writes null: read it back as the infinity that this field can hold.
#[cfg(feature = "serde")]
fn or_infinite<'de, D: serde::Deserializer<'de>, const NEGATIVE: bool>(
    input: D,
) -> std::result::Result<f64, D::Error> {
    let infinite = if NEGATIVE { f64::NEG_INFINITY } else { f64::INFINITY };
    Ok(<Option<f64> as serde::Deserialize>::deserialize(input)?.unwrap_or(infinite))
}

#[cfg(test)]
mod tests;
