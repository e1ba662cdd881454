//! The Cholesky factor, and what is solved with it.

use super::structure::{Front, Structure};
use crate::base::chunked::{self, Chunks};
use crate::base::error::{Error, Result};
use crate::base::scratch::Scratch;
use crate::base::stop;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve;
use faer::{Accum, Auto, MatMut, MatRef, Par, Spec};
use provi_kernels::gram;
use std::ops::Range;

/// Fronts between two checks of the stop signal.
const LOOK: usize = 1024;
/// Fronts that one thread processes together. Results do not depend on the number of threads.
pub(super) const TOGETHER: usize = 128;
/// Multiply-adds from which on a block is worth a call of the matrix library.
const BLOCKED: usize = 4096;

impl Structure {
    /// Replaces a matrix by its factor L, LLᵀ = P. Only entries on and below the diagonal count.
    ///
    /// In exact arithmetic the factor is that of P + E, |E_ij| ≤ γ(|L||L|ᵀ)_ij ≤ γ√(P_iiP_jj), γ = (n_ij + 1)u with n_ij
    /// the products that entry sums: at most the entries of row i or of row j of L. Cost: Σ over the columns of the
    /// square of their entries.
    pub(crate) fn factor(&self, what: &'static str, values: &mut [f64]) -> Result<()> {
        let (mut update, mut rows, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        for (s, run) in self.runs().iter().enumerate() {
            if s % LOOK == 0 || run.len() > LOOK {
                stop::check()?;
            }
            let front = &self.fronts()[run.start];
            let (k, below) = (front.columns, self.below(front));
            let (r, size) = (below.len(), front.height() * k);
            let range = self.values(run);
            let base = range.end;
            let (before, after) = values.split_at_mut(base);
            let blocks = &mut before[range];
            chunked::fill(blocks, TOGETHER * size, run.len() * k * size, |_, blocks| {
                let mut memory = Vec::new();
                for block in blocks.chunks_exact_mut(size) {
                    let (own, under) = block.split_at_mut(k * k);
                    match factor_dense(own, k, &mut memory) {
                        Ok(()) => divide_rows(own, k, under),
                        // It is seen below.
                        Err(local) => own[local * k + local] = f64::NAN,
                    }
                }
            });
            for (block, front) in blocks.chunks_exact(size).zip(&self.fronts()[run.clone()]) {
                if let Some(local) = (0..k).find(|local| block[local * k + local].is_nan()) {
                    let pivot = self.order()[front.first + local] as usize;
                    stop::check()?;
                    return Err(Error::NotPositiveDefinite { what, dim: self.dim(), pivot });
                }
            }
            if r == 0 {
                continue;
            }
            // What the columns of these fronts take off the fronts above them: the sum of L₂₁L₂₁ᵀ.
            let mut take_off = |entry: &dyn Fn(usize, usize) -> f64| {
                self.each_column(below, &mut rows, |b, first, step, rows| {
                    for (a, &row) in (b..r).zip(rows) {
                        after[first + step * row - base] -= entry(a, b);
                    }
                });
            };
            let under = |s: usize| &blocks[s * size + k * k..(s + 1) * size];
            if run.len() > 1 {
                sum_of_squares(run.len(), (r, k), &under, &mut scratch, |sum| {
                    take_off(&|a, b| sum[a * r + b])
                });
            } else if k == 1 {
                take_off(&|a, b| under(0)[a] * under(0)[b]);
            } else if r * r * k > BLOCKED {
                update.resize(r * r, 0.0);
                product_with_transpose(under(0), r, k, &mut update);
                take_off(&|a, b| update[a * r + b]);
            } else {
                let row = |a: usize| &under(0)[a * k..(a + 1) * k];
                take_off(&|a, b| provi_kernels::dot(row(a), row(b)));
            }
        }
        stop::check()
    }

    /// ½ log det P = Σ log L_ii.
    pub(crate) fn half_log_det(&self, factor: &[f64]) -> f64 {
        (0..self.dim()).map(|place| factor[self.diagonal(place)].ln()).sum()
    }

    /// x := L⁻¹x, by places.
    pub(crate) fn solve_lower(&self, factor: &[f64], x: &mut [f64]) {
        self.fronts().iter().for_each(|front| self.solve_front(factor, front, x));
    }

    /// The share of a front in x := L⁻¹x.
    pub(crate) fn solve_front(&self, factor: &[f64], front: &Front, x: &mut [f64]) {
        let k = front.columns;
        let block = &factor[front.values..front.values + front.height() * k];
        if k == 1 {
            let value = x[front.first] / block[0];
            x[front.first] = value;
            self.below(front).iter().zip(&block[1..]).for_each(|(&row, l)| x[row as usize] -= l * value);
            return;
        }
        for i in 0..k {
            let done = provi_kernels::dot(&block[i * k..i * k + i], &x[front.first..front.first + i]);
            x[front.first + i] = (x[front.first + i] - done) / block[i * k + i];
        }
        for (local, &row) in self.below(front).iter().enumerate() {
            let under = &block[(k + local) * k..(k + local + 1) * k];
            let done = provi_kernels::dot(under, &x[front.first..front.first + k]);
            x[row as usize] -= done;
        }
    }

    /// x := L⁻ᵀx, by places.
    pub(crate) fn solve_upper(&self, factor: &[f64], x: &mut [f64]) {
        for front in self.fronts().iter().rev() {
            let k = front.columns;
            let block = &factor[front.values..front.values + front.height() * k];
            if k == 1 {
                let below = self.below(front).iter().zip(&block[1..]);
                let done: f64 = below.map(|(&row, l)| l * x[row as usize]).sum();
                x[front.first] = (x[front.first] - done) / block[0];
                continue;
            }
            for (local, &row) in self.below(front).iter().enumerate() {
                let under = &block[(k + local) * k..(k + local + 1) * k];
                let (value, own) = (x[row as usize], &mut x[front.first..front.first + k]);
                provi_kernels::axpy(-value, under, own);
            }
            for i in (0..k).rev() {
                let value = x[front.first + i] / block[i * k + i];
                x[front.first + i] = value;
                provi_kernels::axpy(-value, &block[i * k..i * k + i], &mut x[front.first..front.first + i]);
            }
        }
    }
}

/// Σ XXᵀ over the r × k matrices `of(0)`, `of(1)`, …, in parts: the lower triangle of each, row by row, goes to `take`.
fn sum_of_squares<'a>(
    count: usize,
    (r, k): (usize, usize),
    of: &(dyn Fn(usize) -> &'a [f64] + Sync),
    scratch: &mut Scratch,
    take: impl FnMut(&[f64]),
) {
    let chunks = Chunks { len: count, size: TOGETHER, work: count * k * r * r };
    let stacked = TOGETHER.min(count) * k * r;
    let ones = vec![1.0; TOGETHER.min(count) * k];
    let make = |which: Range<usize>, sum: &mut [f64], spare: &mut [f64]| {
        let (stack, room) = spare.split_at_mut(stacked);
        let length = which.len() * k * r;
        // Their columns, one below the other.
        for (s, columns) in which.clone().zip(stack.chunks_exact_mut(k * r)) {
            for (i, x) in of(s).iter().enumerate() {
                columns[i % k * r + i / k] = *x;
            }
        }
        gram::add_lower(&stack[..length], r, &ones[..which.len() * k], &mut room[..length], sum);
    };
    chunked::reduce(chunks, (r * r, 2 * stacked), scratch, make, take);
}

/// The factor of a k × k matrix, row by row, in its lower triangle; an error names the column that failed.
fn factor_dense(block: &mut [f64], k: usize, memory: &mut Vec<MemBuffer>) -> std::result::Result<(), usize> {
    if k == 1 {
        if !(block[0] > 0.0 && block[0].is_finite()) {
            return Err(0);
        }
        block[0] = block[0].sqrt();
        return Ok(());
    }
    let view = MatMut::from_row_major_slice_mut(&mut *block, k, k);
    let params = Spec::new(Auto::<f64>::auto());
    let need = llt::factor::cholesky_in_place_scratch::<f64>(k, Par::Seq, params);
    memory.clear();
    memory.push(MemBuffer::new(need));
    let stack = MemStack::new(&mut memory[0]);
    let made = llt::factor::cholesky_in_place(view, Default::default(), Par::Seq, stack, params);
    match made {
        // A NaN pivot passes the comparison inside the factorisation.
        Ok(_) => {
            let bad = |x: f64| x.is_nan() || x <= 0.0;
            (0..k).find(|&i| bad(block[i * k + i])).map_or(Ok(()), Err)
        }
        Err(llt::factor::LltError::NonPositivePivot { index }) => Err(index),
    }
}

/// The rows x of `under` become xL⁻ᵀ.
fn divide_rows(own: &[f64], k: usize, under: &mut [f64]) {
    if k == 1 {
        under.iter_mut().for_each(|x| *x /= own[0]);
        return;
    }
    let r = under.len() / k;
    // (L₂₁)ᵀ = L₁₁⁻¹A₂₁ᵀ; the rows of `under` are the columns of its transpose.
    let lower = MatRef::from_row_major_slice(own, k, k);
    let many = MatMut::from_column_major_slice_mut(under, k, r);
    triangular_solve::solve_lower_triangular_in_place(lower, many, Par::Seq);
}

/// out := lower triangle of XXᵀ for the r × k matrix X, row by row.
fn product_with_transpose(x: &[f64], r: usize, k: usize, out: &mut [f64]) {
    let x = MatRef::from_row_major_slice(x, r, k);
    triangular::matmul(
        MatMut::from_row_major_slice_mut(out, r, r),
        BlockStructure::TriangularLower,
        Accum::Replace,
        x,
        BlockStructure::Rectangular,
        x.transpose(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}
