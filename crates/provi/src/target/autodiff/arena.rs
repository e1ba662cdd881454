//! What an evaluation records: values, operations, slopes.

use std::cell::{Cell, RefCell, RefMut};
use std::marker::PhantomData;
use std::ops::Range;

use super::matrix::Matrix;
use super::{Var, Vector};
use crate::base::error::{Error, Result};

/// One recorded operation. Its output follows the previous operation's in the value array, so only inputs are
/// stored, by the position where they start in that array. `slopes` and `indices` are the positions where the
/// operation's own entries start in those arrays.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// y has no input.
    Constant { len: usize },
    /// A scalar of one scalar.
    Scalar { input: usize, slope: f64 },
    /// A scalar of two scalars.
    Scalar2 { inputs: [usize; 2], slopes: [f64; 2] },
    /// ∂yᵢ/∂xᵢ = factor.
    Scale { input: usize, len: usize, factor: f64 },
    /// y = a + factor·b.
    Combine { inputs: [usize; 2], len: usize, factor: f64 },
    /// ∂yᵢ/∂xᵢ = slopesᵢ.
    Map { input: usize, len: usize, slopes: usize },
    /// ∂yᵢ/∂aᵢ = slopesᵢ, then ∂yᵢ/∂bᵢ.
    Zip { inputs: [usize; 2], len: usize, slopes: usize },
    /// yᵢ = x.
    Repeat { input: usize, len: usize },
    /// y = Σ xᵢ.
    Sum { input: usize, len: usize },
    /// y = Σ aᵢ bᵢ.
    Dot { inputs: [usize; 2], len: usize },
    /// A scalar with ∂y/∂xᵢ = slopesᵢ.
    Reduce { input: usize, len: usize, slopes: usize },
    /// yᵢ = x₀ + … + xᵢ.
    CumulativeSum { input: usize, len: usize },
    /// yᵢ = x at indicesᵢ.
    Gather { input: usize, len: usize, indices: usize },
    /// y at indicesᵢ += xᵢ.
    SegmentSum { input: usize, len: usize, indices: usize, segments: usize },
    /// y = Ax, where A is the matrix with this number.
    MatVec { input: usize, matrix: usize },
    /// y = Aᵀx.
    TransposeMatVec { input: usize, matrix: usize },
}

/// The arrays behind a tape. Between evaluations they are cleared but not freed.
#[derive(Debug, Default)]
pub(super) struct Arena {
    pub(super) values: Vec<f64>,
    pub(super) ops: Vec<Op>,
    pub(super) slopes: Vec<f64>,
    pub(super) indices: Vec<usize>,
    pub(super) matrices: Vec<Matrix>,
    pub(super) adjoints: Vec<f64>,
    /// Scalars that are about to become one vector.
    pub(super) pending: Vec<(Option<usize>, f64)>,
    error: Option<Error>,
}

impl Arena {
    pub(super) fn restart(&mut self, z: &[f64]) {
        self.values.clear();
        self.ops.clear();
        self.slopes.clear();
        self.indices.clear();
        self.matrices.clear();
        self.pending.clear();
        self.error = None;
        self.values.extend_from_slice(z);
    }

    /// Returns the first mistake, if there was one.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    pub(super) fn bytes(&self) -> usize {
        fn size<T>(v: &Vec<T>) -> usize {
            v.capacity() * size_of::<T>()
        }
        size(&self.values)
            + size(&self.ops)
            + size(&self.slopes)
            + size(&self.indices)
            + size(&self.matrices)
            + size(&self.adjoints)
            + size(&self.pending)
    }

    /// Records a scalar result; returns its position.
    pub(super) fn push(&mut self, op: Op, value: f64) -> usize {
        self.ops.push(op);
        self.values.push(value);
        self.values.len() - 1
    }

    /// Copies `input` as the result of `op`. Returns where the copy starts, all earlier values, and the copy for
    /// overwriting.
    pub(super) fn copy(&mut self, op: Op, input: Range<usize>) -> (usize, &[f64], &mut [f64]) {
        let out = self.values.len();
        self.ops.push(op);
        self.values.extend_from_within(input);
        let (before, after) = self.values.split_at_mut(out);
        (out, before, after)
    }

    /// Records zeros as the result of `op`; otherwise like `copy`.
    pub(super) fn zeros(&mut self, op: Op, len: usize) -> (usize, &[f64], &mut [f64]) {
        let out = self.values.len();
        self.ops.push(op);
        self.values.resize(out + len, 0.0);
        let (before, after) = self.values.split_at_mut(out);
        (out, before, after)
    }

    /// yᵢ = f(xᵢ), where f returns (value, slope).
    pub(super) fn map(&mut self, input: Range<usize>, f: impl Fn(usize, f64) -> (f64, f64)) -> usize {
        let slopes = self.slopes.len();
        let op = Op::Map { input: input.start, len: input.len(), slopes };
        self.slopes.resize(slopes + input.len(), 0.0);
        let out = self.copy(op, input).0;
        let results = self.values[out..].iter_mut().zip(&mut self.slopes[slopes..]);
        for (i, (y, slope)) in results.enumerate() {
            (*y, *slope) = f(i, *y);
        }
        out
    }

    /// yᵢ = f(aᵢ, bᵢ), where f returns the value and its two slopes. Both inputs have the same length.
    pub(super) fn zip(
        &mut self,
        a: Range<usize>,
        b: usize,
        f: impl Fn(f64, f64) -> (f64, f64, f64),
    ) -> usize {
        let (slopes, len) = (self.slopes.len(), a.len());
        self.slopes.resize(slopes + 2 * len, 0.0);
        let (left, right) = self.slopes[slopes..].split_at_mut(len);
        let out = self.values.len();
        self.ops.push(Op::Zip { inputs: [a.start, b], len, slopes });
        self.values.extend_from_within(a);
        let (before, after) = self.values.split_at_mut(out);
        for (((y, &b), left), right) in after.iter_mut().zip(&before[b..b + len]).zip(left).zip(right) {
            (*y, *left, *right) = f(*y, b);
        }
        out
    }
}

/// A borrowed tape, as stored in its variables.
///
/// The lifetime is invariant, and a function to be differentiated must accept every lifetime. Variables of two
/// tapes therefore have different types, and an index always belongs to the right tape.
#[derive(Clone, Copy)]
pub(super) struct Recorder<'t> {
    arena: &'t RefCell<Arena>,
    brand: PhantomData<Cell<&'t ()>>,
}

impl<'t> Recorder<'t> {
    pub(super) fn new(arena: &'t RefCell<Arena>) -> Self {
        Self { arena, brand: PhantomData }
    }

    /// The arena, borrowed for one operation. No user code runs while it is borrowed.
    pub(super) fn arena(self) -> RefMut<'t, Arena> {
        self.arena.borrow_mut()
    }

    pub(super) fn vector(self, start: usize, len: usize) -> Vector<'t> {
        Vector { tape: self, start, len }
    }

    /// Records a scalar operation.
    pub(super) fn push(self, op: Op, value: f64) -> Var<'t> {
        let index = self.arena().push(op, value);
        Var::recorded(self, index, value)
    }

    /// Records a mistake; returns a vector of NaN as the result.
    pub(super) fn fail(self, error: Error, len: usize) -> Vector<'t> {
        let mut arena = self.arena();
        arena.fail(error);
        let (out, _, after) = arena.zeros(Op::Constant { len }, len);
        after.fill(f64::NAN);
        self.vector(out, len)
    }

    /// Records a mistake; returns NaN as the result.
    pub(super) fn fail_scalar(self, error: Error) -> Var<'t> {
        self.arena().fail(error);
        Var::constant(f64::NAN)
    }
}
