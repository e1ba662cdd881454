//! Bounds of the rounding error in what a target returns.

use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::packed_index;

/// Bounds of the rounding error of V = −log p and of its gradient at every double z = m + Cx, ‖x‖ ≤ r, of one Gaussian:
/// ```text
/// |fl V(z) − V(z)| ≤ value,   |fl ∂_jV(z) − ∂_jV(z)| ≤ slopes_j,   |∂_jV(z)| ≤ sizes_j
/// ```
/// A sum loses at most γ_k = ku/(1 − ku) of Σ|terms|, u = ε/2 and k its longest chain of additions. So what counts is not V,
/// whose large terms may cancel, but Σ|terms| \[rounding\].
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// Error of V, without the error of its constant, which is the same at every z.
    pub value: f64,
    /// Error of each partial derivative.
    pub slopes: Vec<f64>,
    /// Largest size of each partial derivative.
    pub sizes: Vec<f64>,
    /// Error of the constant of V.
    pub constant: f64,
}

/// γ_k = ku/(1 − ku), u = ε/2: what a chain of k additions loses at most of Σ|terms|.
pub(crate) fn gamma(k: f64) -> f64 {
    let ku = 0.5 * f64::EPSILON * k;
    ku / (1.0 - ku)
}

/// Norms of the rows of C: the standard deviations of the coordinates under q.
pub(crate) fn deviations(q: &Gaussian<Triangular>) -> Vec<f64> {
    (0..q.dim()).map(|i| norm(&q.factor()[packed_index(i, 0)..=packed_index(i, i)])).collect()
}
