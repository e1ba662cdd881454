//! Bounds of the rounding error in what a linear-predictor model returns \[rounding\].

use super::Linear;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::glm::rows::width;
use crate::target::rounding::{Rounding, deviations, gamma};

impl Linear {
    /// The rounding bounds for each radius, from the sums over the rows of
    /// [`crate::glm::rows::Rows::add_rounding`]. `chains` are k and k', the longest chains of additions behind an energy and
    /// behind a slope.
    /// ```text
    /// value    = Σ_n w_n·lost_n + γ_{k+4}·(Σ_n w_n|φ_n| + |const|) + (2d + 16)ε·½XᵀX|Λ|
    /// slopes_j = Σ_n w_n|a_nj|·lost'_n + γ_{k'+4}·Σ_n w_n|a_nj||φ'_n| + (d + 16)ε·(|Λ|X)_j,   X_i = |m_i − ν_i| + r‖C_i‖
    /// ```
    pub(crate) fn conclude_rounding(
        &self,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        sums: &[f64],
        chains: [f64; 2],
    ) -> Vec<Rounding> {
        let (d, spreads) = (self.dim(), deviations(q));
        // All sums are of non-negative numbers; this factor covers their own rounding.
        let up = 1.0 + 1e-9;
        let [of_values, of_slopes] = chains.map(|chain| gamma(chain + 4.0));
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
            let slope = |j: usize| lost[j] + of_slopes * (sizes[j] + pulls[j]) + of_slope * pulls[j];
            Rounding {
                value: up * (scalars[0] + of_values * whole + of_value * energy),
                slopes: (0..d).map(|j| up * slope(j)).collect(),
                sizes: (0..d).map(|j| up * (sizes[j] + pulls[j])).collect(),
                constant: self.constant_error,
            }
        })
        .collect()
    }
}
