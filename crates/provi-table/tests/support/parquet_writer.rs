//! Parquet files of chosen columns, row groups and pages.

use std::{fs::File, path::Path, sync::Arc};

use parquet::{
    basic::Compression,
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};

/// A column with its values; `None` is null.
pub(crate) enum Values {
    Numbers(Vec<Option<f64>>),
    Integers(Vec<Option<i64>>),
    Truths(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::Truths(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    fn field(&self, name: &str) -> String {
        let (kind, note) = match self {
            Self::Numbers(_) => ("double", ""),
            Self::Integers(_) => ("int64", ""),
            Self::Truths(_) => ("boolean", ""),
            Self::Texts(_) => ("binary", " (string)"),
        };
        format!("optional {kind} {name}{note};")
    }
}

/// Write the columns in row groups of at most `group` rows, in pages of 64.
pub(crate) fn write(path: &Path, columns: &[(&str, Values)], group: usize) {
    let fields: String = columns.iter().map(|(name, values)| values.field(name)).collect();
    let schema = Arc::new(parse_message_type(&format!("message table {{ {fields} }}")).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_data_page_row_count_limit(64)
        .set_write_batch_size(64)
        .build();
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    for start in (0..rows).step_by(group) {
        let range = start..rows.min(start + group);
        let mut group = writer.next_row_group().unwrap();
        for (_, values) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            macro_rules! put {
                ($kind:ty, $values:expr, $own:expr) => {{
                    let part = &$values[range.clone()];
                    let levels: Vec<i16> = part.iter().map(|value| i16::from(value.is_some())).collect();
                    let present: Vec<_> = part.iter().flatten().map($own).collect();
                    column.typed::<$kind>().write_batch(&present, Some(&levels), None).unwrap();
                }};
            }
            match values {
                Values::Numbers(values) => put!(DoubleType, values, |x| *x),
                Values::Integers(values) => put!(Int64Type, values, |x| *x),
                Values::Truths(values) => put!(BoolType, values, |x| *x),
                Values::Texts(values) => {
                    put!(ByteArrayType, values, |x: &String| ByteArray::from(x.as_str()))
                }
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}
