//! Prox-SGD on a packed lower triangle, one draw a step: the passes that make a step cost a pass over C, or less.
//!
//! With π the pull at z = m + Cu, a step is
//! ```text
//! C_ij ← C_ij − γπ_i u_j  (j < i),      C_ii ← lift(C_ii − γπ_i u_i),   lift(c) = ½(c + √(c² + 4γ))
//! ```
//! C is needed only to form Cu, and the draws do not depend on it. So [`step`] applies the last update and forms the
//! next product row by row, in one pass; and [`Deferred`] does the same for [`BLOCK`] steps at a time. The diagonal,
//! the only part that is not linear, is kept apart and moved at every step by [`lift`].

mod deferred;
mod plain;

pub use deferred::Deferred;

use crate::{
    dispatch::dispatch,
    lanes::Simd,
    tile::{close_rows, close_vectors},
    triangle::{check, rows_mut},
};

/// Steps per pass of [`Deferred`].
pub const BLOCK: usize = 16;

/// Columns of C taken together by a deferred pass, in chunks of eight: 32 vectors of them stay in a first-level cache.
const COLUMNS: usize = 16;

/// Rows of C taken together, a multiple of 4: a panel of columns is fetched once for all of them.
const ROWS: usize = 32;

/// diagonal_i ← lift(diagonal_i − γ·pull_i·draw_i), also written to the diagonal of `packed`. Cost: d square roots.
///
/// The textbook root subtracts near-equals for c < 0; there its conjugate 2γ/(√(c² + 4γ) − c) is taken.
///
/// # Panics
/// When lengths differ, or `packed` is not of d(d+1)/2 entries.
pub fn lift(packed: &mut [f64], diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]) {
    let d = diagonal.len();
    check(packed, d);
    assert!(pull.len() == d && draw.len() == d, "prox::lift: pull and draw have d = {d} entries");
    dispatch!(plain::lift, lift_lanes(diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]));
    let mut at = 0;
    for (i, &c) in diagonal.iter().enumerate() {
        packed[at] = c;
        at += i + 2;
    }
}

/// C_ij ← C_ij + left_i right_j for j < i, then point = mean + C·draw with `diagonal` for the diagonal of C.
///
/// The stored diagonal is neither read nor written. Cost: 2d² flops, C read and written once.
///
/// ```
/// let mut c = [2.0, 1.0, 3.0];
/// let mut z = [0.0; 2];
/// provi_kernels::prox::step(&mut c, &[10.0, 20.0], &[2.0, 3.0], &[0.5, -0.5], &[2.0, 1.0], &[1.0, -1.0], &mut z);
/// assert_eq!((c, z), ([2.0, 0.0, 3.0], [12.0, 17.0]));
/// ```
///
/// # Panics
/// When lengths differ, or `packed` is not of d(d+1)/2 entries.
pub fn step(
    packed: &mut [f64],
    mean: &[f64],
    diagonal: &[f64],
    left: &[f64],
    right: &[f64],
    draw: &[f64],
    point: &mut [f64],
) {
    let d = mean.len();
    check(packed, d);
    let lengths = [diagonal.len(), left.len(), right.len(), draw.len(), point.len()];
    assert!(lengths.iter().all(|&n| n == d), "prox::step: vectors have d = {d} entries");
    dispatch!(
        plain::step,
        step_lanes(packed: &mut [f64], mean: &[f64], diagonal: &[f64], left: &[f64], right: &[f64], draw: &[f64],
            point: &mut [f64])
    );
}

#[inline(always)]
fn lift_lanes<S: Simd>(simd: S, diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]) {
    let mut negative = 0u64;
    for ((c, p), u) in diagonal.iter_mut().zip(pull).zip(draw) {
        let x = simd.fma(-gamma * p, *u, *c);
        let root = simd.fma(x, x, 4.0 * gamma).sqrt();
        // Minus the sum marks a negative x, which is rare and looked at apart.
        *c = if x >= 0.0 { 0.5 * (x + root) } else { x - root };
        negative |= u64::from(x < 0.0);
    }
    if negative != 0 {
        for c in diagonal.iter_mut().filter(|c| **c < 0.0) {
            *c = -2.0 * gamma / *c;
        }
    }
}

#[inline(always)]
fn blend_lanes<S: Simd>(simd: S, packed: &[f64], share: f64, mean: &mut [f64]) {
    for (m, c) in mean.iter_mut().zip(packed) {
        *m = simd.fma(share, c - *m, *m);
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an inner loop, called from one place")]
fn step_lanes<S: Simd>(
    simd: S,
    packed: &mut [f64],
    mean: &[f64],
    diagonal: &[f64],
    left: &[f64],
    right: &[f64],
    draw: &[f64],
    out: &mut [f64],
) {
    let d = left.len();
    let mut i = 0;
    if S::WIDE {
        while i + 8 <= d {
            let sums = step_eight(simd, rows_mut(packed, i), i / 8, &left[i..], right, draw);
            finish(simd, i, &sums, mean, diagonal, draw, out);
            i += 8;
        }
    }
    while i + 4 <= d {
        let sums = step_rows::<S, 4>(simd, rows_mut(packed, i), i, left, right, draw);
        finish(simd, i, &sums, mean, diagonal, draw, out);
        i += 4;
    }
    while i < d {
        let sums = step_rows::<S, 1>(simd, rows_mut(packed, i), i, left, right, draw);
        finish(simd, i, &sums[..1], mean, diagonal, draw, out);
        i += 1;
    }
}

/// out = mean + diagonal·draw + sums, from entry i on.
#[inline(always)]
fn finish<S: Simd>(
    simd: S,
    i: usize,
    sums: &[f64],
    mean: &[f64],
    diagonal: &[f64],
    draw: &[f64],
    out: &mut [f64],
) {
    let n = sums.len();
    let (mean, diagonal, draw) = (&mean[i..][..n], &diagonal[i..][..n], &draw[i..][..n]);
    for (r, out) in out[i..][..n].iter_mut().enumerate() {
        *out = sums[r] + simd.fma(diagonal[r], draw[r], mean[r]);
    }
}

/// Eight rows of 8·full columns and a triangle of eight: r columns for row r, so that every mask is a constant.
#[inline(always)]
fn step_eight<S: Simd>(
    simd: S,
    rows: [&mut [f64]; 8],
    full: usize,
    left: &[f64],
    right: &[f64],
    draw: &[f64],
) -> [f64; 8] {
    let left: &[f64; 8] = left.first_chunk().expect("eight rows");
    let (last, next) = (right.as_chunks::<8>().0, draw.as_chunks::<8>().0);
    let (u, v) = (simd.load(&last[full]), &next[full]);
    let mut coefficients = [simd.splat(0.0); 8];
    let mut open = [simd.splat(0.0); 8];
    // The tail comes first: a chunk of the next row, loaded while the tail of this one is being stored, would wait.
    for r in 0..8 {
        coefficients[r] = simd.splat(left[r]);
        let row = &mut rows[r][8 * full..][..r];
        let t = simd.mul_add(coefficients[r], u, simd.load_partial(row));
        simd.store_partial(t, row);
        open[r] = simd.mul_add(t, simd.load_partial(&v[..r]), open[r]);
    }
    let [a, b, c, d, e, f, g, h] = rows;
    let upper = body(a, full).iter_mut().zip(body(b, full)).zip(body(c, full).iter_mut().zip(body(d, full)));
    let lower = body(e, full).iter_mut().zip(body(f, full)).zip(body(g, full).iter_mut().zip(body(h, full)));
    for (((((a, b), (c, d)), ((e, f), (g, h))), u), v) in upper.zip(lower).zip(last).zip(next) {
        let (u, v) = (simd.load(u), simd.load(v));
        for ((chunk, coefficient), open) in
            [a, b, c, d, e, f, g, h].into_iter().zip(coefficients).zip(&mut open)
        {
            let t = simd.mul_add(coefficient, u, simd.load(chunk));
            simd.store(t, chunk);
            *open = simd.mul_add(t, v, *open);
        }
    }
    let [a, b, c, d, e, f, g, h] = open;
    let ([a, b, c, d], [e, f, g, h]) = (simd.sums([a, b, c, d]), simd.sums([e, f, g, h]));
    [a, b, c, d, e, f, g, h]
}

/// R rows from row i on, R = 4 or 1.
#[inline(always)]
fn step_rows<S: Simd, const R: usize>(
    simd: S,
    mut rows: [&mut [f64]; R],
    i: usize,
    left: &[f64],
    right: &[f64],
    draw: &[f64],
) -> [f64; 4] {
    let (last, next) = (right.as_chunks::<8>().0, draw.as_chunks::<8>().0);
    let full = i / 8;
    let mut coefficients = [simd.splat(0.0); R];
    let mut open = [[simd.splat(0.0); 1]; R];
    // The tail comes first: a chunk of the next row, loaded while the tail of this one is being stored, would wait.
    for r in 0..R {
        coefficients[r] = simd.splat(left[i + r]);
        let (row, tail) = (&mut rows[r][8 * full..i + r], 8 * full..i + r);
        let (u, v) = (simd.load_partial(&right[tail.clone()]), simd.load_partial(&draw[tail]));
        let t = simd.mul_add(coefficients[r], u, simd.load_partial(row));
        simd.store_partial(t, row);
        open[r][0] = simd.mul_add(t, v, open[r][0]);
    }
    let vectors = last.iter().zip(next);
    if let Some([a, b, c, d]) = four(&mut rows) {
        let chunks =
            body(a, full).iter_mut().zip(body(b, full)).zip(body(c, full).iter_mut().zip(body(d, full)));
        for (((a, b), (c, d)), (u, v)) in chunks.zip(vectors) {
            let (u, v) = (simd.load(u), simd.load(v));
            for ((chunk, coefficient), open) in [a, b, c, d].into_iter().zip(coefficients).zip(&mut open) {
                let t = simd.mul_add(coefficient, u, simd.load(chunk));
                simd.store(t, chunk);
                open[0] = simd.mul_add(t, v, open[0]);
            }
        }
    } else {
        for (chunk, (u, v)) in body(rows[0], full).iter_mut().zip(vectors) {
            let t = simd.mul_add(coefficients[0], simd.load(u), simd.load(chunk));
            simd.store(t, chunk);
            open[0][0] = simd.mul_add(t, simd.load(v), open[0][0]);
        }
    }
    close_rows(simd, &open, 0)
}

/// The first `full` chunks of a row.
#[inline(always)]
fn body(row: &mut [f64], full: usize) -> &mut [[f64; 8]] {
    &mut row.as_chunks_mut().0[..full]
}

/// The rows one by one, if they are four: loops over them run without looking at lengths.
#[inline(always)]
fn four<'r, const R: usize>(rows: &'r mut [&mut [f64]; R]) -> Option<[&'r mut [f64]; 4]> {
    match rows.as_mut_slice() {
        [a, b, c, d] => Some([a, b, c, d]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
