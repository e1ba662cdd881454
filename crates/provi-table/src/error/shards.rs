//! Why files cannot be read as one table, block by block.

use super::{ShardTrait, shown, wording::shown_to};

/// What is wrong with files that are read block by block, or with the memory for them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadShards {
    /// A row group of a Parquet file that cannot be decoded.
    #[error(
        "row group {group} (counted from 0) of `{table}` is damaged{}: {}; fetch or write the file again", column.as_ref().map(|column| format!(" in column `{}`", shown(column))).unwrap_or_default(), shown_to(120, .reason)
    )]
    Group {
        /// The file.
        table: String,
        /// The row group, from 0.
        group: usize,
        /// The column, if the error is in one.
        column: Option<String>,
        /// The decoder's message.
        reason: String,
    },
    /// No file matches the path.
    #[error(
        "no table under `{path}`; {}", if *.directory { "a folder is read by its files that end in .parquet, .csv, .tsv or .txt, with .gz behind or not" } else { "`*` stands for any characters and `?` for one, in the last part of the path" }
    )]
    None {
        /// The path as given.
        path: String,
        /// Whether the path is a folder; otherwise it is a pattern.
        directory: bool,
    },
    /// Files of one table that differ in their columns.
    #[error("`{table}` {found}, where `{first}` {expected}; the files of one table have the same columns")]
    Mixed {
        /// The file.
        table: String,
        /// What it has, in words that follow its name.
        found: ShardTrait,
        /// The file with which it is compared.
        first: String,
        /// What that file has.
        expected: ShardTrait,
    },
    /// A file that has changed since it was first read.
    #[error(
        "`{table}` has changed since it was first read; leave the data alone until the run ends, and start again"
    )]
    Changed {
        /// The file.
        table: String,
    },
    /// Too little memory for a few rows.
    #[error(
        "the {bytes} bytes for blocks of this table hold too few of its rows; {needed} are needed at least: allow more memory"
    )]
    Budget {
        /// Bytes available.
        bytes: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// Levels that take more memory than allowed.
    #[error(
        "the levels of `{}` in `{table}` take more than {bytes} bytes, which is their share of the memory; allow more memory, or use a column with fewer levels", shown(.column)
    )]
    Levels {
        /// The data.
        table: String,
        /// The column, or columns joined by `:`.
        column: String,
        /// Bytes that levels may take.
        bytes: usize,
    },
    /// Surveys that do not belong together.
    #[error(
        "the surveys do not belong together: {reason}; make one of each part, of the same files and the same formula"
    )]
    Survey {
        /// What is wrong.
        reason: String,
    },
    /// A record that does not end.
    #[error(
        "the record that starts on line {line} of `{table}` is longer than {} MiB; a quote is not closed there, or the lines are no rows", .longest >> 20
    )]
    Record {
        /// The table's name.
        table: String,
        /// Line on which it starts.
        line: usize,
        /// Largest size of a record in bytes.
        longest: usize,
    },
}
