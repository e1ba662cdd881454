//! Arithmetic on columns, as in `I(dose^2)` or `log(1 + age)`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::lexer::Quoted;
use crate::error::Error;

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Function {
    /// ln x
    Log,
    /// ln(1 + x), accurate near 0
    Log1p,
    /// eˣ
    Exp,
    /// √x
    Sqrt,
    /// |x|
    Abs,
}

impl Function {
    pub(crate) const ALL: [Self; 5] = [Self::Log, Self::Log1p, Self::Exp, Self::Sqrt, Self::Abs];

    /// The function of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// Its name in a formula.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Log1p => "log1p",
            Self::Exp => "exp",
            Self::Sqrt => "sqrt",
            Self::Abs => "abs",
        }
    }

    fn of(self, x: f64) -> f64 {
        match self {
            Self::Log => x.ln(),
            Self::Log1p => x.ln_1p(),
            Self::Exp => x.exp(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
        }
    }
}

/// An operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

impl Operation {
    fn symbol(self) -> &'static str {
        match self {
            Self::Add => " + ",
            Self::Subtract => " - ",
            Self::Multiply => " * ",
            Self::Divide => " / ",
            Self::Power => "^",
        }
    }

    fn binding(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide => 2,
            Self::Power => 4,
        }
    }

    fn of(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Add => x + y,
            Self::Subtract => x - y,
            Self::Multiply => x * y,
            Self::Divide => x / y,
            Self::Power => power(x, y),
        }
    }
}

/// xʸ; small whole powers by multiplication, which has the same bits everywhere.
fn power(x: f64, y: f64) -> f64 {
    match y {
        y if y.total_cmp(&2.0).is_eq() => x * x,
        y if y.total_cmp(&3.0).is_eq() => x * x * x,
        y => x.powf(y),
    }
}

/// A number made of columns. `^` binds first and to the right, then the sign, `* /`, `+ -`, as in R.
///
/// [`Display`](fmt::Display) writes text that parses to an equal expression; serde stores that text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Expression {
    /// A constant, finite and not negative.
    Number(f64),
    /// A column, by its name.
    Column(String),
    /// −x
    Negative(Box<Expression>),
    /// x ∘ y
    Binary(Operation, Box<Expression>, Box<Expression>),
    /// f(x)
    Call(Function, Box<Expression>),
}

impl Expression {
    /// The value, given each column's value.
    pub(crate) fn evaluate(&self, column: &impl Fn(&str) -> f64) -> f64 {
        match self {
            Self::Number(value) => *value,
            Self::Column(name) => column(name),
            Self::Negative(x) => -x.evaluate(column),
            Self::Binary(operation, x, y) => operation.of(x.evaluate(column), y.evaluate(column)),
            Self::Call(function, x) => function.of(x.evaluate(column)),
        }
    }

    /// Call `see` on the name of every column, in the order written.
    pub(crate) fn columns<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Number(_) => {}
            Self::Column(name) => see(name),
            Self::Negative(x) | Self::Call(_, x) => x.columns(see),
            Self::Binary(_, x, y) => {
                x.columns(see);
                y.columns(see);
            }
        }
    }

    fn binding(&self) -> u8 {
        match self {
            Self::Binary(operation, ..) => operation.binding(),
            Self::Negative(_) => 3,
            Self::Number(_) | Self::Column(_) | Self::Call(..) => 5,
        }
    }

    /// Write, in parentheses if it binds less than `least`.
    fn write(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        if self.binding() < least {
            f.write_str("(")?;
            self.write(f, 0)?;
            return f.write_str(")");
        }
        match self {
            Self::Number(value) => write!(f, "{}", Short(*value)),
            Self::Column(name) => write!(f, "{}", Quoted(name)),
            Self::Negative(x) => {
                f.write_str("-")?;
                x.write(f, 3)
            }
            Self::Binary(operation, x, y) => {
                let binding = operation.binding();
                let (left, right) = match operation {
                    Operation::Power => (5, 3),
                    _ => (binding, binding + 1),
                };
                x.write(f, left)?;
                f.write_str(operation.symbol())?;
                y.write(f, right)
            }
            Self::Call(function, x) => {
                write!(f, "{}(", function.name())?;
                x.write(f, 0)?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl From<Expression> for String {
    fn from(expression: Expression) -> Self {
        expression.to_string()
    }
}

impl TryFrom<String> for Expression {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        super::parser::expression(&text)
    }
}

/// A number in as few characters as read back to the same bits.
pub(crate) struct Short(pub(crate) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size >= 1e15 || (size > 0.0 && size < 1e-5) {
            write!(f, "{:e}", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        Expression::try_from(text.to_owned()).unwrap().evaluate(&|name| if name == "x" { 3.0 } else { 2.0 })
    }

    fn canonical(text: &str) -> String {
        Expression::try_from(text.to_owned()).unwrap().to_string()
    }

    #[test]
    #[allow(clippy::float_cmp)] // exact: small whole numbers
    fn operations_bind_as_in_r() {
        for (text, expected) in [
            ("-x^2", -9.0),
            ("(-x)^2", 9.0),
            ("2^x^2", 512.0),
            ("2^-1", 0.5),
            ("x - y - 1", 0.0),
            ("x - (y - 1)", 2.0),
            ("12 / x / y", 2.0),
            ("1 + x * y", 7.0),
            ("-x * y", -6.0),
            ("abs(-x) + sqrt(4) + log(1) + exp(0) + log1p(0)", 6.0),
            ("1e-3 * 1E3 + .5", 1.5),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn parentheses_are_written_only_where_they_are_needed() {
        for (text, expected) in [
            ("((x))+(y*2)", "x + y * 2"),
            ("(x + y) * 2", "(x + y) * 2"),
            ("x - (y - 1)", "x - (y - 1)"),
            ("(x^2)^3", "(x^2)^3"),
            ("x^(2^3)", "x^2^3"),
            ("x^(-1)", "x^-1"),
            ("- - x", "--x"),
            ("-(x * y)", "-(x * y)"),
            ("`my col`/1e-9", "`my col` / 1e-9"),
        ] {
            assert_eq!(canonical(text), expected);
            assert_eq!(canonical(expected), expected);
        }
    }
}
