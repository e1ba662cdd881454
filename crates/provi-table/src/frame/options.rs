//! Options besides the formula, and the notes that a frame returns.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::recipe::CodedFactor;
use crate::error::shown;

/// What to do with rows that have a missing value in a column of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// Refuse the table, with the line of the first one.
    #[default]
    Error,
    /// Drop and count the rows.
    Drop,
}

/// Options besides the formula.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameOptions {
    /// What to do with rows that have missing values.
    pub missing: Missing,
    /// Reference level by category: the level whose indicator is left out. The default is the first in order. For a
    /// response of text, the reference is the level that counts as 0.
    pub references: Vec<(String, String)>,
    /// Column of weights: the log-likelihood of a row is multiplied by its weight.
    pub weights: Option<String>,
    /// Column added to the linear predictor.
    pub offset: Option<String>,
    /// Column whose logarithm is added to the linear predictor.
    pub exposure: Option<String>,
    /// Centre the numeric columns of the design (if there is an intercept to take up the shift) and divide them by
    /// their standard deviation. Indicators and true/false stay 0 and 1.
    pub standardize: bool,
    /// Cell texts that mean "no value" besides the usual ones (an empty cell, `NA`, `NaN`, `null`, `n/a`, `.`,
    /// `?`).
    pub na: Vec<String>,
    /// Factors of another recipe: one of them that is written as a factor of the formula, such as `scale(x)`, keeps the constants that it
    /// has there. Levels of categories are always those of the data.
    pub coded: Vec<CodedFactor>,
}

/// Rows left out because of missing values.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// Number of rows.
    pub rows: usize,
    /// Missing values in each column of the model that has some; a row may be counted under several columns.
    pub columns: Vec<(String, usize)>,
}

/// A warning that does not stop the fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "warning", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// Whole numbers with more digits than a double holds.
    Inexact {
        /// The column.
        column: String,
        /// How many numbers.
        count: usize,
        /// File of the first one, if the table has several files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Line of the first one.
        line: usize,
        /// How it is written there.
        found: String,
    },
    /// Numbers of at least 2⁵³, not written as whole numbers, as names of categories: some may share a double.
    CoarseNames {
        /// The column.
        column: String,
        /// How many numbers.
        count: usize,
        /// File of the first one, if the table has several files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Line of the first one.
        line: usize,
        /// How it is written there.
        found: String,
    },
    /// A column of numbers and other words that is used as categories.
    WordsAmongNumbers {
        /// The column.
        column: String,
        /// Number of its levels that are numbers.
        numbers: usize,
        /// The other levels, or the first of them.
        words: Vec<String>,
        /// How many others there are.
        others: usize,
    },
    /// A column of dates that counts as days since 1970-01-01.
    DaysSince1970 {
        /// The column.
        column: String,
    },
    /// A level that `factor(.., levels = ..)` lists and no row has.
    UnusedLevel {
        /// The column.
        column: String,
        /// The level.
        level: String,
    },
    /// A population category with a level for every other row or more.
    ManyLevels {
        /// The column.
        column: String,
        /// Number of its levels.
        levels: usize,
        /// Number of rows used.
        rows: usize,
    },
    /// More population columns than rows: the data alone do not determine the coefficients.
    MoreColumnsThanRows {
        /// Population columns.
        columns: usize,
        /// Number of rows used.
        rows: usize,
    },
    /// A grouping with a single level: its spread depends on the prior alone.
    OneGroup {
        /// The group term.
        group: String,
        /// Its level.
        level: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inexact { column, count, file, line, found } => write!(
                f,
                "column `{}` has {count} whole number(s) with more digits than a double holds, the first \
                 `{}` on line {line}{}; they are rounded",
                shown(column),
                shown(found),
                file.as_ref().map(|file| format!(" of `{file}`")).unwrap_or_default()
            ),
            Self::CoarseNames { column, count, file, line, found } => write!(
                f,
                "column `{}` names groups or categories by {count} number(s) from 2^53 up in floating point, the first \
                 `{}` on line {line}{}; different ones may have become the same: give them as whole numbers in digits, or \
                 as text",
                shown(column),
                shown(found),
                file.as_ref().map(|file| format!(" of `{file}`")).unwrap_or_default()
            ),
            Self::WordsAmongNumbers { column, numbers, words, others } => {
                let named: Vec<String> = words.iter().map(|word| format!("`{}`", shown(word))).collect();
                let more = others.saturating_sub(words.len());
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "column `{}` is taken as categories: {}{more} {} no number{}, where {numbers} other value(s) are; if \
                     missing values are meant, say --na '{}' (in Python na=[..]), and if categories are, factor({})",
                    shown(column),
                    named.join(", "),
                    if *others == 1 { "is" } else { "are" },
                    if *others == 1 { "" } else { "s" },
                    words.join(","),
                    crate::formula::Quoted(column)
                )
            }
            Self::DaysSince1970 { column } => write!(
                f,
                "column `{}` holds dates, which count as days since 1970-01-01; factor({}) takes them as categories",
                shown(column),
                crate::formula::Quoted(column)
            ),
            Self::UnusedLevel { column, level } => write!(
                f,
                "no row has the level `{}` that is listed for `{}`; it is left out",
                shown(level),
                shown(column)
            ),
            Self::ManyLevels { column, levels, rows } => write!(
                f,
                "category `{0}` has {levels} levels in {rows} rows; a group term `(1 | {1})` may be meant",
                shown(column),
                crate::formula::Quoted(column)
            ),
            Self::MoreColumnsThanRows { columns, rows } => write!(
                f,
                "{columns} population coefficients for {rows} row(s): the data alone do not determine them, the prior does"
            ),
            Self::OneGroup { group, level } => write!(
                f,
                "group term `{group}` has the one level `{}`; its spread depends on the prior alone",
                shown(level)
            ),
        }
    }
}
