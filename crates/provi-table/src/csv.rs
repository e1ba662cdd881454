//! Reading CSV: a separator, a header, quotes, UTF-8; refusals with the line of the file.

use std::io::{Chain, Read};

use ::csv::{Reader, ReaderBuilder, StringRecord};

use crate::{
    cells::Cells,
    error::{Error, Result},
    sniff::Dialect,
    table::{Table, places},
};

impl Table {
    /// Read CSV from memory; `name` is for messages.
    ///
    /// Fields are separated by `,`, `;`, a tab or `|`, whichever the header and the lines below it agree
    /// on, and lines end in `\n`, `\r\n` or `\r`. The first line names the columns. A field may stand
    /// in double quotes, with `""` for a quote inside (or in single ones, if every name does). White space
    /// around a field does not count; blank lines are skipped, and so is a byte-order mark. Where the
    /// separator is no comma, numbers may have a decimal comma.
    ///
    /// ```
    /// use provi_table::Table;
    ///
    /// let error = Table::from_csv_bytes(b"x,y\n1,2\n3,4,5\n6,7\n", "points.csv").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "line 3 of `points.csv` has 3 field(s) where the header has 2; \
    ///      put a value that holds a comma in quotes"
    /// );
    /// ```
    pub fn from_csv_bytes(bytes: &[u8], name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        let text = utf8(bytes, &name)?;
        let dialect = Dialect::of(text);
        let mut records = Records::new(text, &name, dialect);
        if records.advance()?.is_none() {
            return Err(Error::EmptyFile { table: name });
        }
        let names: Vec<String> = records.record.iter().map(|field| field.trim().to_owned()).collect();
        // A bad header is refused before its rows are read.
        places(&names, &name)?;
        let mut columns: Vec<Cells> = names.iter().map(|_| Cells::default()).collect();
        let mut lines = Vec::new();
        while let Some(line) = records.advance()? {
            records.check_length(line, names.len())?;
            for (cells, field) in columns.iter_mut().zip(&records.record) {
                cells.push(field.trim());
            }
            lines.push(line);
        }
        let rows = lines.len();
        let comma = dialect.separator != b',';
        let columns = columns.into_iter().map(|cells| cells.finish(comma)).collect();
        let table = Self::new(name, names, columns, lines)?;
        match rows {
            0 => Err(Error::NoRows { table: table.name().to_owned(), columns: table.names().len() }),
            _ => Ok(table),
        }
    }
}

/// The text, without its byte-order mark.
fn utf8<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let last = valid.rsplit(['\n', '\r']).next().unwrap_or_default();
        Error::InvalidUtf8 {
            table: name.to_owned(),
            line: 1 + breaks(valid.as_bytes()),
            character: 1 + last.chars().count(),
            byte: bytes[error.valid_up_to()],
        }
    })
}

/// The records of a file, with their lines.
///
/// The `csv` crate takes an open quote at the end of the file for a closed one, and counts the lines
/// before a record's leading line breaks. So we append [`END`], which only an open quote can
/// swallow, and count lines ourselves.
struct Records<'a> {
    name: &'a str,
    text: &'a str,
    reader: Reader<Chain<&'a [u8], &'static [u8]>>,
    record: StringRecord,
    counted: usize,
    line: usize,
    dialect: Dialect,
}

const END: &[u8] = b"\nend";

impl<'a> Records<'a> {
    fn new(text: &'a str, name: &'a str, dialect: Dialect) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(dialect.separator)
            .quote(dialect.quote)
            .buffer_capacity(1 << 16)
            .from_reader(text.as_bytes().chain(END));
        Self { name, text, reader, record: StringRecord::new(), counted: 0, line: 1, dialect }
    }

    /// Read the next record that is not a blank line; the line it starts on, or `None` at the end.
    fn advance(&mut self) -> Result<Option<usize>> {
        let bytes = self.text.as_bytes();
        loop {
            self.reader.read_record(&mut self.record).map_err(|error| Error::Unreadable {
                table: self.name.to_owned(),
                reason: error.to_string(),
            })?;
            let mut start = self.record.position().map_or(bytes.len(), |p| offset(p.byte()));
            while matches!(bytes.get(start), Some(b'\n' | b'\r')) {
                start += 1;
            }
            if start >= bytes.len() {
                return Ok(None);
            }
            self.line += breaks(&bytes[self.counted..start]);
            self.counted = start;
            if self.position() == bytes.len() + END.len() {
                return Err(self.unclosed());
            }
            if self.record.len() == 1
                && self.record[0].trim().is_empty()
                && bytes[start] != self.dialect.quote
            {
                continue;
            }
            return Ok(Some(self.line));
        }
    }

    /// Where the reader stands: just past the record, and its line break or the first byte of it.
    fn position(&self) -> usize {
        offset(self.reader.position().byte())
    }

    /// The record ends with the file, inside quotes: its last field holds all lines from the quote on.
    fn unclosed(&self) -> Error {
        let below = self.record.iter().next_back().map_or(0, |field| breaks(field.as_bytes()));
        let last = self.line + breaks(&self.text.as_bytes()[self.counted..]);
        // One of the field's line breaks is END's own.
        Error::UnclosedQuote { table: self.name.to_owned(), line: last + 1 - below.min(last) }
    }

    fn check_length(&self, line: usize, expected: usize) -> Result<()> {
        let (table, found) = (|| self.name.to_owned(), self.record.len());
        if found == expected {
            return Ok(());
        }
        // A quote after a space is a plain character, so the comma behind it has split the field.
        let quote = char::from(self.dialect.quote);
        let spaced = |field: &str| field.starts_with([' ', '\t']) && field.trim_start().starts_with(quote);
        if let Some(place) = self.record.iter().position(spaced) {
            return Err(Error::SpaceBeforeQuote { table: table(), line, field: place + 1 });
        }
        let rest = self.text.get(self.position()..).unwrap_or_default();
        if found < expected && rest.trim().is_empty() {
            return Err(Error::CutOff { table: table(), line, found, expected });
        }
        let separator = char::from(self.dialect.separator);
        Err(Error::RaggedRow { table: table(), line, found, expected, separator })
    }
}

/// Line breaks: `\n`, `\r\n`, or `\r` alone.
fn breaks(bytes: &[u8]) -> usize {
    let alone = |pair: &&[u8]| pair[0] == b'\r' && pair[1] != b'\n';
    let feeds = bytes.iter().filter(|&&b| b == b'\n').count();
    feeds + bytes.windows(2).filter(alone).count() + usize::from(bytes.last() == Some(&b'\r'))
}

/// An offset into memory fits the machine's word.
fn offset(byte: u64) -> usize {
    usize::try_from(byte).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table> {
        Table::from_csv_bytes(text.as_bytes(), "t.csv")
    }

    fn lines(table: &Table) -> Vec<usize> {
        (0..table.rows()).filter_map(|row| table.line_of_row(row)).collect()
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_name() {
        assert_eq!(read("\u{feff}x,y\n1,2\n").unwrap().names(), ["x", "y"]);
    }

    #[test]
    fn fields_are_trimmed_and_unquoted() {
        let table = read("  x ,\"a, \"\"b\"\"\"\r\n 1 ,\" 2 \"  \r\n").unwrap();
        assert_eq!(table.names(), ["x", "a, \"b\""]);
        assert_eq!(table.numeric("x").unwrap(), [1.0]);
        assert_eq!(table.numeric("a, \"b\"").unwrap(), [2.0]);
    }

    #[test]
    fn lines_are_those_of_the_file() {
        assert_eq!(lines(&read("x,y\n1,2\n3,4\n").unwrap()), [2, 3]);
        assert_eq!(lines(&read("x,y\r\n1,2\r\n\r\n3,4").unwrap()), [2, 4]);
        assert_eq!(lines(&read("x,y\r1,2\r3,4\r").unwrap()), [2, 3]);
        assert_eq!(lines(&read("\n \nx,y\n\n1,2\n  \n3,4\n\n").unwrap()), [5, 7]);
        assert_eq!(lines(&read("\"x\nname\",y\n1,\"a\n\nb\"\n3,4\n").unwrap()), [3, 6]);
        assert_eq!(lines(&read("\"x\r\nname\",y\r\n1,\"a\r\nb\"\r\n3,4\r\n").unwrap()), [3, 5]);
    }

    #[test]
    fn a_file_without_fields_or_rows_is_refused() {
        assert!(matches!(read(""), Err(Error::EmptyFile { .. })));
        assert!(matches!(read("\u{feff}\n \r\n"), Err(Error::EmptyFile { .. })));
        assert!(matches!(read("x,y"), Err(Error::NoRows { columns: 2, .. })));
        assert!(matches!(read("x,y\n\n"), Err(Error::NoRows { columns: 2, .. })));
    }

    #[test]
    fn a_ragged_row_is_found_on_its_line() {
        let long = read("x,y\n\"1\n\",2\n3,4,5\n6,7\n").unwrap_err();
        assert_eq!(
            long,
            Error::RaggedRow { table: "t.csv".into(), line: 4, found: 3, expected: 2, separator: ',' }
        );
        let short = read("x,y\n1\n6,7\n").unwrap_err();
        assert_eq!(
            short,
            Error::RaggedRow { table: "t.csv".into(), line: 2, found: 1, expected: 2, separator: ',' }
        );
    }

    #[test]
    fn a_short_last_row_reads_as_a_cut() {
        for text in ["x,y,z\n1,2,3\n4,5", "x,y,z\n1,2,3\n4,5\n", "x,y,z\r\n1,2,3\r\n4,5\r\n\r\n"] {
            let cut = Error::CutOff { table: "t.csv".into(), line: 3, found: 2, expected: 3 };
            assert_eq!(read(text).unwrap_err(), cut, "{text:?}");
        }
    }

    #[test]
    fn an_open_quote_is_found_where_it_opens() {
        let line = |text: &str| match read(text) {
            Err(Error::UnclosedQuote { line, .. }) => line,
            other => panic!("{text:?}: {other:?}"),
        };
        assert_eq!(line("x,y\n1,\"2"), 2);
        assert_eq!(line("x,y\n1,\"2\n3,4\n5,6\n"), 2);
        assert_eq!(line("x,y\r\n1,2\r\n\"3,4\r\n5,6\r\n"), 3);
        assert_eq!(line("x,y\n\"a\nb\",\"2"), 3);
        assert_eq!(line("x,y\n1,\"2\"\""), 2);
        assert_eq!(line("\""), 1);
    }

    #[test]
    fn a_file_that_ends_on_a_closed_quote_is_whole() {
        assert_eq!(read("x,y\n1,\"2\"").unwrap().numeric("y").unwrap(), [2.0]);
        assert_eq!(read("x\n1\nend").unwrap().rows(), 2);
    }

    #[test]
    fn names_are_needed_and_distinct() {
        assert!(matches!(read("x, ,y\n1,2,3\n"), Err(Error::UnnamedColumn { position: 2, .. })));
        let twice = read("x,y, x\n1,2,3\n").unwrap_err();
        assert_eq!(twice.to_string(), "`t.csv` has two columns named `x`, number 1 and number 3; rename one");
    }

    #[test]
    fn invalid_utf8_is_found_by_line_and_character() {
        let error = Table::from_csv_bytes(b"x,y\r\n\xC3\xA9,\xFF\n", "t.csv").unwrap_err();
        assert_eq!(error, Error::InvalidUtf8 { table: "t.csv".into(), line: 2, character: 3, byte: 0xFF });
    }

    #[test]
    fn other_separators_are_read() {
        let table = read("x;y\n1,5;2\n").unwrap();
        assert_eq!((table.numeric("x").unwrap(), table.numeric("y").unwrap()), (&[1.5][..], &[2.0][..]));
        assert_eq!(read("x\ty\n1\t2\n").unwrap().numeric("y").unwrap(), [2.0]);
    }

    #[test]
    fn a_space_before_a_quote_is_pointed_out_where_it_splits_a_field() {
        assert!(read("x,y\n1,\" \"\"quoted\"\" text\"\n").is_ok());
        assert!(matches!(read("x,y\n1, \"a, b\"\n"), Err(Error::SpaceBeforeQuote { line: 2, field: 2, .. })));
    }

    #[test]
    fn a_quoted_blank_is_a_missing_value_and_not_a_blank_line() {
        assert!(matches!(
            read("x\n1\n\"\"\n").unwrap().numeric("x"),
            Err(Error::MissingValue { line: 3, .. })
        ));
    }
}
