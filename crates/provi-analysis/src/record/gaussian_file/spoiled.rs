//! Covariances that rounding spoils. With fewer rows than columns and rows that are fitted exactly, the condition of a covariance exceeds
//! 10¹⁶: as rounded it is not positive definite, although its Gaussian has a factor.

use provi::{Gaussian, Matrix, Triangular};

use crate::record::fit_file::FitFile;

/// How far an entry of the covariance may be from that of its factor, in standard deviations: rounding alone.
const ROUNDING: f64 = 1e-9;

/// Whether a covariance, row by row, has lost its factor.
pub(crate) fn is_spoiled(mean: &[f64], covariance: &[f64]) -> bool {
    let dim = mean.len();
    let matrix = Matrix::new(dim, dim, covariance.to_vec());
    matrix.is_ok_and(|matrix| Gaussian::<Triangular>::from_covariance(mean, matrix).is_err())
}

/// The factor C of the spoiled covariance Σ of a file: the one kept beside it, or that of its mixture. Σ must be the covariance S = CCᵀ up to
/// rounding,
/// ```text
/// |Σ_ij − S_ij| ≤ 1e-9·√(S_ii S_jj)
/// ```
pub(super) fn factor(record: &FitFile, kept: Option<Vec<f64>>, covariance: &[f64]) -> Option<Vec<f64>> {
    let found = match kept {
        Some(packed) => Gaussian::<Triangular>::new(&record.mean, &packed).ok()?,
        None => record.mixture.as_ref()?.mixture().ok()?.gaussian().ok()?,
    };
    let (dim, own, sd) = (found.dim(), found.covariance(), found.standard_deviations());
    let near = |(k, x): (usize, &f64)| (x - own.entries()[k]).abs() <= ROUNDING * sd[k / dim] * sd[k % dim];
    let same = covariance.len() == own.entries().len() && covariance.iter().enumerate().all(near);
    same.then(|| found.factor().to_vec())
}
