//! Natural gradients: straight lines in the natural parameters, and a retraction where they would leave the cone.

use super::{Batch, Step, multiply_by};
use crate::base::linalg::PackedCholesky;
use crate::base::matrix::{Matrix, packed_len};
use provi_kernels::{axpy, dot, triangle};

/// The step ρ in the coordinates of q, where Λ = I and G = Ĝ. With A = I + ρĜ:
/// ```text
/// B = A                          if A ⪰ ½I:  (1−ρ)Λ + ρE∇²V, the natural gradient itself
/// B = ½(I + A²) = I + ρĜ + ½ρ²Ĝ²  otherwise: the retraction of Lin, Schmidt & Khan 2020
/// Λ ← C⁻ᵀBC⁻¹,   m ← m − ρCB⁻¹ĝ
/// ```
/// Invariant: B ⪰ ½I for every symmetric Ĝ, in the second case because A² ⪰ 0. So Σ stays positive definite, and no direction's
/// variance more than doubles in a step. Exact moments and ρ = 1 reach a Gaussian target with Λ* ⪰ ½Λ in one step.
pub(super) struct NaturalGradient {
    /// A.
    line: Matrix,
    /// B, where it is not A.
    curve: Matrix,
    model: PackedCholesky,
    /// K, packed: KKᵀ = B⁻¹.
    turn: Vec<f64>,
    row: Vec<f64>,
    shift: Vec<f64>,
}

impl NaturalGradient {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            line: Matrix::zeros(dim, dim),
            curve: Matrix::zeros(dim, dim),
            model: PackedCholesky::with_dim(dim),
            turn: vec![0.0; packed_len(dim)],
            row: vec![0.0; dim],
            shift: vec![0.0; dim],
        }
    }

    /// The step from ĝ and Ĝ.
    pub(super) fn move_by(&mut self, w: &mut [f64], slope: &[f64], excess: &Matrix, rho: f64) -> Option<()> {
        let d = slope.len();
        self.line.entries_mut().fill(0.0);
        self.line.add_scaled(rho, excess);
        (0..d).for_each(|i| self.line[(i, i)] += 0.5);
        let straight = self.model.factor_square(&self.line).is_ok();
        (0..d).for_each(|i| self.line[(i, i)] += 0.5);
        if straight {
            self.model.factor_square(&self.line).ok()?;
        } else {
            for i in 0..d {
                for j in 0..=i {
                    self.curve[(i, j)] = 0.5 * dot(self.line.row(i), self.line.row(j));
                }
                self.curve[(i, i)] += 0.5;
            }
            self.model.factor_square(&self.curve).ok()?;
        }
        self.model.write_inverse_factor(&mut self.turn);
        let (mean, factor) = w.split_at_mut(d);
        multiply_by(factor, &self.turn, &mut self.row);
        // CB⁻¹ĝ = (CK)(Kᵀĝ), and CK is the new factor.
        triangle::multiply_transposed(&self.turn, slope, &mut self.row);
        triangle::multiply(factor, &self.row, &mut self.shift);
        axpy(-rho, &self.shift, mean);
        Some(())
    }
}

impl Step for NaturalGradient {
    fn make(&mut self, w: &mut [f64], batch: &mut Batch, rho: f64) -> Option<()> {
        batch.average();
        self.move_by(w, &batch.slope, &batch.excess, rho)
    }
}
