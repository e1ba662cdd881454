//! Model formulas: text to a response and its terms.
//!
//! ```text
//! formula := name `~` sum
//! sum     := [`+` | `-`] item { (`+` | `-`) item }
//! item    := name | `.` | `0` | `1`               `-` before 0 and 1 only
//! ```

mod construct;
mod lexer;
mod parser;

use std::{fmt, ops::Range, str::FromStr};

pub use construct::Construct;

use crate::error::{Error, Result};

/// Bytes of the formula's text.
pub type Span = Range<usize>;

/// A piece of a formula, and where it stands.
///
/// Equality compares what is written, not where.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// What is written.
    pub node: T,
    /// Where.
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<T: Eq> Eq for Spanned<T> {}

/// A model formula: one response, an intercept or none, and terms without repetition.
///
/// The intercept is there unless `0`, `+ 0` or `- 1` takes it out; the last word on it holds. A name
/// that is not letters, digits, `_` and `.` stands in back-quotes, with two for one inside.
/// [`Display`](fmt::Display) writes the canonical text, which parses to an equal formula.
///
/// ```
/// use provi_table::Formula;
///
/// let formula = Formula::parse("y~a+ `my col` +a - 1")?;
/// assert_eq!(formula.response(), "y");
/// assert!(!formula.has_intercept());
/// assert_eq!(formula.to_string(), "y ~ 0 + a + `my col`");
/// # Ok::<(), provi_table::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula {
    pub(crate) response: Spanned<String>,
    pub(crate) intercept: bool,
    pub(crate) terms: Vec<Spanned<Term>>,
}

/// One term on the right-hand side, the intercept aside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Term {
    /// A column, by its name.
    Column(String),
    /// `.`: every column that is neither the response nor named by a term before.
    Others,
}

impl Formula {
    /// Parse a formula such as `y ~ .`, `y ~ a + b` or `y ~ 0 + a`.
    pub fn parse(text: &str) -> Result<Self> {
        parser::parse(text)
    }

    /// Name of the response.
    pub fn response(&self) -> &str {
        &self.response.node
    }

    /// Does the model have an intercept?
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// The terms in order, with their places in the text.
    pub fn terms(&self) -> &[Spanned<Term>] {
        &self.terms
    }
}

impl FromStr for Formula {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ~ ", lexer::Quoted(self.response()))?;
        match (self.intercept, self.terms.is_empty()) {
            (false, _) => f.write_str("0")?,
            (true, true) => f.write_str("1")?,
            (true, false) => {}
        }
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 || !self.intercept {
                f.write_str(" + ")?;
            }
            write!(f, "{}", term.node)?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => lexer::Quoted(name).fmt(f),
            Self::Others => f.write_str("."),
        }
    }
}
