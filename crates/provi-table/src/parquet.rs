//! Reading Parquet: flat columns of numbers, booleans, text, decimals and dates.

mod blocks;
mod calendar;
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
    error::{Error, Result},
    table::Table,
};
use values::{Kind, Values};

/// Read a whole file from memory.
pub(crate) fn read(bytes: &[u8], name: String) -> Result<Table> {
    // The decoder trusts sizes that a damaged file may get wrong, so a panic of its own is taken for damage.
    match catch_unwind(AssertUnwindSafe(|| columns(bytes, &name))) {
        Ok(read) => {
            let (names, columns, rows) = read?;
            if names.is_empty() {
                return Err(Error::EmptyFile { table: name });
            }
            let table = Table::new(name, names, columns, (1..=rows).collect())?;
            match rows {
                0 => Err(Error::NoRows { table: table.name().to_owned(), columns: table.names().len() }),
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
    let mut read: Vec<Values> = Vec::new();
    for column in schema.columns() {
        let kind = kind(column).map_err(|kind| Error::ParquetType {
            table: name.to_owned(),
            column: column.path().string(),
            kind,
        })?;
        read.push(Values::new(kind, column.max_def_level(), 0));
    }
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(refuse)?;
        for (place, values) in read.iter_mut().enumerate() {
            let mut column = group.get_column_reader(place).map_err(refuse)?;
            values.read(&mut column, usize::MAX).map_err(refuse)?;
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

fn damaged(table: &str, cut: bool, reason: String) -> Error {
    Error::Damaged { table: table.to_owned(), format: "Parquet", cut, reason }
}

/// What a column holds; its type's name, where it is none of ours.
fn kind(column: &ColumnDescriptor) -> std::result::Result<Kind, String> {
    if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
        return Err("of a nested list or record".to_owned());
    }
    Kind::of(column)
}
