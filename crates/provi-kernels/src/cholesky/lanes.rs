//! The three passes, written over lanes.

use super::{columns, rows};
use crate::{aligned::Chunk, lanes::Simd};

/// J sums Σ_k left_k(at + r)·right_k.
#[inline(always)]
fn product<S: Simd, const J: usize>(simd: S, at: usize, left: &[Chunk], right: &[Chunk]) -> [S::Vector; J] {
    let mut sums = [simd.splat(0.0); J];
    for (left, right) in left.iter().zip(right) {
        let right = simd.load(right);
        for r in 0..J {
            sums[r] = simd.mul_add(simd.splat(left[at + r]), right, sums[r]);
        }
    }
    sums
}

/// Rows `at` ≤ r < at + J of a tile T with WᵀT = tile − Σ left_k right_k, W the tile on the diagonal of panel `left`: its rows
/// below are in `left` as well.
///
/// `left` and `right` start with these J rows; what lies in `right` there is taken, and replaced.
#[inline(always)]
fn substitute<S: Simd, const J: usize>(
    simd: S,
    at: usize,
    left: &[Chunk],
    reciprocals: &Chunk,
    right: &mut [Chunk],
) {
    let (own, below) = right.split_at_mut(J);
    let (diagonal, left) = left.split_at(J);
    let own: &mut [Chunk; J] = own.first_chunk_mut().expect("J rows");
    let diagonal: &[Chunk; J] = diagonal.first_chunk().expect("J rows");
    let (minus, zero) = (simd.splat(-1.0), simd.splat(0.0));
    let sums = product::<S, J>(simd, at, left, below);
    let mut tile = [zero; J];
    for r in 0..J {
        tile[r] = simd.mul_add(minus, sums[r], simd.load(&own[r]));
    }
    for r in (0..J).rev() {
        tile[r] = simd.mul_add(simd.splat(reciprocals[at + r]), tile[r], zero);
        simd.store(tile[r], &mut own[r]);
        for s in 0..r {
            tile[s] = simd.mul_add(simd.splat(-diagonal[r][at + s]), tile[r], tile[s]);
        }
    }
}

/// The same for the tile on the diagonal itself, whose pivots are found on the way; the first bad one, if any.
#[inline(always)]
fn pivot<S: Simd, const J: usize>(
    simd: S,
    at: usize,
    panel: &mut [Chunk],
    reciprocals: &mut Chunk,
) -> Option<usize> {
    let (own, below) = panel.split_at_mut(J);
    let own: &mut [Chunk; J] = own.first_chunk_mut().expect("J rows");
    let (minus, zero) = (simd.splat(-1.0), simd.splat(0.0));
    let sums = product::<S, J>(simd, at, below, below);
    let mut tile = [zero; J];
    for r in 0..J {
        tile[r] = simd.mul_add(minus, sums[r], simd.load(&own[r]));
    }
    for r in (0..J).rev() {
        simd.store(tile[r], &mut own[r]);
        let pivot = own[r][at + r];
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return Some(at + r);
        }
        let reciprocal = 1.0 / pivot.sqrt();
        reciprocals[at + r] = reciprocal;
        tile[r] = simd.mul_add(simd.splat(reciprocal), tile[r], zero);
        simd.store(tile[r], &mut own[r]);
        for s in 0..r {
            tile[s] = simd.mul_add(simd.splat(-own[r][at + s]), tile[r], tile[s]);
        }
    }
    None
}

/// Panels taken together: what a tile is subtracted from is fetched once for all of them.
const GROUP: usize = 4;

/// Tiles of row panel b from the diagonal on, b from the last up.
#[inline(always)]
pub(super) fn factor_lanes<S: Simd>(
    simd: S,
    panels: usize,
    factor: &mut [Chunk],
    reciprocals: &mut [Chunk],
) -> Option<usize> {
    let mut bottom = panels;
    while bottom > 0 {
        let top = bottom.saturating_sub(GROUP);
        for b in (top..bottom).rev() {
            let panel = &mut factor[columns(panels, b)..][..8 * (panels - b)];
            let own = &mut reciprocals[b];
            let bad = if S::WIDE {
                pivot::<S, 8>(simd, 0, panel, own)
            } else {
                pivot::<S, 4>(simd, 4, &mut panel[4..], own).or_else(|| pivot::<S, 4>(simd, 0, panel, own))
            };
            if let Some(r) = bad {
                return Some(8 * b + r);
            }
            for t in top..b {
                factor_tile(simd, [panels, b, t], factor, reciprocals);
            }
        }
        for t in 0..top {
            for b in (top..bottom).rev() {
                factor_tile(simd, [panels, b, t], factor, reciprocals);
            }
        }
        bottom = top;
    }
    None
}

#[inline(always)]
fn factor_tile<S: Simd>(simd: S, [panels, b, t]: [usize; 3], factor: &mut [Chunk], reciprocals: &[Chunk]) {
    let (before, left) = factor.split_at_mut(columns(panels, b));
    let rows = 8 * (panels - b);
    let right = &mut before[columns(panels, t) + 8 * (b - t)..][..rows];
    tile(simd, &left[..rows], &reciprocals[b], right);
}

#[inline(always)]
fn tile<S: Simd>(simd: S, left: &[Chunk], reciprocals: &Chunk, right: &mut [Chunk]) {
    if S::WIDE {
        substitute::<S, 8>(simd, 0, left, reciprocals, right);
    } else {
        substitute::<S, 4>(simd, 4, &left[4..], reciprocals, &mut right[4..]);
        substitute::<S, 4>(simd, 0, left, reciprocals, right);
    }
}

/// G with GW = I, then GGᵀ.
#[inline(always)]
pub(super) fn invert_lanes<S: Simd>(
    simd: S,
    dim: usize,
    factor: &[Chunk],
    reciprocals: &[Chunk],
    inverse: &mut [Chunk],
    packed: &mut [f64],
) {
    let panels = reciprocals.len();
    // The tiles of a column do not wait for each other; those of a row do, but find it in a nearer cache.
    let group = if panels < 8 * GROUP { 1 } else { GROUP };
    let mut end = panels;
    while end > 0 {
        let start = end.saturating_sub(group);
        for b in start..panels {
            for t in (start..end.min(b + 1)).rev() {
                let right = &mut inverse[rows(b) + 8 * t..rows(b + 1)];
                for r in 0..8 {
                    right[r] = [0.0; 8];
                    right[r][r] = if b == t { 1.0 } else { 0.0 };
                }
                let left = &factor[columns(panels, t)..][..right.len()];
                tile(simd, left, &reciprocals[t], right);
            }
        }
        end = start;
    }
    for top in (0..panels).step_by(GROUP) {
        let bottom = panels.min(top + GROUP);
        for t in 0..bottom {
            let right = &inverse[rows(t)..rows(t + 1)];
            for b in top.max(t)..bottom {
                let left = &inverse[rows(b)..rows(b + 1)];
                if S::WIDE {
                    put::<S, 8>(simd, [dim, 8 * b, 8 * t], product(simd, 0, left, right), packed);
                } else {
                    put::<S, 4>(simd, [dim, 8 * b, 8 * t], product(simd, 0, left, right), packed);
                    put::<S, 4>(simd, [dim, 8 * b + 4, 8 * t], product(simd, 4, left, right), packed);
                }
            }
        }
    }
}

/// Rows i ≤ k < i + J from column j on, as far as they are in the triangle.
#[inline(always)]
fn put<S: Simd, const J: usize>(simd: S, [dim, i, j]: [usize; 3], tile: [S::Vector; J], packed: &mut [f64]) {
    for r in 0..J {
        let k = i + r;
        if k < dim {
            let row = &mut packed[k * (k + 1) / 2..][j..=k];
            match row.first_chunk_mut() {
                Some(whole) => simd.store(tile[r], whole),
                None => simd.store_partial(tile[r], row),
            }
        }
    }
}
