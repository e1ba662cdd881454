//! A Cholesky factor of a symmetric matrix whose lower half is packed row by row, and the inverse.
//!
//! The factor is the one that rows of eight lanes like best: A = WᵀW with W lower triangular, found from the last row up.
//! Then each of the three passes (W, G = W⁻¹, A⁻¹ = GGᵀ) is the same sum over tiles of eight by eight,
//! ```text
//! tile_r ← tile_r − Σ_k left_k(r) right_k,     left_k, right_k ∈ R⁸,
//! ```
//! with `left` and `right` contiguous, and nothing is ever transposed.

mod lanes;
mod plain;

use crate::aligned::{Aligned, Chunk};
use crate::{dispatch::dispatch, triangle::check};
use lanes::{factor_lanes, invert_lanes};

/// Room for W with WᵀW = A, and for W⁻¹. Nothing is allocated after construction. Memory: about d(d + 8) numbers.
///
/// ```
/// let mut cholesky = provi_kernels::cholesky::Cholesky::new(2);
/// cholesky.factor(&[3.0, 1.0, 3.0], 1.0).unwrap();
/// let mut inverse = [0.0; 3];
/// cholesky.invert(&mut inverse);
/// assert!((inverse[0] - 2.0 / 3.0).abs() < 1e-15 && (inverse[1] + 1.0 / 3.0).abs() < 1e-15);
/// assert_eq!(cholesky.factor(&[1.0, 2.0, 1.0], 0.0), Err(0));
/// ```
#[derive(Debug)]
pub struct Cholesky {
    dim: usize,
    /// Columns 8t ≤ j < 8t + 8 of W from row 8t on, a chunk for each row, at `columns(t)`. From d on the identity's.
    factor: Aligned,
    /// 1/W_kk.
    reciprocals: Aligned,
    /// Rows 8b ≤ i < 8b + 8 of W⁻¹ up to column 8b + 7, a chunk for each column, at `rows(b)`.
    inverse: Aligned,
}

/// The first chunk of column panel t of a lower triangle of `panels` panels.
fn columns(panels: usize, t: usize) -> usize {
    8 * t * panels - 4 * t * t.saturating_sub(1)
}

/// The first chunk of row panel b of a lower triangle.
fn rows(b: usize) -> usize {
    4 * b * (b + 1)
}

impl Cholesky {
    /// For matrices of size `dim`.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        let panels = dim.div_ceil(8);
        let mut reciprocals = Aligned::zeros(panels);
        reciprocals.chunks_mut().fill([1.0; 8]);
        let (factor, inverse) = (Aligned::zeros(rows(panels)), Aligned::zeros(rows(panels)));
        Self { dim, factor, reciprocals, inverse }
    }

    /// The size of the matrices.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// W with WᵀW = A − shift·I for a symmetric A packed row by row, up to a backward error of O(dε)‖A‖. Cost: d³/3 flops.
    ///
    /// # Errors
    /// The row whose pivot is not positive and finite, when the matrix is not positive definite up to rounding.
    ///
    /// # Panics
    /// When `packed` is not of d(d+1)/2 entries.
    pub fn factor(&mut self, packed: &[f64], shift: f64) -> Result<(), usize> {
        check(packed, self.dim);
        let (d, panels) = (self.dim, self.dim.div_ceil(8));
        let factor = self.factor.chunks_mut();
        let mut row = packed;
        for k in 0..d {
            let (own, rest) = row.split_at(k + 1);
            row = rest;
            let (whole, tail) = own.as_chunks::<8>();
            for (t, chunk) in whole.iter().enumerate() {
                factor[columns(panels, t) + k - 8 * t] = *chunk;
            }
            if !tail.is_empty() {
                let t = whole.len();
                factor[columns(panels, t) + k - 8 * t][..tail.len()].copy_from_slice(tail);
            }
            let t = k / 8;
            factor[columns(panels, t) + k - 8 * t][k % 8] -= shift;
        }
        for k in d..8 * panels {
            for t in 0..panels {
                factor[columns(panels, t) + k - 8 * t].fill(0.0);
            }
            factor[columns(panels, k / 8) + k % 8][k % 8] = 1.0;
        }
        let reciprocals = self.reciprocals.chunks_mut();
        let bad = dispatch!(
            plain::factor,
            factor_lanes(panels: usize, factor: &mut [Chunk], reciprocals: &mut [Chunk]) -> Option<usize>
        );
        bad.map_or(Ok(()), Err)
    }

    /// W of the last [`factor`](Self::factor), packed row by row: A⁻¹b is b, solved with Wᵀ, then with W.
    ///
    /// # Panics
    /// When `packed` is not of d(d+1)/2 entries.
    pub fn write(&self, packed: &mut [f64]) {
        check(packed, self.dim);
        let panels = self.dim.div_ceil(8);
        let factor = self.factor.chunks();
        let mut row = packed;
        for k in 0..self.dim {
            let (own, rest) = row.split_at_mut(k + 1);
            row = rest;
            for (t, to) in own.chunks_mut(8).enumerate() {
                to.copy_from_slice(&factor[columns(panels, t) + k - 8 * t][..to.len()]);
            }
        }
    }

    /// (A − shift·I)⁻¹ of the last [`factor`](Self::factor), packed row by row. Cost: 2d³/3 flops.
    ///
    /// # Panics
    /// When `packed` is not of d(d+1)/2 entries.
    pub fn invert(&mut self, packed: &mut [f64]) {
        check(packed, self.dim);
        let dim = self.dim;
        let (factor, reciprocals) = (self.factor.chunks(), self.reciprocals.chunks());
        let inverse = self.inverse.chunks_mut();
        dispatch!(
            plain::invert,
            invert_lanes(dim: usize, factor: &[Chunk], reciprocals: &[Chunk], inverse: &mut [Chunk],
                packed: &mut [f64])
        );
    }
}

#[cfg(test)]
mod tests;
