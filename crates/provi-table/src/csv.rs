//! Reading CSV: separator, header, quotes, UTF-8; errors name the line of the file.

use crate::{
    cells::{Cells, MissingWords},
    error::{BadFile, Error, Result},
    records::Records,
    sniff::Dialect,
    table::{Table, places},
};

impl Table {
    /// Reads CSV from memory; `name` is for messages.
    ///
    /// Fields are separated by `,`, `;`, a tab or `|`, whichever fits the header and the lines below it, and lines
    /// end in `\n`, `\r\n` or `\r`. The first line names the columns. A field may be in double quotes, with `""`
    /// for a quote inside (or in single quotes, if every name is). White space around a field is ignored; blank
    /// lines are skipped, and so is a byte-order mark. If the separator is not a comma, numbers may have a decimal
    /// comma.
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
        let text = bytes.strip_prefix(MARK).unwrap_or(bytes);
        let dialect = Dialect::of(text);
        let mut records = Records::new(text, name.clone(), dialect, 1, usize::MAX);
        if records.advance()?.is_none() {
            return Err(Error::File(BadFile::EmptyFile { table: name }));
        }
        let names: Vec<String> = records.record.iter().map(|field| field.trim().to_owned()).collect();
        // Refuse a wrong header before its rows are read.
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
        let columns =
            columns.into_iter().map(|cells| cells.finish(comma, &MissingWords::default())).collect();
        let table = Self::new(name, names, columns, lines)?;
        match rows {
            0 => Err(Error::File(BadFile::NoRows {
                table: table.name().to_owned(),
                columns: table.names().len(),
            })),
            _ => Ok(table),
        }
    }
}

/// The byte-order mark of UTF-8.
pub(crate) const MARK: &[u8] = b"\xEF\xBB\xBF";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::BadValue;

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
        assert!(matches!(read(""), Err(Error::File(BadFile::EmptyFile { .. }))));
        assert!(matches!(read("\u{feff}\n \r\n"), Err(Error::File(BadFile::EmptyFile { .. }))));
        assert!(matches!(read("x,y"), Err(Error::File(BadFile::NoRows { columns: 2, .. }))));
        assert!(matches!(read("x,y\n\n"), Err(Error::File(BadFile::NoRows { columns: 2, .. }))));
    }

    #[test]
    fn a_ragged_row_is_found_on_its_line() {
        let long = read("x,y\n\"1\n\",2\n3,4,5\n6,7\n").unwrap_err();
        assert_eq!(
            long,
            Error::File(BadFile::RaggedRow {
                table: "t.csv".into(),
                line: 4,
                found: 3,
                expected: 2,
                separator: ','
            })
        );
        let short = read("x,y\n1\n6,7\n").unwrap_err();
        assert_eq!(
            short,
            Error::File(BadFile::RaggedRow {
                table: "t.csv".into(),
                line: 2,
                found: 1,
                expected: 2,
                separator: ','
            })
        );
    }

    #[test]
    fn a_short_last_row_reads_as_a_cut() {
        for text in ["x,y,z\n1,2,3\n4,5", "x,y,z\n1,2,3\n4,5\n", "x,y,z\r\n1,2,3\r\n4,5\r\n\r\n"] {
            let cut = Error::File(BadFile::CutOff { table: "t.csv".into(), line: 3, found: 2, expected: 3 });
            assert_eq!(read(text).unwrap_err(), cut, "{text:?}");
        }
    }

    #[test]
    fn an_open_quote_is_found_where_it_opens() {
        let line = |text: &str| match read(text) {
            Err(Error::File(BadFile::UnclosedQuote { line, .. })) => line,
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
        assert!(matches!(
            read("x, ,y\n1,2,3\n"),
            Err(Error::File(BadFile::UnnamedColumn { position: 2, .. }))
        ));
        let twice = read("x,y, x\n1,2,3\n").unwrap_err();
        assert_eq!(twice.to_string(), "`t.csv` has two columns named `x`, number 1 and number 3; rename one");
    }

    #[test]
    fn invalid_utf8_is_found_by_line_and_character() {
        let error = Table::from_csv_bytes(b"x,y\r\n\xC3\xA9,\xFF\n", "t.csv").unwrap_err();
        assert_eq!(
            error,
            Error::File(BadFile::InvalidUtf8 { table: "t.csv".into(), line: 2, character: 3, byte: 0xFF })
        );
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
        assert!(matches!(
            read("x,y\n1, \"a, b\"\n"),
            Err(Error::File(BadFile::SpaceBeforeQuote { line: 2, field: 2, .. }))
        ));
    }

    #[test]
    fn a_quoted_blank_is_a_missing_value_and_not_a_blank_line() {
        assert!(matches!(
            read("x\n1\n\"\"\n").unwrap().numeric("x"),
            Err(Error::Value(BadValue::MissingValue { line: 3, .. }))
        ));
    }
}
