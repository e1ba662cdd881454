//! What a table or a formula is refused for: where, what was found, and the way out.

use crate::formula::{Construct, Span};

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything this crate refuses.
///
/// Lines are those of the file, the first being 1; a [`span`](Error::span) counts bytes of the formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file at that path.
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
        /// The system's words.
        reason: String,
    },
    /// Not one field in the file.
    #[error("`{table}` is empty; a header line of column names and at least one row are needed")]
    EmptyFile {
        /// The table's name.
        table: String,
    },
    /// A header and nothing below it.
    #[error("`{table}` has a header of {columns} column(s) and no rows; at least one row is needed")]
    NoRows {
        /// The table's name.
        table: String,
        /// Fields in the header.
        columns: usize,
    },
    /// A header separated by something other than commas.
    #[error(
        "the header of `{table}` has no comma but has {found:?}; save the file with commas between fields"
    )]
    Separator {
        /// The table's name.
        table: String,
        /// The separator it seems to use.
        found: char,
    },
    /// Bytes that are not UTF-8.
    #[error("`{table}` is not UTF-8 at line {line}, character {character}; save the file as UTF-8")]
    InvalidUtf8 {
        /// The table's name.
        table: String,
        /// Line of the file.
        line: usize,
        /// Place in the line, from 1.
        character: usize,
    },
    /// A column without a name.
    #[error(
        "column {position} of `{table}` has no name in the header; name it, or write the file without row names"
    )]
    UnnamedColumn {
        /// The table's name.
        table: String,
        /// Place in the header, from 1.
        position: usize,
    },
    /// One name, two columns.
    #[error("`{table}` has two columns named `{}`, number {first} and number {second}; rename one", shown(.column))]
    DuplicateColumn {
        /// The table's name.
        table: String,
        /// The name they share.
        column: String,
        /// Place of the one in the header, from 1.
        first: usize,
        /// Place of the other.
        second: usize,
    },
    /// A row whose length is not the header's.
    #[error(
        "line {line} of `{table}` has {found} field(s) where the header has {expected}; put a value that holds a comma in quotes"
    )]
    RaggedRow {
        /// The table's name.
        table: String,
        /// Line on which the row starts.
        line: usize,
        /// Its fields.
        found: usize,
        /// The header's fields.
        expected: usize,
    },
    /// A last row that stops short.
    #[error(
        "the last row of `{table}`, line {line}, stops after {found} of {expected} fields, before column {missing}; the file looks cut off: fetch it again, or delete that row", missing = .found + 1
    )]
    CutOff {
        /// The table's name.
        table: String,
        /// Line on which the row starts.
        line: usize,
        /// Its fields.
        found: usize,
        /// The header's fields.
        expected: usize,
    },
    /// A quoted field that the end of the file leaves open.
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
        /// Place in the row, from 1.
        field: usize,
    },
    /// A name that is not in the header.
    #[error("no column `{}` in `{table}`; {}its columns are {}", shown(.column), suggested(.nearest.as_deref()), listed(.available))]
    UnknownColumn {
        /// The table's name.
        table: String,
        /// The name asked for.
        column: String,
        /// The nearest name there is, if near enough.
        nearest: Option<String>,
        /// All names, in file order.
        available: Vec<String>,
        /// Where the formula says it.
        span: Option<Span>,
    },
    /// Text in a column used as numbers.
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
    /// A column of text among those that `.` stands for.
    #[error(
        "`.` takes in column `{}` of `{table}`, which holds text, `{}` on line {line}; in place of `.`, name numeric columns, which are: {}",
        shown(.column), shown(.found), listed(.numeric)
    )]
    TextUnderDot {
        /// The table's name.
        table: String,
        /// The column.
        column: String,
        /// Line of the first text.
        line: usize,
        /// The text.
        found: String,
        /// The columns that could be used, in file order.
        numeric: Vec<String>,
        /// The place of `.`.
        span: Span,
    },
    /// A missing value in a column used as numbers.
    #[error(
        "column `{}` of `{table}` has {count} missing value(s), the first {} on line {line}; none is dropped or guessed: fill them in, or delete those rows",
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
    /// A value beyond the largest double.
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
    /// A predictor that only repeats the intercept.
    #[error(
        "column `{}` of `{table}` is {value} in every row, which the intercept already says; leave the column out, or the intercept with `0 +`",
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
        span: Span,
    },
    /// A `.` that stands for nothing.
    #[error(
        "`.` stands for every column but the response, and `{table}` has no other; write `~ 1` for an intercept alone"
    )]
    NothingUnderDot {
        /// The table's name.
        table: String,
        /// The place of `.`.
        span: Span,
    },
    /// The response on both sides.
    #[error("`{}` is the response and cannot also be a predictor; delete it on the right of `~`", shown(.column))]
    ResponseAsPredictor {
        /// The column.
        column: String,
        /// Its place on the right.
        span: Span,
    },
    /// Neither column nor intercept on the right.
    #[error(
        "the formula has no terms; name columns on the right of `~`, as in `y ~ a + b`, or write `1` for an intercept alone"
    )]
    NoTerms {
        /// The right-hand side.
        span: Span,
    },
    /// A word out of place.
    #[error(
        "expected {expected}, found {found}; a formula reads `y ~ a + b`, and other names stand in back-quotes: `my col`"
    )]
    Syntax {
        /// What the grammar needs there.
        expected: &'static str,
        /// What stands there.
        found: String,
        /// Its place.
        span: Span,
    },
    /// A back-quote without its partner.
    #[error("the back-quote opened here is not closed; a quoted name ends with a back-quote: `my col`")]
    UnclosedName {
        /// From the back-quote to the end.
        span: Span,
    },
    /// A word that starts like a number and is neither 0 nor 1.
    #[error("`{}` is neither 0 nor 1, the numbers that leave out or keep the intercept; put a column of that name in back-quotes", shown(.found))]
    Number {
        /// The word.
        found: String,
        /// Its place.
        span: Span,
    },
    /// A construct of larger formula languages.
    #[error(
        "{construct} is not part of this formula language; use `+` terms of numeric columns, and back-quotes for a column of such a name"
    )]
    NotInLanguage {
        /// The construct.
        construct: Construct,
        /// Its place.
        span: Span,
    },
}

impl Error {
    /// The bytes of the formula at fault, when the formula is.
    ///
    /// ```
    /// let error = provi_table::Formula::parse("y ~ a:b").unwrap_err();
    /// assert_eq!(error.span(), Some(5..6));
    /// ```
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::UnknownColumn { span, .. }
            | Self::TextColumn { span, .. }
            | Self::MissingValue { span, .. }
            | Self::InfiniteValue { span, .. } => span.clone(),
            Self::TextUnderDot { span, .. }
            | Self::ConstantColumn { span, .. }
            | Self::NothingUnderDot { span, .. }
            | Self::ResponseAsPredictor { span, .. }
            | Self::NoTerms { span }
            | Self::Syntax { span, .. }
            | Self::UnclosedName { span }
            | Self::Number { span, .. }
            | Self::NotInLanguage { span, .. } => Some(span.clone()),
            _ => None,
        }
    }

    /// The same refusal of a column, with its place in the formula.
    pub(crate) fn at(mut self, place: &Span) -> Self {
        if let Self::UnknownColumn { span, .. }
        | Self::TextColumn { span, .. }
        | Self::MissingValue { span, .. }
        | Self::InfiniteValue { span, .. } = &mut self
        {
            *span = Some(place.clone());
        }
        self
    }
}

/// Someone else's text, fit for a line of ours: no control characters, not too long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            shown.push('…');
            break;
        }
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

fn blank_or(text: &str) -> String {
    if text.is_empty() { "an empty field".to_owned() } else { format!("`{}`", shown(text)) }
}

fn suggested(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("did you mean `{}`? ", shown(name))).unwrap_or_default()
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let head: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > MOST => format!("{} and {} more", head.join(", "), n - MOST),
        _ => head.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_on_one_short_line() {
        assert_eq!(shown("a\nb\t"), "a\\nb\\t");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 41);
    }

    #[test]
    fn a_long_list_is_counted_not_printed() {
        let names: Vec<String> = (0..14).map(|i| format!("x{i}")).collect();
        assert!(listed(&names).ends_with("`x11` and 2 more"));
        assert_eq!(listed(&names[..2]), "`x0`, `x1`");
        assert_eq!(listed(&[]), "none");
    }
}
