//! Derivatives of arithmetic on columns.

use super::expression::{Expression, Function, Operation, TextTest, power};

impl Function {
    /// Its derivative; that of |x| at 0 is 0.
    fn slope(self, x: f64) -> f64 {
        match self {
            Self::Log => 1.0 / x,
            Self::Log1p => 1.0 / (1.0 + x),
            Self::Exp | Self::Expm1 => x.exp(),
            Self::Sqrt => 0.5 / x.sqrt(),
            Self::Abs if x.abs() <= 0.0 => 0.0,
            Self::Abs => x.signum(),
            Self::Log2 => std::f64::consts::LOG2_E / x,
            Self::Log10 => std::f64::consts::LOG10_E / x,
        }
    }
}

impl Operation {
    /// The derivative of x ∘ y, from both values and their derivatives. A part that does not change adds exactly 0.
    fn slope(self, (x, dx): (f64, f64), (y, dy): (f64, f64)) -> f64 {
        let part = |by: f64, change: f64| if change.abs() > 0.0 { by * change } else { 0.0 };
        match self {
            Self::Add => dx + dy,
            Self::Subtract => dx - dy,
            Self::Multiply => part(y, dx) + part(x, dy),
            Self::Divide => part(1.0 / y, dx) - part(x / (y * y), dy),
            Self::Power => part(y * power(x, y - 1.0), dx) + part(power(x, y) * x.ln(), dy),
        }
    }
}

impl Expression {
    /// The value, and its derivative with respect to the column `of`. What is 0 or 1 changes nowhere, except where it
    /// jumps.
    pub(crate) fn with_slope(
        &self,
        of: &str,
        column: &impl Fn(&str) -> f64,
        test: &impl Fn(&TextTest) -> f64,
    ) -> (f64, f64) {
        let both = |x: &Self| x.with_slope(of, column, test);
        let value = || self.evaluate(column, test);
        match self {
            Self::Column(name) => (column(name), f64::from(u8::from(name == of))),
            Self::Negative(x) => {
                let (x, dx) = both(x);
                (-x, -dx)
            }
            Self::Binary(operation, x, y) => (value(), operation.slope(both(x), both(y))),
            Self::Call(function, x) => {
                let (x, dx) = both(x);
                (value(), if dx.abs() > 0.0 { function.slope(x) * dx } else { 0.0 })
            }
            Self::Number(_)
            | Self::Compare(..)
            | Self::Among(..)
            | Self::Test(_)
            | Self::Not(_)
            | Self::And(..)
            | Self::Or(..) => (value(), 0.0),
        }
    }
}
