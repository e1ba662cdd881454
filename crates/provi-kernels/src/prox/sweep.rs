//! The passes over tiles, written over lanes.

use super::tiles::panel;
use crate::{aligned::Chunk, lanes::Simd};

/// Tiles of a panel processed together, so that their draws stay in a first-level cache.
const TILES: usize = 32;

/// Panels processed together, so that the draws are loaded once for all of them.
const PANELS: usize = 4;

/// Arranges the draws panel by panel, chunk b of u_k at b·width + k, and clears the products.
#[inline(always)]
pub(super) fn open_lanes<S: Simd>(
    simd: S,
    draws: &[f64],
    dim: usize,
    next: &mut [Chunk],
    products: &mut [Chunk],
) {
    let width = draws.len() / dim;
    let panels = next.chunks_exact_mut(width).zip(products.chunks_exact_mut(width));
    for (b, (next, products)) in panels.enumerate() {
        let rows = 8 * b..dim.min(8 * b + 8);
        for ((next, product), u) in next.iter_mut().zip(products).zip(draws.chunks_exact(dim)) {
            simd.store(simd.load_partial(&u[rows.clone()]), next);
            simd.store(simd.splat(0.0), product);
        }
    }
}

/// C_ij ← C_ij + Σ_n left_n(i) last_n(j), then out_k(i) ← out_k(i) + Σ_j C_ij next_k(j), for the tiles left of the diagonal.
///
/// The vectors are stored panel by panel: chunk b of vector n at b·width + n. Of `left` and `last` only the first
/// `used` count.
#[inline(always)]
pub(super) fn sweep_lanes<S: Simd>(
    simd: S,
    far: &mut [Chunk],
    [width, used]: [usize; 2],
    left: &[Chunk],
    last: &[Chunk],
    next: &[Chunk],
    out: &mut [Chunk],
) {
    let panels = left.len() / width;
    let both = if next.is_empty() { 0 } else { width };
    // A block of draws must not become larger for a wide batch.
    let tiles = (TILES * 8 / width).clamp(1, TILES);
    // The first panel has no tiles here.
    for top in (1..panels).step_by(PANELS) {
        let bottom = panels.min(top + PANELS);
        for from in (0..bottom).step_by(tiles) {
            let mut b = top.max(from + 1);
            while b < bottom {
                let together = if S::WIDE && b + 1 < bottom { 2 } else { 1 };
                // Besides the last tile of the first of two panels, the second has one more.
                for t in from..(b + together - 1).min(from + tiles) {
                    let (last, next) = (&last[t * width..][..used], &next[t * both..][..both]);
                    let paired = together == 2 && t < b;
                    let b = if together == 2 && !paired { b + 1 } else { b };
                    let (above, below) = far.split_at_mut(panel(b + 1));
                    let columns = &mut above[panel(b) + 8 * t..][..8];
                    let (left, out) = (&left[b * width..], &mut out[b * both..]);
                    if paired {
                        let left = [&left[..used], &left[width..][..used]];
                        let (first, second) = out[..2 * both].split_at_mut(both);
                        let columns = [columns, &mut below[8 * t..][..8]];
                        tile::<S, 2, 8>(simd, 0, columns, left, last, next, [first, second]);
                    } else if S::WIDE {
                        let (left, out) = ([&left[..used]], [&mut out[..both]]);
                        tile::<S, 1, 8>(simd, 0, [columns], left, last, next, out);
                    } else {
                        let (first, second) = columns.split_at_mut(4);
                        let (left, out) = (&left[..used], &mut out[..both]);
                        tile::<S, 1, 4>(simd, 0, [first], [left], last, next, [&mut *out]);
                        tile::<S, 1, 4>(simd, 4, [second], [left], last, next, [out]);
                    }
                }
                b += together;
            }
        }
    }
}

/// J columns of P tiles that lie below one another, the first being column `at`, all held in registers.
#[inline(always)]
fn tile<S: Simd, const P: usize, const J: usize>(
    simd: S,
    at: usize,
    columns: [&mut [Chunk]; P],
    left: [&[Chunk]; P],
    last: &[Chunk],
    next: &[Chunk],
    out: [&mut [Chunk]; P],
) {
    let columns: [&mut [Chunk; J]; P] = columns.map(|c| c.first_chunk_mut().expect("J columns"));
    let mut c = [[simd.splat(0.0); J]; P];
    for p in 0..P {
        for j in 0..J {
            c[p][j] = simd.load(&columns[p][j]);
        }
    }
    if !last.is_empty() {
        let left = left.map(|left| &left[..last.len()]);
        for (n, u) in last.iter().enumerate() {
            let left = left.map(|left| simd.load(&left[n]));
            for j in 0..J {
                let u = simd.splat(u[at + j]);
                for p in 0..P {
                    c[p][j] = simd.mul_add(left[p], u, c[p][j]);
                }
            }
        }
        for p in 0..P {
            for j in 0..J {
                simd.store(c[p][j], &mut columns[p][j]);
            }
        }
    }
    let out = out.map(|out| &mut out[..next.len()]);
    for (k, u) in next.iter().enumerate() {
        let mut sums = [simd.splat(0.0); P];
        for p in 0..P {
            sums[p] = simd.load(&out[p][k]);
        }
        for j in 0..J {
            let u = simd.splat(u[at + j]);
            for p in 0..P {
                sums[p] = simd.mul_add(c[p][j], u, sums[p]);
            }
        }
        for p in 0..P {
            simd.store(sums[p], &mut out[p][k]);
        }
    }
}

/// point_s = mean + Cu for the draws from column `made` on: the products, the changes by the columns before, the
/// diagonal, and, before the first push, the tiles on it.
#[inline(always)]
pub(super) fn points_lanes<S: Simd>(
    simd: S,
    sizes: [usize; 2],
    on: [&[Chunk]; 2],
    block: [&[Chunk]; 3],
    mean: &[f64],
    points: &mut [f64],
) {
    // Zeros take time too.
    match points.len() / mean.len() * sizes[1].next_multiple_of(4) {
        0..=8 => points_pairs::<S, 8>(simd, sizes, on, block, mean, points),
        _ => points_pairs::<S, 64>(simd, sizes, on, block, mean, points),
    }
}

/// The same, for at most N pairs of a draw of the step, and one before.
#[inline(always)]
fn points_pairs<S: Simd, const N: usize>(
    simd: S,
    [width, made]: [usize; 2],
    [near, diagonal]: [&[Chunk]; 2],
    [left, draws, products]: [&[Chunk]; 3],
    mean: &[f64],
    points: &mut [f64],
) {
    let d = mean.len();
    let batch = points.len() / d;
    // Σ_{j<8b} u_n(j) u_k(j): sums over lanes in progress, a multiple of four for each k.
    let mut open = [simd.splat(0.0); N];
    for (b, near) in near.as_chunks::<8>().0.iter().enumerate() {
        let rows = 8 * b..d.min(8 * b + 8);
        let (left, draws) = (&left[b * width..][..made], &draws[b * width..][..width]);
        let (before, own) = draws.split_at(made);
        let (mean, diagonal) = (simd.load_partial(&mean[rows.clone()]), simd.load(&diagonal[b]));
        let products = &products[b * width + made..][..batch];
        for (s, (own, product)) in own[..batch].iter().zip(products).enumerate() {
            let mut sum = [mean, simd.load(product)];
            if made == 0 {
                for r in 0..7 {
                    sum[r % 2] = simd.mul_add(simd.load(&near[r]), simd.splat(own[r]), sum[r % 2]);
                }
            }
            let u = simd.load(own);
            let open = open[s * made.next_multiple_of(4)..].as_chunks_mut::<4>().0;
            for ((left, before), open) in left.chunks(4).zip(before.chunks(4)).zip(open) {
                let sums = simd.sums(*open);
                for (n, (left, before)) in left.iter().zip(before).enumerate() {
                    sum[n % 2] = simd.mul_add(simd.load(left), simd.splat(sums[n]), sum[n % 2]);
                    open[n] = simd.mul_add(simd.load(before), u, open[n]);
                }
            }
            let off = simd.mul_add(simd.splat(1.0), sum[0], sum[1]);
            // Last, because a step changes the diagonal last.
            simd.store_partial(simd.mul_add(diagonal, u, off), &mut points[s * d..][rows.clone()]);
        }
    }
}

/// Adds the pulls of a step, scaled by −γ/S, to `left`, to the tiles on the diagonal, and to the diagonal. If the
/// block has another step, its products receive those tiles now, while they are in cache.
#[inline(always)]
pub(super) fn push_lanes<S: Simd>(
    simd: S,
    [width, made, dim]: [usize; 3],
    gamma: f64,
    pulls: &[f64],
    [near, diagonal]: [&mut [Chunk]; 2],
    [left, products]: [&mut [Chunk]; 2],
    draws: &[Chunk],
) {
    let batch = pulls.len() / dim;
    let (own, after) = (made..made + batch, made + batch..width.min(made + 2 * batch));
    let scale = simd.splat(-gamma / batch as f64);
    let zero = simd.splat(0.0);
    let panels = left.chunks_exact_mut(width).zip(products.chunks_exact_mut(width));
    let tiles = near.as_chunks_mut::<8>().0.iter_mut().zip(diagonal);
    let tiles = tiles.zip(panels).zip(draws.chunks_exact(width));
    for (b, (((columns, diagonal), (left, products)), draws)) in tiles.enumerate() {
        let (left, products) = (&mut left[own.clone()], &mut products[after.clone()]);
        let (draws, next) = (&draws[own.clone()], &draws[after.clone()]);
        let rows = 8 * b..dim.min(8 * b + 8);
        let mut x = simd.load(diagonal);
        let mut c = [zero; 7];
        for j in 0..7 {
            c[j] = simd.load(&columns[j]);
        }
        for (s, (left, u)) in left.iter_mut().zip(draws).enumerate() {
            let l = simd.mul_add(scale, simd.load_partial(&pulls[s * dim..][rows.clone()]), zero);
            simd.store(l, left);
            x = simd.mul_add(l, simd.load(u), x);
            for j in 0..7 {
                c[j] = simd.mul_add(l, simd.splat(u[j]), c[j]);
            }
        }
        lift(simd, gamma, x, diagonal);
        for j in 0..7 {
            c[j] = simd.after(j, c[j]);
            simd.store(c[j], &mut columns[j]);
        }
        for (product, u) in products.iter_mut().zip(next) {
            let mut sum = [simd.load(product), zero];
            for j in 0..7 {
                sum[j % 2] = simd.mul_add(c[j], simd.splat(u[j]), sum[j % 2]);
            }
            simd.store(simd.mul_add(simd.splat(1.0), sum[0], sum[1]), product);
        }
    }
}

/// The positive root of t² − xt − γ: ½(x + √(x² + 4γ)), or its conjugate where that would subtract nearly equal
/// numbers.
#[inline(always)]
fn lift<S: Simd>(simd: S, gamma: f64, x: S::Vector, out: &mut Chunk) {
    let half = simd.splat(0.5);
    let root = simd.sqrt(simd.mul_add(x, x, simd.splat(4.0 * gamma)));
    let half_root = simd.mul_add(half, root, simd.splat(0.0));
    simd.store(simd.mul_add(half, x, half_root), out);
    if simd.any_negative(x) {
        let mut both = [[0.0; 8]; 2];
        simd.store(x, &mut both[0]);
        simd.store(root, &mut both[1]);
        for l in 0..8 {
            if both[0][l] < 0.0 {
                out[l] = 2.0 * gamma / (both[1][l] - both[0][l]);
            }
        }
    }
}
