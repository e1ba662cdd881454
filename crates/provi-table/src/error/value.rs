//! Single values that a model cannot use.

use super::reason::Purpose;
use super::wording::{blank_or, shown};
use crate::formula::Span;

/// A value that a model cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadValue {
    /// A missing value in a column that is used as numbers.
    #[error(
        "column `{}` of `{table}` has {count} missing value(s), the first {} on line {line}; fill them in, or ask for rows with missing values to be dropped",
        shown(.column), blank_or(.found)
    )]
    MissingValue {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first one.
        line: usize,
        /// How it is written there.
        found: Box<str>,
        /// How many there are.
        count: usize,
        /// Where the formula uses the column.
        span: Option<Span>,
    },
    /// A number beyond the largest double.
    #[error(
        "column `{}` of `{table}` has an infinite value, `{}` on line {line}; every value must be finite: correct it, or delete that row",
        shown(.column), shown(.found)
    )]
    InfiniteValue {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first one.
        line: usize,
        /// How it is written there.
        found: String,
        /// Where the formula uses the column.
        span: Option<Span>,
    },
    /// An expression whose value is not finite.
    #[error(
        "`{}` is {value} on line {line} of `{table}`, where {}; a finite number is needed: correct the row, or choose another term", shown(.term), shown(.inputs)
    )]
    NotFinite {
        /// The table's name.
        table: String,
        /// The term.
        term: Box<str>,
        /// Line of the row.
        line: usize,
        /// Its value there.
        value: Box<str>,
        /// The columns in it, with their values.
        inputs: Box<str>,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// A polynomial or spline with more columns than the data have distinct values.
    #[error(
        "`{}` needs more than {needed} distinct values and has {distinct}; lower its number, or take the column as categories", shown(.term)
    )]
    TooFewValues {
        /// The term.
        term: String,
        /// The number of distinct values that must be exceeded.
        needed: usize,
        /// The number of distinct values.
        distinct: usize,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// Fewer distinct values than a smooth has knots.
    #[error(
        "`{}` needs {needed} distinct values of `{}`{}, and there are {distinct}; {}", shown(.term), shown(.x), if *.period { " within a period" } else { "" }, fewer_knots(.x, *.period, *.distinct)
    )]
    TooFewForSmooth {
        /// The term.
        term: String,
        /// The number of which it is a curve.
        x: String,
        /// Whether it has a period.
        period: bool,
        /// The number of distinct values that it needs.
        needed: usize,
        /// The number of distinct values.
        distinct: usize,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// A number outside the range that its use requires.
    #[error("{} column `{}` of `{table}` is {value} on line {line}; it must be {}", .purpose.name(), shown(.column), .purpose.needs())]
    OutOfRange {
        /// The table's name.
        table: String,
        /// The use of the column.
        purpose: Purpose,
        /// The column.
        column: String,
        /// Line of the row.
        line: usize,
        /// The value.
        value: Box<str>,
        /// Where in the formula.
        span: Option<Span>,
    },
}

/// What to write for so few distinct values.
fn fewer_knots(x: &str, period: bool, distinct: usize) -> String {
    let (knots, least) = if period { (distinct + 1, 4) } else { (distinct, 3) };
    match knots < least {
        true => format!("write `{}` or `factor({})` instead", shown(x), shown(x)),
        false => format!("write fewer knots: `k = {knots}`, or fewer"),
    }
}
