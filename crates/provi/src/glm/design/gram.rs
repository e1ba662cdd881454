//! Weighted Gram matrices Aᵀ diag(w) A, several in one pass over the rows.

use super::{BLOCK, Design, Storage};
use crate::base::chunked::{self, Chunks};
use crate::base::linalg::{add_lower_gram, mirror_lower};
use crate::base::matrix::Matrix;
use crate::base::scratch::Scratch;
use crate::base::stop;
use provi_kernels::axpy;
use std::ops::Range;

/// A Gram matrix is summed in at most this many parts; the next constant is the least number of rows of a part.
const GRAM_PARTS: usize = 16;
const GRAM_ROWS: usize = 512;
/// Rows of a Gram matrix of which the first-level cache holds two blocks; and the number of columns up to which
/// register tiles are faster than a general product, which first copies its factors.
const GRAM_BLOCK: usize = 64;
const GRAM_COLUMNS: usize = 160;

impl Design {
    /// out_k ← out_k + Aᵀ diag(w_k) A, exactly symmetric, for several weights, together with other sums, in one
    /// pass. `weigh(rows, sums, weights)` adds the share of a block of at most [`BLOCK`] rows to `width` sums, and
    /// writes the weights of its rows (none negative), those of the first matrix first. `take` receives the partial
    /// sums in order. Each thread needs its own matrices.
    pub(crate) fn add_grams_and_sums(
        &self,
        width: usize,
        weigh: impl Fn(Range<usize>, &mut [f64], &mut [f64]) + Sync,
        mut take: impl FnMut(&[f64]),
        out: &mut [Matrix],
    ) {
        let d = self.columns;
        let count = out.len();
        let room = count * BLOCK + width + self.scaled_room();
        let add = |range: Range<usize>, sums: &mut [f64], grams: &mut [&mut [f64]], room: &mut [f64]| {
            let (weights, room) = room.split_at_mut(count * BLOCK);
            let (of_block, scaled) = room.split_at_mut(width);
            for first in range.clone().step_by(BLOCK) {
                if stop::trips() {
                    return;
                }
                let rows = first..(first + BLOCK).min(range.end);
                let weights = &mut weights[..count * rows.len()];
                // Summed separately, so that no chain of additions is as long as the number of rows.
                of_block.fill(0.0);
                weigh(rows.clone(), of_block, weights);
                axpy(1.0, of_block, sums);
                for (gram, weights) in grams.iter_mut().zip(weights.chunks_exact(rows.len())) {
                    self.add_gram_of(rows.clone(), weights, gram, scaled);
                }
            }
        };
        let chunks = self.gram_chunks(count);
        if chunks.size >= self.rows {
            let mut sums = vec![0.0; width];
            let mut grams: Vec<&mut [f64]> = out.iter_mut().map(Matrix::entries_mut).collect();
            add(0..self.rows, &mut sums, &mut grams, &mut vec![0.0; room]);
            take(&sums);
        } else {
            let part = |range: Range<usize>, part: &mut [f64], room: &mut [f64]| {
                let (sums, grams) = part.split_at_mut(width);
                add(range, sums, &mut grams.chunks_exact_mut(d * d).collect::<Vec<_>>(), room);
            };
            let width_of_part = width + count * d * d;
            chunked::reduce(chunks, (width_of_part, room), &mut Scratch::default(), part, |part| {
                let (sums, grams) = part.split_at(width);
                take(sums);
                for (gram, out) in grams.chunks_exact(d * d).zip(out.iter_mut()) {
                    axpy(1.0, gram, out.entries_mut());
                }
            });
        }
        out.iter_mut().for_each(mirror_lower);
    }

    /// The rows for some Gram matrices in at most [`GRAM_PARTS`] chunks; each chunk has more work than adding its
    /// matrices up.
    fn gram_chunks(&self, count: usize) -> Chunks {
        let row = self.entries() / self.rows + 1;
        let work = self.rows.saturating_mul(row).saturating_mul(row).saturating_mul(count);
        let least = match &self.storage {
            Storage::Dense(_) => GRAM_ROWS,
            Storage::Sparse(_) => (8 * self.columns * self.columns).div_ceil(row * row).max(GRAM_ROWS),
        };
        Chunks { len: self.rows, size: least.max(self.rows.div_ceil(GRAM_PARTS)), work }
    }

    fn scaled_room(&self) -> usize {
        if self.is_sparse() { 0 } else { BLOCK.min(self.rows) * self.columns }
    }

    /// Adds the lower half of the Gram matrix of a block of rows. The upper half is meaningless afterwards.
    fn add_gram_of(&self, range: Range<usize>, weights: &[f64], out: &mut [f64], scaled: &mut [f64]) {
        let d = self.columns;
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(range, d, |rows| {
                let tiled = d <= GRAM_COLUMNS;
                let block = if tiled { GRAM_BLOCK } else { BLOCK };
                for (rows, weights) in rows.chunks(block * d).zip(weights.chunks(block)) {
                    let scaled = &mut scaled[..rows.len()];
                    if tiled {
                        provi_kernels::gram::add_lower(rows, d, weights, scaled, out);
                        continue;
                    }
                    for ((to, row), w) in scaled.chunks_exact_mut(d).zip(rows.chunks_exact(d)).zip(weights) {
                        let root = w.sqrt();
                        to.iter_mut().zip(row).for_each(|(to, x)| *to = root * x);
                    }
                    add_lower_gram(scaled, d, out);
                }
            }),
            Storage::Sparse(sparse) => {
                for (n, w) in range.zip(weights) {
                    for (i, x) in sparse.row(n) {
                        for (j, y) in sparse.row(n).take_while(|&(j, _)| j <= i) {
                            out[i * d + j] += w * x * y;
                        }
                    }
                }
            }
        }
    }

    /// The longest chains of additions behind the sums of [`Design::add_grams_and_sums`]: first, inside the chunk
    /// with the most rows (the rows of a block in any order, then the blocks); second, over the partial sums of the
    /// chunks.
    pub(crate) fn sum_terms(&self) -> (usize, usize) {
        let (size, parts) = self.gram_parts();
        (BLOCK.min(size) + size.div_ceil(BLOCK), parts)
    }

    /// The longest chain of additions behind an entry of a matrix of [`Design::add_grams_and_sums`].
    pub(crate) fn gram_terms(&self) -> usize {
        let (size, parts) = self.gram_parts();
        let inside = match &self.storage {
            Storage::Dense(_) => BLOCK + size.div_ceil(GRAM_BLOCK),
            Storage::Sparse(_) => size,
        };
        inside + parts + 8
    }

    /// The rows of the largest chunk of a Gram matrix, and the number of chunks.
    fn gram_parts(&self) -> (usize, usize) {
        let size = self.gram_chunks(1).size.min(self.rows);
        (size, self.rows.div_ceil(size))
    }
}
