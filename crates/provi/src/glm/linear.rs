//! A linear-predictor model without its rows: what is computed from the sums over them.

mod joint;
pub(crate) mod local;
pub(crate) mod rounding;
pub(crate) mod taylor;

use super::{DataSummary, Family, Prior};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::glm::rows::Likelihood;
use crate::target::curvature::{Curvature, Provenance, Quadratic};
use crate::target::standard::Standard;

/// Family, prior and constants of a model whose rows are held elsewhere: in memory, in blocks, or by other
/// processes.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub(crate) family: Family,
    pub(crate) prior: Prior,
    dim: usize,
    names: Option<Vec<String>>,
    /// The constant of V, and a bound of its error.
    pub(crate) constant: f64,
    pub(crate) constant_error: f64,
    known_convexity: f64,
    /// Bound of the error in Λ from moving the prior to other coordinates, in spectral norm.
    pub(crate) lost: f64,
    /// Whether this is a model in standard coordinates.
    is_standard: bool,
}

impl Likelihood {
    /// The constant of V, and a bound of its error: log Γ has an error of at most 4 units in the last place, and
    /// each addition at most one unit of Σ|terms|.
    fn with_prior(self, prior: &Prior, dim: usize) -> [f64; 2] {
        let (own, own_size) = prior.constant(dim);
        let of_rows = (self.rows as f64 + 16.0) * f64::EPSILON * self.size;
        [own + self.constant, of_rows + (dim as f64 + 16.0) * f64::EPSILON * own_size]
    }
}

impl Linear {
    /// `likelihood` is the rows' part of the constant.
    pub(crate) fn new(family: Family, dim: usize, prior: Prior, likelihood: Likelihood) -> Result<Self> {
        prior.check(dim)?;
        let [constant, constant_error] = likelihood.with_prior(&prior, dim);
        Ok(Self {
            family,
            prior,
            dim,
            names: None,
            constant,
            constant_error,
            known_convexity: 0.0,
            lost: 0.0,
            is_standard: false,
        })
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// The same model with another prior.
    pub(crate) fn with_prior(self, prior: Prior, likelihood: Likelihood) -> Result<Self> {
        Ok(Self { names: self.names, ..Self::new(self.family, self.dim, prior, likelihood)? })
    }

    /// The same model with another constant of the rows.
    pub(crate) fn with_likelihood(mut self, family: Family, likelihood: Likelihood) -> Self {
        self.family = family;
        [self.constant, self.constant_error] = likelihood.with_prior(&self.prior, self.dim);
        self
    }

    pub(crate) fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.dim {
            return Err(Error::Shape { what: "names", found: names.len(), expected: self.dim });
        }
        self.names = Some(names);
        Ok(self)
    }

    /// Sets a lower bound of μ known in closed form, in case an eigensolver's error would hide it.
    pub(crate) fn with_known_convexity(mut self, convexity: f64) -> Self {
        self.known_convexity = convexity;
        self
    }

    /// Whether this is a model in standard coordinates.
    pub(crate) fn is_standard(&self) -> bool {
        self.is_standard
    }

    /// The coordinates in which this model is solved and audited, whatever the units of its columns.
    ///
    /// The size of column j is √(θ·var(a_j) + Λ_jj): what data and prior together know about its coefficient. θ =
    /// φ'' for a gaussian model and 1 for others. In other units both terms change by the same factor.
    pub(crate) fn standard(&self, data: &DataSummary, sparse: bool) -> Standard {
        self.resized(data, data.centred(sparse))
    }

    /// The same with centres that do not depend on how the rows are cut into blocks: those of a sparse Gaussian.
    pub(crate) fn steady_standard(&self, data: &DataSummary, sparse: bool) -> Standard {
        self.resized(data, data.steadily_centred(sparse))
    }

    fn resized(&self, data: &DataSummary, centred: Standard) -> Standard {
        let information = match self.family {
            Family::Gaussian { noise_sd } => 1.0 / (noise_sd * noise_sd),
            _ => 1.0,
        };
        let known = self.prior.known(self.dim, &centred);
        let size =
            |(j, known): (usize, f64)| (information.sqrt() * data.deviation(j, &centred)).hypot(known.sqrt());
        let sizes: Vec<f64> = known.into_iter().enumerate().map(size).collect();
        centred.resized(&sizes)
    }

    /// The same model in standard coordinates; the rows' part of the constant does not change.
    pub(crate) fn in_standard(&self, map: &Standard) -> Self {
        let moved = self.prior.in_standard(self.dim, map);
        // λ_min(TᵀΛT) ≥ λ_min(Λ)/‖T⁻¹‖².
        let inverse = map.largest_inverse();
        let known = moved.prior.convexity().unwrap_or(self.known_convexity / (inverse * inverse));
        let (own, own_size) = self.prior.constant(self.dim);
        let (other, other_size) = moved.prior.constant(self.dim);
        // Replacing one part of the constant by another loses as much as such sums do.
        let sizes = self.constant.abs() + own_size + other_size;
        let moved_error = (self.dim as f64 + 16.0) * f64::EPSILON * sizes;
        let likelihood = self.constant - own;
        Self {
            family: self.family,
            constant: other + likelihood,
            constant_error: self.constant_error + moved_error,
            prior: moved.prior,
            dim: self.dim,
            names: self.names.clone(),
            known_convexity: known,
            lost: moved.lost,
            is_standard: true,
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.names.clone().unwrap_or_else(|| (0..self.dim).map(|j| format!("x{j}")).collect())
    }

    /// Λ.
    pub(crate) fn precision(&self) -> Matrix {
        self.prior.quadratic(self.dim).to_matrix(self.dim)
    }

    /// Turns the rows' energies and their gradients into log densities and their gradients.
    pub(crate) fn conclude_densities(&self, points: &[f64], values: &mut [f64], gradients: &mut [f64]) {
        let d = self.dim;
        let mut spare = vec![0.0; if gradients.is_empty() { d } else { 0 }];
        let mut pulls = gradients.chunks_exact_mut(d);
        for (z, value) in points.chunks_exact(d).zip(values) {
            let pull = pulls.next().unwrap_or(&mut spare);
            *value = -(*value + self.prior.energy(z, pull) + self.constant);
            pull.iter_mut().for_each(|x| *x = -*x);
        }
    }

    /// Both bounds of the curvature. `bound(θ)` returns Λ + θAᵀWA and a bound of its rounding error.
    pub(crate) fn curvature(&self, bound: impl Fn(f64) -> (Matrix, f64)) -> Result<Curvature> {
        let (low, high) = self.family.curvature_range();
        let (lower, slack) = self.lower_bound(&bound);
        let upper = match high {
            Some(high) if high - low <= 0.0 => Some(lower.clone()),
            Some(high) => {
                // If θ_min > 0, both bounds share one slack; here the upper bound is moved by its own.
                let (mut h, lost) = bound(high);
                if low <= 0.0 {
                    (0..self.dim).for_each(|i| h[(i, i)] += lost);
                }
                Some(Quadratic::Matrix(h))
            }
            None => None,
        };
        let curvature = Curvature::with_slack(self.dim, lower, upper, slack, Provenance::Proved)?;
        Ok(curvature.with_convexity_at_least(self.known_convexity))
    }

    /// The lower bound alone.
    pub(crate) fn lower_curvature(&self, bound: impl Fn(f64) -> (Matrix, f64)) -> Result<Curvature> {
        let (lower, slack) = self.lower_bound(&bound);
        let curvature = Curvature::with_slack(self.dim, lower, None, slack, Provenance::Proved)?;
        Ok(curvature.with_convexity_at_least(self.known_convexity))
    }

    /// H_lo. If θ_min = 0, it is the prior's own matrix, which is given and therefore exact, unless the prior is
    /// centred.
    fn lower_bound(&self, bound: &impl Fn(f64) -> (Matrix, f64)) -> (Quadratic, f64) {
        match self.family.curvature_range().0 {
            low if low > 0.0 => {
                let (h, slack) = bound(low);
                (Quadratic::Matrix(h), slack + self.prior.rounding() + self.lost)
            }
            _ => (self.prior.quadratic(self.dim), self.prior.rounding() + self.lost),
        }
    }
}
