//! Reading Parquet: flat columns of numbers, booleans, text, decimals and dates.

mod blocks;
mod calendar;
mod positioned;
mod values;

pub(crate) use blocks::{Footer, blocks};

use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::{
    errors::ParquetError,
    file::reader::{FileReader, SerializedFileReader},
    schema::types::ColumnDescriptor,
};
use bytes::Bytes;

use crate::{
    column::Column,
    error::{BadFile, Error, Result},
    room::room_for_bytes,
    table::Table,
};
use values::{Kind, Values};

/// Reads a whole file from memory.
pub(crate) fn read(bytes: &[u8], name: String) -> Result<Table> {
    // The decoder trusts sizes that a damaged file may have wrong, so its panic is reported as damage.
    match catch_unwind(AssertUnwindSafe(|| columns(bytes, &name))) {
        Ok(read) => {
            let (names, columns, rows) = read?;
            if names.is_empty() {
                return Err(Error::File(BadFile::EmptyFile { table: name }));
            }
            let table = Table::new(name, names, columns, (1..=rows).collect())?;
            match rows {
                0 => Err(Error::File(BadFile::NoRows {
                    table: table.name().to_owned(),
                    columns: table.names().len(),
                })),
                _ => Ok(table),
            }
        }
        Err(_) => Err(damaged(&name, false, "the decoder gave up".to_owned())),
    }
}

fn columns(bytes: &[u8], name: &str) -> Result<(Vec<String>, Vec<Column>, usize)> {
    // Magic, length of the footer, magic.
    if bytes.len() < 12 || !bytes.ends_with(b"PAR1") {
        return Err(damaged(name, true, "the file does not end in PAR1".to_owned()));
    }
    let refuse = |error: ParquetError| damaged(name, false, error.to_string());
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(refuse)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    refuse_large(&reader, name)?;
    let mut read: Vec<Values> = Vec::new();
    for column in schema.columns() {
        let kind = kind(column).map_err(|kind| {
            Error::File(BadFile::ParquetType { table: name.to_owned(), column: column.path().string(), kind })
        })?;
        read.push(Values::new(kind, column.max_def_level(), 0));
    }
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(refuse)?;
        // A row more than stated would be damage, and pages may state any number.
        let most = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        for (place, values) in read.iter_mut().enumerate() {
            let mut column = group.get_column_reader(place).map_err(refuse)?;
            let before = values.rows();
            values.read(&mut column, most.saturating_add(1)).map_err(refuse)?;
            if values.rows() - before != most {
                return Err(damaged(
                    name,
                    false,
                    "a row group has more or fewer rows than it says".to_owned(),
                ));
            }
        }
    }
    let rows = read.first().map_or(0, Values::rows);
    if read.iter().any(|values| values.rows() != rows) {
        return Err(damaged(name, false, "its columns differ in length".to_owned()));
    }
    let names = schema.columns().iter().map(|column| column.name().trim().to_owned()).collect();
    let columns = read
        .into_iter()
        .zip(schema.columns())
        .map(|(values, column)| {
            values.finish().map_err(|row| {
                damaged(name, false, format!("column {} is not UTF-8 in row {}", column.name(), row + 1))
            })
        })
        .collect::<Result<_>>()?;
    Ok((names, columns, rows))
}

/// Refuses a file whose numbers would not fit into memory: each takes eight bytes, however few it takes in the
/// file.
fn refuse_large(reader: &impl FileReader, name: &str) -> Result<()> {
    let metadata = reader.metadata();
    let rows = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
    let rows = rows.fold(0, u64::saturating_add);
    let columns = metadata.file_metadata().schema_descr().num_columns() as u64;
    let (bytes, most) = (rows.saturating_mul(columns).saturating_mul(8), room_for_bytes());
    if bytes > most {
        Err(Error::File(BadFile::NoRoom { table: name.to_owned(), bytes, most }))
    } else {
        Ok(())
    }
}

fn damaged(table: &str, cut: bool, reason: String) -> Error {
    Error::File(BadFile::Damaged { table: table.to_owned(), format: "Parquet", cut, reason })
}

/// The type of a column; if provi does not read it, the type's name.
fn kind(column: &ColumnDescriptor) -> std::result::Result<Kind, String> {
    if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
        return Err("of a nested list or record".to_owned());
    }
    Kind::of(column)
}
