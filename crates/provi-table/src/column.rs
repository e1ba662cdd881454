//! A column, typed by its cells.

use serde::{Deserialize, Serialize};

use crate::intern::Interner;

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
    /// Dates, with or without times; categories once `factor(..)` says so.
    Date,
    /// Not one value.
    Missing,
}

/// The cells of one column, and what is odd about them.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) data: Data,
    /// Missing cells: how many, and the first.
    pub(crate) missing: usize,
    pub(crate) first_missing: Option<Cell>,
    /// The first infinite number.
    pub(crate) infinite: Option<Cell>,
    /// Whole numbers that a double cannot hold: how many, and the first.
    pub(crate) inexact: usize,
    pub(crate) first_inexact: Option<Cell>,
    /// In a column of text: how many cells are numbers, and the first that is none.
    pub(crate) numbers: usize,
    pub(crate) first_text: Option<Cell>,
    /// Are its numbers written with a decimal comma?
    pub(crate) decimal_comma: bool,
}

/// The values, one per row.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// NaN where missing.
    Numbers(Vec<f64>),
    /// 1, 0, or NaN where missing.
    Booleans(Vec<f64>),
    /// Text by its place among the levels, sorted unless somebody gave them an order.
    Text { codes: Vec<Option<u32>>, levels: Vec<String>, dates: bool },
    /// Nothing, in that many rows.
    Nothing,
}

/// One cell, for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Row of the table, from zero.
    pub(crate) row: usize,
    /// As written in the file.
    pub(crate) text: String,
}

impl Column {
    /// A column of that data with nothing odd about it yet.
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
        }
    }

    /// Note a missing cell.
    pub(crate) fn note_missing(&mut self, row: usize, text: &str) {
        self.missing += 1;
        self.first_missing.get_or_insert_with(|| Cell { row, text: text.to_owned() });
    }

    /// Note a whole number that a double cannot hold.
    pub(crate) fn note_inexact(&mut self, row: usize, text: &str) {
        self.inexact += 1;
        self.first_inexact.get_or_insert_with(|| Cell { row, text: text.to_owned() });
    }

    /// Note an infinite number.
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
            Data::Numbers(values) => (!values[row].is_nan()).then(|| number_level(values[row])),
            Data::Booleans(values) => (!values[row].is_nan()).then(|| (values[row] > 0.5).to_string()),
            Data::Text { codes, levels, .. } => codes[row].map(|code| levels[code as usize].clone()),
            Data::Nothing => None,
        }
    }
}

/// A number as the name of a category: −0 is 0.
pub(crate) fn number_level(value: f64) -> String {
    crate::formula::Short(value + 0.0).to_string()
}

/// Codes of `texts` among their sorted levels.
pub(crate) fn coded<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> (Vec<Option<u32>>, Vec<String>) {
    let mut interner = Interner::with_capacity(texts.size_hint().0);
    texts.for_each(|text| interner.push(text));
    interner.finish()
}
