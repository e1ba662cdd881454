//! A vector variable.

use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

use super::arena::{Op, Recorder};
use super::matrix::dot;
use super::{Operand, Var, function};
use crate::base::error::Error;

/// A vector that records how it was computed: a contiguous part of a tape. It is `Copy`, as cheap as a pair of
/// numbers.
///
/// Arithmetic is elementwise, with an [`Operand`] on either side: another vector, a scalar ([`Var`] or `f64`,
/// repeated), or constants (`&[f64]`). Entries and slices cost nothing; every other operation is one record.
///
/// Variables of two tapes cannot be mixed; the compiler refuses it:
/// ```compile_fail
/// use provi::autodiff::gradient;
/// let outer = gradient(|z| gradient(|y| y.sum() * z.sum(), &[1.0]).map_or(z.sum(), |_| z.sum()), &[1.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Vector<'t> {
    pub(super) tape: Recorder<'t>,
    pub(super) start: usize,
    pub(super) len: usize,
}

impl fmt::Debug for Vector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Vector").field(&&self.tape.arena().values[self.range()]).finish()
    }
}

/// Entries and parts.
impl<'t> Vector<'t> {
    /// The number of entries.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it has no entries.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// The entry at `index`, from zero.
    pub fn at(self, index: usize) -> Var<'t> {
        if index >= self.len {
            return self.tape.fail_scalar(Error::Index { what: "vector in `at`", index, length: self.len });
        }
        let value = self.tape.arena().values[self.start + index];
        Var::recorded(self.tape, self.start + index, value)
    }

    /// The entries, one by one.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Var<'t>> + ExactSizeIterator {
        (0..self.len).map(move |i| self.at(i))
    }

    /// The entries in a range: `v.slice(2..5)`, `v.slice(3..)`. Empty if the range is out of bounds, which is also
    /// a mistake.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
        let start = match range.start_bound() {
            Bound::Included(&i) => i,
            Bound::Excluded(&i) => i.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&i) => i.saturating_add(1),
            Bound::Excluded(&i) => i,
            Bound::Unbounded => self.len,
        };
        if start > end || end > self.len {
            let index = start.max(end);
            return self.tape.fail(Error::Index { what: "vector in `slice`", index, length: self.len }, 0);
        }
        self.tape.vector(self.start + start, end - start)
    }

    /// The entries at `indices`, in that order and with repetitions; for example group effects, one per
    /// observation.
    pub fn gather(self, indices: &[usize]) -> Self {
        let len = indices.len();
        if let Some(&index) = indices.iter().find(|&&i| i >= self.len) {
            return self.tape.fail(Error::Index { what: "vector in `gather`", index, length: self.len }, len);
        }
        let mut arena = self.tape.arena();
        let op = Op::Gather { input: self.start, len, indices: arena.indices.len() };
        arena.indices.extend_from_slice(indices);
        let (out, before, after) = arena.zeros(op, len);
        let input = &before[self.range()];
        after.iter_mut().zip(indices).for_each(|(y, &i)| *y = input[i]);
        self.tape.vector(out, len)
    }

    /// Sums by group: entry k of the result is the sum of xᵢ over the i with `groups[i] == k`, for k below `count`.
    pub fn segment_sum(self, groups: &[usize], count: usize) -> Self {
        if groups.len() != self.len {
            let error = Error::Shape { what: "list of groups", found: groups.len(), expected: self.len };
            return self.tape.fail(error, count);
        }
        if let Some(&index) = groups.iter().find(|&&k| k >= count) {
            return self
                .tape
                .fail(Error::Index { what: "result of `segment_sum`", index, length: count }, count);
        }
        let mut arena = self.tape.arena();
        let indices = arena.indices.len();
        arena.indices.extend_from_slice(groups);
        let op = Op::SegmentSum { input: self.start, len: self.len, indices, segments: count };
        let (out, before, after) = arena.zeros(op, count);
        groups.iter().zip(&before[self.range()]).for_each(|(&k, x)| after[k] += x);
        self.tape.vector(out, count)
    }

    /// A vector of constants on the same tape.
    pub fn constants(self, values: &[f64]) -> Self {
        let mut arena = self.tape.arena();
        let (out, _, after) = arena.zeros(Op::Constant { len: values.len() }, values.len());
        after.copy_from_slice(values);
        self.tape.vector(out, values.len())
    }

    /// Collects scalars into a vector: `z.stack([a, b, c])`, or any iterator. `self` provides only its tape.
    pub fn stack(self, entries: impl IntoIterator<Item = Var<'t>>) -> Self {
        // An iterator may record operations of its own, even another `stack`, before it yields.
        let first = self.tape.arena().pending.len();
        for entry in entries {
            self.tape.arena().pending.push((entry.index(), entry.value()));
        }
        let mut arena = self.tape.arena();
        let (out, len) = (arena.values.len(), arena.pending.len() - first);
        for i in first..first + len {
            let (index, value) = arena.pending[i];
            let op = index.map_or(Op::Constant { len: 1 }, |input| Op::Scalar { input, slope: 1.0 });
            arena.push(op, value);
        }
        arena.pending.truncate(first);
        self.tape.vector(out, len)
    }

    /// This vector followed by each of the others.
    pub fn concat(self, others: &[Self]) -> Self {
        let mut arena = self.tape.arena();
        let out = arena.values.len();
        for part in std::iter::once(&self).chain(others) {
            arena.copy(Op::Scale { input: part.start, len: part.len, factor: 1.0 }, part.range());
        }
        self.tape.vector(out, arena.values.len() - out)
    }
}

/// Sums and other reductions.
impl<'t> Vector<'t> {
    /// Σ xᵢ.
    pub fn sum(self) -> Var<'t> {
        let value = self.tape.arena().values[self.range()].iter().sum();
        self.tape.push(Op::Sum { input: self.start, len: self.len }, value)
    }

    /// (1/n)·Σ xᵢ; NaN for an empty vector.
    pub fn mean(self) -> Var<'t> {
        self.sum() / self.len as f64
    }

    /// Σ xᵢ yᵢ with any operand; a scalar is repeated.
    pub fn dot<'a>(self, other: impl Into<Operand<'t, 'a>>) -> Var<'t> {
        match other.into() {
            Operand::Vector(other) => {
                if let Some(error) = self.mismatch("vector in `dot`", other.len) {
                    return self.tape.fail_scalar(error);
                }
                let mut arena = self.tape.arena();
                let value = dot(&arena.values[self.range()], &arena.values[other.range()]);
                let op = Op::Dot { inputs: [self.start, other.start], len: self.len };
                let index = arena.push(op, value);
                Var::recorded(self.tape, index, value)
            }
            Operand::Scalar(scalar) => self.sum() * scalar,
            Operand::Constants(weights) => {
                if let Some(error) = self.mismatch("slice in `dot`", weights.len()) {
                    return self.tape.fail_scalar(error);
                }
                self.reduce(|x, slopes| {
                    slopes.copy_from_slice(weights);
                    dot(x, weights)
                })
            }
        }
    }

    /// Σ xᵢ².
    pub fn norm_squared(self) -> Var<'t> {
        self.dot(self)
    }

    /// log Σ e^{xᵢ}, without overflow; −∞ for an empty vector. Its slope is the softmax.
    pub fn logsumexp(self) -> Var<'t> {
        self.reduce(|x, slopes| {
            let largest = x.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x));
            let shift = if largest.is_finite() { largest } else { 0.0 };
            slopes.iter_mut().zip(x).for_each(|(e, x)| *e = (x - shift).exp());
            let total: f64 = slopes.iter().sum();
            slopes.iter_mut().for_each(|e| *e /= total);
            shift + total.ln()
        })
    }

    /// x₀, x₀ + x₁, …: the running sums.
    pub fn cumulative_sum(self) -> Self {
        let mut arena = self.tape.arena();
        let (out, _, after) =
            arena.copy(Op::CumulativeSum { input: self.start, len: self.len }, self.range());
        let mut sum = 0.0;
        for x in after {
            sum += *x;
            *x = sum;
        }
        self.tape.vector(out, self.len)
    }

    /// A scalar function of the whole vector: `f` writes the slopes (zeros on entry) and returns the value.
    fn reduce(self, f: impl FnOnce(&[f64], &mut [f64]) -> f64) -> Var<'t> {
        let mut arena = self.tape.arena();
        let arena = &mut *arena;
        let slopes = arena.slopes.len();
        arena.slopes.resize(slopes + self.len, 0.0);
        let value = f(&arena.values[self.range()], &mut arena.slopes[slopes..]);
        let index = arena.push(Op::Reduce { input: self.start, len: self.len, slopes }, value);
        Var::recorded(self.tape, index, value)
    }

    pub(super) fn mismatch(self, what: &'static str, found: usize) -> Option<Error> {
        (found != self.len).then_some(Error::Shape { what, found, expected: self.len })
    }
}

/// Elementwise operations besides the operators and the functions below.
impl<'t> Vector<'t> {
    /// A user-defined function of each entry, given as `x ↦ (value, slope)`.
    pub fn map(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        // `f` may use the tape itself, so it runs before its results are recorded. The results borrow the memory of
        // the adjoints.
        let mut results = std::mem::take(&mut self.tape.arena().adjoints);
        results.clear();
        for i in self.range() {
            let x = self.tape.arena().values[i];
            results.extend(<[f64; 2]>::from(f(x)));
        }
        let mut arena = self.tape.arena();
        let out = arena.map(self.range(), |i, _| (results[2 * i], results[2 * i + 1]));
        arena.adjoints = results;
        self.tape.vector(out, self.len)
    }

    /// As `map`, for functions that do not use the tape.
    pub(super) fn elementwise(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        let out = self.tape.arena().map(self.range(), |_, x| f(x));
        self.tape.vector(out, self.len)
    }

    /// xᵢⁿ.
    pub fn powi(self, n: i32) -> Self {
        self.elementwise(|x| function::powi(x, n))
    }

    /// xᵢ to the power yᵢ, for xᵢ > 0, or for constant yᵢ wherever `f64::powf` is defined.
    pub fn powf<'a>(self, exponents: impl Into<Operand<'t, 'a>>) -> Self {
        self.zip("exponent in `powf`", exponents.into(), function::powf)
    }

    /// The larger of xᵢ and yᵢ; at a tie, the slope of `self`. NaN if either is NaN.
    pub fn max<'a>(self, other: impl Into<Operand<'t, 'a>>) -> Self {
        self.zip("operand of `max`", other.into(), function::max)
    }

    /// The smaller of xᵢ and yᵢ; at a tie, the slope of `self`. NaN if either is NaN.
    pub fn min<'a>(self, other: impl Into<Operand<'t, 'a>>) -> Self {
        self.zip("operand of `min`", other.into(), function::min)
    }
}
