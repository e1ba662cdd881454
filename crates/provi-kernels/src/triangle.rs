//! C lower triangular, packed row by row: C_ij at i(i+1)/2 + j, d(d+1)/2 entries.
//!
//! Batches are row-major: vector k of S at `[k·d..(k+1)·d]`. The result of a batched pass for vector k does not
//! depend on the other vectors. The passes over batches use each block of four rows for the whole batch, so that C
//! moves through memory once.

use crate::{
    dispatch::dispatch,
    lanes::Simd,
    tile::{add_rows, add_vectors, batch, batch_mut, close_rows, dots, in_batches},
};

/// out = C u. Cost: d² flops, C read once.
///
/// # Panics
/// If u and `out` differ in length, or `packed` does not have d(d+1)/2 entries.
pub fn multiply(packed: &[f64], u: &[f64], out: &mut [f64]) {
    assert_eq!(u.len(), out.len(), "triangle::multiply: lengths of u and out");
    check(packed, u.len());
    out.fill(0.0);
    let d = u.len();
    dispatch!(plain::add_product, add_product_lanes(packed: &[f64], d: usize, u: &[f64], out: &mut [f64]));
}

/// out = Cᵀ v. Cost: d² flops, C read once.
///
/// # Panics
/// If v and `out` differ in length, or `packed` does not have d(d+1)/2 entries.
pub fn multiply_transposed(packed: &[f64], v: &[f64], out: &mut [f64]) {
    assert_eq!(v.len(), out.len(), "triangle::multiply_transposed: lengths of v and out");
    check(packed, v.len());
    let d = v.len();
    dispatch!(plain::pull_back, pull_back_lanes(packed: &[f64], d: usize, v: &[f64], out: &mut [f64]));
}

/// b ← C⁻¹ b, by forward substitution. Cost: d² flops, C read once.
///
/// Divisions are multiplications by a reciprocal, which rounds once more. A zero on the diagonal gives infinities.
///
/// # Panics
/// If `packed` does not have d(d+1)/2 entries.
pub fn solve(packed: &[f64], b: &mut [f64]) {
    check(packed, b.len());
    dispatch!(plain::solve, solve_lanes(packed: &[f64], b: &mut [f64]));
}

/// b ← C⁻ᵀ b, by backward substitution; otherwise as [`solve`].
///
/// # Panics
/// If `packed` does not have d(d+1)/2 entries.
pub fn solve_transposed(packed: &[f64], b: &mut [f64]) {
    check(packed, b.len());
    dispatch!(plain::solve_transposed, solve_transposed_lanes(packed: &[f64], b: &mut [f64]));
}

/// The transport map at S draws: point_k = m + C u_k. Cost: S·d² flops, C read once.
///
/// ```
/// let mut point = [0.0; 2];
/// provi_kernels::triangle::transport(&[2.0, 1.0, 3.0], &[10.0, 20.0], &[1.0, -1.0], &mut point);
/// assert_eq!(point, [12.0, 18.0]);
/// ```
///
/// # Panics
/// If `packed` does not have d(d+1)/2 entries, the length of `draws` is not a multiple of d, or `points` is not as
/// long as `draws`.
pub fn transport(packed: &[f64], mean: &[f64], draws: &[f64], points: &mut [f64]) {
    let d = mean.len();
    check(packed, d);
    check_batches(d, draws, points);
    if d == 0 {
        return;
    }
    for point in points.chunks_exact_mut(d) {
        point.copy_from_slice(mean);
    }
    dispatch!(plain::add_product, add_product_lanes(packed: &[f64], d: usize, draws: &[f64], points: &mut [f64]));
}

/// The transposed map on S vectors: out_k = Cᵀ pull_k. Cost: S·d² flops, C read once.
///
/// # Panics
/// If the length of `pulls` is not a multiple of d, or `out` is not as long; d is the size of `packed`, which must
/// have d(d+1)/2 entries for some d.
pub fn pull_back(packed: &[f64], pulls: &[f64], out: &mut [f64]) {
    let d = side(packed);
    check_batches(d, pulls, out);
    dispatch!(plain::pull_back, pull_back_lanes(packed: &[f64], d: usize, pulls: &[f64], out: &mut [f64]));
}

/// C ← C + α·tril(Σ_k left_k right_kᵀ). Cost: S·d² flops, C read and written once.
///
/// # Panics
/// If the length of `left` is not a multiple of d, or `right` is not as long; d is the size of `packed`, which must
/// have d(d+1)/2 entries for some d.
pub fn rank_update(packed: &mut [f64], alpha: f64, left: &[f64], right: &[f64]) {
    let d = side(packed);
    check_batches(d, left, right);
    dispatch!(
        plain::rank_update,
        rank_update_lanes(packed: &mut [f64], d: usize, alpha: f64, left: &[f64], right: &[f64])
    );
}

/// d from d(d+1)/2.
pub(crate) fn side(packed: &[f64]) -> usize {
    let d = ((8 * packed.len() + 1).isqrt() - 1) / 2;
    check(packed, d);
    d
}

pub(crate) fn check(packed: &[f64], d: usize) {
    assert_eq!(packed.len(), d * (d + 1) / 2, "packed triangle of d = {d} rows");
}

pub(crate) fn check_batches(d: usize, a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "two batches of as many vectors");
    assert!(a.len().checked_rem(d).unwrap_or(a.len()) == 0, "{} entries are no batch of d = {d}", a.len());
}

/// Rows i, …, i + R − 1. With i a multiple of R they share i/8 full chunks, and at most eight columns remain.
#[inline(always)]
pub(crate) fn rows<const R: usize>(packed: &[f64], i: usize) -> [&[f64]; R] {
    let mut out: [&[f64]; R] = [&[]; R];
    let mut rest = &packed[i * (i + 1) / 2..];
    for r in 0..R {
        (out[r], rest) = rest.split_at(i + r + 1);
    }
    out
}

/// The same, to be written.
#[inline(always)]
pub(crate) fn rows_mut<const R: usize>(packed: &mut [f64], i: usize) -> [&mut [f64]; R] {
    let mut rest = &mut packed[i * (i + 1) / 2..];
    let mut out: [&mut [f64]; R] = std::array::from_fn(|_| Default::default());
    for r in 0..R {
        (out[r], rest) = rest.split_at_mut(i + r + 1);
    }
    out
}

/// Entries i, …, i + R − 1 of vector k, times α.
#[inline(always)]
pub(crate) fn scaled<const R: usize>(alpha: f64, of: &[f64], d: usize, k: usize, i: usize) -> [f64; R] {
    let entries = &of[k * d + i..][..R];
    let mut out = [0.0; R];
    for r in 0..R {
        out[r] = alpha * entries[r];
    }
    out
}

/// Runs `$block` for the rows i, …, i + R − 1 of a triangle, four by four, then two, then one.
macro_rules! in_row_blocks {
    ($d:expr, |$i:ident, $r:ident| $block:expr) => {{
        let d: usize = $d;
        let mut $i = 0;
        while $i + 4 <= d {
            const $r: usize = 4;
            $block;
            $i += 4;
        }
        if $i + 2 <= d {
            const $r: usize = 2;
            $block;
            $i += 2;
        }
        if $i < d {
            const $r: usize = 1;
            $block;
        }
    }};
}
pub(crate) use in_row_blocks;

/// out_k ← out_k + C u_k.
#[inline(always)]
fn add_product_lanes<S: Simd>(simd: S, packed: &[f64], d: usize, draws: &[f64], out: &mut [f64]) {
    in_row_blocks!(d, |i, R| {
        let rows = rows::<R>(packed, i);
        in_batches!(draws.len() / d, if S::WIDE { 4 } else { 1 }, |k, P| {
            let open = dots::<S, R, P>(simd, i / 8, rows, batch::<P>(draws, d, k));
            for p in 0..P {
                let sums = close_rows(simd, &open, p);
                let out = &mut out[(k + p) * d + i..][..R];
                for r in 0..R {
                    out[r] += sums[r];
                }
            }
        });
    });
}

#[inline(always)]
fn pull_back_lanes<S: Simd>(simd: S, packed: &[f64], d: usize, pulls: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    in_row_blocks!(d, |i, R| {
        let rows = rows::<R>(packed, i);
        in_batches!(pulls.len() / d, if S::WIDE { 4 } else { 1 }, |k, P| {
            let mut coefficients = [[0.0; R]; P];
            for p in 0..P {
                coefficients[p] = scaled(1.0, pulls, d, k + p, i);
            }
            add_rows::<S, R, P>(simd, i / 8, rows, coefficients, batch_mut(out, d, k));
        });
    });
}

#[inline(always)]
fn rank_update_lanes<S: Simd>(
    simd: S,
    packed: &mut [f64],
    d: usize,
    alpha: f64,
    left: &[f64],
    right: &[f64],
) {
    in_row_blocks!(d, |i, R| {
        in_batches!(left.len() / d, if S::WIDE { 4 } else { 2 }, |k, P| {
            let mut coefficients = [[0.0; R]; P];
            for p in 0..P {
                coefficients[p] = scaled(alpha, left, d, k + p, i);
            }
            add_vectors::<S, R, P>(simd, i / 8, rows_mut(packed, i), coefficients, batch(right, d, k));
        });
    });
}

#[inline(always)]
fn solve_lanes<S: Simd>(simd: S, packed: &[f64], b: &mut [f64]) {
    in_row_blocks!(b.len(), |i, R| {
        let rows = rows::<R>(packed, i);
        let (known, b) = b.split_at_mut(i);
        let mut left = rows;
        let mut inverse = [0.0; R];
        for r in 0..R {
            left[r] = &rows[r][..i];
            inverse[r] = 1.0 / rows[r][i + r];
        }
        let sums = close_rows(simd, &dots::<S, R, 1>(simd, i / 8, left, [known]), 0);
        for r in 0..R {
            let mut x = b[r] - sums[r];
            for c in 0..r {
                x = simd.fma(-rows[r][i + c], b[c], x);
            }
            b[r] = x * inverse[r];
        }
    });
}

#[inline(always)]
fn solve_transposed_lanes<S: Simd>(simd: S, packed: &[f64], b: &mut [f64]) {
    let mut i = b.len();
    while !i.is_multiple_of(4) {
        i -= 1;
        solve_transposed_rows::<S, 1>(simd, packed, i, b);
    }
    while i > 0 {
        i -= 4;
        solve_transposed_rows::<S, 4>(simd, packed, i, b);
    }
}

#[inline(always)]
fn solve_transposed_rows<S: Simd, const R: usize>(simd: S, packed: &[f64], i: usize, b: &mut [f64]) {
    let rows = rows::<R>(packed, i);
    let (open, b) = b.split_at_mut(i);
    let mut left = rows;
    let mut minus = [0.0; R];
    let mut inverse = [0.0; R];
    for r in 0..R {
        left[r] = &rows[r][..i];
        inverse[r] = 1.0 / rows[r][i + r];
    }
    for r in (0..R).rev() {
        let mut x = b[r];
        for below in r + 1..R {
            x = simd.fma(rows[below][i + r], minus[below], x);
        }
        b[r] = x * inverse[r];
        minus[r] = -b[r];
    }
    add_rows::<S, R, 1>(simd, i / 8, left, [minus], [open]);
}

mod plain {
    fn row(packed: &[f64], i: usize) -> &[f64] {
        &packed[i * (i + 1) / 2..][..=i]
    }

    pub(super) fn add_product(packed: &[f64], d: usize, draws: &[f64], out: &mut [f64]) {
        for k in 0..draws.len().checked_div(d).unwrap_or(0) {
            for i in 0..d {
                out[k * d + i] += row(packed, i).iter().zip(&draws[k * d..]).map(|(c, u)| c * u).sum::<f64>();
            }
        }
    }

    pub(super) fn pull_back(packed: &[f64], d: usize, pulls: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for k in 0..pulls.len().checked_div(d).unwrap_or(0) {
            for i in 0..d {
                for (j, c) in row(packed, i).iter().enumerate() {
                    out[k * d + j] += c * pulls[k * d + i];
                }
            }
        }
    }

    pub(super) fn rank_update(packed: &mut [f64], d: usize, alpha: f64, left: &[f64], right: &[f64]) {
        for k in 0..left.len().checked_div(d).unwrap_or(0) {
            for i in 0..d {
                for j in 0..=i {
                    packed[i * (i + 1) / 2 + j] += alpha * left[k * d + i] * right[k * d + j];
                }
            }
        }
    }

    pub(super) fn solve(packed: &[f64], b: &mut [f64]) {
        for i in 0..b.len() {
            let row = row(packed, i);
            let sum: f64 = row[..i].iter().zip(&*b).map(|(c, x)| c * x).sum();
            b[i] = (b[i] - sum) / row[i];
        }
    }

    pub(super) fn solve_transposed(packed: &[f64], b: &mut [f64]) {
        for i in (0..b.len()).rev() {
            let row = row(packed, i);
            b[i] /= row[i];
            for j in 0..i {
                b[j] -= b[i] * row[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SIZES, agree, each_level, numbers};
    use proptest::prelude::*;

    /// Off-diagonal entries of order 1/d, diagonal in (1, 2): well conditioned.
    fn factor(seed: u64, d: usize) -> Vec<f64> {
        let mut c = numbers(seed, d * (d + 1) / 2);
        for i in 0..d {
            for j in 0..=i {
                let x = &mut c[i * (i + 1) / 2 + j];
                *x = if i == j { 1.5 + 0.5 * *x } else { *x / d as f64 };
            }
        }
        c
    }

    fn all_agree(seed: u64, d: usize, samples: usize) {
        let (c, mean) = (factor(seed, d), numbers(seed + 1, d));
        let (left, right) = (numbers(seed + 2, samples * d), numbers(seed + 3, samples * d));
        agree(1e-15, || {
            let mut points = vec![f64::NAN; samples * d];
            transport(&c, &mean, &right, &mut points);
            points
        });
        agree(1e-15, || {
            let mut out = vec![f64::NAN; samples * d];
            pull_back(&c, &left, &mut out);
            out
        });
        agree(1e-15, || {
            let mut c = c.clone();
            rank_update(&mut c, -0.7, &left, &right);
            c
        });
        for one in [multiply, multiply_transposed] {
            agree(1e-15, || {
                let mut out = vec![f64::NAN; d];
                one(&c, &mean, &mut out);
                out
            });
        }
        for one in [solve, solve_transposed] {
            agree(1e-15, || {
                let mut b = mean.clone();
                one(&c, &mut b);
                b
            });
        }
    }

    #[test]
    fn the_edges_of_every_block_agree_with_the_twins() {
        for d in SIZES {
            for samples in [0, 1, 2, 3, 4, 7, 10] {
                all_agree(d as u64, d, samples);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_shape_agrees_with_the_twins(seed in 0u64..1000, d in 0usize..120, samples in 0usize..14) {
            all_agree(seed, d, samples);
        }
    }

    #[test]
    fn a_vector_does_not_see_its_neighbours() {
        let (d, samples) = (29, 11);
        let (c, mean, draws) = (factor(1, d), numbers(2, d), numbers(3, samples * d));
        each_level(|| {
            let mut points = vec![0.0; samples * d];
            let mut pulls = points.clone();
            transport(&c, &mean, &draws, &mut points);
            pull_back(&c, &draws, &mut pulls);
            let mut alone = vec![0.0; d];
            for k in 0..samples {
                transport(&c, &mean, &draws[k * d..][..d], &mut alone);
                assert!((0..d).all(|i| alone[i].to_bits() == points[k * d + i].to_bits()));
                multiply_transposed(&c, &draws[k * d..][..d], &mut alone);
                assert!((0..d).all(|i| alone[i].to_bits() == pulls[k * d + i].to_bits()));
            }
        });
    }

    #[test]
    fn solving_undoes_multiplying() {
        let (d, c) = (61, factor(5, 61));
        let x = numbers(6, d);
        each_level(|| {
            let (mut b, mut t) = (vec![0.0; d], vec![0.0; d]);
            multiply(&c, &x, &mut b);
            solve(&c, &mut b);
            multiply_transposed(&c, &x, &mut t);
            solve_transposed(&c, &mut t);
            assert!((0..d).all(|i| (b[i] - x[i]).abs() < 1e-14 && (t[i] - x[i]).abs() < 1e-14));
        });
    }

    #[test]
    #[should_panic(expected = "packed triangle")]
    fn a_wrong_triangle_is_refused() {
        multiply(&[1.0, 2.0], &[1.0, 2.0], &mut [0.0; 2]);
    }

    #[test]
    #[should_panic(expected = "packed triangle")]
    fn a_length_that_is_no_triangle_is_refused() {
        pull_back(&[1.0, 2.0], &[], &mut []);
    }
}
