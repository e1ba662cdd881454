//! Densities that are sums over data, term by term.

mod summed;

pub use summed::Summed;

use crate::base::error::Result;
use crate::base::linalg::{eigenvalue_error, eigenvalues, safe_congruence};
use crate::base::matrix::{Matrix, unpack_lower};
use crate::base::scratch::Scratch;
use crate::target::curvature::Provenance;

/// log p(z, x) = log p_0(z) + Σ_n log p_n(z): a prior or other part p_0 that belongs to no datum, and one term for
/// each of N data.
///
/// A run that draws terms ([`crate::Planner::subsample`]) passes indices and weights. The library chooses how often
/// a term is drawn and puts the factor that corrects for it into `weights`; implementations only multiply by
/// `weights`. [`Summed`] makes a [`Target`](super::Target) of a finite sum.
///
/// ```
/// use provi::subsample::Sampling;
/// use provi::target::{Declared, FiniteSum, Scratch, Summed, TermSmoothness};
/// use provi::{Curvature, Method, Planner, Quadratic, Seed};
///
/// /// y_n ~ N(z, 1), z ~ N(0, 1).
/// struct Location(Vec<f64>);
///
/// impl FiniteSum for Location {
///     fn dimension(&self) -> usize {
///         1
///     }
///     fn terms(&self) -> usize {
///         self.0.len()
///     }
///     fn weighted_terms(&self, terms: &[usize], weights: &[f64], points: &[f64], values: &mut [f64],
///                       gradients: &mut [f64], _: &mut Scratch) -> provi::Result<()> {
///         for ((z, value), gradient) in points.iter().zip(values).zip(gradients) {
///             (*value, *gradient) = (0.0, 0.0);
///             for (&n, weight) in terms.iter().zip(weights) {
///                 let miss = self.0[n] - z;
///                 *value -= weight * 0.5 * (miss * miss + (2.0 * std::f64::consts::PI).ln());
///                 *gradient += weight * miss;
///             }
///         }
///         Ok(())
///     }
///     fn add_rest(&self, points: &[f64], values: &mut [f64], gradients: &mut [f64], _: &mut Scratch)
///                 -> provi::Result<()> {
///         for ((z, value), gradient) in points.iter().zip(values).zip(gradients) {
///             *value -= 0.5 * (z * z + (2.0 * std::f64::consts::PI).ln());
///             *gradient -= z;
///         }
///         Ok(())
///     }
///     fn term_smoothness(&self) -> provi::Result<Option<TermSmoothness>> {
///         Ok(Some(TermSmoothness::declared(vec![1.0; self.0.len()])?))           // V_n'' = 1
///     }
/// }
///
/// let target = Summed::new(Location(vec![0.3, 1.9, 0.8, 1.2]))?;
/// let five = Quadratic::Scalar(5.0);                                             // V'' = 1 + 4
/// let target = Declared::new(target).with_curvature(Curvature::declared(1, five.clone(), Some(five))?)?;
/// let plan = Planner::new(Method::ProxEnergy).subsample(2, Sampling::Uniform).to_distance(&target, 0.05)?;
/// let fit = plan.run(&target, Seed(3))?;
/// assert!((fit.gaussian.mean()[0] - 0.84).abs() < 0.5);                          // Σ y_n/5
/// # Ok::<(), provi::Error>(())
/// ```
pub trait FiniteSum {
    /// The dimension d.
    fn dimension(&self) -> usize;

    /// The number of terms N.
    fn terms(&self) -> usize;

    /// values_k = Σ_j weights_j·log p_{terms_j}(z_k), and their gradients; `points` and `gradients` hold one point
    /// per row. Indices are below N and may repeat. Overwrite what `values` and `gradients` hold. A constant of a
    /// term may be added here or in the rest, but must be in one of them.
    fn weighted_terms(
        &self,
        terms: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()>;

    /// values_k += log p_0(z_k), and its gradients: the part that is never subsampled. The default adds nothing.
    fn add_rest(
        &self,
        _points: &[f64],
        _values: &mut [f64],
        _gradients: &mut [f64],
        _scratch: &mut Scratch,
    ) -> Result<()> {
        Ok(())
    }

    /// The sum of the rest and the weighted terms.
    fn estimate(
        &self,
        terms: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.weighted_terms(terms, weights, points, values, gradients, scratch)?;
        self.add_rest(points, values, gradients, scratch)
    }

    /// M_n ≥ ‖∇²V_n(z)‖ for all z, with V_n = −log p_n, for each term. [noise-subsample] needs it. The default is
    /// `None`.
    fn term_smoothness(&self) -> Result<Option<TermSmoothness>> {
        Ok(None)
    }

    /// M_n in the coordinates y of z = c + Py, P packed row by row: M_n‖P‖₂² by default.
    fn term_smoothness_through(&self, factor: &[f64]) -> Result<Option<TermSmoothness>> {
        let Some(mut smoothness) = self.term_smoothness()? else { return Ok(None) };
        let scale = square_norm(self.dimension(), factor)?;
        smoothness.each.iter_mut().for_each(|m| *m *= scale);
        Ok(Some(smoothness))
    }

    /// X with Σ_n ‖∇V_n(z) − ∇V_n(z')‖²/π_n ≤ X‖z − z'‖² in those coordinates (in the target's own if there is no
    /// P); `smoothness` holds the M_n there. The default is Σ_n M_n²/π_n; a model that knows the directions in
    /// which its terms bend can do better.
    fn spread_through(
        &self,
        _factor: Option<&[f64]>,
        smoothness: &TermSmoothness,
        probabilities: &[f64],
    ) -> Result<f64> {
        Ok(smoothness.spread(probabilities))
    }
}

/// M_n for each term, and the origin of these numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct TermSmoothness {
    /// M_n.
    pub each: Vec<f64>,
    /// The origin of the M_n.
    pub provenance: Provenance,
}

impl TermSmoothness {
    /// Declared by the owner of the terms.
    pub fn declared(each: Vec<f64>) -> Result<Self> {
        Self::new(each, Provenance::Declared)
    }

    /// Checks that every M_n is finite and not negative.
    pub fn new(each: Vec<f64>, provenance: Provenance) -> Result<Self> {
        crate::base::matrix::check_finite("smoothness of the terms", &each)?;
        if let Some(&value) = each.iter().find(|&&m| m < 0.0) {
            let what = "smoothness M_n of a term";
            return Err(crate::Error::OutOfRange { what, value, needed: "at least 0" });
        }
        Ok(Self { each, provenance })
    }

    /// Σ_n M_n²/π_n, rounded up.
    pub fn spread(&self, probabilities: &[f64]) -> f64 {
        let sum: f64 = self.each.iter().zip(probabilities).map(|(m, p)| m * m / p).sum();
        sum * (1.0 + (self.each.len() as f64 + 8.0) * f64::EPSILON)
    }
}

/// ‖P‖₂², rounded up.
pub(crate) fn square_norm(dim: usize, factor: &[f64]) -> Result<f64> {
    let p = unpack_lower(dim, factor);
    let gram = safe_congruence(&Matrix::scaled_identity(dim, 1.0), &p, 0.0, 1.0);
    let largest = eigenvalues("PᵀP", &gram)?.last().copied().unwrap_or(0.0);
    Ok((largest + eigenvalue_error(&gram)) * (1.0 + 1e-12))
}
