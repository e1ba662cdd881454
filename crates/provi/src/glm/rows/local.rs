//! Bounds of the curvature on an ellipsoid: |a_nᵀ(z − m)| ≤ r‖Cᵀa_n‖, and φ_n'' is bounded over that interval [cert-local].

use super::Rows;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::glm::Family;
use crate::glm::design::BLOCK;
use crate::target::rounding;
use provi_kernels::axpy;
use std::ops::Range;

impl Rows {
    /// Adds Aᵀ diag(w·θ) A and Σ_n w_nθ_n‖a_n‖²: first for the smallest θ_n at each radius, in order; then, as far
    /// as `grams` and `sizes` have room, for the largest θ_n.
    ///
    /// If a largest θ_n is not finite, neither is its size. Cost: one pass, and one Gram matrix for each of
    /// `grams`.
    pub(crate) fn add_local_grams(
        &self,
        family: Family,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        sizes: &mut [f64],
        grams: &mut [Matrix],
    ) {
        let factor = self.design.factor(q.factor());
        // The error of a predictor is at most (d + 4)ε times Σ_j|a_nj||z_j| + |o_n|, |z_j| ≤ |m_j| + r‖C_j‖.
        let (centers, spreads): (Vec<f64>, _) =
            (q.mean().iter().map(|m| m.abs()).collect(), rounding::deviations(q));
        let unit = (q.dim() as f64 + 4.0) * f64::EPSILON;
        let count = grams.len();
        let weigh = |range: Range<usize>, sums: &mut [f64], weights: &mut [f64]| {
            let mut room = [[0.0; BLOCK]; 5];
            let [means, deviations, squares, near, far] =
                room.each_mut().map(|buffer| &mut buffer[..range.len()]);
            self.predictors(range.clone(), q.mean(), means);
            self.design.row_variances(range.clone(), &factor, deviations);
            deviations.iter_mut().for_each(|v| *v = v.sqrt());
            self.design.row_sizes(range.clone(), &centers, squares, near);
            self.design.row_sizes(range.clone(), &spreads, squares, far);
            let rows = range.len();
            for (j, &radius) in radii.iter().enumerate() {
                for (k, n) in range.clone().enumerate() {
                    // The interval is widened by bounds of the rounding of its middle and of its width.
                    let offset = self.offset_size(n);
                    let off = (unit * (near[k] + radius * far[k] + offset)).max(1e-13 * means[k].abs());
                    let reach = radius * deviations[k] * (1.0 + 1e-12) + off;
                    let theta = family.second_range(means[k] - reach, means[k] + reach, self.response[n]);
                    for (place, theta) in [j, radii.len() + j].into_iter().zip(theta) {
                        if place < count {
                            weights[place * rows + k] = self.weights[n] * theta;
                            sums[place] += self.weights[n] * theta * squares[k];
                        }
                    }
                }
            }
        };
        self.add_grams_and_sums(count, weigh, |sums| axpy(1.0, sums, sizes), grams);
    }
}
