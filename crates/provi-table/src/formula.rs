//! Model formulas: from text to a response, population terms, group terms and offsets.
//!
//! ```text
//! formula  := response `~` sum
//! response := name | call | `cbind(` name `,` name `)` | `surv(` name `,` name `)` | `ordered(` name `)` | `multinomial(` name `)` | name `|` `trials(` name or number `)`
//! sum      := [`+` | `-`] item { (`+` | `-`) item }
//! item     := product | `0` | `1` | `.` | `offset(` arithmetic `)` | group
//! product  := power { (`*` | `/` | `%in%` | `:`) power }       `:` binds first, then `%in%`, then `/` and `*`
//! power    := atom [ `^` number ]
//! atom     := name | call | `(` sum `)`
//! call     := `I(`..`)` | `log(`..`)` | `scale(`..`)` | `poly(`..`, k)` | `bs(`..`, k)` | `s(`.. [`, k = `number] [`, period = `number] `)` | `factor(`name [`, levels = c(`..`)`] `)` | ..
//! group    := `(` sum (`|` | `||`) name { (`/` | `:`) name } `)`
//! ```
//!
//! As in R: a * b = a + b + a:b, a / b = a + a:b, b %in% a = a:b, (a + b)^2 = a + b + a:b; a term counts once; terms
//! of fewer factors come first. `(1 | a/b)` = `(1 | a) + (1 | a:b)`. A smooth `s(x)` stands by itself.

mod call;
mod display;
mod expression;
mod group;
mod lexer;
mod parser;
mod slope;
mod smooth;
mod sum;
mod term;
#[cfg(test)]
mod tests;

use std::{ops::Range, str::FromStr};

pub(crate) use expression::Short;
pub(crate) use expression::truth;
pub use expression::{Comparison, Expression, Function, Operation, TextTest};
pub(crate) use lexer::Quoted;
pub use smooth::Smoothing;
pub(crate) use term::columns_of;
pub use term::{Factor, Group, Response, Term, Trials};

use crate::error::{Error, Result};

/// A range of bytes in the formula's text.
pub type Span = Range<usize>;

/// A part of a formula, and its place in the text.
///
/// Equality compares the parts, not their places.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The part.
    pub node: T,
    /// Its place in the text.
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

/// A model formula: a response, an intercept or none, terms and group terms without repetition, offsets.
///
/// There is an intercept unless `0`, `+ 0` or `- 1` removes it; the last of several counts. A name with other
/// characters than letters, digits, `_` and `.` must be in back-quotes, with a doubled back-quote for one inside.
/// [`Display`](std::fmt::Display) writes the canonical text, which parses to an equal formula.
///
/// ```
/// use provi_table::Formula;
///
/// let formula = Formula::parse("y~a*`my col` +a - 1 + (x || clinic)")?;
/// assert_eq!(formula.response_name(), "y");
/// assert!(!formula.has_intercept());
/// assert_eq!(formula.to_string(), "y ~ 0 + a + `my col` + a:`my col` + (1 + x || clinic)");
/// # Ok::<(), provi_table::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    pub(crate) response: Spanned<Response>,
    pub(crate) intercept: bool,
    pub(crate) terms: Vec<Spanned<Term>>,
    pub(crate) groups: Vec<Spanned<Group>>,
    pub(crate) offsets: Vec<Spanned<Expression>>,
    pub(crate) mentions: Mentions,
}

/// Where the text names which column, for messages; all values compare as equal.
#[derive(Debug, Clone)]
pub(crate) struct Mentions(Vec<Spanned<String>>);

impl PartialEq for Mentions {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Formula {
    /// Parses a formula such as `y ~ .`, `y ~ a * log(b) + (1 | clinic)` or `k | trials(n) ~ 0 + a`.
    pub fn parse(text: &str) -> Result<Self> {
        parser::parse(text)
    }

    /// The response.
    pub fn response(&self) -> &Response {
        &self.response.node
    }

    /// The name of the response: that of its column, or its text in the formula.
    pub fn response_name(&self) -> String {
        match self.response() {
            Response::Value(Expression::Column(name))
            | Response::Ordered { column: name, .. }
            | Response::Multinomial { column: name, .. } => name.clone(),
            other => other.to_string(),
        }
    }

    /// Does the model have an intercept?
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// The population terms in order, with their places in the text.
    pub fn terms(&self) -> &[Spanned<Term>] {
        &self.terms
    }

    /// The group terms in order, with their places in the text.
    pub fn groups(&self) -> &[Spanned<Group>] {
        &self.groups
    }

    /// Where the text first names a column; if it does not, the position of its `.`.
    pub(crate) fn place_of(&self, column: &str) -> Option<Span> {
        let dot = || self.terms.iter().find(|term| matches!(term.node, Term::Others { .. }));
        let named = self.mentions.0.iter().find(|mention| mention.node == column);
        named.map(|mention| mention.span.clone()).or_else(|| dot().map(|term| term.span.clone()))
    }

    /// The position of a `.` that includes a column which the text does not name.
    pub(crate) fn dot_over(&self, column: &str) -> Option<Span> {
        let named = self.mentions.0.iter().any(|mention| mention.node == column);
        self.place_of(column).filter(|_| !named)
    }

    /// Whether there is a `.`.
    pub(crate) fn has_dot(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.node, Term::Others { .. }))
    }

    /// Whether the response counts successes among trials.
    pub(crate) fn has_trials(&self) -> bool {
        matches!(self.response(), Response::Counts { .. } | Response::Trials { .. })
    }

    /// Whether the response is a time to an event.
    pub(crate) fn has_events(&self) -> bool {
        matches!(self.response(), Response::Survival { .. } | Response::Interval { .. })
    }

    /// Whether the response is a category, with an order or without.
    pub(crate) fn is_category(&self) -> bool {
        matches!(self.response(), Response::Ordered { .. } | Response::Multinomial { .. })
    }

    /// Whether the response is a category without an order.
    pub fn is_multinomial(&self) -> bool {
        matches!(self.response(), Response::Multinomial { .. })
    }

    /// The same formula, its response a category without an order if it is a column.
    pub fn as_multinomial(mut self) -> Self {
        if let Response::Value(Expression::Column(column)) = &self.response.node {
            self.response.node = Response::Multinomial { column: column.clone(), levels: Vec::new() };
        }
        self
    }

    /// The columns of intervals, in which an empty cell stands for an open end: lower and upper.
    pub(crate) fn open_ends(&self) -> Option<[&str; 2]> {
        match self.response() {
            Response::Interval { lower, upper, .. } => Some([lower, upper]),
            _ => None,
        }
    }

    /// What is added to the linear predictor.
    pub fn offsets(&self) -> &[Spanned<Expression>] {
        &self.offsets
    }
}

impl FromStr for Formula {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}
