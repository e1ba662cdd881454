//! Levels without an order: several predictors a row, and a curvature that is bounded.

use super::Regression;
use crate::base::error::Result;
use crate::base::matrix::Matrix;
use crate::glm::design::BLOCK;
use crate::target::Target;
use crate::target::curvature::{Curvature, Provenance, Quadratic};
use std::ops::Range;

/// log P(y) = η_y − log(1 + Σ_k e^{η_k}), η of the first level 0; the predictors become 1[y = k] − P(k).
pub(super) fn row(y: f64, etas: &mut [f64]) -> f64 {
    let own = match y as usize {
        0 | 1 => 0.0,
        level => etas[level - 2],
    };
    let value = own - probabilities(etas);
    etas.iter_mut().for_each(|p| *p = -*p);
    if y > 1.5 {
        etas[y as usize - 2] += 1.0;
    }
    value
}

/// The predictors of the levels behind the first become their probabilities; returns log(1 + Σ_k e^{η_k}).
pub(super) fn probabilities(etas: &mut [f64]) -> f64 {
    let largest = etas.iter().copied().fold(0.0, f64::max);
    let mut sum = (-largest).exp();
    for eta in etas.iter_mut() {
        *eta = (*eta - largest).exp();
        sum += *eta;
    }
    etas.iter_mut().for_each(|x| *x /= sum);
    largest + sum.ln()
}

impl Regression {
    /// The Gram matrices Σ_n w_n g(n) x_nx_nᵀ of `count` weights at once, none of them negative.
    fn grams(&self, count: usize, weigh: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Vec<Matrix> {
        let columns = self.design.columns();
        let mut out = vec![Matrix::zeros(columns, columns); count];
        self.design.add_grams_and_sums(0, |rows, _, weights| weigh(rows, weights), |_| (), &mut out);
        out
    }

    /// The precision of the prior of all coefficients.
    fn precision(&self) -> Matrix {
        let (columns, d) = (self.design.columns(), self.dim());
        let own = self.prior.quadratic(columns).to_matrix(columns);
        let mut out = Matrix::zeros(d, d);
        for first in (0..d).step_by(columns) {
            add_block(&mut out, [first, first], 1.0, &own);
        }
        out
    }

    /// ∇² log p = −Λ − Σ_n w_n (diag P − PPᵀ) ⊗ x_nx_nᵀ.
    pub(super) fn multinomial_hessian(&self, z: &[f64], out: &mut Matrix) {
        let (columns, predictors) = (self.design.columns(), self.likelihood.predictors());
        let pairs: Vec<[usize; 2]> = (0..predictors).flat_map(|i| (0..=i).map(move |j| [i, j])).collect();
        let grams = self.grams(pairs.len(), |rows, weights| {
            let mut etas = vec![0.0; BLOCK * predictors];
            let (first, count) = (rows.start, rows.len());
            let etas = &mut etas[..count * predictors];
            self.design.predict(rows, z, etas);
            for (r, etas) in etas.chunks_exact_mut(predictors).enumerate() {
                let (offset, weight) = (self.offset(first + r), self.weight(first + r));
                etas.iter_mut().for_each(|eta| *eta += offset);
                probabilities(etas);
                for (k, &[i, j]) in pairs.iter().enumerate() {
                    let other = if i == j { 1.0 - etas[i] } else { etas[j] };
                    weights[k * count + r] = weight * etas[i] * other;
                }
            }
        });
        *out = self.precision();
        for (&[i, j], gram) in pairs.iter().zip(&grams) {
            let at = [i * columns, j * columns];
            match i == j {
                true => add_block(out, at, 1.0, gram),
                false => {
                    add_block(out, at, -1.0, gram);
                    add_block(out, [at[1], at[0]], -1.0, gram);
                }
            }
        }
        out.entries_mut().iter_mut().for_each(|x| *x = -*x);
    }

    /// The curvature \[curvature\], with Böhning's bound of that of a row (*Annals of the Institute of Statistical Mathematics* 44, 1992):
    /// ```text
    /// H_lo = Λ,   H_hi = Λ + ½(I − 11ᵀ/K) ⊗ XᵀWX
    /// ```
    /// for diag P − PPᵀ ⪯ ½(I − 11ᵀ/K) in the K − 1 levels behind the first: the same matrix of all K levels has eigenvalues of at most ½ by
    /// Gershgorin's circles, 2P(1 − P) ≤ ½, and 1 in its kernel; leaving out a level keeps the order.
    ///
    /// It counts as declared: the audit's allowance for rounding is the usual one of a log density, not one that is derived.
    pub(super) fn multinomial_curvature(&self, levels: usize) -> Result<Curvature> {
        let (columns, d) = (self.design.columns(), self.dim());
        let grams = self.grams(1, |rows, weights| {
            rows.zip(weights).for_each(|(n, to)| *to = self.weight(n));
        });
        let (lower, mut upper) = (self.precision(), self.precision());
        for i in 0..levels - 1 {
            for j in 0..levels - 1 {
                add_block(&mut upper, [i * columns, j * columns], half_minus_mean(levels, i == j), &grams[0]);
            }
        }
        debug_assert_eq!((lower.rows(), upper.rows()), (d, d));
        // XᵀWX loses at most (n + 4)ε of ‖√W X‖_F² = tr XᵀWX, and ‖½(I − 11ᵀ/K)‖ ≤ ½; then products and sums of blocks.
        let trace: f64 = (0..columns).map(|j| grams[0][(j, j)]).sum();
        let terms = (self.design.rows() as f64 + 4.0) * 0.5 * trace + 8.0 * upper.frobenius_norm();
        let slack = f64::EPSILON * terms;
        let upper = Some(Quadratic::Matrix(upper));
        Curvature::with_slack(d, Quadratic::Matrix(lower), upper, slack, Provenance::Declared)
    }
}

/// An entry of ½(I − 11ᵀ/K).
fn half_minus_mean(levels: usize, diagonal: bool) -> f64 {
    0.5 * (f64::from(u8::from(diagonal)) - (levels as f64).recip())
}

/// Adds a multiple of a block at (row, column).
fn add_block(out: &mut Matrix, [row, column]: [usize; 2], scale: f64, block: &Matrix) {
    for i in 0..block.rows() {
        for j in 0..block.columns() {
            out[(row + i, column + j)] += scale * block[(i, j)];
        }
    }
}
