//! Errors of the model that a formula and a table make together.

use super::wording::{bytes_of, counted, listed, shown, suggested, too_wide};

/// A model that the formula and the table do not make.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadModel {
    /// A reference level that the column does not have.
    #[error(
        "column `{}` has no level `{}` to refer to; {}its levels are {}", shown(.column), shown(.level), suggested(.nearest.as_deref()), listed(.levels)
    )]
    UnknownReference {
        /// The column.
        column: String,
        /// The level asked for.
        level: String,
        /// The nearest level, if one is near.
        nearest: Option<String>,
        /// Its levels.
        levels: Vec<String>,
    },
    /// A reference level for a column that is not a category of the formula.
    #[error("a reference level is given for `{}`, which is not a category of the formula; its categories are {}", shown(.column), listed(.categories))]
    StrayReference {
        /// The column.
        column: String,
        /// The categories of the formula.
        categories: Vec<String>,
    },
    /// The same offset given twice.
    #[error(
        "`{text}` would be added to the linear predictor twice, by {first} and by {second}; leave one of them out"
    )]
    RepeatedOffset {
        /// The offset.
        text: String,
        /// Where it is given first.
        first: String,
        /// Where it is given again.
        second: String,
    },
    /// New rows without a number of trials.
    #[error("`{table}` has no column `{}`, and draws of the response `{response}` need the trials of each row; add the column, or predict without draws", shown(.column))]
    NoTrialsColumn {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// The response.
        response: String,
    },
    /// A level that the fitted data did not have.
    #[error(
        "column `{}` of `{table}` has `{}` on line {line}, which the fitted data did not have; known are {}; {}", shown(.column), shown(.level), listed(.levels), if *.group { "allow new groups, or leave the row out" } else { "leave the row out, or fit with data that have it" }
    )]
    UnknownLevel {
        /// The table's name.
        table: String,
        /// The column, or columns joined by `:`.
        column: String,
        /// Line of the row.
        line: usize,
        /// The level.
        level: String,
        /// The levels of the fitted data.
        levels: Vec<String>,
        /// Whether it belongs to the grouping of a group term.
        group: bool,
    },
    /// Every row has a missing value.
    #[error(
        "every one of the {rows} row(s) of `{table}` has a missing value in a column of the model: {}; fill them in, or use fewer columns", counted(.columns)
    )]
    NoRowsLeft {
        /// The table's name.
        table: String,
        /// Number of rows.
        rows: usize,
        /// Missing values by column.
        columns: Vec<(String, usize)>,
    },
    /// Two coefficients with the same name.
    #[error("two coefficients would be called `{}`; rename a column, or write the term once", shown(.name))]
    RepeatedName {
        /// The name.
        name: String,
    },
    /// A design too large for memory.
    #[error(
        "with `{}` the design would have {columns} population columns or more in {rows} rows, which is {} of memory for the design and {} for each matrix of columns by columns, several of which a fit holds; {}",
        shown(.term), bytes_of(*.rows, *.columns), bytes_of(*.columns, *.columns), too_wide(.column.as_deref(), *.levels)
    )]
    DesignTooLarge {
        /// Rows of the design.
        rows: usize,
        /// Number of columns up to the term.
        columns: usize,
        /// The term at which it becomes too large.
        term: String,
        /// The category with the most levels.
        column: Option<String>,
        /// Number of its levels.
        levels: usize,
    },
    /// More coefficients than any fit can hold.
    #[error(
        "with `{}` and its {levels} levels the model would have {coefficients} coefficients, where {most} are the most; a fit holds dense matrices of coefficients by coefficients, {} each: group by something with fewer levels, or fit parts of the data",
        shown(.group), bytes_of(*.coefficients, *.coefficients)
    )]
    TooManyGroups {
        /// The group term.
        group: String,
        /// Number of its levels.
        levels: usize,
        /// Number of coefficients up to it.
        coefficients: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// A stored recipe that is inconsistent.
    #[error("the stored recipe cannot be used: {reason}; fit the model again")]
    BadRecipe {
        /// What is wrong.
        reason: String,
    },
}
