//! Columns that cannot be used as the formula uses them.

use super::wording::{listed, shown, suggested};
use crate::formula::{Quoted, Span};

/// A column that does not suit its use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnfitColumn {
    /// A name that is not a column of the table.
    #[error("no column `{}` in `{table}`; {}its columns are {}", shown(.column), suggested(.nearest.as_deref()), listed(.available))]
    UnknownColumn {
        /// The table's name.
        table: String,
        /// The name asked for.
        column: String,
        /// The nearest column name, if one is near.
        nearest: Option<Box<str>>,
        /// All column names, in file order.
        available: Box<[String]>,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// A column of text that is used as numbers.
    #[error(
        "column `{}` of `{table}` holds text, `{}` on line {line}, where numbers or true/false are needed; recode it, or leave it out",
        shown(.column), shown(.found)
    )]
    TextColumn {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first text.
        line: usize,
        /// The text.
        found: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A level that is missing in a list of levels.
    #[error(
        "column `{}` of `{table}` has the level `{}`, which is not among its listed levels; {}list it, or mark it as missing: --na '{}'",
        shown(.column), shown(.level), suggested(.nearest.as_deref()), shown(.level)
    )]
    UnlistedLevel {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// The level.
        level: Box<str>,
        /// The nearest level of the list, if near enough.
        nearest: Option<Box<str>>,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A column of numbers except for some cells, used without stating its type.
    #[error(
        "column `{}` of `{table}` is text because of `{}` on line {line}, where {numbers} other value(s) are numbers; correct it, mark it as missing (NA, or --na '{}'), or take the column as categories: factor({})",
        shown(.column), shown(.found), shown(.found), Quoted(.column)
    )]
    MixedColumn {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first text.
        line: usize,
        /// The text.
        found: Box<str>,
        /// How many cells are numbers.
        numbers: usize,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A column without any value.
    #[error("column `{}` of `{table}` has no value in any row; leave it out", shown(.column))]
    EmptyColumn {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A predictor that is constant, like the intercept.
    #[error(
        "column `{}` of `{table}` is {value} in every row, which repeats the intercept; leave the column out, or the intercept with `0 +`",
        shown(.column)
    )]
    ConstantColumn {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Its value, as text.
        value: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A category with a single level.
    #[error(
        "column `{}` of `{table}` is `{}` in every row used, so it adds no information; leave it out", shown(.column), shown(.level)
    )]
    OneLevel {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Its level.
        level: String,
        /// Where the formula uses it.
        span: Option<Span>,
    },
    /// A response of text without exactly two levels.
    #[error(
        "the response `{}` of `{table}` is text with {} level(s), {}; a response is numbers, true/false, text with two levels, ordered(..) with levels in an order, or multinomial(..) without one", shown(.column), .levels.len(), listed(.levels)
    )]
    ResponseLevels {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Its levels.
        levels: Vec<String>,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// An ordered response of text whose order nothing says.
    #[error(
        "`{}` of `{table}` is text, and no order of its levels is known; write ordered({}, levels = c(..)) with {} from the lowest to the highest", shown(.column), Quoted(.column), listed(.levels)
    )]
    NoOrder {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Its levels.
        levels: Vec<String>,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// A response of categories with a level that no row has.
    #[error(
        "no row used of `{table}` has the level `{}` of `{}`, so nothing is known of it; leave it out of the levels", shown(.level), shown(.column)
    )]
    UnusedCategory {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// The level.
        level: String,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// A response of categories with too few or too many levels.
    #[error(
        "the {kind} response `{}` of `{table}` has {levels} level(s); 2 to {most} are possible: merge some, or model numbers as gaussian", shown(.column)
    )]
    CountOfCategories {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// ordered or multinomial.
        kind: &'static str,
        /// How many.
        levels: usize,
        /// The most.
        most: usize,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// A term that needs all values of a column at once.
    #[error(
        "`{}` needs all values of its column at once, which a table read block by block does not give; compute its columns beforehand and name them, or fit without a limit on memory", shown(.term)
    )]
    WholeColumn {
        /// The term.
        term: String,
        /// Where in the formula.
        span: Option<Span>,
    },
}
