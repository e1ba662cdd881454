//! Passes over a design matrix A, row-major, one observation a_n per row.
//!
//! Observations are often larger than the caches. A caller that wants one pass over memory takes the rows in chunks
//! of 30 to 500 kB and calls [`predict`], its link, and [`pull_back`] on each chunk before the next.

use crate::{
    dispatch::dispatch,
    lanes::Simd,
    tile::{Open, batch, close_rows, close_vectors, dots, in_batches},
};

/// The linear predictors of S points: `out[n·S + k]` = a_n · z_k.
///
/// The result for one row and one point depends on no other row or point. Cost: 2·rows·d·S flops, A read once.
///
/// # Panics
/// If the length of `rows` or `points` is not a multiple of d, or `out` does not have rows × S entries.
pub fn predict(rows: &[f64], d: usize, points: &[f64], out: &mut [f64]) {
    let (count, samples) = (multiple(rows, d, "rows"), multiple(points, d, "points"));
    if d == 0 {
        return out.fill(0.0);
    }
    assert_eq!(out.len(), count * samples, "predict: out is rows × points");
    dispatch!(plain::predict, predict_lanes(rows: &[f64], d: usize, points: &[f64], out: &mut [f64]));
}

/// The transposed pass: out_k ← out_k + Σ_n w_{n,k} a_n, with w_{n,k} at `weights[n·S + k]` and out_k at `out[k·d..]`.
///
/// Each entry of `out` is summed in the order of the rows, starting from its previous value: the result for one
/// point depends neither on other points nor on how the rows are split over calls. Cost: 2·rows·d·S flops.
///
/// # Panics
/// If the length of `rows` or `out` is not a multiple of d, or `weights` does not have rows × S entries.
pub fn pull_back(rows: &[f64], d: usize, weights: &[f64], out: &mut [f64]) {
    let (count, samples) = (multiple(rows, d, "rows"), multiple(out, d, "out"));
    if d == 0 {
        return;
    }
    assert_eq!(weights.len(), count * samples, "pull_back: weights are rows × points");
    dispatch!(plain::pull_back, pull_back_lanes(rows: &[f64], d: usize, weights: &[f64], out: &mut [f64]));
}

/// For each row, ‖a_n‖² and Σ_j |a_nj|·scale_j, which bound the rounding of its predictors. Cost: 4 flops per
/// entry.
///
/// # Panics
/// If `scales` does not have d entries, or `rows` does not have d for each of `squares` and of `reaches`.
pub fn sizes(rows: &[f64], scales: &[f64], squares: &mut [f64], reaches: &mut [f64]) {
    assert_eq!(squares.len(), reaches.len(), "sizes: lengths of squares and reaches");
    assert_eq!(rows.len(), scales.len() * squares.len(), "sizes: rows of as many entries as scales");
    if scales.is_empty() {
        squares.fill(0.0);
        return reaches.fill(0.0);
    }
    dispatch!(
        plain::sizes,
        sizes_lanes(rows: &[f64], scales: &[f64], squares: &mut [f64], reaches: &mut [f64])
    );
}

/// The number of vectors of d entries; 0 if d = 0.
fn multiple(of: &[f64], d: usize, what: &str) -> usize {
    let count = of.len().checked_div(d).unwrap_or(0);
    assert_eq!(of.len(), count * d, "design: {what} are vectors of d = {d} entries");
    count
}

#[inline(always)]
fn predict_lanes<S: Simd>(simd: S, rows: &[f64], d: usize, points: &[f64], out: &mut [f64]) {
    let (count, samples) = (rows.len() / d, points.len() / d);
    let mut k = 0;
    while S::WIDE && d <= PANEL && k + 16 <= samples {
        predict_panel::<S, 4, 2>(simd, rows, d, points, k, out);
        k += 16;
    }
    while d <= NARROW_PANEL && k + 8 <= samples {
        predict_panel::<S, 4, 1>(simd, rows, d, points, k, out);
        k += 8;
    }
    let mut n = 0;
    while S::WIDE && k + 4 <= samples && n + 6 <= count {
        predict_rows::<S, 6>(simd, n, rows, d, points, k, &mut out[n * samples..(n + 6) * samples]);
        n += 6;
    }
    while n + 4 <= count {
        predict_rows::<S, 4>(simd, n, rows, d, points, k, &mut out[n * samples..(n + 4) * samples]);
        n += 4;
    }
    while n < count {
        predict_rows::<S, 1>(simd, n, rows, d, points, k, &mut out[n * samples..(n + 1) * samples]);
        n += 1;
    }
}

/// The most columns for which points are laid side by side, one lane each. Closing sums over lanes costs as much
/// for few columns as for many; with this layout it takes only plain additions. Eight points share a row's entries
/// less well than sixteen.
const PANEL: usize = 64;
const NARROW_PANEL: usize = 32;

/// All rows, R at a time, against the 8·P points from k. Sums are formed as in [`dots`], so that a point has the
/// same bits either way.
#[inline(always)]
fn predict_panel<S: Simd, const R: usize, const P: usize>(
    simd: S,
    rows: &[f64],
    d: usize,
    points: &[f64],
    k: usize,
    out: &mut [f64],
) {
    let samples = points.len() / d;
    let mut panel = [[[0.0; 8]; P]; PANEL];
    for (lane, point) in points[k * d..].chunks_exact(d).take(8 * P).enumerate() {
        for (column, x) in panel.iter_mut().zip(point) {
            column[lane / 8][lane % 8] = *x;
        }
    }
    let panel = &panel[..d];
    let mut tiles = rows.chunks_exact(R * d);
    let mut outs = out.chunks_exact_mut(R * samples);
    for (tile, out) in tiles.by_ref().zip(outs.by_ref()) {
        predict_tile::<S, R, P>(simd, batch(tile, d, 0), panel, k, out);
    }
    let last = outs.into_remainder().chunks_exact_mut(samples);
    for (row, out) in tiles.remainder().chunks_exact(d).zip(last) {
        predict_tile::<S, 1, P>(simd, [row], panel, k, out);
    }
}

/// R rows against a panel of points.
#[inline(always)]
fn predict_tile<S: Simd, const R: usize, const P: usize>(
    simd: S,
    rows: [&[f64]; R],
    panel: &[[[f64; 8]; P]],
    k: usize,
    out: &mut [f64],
) {
    let sums = add_each(simd, half::<S, R, P>(simd, rows, panel, 0), half::<S, R, P>(simd, rows, panel, 4));
    for (sums, out) in sums.iter().zip(out.chunks_exact_mut(out.len() / R)) {
        for (sum, out) in sums.iter().zip(out[k..].as_chunks_mut().0) {
            simd.store(*sum, out);
        }
    }
}

/// The sums over columns first, …, first + 3, each with every eighth column after it, added as [`Simd::sums`] adds lanes.
#[inline(always)]
fn half<S: Simd, const R: usize, const P: usize>(
    simd: S,
    rows: [&[f64]; R],
    panel: &[[[f64; 8]; P]],
    first: usize,
) -> Open<S, R, P> {
    let pair = add_each(
        simd,
        every_eighth::<S, R, P>(simd, rows, panel, first),
        every_eighth::<S, R, P>(simd, rows, panel, first + 1),
    );
    let other = add_each(
        simd,
        every_eighth::<S, R, P>(simd, rows, panel, first + 2),
        every_eighth::<S, R, P>(simd, rows, panel, first + 3),
    );
    add_each(simd, pair, other)
}

#[inline(always)]
fn every_eighth<S: Simd, const R: usize, const P: usize>(
    simd: S,
    rows: [&[f64]; R],
    panel: &[[[f64; 8]; P]],
    first: usize,
) -> Open<S, R, P> {
    let mut open = [[simd.splat(0.0); P]; R];
    let mut rows = rows;
    for row in &mut rows {
        *row = &row[..panel.len()];
    }
    let mut j = first;
    while j < panel.len() {
        let mut v = [simd.splat(0.0); P];
        for p in 0..P {
            v[p] = simd.load(&panel[j][p]);
        }
        for r in 0..R {
            let x = simd.splat(rows[r][j]);
            for p in 0..P {
                open[r][p] = simd.mul_add(x, v[p], open[r][p]);
            }
        }
        j += 8;
    }
    open
}

#[inline(always)]
fn add_each<S: Simd, const R: usize, const P: usize>(
    simd: S,
    mut a: Open<S, R, P>,
    b: Open<S, R, P>,
) -> Open<S, R, P> {
    for r in 0..R {
        for p in 0..P {
            a[r][p] = simd.add(a[r][p], b[r][p]);
        }
    }
    a
}

#[inline(always)]
fn predict_rows<S: Simd, const R: usize>(
    simd: S,
    n: usize,
    rows: &[f64],
    d: usize,
    points: &[f64],
    from: usize,
    out: &mut [f64],
) {
    let rows = batch::<R>(rows, d, n);
    let samples = points.len() / d;
    in_batches!(samples - from, if S::WIDE { 4 } else { 1 }, |k, P| {
        let k = from + k;
        let open = dots::<S, R, P>(simd, d / 8, rows, batch::<P>(points, d, k));
        if P == 1 && R <= 4 {
            let sums = close_rows(simd, &open, 0);
            for r in 0..R {
                out[r * samples + k] = sums[r];
            }
        } else {
            for r in 0..R {
                let sums = close_vectors(simd, &open, r);
                out[r * samples + k..][..P].copy_from_slice(&sums[..P]);
            }
        }
    });
}

#[inline(always)]
fn sizes_lanes<S: Simd>(simd: S, rows: &[f64], scales: &[f64], squares: &mut [f64], reaches: &mut [f64]) {
    let (scale_chunks, scale_tail) = scales.as_chunks::<8>();
    let out = squares.iter_mut().zip(reaches);
    for (row, (square, reach)) in rows.chunks_exact(scales.len()).zip(out) {
        let (mut of_square, mut of_reach) = ([0.0; 8], [0.0; 8]);
        let (chunks, tail) = row.as_chunks::<8>();
        for (x, scale) in chunks.iter().zip(scale_chunks) {
            for l in 0..8 {
                of_square[l] = simd.fma(x[l], x[l], of_square[l]);
                of_reach[l] = simd.fma(x[l].abs(), scale[l], of_reach[l]);
            }
        }
        for (l, (x, scale)) in tail.iter().zip(scale_tail).enumerate() {
            of_square[l] = simd.fma(*x, *x, of_square[l]);
            of_reach[l] = simd.fma(x.abs(), *scale, of_reach[l]);
        }
        *square = of_square.iter().sum();
        *reach = of_reach.iter().sum();
    }
}

/// Rows per block: they fill about half of a first-level cache, because they are read once per pair of points.
#[inline(always)]
fn block(d: usize) -> usize {
    (3072 / d).max(16)
}

#[inline(always)]
fn pull_back_lanes<S: Simd>(simd: S, rows: &[f64], d: usize, weights: &[f64], out: &mut [f64]) {
    let samples = out.len() / d;
    if samples == 0 {
        return;
    }
    let most = if S::WIDE { 8 } else { 4 };
    let chunks = d.div_ceil(8);
    let panels = chunks.div_ceil(most);
    for (rows, weights) in rows.chunks(block(d) * d).zip(weights.chunks(block(d) * samples)) {
        for panel in 0..panels {
            let (from, to) = (chunks * panel / panels, chunks * (panel + 1) / panels);
            let columns = 8 * from..d.min(8 * to);
            in_batches!(samples, if S::WIDE { 2 } else { 1 }, |k, P| {
                let columns = columns.clone();
                match to - from {
                    1 => pull_back_panel::<S, 0, P>(simd, rows, d, columns, weights, samples, k, out),
                    2 => pull_back_panel::<S, 1, P>(simd, rows, d, columns, weights, samples, k, out),
                    3 => pull_back_panel::<S, 2, P>(simd, rows, d, columns, weights, samples, k, out),
                    4 => pull_back_panel::<S, 3, P>(simd, rows, d, columns, weights, samples, k, out),
                    5 if S::WIDE => {
                        pull_back_panel::<S, 4, P>(simd, rows, d, columns, weights, samples, k, out)
                    }
                    6 if S::WIDE => {
                        pull_back_panel::<S, 5, P>(simd, rows, d, columns, weights, samples, k, out)
                    }
                    7 if S::WIDE => {
                        pull_back_panel::<S, 6, P>(simd, rows, d, columns, weights, samples, k, out)
                    }
                    8 if S::WIDE => {
                        pull_back_panel::<S, 7, P>(simd, rows, d, columns, weights, samples, k, out)
                    }
                    _ => unreachable!("a panel has at most {most} chunks"),
                }
            });
        }
    }
}

/// The sums of P points over F full chunks of columns and a last one of at most eight, held in registers.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an inner loop, called from one place")]
fn pull_back_panel<S: Simd, const F: usize, const P: usize>(
    simd: S,
    rows: &[f64],
    d: usize,
    columns: std::ops::Range<usize>,
    weights: &[f64],
    samples: usize,
    k: usize,
    out: &mut [f64],
) {
    let mut full = [[simd.splat(0.0); F]; P];
    let mut last = [simd.splat(0.0); P];
    for p in 0..P {
        let (chunks, tail) = split::<F>(&out[(k + p) * d..][columns.clone()]);
        for f in 0..F {
            full[p][f] = simd.load(&chunks[f]);
        }
        last[p] = simd.load_partial(tail);
    }
    for (row, weights) in rows.chunks_exact(d).zip(weights.chunks_exact(samples)) {
        let (chunks, tail) = split::<F>(&row[columns.clone()]);
        let tail = simd.load_partial(tail);
        let weights = &weights[k..][..P];
        for p in 0..P {
            let w = simd.splat(weights[p]);
            for f in 0..F {
                full[p][f] = simd.mul_add(w, simd.load(&chunks[f]), full[p][f]);
            }
            last[p] = simd.mul_add(w, tail, last[p]);
        }
    }
    for p in 0..P {
        let target = &mut out[(k + p) * d..][columns.clone()];
        let (chunks, tail) = target.split_at_mut(8 * F);
        for (f, chunk) in chunks.as_chunks_mut().0.iter_mut().enumerate() {
            simd.store(full[p][f], chunk);
        }
        simd.store_partial(last[p], tail);
    }
}

#[inline(always)]
fn split<const F: usize>(columns: &[f64]) -> (&[[f64; 8]], &[f64]) {
    let (chunks, tail) = columns.split_at(8 * F);
    (&chunks.as_chunks().0[..F], tail)
}

mod plain {
    pub(super) fn sizes(rows: &[f64], scales: &[f64], squares: &mut [f64], reaches: &mut [f64]) {
        for (n, row) in rows.chunks_exact(scales.len()).enumerate() {
            squares[n] = row.iter().map(|x| x * x).sum();
            reaches[n] = row.iter().zip(scales).map(|(x, scale)| x.abs() * scale).sum();
        }
    }

    pub(super) fn predict(rows: &[f64], d: usize, points: &[f64], out: &mut [f64]) {
        let samples = points.len() / d;
        for (n, row) in rows.chunks_exact(d).enumerate() {
            for (k, point) in points.chunks_exact(d).enumerate() {
                out[n * samples + k] = row.iter().zip(point).map(|(a, z)| a * z).sum();
            }
        }
    }

    pub(super) fn pull_back(rows: &[f64], d: usize, weights: &[f64], out: &mut [f64]) {
        let samples = out.len() / d;
        for (n, row) in rows.chunks_exact(d).enumerate() {
            for (k, out) in out.chunks_exact_mut(d).enumerate() {
                for (o, a) in out.iter_mut().zip(row) {
                    *o += weights[n * samples + k] * a;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{predict, pull_back};
    use crate::check::{SIZES, agree, each_level, numbers};
    use proptest::prelude::*;

    fn predicted(rows: &[f64], d: usize, points: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; rows.len() / d * (points.len() / d)];
        predict(rows, d, points, &mut out);
        out
    }

    fn pulled(rows: &[f64], d: usize, weights: &[f64], samples: usize) -> Vec<f64> {
        let mut out = numbers(9, samples * d);
        pull_back(rows, d, weights, &mut out);
        out
    }

    fn both_agree(seed: u64, count: usize, d: usize, samples: usize) {
        let (rows, points) = (numbers(seed, count * d), numbers(seed + 1, samples * d));
        let weights = numbers(seed + 2, count * samples);
        agree(1e-14, || predicted(&rows, d, &points));
        agree(1e-14, || pulled(&rows, d, &weights, samples));
    }

    #[test]
    fn the_edges_of_every_block_agree_with_the_twins() {
        for d in SIZES.into_iter().filter(|&d| d > 0) {
            for (count, samples) in [(0, 1), (1, 0), (1, 1), (5, 2), (9, 3), (250, 1), (6, 7), (4, 64)] {
                both_agree(d as u64, count, d, samples);
            }
        }
        both_agree(3, 9, 203, 5);
    }

    #[test]
    fn sizes_agree_with_the_twin() {
        for d in SIZES {
            let (rows, scales) = (numbers(1, 5 * d), numbers(2, d));
            agree(1e-14, || {
                let (mut squares, mut reaches) = (vec![f64::NAN; 5], vec![f64::NAN; 5]);
                super::sizes(&rows, &scales, &mut squares, &mut reaches);
                squares.into_iter().chain(reaches).collect()
            });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_shape_agrees_with_the_twins(seed in 0u64..1000, count in 0usize..40, d in 1usize..90, samples in 0usize..14) {
            both_agree(seed, count, d, samples);
        }
    }

    #[test]
    fn a_point_does_not_see_its_neighbours_nor_how_rows_are_split() {
        for (count, d, samples) in [(37, 29, 45), (40, 70, 11), (3, 29, 11), (40, 5, 10), (10, 40, 27)] {
            alone_and_together(count, d, samples);
        }
    }

    fn alone_and_together(count: usize, d: usize, samples: usize) {
        let (rows, points, weights) =
            (numbers(1, count * d), numbers(2, samples * d), numbers(3, count * samples));
        let first = count / 3;
        each_level(|| {
            let all = predicted(&rows, d, &points);
            let pulls = pulled(&rows, d, &weights, samples);
            for k in 0..samples {
                let alone = predicted(&rows, d, &points[k * d..][..d]);
                assert!((0..count).all(|n| alone[n].to_bits() == all[n * samples + k].to_bits()));
                let mut out = numbers(9, samples * d)[k * d..][..d].to_vec();
                let own: Vec<f64> = (0..count).map(|n| weights[n * samples + k]).collect();
                pull_back(&rows[..first * d], d, &own[..first], &mut out);
                pull_back(&rows[first * d..], d, &own[first..], &mut out);
                assert!((0..d).all(|j| out[j].to_bits() == pulls[k * d + j].to_bits()));
            }
        });
    }

    #[test]
    fn nothing_in_nothing_out() {
        let mut out = [1.0; 3];
        predict(&[], 0, &[], &mut out);
        pull_back(&[], 0, &[], &mut []);
        assert!(out.iter().all(|&x| x.abs() < f64::MIN_POSITIVE));
    }
}
