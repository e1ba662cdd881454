//! The rows of a linear-predictor model as terms.

use crate::base::error::{Error, Result};
use crate::base::linalg::{eigenvalue_error, eigenvalues, safe_congruence};
use crate::base::matrix::{Matrix, unpack_lower};
use crate::base::scratch::Scratch;
use crate::glm::Glm;
use crate::target::curvature::Provenance;
use crate::target::finite_sum::square_norm;
use crate::target::{FiniteSum, Target, TermSmoothness};
use provi_kernels::loss::{SPARE, Slots};
use std::ops::Range;

/// Rows whose energies are computed together.
const ROWS: usize = 128;

/// V_n(z) = w_n φ_n(a_nᵀz + o_n), with M_n = θ_max w_n‖a_n‖²; the prior and every constant are the rest. Cost: two
/// passes over the rows that were drawn, O(Bd), independent of N.
impl FiniteSum for Glm {
    fn dimension(&self) -> usize {
        self.dim()
    }

    fn terms(&self) -> usize {
        self.rows.design.rows()
    }

    fn weighted_terms(
        &self,
        terms: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let length = self.rows.design.rows();
        if let Some(&index) = terms.iter().find(|&&n| n >= length) {
            return Err(Error::Index { what: "terms", index, length });
        }
        let d = self.dim();
        let room = scratch.floats(3 * ROWS + SPARE);
        let (response, room) = room.split_at_mut(ROWS);
        let (scale, room) = room.split_at_mut(ROWS);
        let (slopes, room) = room.split_at_mut(ROWS);
        for ((z, value), pull) in points.chunks_exact(d).zip(values).zip(gradients.chunks_exact_mut(d)) {
            let mut energy = [0.0];
            pull.fill(0.0);
            for (rows, weights) in terms.chunks(ROWS).zip(weights.chunks(ROWS)) {
                let count = rows.len();
                for (j, (&n, weight)) in rows.iter().zip(weights).enumerate() {
                    response[j] = self.rows.response[n];
                    scale[j] = weight * self.rows.weights[n];
                    let offset = self.rows.offsets.as_ref().map_or(0.0, |offsets| offsets[n]);
                    slopes[j] = self.rows.design.row_product(n, z) + offset;
                }
                let (response, scale) = (&response[..count], &scale[..count]);
                let mut slots = Slots::new(1, room);
                self.linear.family.energies_and_slopes(
                    false,
                    response,
                    scale,
                    &mut slopes[..count],
                    &mut slots,
                );
                slots.finish(&mut energy);
                for (&n, slope) in rows.iter().zip(slopes.iter()) {
                    self.rows.design.add_row(n, -slope, pull);
                }
            }
            *value = -energy[0];
        }
        Ok(())
    }

    fn add_rest(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let d = self.dim();
        let pull = scratch.floats(d);
        for ((z, value), gradient) in points.chunks_exact(d).zip(values).zip(gradients.chunks_exact_mut(d)) {
            pull.fill(0.0);
            *value -= self.linear.prior.energy(z, pull) + self.linear.constant;
            provi_kernels::axpy(-1.0, pull, gradient);
        }
        Ok(())
    }

    fn term_smoothness(&self) -> Result<Option<TermSmoothness>> {
        self.bends(|square| square)
    }

    fn term_smoothness_through(&self, factor: &[f64]) -> Result<Option<TermSmoothness>> {
        let d = self.dim();
        let (mut row, mut turned) = (vec![0.0; d], vec![0.0; d]);
        // The error of fl(Pᵀa) is at most (d+2)ε‖P‖_F‖a‖.
        let error = (d as f64 + 4.0) * f64::EPSILON * crate::base::linalg::norm(factor);
        let mut n = 0;
        self.bends(|square| {
            row.fill(0.0);
            self.rows.design.add_row(n, 1.0, &mut row);
            n += 1;
            provi_kernels::triangle::multiply_transposed(factor, &row, &mut turned);
            (crate::base::linalg::norm(&turned) + error * square.sqrt()).powi(2)
        })
    }

    /// λ_max of Σ_n (θ_max w_n‖Pᵀa_n‖)²/π_n·(Pᵀa_n)(Pᵀa_n)ᵀ: a term bends only along its row, and ‖∇V_n(z) −
    /// ∇V_n(z')‖ ≤ θ_max w_n‖a_n‖·|a_nᵀ(z − z')|. Up to d times below its trace Σ_n M_n²/π_n. Cost: O(Nd²).
    fn spread_through(
        &self,
        factor: Option<&[f64]>,
        smoothness: &TermSmoothness,
        probabilities: &[f64],
    ) -> Result<f64> {
        let trace = smoothness.spread(probabilities);
        let Some(theta) = self.linear.family.curvature_range().1 else { return Ok(trace) };
        // θ²w²‖Pᵀa‖²/π = M_n·θw/π.
        let weights: Vec<f64> = smoothness
            .each
            .iter()
            .zip(&self.rows.weights)
            .zip(probabilities)
            .map(|((m, w), p)| m * theta * w / p)
            .collect();
        let d = self.dim();
        let mut gram = Matrix::zeros(d, d);
        let weigh = |range: Range<usize>, _: &mut [f64], to: &mut [f64]| to.copy_from_slice(&weights[range]);
        self.rows.design.add_grams_and_sums(0, weigh, |_| (), std::slice::from_mut(&mut gram));
        // Bound of the rounding error of the sum, as for the curvature.
        let size = self.rows.design.weighted_square_norm(&weights);
        let lost = (self.rows.design.rows() as f64 + 4.0) * f64::EPSILON * size;
        let gram = match factor {
            None => gram,
            Some(factor) => safe_congruence(&gram, &unpack_lower(d, factor), 0.0, 1.0),
        };
        let lost = lost * factor.map_or(Ok(1.0), |factor| square_norm(d, factor))?;
        let largest = eigenvalues("the spread of the terms", &gram)?.last().copied().unwrap_or(0.0);
        Ok(((largest + eigenvalue_error(&gram) + lost) * (1.0 + 1e-12)).min(trace))
    }
}

impl Glm {
    /// θ_max w_n·size(‖a_n‖²) for each row.
    fn bends(&self, mut size: impl FnMut(f64) -> f64) -> Result<Option<TermSmoothness>> {
        let Some(theta) = self.linear.family.curvature_range().1 else { return Ok(None) };
        let rounding = 1.0 + (self.dim() as f64 + 8.0) * f64::EPSILON;
        let each = self.rows.weights.iter().enumerate().map(|(n, w)| {
            let mut square = 0.0;
            self.rows.design.for_each_in_row(n, |_, x| square += x * x);
            theta * w * size(square * rounding) * rounding
        });
        Ok(Some(TermSmoothness::new(each.collect(), Provenance::Proved)?))
    }
}
