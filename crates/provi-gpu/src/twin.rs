//! Every kernel again, on the processor: the same operations in the same order, so the same bits.
//!
//! Tests hold the twins against `provi-kernels` and against sums in twice the precision; a program on a machine with a
//! card holds the card against the twins. The twin of the random normals is [`provi_kernels::normals`] itself.

mod density;
mod expectation;
pub(crate) mod functions;

pub use density::{energies, energies_and_gradients};
pub use expectation::expectations;

use crate::{
    error::Result,
    shape::CHUNK,
    table::{FormWeights, Forms, Normal, Table, check_forms, check_stripe},
};

/// s_n = o_n + Σ_j z_j x_nj, one chain of fused multiply-adds along the columns.
pub(crate) fn predictor(row: &[f64], offset: f64, point: &[f64]) -> f64 {
    row.iter().zip(point).fold(offset, |sum, (x, z)| z.mul_add(*x, sum))
}

/// z_k = m + Cu_k for draws `first`, `first + 1`, …, one after the other.
pub fn draws(q: &Normal<'_>, key: u64, step: u64, first: u32, count: usize) -> Result<Vec<f64>> {
    let d = q.mean.len();
    q.check(d)?;
    let (mut u, mut points) = (vec![0.0; d], Vec::with_capacity(count * d));
    for k in 0..count {
        provi_kernels::normals(key, step, first.wrapping_add(k as u32), &mut u);
        points.extend((0..d).map(|i| {
            let row = &q.factor[i * (i + 1) / 2..][..=i];
            row.iter().zip(&u).fold(q.mean[i], |sum, (c, u)| c.mul_add(*u, sum))
        }));
    }
    Ok(points)
}

/// Σ_n a_np v_n b_nq: a chain along the rows of every chunk, then the chunks in order. `a(n, p)` has the factor v_n in it.
pub(crate) fn contract(
    rows: usize,
    (p, q): (usize, usize),
    a: impl Fn(usize, usize) -> f64,
    b: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let mut sums = vec![0.0; p * q];
    for from in (0..rows).step_by(CHUNK) {
        for i in 0..p {
            for j in 0..q {
                let chunk =
                    (from..rows.min(from + CHUNK)).fold(0.0, |sum: f64, n| a(n, i).mul_add(b(n, j), sum));
                let so_far = &mut sums[i * q + j];
                *so_far = if from == 0 { chunk } else { *so_far + chunk };
            }
        }
    }
    sums
}

/// Σ_n v_n x_n x_nᵀ over as many rows as there are numbers, from row `first` on: d × d numbers.
pub fn gram(table: &Table<'_>, first: usize, values: &[f64]) -> Result<Vec<f64>> {
    let d = table.columns;
    check_stripe(table.response.len(), first, values)?;
    let left = |n: usize, i: usize| row(table, first + n)[i] * values[n];
    let found = contract(values.len(), (d, d), left, |n, j| row(table, first + n)[j]);
    Ok(lower_mirrored(&found, d))
}

/// The forms of as many rows as `third` has numbers, from row `first` on, in pieces of [`Shape::form_rows`](crate::Shape).
pub fn forms(table: &Table<'_>, first: usize, factor: &[f64], values: &FormWeights<'_>) -> Result<Forms> {
    let d = table.columns;
    check_forms((table.response.len(), d), first, factor, values)?;
    let (most, wide) = (table.shape().form_rows(), d * (d + 1) / 2);
    let mut out = Forms::zeros(d, values);
    for from in (0..values.third.len()).step_by(most) {
        let count = most.min(values.third.len() - from);
        let whitened: Vec<f64> =
            (0..count).flat_map(|n| whiten(row(table, first + from + n), factor)).collect();
        let squares: Vec<f64> = whitened.chunks_exact(d).flat_map(square).collect();
        let add = |to: &mut [f64], found: &[f64]| to.iter_mut().zip(found).for_each(|(to, x)| *to += x);
        let cubic = contract(
            count,
            (d, wide),
            |n, i| whitened[n * d + i] * values.third[from + n],
            |n, k| squares[n * wide + k],
        );
        add(&mut out.third, &cubic);
        let quadratic = values.quadratic.iter().zip(&mut out.quadratic).map(|(v, to)| (v, to, &whitened, d));
        let quartic = values.quartic.iter().zip(&mut out.quartic).map(|(v, to)| (v, to, &squares, wide));
        for (v, to, of, columns) in quadratic.chain(quartic) {
            let left = |n: usize, i: usize| of[n * columns + i] * v[from + n];
            let found = contract(count, (columns, columns), left, |n, j| of[n * columns + j]);
            add(to, &lower_mirrored(&found, columns));
        }
    }
    Ok(out)
}

/// Cᵀx, C packed by rows: a chain of fused multiply-adds for each entry.
fn whiten(row: &[f64], factor: &[f64]) -> Vec<f64> {
    let entry = |j| (j..row.len()).fold(0.0, |sum: f64, i| row[i].mul_add(factor[i * (i + 1) / 2 + j], sum));
    (0..row.len()).map(entry).collect()
}

/// vec(aaᵀ) with √2 off the diagonal.
fn square(a: &[f64]) -> Vec<f64> {
    let product =
        |i: usize, j: usize| if i == j { a[i] * a[i] } else { (std::f64::consts::SQRT_2 * a[i]) * a[j] };
    (0..a.len()).flat_map(|i| (0..=i).map(move |j| product(i, j))).collect()
}

/// The entries on and under the diagonal, and their mirror.
fn lower_mirrored(found: &[f64], d: usize) -> Vec<f64> {
    (0..d * d).map(|e| found[(e / d).max(e % d) * d + (e / d).min(e % d)]).collect()
}

pub(crate) fn row<'a>(table: &Table<'a>, n: usize) -> &'a [f64] {
    &table.design[n * table.columns..][..table.columns]
}

#[cfg(test)]
mod slopes;
#[cfg(test)]
mod tests;
