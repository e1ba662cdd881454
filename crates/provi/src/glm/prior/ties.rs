//! Correlated coefficients: what a prior's precision has off its diagonal.

use crate::base::error::Result;
use crate::base::linalg::{Cholesky, eigenvalue_error, eigenvalues};
use crate::base::matrix::Matrix;

/// Off-diagonal entries of Λ in blocks Q of a few coefficients each; the diagonal entries are the prior's own.
/// ```text
/// log det Q = Σ log Q_aa + log det S,   S = D^{−½}QD^{−½},   D = diag Q,   Q ⪰ λ_min(S)·D
/// ```
/// Both hold in any units of the coefficients, because S does not change with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ties {
    /// (i, j, Λ_ij), each pair once.
    pairs: Vec<(usize, usize, f64)>,
    /// Standard deviations of the coefficients.
    deviations: Vec<(usize, f64)>,
    /// Σ log det S over the blocks, and the sizes of its terms.
    log_det: f64,
    size: f64,
    /// 1 − the least λ_min(S).
    least_gone: f64,
}

impl Ties {
    /// The j-th coefficients of all sets have this precision matrix, and its inverse as covariance.
    pub(super) fn add(&mut self, sets: &[&[usize]], precision: &Matrix, covariance: &Matrix) -> Result<()> {
        let k = sets.len();
        let mut scaled = precision.clone();
        for i in 0..k {
            for j in 0..k {
                scaled[(i, j)] /= (precision[(i, i)] * precision[(j, j)]).sqrt();
            }
        }
        let count = sets.first().map_or(0, |set| set.len()) as f64;
        let log_det = Cholesky::new("prior covariance", &scaled)?.log_det();
        self.log_det += count * log_det;
        self.size += count * (log_det.abs() + k as f64);
        let values = eigenvalues("prior covariance", &scaled)?;
        let least = (values[0] - eigenvalue_error(&scaled)).max(0.0);
        self.least_gone = self.least_gone.max(1.0 - least);
        for (a, set) in sets.iter().enumerate() {
            let sd = covariance[(a, a)].sqrt();
            self.deviations.extend(set.iter().map(|&i| (i, sd)));
            for (b, other) in sets[..a].iter().enumerate() {
                let value = precision[(a, b)];
                self.pairs.extend(set.iter().zip(*other).map(|(&i, &j)| (i, j, value)));
            }
        }
        Ok(())
    }

    pub(super) fn pairs(&self) -> &[(usize, usize, f64)] {
        &self.pairs
    }

    pub(super) fn deviations(&self) -> &[(usize, f64)] {
        &self.deviations
    }

    /// Whether coefficient i is one of them.
    pub(super) fn tie(&self, i: usize) -> bool {
        self.deviations.iter().any(|(j, _)| *j == i)
    }

    /// What they add to log det Λ, and the sizes of its terms.
    pub(super) fn log_det(&self) -> (f64, f64) {
        (self.log_det, self.size)
    }

    /// Λ is at least this share of what it would be without them.
    pub(super) fn convexity(&self) -> f64 {
        1.0 - self.least_gone
    }

    /// The same in units in which Λ_ij is multiplied by f_i f_j.
    pub(super) fn scaled(&self, factors: &[f64]) -> Self {
        Self {
            pairs: self.pairs.iter().map(|&(i, j, a)| (i, j, a * factors[i] * factors[j])).collect(),
            deviations: self.deviations.iter().map(|&(i, sd)| (i, sd / factors[i].abs())).collect(),
            ..self.clone()
        }
    }
}
