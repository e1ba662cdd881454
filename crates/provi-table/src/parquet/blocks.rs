//! A Parquet file, block by block: some of its columns, some of its rows.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    ops::{ControlFlow, Range},
    panic::{AssertUnwindSafe, catch_unwind},
};

use ::parquet::{
    basic::LogicalType,
    column::reader::ColumnReader,
    errors::ParquetError,
    file::reader::{FileReader, RowGroupReader, SerializedFileReader},
    schema::types::ColumnDescPtr,
};

use super::{
    damaged, kind,
    positioned::Positioned,
    values::{Kind, Values, skip},
};
use crate::{
    column::{Column, ColumnKind, Data},
    error::{BadFile, BadShards, Error, Result},
    hands,
    table::Table,
};

/// What a file states in its footer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Footer {
    /// Names of the columns, in the file's order.
    pub(crate) names: Vec<String>,
    /// The type of each column; the type's name if provi does not read it; `None` if the column is declared empty.
    pub(crate) kinds: Vec<std::result::Result<Option<ColumnKind>, String>>,
    /// Rows of each row group.
    pub(crate) groups: Vec<usize>,
    /// Bytes of the largest chunk of each column, stored and decompressed.
    pub(crate) chunks: Vec<usize>,
}

impl Footer {
    pub(crate) fn rows(&self) -> usize {
        self.groups.iter().sum()
    }

    /// Reads the footer of a file.
    pub(crate) fn read(file: File, name: &str) -> Result<Self> {
        let reader = open(file, name)?;
        let metadata = reader.metadata();
        let columns = metadata.file_metadata().schema_descr().columns();
        let of = |column: &ColumnDescPtr| match column.logical_type_ref() {
            Some(LogicalType::Unknown) => Ok(None),
            _ => kind(column).map(|kind| Some(kind.column())),
        };
        let chunk = |place: usize| {
            let bytes = metadata.row_groups().iter().map(|group| {
                let column = group.column(place);
                column.compressed_size().saturating_add(column.uncompressed_size())
            });
            bytes.max().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0)
        };
        Ok(Self {
            chunks: (0..columns.len()).map(chunk).collect(),
            names: columns.iter().map(|column| column.name().trim().to_owned()).collect(),
            kinds: columns.iter().map(of).collect(),
            groups: metadata
                .row_groups()
                .iter()
                .map(|group| usize::try_from(group.num_rows()).unwrap_or(0))
                .collect(),
        })
    }
}

fn open(mut file: File, name: &str) -> Result<SerializedFileReader<Positioned>> {
    let unreadable = |error: std::io::Error| {
        Error::File(BadFile::Unreadable { table: name.to_owned(), reason: error.to_string() })
    };
    // Magic, length of the footer, magic.
    let mut tail = [0; 4];
    let whole = file.metadata().map_err(unreadable)?.len() >= 12;
    if whole {
        file.seek(SeekFrom::End(-4)).map_err(unreadable)?;
        file.read_exact(&mut tail).map_err(unreadable)?;
    }
    if !whole || tail != *b"PAR1" {
        return Err(damaged(name, true, "the file does not end in PAR1".to_owned()));
    }
    let refuse = |reason: String| damaged(name, false, reason);
    let file = Positioned::new(file).map_err(unreadable)?;
    guarded(|| SerializedFileReader::new(file)).map_err(refuse)
}

/// The decoder trusts sizes that a damaged file may have wrong, so its panic is reported as damage.
fn guarded<T>(
    decode: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> std::result::Result<T, String> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(|error| error.to_string()),
        Err(_) => Err("the decoder gave up".to_owned()),
    }
}

/// Passes the rows `rows` of a file to `take`, at most `most` at a time, as tables of the columns at `places`,
/// which have the types `kinds` in the data as a whole.
///
/// At most `threads` threads decode the columns of a block, each some of them. Memory: the block, and one page of each
/// column as the file's writer made it, whatever the number of threads.
#[allow(clippy::too_many_arguments)] // what a reader needs, once
pub(crate) fn blocks(
    file: File,
    name: &str,
    expected: &Footer,
    columns: &[(usize, ColumnKind)],
    rows: Range<usize>,
    most: usize,
    threads: usize,
    take: &mut dyn FnMut(Table) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let reader = open(file, name)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let same = |(group, rows): (usize, &usize)| {
        usize::try_from(reader.metadata().row_group(group).num_rows()).is_ok_and(|found| found == *rows)
    };
    if reader.num_row_groups() != expected.groups.len()
        || schema.num_columns() != expected.names.len()
        || !expected.groups.iter().enumerate().all(same)
    {
        return Err(Error::Shards(BadShards::Changed { table: name.to_owned() }));
    }
    let names: Vec<String> = columns.iter().map(|(place, _)| expected.names[*place].clone()).collect();
    let mut start = 0;
    for (index, &length) in expected.groups.iter().enumerate() {
        let (from, to) = (rows.start.max(start), rows.end.min(start + length));
        let before = from.saturating_sub(start);
        start += length;
        if from >= to {
            continue;
        }
        let refuse = |column: Option<usize>, reason: String| {
            Error::Shards(BadShards::Group {
                table: name.to_owned(),
                group: index,
                column: column.map(|place| expected.names[place].clone()),
                reason,
            })
        };
        let group = guarded(|| reader.get_row_group(index)).map_err(|reason| refuse(None, reason))?;
        let threads_for = |rows: usize| if rows * columns.len() < hands::WORTH { 1 } else { threads };
        let mut open = Vec::with_capacity(columns.len());
        for &(place, kind) in columns {
            let column = OpenColumn::new(&*group, place, kind, schema.column(place));
            open.push(column.map_err(|reason| refuse(Some(place), reason))?);
        }
        hands::each(threads_for(before), open.iter_mut(), |column| {
            column.skip(before).map_err(|reason| refuse(Some(column.place), reason))
        })
        .into_iter()
        .collect::<Result<()>>()?;
        let mut at = from;
        while at < to {
            let count = most.min(to - at);
            let decoded = hands::each(threads_for(count), open.iter_mut(), |column| {
                column.take(count).map_err(|reason| refuse(Some(column.place), reason))
            });
            let decoded = decoded.into_iter().collect::<Result<Vec<Column>>>()?;
            let lines = (at + 1..=at + count).collect();
            at += count;
            if take(Table::new(name.to_owned(), names.clone(), decoded, lines)?)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A column of a row group that is being read.
struct OpenColumn {
    place: usize,
    /// The type of the column in the data as a whole.
    wanted: ColumnKind,
    kind: Kind,
    max_level: i16,
    reader: ColumnReader,
}

impl OpenColumn {
    fn new(
        group: &dyn RowGroupReader,
        place: usize,
        wanted: ColumnKind,
        column: ColumnDescPtr,
    ) -> std::result::Result<Self, String> {
        let kind = kind(&column)?;
        let reader = guarded(|| group.get_column_reader(place))?;
        Ok(Self { place, wanted, kind, max_level: column.max_def_level(), reader })
    }

    /// Passes over the first rows.
    fn skip(&mut self, before: usize) -> std::result::Result<(), String> {
        if before == 0 {
            return Ok(());
        }
        match guarded(|| skip(&mut self.reader, before))? {
            skipped if skipped == before => Ok(()),
            skipped => Err(format!("it has {skipped} rows where {before} are passed")),
        }
    }

    /// The next `count` rows.
    fn take(&mut self, count: usize) -> std::result::Result<Column, String> {
        let mut values = Values::new(self.kind, self.max_level, count);
        guarded(|| values.read(&mut self.reader, count))?;
        if values.rows() != count {
            return Err(format!("it ends {} row(s) too soon", count - values.rows()));
        }
        let mut column = values.typed().map_err(|row| format!("it is not UTF-8 in row {row} of a block"))?;
        if column.kind() != self.wanted && column.missing == count {
            column.data = nothing(self.wanted, count);
        }
        Ok(column)
    }
}

/// A column without values in this block that has some elsewhere.
fn nothing(kind: ColumnKind, rows: usize) -> Data {
    match kind {
        ColumnKind::Number => Data::Numbers(vec![f64::NAN; rows]),
        ColumnKind::Boolean => Data::Booleans(vec![f64::NAN; rows]),
        ColumnKind::Category | ColumnKind::Date => {
            Data::Text { codes: vec![None; rows], levels: Vec::new(), dates: kind == ColumnKind::Date }
        }
        ColumnKind::Missing => Data::Nothing,
    }
}
