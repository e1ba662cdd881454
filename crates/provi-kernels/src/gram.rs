//! Passes over a design that cost d² per row: its Gram matrix, and the variances of its predictors.
//!
//! All hold a tile of sums in registers, rows against chunks of eight columns, and are limited by multiply-adds.

use crate::{dispatch::dispatch, lanes::Simd};

/// The lower half of out ← out + Σ_n w_n a_n a_nᵀ, d × d row by row; `room` is overwritten by w_n a_n. The upper
/// half is meaningless afterwards.
///
/// Each sum runs over the rows in order and is then added to the previous value. Cost: rows·d² flops.
///
/// # Panics
/// If `rows` does not have d for each of `weights`, `room` is not as long as `rows`, or `out` does not have d²
/// entries.
pub fn add_lower(rows: &[f64], d: usize, weights: &[f64], room: &mut [f64], out: &mut [f64]) {
    assert_eq!(rows.len(), d * weights.len(), "gram::add_lower: rows of d = {d} entries");
    assert_eq!(rows.len(), room.len(), "gram::add_lower: lengths of rows and room");
    assert_eq!(out.len(), d * d, "gram::add_lower: out is d × d");
    if d == 0 {
        return;
    }
    dispatch!(
        plain::add_lower,
        add_lower_lanes(rows: &[f64], d: usize, weights: &[f64], room: &mut [f64], out: &mut [f64])
    );
}

/// The number of columns of a factor that [`square_norms`] needs: d, rounded up to whole chunks.
#[must_use]
pub fn padded(d: usize) -> usize {
    d.next_multiple_of(8)
}

/// `out[n]` = ‖Cᵀa_n‖² for rows a_n, with C lower triangular in d rows of [`padded`]`(d)` entries, zero right of the diagonal.
///
/// Each entry of Cᵀa_n is summed in the order of the rows of C. The result of a row depends on no other row. Cost:
/// d² flops per row.
///
/// # Panics
/// If `factor` does not have d · padded(d) entries, or `rows` does not have d for each of `out`.
pub fn square_norms(factor: &[f64], d: usize, rows: &[f64], out: &mut [f64]) {
    assert_eq!(factor.len(), d * padded(d), "gram::square_norms: factor is d × padded(d)");
    assert_eq!(rows.len(), d * out.len(), "gram::square_norms: rows of d = {d} entries");
    dispatch!(
        plain::square_norms,
        square_norms_lanes(factor: &[f64], d: usize, rows: &[f64], out: &mut [f64])
    );
}

/// `out[n]` = a_nᵀTa_n for rows a_n, with T lower triangular in d rows of [`padded`]`(d)` entries, zero right of the
/// diagonal. A symmetric S is given by T with the diagonal of S and twice its entries below.
///
/// Each entry of Tᵀa_n is summed in the order of the rows of T. The result of a row depends on no other row. Cost:
/// d² flops per row.
///
/// # Panics
/// If `lower` does not have d · padded(d) entries, or `rows` does not have d for each of `out`.
pub fn forms(lower: &[f64], d: usize, rows: &[f64], out: &mut [f64]) {
    assert_eq!(lower.len(), d * padded(d), "gram::forms: lower is d × padded(d)");
    assert_eq!(rows.len(), d * out.len(), "gram::forms: rows of d = {d} entries");
    dispatch!(plain::forms, forms_lanes(lower: &[f64], d: usize, rows: &[f64], out: &mut [f64]));
}

/// Runs `$block` with R = 8, 4, 2 or 1 for the rows i, …, i + R − 1 below `$d`; eight only if the registers allow.
macro_rules! in_tiles {
    ($wide:expr, $d:expr, |$i:ident, $r:ident| $block:expr) => {{
        let d: usize = $d;
        let mut $i = 0;
        while $i < d {
            match d - $i {
                8.. if $wide => {
                    const $r: usize = 8;
                    $block;
                    $i += 8;
                }
                4.. => {
                    const $r: usize = 4;
                    $block;
                    $i += 4;
                }
                2.. => {
                    const $r: usize = 2;
                    $block;
                    $i += 2;
                }
                _ => {
                    const $r: usize = 1;
                    $block;
                    $i += 1;
                }
            }
        }
    }};
}

#[inline(always)]
fn add_lower_lanes<S: Simd>(
    simd: S,
    right: &[f64],
    d: usize,
    weights: &[f64],
    left: &mut [f64],
    out: &mut [f64],
) {
    scale(left, right, d, weights);
    let left = &*left;
    in_tiles!(S::WIDE, d, |i, R| {
        let chunks = (i + R).div_ceil(8);
        let mut c = 0;
        while c < chunks {
            match chunks - c {
                3.. if S::WIDE => {
                    add_tile::<S, R, 3>(simd, left, right, d, (i, c), out);
                    c += 3;
                }
                2 if S::WIDE => {
                    add_tile::<S, R, 2>(simd, left, right, d, (i, c), out);
                    c += 2;
                }
                _ => {
                    add_tile::<S, R, 1>(simd, left, right, d, (i, c), out);
                    c += 1;
                }
            }
        }
    });
}

/// left_n = w_n·right_n.
#[inline(always)]
fn scale(left: &mut [f64], right: &[f64], d: usize, weights: &[f64]) {
    for ((left, right), w) in left.chunks_exact_mut(d).zip(right.chunks_exact(d)).zip(weights) {
        left.iter_mut().zip(right).for_each(|(left, x)| *left = w * x);
    }
}

/// The R rows from i of the C chunks from c.
#[inline(always)]
fn add_tile<S: Simd, const R: usize, const C: usize>(
    simd: S,
    left: &[f64],
    right: &[f64],
    d: usize,
    (i, c): (usize, usize),
    out: &mut [f64],
) {
    let (from, to) = (8 * c, d.min(8 * (c + C)));
    let mut open = [[simd.splat(0.0); C]; R];
    for (left, right) in left.chunks_exact(d).zip(right.chunks_exact(d)) {
        let (left, right) = (&left[i..i + R], &right[from..to]);
        let (body, tail) = right.split_at(8 * (C - 1));
        let mut v = [simd.load_partial(tail); C];
        for (v, chunk) in v.iter_mut().zip(body.as_chunks().0) {
            *v = simd.load(chunk);
        }
        for r in 0..R {
            let x = simd.splat(left[r]);
            for k in 0..C {
                open[r][k] = simd.mul_add(x, v[k], open[r][k]);
            }
        }
    }
    let one = simd.splat(1.0);
    for r in 0..R {
        let (body, tail) = out[(i + r) * d..][from..to].split_at_mut(8 * (C - 1));
        for (k, chunk) in body.as_chunks_mut().0.iter_mut().enumerate() {
            simd.store(simd.mul_add(one, open[r][k], simd.load(chunk)), chunk);
        }
        simd.store_partial(simd.mul_add(one, open[r][C - 1], simd.load_partial(tail)), tail);
    }
}

#[inline(always)]
fn square_norms_lanes<S: Simd>(simd: S, factor: &[f64], d: usize, rows: &[f64], out: &mut [f64]) {
    sums_of_products::<S, false>(simd, factor, d, rows, out);
}

#[inline(always)]
fn forms_lanes<S: Simd>(simd: S, lower: &[f64], d: usize, rows: &[f64], out: &mut [f64]) {
    sums_of_products::<S, true>(simd, lower, d, rows, out);
}

/// Of each row, the product of Tᵀa_n with a_n, or with itself.
#[inline(always)]
fn sums_of_products<S: Simd, const FORM: bool>(
    simd: S,
    lower: &[f64],
    d: usize,
    rows: &[f64],
    out: &mut [f64],
) {
    let chunks = padded(d) / 8;
    in_tiles!(S::WIDE, out.len(), |n, R| {
        let rows = &rows[n * d..(n + R) * d];
        let mut sums = [simd.splat(0.0); R];
        let mut c = 0;
        while c < chunks {
            match chunks - c {
                3.. if S::WIDE => {
                    product_tile::<S, FORM, R, 3>(simd, lower, d, rows, c, &mut sums);
                    c += 3;
                }
                2 if S::WIDE => {
                    product_tile::<S, FORM, R, 2>(simd, lower, d, rows, c, &mut sums);
                    c += 2;
                }
                _ => {
                    product_tile::<S, FORM, R, 1>(simd, lower, d, rows, c, &mut sums);
                    c += 1;
                }
            }
        }
        for (sums, out) in sums.chunks(4).zip(out[n..n + R].chunks_mut(4)) {
            let mut four = [simd.splat(0.0); 4];
            four[..sums.len()].copy_from_slice(sums);
            let count = out.len();
            out.copy_from_slice(&simd.sums(four)[..count]);
        }
    });
}

/// The share of the C chunks from c, added to the sums of R rows.
#[inline(always)]
fn product_tile<S: Simd, const FORM: bool, const R: usize, const C: usize>(
    simd: S,
    lower: &[f64],
    d: usize,
    rows: &[f64],
    c: usize,
    sums: &mut [S::Vector; R],
) {
    let width = padded(d);
    let mut of_rows: [&[f64]; R] = [&[]; R];
    for r in 0..R {
        of_rows[r] = &rows[r * d..(r + 1) * d];
    }
    let mut open = [[simd.splat(0.0); C]; R];
    for i in 8 * c..d {
        let chunks = &lower[i * width + 8 * c..][..8 * C].as_chunks().0;
        let mut v = [simd.splat(0.0); C];
        for k in 0..C {
            v[k] = simd.load(&chunks[k]);
        }
        for r in 0..R {
            let x = simd.splat(of_rows[r][i]);
            for k in 0..C {
                open[r][k] = simd.mul_add(x, v[k], open[r][k]);
            }
        }
    }
    for r in 0..R {
        for k in 0..C {
            let with = match FORM {
                true => simd.load_partial(&of_rows[r][8 * (c + k)..d.min(8 * (c + k + 1))]),
                false => open[r][k],
            };
            sums[r] = simd.mul_add(open[r][k], with, sums[r]);
        }
    }
}

mod plain {
    pub(super) fn add_lower(right: &[f64], d: usize, weights: &[f64], left: &mut [f64], out: &mut [f64]) {
        super::scale(left, right, d, weights);
        for i in 0..d {
            for j in 0..=i {
                let pairs = left.chunks_exact(d).zip(right.chunks_exact(d));
                out[i * d + j] += pairs.map(|(left, right)| left[i] * right[j]).sum::<f64>();
            }
        }
    }

    pub(super) fn square_norms(factor: &[f64], d: usize, rows: &[f64], out: &mut [f64]) {
        let width = super::padded(d);
        for (n, out) in out.iter_mut().enumerate() {
            let entry = |j: usize| (j..d).map(|i| factor[i * width + j] * rows[n * d + i]).sum::<f64>();
            *out = (0..d).map(|j| entry(j).powi(2)).sum();
        }
    }

    pub(super) fn forms(lower: &[f64], d: usize, rows: &[f64], out: &mut [f64]) {
        let width = super::padded(d);
        for (n, out) in out.iter_mut().enumerate() {
            let row = &rows[n * d..(n + 1) * d];
            let entry = |j: usize| (j..d).map(|i| lower[i * width + j] * row[i]).sum::<f64>();
            *out = (0..d).map(|j| entry(j) * row[j]).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{add_lower, forms, padded, square_norms};
    use crate::check::{SIZES, agree, each_level, numbers};

    fn factor(d: usize) -> Vec<f64> {
        let mut c = numbers(4, d * padded(d));
        for i in 0..d {
            c[i * padded(d) + i + 1..(i + 1) * padded(d)].fill(0.0);
        }
        c
    }

    #[test]
    fn the_lower_half_of_a_gram_matrix_agrees_with_the_twin() {
        for d in SIZES.into_iter().chain([50, 61]).filter(|&d| d > 0) {
            for count in [0, 1, 5, 64] {
                let (rows, weights) = (numbers(1, count * d), numbers(3, count));
                agree(1e-13, || {
                    let mut out = numbers(2, d * d);
                    add_lower(&rows, d, &weights, &mut vec![0.0; count * d], &mut out);
                    (0..d).flat_map(|i| out[i * d..=i * d + i].to_vec()).collect()
                });
            }
        }
    }

    #[test]
    fn square_norms_and_forms_agree_with_the_twin_and_see_no_neighbours() {
        for d in SIZES.into_iter().chain([50, 61]).filter(|&d| d > 0) {
            let (c, rows) = (factor(d), numbers(5, 23 * d));
            for product in [square_norms, forms] {
                let all = || {
                    let mut out = vec![f64::NAN; 23];
                    product(&c, d, &rows, &mut out);
                    out
                };
                agree(1e-13, all);
                each_level(|| {
                    let all = all();
                    for n in 0..23 {
                        let mut one = [0.0];
                        product(&c, d, &rows[n * d..(n + 1) * d], &mut one);
                        assert_eq!(one[0].to_bits(), all[n].to_bits());
                    }
                });
            }
        }
    }

    #[test]
    fn nothing_in_nothing_out() {
        add_lower(&[], 0, &[], &mut [], &mut []);
        square_norms(&[], 0, &[], &mut []);
        forms(&[], 0, &[], &mut []);
    }
}
