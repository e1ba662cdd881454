//! Reasons of an error that have a few kinds, each with its own wording.

use std::fmt;

use super::shown;
use crate::column::ColumnKind;

/// A file format that cannot be read, and what to do instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A zip archive, or a spreadsheet (which is one).
    Zip,
    /// Text in two-byte units.
    Utf16,
    /// An Arrow or Feather file.
    Arrow,
    /// A gzip file inside another.
    GzipInGzip,
    /// A Parquet file inside gzip, where only parts of it should be read.
    ParquetInGzip,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zip => "a zip archive or a spreadsheet; save the sheet as CSV, or unpack the archive",
            Self::Utf16 => "text in UTF-16; save the file as UTF-8",
            Self::Arrow => "an Arrow file; save the table as Parquet or CSV",
            Self::GzipInGzip => "compressed twice; decompress it once",
            Self::ParquetInGzip => {
                "a Parquet file in gzip, which cannot be read in parts; decompress it: Parquet is compressed in itself"
            }
        })
    }
}

/// A property that one file of a table has and another has not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardTrait {
    /// It is a Parquet file.
    Parquet,
    /// It is text.
    Text,
    /// It has that column.
    Column(String),
    /// It lacks that column.
    NoColumn(String),
    /// It has another type of values in that column.
    Kind {
        /// The column.
        column: String,
        /// The type of its values.
        kind: ColumnKind,
    },
}

impl fmt::Display for ShardTrait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parquet => f.write_str("is a Parquet file"),
            Self::Text => f.write_str("is text"),
            Self::Column(column) => write!(f, "has a column `{}`", shown(column)),
            Self::NoColumn(column) => write!(f, "has no column `{}`", shown(column)),
            Self::Kind { column, kind } => {
                let kind = match kind {
                    ColumnKind::Number => "numbers",
                    ColumnKind::Boolean => "true/false",
                    ColumnKind::Category => "text",
                    ColumnKind::Date => "dates",
                    ColumnKind::Missing => "nothing",
                };
                write!(f, "has {kind} in column `{}`", shown(column))
            }
        }
    }
}

/// The use of a column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Successes of a binomial response.
    Successes,
    /// Successes beside a number of trials.
    SuccessesOfTrials,
    /// Failures of a binomial response.
    Failures,
    /// The number of trials.
    Trials,
    /// A weight.
    Weights,
    /// Weights, not all of them zero.
    SomeWeight,
    /// An exposure.
    Exposure,
    /// The time of an event or of a censored row.
    Time,
    /// Whether the event was seen.
    Event,
    /// The time from which on a row is watched.
    Entry,
    /// The time until which there was no event.
    Lower,
    /// The time until which the event came.
    Upper,
    /// The last time of a row that has an entry.
    AfterEntry,
}

impl Purpose {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Successes | Self::SuccessesOfTrials => "successes",
            Self::Failures => "failures",
            Self::Trials => "trials",
            Self::Weights | Self::SomeWeight => "weights",
            Self::Exposure => "exposure",
            Self::Time => "time",
            Self::Event => "event",
            Self::Entry => "entry",
            Self::Lower => "lower end",
            Self::Upper => "upper end",
            Self::AfterEntry => "time",
        }
    }

    pub(super) fn needs(self) -> &'static str {
        match self {
            Self::Successes | Self::Failures | Self::Trials => "a whole number from 0 up",
            Self::SuccessesOfTrials => "at most the number of trials",
            Self::Weights => "a number from 0 up",
            Self::SomeWeight => "positive in some row, and is so in none",
            Self::Exposure => "a positive number, since its logarithm is taken",
            Self::Time => "a time above 0: leave out rows that were not watched, or start the clock earlier",
            Self::Event => "1 where the event was seen or 0 where the row was censored",
            Self::Entry => "a time from 0 up: 0 where the row was watched from the beginning",
            Self::Lower => "a time from 0 up, above 0 where there is no upper end",
            Self::Upper => "a time above 0 and not before the lower end; empty where no end is known",
            Self::AfterEntry => {
                "after the row's entry: leave out rows that were never watched, or mend their entries"
            }
        }
    }
}

/// An element at a wrong place, with the places where it is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misplaced {
    /// `.` in a product, a group term or behind `-`.
    Dot,
    /// `0` or `1` in a product or a parenthesis.
    Intercept,
    /// `offset(..)` in a product, a group term or behind `-`.
    Offset,
    /// `(x | g)` in a product, another group term or behind `-`.
    Group,
    /// `|` outside parentheses.
    Bar,
    /// Something other than names, `:` and `/` right of the bar.
    Grouping,
    /// `a^2` outside `I(..)`.
    Power,
    /// Arithmetic or a basis as the response.
    Response,
    /// A comparison outside `I(..)`.
    Comparison,
    /// Text that is not compared with a column.
    Text,
    /// `s(x)` in a product or a group term.
    Smooth,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dot => "`.` stands for all other columns, by itself between `+` signs; in a product or a group term, name the columns",
            Self::Intercept => "`0` and `1` leave out or keep an intercept, by themselves between `+` signs; arithmetic stands in `I(..)`",
            Self::Offset => "`offset(..)` is added to the predictor, by itself behind a `+`; take it out of here",
            Self::Group => "a group term `(x | g)` stands by itself behind a `+`; take it out of here",
            Self::Bar => "a group term stands in parentheses: `(x | g)`",
            Self::Grouping => "right of the bar stand columns joined by `:` or `/`; write `(1 | a) + (1 | b)` for two groupings",
            Self::Power => "`^` of a column is arithmetic and stands in `I(..)`, as in `I(x^2)`; of terms, it needs parentheses: `(a + b)^2`",
            Self::Comparison => "a comparison stands in `I(..)`, as in `I(x > 3)`; it is 1 where it holds and 0 elsewhere",
            Self::Text => "text is compared with a column by itself, as in `I(town == \"Bern\")` or `I(town %in% c(\"Bern\", \"Basel\"))`, or lists levels: `factor(x, levels = c(\"low\", \"high\"))`; a list holds texts or numbers, not both",
            Self::Smooth => "a smooth `s(x)` stands by itself between `+` signs; for a curve that differs between categories or with another number write `bs(x, 5):z`",
            Self::Response => "the response is a column, arithmetic in `I(..)` or a function such as `log(y)`, `cbind(successes, failures)`, `k | trials(n)`, or `surv(time, event)`",
        })
    }
}

/// An option of a smooth that cannot be followed, and what to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadSmooth {
    /// A period that is not a positive number.
    Period,
    /// A cyclic basis without its period.
    NoPeriod,
    /// A period beside a basis that has none.
    StrayPeriod,
    /// A basis that is not known.
    Basis,
    /// `by = g`
    By,
    /// An option that is not known, or one that is given twice.
    Option,
}

impl fmt::Display for BadSmooth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Period => "the period of a cyclic smooth is a positive number, as in `s(hour, period = 24)`",
            Self::NoPeriod => "a cyclic smooth needs its period, as in `s(hour, period = 24)`",
            Self::StrayPeriod => {
                "`bs = \"cr\"` is the smooth that has no period; delete one of both: `s(x)` or `s(x, period = 24)`"
            }
            Self::Basis => {
                "the bases of a smooth are `bs = \"cr\"`, the usual one, and `bs = \"cc\"`, which has a period; write `s(x)` or `s(x, period = 24)`"
            }
            Self::By => {
                "a smooth has no `by`; for a curve that differs between categories or with another number write `bs(x, 5):z`"
            }
            Self::Option => {
                "the options of a smooth are `k`, `period` and `bs`, each once: `s(x)`, `s(x, k = 20)` or `s(x, period = 24)`"
            }
        })
    }
}
