//! The records of CSV text, with their lines, from a stream that is never held as a whole.

mod window;

use std::io::{ErrorKind, Read};

use ::csv::{Reader, ReaderBuilder, StringRecord};

use crate::{
    error::{BadFile, BadShards, Error, Result},
    sniff::Dialect,
};
use window::{END, Window};

/// The records of a text, with their lines.
///
/// The `csv` crate treats an open quote at the end of the file as closed, and counts the lines before a record's
/// leading line breaks. So [`END`] is appended, which only an open quote can swallow, and lines are counted here.
pub(crate) struct Records<R> {
    name: String,
    reader: Reader<Window<R>>,
    pub(crate) record: StringRecord,
    /// Offset up to which lines are counted, and the line there.
    counted: u64,
    line: usize,
    dialect: Dialect,
    /// Whether the text comes from gzip.
    zipped: bool,
}

impl<R: Read> Records<R> {
    /// The records of `text`, without a byte-order mark. The text starts on line `line` of its file and has no
    /// record longer than `longest` bytes.
    pub(crate) fn new(text: R, name: String, dialect: Dialect, line: usize, longest: usize) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(dialect.separator)
            .quote(dialect.quote)
            .buffer_capacity(1 << 16)
            .from_reader(Window::new(text, longest));
        Self { name, reader, record: StringRecord::new(), counted: 0, line, dialect, zipped: false }
    }

    /// The same for text from gzip, whose damage is then reported as the file's.
    pub(crate) fn zipped(self, zipped: bool) -> Self {
        Self { zipped, ..self }
    }

    /// Offset of the record just read, from the start of the text.
    pub(crate) fn offset(&self) -> u64 {
        self.counted
    }

    /// Reads the next record that is not a blank line. Returns the line on which it starts, or `None` at the end.
    pub(crate) fn advance(&mut self) -> Result<Option<usize>> {
        loop {
            self.reader.get_mut().forget(self.counted);
            let past = self.position();
            match self.reader.read_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => return Err(self.refusal(error, past)),
            }
            let window = self.reader.get_ref();
            let mut start = self.record.position().map_or(self.counted, ::csv::Position::byte);
            while matches!(window.byte(start), Some(b'\n' | b'\r')) {
                start += 1;
            }
            if window.end().is_some_and(|end| start >= end) {
                return Ok(None);
            }
            self.line += breaks(window.between(self.counted, start));
            self.counted = start;
            if window.end().is_some_and(|end| self.position() == end + END.len() as u64) {
                return Err(self.unclosed());
            }
            if self.record.len() == 1
                && self.record[0].trim().is_empty()
                && window.byte(start) != Some(self.dialect.quote)
            {
                continue;
            }
            return Ok(Some(self.line));
        }
    }

    /// The position of the reader: just after the record, and its line break or the first byte of it.
    fn position(&self) -> u64 {
        self.reader.position().byte()
    }

    /// The error if the file ends inside quotes: the last field holds all lines from the quote on.
    fn unclosed(&self) -> Error {
        let below = self.record.iter().next_back().map_or(0, |field| breaks(field.as_bytes()));
        let last = self.line + breaks(self.reader.get_ref().text_from(self.counted));
        // One of the field's line breaks belongs to END.
        Error::File(BadFile::UnclosedQuote { table: self.name.clone(), line: last + 1 - below.min(last) })
    }

    /// The error for a record that starts at `past` or after the line breaks there.
    fn refusal(&self, error: ::csv::Error, past: u64) -> Error {
        let table = self.name.clone();
        let window = self.reader.get_ref();
        match error.into_kind() {
            ::csv::ErrorKind::Utf8 { .. } => {
                let bytes = window.text_from(self.counted);
                let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
                let before = String::from_utf8_lossy(&bytes[..valid]);
                let last = before.rsplit(['\n', '\r']).next().unwrap_or_default();
                Error::File(BadFile::InvalidUtf8 {
                    table,
                    line: self.line + breaks(before.as_bytes()),
                    character: 1 + last.chars().count(),
                    byte: bytes.get(valid).copied().unwrap_or_default(),
                })
            }
            ::csv::ErrorKind::Io(_) if window.is_full() => {
                let mut start = past;
                while matches!(window.byte(start), Some(b'\n' | b'\r')) {
                    start += 1;
                }
                let line = self.line + breaks(window.between(self.counted, start));
                Error::Shards(BadShards::Record { table, line, longest: window.longest() })
            }
            ::csv::ErrorKind::Io(error) if self.zipped => Error::File(BadFile::Damaged {
                table,
                format: "gzip",
                cut: error.kind() == ErrorKind::UnexpectedEof,
                reason: error.to_string(),
            }),
            ::csv::ErrorKind::Io(error) => {
                Error::File(BadFile::Unreadable { table, reason: error.to_string() })
            }
            other => Error::File(BadFile::Unreadable { table, reason: format!("{other:?}") }),
        }
    }

    /// Refuses the record just read unless it has as many fields as the header.
    pub(crate) fn check_length(&mut self, line: usize, expected: usize) -> Result<()> {
        let found = self.record.len();
        if found == expected {
            return Ok(());
        }
        let table = self.name.clone();
        // A quote after a space is a plain character, so the comma after it has split the field.
        let quote = char::from(self.dialect.quote);
        let spaced = |field: &str| field.starts_with([' ', '\t']) && field.trim_start().starts_with(quote);
        if let Some(place) = self.record.iter().position(spaced) {
            return Err(Error::File(BadFile::SpaceBeforeQuote { table, line, field: place + 1 }));
        }
        let position = self.position();
        if found < expected && self.reader.get_mut().is_blank_from(position) {
            return Err(Error::File(BadFile::CutOff { table, line, found, expected }));
        }
        let separator = char::from(self.dialect.separator);
        Err(Error::File(BadFile::RaggedRow { table, line, found, expected, separator }))
    }
}

/// Line breaks: `\n`, `\r\n`, or `\r` alone.
fn breaks(bytes: &[u8]) -> usize {
    let alone = |pair: &&[u8]| pair[0] == b'\r' && pair[1] != b'\n';
    let feeds = bytes.iter().filter(|&&b| b == b'\n').count();
    feeds + bytes.windows(2).filter(alone).count() + usize::from(bytes.last() == Some(&b'\r'))
}
