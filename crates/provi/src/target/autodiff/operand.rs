//! What can be combined with a vector, and the four operators.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::arena::Op;
use super::{Var, Vector, function};
use crate::base::error::Error;

/// The other operand of an elementwise operation on a [`Vector`].
#[derive(Clone, Copy, Debug)]
pub enum Operand<'t, 'a> {
    /// A vector variable of the same length.
    Vector(Vector<'t>),
    /// A scalar, repeated.
    Scalar(Var<'t>),
    /// Constants, as many as the vector has entries.
    Constants(&'a [f64]),
}

impl<'t> From<Vector<'t>> for Operand<'t, '_> {
    fn from(vector: Vector<'t>) -> Self {
        Self::Vector(vector)
    }
}

impl<'t> From<Var<'t>> for Operand<'t, '_> {
    fn from(scalar: Var<'t>) -> Self {
        Self::Scalar(scalar)
    }
}

impl From<f64> for Operand<'_, '_> {
    fn from(scalar: f64) -> Self {
        Self::Scalar(scalar.into())
    }
}

impl<'a> From<&'a [f64]> for Operand<'_, 'a> {
    fn from(constants: &'a [f64]) -> Self {
        Self::Constants(constants)
    }
}

impl<'a> From<&'a Vec<f64>> for Operand<'_, 'a> {
    fn from(constants: &'a Vec<f64>) -> Self {
        Self::Constants(constants)
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Operand<'_, 'a> {
    fn from(constants: &'a [f64; N]) -> Self {
        Self::Constants(constants)
    }
}

impl<'t> Vector<'t> {
    /// yᵢ = f(xᵢ, otherᵢ), where f returns the value and its two slopes. `what` names the other operand in an
    /// error.
    pub(super) fn zip(
        self,
        what: &'static str,
        other: Operand<'t, '_>,
        f: impl Fn(f64, f64) -> (f64, f64, f64),
    ) -> Self {
        let left = |x, c| {
            let (value, slope, _) = f(x, c);
            (value, slope)
        };
        match self.repeated(other) {
            Operand::Vector(other) => {
                if let Some(error) = self.mismatch(what, other.len) {
                    return self.tape.fail(error, self.len);
                }
                let out = self.tape.arena().zip(self.range(), other.start, f);
                self.tape.vector(out, self.len)
            }
            Operand::Scalar(scalar) => self.elementwise(|x| left(x, scalar.value())),
            Operand::Constants(constants) => {
                if let Some(error) = self.mismatch(what, constants.len()) {
                    return self.tape.fail(error, self.len);
                }
                let out = self.tape.arena().map(self.range(), |i, x| left(x, constants[i]));
                self.tape.vector(out, self.len)
            }
        }
    }

    /// yᵢ = xᵢ + factor·otherᵢ, which needs no slopes on the tape.
    fn combine(self, what: &'static str, other: Operand<'t, '_>, factor: f64) -> Self {
        match self.repeated(other) {
            Operand::Vector(other) => {
                if let Some(error) = self.mismatch(what, other.len) {
                    return self.tape.fail(error, self.len);
                }
                let op = Op::Combine { inputs: [self.start, other.start], len: self.len, factor };
                let mut arena = self.tape.arena();
                let (out, before, after) = arena.copy(op, self.range());
                after.iter_mut().zip(&before[other.range()]).for_each(|(y, x)| *y += factor * x);
                self.tape.vector(out, self.len)
            }
            constant => self.shift(what, 1.0, constant, factor),
        }
    }

    /// yᵢ = otherᵢ − xᵢ.
    fn subtract_from(self, what: &'static str, other: Operand<'t, '_>) -> Self {
        match self.repeated(other) {
            Operand::Vector(other) => other.combine(what, self.into(), -1.0),
            constant => self.shift(what, -1.0, constant, 1.0),
        }
    }

    fn multiply(self, what: &'static str, other: Operand<'t, '_>) -> Self {
        match other {
            Operand::Scalar(c) if c.index().is_none() => self.shift(what, c.value(), 0.0.into(), 0.0),
            other => self.zip(what, other, function::multiply),
        }
    }

    /// yᵢ = scale·xᵢ + factor·constantᵢ.
    fn shift(self, what: &'static str, scale: f64, constant: Operand<'t, '_>, factor: f64) -> Self {
        let mut arena = self.tape.arena();
        let op = Op::Scale { input: self.start, len: self.len, factor: scale };
        let (out, _, after) = arena.copy(op, self.range());
        match constant {
            Operand::Scalar(c) => {
                let shift = factor * c.value();
                after.iter_mut().for_each(|y| *y = scale * *y + shift);
            }
            Operand::Constants(c) if c.len() == self.len => {
                after.iter_mut().zip(c).for_each(|(y, c)| *y = scale * *y + factor * c);
            }
            Operand::Constants(c) => {
                after.fill(f64::NAN);
                arena.fail(Error::Shape { what, found: c.len(), expected: self.len });
            }
            // Vectors go through `combine`, never through `shift`.
            Operand::Vector(_) => after.fill(f64::NAN),
        }
        self.tape.vector(out, self.len)
    }

    /// Turns a scalar variable into a vector; leaves constants unchanged.
    fn repeated<'a>(self, operand: Operand<'t, 'a>) -> Operand<'t, 'a> {
        let Operand::Scalar(scalar) = operand else { return operand };
        let Some(input) = scalar.index() else { return operand };
        let mut arena = self.tape.arena();
        let (out, _, after) = arena.zeros(Op::Repeat { input, len: self.len }, self.len);
        after.fill(scalar.value());
        Operand::Vector(self.tape.vector(out, self.len))
    }
}

impl Neg for Vector<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.shift("operand of `-`", -1.0, 0.0.into(), 0.0)
    }
}

/// An operator with a vector on its left and any operand on its right.
macro_rules! vector_first {
    ($($trait:ident $method:ident, $assign:ident $assign_method:ident: |$x:ident, $other:ident| $result:expr;)*) => {$(
        impl<'t, 'a, T: Into<Operand<'t, 'a>>> $trait<T> for Vector<'t> {
            type Output = Self;

            fn $method(self, other: T) -> Self {
                let ($x, $other) = (self, other.into());
                $result
            }
        }

        impl<'t, 'a, T: Into<Operand<'t, 'a>>> $assign<T> for Vector<'t> {
            fn $assign_method(&mut self, other: T) {
                let ($x, $other) = (*self, other.into());
                *self = $result;
            }
        }
    )*};
}

vector_first! {
    Add add, AddAssign add_assign: |x, other| x.combine("right side of `+`", other, 1.0);
    Sub sub, SubAssign sub_assign: |x, other| x.combine("right side of `-`", other, -1.0);
    Mul mul, MulAssign mul_assign: |x, other| x.multiply("right side of `*`", other);
    Div div, DivAssign div_assign: |x, other| x.zip("right side of `/`", other, function::divide);
}

/// The four operators with a vector on their right and `$left` on their left.
macro_rules! vector_second {
    ($([$($parameter:tt)*] $left:ty;)*) => {$(
        impl<'t, $($parameter)*> Add<Vector<'t>> for $left {
            type Output = Vector<'t>;

            fn add(self, x: Vector<'t>) -> Vector<'t> {
                x.combine("left side of `+`", self.into(), 1.0)
            }
        }

        impl<'t, $($parameter)*> Sub<Vector<'t>> for $left {
            type Output = Vector<'t>;

            fn sub(self, x: Vector<'t>) -> Vector<'t> {
                x.subtract_from("left side of `-`", self.into())
            }
        }

        impl<'t, $($parameter)*> Mul<Vector<'t>> for $left {
            type Output = Vector<'t>;

            fn mul(self, x: Vector<'t>) -> Vector<'t> {
                x.multiply("left side of `*`", self.into())
            }
        }

        impl<'t, $($parameter)*> Div<Vector<'t>> for $left {
            type Output = Vector<'t>;

            fn div(self, x: Vector<'t>) -> Vector<'t> {
                x.zip("left side of `/`", self.into(), |x, y| {
                    let (value, left, right) = function::divide(y, x);
                    (value, right, left)
                })
            }
        }
    )*};
}

vector_second! {
    [] f64;
    [] Var<'t>;
    [] &[f64];
    [] &Vec<f64>;
    [const N: usize] &[f64; N];
}
