//! From cells to values of a known type.

use super::{EXACT, MissingWords, tally::CellKind, truth};
use crate::{
    column::{Cell, Column, ColumnKind, Data, LongNames, number_level},
    intern::Interner,
};

/// A column of a known type that is being read. Memory: eight bytes per cell, and each distinct text once.
#[derive(Debug)]
pub(crate) struct TypedCells {
    kind: CellKind,
    values: Vec<f64>,
    texts: Interner,
    long: LongNames,
    column: Column,
    rows: usize,
    stranger: Option<Cell>,
}

impl TypedCells {
    /// `rows` is the expected number of rows.
    pub(crate) fn new(kind: CellKind, rows: usize) -> Self {
        let (values, texts) = match kind.kind {
            ColumnKind::Number | ColumnKind::Boolean => (Vec::with_capacity(rows), Interner::default()),
            ColumnKind::Category | ColumnKind::Date => (Vec::new(), Interner::with_capacity(rows)),
            ColumnKind::Missing => (Vec::new(), Interner::default()),
        };
        let column = Column::new(Data::Nothing);
        Self { kind, values, texts, long: LongNames::default(), column, rows: 0, stranger: None }
    }

    /// Adds the next cell, already trimmed.
    pub(crate) fn push(&mut self, text: &str, words: &MissingWords) {
        let row = self.rows;
        self.rows += 1;
        let missing = words.mean_missing(text);
        if missing {
            self.column.note_missing(row, text);
        }
        let value = match self.kind.kind {
            ColumnKind::Category | ColumnKind::Date => {
                self.texts.push((!missing).then_some(text));
                return;
            }
            ColumnKind::Missing => missing.then_some(f64::NAN),
            _ if missing => Some(f64::NAN),
            ColumnKind::Boolean => truth(text),
            ColumnKind::Number if self.kind.decimal_comma => text.replacen(',', ".", 1).parse().ok(),
            ColumnKind::Number => text.parse().ok(),
        };
        let Some(value) = value else {
            self.stranger.get_or_insert_with(|| Cell { row, text: text.to_owned() });
            return;
        };
        if self.kind.kind == ColumnKind::Number {
            if value.is_infinite() {
                self.column.note_infinite(row, text);
            } else if value.abs() >= EXACT {
                self.note_large(row, text, value);
            }
        }
        if self.kind.kind != ColumnKind::Missing {
            self.values.push(value);
        }
    }

    /// Records a number of at least 2⁵³: a whole number keeps its digits as its name; any other may have lost
    /// digits before.
    fn note_large(&mut self, row: usize, text: &str, value: f64) {
        match whole_name(text) {
            Some(name) if name == number_level(value) => {}
            Some(name) => {
                self.column.note_inexact(row, text);
                self.long.note(row, &name);
            }
            None => self.column.note_coarse(row, text),
        }
    }

    /// The first cell that is not of the type.
    pub(crate) fn stranger(&self) -> Option<&Cell> {
        self.stranger.as_ref()
    }

    /// The column, if every cell is of the type.
    pub(crate) fn finish(self) -> Column {
        let mut column = self.column;
        column.long = self.long.finish(self.rows);
        column.data = match self.kind.kind {
            ColumnKind::Number => Data::Numbers(self.values),
            ColumnKind::Boolean => Data::Booleans(self.values),
            ColumnKind::Category | ColumnKind::Date => {
                let (codes, levels) = self.texts.finish();
                Data::Text { codes, levels, dates: self.kind.kind == ColumnKind::Date }
            }
            ColumnKind::Missing => Data::Nothing,
        };
        column.decimal_comma = self.kind.decimal_comma;
        column
    }
}

/// The name of a whole number as a category: its digits without `+` and leading zeros; `None` for any other text.
pub(crate) fn whole_name(text: &str) -> Option<String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let short = digits.trim_start_matches('0');
    let sign = if text.starts_with('-') && !short.is_empty() { "-" } else { "" };
    Some(format!("{sign}{}", if short.is_empty() { "0" } else { short }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_named_by_its_digits() {
        for (text, name) in [("007", "7"), ("+12", "12"), ("-0", "0"), ("-40", "-40"), ("000", "0")] {
            assert_eq!(whole_name(text).as_deref(), Some(name), "{text}");
        }
        for text in ["", "-", "1e3", "1.0", "0x1", "١"] {
            assert_eq!(whole_name(text), None, "{text}");
        }
    }
}
