//! Constant matrices: the design of a regression, a prior precision.

use std::sync::Arc;

use super::Vector;
use super::arena::Op;
use super::var::Var;
use crate::base::error::{Error, Result};

/// A constant dense matrix, stored by rows and shared: a clone copies no entry, nor does a use on a tape.
#[derive(Clone, Debug)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Arc<[f64]>,
}

impl Matrix {
    /// A matrix from its entries, row after row. It must have at least one entry, and all must be finite.
    pub fn new(rows: usize, columns: usize, data: impl Into<Arc<[f64]>>) -> Result<Self> {
        let data = data.into();
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { what: "matrix" });
        }
        let expected = rows.saturating_mul(columns);
        if data.len() != expected {
            return Err(Error::Shape { what: "matrix data", found: data.len(), expected });
        }
        match data.iter().position(|x| !x.is_finite()) {
            Some(index) => Err(Error::NotFinite { what: "matrix", index, value: data[index] }),
            None => Ok(Self { rows, columns, data }),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Ax.
    pub fn matvec<'t>(&self, x: Vector<'t>) -> Vector<'t> {
        if x.len != self.columns {
            return x.tape.fail(shape("vector in `matvec`", x.len, self.columns), self.rows);
        }
        let mut arena = x.tape.arena();
        let op = Op::MatVec { input: x.start, matrix: arena.matrices.len() };
        arena.matrices.push(self.clone());
        let (out, before, after) = arena.zeros(op, self.rows);
        self.add_product(&before[x.range()], after);
        x.tape.vector(out, self.rows)
    }

    /// Aᵀx.
    pub fn transpose_matvec<'t>(&self, x: Vector<'t>) -> Vector<'t> {
        if x.len != self.rows {
            return x.tape.fail(shape("vector in `transpose_matvec`", x.len, self.rows), self.columns);
        }
        let mut arena = x.tape.arena();
        let op = Op::TransposeMatVec { input: x.start, matrix: arena.matrices.len() };
        arena.matrices.push(self.clone());
        let (out, before, after) = arena.zeros(op, self.columns);
        self.add_transpose_product(&before[x.range()], after);
        x.tape.vector(out, self.columns)
    }

    /// xᵀAx for a square A, symmetric or not. The slope (A + Aᵀ)x is computed at the same time.
    pub fn quadratic_form<'t>(&self, x: Vector<'t>) -> Var<'t> {
        if self.rows != self.columns {
            return x.tape.fail_scalar(shape(
                "column in the matrix of `quadratic_form`",
                self.rows,
                self.columns,
            ));
        }
        if x.len != self.columns {
            return x.tape.fail_scalar(shape("vector in `quadratic_form`", x.len, self.columns));
        }
        let mut arena = x.tape.arena();
        let arena = &mut *arena;
        let slopes = arena.slopes.len();
        arena.slopes.resize(slopes + x.len, 0.0);
        let (point, slope) = (&arena.values[x.range()], &mut arena.slopes[slopes..]);
        self.add_product(point, slope);
        let value = dot(point, slope);
        self.add_transpose_product(point, slope);
        let index = arena.push(Op::Reduce { input: x.start, len: x.len, slopes }, value);
        Var::recorded(x.tape, index, value)
    }

    /// y += Ax.
    pub(super) fn add_product(&self, x: &[f64], y: &mut [f64]) {
        for (y, row) in y.iter_mut().zip(self.data.chunks_exact(self.columns)) {
            *y += dot(row, x);
        }
    }

    /// y += Aᵀx, four rows at a time.
    pub(super) fn add_transpose_product(&self, x: &[f64], y: &mut [f64]) {
        let d = self.columns;
        let mut blocks = self.data.chunks_exact(4 * d);
        let mut weights = x.chunks_exact(4);
        for (block, x) in blocks.by_ref().zip(weights.by_ref()) {
            let (upper, lower) = block.split_at(2 * d);
            let ((r0, r1), (r2, r3)) = (upper.split_at(d), lower.split_at(d));
            for ((((y, r0), r1), r2), r3) in y.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
                *y += (x[0] * r0 + x[1] * r1) + (x[2] * r2 + x[3] * r3);
            }
        }
        for (row, &x) in blocks.remainder().chunks_exact(d).zip(weights.remainder()) {
            axpy(x, row, y);
        }
    }
}

fn shape(what: &'static str, found: usize, expected: usize) -> Error {
    Error::Shape { what, found, expected }
}

/// Σ aᵢ bᵢ, in eight interleaved sums, so that the compiler may vectorise them.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut a, mut b) = (a.chunks_exact(8), b.chunks_exact(8));
    let mut sums = [0.0; 8];
    for (a, b) in a.by_ref().zip(b.by_ref()) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let tail: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7)) + tail
}

/// y += αx.
pub(super) fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += alpha * x);
}
