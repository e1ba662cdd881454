//! A column, with a type found from its cells.

use serde::{Deserialize, Serialize};

use crate::{formula::Short, intern::Interner};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// true/false, which count as 1/0.
    Boolean,
    /// Text: categories.
    Category,
    /// Dates, with or without times; `factor(..)` turns them into categories.
    Date,
    /// No value in any row.
    Missing,
}

/// The cells of one column, and what is unusual about them.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) data: Data,
    /// Missing cells: their number, and the first one.
    pub(crate) missing: usize,
    pub(crate) first_missing: Option<Cell>,
    /// The first infinite number.
    pub(crate) infinite: Option<Cell>,
    /// Whole numbers that a double cannot hold: their number, and the first one.
    pub(crate) inexact: usize,
    pub(crate) first_inexact: Option<Cell>,
    /// In a column of text: how many cells are numbers, and the first cell that is not.
    pub(crate) numbers: usize,
    pub(crate) first_text: Option<Cell>,
    /// Whether its numbers are written with a decimal comma.
    pub(crate) decimal_comma: bool,
    /// For numbers: the digits of those that no double holds.
    pub(crate) long: Option<Long>,
    /// Numbers of at least 2⁵³ that are not written as whole numbers: how many, and the first one.
    pub(crate) coarse: usize,
    pub(crate) first_coarse: Option<Cell>,
    /// For dates that are used as numbers: days since 1970, NaN where missing.
    pub(crate) days: Option<Vec<f64>>,
    pub(crate) typed_by: TypedBy,
    /// Whether the order of its levels means something.
    pub(crate) ordered: bool,
}

/// Who determines the type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypedBy {
    /// The text of its cells; with `comma`, numbers may have a decimal comma.
    Cells { comma: bool },
    /// The owner of the data; no cell changes it.
    Owner,
}

/// Whole numbers that no double holds, by their digits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Long {
    /// One per row; `None` if the double is the exact number.
    pub(crate) codes: Vec<Option<u32>>,
    pub(crate) levels: Vec<String>,
}

/// The same while cells are being read.
#[derive(Debug, Default)]
pub(crate) struct LongNames(Option<Interner>);

impl LongNames {
    /// Records the digits of the number in a row; rows must come in order.
    pub(crate) fn note(&mut self, row: usize, digits: &str) {
        let names = self.0.get_or_insert_default();
        while names.len() < row {
            names.push(None);
        }
        names.push(Some(digits));
    }

    pub(crate) fn finish(self, rows: usize) -> Option<Long> {
        let mut names = self.0?;
        while names.len() < rows {
            names.push(None);
        }
        let (codes, levels) = names.finish();
        Some(Long { codes, levels })
    }
}

impl Long {
    /// The digits of the number in a row.
    pub(crate) fn name(&self, row: usize) -> Option<&str> {
        self.codes[row].map(|code| self.levels[code as usize].as_str())
    }
}

/// The values, one per row.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// NaN where missing.
    Numbers(Vec<f64>),
    /// 1, 0, or NaN where missing.
    Booleans(Vec<f64>),
    /// The index of each text among the levels, which are sorted unless they were given an order.
    Text { codes: Vec<Option<u32>>, levels: Vec<String>, dates: bool },
    /// No value in any row.
    Nothing,
}

/// One cell, for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Row of the table, from zero.
    pub(crate) row: usize,
    /// The text as written in the file.
    pub(crate) text: String,
}

impl Column {
    /// A column of that data, with nothing unusual recorded yet.
    pub(crate) fn new(data: Data) -> Self {
        Self {
            data,
            missing: 0,
            first_missing: None,
            infinite: None,
            inexact: 0,
            first_inexact: None,
            numbers: 0,
            first_text: None,
            decimal_comma: false,
            long: None,
            coarse: 0,
            first_coarse: None,
            days: None,
            typed_by: TypedBy::Owner,
            ordered: false,
        }
    }

    /// Records a missing cell.
    pub(crate) fn note_missing(&mut self, row: usize, text: &str) {
        self.missing += 1;
        self.first_missing.get_or_insert_with(|| Cell { row, text: text.to_owned() });
    }

    /// Records a whole number that a double cannot hold.
    pub(crate) fn note_inexact(&mut self, row: usize, text: &str) {
        self.inexact += 1;
        self.first_inexact.get_or_insert_with(|| Cell { row, text: text.to_owned() });
    }

    /// Records a number of at least 2⁵³ that may have lost digits before.
    pub(crate) fn note_coarse(&mut self, row: usize, text: &str) {
        self.coarse += 1;
        self.first_coarse.get_or_insert_with(|| Cell { row, text: text.to_owned() });
    }

    /// Records an infinite number.
    pub(crate) fn note_infinite(&mut self, row: usize, text: &str) {
        self.infinite.get_or_insert_with(|| Cell { row, text: text.to_owned() });
    }

    pub(crate) fn kind(&self) -> ColumnKind {
        match &self.data {
            Data::Numbers(_) => ColumnKind::Number,
            Data::Booleans(_) => ColumnKind::Boolean,
            Data::Text { dates: false, .. } => ColumnKind::Category,
            Data::Text { dates: true, .. } => ColumnKind::Date,
            Data::Nothing => ColumnKind::Missing,
        }
    }

    pub(crate) fn is_missing(&self, row: usize) -> bool {
        match &self.data {
            Data::Numbers(values) | Data::Booleans(values) => values[row].is_nan(),
            Data::Text { codes, .. } => codes[row].is_none(),
            Data::Nothing => true,
        }
    }

    /// The numbers, NaN where missing; `None` for text.
    pub(crate) fn numbers(&self) -> Option<&[f64]> {
        match &self.data {
            Data::Numbers(values) | Data::Booleans(values) => Some(values),
            Data::Text { .. } | Data::Nothing => None,
        }
    }

    /// The cell as the name of a category; `None` where missing.
    pub(crate) fn level(&self, row: usize) -> Option<String> {
        match &self.data {
            Data::Numbers(values) => (!values[row].is_nan()).then(|| {
                let digits = self.long.as_ref().and_then(|long| long.name(row));
                digits.map_or_else(|| number_level(values[row]), str::to_owned)
            }),
            Data::Booleans(values) => (!values[row].is_nan()).then(|| (values[row] > 0.5).to_string()),
            Data::Text { codes, levels, .. } => codes[row].map(|code| levels[code as usize].clone()),
            Data::Nothing => None,
        }
    }
}

/// The name of a number as a category: −0 is 0, and a whole number has all its digits.
pub(crate) fn number_level(value: f64) -> String {
    let value = value + 0.0;
    match value.fract().abs() <= 0.0 && value.abs() < 1e21 {
        true => format!("{value:.0}"),
        false => Short(value).to_string(),
    }
}

/// The name that earlier versions gave to a number of at least 10¹⁵; stored fits may have such names.
pub(crate) fn former_level(value: f64) -> Option<String> {
    let former = Short(value + 0.0).to_string();
    (former != number_level(value)).then_some(former)
}

/// A sort key for the names of numbers: by value, and by digits if two share a double.
pub(crate) fn number_order(level: &str) -> (i64, i128) {
    let bits = level.parse::<f64>().unwrap_or(f64::NAN).to_bits().cast_signed();
    // The order of `total_cmp`, as a whole number.
    (bits ^ (((bits >> 63).cast_unsigned() >> 1).cast_signed()), level.parse().unwrap_or(0))
}

/// The indices of `texts` among their sorted levels.
pub(crate) fn coded<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> (Vec<Option<u32>>, Vec<String>) {
    let mut interner = Interner::with_capacity(texts.size_hint().0);
    texts.for_each(|text| interner.push(text));
    interner.finish()
}
