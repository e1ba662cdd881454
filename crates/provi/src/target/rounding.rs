//! How far rounding may move what a target says.

use super::linear::Linear;
use crate::gaussian::{Gaussian, Triangular};
use crate::matrix::packed_index;
use crate::norm;

/// What rounding does at most to −log p and its gradient at every double z = m + Cx, ‖x‖ ≤ r, of one Gaussian:
/// ```text
/// |fl V(z) − V(z)| ≤ value,   |fl ∂_jV(z) − ∂_jV(z)| ≤ slopes_j,   |∂_jV(z)| ≤ sizes_j
/// ```
/// A sum loses at most γ_k = ku/(1 − ku) of Σ|terms|, u = ε/2 and k its longest chain of additions. So what counts is not V,
/// whose large terms may cancel, but Σ|terms| \[rounding\].
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// Of V, apart from its constant's own error, which is the same at every z.
    pub value: f64,
    /// Of each partial derivative.
    pub slopes: Vec<f64>,
    /// How large each partial derivative can be.
    pub sizes: Vec<f64>,
    /// Of the constant of V.
    pub constant: f64,
}

/// Norms of the rows of C, the deviations of the coordinates under q.
pub(crate) fn deviations(q: &Gaussian<Triangular>) -> Vec<f64> {
    (0..q.dim()).map(|i| norm(&q.factor()[packed_index(i, 0)..=packed_index(i, i)])).collect()
}

/// Sums over the rows for one radius: what V loses, Σ|terms| of it, and both of each slope.
pub(crate) const fn width(dim: usize) -> usize {
    2 + 2 * dim
}

impl Linear {
    /// From the sums over the rows of [`crate::rows::Rows::add_rounding`], for each radius; `chain` is the longest chain of
    /// additions behind an energy or a slope.
    /// ```text
    /// value    = Σ_n w_n·lost_n + (k + 4)ε·(Σ_n w_n|φ_n| + |const|) + (2d + 16)ε·½XᵀX|Λ|
    /// slopes_j = Σ_n w_n|a_nj|·lost'_n + (k + 4)ε·Σ_n w_n|a_nj||φ'_n| + (d + 16)ε·(|Λ|X)_j,   X_i = |m_i − ν_i| + r‖C_i‖
    /// ```
    pub(crate) fn conclude_rounding(
        &self,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        sums: &[f64],
        chain: f64,
    ) -> Vec<Rounding> {
        let (d, spreads) = (self.dim(), deviations(q));
        // The sums are of non-negative numbers; this covers what they lose themselves.
        let up = 1.0 + 1e-9;
        let unit = (chain + 4.0) * f64::EPSILON;
        let (of_value, of_slope) = ((2.0 * d as f64 + 16.0) * f64::EPSILON, (d as f64 + 16.0) * f64::EPSILON);
        let each = radii.iter().zip(sums.chunks_exact(width(d)));
        each.map(|(radius, sums)| {
            let (scalars, slopes) = sums.split_at(2);
            let (lost, sizes) = slopes.split_at(d);
            let reach: Vec<f64> =
                (0..d).map(|i| (q.mean()[i] - self.prior.center(i)).abs() + radius * spreads[i]).collect();
            let pulls = self.prior.sizes(&reach);
            let energy = 0.5 * provi_kernels::dot(&pulls, &reach);
            let whole = scalars[1] + energy + self.constant.abs();
            let slope = |j: usize| lost[j] + unit * (sizes[j] + pulls[j]) + of_slope * pulls[j];
            Rounding {
                value: up * (scalars[0] + unit * whole + of_value * energy),
                slopes: (0..d).map(|j| up * slope(j)).collect(),
                sizes: (0..d).map(|j| up * (sizes[j] + pulls[j])).collect(),
                constant: self.constant_error,
            }
        })
        .collect()
    }
}
