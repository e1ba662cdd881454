//! A lower triangle in tiles of eight by eight, aligned to cache lines.

use crate::triangle::check;
use crate::{aligned::*, dispatch::dispatch, lanes::Simd};

/// A lower triangle of d rows, in panels of eight rows: tiles left of the diagonal, tiles on it, and the diagonal.
///
/// A tile is eight columns, each with its eight rows side by side. Rows and columns from d on are zeros. Memory: about
/// d(d + 9)/2 numbers.
#[derive(Debug)]
pub struct Tiles {
    dim: usize,
    /// Columns j < 8b of panel b, from chunk 4b(b − 1) on.
    pub(super) far: Aligned,
    /// Columns 8b ≤ j < 8b + 8 of panel b, from chunk 8b on: zeros from the diagonal up.
    pub(super) near: Aligned,
    /// C_ii, eight at a time.
    pub(super) diagonal: Aligned,
}

/// The first chunk of panel b in `far`.
pub(super) fn panel(b: usize) -> usize {
    4 * b * b.saturating_sub(1)
}

impl Tiles {
    /// Zeros.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        let panels = dim.div_ceil(8);
        Self {
            dim,
            far: Aligned::zeros(panel(panels)),
            near: Aligned::zeros(8 * panels),
            diagonal: Aligned::zeros(panels),
        }
    }

    /// Loads a triangle packed row by row. Cost: one pass over it.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn read(&mut self, packed: &[f64]) {
        check(packed, self.dim);
        self.walk(|i, far, near, diagonal, r| {
            let row = &packed[i * (i + 1) / 2..][..=i];
            far.iter_mut().zip(row).for_each(|(to, x)| to[r] = *x);
            near.iter_mut().zip(&row[i - r..i]).for_each(|(to, x)| to[r] = *x);
            diagonal[r] = row[i];
        });
    }

    /// Writes the triangle, packed row by row. Cost: one pass over it.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn write(&mut self, packed: &mut [f64]) {
        check(packed, self.dim);
        self.walk(|i, far, near, diagonal, r| {
            let row = &mut packed[i * (i + 1) / 2..][..=i];
            far.iter().zip(&mut *row).for_each(|(from, x)| *x = from[r]);
            near.iter().zip(&mut row[i - r..i]).for_each(|(from, x)| *x = from[r]);
            row[i] = diagonal[r];
        });
    }

    /// Writes only the diagonal.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn write_diagonal(&self, packed: &mut [f64]) {
        check(packed, self.dim);
        for (b, diagonal) in self.diagonal.chunks()[..self.dim / 8].iter().enumerate() {
            let i = 8 * b;
            for r in 0..8 {
                packed[i * (i + 3) / 2 + r * i + r * (r + 3) / 2] = diagonal[r];
            }
        }
        let diagonal = self.diagonal.chunks().as_flattened();
        for i in self.dim / 8 * 8..self.dim {
            packed[i * (i + 3) / 2] = diagonal[i];
        }
    }

    /// self ← self + c(other − self), only for the tiles on the diagonal and the diagonal. Cost: O(d).
    ///
    /// # Panics
    /// If the sizes differ.
    pub fn blend_near(&mut self, other: &Self, c: f64) {
        blend(self.near.chunks_mut(), other.near.chunks(), c);
        blend(self.diagonal.chunks_mut(), other.diagonal.chunks(), c);
    }

    /// The same for the tiles left of the diagonal. Cost: one pass.
    ///
    /// # Panics
    /// If the sizes differ.
    pub(super) fn blend_far(&mut self, other: &Self, c: f64) {
        blend(self.far.chunks_mut(), other.far.chunks(), c);
    }

    /// Calls with i, the columns of its panel left of the diagonal, those of its near tile, its diagonal and i mod 8.
    fn walk(&mut self, mut call: impl FnMut(usize, &mut [Chunk], &mut [Chunk], &mut Chunk, usize)) {
        for i in 0..self.dim {
            let (b, r) = (i / 8, i % 8);
            let far = &mut self.far.chunks_mut()[panel(b)..][..8 * b];
            let near = &mut self.near.chunks_mut()[8 * b..][..r];
            call(i, far, near, &mut self.diagonal.chunks_mut()[b], r);
        }
    }
}

fn blend(mean: &mut [Chunk], other: &[Chunk], c: f64) {
    assert_eq!(mean.len(), other.len(), "prox: triangles of one size");
    let (mean, other) = (mean.as_flattened_mut(), other.as_flattened());
    if c >= 1.0 {
        mean.copy_from_slice(other);
    } else {
        dispatch!(super::plain::blend, blend_lanes(mean: &mut [f64], other: &[f64], c: f64));
    }
}

#[inline(always)]
fn blend_lanes<S: Simd>(simd: S, mean: &mut [f64], other: &[f64], c: f64) {
    for (m, x) in mean.iter_mut().zip(other) {
        *m = simd.fma(c, x - *m, *m);
    }
}
