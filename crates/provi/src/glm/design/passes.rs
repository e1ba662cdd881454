//! Passes over the rows: products with them, and sums of them.

use super::{BLOCK, Design, Storage};
use crate::base::chunked::{self, Chunks};
use crate::base::matrix::packed_index;
use provi_kernels::axpy;
use std::ops::Range;

/// A pass over the rows is summed in at most this many chunks; the next constant is the least number of entries of
/// a chunk.
const CHUNKS: usize = 32;
const CHUNK_ENTRIES: usize = 1 << 16;

impl Design {
    /// The chunks of rows for the partial sums of a pass over A with S points: the same for any S.
    pub(crate) fn chunks(&self, samples: usize) -> Chunks {
        // A link function costs about as much as sixteen multiply-adds.
        let row = self.entries() / self.rows + 16;
        let size = CHUNK_ENTRIES.div_ceil(row).max(self.rows.div_ceil(CHUNKS)).next_multiple_of(8);
        Chunks { len: self.rows, size, work: self.rows.saturating_mul(row).saturating_mul(samples) }
    }

    /// Rows processed together between predictors and gradient at S points: a power of two up to [`BLOCK`]. A block
    /// of a dense design then fits into the first-level cache, or into the second-level one if there are many
    /// points.
    pub(crate) fn rows_at_once(&self, samples: usize) -> usize {
        let room = if samples < 4 { 4096 } else { 8192 };
        let most = (room / self.columns).clamp(8, BLOCK);
        1 << most.ilog2()
    }

    /// Calls `f(j, value)` on each stored entry of row n.
    pub(crate) fn for_each_in_row(&self, n: usize, mut f: impl FnMut(usize, f64)) {
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(n..n + 1, self.columns, |row| {
                row.iter().enumerate().for_each(|(j, &x)| f(j, x));
            }),
            Storage::Sparse(sparse) => sparse.row(n).for_each(|(j, x)| f(j, x)),
        }
    }

    /// a_nᵀz.
    pub(crate) fn row_product(&self, n: usize, z: &[f64]) -> f64 {
        match &self.storage {
            Storage::Dense(dense) => {
                dense.with_rows(n..n + 1, self.columns, |row| provi_kernels::dot(row, z))
            }
            Storage::Sparse(sparse) => sparse.row(n).map(|(j, x)| x * z[j]).sum(),
        }
    }

    /// out += scale·a_n.
    pub(crate) fn add_row(&self, n: usize, scale: f64, out: &mut [f64]) {
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(n..n + 1, self.columns, |row| axpy(scale, row, out)),
            Storage::Sparse(sparse) => sparse.row(n).for_each(|(j, x)| out[j] += scale * x),
        }
    }

    /// out[(n − first)·S + k] = a_nᵀz_k for the rows of `range` and S points held row by row.
    pub(crate) fn predict(&self, range: Range<usize>, points: &[f64], out: &mut [f64]) {
        let d = self.columns;
        let count = points.len() / d;
        match &self.storage {
            Storage::Dense(dense) => {
                dense.with_rows(range, d, |rows| provi_kernels::design::predict(rows, d, points, out));
            }
            Storage::Sparse(sparse) => {
                for (n, out) in range.zip(out.chunks_exact_mut(count)) {
                    for (k, out) in out.iter_mut().enumerate() {
                        let z = &points[k * d..(k + 1) * d];
                        *out = sparse.row(n).map(|(j, x)| x * z[j]).sum();
                    }
                }
            }
        }
    }

    /// out_k += Σ_n r_{n,k} a_n over the rows of `range`.
    pub(crate) fn pull_back(&self, range: Range<usize>, slopes: &[f64], out: &mut [f64]) {
        let d = self.columns;
        let count = out.len() / d;
        match &self.storage {
            Storage::Dense(dense) => {
                dense.with_rows(range, d, |rows| provi_kernels::design::pull_back(rows, d, slopes, out));
            }
            Storage::Sparse(sparse) => {
                for (n, slopes) in range.zip(slopes.chunks_exact(count)) {
                    for (k, &slope) in slopes.iter().enumerate() {
                        let out = &mut out[k * d..(k + 1) * d];
                        sparse.row(n).for_each(|(j, x)| out[j] += slope * x);
                    }
                }
            }
        }
    }

    /// out_k += Σ_n r_{n,k} |a_n|, entry by entry, over the rows of `range`, for r ≥ 0.
    pub(crate) fn pull_back_sizes(&self, range: Range<usize>, slopes: &[f64], out: &mut [f64]) {
        let d = self.columns;
        let count = out.len() / d;
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(range, d, |rows| {
                let sizes: Vec<f64> = rows.iter().map(|x| x.abs()).collect();
                provi_kernels::design::pull_back(&sizes, d, slopes, out);
            }),
            Storage::Sparse(sparse) => {
                for (n, slopes) in range.zip(slopes.chunks_exact(count)) {
                    for (k, &slope) in slopes.iter().enumerate() {
                        let out = &mut out[k * d..(k + 1) * d];
                        sparse.row(n).for_each(|(j, x)| out[j] += slope * x.abs());
                    }
                }
            }
        }
    }

    /// Σ_n w_n ‖a_n‖².
    pub(crate) fn weighted_square_norm(&self, weights: &[f64]) -> f64 {
        let none = vec![0.0; self.columns];
        let sums = chunked::map(self.chunks(1), |range| {
            let (mut sum, mut room) = (0.0, [[0.0; BLOCK]; 2]);
            for first in range.clone().step_by(BLOCK) {
                let rows = first..(first + BLOCK).min(range.end);
                let [squares, reaches] = room.each_mut().map(|part| &mut part[..rows.len()]);
                self.row_sizes(rows.clone(), &none, squares, reaches);
                sum += provi_kernels::dot(squares, &weights[rows]);
            }
            sum
        });
        sums.iter().sum()
    }

    /// Prepares C, lower triangular and packed, for [`Design::row_variances`]; dense rows need whole chunks of
    /// columns.
    pub(crate) fn factor<'f>(&self, packed: &'f [f64]) -> RowFactor<'f> {
        let (d, width) = (self.columns, provi_kernels::gram::padded(self.columns));
        let mut padded = Vec::new();
        if !self.is_sparse() {
            padded.resize(d * width, 0.0);
            for (i, row) in padded.chunks_exact_mut(width).enumerate() {
                row[..=i].copy_from_slice(&packed[packed_index(i, 0)..=packed_index(i, i)]);
            }
        }
        RowFactor { packed, padded }
    }

    /// For each row of a range, ‖Cᵀa_n‖²: the variance of a_nᵀz under N(m, CCᵀ).
    pub(crate) fn row_variances(&self, range: Range<usize>, factor: &RowFactor<'_>, out: &mut [f64]) {
        let d = self.columns;
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(range, d, |rows| {
                provi_kernels::gram::square_norms(&factor.padded, d, rows, out);
            }),
            Storage::Sparse(sparse) => {
                // Row i of C enters with weight a_ni, so only stored entries cost time.
                let mut row = vec![0.0; d];
                for (n, out) in range.zip(out) {
                    let Some((widest, _)) = sparse.row(n).last() else {
                        *out = 0.0;
                        continue;
                    };
                    row[..=widest].fill(0.0);
                    for (i, x) in sparse.row(n) {
                        let start = packed_index(i, 0);
                        provi_kernels::axpy(x, &factor.packed[start..start + i + 1], &mut row[..i + 1]);
                    }
                    *out = provi_kernels::dot(&row[..=widest], &row[..=widest]);
                }
            }
        }
    }

    /// The variances of every row.
    pub(crate) fn all_row_variances(&self, packed: &[f64]) -> Vec<f64> {
        let factor = self.factor(packed);
        let mut out = vec![0.0; self.rows];
        let work = self.entries().saturating_mul(self.columns / 2 + 1);
        chunked::fill(&mut out, BLOCK, work, |first, out| {
            self.row_variances(first..first + out.len(), &factor, out);
        });
        out
    }

    /// For each row of a range, ‖a_n‖² and Σ_j |a_nj|·scale_j.
    pub(crate) fn row_sizes(
        &self,
        range: Range<usize>,
        scales: &[f64],
        squares: &mut [f64],
        reaches: &mut [f64],
    ) {
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(range, self.columns, |rows| {
                provi_kernels::design::sizes(rows, scales, squares, reaches);
            }),
            Storage::Sparse(sparse) => {
                for (n, (square, reach)) in range.zip(squares.iter_mut().zip(reaches)) {
                    (*square, *reach) = sparse.row(n).fold((0.0, 0.0), |(square, reach), (j, x)| {
                        (square + x * x, reach + x.abs() * scales[j])
                    });
                }
            }
        }
    }
}

/// The factor of a Gaussian, prepared for [`Design::row_variances`].
pub(crate) struct RowFactor<'f> {
    packed: &'f [f64],
    /// Row by row with zeros above the diagonal; empty for sparse designs.
    padded: Vec<f64>,
}
