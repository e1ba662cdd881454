//! What keeps a file from being a table.

use super::memory::BadColumns;
use super::reason::Format;
use super::wording::{bytes_said, separator_name, shown, shown_to};

/// A file, or its text, that is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFile {
    /// There is no file at that path.
    #[error("no file `{path}`; check the path; a relative one starts at the current folder")]
    NotFound {
        /// The path as given.
        path: String,
    },
    /// The file or stream cannot be read.
    #[error("cannot read `{table}`: {reason}")]
    Unreadable {
        /// The table's name.
        table: String,
        /// The system's message.
        reason: String,
    },
    /// A stream that is longer than memory allows.
    #[error(
        "`{table}` does not end within {}, the most that is read of it; write it to a file, which is read block by block with a limit on memory (--memory 2GiB)", bytes_said(*.most)
    )]
    Endless {
        /// The table's name.
        table: String,
        /// Bytes that were read.
        most: u64,
    },
    /// A file that does not fit into memory.
    #[error(
        "`{table}` has {} of data, and memory has room for {}; read it block by block with a limit on memory (--memory 2GiB)", bytes_said(*.bytes), bytes_said(*.most)
    )]
    NoRoom {
        /// The table's name.
        table: String,
        /// Size of the file.
        bytes: u64,
        /// Bytes for which memory has room.
        most: u64,
    },
    /// A file without any field.
    #[error("`{table}` is empty; a header line of column names and at least one row are needed")]
    EmptyFile {
        /// The table's name.
        table: String,
    },
    /// A file with a header and no rows.
    #[error("`{table}` has a header of {columns} column(s) and no rows; at least one row is needed")]
    NoRows {
        /// The table's name.
        table: String,
        /// Fields in the header.
        columns: usize,
    },
    /// Columns in memory that do not make a table.
    #[error("`{table}`: {reason}")]
    Columns {
        /// The table's name.
        table: String,
        /// What is wrong with them.
        reason: BadColumns,
    },
    /// A file format that cannot be read.
    #[error("`{table}` is {format}")]
    ForeignFormat {
        /// The table's name.
        table: String,
        /// The format.
        format: Format,
    },
    /// Compressed or columnar data that cannot be decoded.
    #[error(
        "the {format} data of `{table}` {}: {}; fetch or write the file again", if *.cut { "end too soon" } else { "are damaged" }, shown_to(120, .reason)
    )]
    Damaged {
        /// The table's name.
        table: String,
        /// The format.
        format: &'static str,
        /// Whether the file ends before its data do.
        cut: bool,
        /// The decoder's message.
        reason: String,
    },
    /// A Parquet column whose type is not a number, text or date.
    #[error(
        "column `{}` of `{table}` has the Parquet type {kind}, which is not read; write the file without it", shown(.column)
    )]
    ParquetType {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// Bytes that are not UTF-8.
    #[error(
        "`{table}` is not UTF-8: line {line}, character {character} is the byte 0x{byte:02X}, which Latin-1 reads as {:?}; save the file as UTF-8, or convert it: iconv -f latin1 -t utf8", char::from(*.byte)
    )]
    InvalidUtf8 {
        /// The table's name.
        table: String,
        /// Line of the file.
        line: usize,
        /// Place in the line, from 1.
        character: usize,
        /// The byte found.
        byte: u8,
    },
    /// A column without a name.
    #[error(
        "column {position} of `{table}` has no name in the header; name it, or write the file without row names"
    )]
    UnnamedColumn {
        /// The table's name.
        table: String,
        /// Position in the header, from 1.
        position: usize,
    },
    /// Two columns with the same name.
    #[error("`{table}` has two columns named `{}`, number {first} and number {second}; rename one", shown(.column))]
    DuplicateColumn {
        /// The table's name.
        table: String,
        /// The name they share.
        column: String,
        /// Position of the first one in the header, from 1.
        first: usize,
        /// Position of the second one.
        second: usize,
    },
    /// A row with another number of fields than the header.
    #[error(
        "line {line} of `{table}` has {found} field(s) where the header has {expected}; put a value that holds a {} in quotes", separator_name(*.separator)
    )]
    RaggedRow {
        /// The table's name.
        table: String,
        /// Line on which the row starts.
        line: usize,
        /// Number of fields in the row.
        found: usize,
        /// Number of fields in the header.
        expected: usize,
        /// The separator of fields.
        separator: char,
    },
    /// A last row with too few fields.
    #[error(
        "the last row of `{table}`, line {line}, stops after {found} of {expected} fields, before column {missing}; the file looks cut off: fetch it again, or delete that row", missing = .found + 1
    )]
    CutOff {
        /// The table's name.
        table: String,
        /// Line on which the row starts.
        line: usize,
        /// Number of fields in the row.
        found: usize,
        /// Number of fields in the header.
        expected: usize,
    },
    /// A quote that is not closed by the end of the file.
    #[error(
        "the quote opened on line {line} of `{table}` is not closed by the end of the file; the file is cut off there, or a quote is missing"
    )]
    UnclosedQuote {
        /// The table's name.
        table: String,
        /// Line of the opening quote.
        line: usize,
    },
    /// White space between a comma and a quote.
    #[error(
        "line {line} of `{table}` has white space before a quote, in field {field}; a quote counts only right after the comma: delete the space"
    )]
    SpaceBeforeQuote {
        /// The table's name.
        table: String,
        /// Line on which the row starts.
        line: usize,
        /// Position in the row, from 1.
        field: usize,
    },
}
