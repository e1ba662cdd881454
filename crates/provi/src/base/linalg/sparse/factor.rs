//! The Cholesky factor, and what is solved with it.

use super::structure::{Front, Structure};
use crate::base::error::{Error, Result};
use crate::base::stop;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve;
use faer::{Accum, Auto, MatMut, MatRef, Par, Spec};

/// Fronts between two checks of the stop signal.
const LOOK: usize = 1024;
/// Multiply-adds from which on a block is worth a call of the matrix library.
const BLOCKED: usize = 4096;

impl Structure {
    /// Replaces a matrix by its factor L, LLᵀ = P. Only entries on and below the diagonal count.
    ///
    /// In exact arithmetic the factor is that of P + E, |E_ij| ≤ γ(|L||L|ᵀ)_ij ≤ γ√(P_iiP_jj), γ = (n_ij + 1)u with n_ij
    /// the products that entry sums: at most the entries of row i or of row j of L. Cost: Σ over the columns of the
    /// square of their entries.
    pub(crate) fn factor(&self, what: &'static str, values: &mut [f64]) -> Result<()> {
        let (mut update, mut rows, mut memory) = (Vec::new(), Vec::new(), Vec::new());
        for (s, front) in self.fronts().iter().enumerate() {
            if s % LOOK == 0 {
                stop::check()?;
            }
            let (k, height) = (front.columns, front.height());
            let (before, after) = values.split_at_mut(front.values + height * k);
            let (own, under) = before[front.values..].split_at_mut(k * k);
            let failed = |local: usize| Error::NotPositiveDefinite {
                what,
                dim: self.dim(),
                pivot: self.order()[front.first + local] as usize,
            };
            factor_dense(own, k, &mut memory).map_err(failed)?;
            divide_rows(own, k, under);
            // What the columns of this front take off the fronts above it: L₂₁L₂₁ᵀ.
            let below = self.below(front);
            let r = below.len();
            let large = r * r * k > BLOCKED && k > 1;
            if large {
                update.resize(r * r, 0.0);
                product_with_transpose(under, r, k, &mut update);
            }
            let base = front.values + height * k;
            self.each_column(below, &mut rows, |b, first, step, rows| {
                for (a, &row) in (b..r).zip(rows) {
                    let entry = match (large, k) {
                        (true, _) => update[a * r + b],
                        (false, 1) => under[a] * under[b],
                        _ => provi_kernels::dot(&under[a * k..(a + 1) * k], &under[b * k..(b + 1) * k]),
                    };
                    after[first + step * row - base] -= entry;
                }
            });
        }
        Ok(())
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
