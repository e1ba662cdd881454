//! The values of one column while its pages are decoded.

use ::parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit, Type},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{DataType, DoubleType},
    errors::ParquetError,
    schema::types::ColumnDescriptor,
};

use super::calendar::{date, date_time};
use crate::{
    cells::EXACT,
    column::{Column, ColumnKind, Data, LongNames, number_level},
    intern::Interner,
};

/// The meaning of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Boolean,
    /// Numbers; whole ones are divided by 10^scale.
    Number {
        scale: i32,
        unsigned: bool,
    },
    Text,
    /// Days since 1970.
    Date,
    /// Parts of a second since 1970, and how many parts make a second.
    DateTime {
        per_second: i64,
    },
}

impl Kind {
    /// The column type in a table.
    pub(super) fn column(self) -> ColumnKind {
        match self {
            Self::Boolean => ColumnKind::Boolean,
            Self::Number { .. } => ColumnKind::Number,
            Self::Text => ColumnKind::Category,
            Self::Date | Self::DateTime { .. } => ColumnKind::Date,
        }
    }

    /// The kind of a column's type; if provi does not read it, the type's name.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<Self, String> {
        use ConvertedType as C;
        let per_second = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        let plain = Self::Number { scale: 0, unsigned: false };
        let (physical, logical, converted) =
            (column.physical_type(), column.logical_type_ref(), column.converted_type());
        Ok(match (physical, logical, converted) {
            (Type::BOOLEAN, ..) => Self::Boolean,
            (Type::FLOAT | Type::DOUBLE, ..) => plain,
            (Type::INT96, ..) => Self::DateTime { per_second: 1 },
            (Type::INT32, Some(LogicalType::Date), _) | (Type::INT32, _, C::DATE) => Self::Date,
            (Type::INT64, Some(LogicalType::Timestamp(stamp)), _) => {
                Self::DateTime { per_second: per_second(&stamp.unit) }
            }
            (Type::INT64, _, C::TIMESTAMP_MILLIS) => Self::DateTime { per_second: 1_000 },
            (Type::INT64, _, C::TIMESTAMP_MICROS) => Self::DateTime { per_second: 1_000_000 },
            (_, Some(LogicalType::Time(_)), _) | (_, _, C::TIME_MILLIS | C::TIME_MICROS) => {
                return Err("of a time of day".to_owned());
            }
            (Type::INT32 | Type::INT64, Some(LogicalType::Decimal(decimal)), _) => {
                Self::Number { scale: decimal.scale, unsigned: false }
            }
            (Type::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Decimal(decimal)), _)
                if column.type_length() <= 16 =>
            {
                Self::Number { scale: decimal.scale, unsigned: false }
            }
            (Type::INT32 | Type::INT64, _, C::DECIMAL) => {
                Self::Number { scale: column.type_scale(), unsigned: false }
            }
            (Type::INT32 | Type::INT64, _, C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64) => {
                Self::Number { scale: 0, unsigned: true }
            }
            (Type::INT32 | Type::INT64, ..) => plain,
            (
                Type::BYTE_ARRAY,
                None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Json),
                _,
            ) => Self::Text,
            (_, Some(logical), _) => return Err(format!("{logical:?}")),
            _ => return Err(format!("{physical}")),
        })
    }
}

/// The decoded values, and what is unusual about them.
#[derive(Debug)]
pub(super) struct Values {
    kind: Kind,
    max_level: i16,
    numbers: Vec<f64>,
    texts: Interner,
    long: LongNames,
    column: Column,
    /// The first row whose text is not UTF-8.
    garbled: Option<usize>,
}

/// Rows decoded at a time.
const BATCH: usize = 1 << 14;

impl Values {
    /// `rows` is the expected number of rows.
    pub(super) fn new(kind: Kind, max_level: i16, rows: usize) -> Self {
        let (numbers, texts) = match kind {
            Kind::Boolean | Kind::Number { .. } => (Vec::with_capacity(rows), Interner::default()),
            Kind::Text | Kind::Date | Kind::DateTime { .. } => (Vec::new(), Interner::with_capacity(rows)),
        };
        Self {
            kind,
            max_level,
            numbers,
            texts,
            long: LongNames::default(),
            column: Column::new(Data::Nothing),
            garbled: None,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.numbers.len().max(self.texts.len())
    }

    /// Decodes at most this many rows of a column chunk.
    pub(super) fn read(&mut self, reader: &mut ColumnReader, most: usize) -> Result<(), ParquetError> {
        match reader {
            ColumnReader::BoolColumnReader(r) => {
                self.each(r, most, |v, x| v.number(x.map(|&x| f64::from(u8::from(x))), true))
            }
            ColumnReader::FloatColumnReader(r) => {
                self.each(r, most, |v, x| v.number(x.map(|&x| f64::from(x)), false))
            }
            ColumnReader::DoubleColumnReader(r) => self.doubles(r, most),
            ColumnReader::Int32ColumnReader(r) => self.each(r, most, |v, x| {
                let unsigned = v.kind == Kind::Number { scale: 0, unsigned: true };
                // An unsigned number is stored with the same bits.
                v.integer(x.map(|&x| if unsigned { i128::from(x.cast_unsigned()) } else { i128::from(x) }));
            }),
            ColumnReader::Int64ColumnReader(r) => self.each(r, most, |v, x| {
                let unsigned = v.kind == Kind::Number { scale: 0, unsigned: true };
                v.integer(x.map(|&x| if unsigned { i128::from(x.cast_unsigned()) } else { i128::from(x) }));
            }),
            ColumnReader::Int96ColumnReader(r) => {
                self.each(r, most, |v, x| v.integer(x.map(|x| i128::from(x.to_seconds()))))
            }
            ColumnReader::ByteArrayColumnReader(r) => self.each(r, most, |v, x| v.bytes(x.map(|x| x.data()))),
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                self.each(r, most, |v, x| v.bytes(x.map(|x| x.data())))
            }
        }
    }

    /// Decodes doubles in place. Only where some are null or out of the ordinary is each looked at by itself.
    fn doubles(
        &mut self,
        reader: &mut ColumnReaderImpl<DoubleType>,
        most: usize,
    ) -> Result<(), ParquetError> {
        let mut levels = Vec::new();
        let mut left = most;
        while left > 0 {
            levels.clear();
            let first = self.numbers.len();
            let (records, _, _) =
                reader.read_records(BATCH.min(left), Some(&mut levels), None, &mut self.numbers)?;
            if records == 0 {
                break;
            }
            left -= records;
            let is_plain = |x: &f64| x.abs() < EXACT;
            // Without a branch for each value, so that several are compared at a time.
            let plain = self.numbers[first..].iter().fold(true, |all, x| all & is_plain(x));
            if plain && self.numbers.len() - first == records {
                continue;
            }
            let values = self.numbers.split_off(first);
            self.take_all(records, &levels, &values, |v, x: Option<&f64>| v.number(x.copied(), false))?;
        }
        Ok(())
    }

    /// Passes every row's value, or `None` for a null, to `take`.
    fn each<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        most: usize,
        take: impl Fn(&mut Self, Option<&T::T>),
    ) -> Result<(), ParquetError> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut left = most;
        while left > 0 {
            levels.clear();
            values.clear();
            let (records, _, _) =
                reader.read_records(BATCH.min(left), Some(&mut levels), None, &mut values)?;
            if records == 0 {
                break;
            }
            left -= records;
            self.take_all(records, &levels, &values, &take)?;
        }
        Ok(())
    }

    /// Passes the values of some rows to `take`; those whose level is below the column's are null.
    fn take_all<T>(
        &mut self,
        records: usize,
        levels: &[i16],
        values: &[T],
        take: impl Fn(&mut Self, Option<&T>),
    ) -> Result<(), ParquetError> {
        let mut present = values.iter();
        for row in 0..records {
            let null = self.max_level > 0 && levels.get(row).is_none_or(|level| *level < self.max_level);
            let value = if null { None } else { present.next() };
            if value.is_none() && !null {
                return Err(ParquetError::General("a page has fewer values than rows".to_owned()));
            }
            take(self, value);
        }
        Ok(())
    }

    /// Adds a number; `whole` says that it was a whole number, otherwise it may have lost digits before.
    fn number(&mut self, value: Option<f64>, whole: bool) {
        let row = self.numbers.len();
        let value = value.unwrap_or(f64::NAN);
        if value.is_nan() {
            self.column.note_missing(row, "null");
        } else if value.is_infinite() {
            self.column.note_infinite(row, &value.to_string());
        } else if value.abs() >= EXACT && !whole {
            self.column.note_coarse(row, &number_level(value));
        }
        self.numbers.push(value);
    }

    fn integer(&mut self, value: Option<i128>) {
        let row = self.rows();
        match self.kind {
            Kind::Date => self.text(value.map(|days| date(clamped(days))).as_deref()),
            Kind::DateTime { per_second } => {
                let seconds = value.map(|parts| clamped(parts.div_euclid(i128::from(per_second))));
                self.text(seconds.map(date_time).as_deref());
            }
            Kind::Number { scale, .. } => {
                let number = value.map(|value| value as f64);
                // The double holds the number exactly if converting back gives the same number.
                if let (Some(value), Some(number)) = (value, number)
                    && number as i128 != value
                {
                    self.column.note_inexact(row, &value.to_string());
                    if scale == 0 {
                        self.long.note(row, &value.to_string());
                    }
                }
                let scaled = |number: f64| if scale == 0 { number } else { number / 10f64.powi(scale) };
                self.number(number.map(scaled), scale == 0);
            }
            Kind::Boolean | Kind::Text => self.number(value.map(|value| value as f64), true),
        }
    }

    fn bytes(&mut self, value: Option<&[u8]>) {
        match self.kind {
            Kind::Text => match value.map(std::str::from_utf8).transpose() {
                Ok(text) => self.text(text),
                Err(_) => {
                    self.garbled.get_or_insert(self.texts.len());
                    self.text(None);
                }
            },
            _ => self.integer(value.map(big_endian)),
        }
    }

    fn text(&mut self, value: Option<&str>) {
        let value = value.map(str::trim).filter(|text| !text.is_empty());
        if value.is_none() {
            self.column.note_missing(self.texts.len(), "null");
        }
        self.texts.push(value);
    }

    /// The column, with its type even if it has no value; or the row whose text is not UTF-8.
    pub(super) fn typed(self) -> Result<Column, usize> {
        if let Some(row) = self.garbled {
            return Err(row);
        }
        let rows = self.rows();
        let mut column = self.column;
        column.long = self.long.finish(rows);
        column.data = match self.kind {
            Kind::Number { .. } => Data::Numbers(self.numbers),
            Kind::Boolean => Data::Booleans(self.numbers),
            Kind::Text | Kind::Date | Kind::DateTime { .. } => {
                let (codes, levels) = self.texts.finish();
                Data::Text { codes, levels, dates: self.kind != Kind::Text }
            }
        };
        Ok(column)
    }

    /// The column, or the row whose text is not UTF-8.
    pub(super) fn finish(self) -> Result<Column, usize> {
        let empty = self.column.missing == self.rows();
        let mut column = self.typed()?;
        if empty {
            column.data = Data::Nothing;
        }
        Ok(column)
    }
}

/// Skips rows of a column chunk; returns how many there were.
pub(super) fn skip(reader: &mut ColumnReader, rows: usize) -> Result<usize, ParquetError> {
    match reader {
        ColumnReader::BoolColumnReader(r) => r.skip_records(rows),
        ColumnReader::FloatColumnReader(r) => r.skip_records(rows),
        ColumnReader::DoubleColumnReader(r) => r.skip_records(rows),
        ColumnReader::Int32ColumnReader(r) => r.skip_records(rows),
        ColumnReader::Int64ColumnReader(r) => r.skip_records(rows),
        ColumnReader::Int96ColumnReader(r) => r.skip_records(rows),
        ColumnReader::ByteArrayColumnReader(r) => r.skip_records(rows),
        ColumnReader::FixedLenByteArrayColumnReader(r) => r.skip_records(rows),
    }
}

fn clamped(value: i128) -> i64 {
    // Far beyond any calendar, yet far from overflow.
    const MOST: i64 = i64::MAX / 4;
    i64::try_from(value).unwrap_or(if value < 0 { -MOST } else { MOST }).clamp(-MOST, MOST)
}

/// A number in two's complement, of at most 16 bytes.
fn big_endian(bytes: &[u8]) -> i128 {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if negative { -1i128 } else { 0 };
    bytes.iter().fold(start, |value, byte| (value << 8) | i128::from(*byte))
}
