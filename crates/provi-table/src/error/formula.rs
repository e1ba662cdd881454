//! Errors in a formula itself.

use super::reason::{BadSmooth, Misplaced};
use super::wording::{shown, suggested};
use crate::formula::{Quoted, Span};

/// An error in the formula itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFormula {
    /// A `.` that stands for no column.
    #[error(
        "`.` stands for every column but the response, and `{table}` has no other; write `~ 1` for an intercept alone"
    )]
    NothingUnderDot {
        /// The table's name.
        table: String,
        /// The position of `.`.
        span: Span,
    },
    /// A column that no model can use, among those for which `.` stands.
    #[error(
        "`.` takes in column `{}` of `{table}`, which {}; take it out: `. - {}`{}", shown(.column), if *.dates { "holds dates" } else { "has no value in any row" }, Quoted(.column), if *.dates { format!(", or count it in days: `. + {}`", Quoted(.column)) } else { String::new() }
    )]
    UselessUnderDot {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Whether it holds dates; otherwise it has no value.
        dates: bool,
        /// The position of `.`.
        span: Span,
    },
    /// The response is also a predictor.
    #[error("`{}` is the response and cannot also be a predictor; delete it on the right of `~`", shown(.column))]
    ResponseAsPredictor {
        /// The column.
        column: String,
        /// Its position on the right.
        span: Span,
    },
    /// A right-hand side with neither column nor intercept.
    #[error(
        "the formula has no terms; name columns on the right of `~`, as in `y ~ a + b`, or write `1` for an intercept alone"
    )]
    NoTerms {
        /// The right-hand side.
        span: Span,
    },
    /// A syntax error.
    #[error(
        "expected {expected}, found {found}; a formula reads `y ~ a + b`, and other names are in back-quotes: `my col`"
    )]
    Syntax {
        /// What the grammar needs there.
        expected: &'static str,
        /// What was found there.
        found: String,
        /// Where in the formula.
        span: Span,
    },
    /// A back-quote that is not closed.
    #[error("the back-quote opened here is not closed; a quoted name ends with a back-quote: `my col`")]
    UnclosedName {
        /// From the back-quote to the end.
        span: Span,
    },
    /// A text that is not closed.
    #[error("the quote opened here is not closed; text ends with the quote it starts with: \"Bern\"")]
    UnclosedText {
        /// From the quote to the end.
        span: Span,
    },
    /// A level that is listed twice.
    #[error("the level `{}` is listed twice; list each once", shown(.level))]
    RepeatedLevel {
        /// The level.
        level: String,
        /// Where the list is.
        span: Span,
    },
    /// A word that starts like a number and is neither 0 nor 1.
    #[error("`{}` is neither 0 nor 1, the numbers that leave out or keep the intercept; put a column of that name in back-quotes", shown(.found))]
    Number {
        /// The word.
        found: String,
        /// Where in the formula.
        span: Span,
    },
    /// An element of the language at a place where it has no meaning.
    #[error("{what}")]
    Misplaced {
        /// The element.
        what: Misplaced,
        /// Where in the formula.
        span: Span,
    },
    /// An unknown function.
    #[error(
        "no function `{}`; {}the functions are log, log1p, log2, log10, exp, expm1, sqrt, abs, I, factor, center, scale, poly, bs, s and offset", shown(.name), suggested(.nearest.as_deref())
    )]
    UnknownFunction {
        /// Its name.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
        /// Where in the formula.
        span: Span,
    },
    /// A number that a function does not accept.
    #[error("`{function}(x, {name})` needs a whole number from {least} to {most} after the comma")]
    Argument {
        /// The function.
        function: &'static str,
        /// The name of the number.
        name: &'static str,
        /// The least value allowed.
        least: usize,
        /// The largest value allowed.
        most: usize,
        /// Where in the formula.
        span: Span,
    },
    /// An option of a smooth that cannot be followed.
    #[error("{what}")]
    Smooth {
        /// What is wrong with it.
        what: BadSmooth,
        /// Where in the formula.
        span: Span,
    },
    /// An expression that names no column.
    #[error("this names no column, so it is the same number in every row; name a column, or delete it")]
    NoColumn {
        /// Where in the formula.
        span: Span,
    },
    /// A `-` before a term that is not there.
    #[error("there is no such term before it to remove; delete the `-` and what follows it")]
    NothingToRemove {
        /// The term to be removed.
        span: Span,
    },
    /// A formula beyond the limits.
    #[error(
        "the formula grows too large here: at most 10000 terms, 16 factors in a term, 200 operations in one call and 64 nested parentheses; write it with fewer"
    )]
    TooLarge {
        /// Where in the formula.
        span: Span,
    },
}
