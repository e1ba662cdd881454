//! Arithmetic on columns, as in `I(dose^2)` or `log(1 + age)`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::lexer::{Literal, Quoted};
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
    /// log₂ x
    Log2,
    /// log₁₀ x
    Log10,
    /// eˣ − 1, accurate near 0
    Expm1,
}

impl Function {
    pub(crate) const ALL: [Self; 8] =
        [Self::Log, Self::Log1p, Self::Log2, Self::Log10, Self::Exp, Self::Expm1, Self::Sqrt, Self::Abs];

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
            Self::Log2 => "log2",
            Self::Log10 => "log10",
            Self::Expm1 => "expm1",
        }
    }

    fn of(self, x: f64) -> f64 {
        match self {
            Self::Log => x.ln(),
            Self::Log1p => x.ln_1p(),
            Self::Exp => x.exp(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Log2 => x.log2(),
            Self::Log10 => x.log10(),
            Self::Expm1 => x.exp_m1(),
        }
    }
}

/// How tightly an operation binds, from the loosest up, as in R.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const MEMBER: u8 = 7;
const SIGN: u8 = 8;
const POWER: u8 = 9;
const WHOLE: u8 = 10;

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }

    /// The comparison of y with x that is equivalent to this one of x with y.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }

    /// Whether it asks which of the two is larger.
    pub(crate) fn is_order(self) -> bool {
        !matches!(self, Self::Equal | Self::Unequal)
    }

    /// Whether it holds; `None` if a number is NaN.
    pub(crate) fn holds(self, x: f64, y: f64) -> Option<bool> {
        let order = x.partial_cmp(&y)?;
        Some(match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        })
    }
}

/// A comparison of the text in a column's cells: `town == "Bern"`, `town %in% c("Bern", "Basel")`. For dates, it
/// compares their days.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextTest {
    /// The column.
    pub column: String,
    /// How its cell compares with one of the texts.
    pub comparison: Comparison,
    /// The texts; several only if the question is whether the cell is among them.
    pub texts: Vec<String>,
}

/// 1 for true, 0 for false, NaN for neither.
pub(crate) fn truth(holds: Option<bool>) -> f64 {
    holds.map_or(f64::NAN, |holds| f64::from(u8::from(holds)))
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
            Self::Add | Self::Subtract => SUM,
            Self::Multiply | Self::Divide => PRODUCT,
            Self::Power => POWER,
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

/// xʸ; small whole powers by multiplication, which gives the same bits everywhere.
pub(super) fn power(x: f64, y: f64) -> f64 {
    match y {
        y if y.total_cmp(&2.0).is_eq() => x * x,
        y if y.total_cmp(&3.0).is_eq() => x * x * x,
        y => x.powf(y),
    }
}

/// A number computed from columns. `^` binds first and to the right, then the sign, `%in%`, `* /`, `+ -`,
/// comparisons, `!`, `&` and `|`, as in R. True is 1 and false is 0; every number except 0 counts as true.
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
    /// x < y and the like
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// x %in% c(1, 2): one of some numbers
    Among(Box<Expression>, Vec<f64>),
    /// A comparison of a column's text.
    Test(TextTest),
    /// !x
    Not(Box<Expression>),
    /// x & y
    And(Box<Expression>, Box<Expression>),
    /// x | y
    Or(Box<Expression>, Box<Expression>),
}

impl Expression {
    /// The value, given each column's value and the result of each text comparison; both are NaN where missing.
    pub(crate) fn evaluate(&self, column: &impl Fn(&str) -> f64, test: &impl Fn(&TextTest) -> f64) -> f64 {
        let of = |x: &Self| x.evaluate(column, test);
        let truths = |x: &Self, y: &Self| Some((is_true(of(x))?, is_true(of(y))?));
        match self {
            Self::Number(value) => *value,
            Self::Column(name) => column(name),
            Self::Negative(x) => -of(x),
            Self::Binary(operation, x, y) => operation.of(of(x), of(y)),
            Self::Call(function, x) => function.of(of(x)),
            Self::Compare(comparison, x, y) => truth(comparison.holds(of(x), of(y))),
            Self::Among(x, numbers) => {
                let x = of(x);
                let one = |number: &f64| Comparison::Equal.holds(x, *number) == Some(true);
                truth((!x.is_nan()).then(|| numbers.iter().any(one)))
            }
            Self::Test(question) => test(question),
            Self::Not(x) => truth(is_true(of(x)).map(|x| !x)),
            Self::And(x, y) => truth(truths(x, y).map(|(x, y)| x && y)),
            Self::Or(x, y) => truth(truths(x, y).map(|(x, y)| x || y)),
        }
    }

    /// Whether it is 0 or 1 in every row.
    pub(crate) fn is_truth(&self) -> bool {
        match self {
            Self::Compare(..)
            | Self::Among(..)
            | Self::Test(_)
            | Self::Not(_)
            | Self::And(..)
            | Self::Or(..) => true,
            Self::Number(_) | Self::Column(_) | Self::Negative(_) | Self::Binary(..) | Self::Call(..) => {
                false
            }
        }
    }

    /// Calls `see` on every text comparison.
    pub(crate) fn tests<'a>(&'a self, see: &mut dyn FnMut(&'a TextTest)) {
        self.leaves(&mut |leaf| {
            if let Self::Test(test) = leaf {
                see(test);
            }
        });
    }

    /// Calls `see` on the name of every column whose values are used as numbers.
    pub(crate) fn numbers<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        self.leaves(&mut |leaf| {
            if let Self::Column(name) = leaf {
                see(name);
            }
        });
    }

    fn leaves<'a>(&'a self, see: &mut dyn FnMut(&'a Self)) {
        match self {
            Self::Number(_) => {}
            Self::Column(_) | Self::Test(_) => see(self),
            Self::Negative(x) | Self::Call(_, x) | Self::Among(x, _) | Self::Not(x) => x.leaves(see),
            Self::Binary(_, x, y) | Self::Compare(_, x, y) | Self::And(x, y) | Self::Or(x, y) => {
                x.leaves(see);
                y.leaves(see);
            }
        }
    }

    /// Calls `see` on the name of every column, in the order written.
    pub(crate) fn columns<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        self.leaves(&mut |leaf| match leaf {
            Self::Column(name) => see(name),
            Self::Test(test) => see(&test.column),
            _ => {}
        });
    }

    fn binding(&self) -> u8 {
        match self {
            Self::Binary(operation, ..) => operation.binding(),
            Self::Negative(_) => SIGN,
            Self::Number(_) | Self::Column(_) | Self::Call(..) => WHOLE,
            Self::Test(TextTest { texts, .. }) if texts.len() == 1 => COMPARISON,
            Self::Compare(..) => COMPARISON,
            Self::Among(..) | Self::Test(_) => MEMBER,
            Self::Not(_) => NOT,
            Self::And(..) => AND,
            Self::Or(..) => OR,
        }
    }

    /// Writes it, in parentheses if it binds less than `least`.
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
                x.write(f, SIGN)
            }
            Self::Binary(operation, x, y) => {
                let binding = operation.binding();
                let (left, right) = match operation {
                    Operation::Power => (WHOLE, SIGN),
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
            Self::Compare(comparison, x, y) => {
                x.write(f, SUM)?;
                write!(f, " {} ", comparison.symbol())?;
                y.write(f, SUM)
            }
            Self::Among(x, numbers) => {
                x.write(f, SIGN)?;
                write!(f, " %in% {}", List(numbers.iter().map(|number| Short(*number))))
            }
            Self::Test(TextTest { column, comparison, texts }) => match texts.as_slice() {
                [text] => write!(f, "{} {} {}", Quoted(column), comparison.symbol(), Literal(text)),
                texts => {
                    write!(f, "{} %in% {}", Quoted(column), List(texts.iter().map(|text| Literal(text))))
                }
            },
            Self::Not(x) => {
                f.write_str("!")?;
                x.write(f, NOT)
            }
            Self::And(x, y) | Self::Or(x, y) => {
                let (binding, symbol) = match self {
                    Self::And(..) => (AND, " & "),
                    _ => (OR, " | "),
                };
                x.write(f, binding)?;
                f.write_str(symbol)?;
                y.write(f, binding + 1)
            }
        }
    }
}

/// Every number except 0 is true, as in R; NaN is neither true nor false.
fn is_true(x: f64) -> Option<bool> {
    (!x.is_nan()).then(|| x.abs() > 0.0)
}

/// `c(a, b)`
pub(super) struct List<I>(pub(super) I);

impl<I: Iterator<Item: fmt::Display> + Clone> fmt::Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("c(")?;
        for (i, item) in self.0.clone().enumerate() {
            write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str(")")
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

/// A number in the fewest characters that read back to the same bits.
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
        let column = |name: &str| if name == "x" { 3.0 } else { 2.0 };
        let test = |test: &TextTest| truth(Some(test.texts.iter().any(|text| text == "Bern")));
        Expression::try_from(text.to_owned()).unwrap().evaluate(&column, &test)
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
            ("log10(100) + log2(8) + expm1(0)", 5.0),
            ("I(I(x)) + log(I(x / 3))", 3.0),
            ("x > y", 1.0),
            ("x > y + 1", 0.0),
            ("x >= y + 1", 1.0),
            ("x == 3 & !(y == 3)", 1.0),
            ("x == 3 & !y == 3", 1.0),
            ("x < 1 | y <= 2", 1.0),
            ("x < 1 || y < 2 & x > 1", 0.0),
            ("!x", 0.0),
            ("!0 * x", 1.0),
            ("x %in% c(1, 3)", 1.0),
            ("-x %in% c(-3)", 1.0),
            ("x * y %in% 1:2", 3.0),
            ("x %in% c(5:7, -1)", 0.0),
            ("town == 'Bern'", 1.0),
            ("'Basel' == town", 0.0),
            ("town %in% c('Basel', \"Bern\")", 1.0),
            ("(x > 1) + (y > 1) + TRUE - FALSE", 3.0),
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
            ("log(I(x/4))", "log(x / 4)"),
            ("(x>3)&(!(y<2))", "x > 3 & !y < 2"),
            ("!(x & y)", "!(x & y)"),
            ("(x | y) & x", "(x | y) & x"),
            ("x | (y | x)", "x | (y | x)"),
            ("(x > 3) > 1", "(x > 3) > 1"),
            ("(x + 1) %in% 1:3", "(x + 1) %in% c(1, 2, 3)"),
            ("'a\"b' != `my col`", "`my col` != \"a\\\"b\""),
            ("'2024-01-31' < day", "day > \"2024-01-31\""),
            ("t %in% c('a')", "t == \"a\""),
            ("`TRUE` + TRUE", "`TRUE` + 1"),
        ] {
            assert_eq!(canonical(text), expected);
            assert_eq!(canonical(expected), expected);
        }
    }
}
