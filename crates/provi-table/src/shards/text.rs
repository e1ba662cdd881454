//! A text file, read block by block.

use std::{
    fs::File,
    io::{BufReader, Cursor, Read, Seek, SeekFrom},
    ops::{ControlFlow, Range},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use super::Shard;
use crate::{
    cells::{CellKind, MissingWords, Tally, TypedCells},
    csv::MARK as BYTE_ORDER_MARK,
    error::{BadFile, Error, Format, Result},
    read::foreign,
    records::Records,
    sniff::Dialect,
    table::Table,
};

/// The longest record of a file that is not held as a whole.
const LONGEST: usize = 16 << 20;

/// Most bytes examined to find the dialect.
const SNIFFED: usize = 4 << 20;

/// Rows between two marks.
const MARKED: usize = 1 << 16;

/// The beginning of a text file.
#[derive(Debug)]
pub(crate) struct TextHeader {
    /// Names of the columns.
    pub(crate) names: Vec<String>,
    pub(crate) dialect: Dialect,
    zipped: bool,
    /// Number of bytes before the text: those of a byte-order mark.
    before: u64,
}

/// A row of a text file from which reading can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    row: usize,
    byte: u64,
    line: usize,
}

/// The result of reading a text file once: its number of rows, the types of cells in some columns, and positions
/// from which reading can start.
#[derive(Debug)]
pub(crate) struct Tallied {
    pub(crate) rows: usize,
    pub(crate) marks: Vec<Mark>,
    pub(crate) tallies: Vec<Tally>,
}

impl TextHeader {
    /// Reads the first lines of a file.
    pub(super) fn read(path: &Path, name: &str, zipped: bool) -> Result<Self> {
        let refuse = |error: std::io::Error| unreadable(error, name, zipped);
        let file = File::open(path).map_err(refuse)?;
        let mut stream = stream(file, zipped);
        let mut first = Vec::new();
        loop {
            let read = (&mut stream).take(1 << 16).read_to_end(&mut first).map_err(refuse)?;
            if read == 0 || first.len() >= SNIFFED || Dialect::is_plain_from(&first) {
                break;
            }
        }
        if zipped {
            let format = match foreign(&first) {
                None if first.starts_with(b"PAR1") => Some(Format::ParquetInGzip),
                format => format,
            };
            if let Some(format) = format {
                return Err(Error::File(BadFile::ForeignFormat { table: name.to_owned(), format }));
            }
        }
        let before = if first.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let dialect = Dialect::of(&first[before..]);
        let text = Cursor::new(first.split_off(before)).chain(stream);
        let mut records = Records::new(text, name.to_owned(), dialect, 1, LONGEST).zipped(zipped);
        if records.advance()?.is_none() {
            return Err(Error::File(BadFile::EmptyFile { table: name.to_owned() }));
        }
        let names = records.record.iter().map(|field| field.trim().to_owned()).collect();
        Ok(Self { names, dialect, zipped, before: before as u64 })
    }

    /// Whether numbers may have a decimal comma.
    pub(crate) fn comma(&self) -> bool {
        self.dialect.separator != b','
    }

    /// The records below the header, or from a mark on.
    fn records(&self, shard: &Shard, mark: Option<Mark>) -> Result<Records<Box<dyn Read>>> {
        let name = shard.name().to_owned();
        let refuse = |error: std::io::Error| unreadable(error, &name, self.zipped);
        let mut file = shard.reopen()?;
        let skipped = self.before + mark.map_or(0, |mark| mark.byte);
        if !self.zipped {
            file.seek(SeekFrom::Start(skipped)).map_err(refuse)?;
        }
        let mut stream = stream(file, self.zipped);
        if self.zipped {
            std::io::copy(&mut (&mut stream).take(skipped), &mut std::io::sink()).map_err(refuse)?;
        }
        let line = mark.map_or(1, |mark| mark.line);
        let mut records = Records::new(stream, name, self.dialect, line, LONGEST).zipped(self.zipped);
        if mark.is_none() && (records.advance()?.is_none() || records.record.len() != self.names.len()) {
            return Err(shard.changed());
        }
        Ok(records)
    }

    /// Reads all rows to find the types of cells in some columns; `index` is the file's index.
    pub(crate) fn tally(
        &self,
        shard: &Shard,
        index: usize,
        columns: &[String],
        words: &MissingWords,
    ) -> Result<Tallied> {
        let mut records = self.records(shard, None)?;
        let places: Vec<usize> = columns.iter().filter_map(|column| shard.place(column)).collect();
        let mut tallied =
            Tallied { rows: 0, marks: Vec::new(), tallies: vec![Tally::default(); places.len()] };
        while let Some(line) = records.advance()? {
            records.check_length(line, self.names.len())?;
            if tallied.rows > 0 && tallied.rows.is_multiple_of(MARKED) {
                tallied.marks.push(Mark { row: tallied.rows, byte: records.offset(), line });
            }
            for (tally, &place) in tallied.tallies.iter_mut().zip(&places) {
                tally.see(records.record[place].trim(), words, index, line);
            }
            tallied.rows += 1;
        }
        Ok(tallied)
    }

    /// Passes the rows `rows` to `take`, at most `most` at a time, as tables of some columns with known types.
    ///
    /// Memory: the block, some buffers of 64 KiB, and a record of at most 16 MiB.
    #[allow(clippy::too_many_arguments)] // what a reader needs, once
    pub(crate) fn blocks(
        &self,
        shard: &Shard,
        columns: &[(String, CellKind)],
        marks: &[Mark],
        words: &MissingWords,
        rows: Range<usize>,
        most: usize,
        take: &mut dyn FnMut(Table) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        // gzip does not allow seeking: the bytes before a mark are still decompressed, but not parsed.
        let mark = marks.iter().rev().find(|mark| mark.row <= rows.start).copied();
        let mut records = self.records(shard, mark)?;
        let mut row = mark.map_or(0, |mark| mark.row);
        while row < rows.start {
            records.advance()?.ok_or_else(|| shard.changed())?;
            row += 1;
        }
        let places: Vec<usize> = columns.iter().filter_map(|(column, _)| shard.place(column)).collect();
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        while row < rows.end {
            let count = most.min(rows.end - row);
            let mut cells: Vec<TypedCells> =
                columns.iter().map(|(_, kind)| TypedCells::new(*kind, count)).collect();
            let mut lines = Vec::with_capacity(count);
            for _ in 0..count {
                let line = records.advance()?.ok_or_else(|| shard.changed())?;
                records.check_length(line, self.names.len())?;
                for (cells, &place) in cells.iter_mut().zip(&places) {
                    cells.push(records.record[place].trim(), words);
                }
                lines.push(line);
            }
            row += count;
            if cells.iter().any(|cells| cells.stranger().is_some()) {
                return Err(shard.changed());
            }
            let columns = cells.into_iter().map(TypedCells::finish).collect();
            if take(Table::new(shard.name().to_owned(), names.clone(), columns, lines)?)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn stream(file: File, zipped: bool) -> Box<dyn Read> {
    match zipped {
        true => Box::new(MultiGzDecoder::new(BufReader::new(file))),
        false => Box::new(file),
    }
}

fn unreadable(error: std::io::Error, name: &str, zipped: bool) -> Error {
    let (table, reason) = (name.to_owned(), error.to_string());
    match zipped {
        true => {
            let cut = error.kind() == std::io::ErrorKind::UnexpectedEof;
            Error::File(BadFile::Damaged { table, format: "gzip", cut, reason })
        }
        false => Error::File(BadFile::Unreadable { table, reason }),
    }
}
