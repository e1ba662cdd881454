//! Columns of dates, and what is compared with dates.

use super::wording::shown;
use crate::formula::{Quoted, Span};

/// A column of dates, or a comparison with one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadDates {
    /// A column of dates that is used as numbers.
    #[error(
        "column `{}` of `{table}` holds dates, `{}` on line {line}, where numbers are needed; give a column of numbers, or take it as categories: factor({})",
        shown(.column), shown(.found), Quoted(.column)
    )]
    DateColumn {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first one.
        line: usize,
        /// How it is written there.
        found: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A column of dates in which day and month cannot be told apart.
    #[error(
        "column `{}` of `{table}` holds dates such as `{}` on line {line}, in which day and month cannot be told apart in every row; write them as 2024-01-31, or take the column as categories: factor({})",
        shown(.column), shown(.found), Quoted(.column)
    )]
    AmbiguousDates {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first one.
        line: usize,
        /// How it is written there.
        found: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A date that the calendar does not have.
    #[error(
        "column `{}` of `{table}` has the date `{}` on line {line}, which the calendar does not have in the order of the column's other dates; correct it, or mark it as missing (NA)",
        shown(.column), shown(.found)
    )]
    BadDate {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Its line.
        line: usize,
        /// How it is written there.
        found: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// Numbers in a column in which the fitted data had dates.
    #[error(
        "column `{}` of `{table}` holds `{}` on line {line}, where the fitted data had dates; write dates as they did, or as 2024-01-31",
        shown(.column), shown(.found)
    )]
    NoDates {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first value.
        line: usize,
        /// How it is written there.
        found: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A column of dates compared with a text that is not a date.
    #[error(
        "column `{}` holds dates, and `{}` is not a date; write it as 2024-01-31", shown(.column), shown(.found)
    )]
    NoDateText {
        /// The column.
        column: String,
        /// What it is compared with.
        found: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A column of text in a comparison of order.
    #[error(
        "column `{}` of `{table}` holds no dates, so it is not larger or smaller than the text `{}`; compare numbers, or ask with == or %in%",
        shown(.column), shown(.found)
    )]
    TextOrder {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// What it is compared with.
        found: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
}
