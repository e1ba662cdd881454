//! C symmetric, its lower half packed row by row: C_ij = C_ji at i(i+1)/2 + j, j ≤ i.
//!
//! Batches and costs are as in [`triangle`](crate::triangle); a stored entry off the diagonal is used twice.

use crate::{
    dispatch::dispatch,
    lanes::Simd,
    tile::{add_vectors, batch, batch_mut, close_rows, dots_and_add_rows, in_batches},
    triangle::{check, check_batches, in_row_blocks, rows, rows_mut, scaled, side},
};

/// out = C u. Cost: 2d² flops, C read once.
///
/// # Panics
/// If u and `out` differ in length, or `packed` does not have d(d+1)/2 entries.
pub fn multiply(packed: &[f64], u: &[f64], out: &mut [f64]) {
    assert_eq!(u.len(), out.len(), "symmetric::multiply: lengths of u and out");
    check(packed, u.len());
    out.fill(0.0);
    let d = u.len();
    dispatch!(plain::add_product, add_product_lanes(packed: &[f64], d: usize, u: &[f64], out: &mut [f64]));
}

/// The transport map at S draws: point_k = m + C u_k. Cost: 2S·d² flops, C read once.
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

/// C ← C + α·sym(Σ_k left_k right_kᵀ), sym X = (X + Xᵀ)/2. Cost: 2S·d² flops, C read and written once.
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

/// out_k ← out_k + C u_k: each row is used as a row and, left of the diagonal, as a column.
#[inline(always)]
fn add_product_lanes<S: Simd>(simd: S, packed: &[f64], d: usize, draws: &[f64], out: &mut [f64]) {
    in_row_blocks!(d, |i, R| {
        let rows = rows::<R>(packed, i);
        in_batches!(draws.len() / d, if S::WIDE { 2 } else { 1 }, |k, P| {
            let mut coefficients = [[0.0; R]; P];
            for p in 0..P {
                coefficients[p] = scaled(1.0, draws, d, k + p, i);
            }
            let (vectors, targets) = (batch::<P>(draws, d, k), batch_mut::<P>(out, d, k));
            let open = dots_and_add_rows::<S, R, P>(simd, i / 8, rows, vectors, coefficients, targets);
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

/// Each draw is two terms, left_k right_kᵀ and right_k left_kᵀ, of half the weight.
#[inline(always)]
fn rank_update_lanes<S: Simd>(
    simd: S,
    packed: &mut [f64],
    d: usize,
    alpha: f64,
    left: &[f64],
    right: &[f64],
) {
    let half = 0.5 * alpha;
    in_row_blocks!(d, |i, R| {
        let samples = left.len() / d;
        let mut k = 0;
        while S::WIDE && k + 2 <= samples {
            let ([l, m], [r, s]) = (batch::<2>(left, d, k), batch::<2>(right, d, k));
            let coefficients = [
                scaled::<R>(half, left, d, k, i),
                scaled(half, right, d, k, i),
                scaled(half, left, d, k + 1, i),
                scaled(half, right, d, k + 1, i),
            ];
            add_vectors(simd, i / 8, rows_mut(packed, i), coefficients, [r, l, s, m]);
            k += 2;
        }
        while k < samples {
            let ([l], [r]) = (batch::<1>(left, d, k), batch::<1>(right, d, k));
            let coefficients = [scaled::<R>(half, left, d, k, i), scaled(half, right, d, k, i)];
            add_vectors(simd, i / 8, rows_mut(packed, i), coefficients, [r, l]);
            k += 1;
        }
    });
}

mod plain {
    fn at(i: usize, j: usize) -> usize {
        i.max(j) * (i.max(j) + 1) / 2 + i.min(j)
    }

    pub(super) fn add_product(packed: &[f64], d: usize, draws: &[f64], out: &mut [f64]) {
        for k in 0..draws.len().checked_div(d).unwrap_or(0) {
            for i in 0..d {
                out[k * d + i] += (0..d).map(|j| packed[at(i, j)] * draws[k * d + j]).sum::<f64>();
            }
        }
    }

    pub(super) fn rank_update(packed: &mut [f64], d: usize, alpha: f64, left: &[f64], right: &[f64]) {
        for k in 0..left.len().checked_div(d).unwrap_or(0) {
            let (l, r) = (&left[k * d..], &right[k * d..]);
            for i in 0..d {
                for j in 0..=i {
                    packed[at(i, j)] += 0.5 * alpha * (l[i] * r[j] + r[i] * l[j]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SIZES, agree, each_level, numbers};
    use proptest::prelude::*;

    fn all_agree(seed: u64, d: usize, samples: usize) {
        let (c, mean) = (numbers(seed, d * (d + 1) / 2), numbers(seed + 1, d));
        let (left, right) = (numbers(seed + 2, samples * d), numbers(seed + 3, samples * d));
        agree(1e-15, || {
            let mut points = vec![f64::NAN; samples * d];
            transport(&c, &mean, &right, &mut points);
            points
        });
        agree(1e-15, || {
            let mut c = c.clone();
            rank_update(&mut c, -0.7, &left, &right);
            c
        });
        agree(1e-15, || {
            let mut out = vec![f64::NAN; d];
            multiply(&c, &mean, &mut out);
            out
        });
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
        let (c, mean, draws) = (numbers(1, d * (d + 1) / 2), numbers(2, d), numbers(3, samples * d));
        each_level(|| {
            let mut points = vec![0.0; samples * d];
            transport(&c, &mean, &draws, &mut points);
            let mut alone = vec![0.0; d];
            for k in 0..samples {
                transport(&c, &mean, &draws[k * d..][..d], &mut alone);
                assert!((0..d).all(|i| alone[i].to_bits() == points[k * d + i].to_bits()));
            }
        });
    }
}
