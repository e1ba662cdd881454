//! Why files cannot be read as one table, block after block.

use super::{ShardTrait, shown, wording::shown_to};

/// What is wrong with files that are read block after block, or with the memory for it.
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
        /// The row group, the first being 0.
        group: usize,
        /// The column, where it is one.
        column: Option<String>,
        /// The decoder's words.
        reason: String,
    },
    /// No file where several were looked for.
    #[error(
        "no table under `{path}`; {}", if *.directory { "a folder is read by its files that end in .parquet, .csv, .tsv or .txt, with .gz behind or not" } else { "`*` stands for any characters and `?` for one, in the last part of the path" }
    )]
    None {
        /// The path as given.
        path: String,
        /// Is it a folder? Otherwise a pattern.
        directory: bool,
    },
    /// Files of one table that differ in their columns.
    #[error("`{table}` {found}, where `{first}` {expected}; the files of one table have the same columns")]
    Mixed {
        /// The file.
        table: String,
        /// What it has, in words that follow its name.
        found: ShardTrait,
        /// The file it is held against.
        first: String,
        /// What that one has.
        expected: ShardTrait,
    },
    /// A file that is not what it was when it was first looked at.
    #[error(
        "`{table}` has changed since it was first read; leave the data alone until the run ends, and start again"
    )]
    Changed {
        /// The file.
        table: String,
    },
    /// Memory for less than a few rows.
    #[error(
        "the {bytes} bytes for blocks of this table hold too few of its rows; {needed} are needed at least: allow more memory"
    )]
    Budget {
        /// What there is.
        bytes: usize,
        /// What is needed.
        needed: usize,
    },
    /// More levels than memory may hold.
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
        /// Bytes a record may have.
        longest: usize,
    },
}
