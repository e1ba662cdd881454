//! A made table as Parquet files, for measurements of rows that are read block by block.

use crate::Outcome;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rayon::prelude::*;
use std::fs::{File, create_dir_all};
use std::path::Path;
use std::sync::Arc;

/// Files, each written by one thread.
const FILES: usize = 16;
/// Rows of a row group.
const GROUP: usize = 1 << 18;

/// Writes so many rows of a response `y` of 0 and 1 and predictors x1, x2, … to files in a folder.
pub(crate) fn write(folder: &str, rows: usize, columns: usize) -> Outcome {
    create_dir_all(folder)?;
    let each = rows.div_ceil(FILES);
    (0..FILES).into_par_iter().try_for_each(|k| {
        let (from, to) = ((k * each).min(rows), ((k + 1) * each).min(rows));
        let path = Path::new(folder).join(format!("part-{k:02}.parquet"));
        write_file(&path, from..to, columns).map_err(|error| error.to_string())
    })?;
    Ok(())
}

fn write_file(path: &Path, rows: std::ops::Range<usize>, columns: usize) -> Outcome {
    let names = std::iter::once("y".to_owned()).chain((1..=columns).map(|j| format!("x{j}")));
    let fields: String = names.map(|name| format!("required double {name};")).collect();
    let schema = Arc::new(parse_message_type(&format!("message table {{ {fields} }}"))?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN);
    let mut writer = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties.build()))?;
    let mut numbers = vec![vec![0.0; GROUP]; columns + 1];
    let mut row = vec![0.0; columns];
    for first in rows.clone().step_by(GROUP) {
        let count = GROUP.min(rows.end - first);
        for n in 0..count {
            let y = super::route::made_row(first + n, &mut row, columns + 1);
            numbers[0][n] = y;
            row.iter().zip(&mut numbers[1..]).for_each(|(x, to)| to[n] = *x);
        }
        let mut group = writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            column.typed::<DoubleType>().write_batch(&numbers[at][..count], None, None)?;
            column.close()?;
            at += 1;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}
