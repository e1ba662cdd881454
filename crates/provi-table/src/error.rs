//! Errors in a table or a formula: where, what was found, and the way out.

mod memory;
mod place;
mod reason;
mod shards;
#[cfg(test)]
mod tests;
mod wording;

pub use memory::BadColumns;
pub use reason::{Format, Misplaced, Purpose, ShardTrait};
pub use shards::BadShards;
pub(crate) use wording::shown;
use wording::{
    blank_or, bytes_of, bytes_said, counted, listed, separator_name, shown_to, suggested, too_wide,
};

use crate::formula::{Quoted, Span};

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
///
/// Lines are those of the file, from 1; a [`span`](Error::span) counts bytes of the formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// Files that are read block by block.
    #[error(transparent)]
    Shards(#[from] BadShards),
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
    /// A name that is not a column of the table.
    #[error("no column `{}` in `{table}`; {}its columns are {}", shown(.column), suggested(.nearest.as_deref()), listed(.available))]
    UnknownColumn {
        /// The table's name.
        table: String,
        /// The name asked for.
        column: String,
        /// The nearest column name, if one is near.
        nearest: Option<String>,
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
    /// A level that is missing in a list of levels.
    #[error(
        "column `{}` of `{table}` has the level `{}`, which is not listed in factor({}, levels = ..); {}list it, or mark it as missing: --na '{}'",
        shown(.column), shown(.level), Quoted(.column), suggested(.nearest.as_deref()), shown(.level)
    )]
    UnlistedLevel {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// The level.
        level: String,
        /// The nearest level of the list, if near enough.
        nearest: Option<String>,
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
        found: String,
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
        found: String,
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
        "no function `{}`; {}the functions are log, log1p, log2, log10, exp, expm1, sqrt, abs, I, factor, center, scale, poly, bs and offset", shown(.name), suggested(.nearest.as_deref())
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
    /// An expression whose value is not finite.
    #[error(
        "`{}` is {value} on line {line} of `{table}`, where {}; a finite number is needed: correct the row, or choose another term", shown(.term), shown(.inputs)
    )]
    NotFinite {
        /// The table's name.
        table: String,
        /// The term.
        term: String,
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
        value: String,
        /// Where in the formula.
        span: Option<Span>,
    },
    /// A response of text without exactly two levels.
    #[error(
        "the response `{}` of `{table}` is text with {} level(s), {}; a response is numbers, true/false, or text with two levels", shown(.column), .levels.len(), listed(.levels)
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
