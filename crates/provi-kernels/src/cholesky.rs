//! A Cholesky factor of a symmetric matrix whose lower half is packed row by row, and the inverse.
//!
//! The factor is chosen to suit rows of eight lanes: A = WᵀW with W lower triangular, computed from the last row
//! up. Each of the three passes (W, G = W⁻¹, A⁻¹ = GGᵀ) is then the same sum over tiles of eight by eight,
//! ```text
//! tile_r ← tile_r − Σ_k left_k(r) right_k,     left_k, right_k ∈ R⁸,
//! ```
//! with `left` and `right` contiguous, and nothing is ever transposed.

mod lanes;
mod plain;

use crate::aligned::{Aligned, Chunk};
use crate::{dispatch::dispatch, triangle::check};
use lanes::{factor_lanes, invert_lanes, square_lanes};

/// Memory for W with WᵀW = A, about d(d + 8)/2 numbers, and as much again for W⁻¹ from the first inverse on.
/// Nothing else is allocated after construction.
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
    /// Columns 8t ≤ j < 8t + 8 of W from row 8t on, a chunk for each row, at `columns(t)`. From index d on, those
    /// of the identity.
    factor: Aligned,
    /// 1/W_kk.
    reciprocals: Aligned,
    /// Rows 8b ≤ i < 8b + 8 of W⁻¹ up to column 8b + 7, a chunk for each column, at `rows(b)`. Empty until needed.
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
        Self { dim, factor: Aligned::zeros(rows(panels)), reciprocals, inverse: Aligned::zeros(0) }
    }

    /// The size of the matrices.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// W with WᵀW = A − shift·I for a symmetric A packed row by row, up to a backward error of O(dε)‖A‖. Cost: d³/3 flops.
    ///
    /// # Errors
    /// The index of the row whose pivot is not positive and finite, if the matrix is not positive definite up to
    /// rounding.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn factor(&mut self, packed: &[f64], shift: f64) -> Result<(), usize> {
        check(packed, self.dim);
        self.factor_rows((0..self.dim).map(|k| &packed[k * (k + 1) / 2..][..=k]), shift)
    }

    /// The same for the rows of a symmetric matrix, first to last, each at least up to the diagonal.
    ///
    /// # Errors
    /// As for [`factor`](Self::factor).
    ///
    /// # Panics
    /// If a row is shorter, or there are fewer than d rows.
    pub fn factor_rows<'a>(
        &mut self,
        rows: impl IntoIterator<Item = &'a [f64]>,
        shift: f64,
    ) -> Result<(), usize> {
        self.load_rows(rows, shift);
        self.factor_loaded()
    }

    /// Loads the matrix of [`factor_rows`](Self::factor_rows), for [`factor_loaded`](Self::factor_loaded). Cost:
    /// one pass over it.
    ///
    /// # Panics
    /// If a row is shorter, or there are fewer than d rows.
    pub fn load_rows<'a>(&mut self, rows: impl IntoIterator<Item = &'a [f64]>, shift: f64) {
        let (d, panels) = (self.dim, self.dim.div_ceil(8));
        let factor = self.factor.chunks_mut();
        let mut read = 0;
        for (k, row) in rows.into_iter().take(d).enumerate() {
            read += 1;
            let (whole, tail) = row[..=k].as_chunks::<8>();
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
        assert_eq!(read, d, "factor_rows: d rows");
        for k in d..8 * panels {
            for t in 0..panels {
                factor[columns(panels, t) + k - 8 * t].fill(0.0);
            }
            factor[columns(panels, k / 8) + k % 8][k % 8] = 1.0;
        }
    }

    /// Factors the matrix that was loaded last.
    ///
    /// # Errors
    /// As for [`factor`](Self::factor).
    pub fn factor_loaded(&mut self) -> Result<(), usize> {
        let panels = self.dim.div_ceil(8);
        let (factor, reciprocals) = (self.factor.chunks_mut(), self.reciprocals.chunks_mut());
        let bad = dispatch!(
            plain::factor,
            factor_lanes(panels: usize, factor: &mut [Chunk], reciprocals: &mut [Chunk]) -> Option<usize>
        );
        bad.map_or(Ok(()), Err)
    }

    /// W of the last [`factor`](Self::factor), packed row by row: to get A⁻¹b, solve with Wᵀ, then with W.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
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
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn invert(&mut self, packed: &mut [f64]) {
        check(packed, self.dim);
        self.invert_factor();
        let (dim, inverse) = (self.dim, self.inverse.chunks());
        dispatch!(plain::square, square_lanes(dim: usize, inverse: &[Chunk], packed: &mut [f64]));
    }

    /// The lower triangular G = W⁻¹ of the last [`factor`](Self::factor), packed row by row: (A − shift·I)⁻¹ = GGᵀ. Cost: d³/3
    /// flops.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn write_inverse(&mut self, packed: &mut [f64]) {
        check(packed, self.dim);
        self.invert_factor();
        self.write_inverted(packed);
    }

    /// The result of [`invert_factor`](Self::invert_factor), packed row by row.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries, or nothing was inverted.
    pub fn write_inverted(&self, packed: &mut [f64]) {
        check(packed, self.dim);
        let inverse = self.inverse.chunks();
        let mut row = packed;
        for i in 0..self.dim {
            let (own, rest) = row.split_at_mut(i + 1);
            row = rest;
            let panel = &inverse[rows(i / 8)..];
            own.iter_mut().zip(panel).for_each(|(to, column)| *to = column[i % 8]);
        }
    }

    /// Inverts W of the last [`factor`](Self::factor), for [`write_inverted`](Self::write_inverted).
    pub fn invert_factor(&mut self) {
        let (factor, reciprocals) = (self.factor.chunks(), self.reciprocals.chunks());
        if self.inverse.chunks().len() < factor.len() {
            self.inverse = Aligned::zeros(factor.len());
        }
        let inverse = self.inverse.chunks_mut();
        dispatch!(
            plain::invert,
            invert_lanes(factor: &[Chunk], reciprocals: &[Chunk], inverse: &mut [Chunk])
        );
    }
}

#[cfg(test)]
mod tests;
