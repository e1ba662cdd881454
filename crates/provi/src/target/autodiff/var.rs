//! A scalar variable.

use std::fmt;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::arena::{Op, Recorder};
use super::function;

/// A scalar that records how it was computed. It is `Copy` and is used like an `f64`.
///
/// It combines with `f64` on either side of `+`, `-`, `*` and `/`. A constant (`Var::constant(2.0)`, `2.0.into()`,
/// an empty sum) needs no tape, and arithmetic between constants records nothing. Combined with a
/// [`Vector`](super::Vector), it is repeated for every entry.
#[derive(Clone, Copy)]
pub struct Var<'t> {
    /// The tape and the position on it; `None` for a constant.
    node: Option<(Recorder<'t>, usize)>,
    value: f64,
}

impl<'t> Var<'t> {
    /// A constant; its slope is zero.
    pub const fn constant(value: f64) -> Self {
        Self { node: None, value }
    }

    pub(super) fn recorded(tape: Recorder<'t>, index: usize, value: f64) -> Self {
        Self { node: Some((tape, index)), value }
    }

    /// The value, for example to branch on.
    pub fn value(self) -> f64 {
        self.value
    }

    pub(super) fn index(self) -> Option<usize> {
        self.node.map(|(_, index)| index)
    }

    /// A user-defined function, given as `x ↦ (value, slope)`.
    pub fn map(self, f: impl FnOnce(f64) -> (f64, f64)) -> Self {
        let (value, slope) = f(self.value);
        match self.node {
            None => Self::constant(value),
            Some((tape, input)) => tape.push(Op::Scalar { input, slope }, value),
        }
    }

    /// A function of two variables, given as `(x, y) ↦ (value, ∂/∂x, ∂/∂y)`.
    pub fn zip(self, other: impl Into<Self>, f: impl FnOnce(f64, f64) -> (f64, f64, f64)) -> Self {
        let other = other.into();
        let (value, left, right) = f(self.value, other.value);
        match (self.node, other.node) {
            (None, None) => Self::constant(value),
            (Some((tape, input)), None) => tape.push(Op::Scalar { input, slope: left }, value),
            (None, Some((tape, input))) => tape.push(Op::Scalar { input, slope: right }, value),
            (Some((tape, a)), Some((_, b))) => {
                tape.push(Op::Scalar2 { inputs: [a, b], slopes: [left, right] }, value)
            }
        }
    }

    /// xⁿ.
    pub fn powi(self, n: i32) -> Self {
        self.map(|x| function::powi(x, n))
    }

    /// xʸ, for x > 0, or for a constant y wherever `f64::powf` is defined.
    pub fn powf(self, exponent: impl Into<Self>) -> Self {
        self.zip(exponent, function::powf)
    }

    /// The larger of the two; at a tie, the slope of `self`. NaN if either is NaN.
    pub fn max(self, other: impl Into<Self>) -> Self {
        self.zip(other, function::max)
    }

    /// The smaller of the two; at a tie, the slope of `self`. NaN if either is NaN.
    pub fn min(self, other: impl Into<Self>) -> Self {
        self.zip(other, function::min)
    }
}

/// log Σ e^{xᵢ} over scalars, without overflow; −∞ if there are none. For a vector use
/// [`Vector::logsumexp`](super::Vector::logsumexp).
pub fn logsumexp<'t>(terms: &[Var<'t>]) -> Var<'t> {
    // The shift cancels, and so does its slope.
    let largest = terms.iter().fold(f64::NEG_INFINITY, |m, x| m.max(x.value));
    let shift = if largest.is_finite() { largest } else { 0.0 };
    terms.iter().map(|&x| (x - shift).exp()).sum::<Var>().ln() + shift
}

impl fmt::Debug for Var<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Var").field("value", &self.value).field("index", &self.index()).finish()
    }
}

impl From<f64> for Var<'_> {
    fn from(value: f64) -> Self {
        Self::constant(value)
    }
}

impl Neg for Var<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.map(|x| (-x, -1.0))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident, $assign:ident $assign_method:ident: $function:path;)*) => {$(
        impl $trait for Var<'_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.zip(other, $function)
            }
        }

        impl $trait<f64> for Var<'_> {
            type Output = Self;

            fn $method(self, other: f64) -> Self {
                self.zip(other, $function)
            }
        }

        impl<'t> $trait<Var<'t>> for f64 {
            type Output = Var<'t>;

            fn $method(self, other: Var<'t>) -> Var<'t> {
                Var::constant(self).zip(other, $function)
            }
        }

        impl<'t, T: Into<Var<'t>>> $assign<T> for Var<'t> {
            fn $assign_method(&mut self, other: T) {
                *self = self.zip(other, $function);
            }
        }
    )*};
}

operators! {
    Add add, AddAssign add_assign: function::add;
    Sub sub, SubAssign sub_assign: function::subtract;
    Mul mul, MulAssign mul_assign: function::multiply;
    Div div, DivAssign div_assign: function::divide;
}

impl Sum for Var<'_> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::constant(0.0), |sum, x| sum + x)
    }
}

impl Product for Var<'_> {
    fn product<I: Iterator<Item = Self>>(factors: I) -> Self {
        factors.fold(Self::constant(1.0), |product, x| product * x)
    }
}
