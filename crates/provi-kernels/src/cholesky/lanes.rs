//! The three passes, written over lanes.

use super::{columns, rows};
use crate::{aligned::Chunk, lanes::Simd};

/// P × J sums Σ_k left_k(at + r)·right_k, over as many k as each of the rights has; none has fewer than the first.
#[inline(always)]
fn product<S: Simd, const J: usize, const P: usize>(
    simd: S,
    at: usize,
    left: &[Chunk],
    rights: [&[Chunk]; P],
) -> [[S::Vector; J]; P] {
    let mut sums = [[simd.splat(0.0); J]; P];
    let common = rights[0].len().min(left.len());
    let (both, rest) = left.split_at(common);
    let mut first: [&[Chunk]; P] = [&[]; P];
    for p in 0..P {
        first[p] = &rights[p][..common];
    }
    for (k, left) in both.iter().enumerate() {
        let mut right = [simd.splat(0.0); P];
        for p in 0..P {
            right[p] = simd.load(&first[p][k]);
        }
        for r in 0..J {
            let left = simd.splat(left[at + r]);
            for p in 0..P {
                sums[p][r] = simd.mul_add(left, right[p], sums[p][r]);
            }
        }
    }
    for p in 1..P {
        for (left, right) in rest.iter().zip(&rights[p][common..]) {
            let right = simd.load(right);
            for r in 0..J {
                sums[p][r] = simd.mul_add(simd.splat(left[at + r]), right, sums[p][r]);
            }
        }
    }
    sums
}

/// Rows `at` ≤ r < at + J of tiles T with WᵀT = tile − Σ left_k right_k, W the tile on the diagonal of panel `left`: its rows
/// below are in `left` as well.
///
/// `left` and each of `rights` start with these J rows; what lies in `rights` there is taken, and replaced.
#[inline(always)]
fn substitute<S: Simd, const J: usize, const P: usize>(
    simd: S,
    at: usize,
    left: &[Chunk],
    reciprocals: &Chunk,
    rights: [&mut [Chunk]; P],
) {
    let (diagonal, left) = left.split_at(J);
    let diagonal: &[Chunk; J] = diagonal.first_chunk().expect("J rows");
    let (minus, zero) = (simd.splat(-1.0), simd.splat(0.0));
    let mut below: [&[Chunk]; P] = [&[]; P];
    for p in 0..P {
        below[p] = &rights[p][J..];
    }
    let sums = product::<S, J, P>(simd, at, left, below);
    for (sums, right) in sums.into_iter().zip(rights) {
        let own: &mut [Chunk; J] = right.first_chunk_mut().expect("J rows");
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
}

/// The same for the tile on the diagonal itself, whose pivots are computed here. Returns the first bad pivot, if
/// any.
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
    let [sums] = product::<S, J, 1>(simd, at, below, [below]);
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

/// Runs `$call` for the panels n, …, n + P − 1 until all from `$from` to `$to` are done. P = 3 if the registers
/// hold three tiles, so that one entry of `left` serves all of them.
macro_rules! abreast {
    ($simd:ty, $from:expr, $to:expr, |$n:ident, $p:ident| $call:expr) => {{
        let (mut $n, to): (usize, usize) = ($from, $to);
        while <$simd>::WIDE && $n + 3 <= to {
            const $p: usize = 3;
            $call;
            $n += 3;
        }
        while $n < to {
            const $p: usize = 1;
            $call;
            $n += 1;
        }
    }};
}

/// Panels processed together: what is subtracted from a tile is loaded once for all of them.
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
                factor_tiles::<S, 1>(simd, [panels, b, t], factor, reciprocals);
            }
        }
        abreast!(S, 0, top, |t, P| {
            for b in (top..bottom).rev() {
                factor_tiles::<S, P>(simd, [panels, b, t], factor, reciprocals);
            }
        });
        bottom = top;
    }
    None
}

/// The tiles of row panel b in column panels t, …, t + P − 1, all left of the diagonal.
#[inline(always)]
fn factor_tiles<S: Simd, const P: usize>(
    simd: S,
    [panels, b, t]: [usize; 3],
    factor: &mut [Chunk],
    reciprocals: &[Chunk],
) {
    let (before, left) = factor.split_at_mut(columns(panels, b));
    let mut rest = &mut before[columns(panels, t)..];
    let mut rights: [&mut [Chunk]; P] = std::array::from_fn(|_| Default::default());
    for (p, right) in rights.iter_mut().enumerate() {
        let (panel, after) = rest.split_at_mut(8 * (panels - t - p));
        (*right, rest) = (&mut panel[8 * (b - t - p)..], after);
    }
    tiles(simd, &left[..8 * (panels - b)], &reciprocals[b], rights);
}

#[inline(always)]
fn tiles<S: Simd, const P: usize>(
    simd: S,
    left: &[Chunk],
    reciprocals: &Chunk,
    mut rights: [&mut [Chunk]; P],
) {
    if S::WIDE {
        substitute::<S, 8, P>(simd, 0, left, reciprocals, rights);
    } else {
        let lower = rights.each_mut().map(|right| &mut right[4..]);
        substitute::<S, 4, P>(simd, 4, &left[4..], reciprocals, lower);
        substitute::<S, 4, P>(simd, 0, left, reciprocals, rights);
    }
}

/// G with GW = I.
#[inline(always)]
pub(super) fn invert_lanes<S: Simd>(simd: S, factor: &[Chunk], reciprocals: &[Chunk], inverse: &mut [Chunk]) {
    let panels = reciprocals.len();
    // The tiles of a column are independent of each other; those of a row are not, but find it in a nearer cache.
    let group = if panels < 8 * GROUP { 1 } else { GROUP };
    let mut end = panels;
    while end > 0 {
        let start = end.saturating_sub(group);
        for b in start..end {
            for t in (start..=b).rev() {
                invert_tiles::<S, 1>(simd, [panels, b, t], factor, reciprocals, inverse);
            }
        }
        abreast!(S, end, panels, |b, P| {
            for t in (start..end).rev() {
                invert_tiles::<S, P>(simd, [panels, b, t], factor, reciprocals, inverse);
            }
        });
        end = start;
    }
}

/// The tiles of column panel t in row panels b, …, b + P − 1.
#[inline(always)]
fn invert_tiles<S: Simd, const P: usize>(
    simd: S,
    [panels, b, t]: [usize; 3],
    factor: &[Chunk],
    reciprocals: &[Chunk],
    inverse: &mut [Chunk],
) {
    let mut rest = &mut inverse[rows(b)..];
    let mut rights: [&mut [Chunk]; P] = std::array::from_fn(|_| Default::default());
    for (p, right) in rights.iter_mut().enumerate() {
        let (panel, after) = rest.split_at_mut(8 * (b + p + 1));
        (*right, rest) = (&mut panel[8 * t..], after);
        for r in 0..8 {
            right[r] = [0.0; 8];
            right[r][r] = if b + p == t { 1.0 } else { 0.0 };
        }
    }
    let left = &factor[columns(panels, t)..][..8 * (b + P - t)];
    tiles(simd, left, &reciprocals[t], rights);
}

/// GGᵀ, packed.
#[inline(always)]
pub(super) fn square_lanes<S: Simd>(simd: S, dim: usize, inverse: &[Chunk], packed: &mut [f64]) {
    let panels = dim.div_ceil(8);
    for top in (0..panels).step_by(GROUP) {
        let bottom = panels.min(top + GROUP);
        abreast!(S, 0, top, |t, P| {
            for b in top..bottom {
                square_tiles::<S, P>(simd, [dim, b, t], inverse, packed);
            }
        });
        for t in top..bottom {
            for b in t..bottom {
                square_tiles::<S, 1>(simd, [dim, b, t], inverse, packed);
            }
        }
    }
}

/// The tiles of row panel b in column panels t, …, t + P − 1, none right of the diagonal.
#[inline(always)]
fn square_tiles<S: Simd, const P: usize>(
    simd: S,
    [dim, b, t]: [usize; 3],
    inverse: &[Chunk],
    packed: &mut [f64],
) {
    let left = &inverse[rows(b)..rows(b + 1)];
    let mut rights: [&[Chunk]; P] = [&[]; P];
    for p in 0..P {
        rights[p] = &inverse[rows(t + p)..rows(t + p + 1)];
    }
    if S::WIDE {
        put::<S, 8, P>(simd, [dim, 8 * b, 8 * t], product(simd, 0, left, rights), packed);
    } else {
        put::<S, 4, P>(simd, [dim, 8 * b, 8 * t], product(simd, 0, left, rights), packed);
        put::<S, 4, P>(simd, [dim, 8 * b + 4, 8 * t], product(simd, 4, left, rights), packed);
    }
}

/// Rows i ≤ k < i + J from column j on, as far as they are in the triangle.
#[inline(always)]
fn put<S: Simd, const J: usize, const P: usize>(
    simd: S,
    [dim, i, j]: [usize; 3],
    tiles: [[S::Vector; J]; P],
    packed: &mut [f64],
) {
    for (r, k) in (i..dim).take(J).enumerate() {
        let row = &mut packed[k * (k + 1) / 2..][j..=k];
        for (tile, to) in tiles.iter().zip(row.chunks_mut(8)) {
            match to.first_chunk_mut() {
                Some(whole) => simd.store(tile[r], whole),
                None => simd.store_partial(tile[r], to),
            }
        }
    }
}
