//! Cells of a known type to values.

use super::{is_missing, tally::CellKind, truth};
use crate::{
    column::{Cell, Column, ColumnKind, Data},
    intern::Interner,
};

/// A column of a known type while its cells come in. Memory: eight bytes a cell, and each text once.
#[derive(Debug)]
pub(crate) struct TypedCells {
    kind: CellKind,
    values: Vec<f64>,
    texts: Interner,
    column: Column,
    rows: usize,
    stranger: Option<Cell>,
}

impl TypedCells {
    /// `rows` are expected.
    pub(crate) fn new(kind: CellKind, rows: usize) -> Self {
        let (values, texts) = match kind.kind {
            ColumnKind::Number | ColumnKind::Boolean => (Vec::with_capacity(rows), Interner::default()),
            ColumnKind::Category | ColumnKind::Date => (Vec::new(), Interner::with_capacity(rows)),
            ColumnKind::Missing => (Vec::new(), Interner::default()),
        };
        let column = Column::new(Data::Nothing);
        Self { kind, values, texts, column, rows: 0, stranger: None }
    }

    /// Take in the next cell, already trimmed.
    pub(crate) fn push(&mut self, text: &str) {
        let row = self.rows;
        self.rows += 1;
        let missing = is_missing(text);
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
            } else if loses_digits(text, value) {
                self.column.note_inexact(row, text);
            }
        }
        if self.kind.kind != ColumnKind::Missing {
            self.values.push(value);
        }
    }

    /// The first cell that is not of the type.
    pub(crate) fn stranger(&self) -> Option<&Cell> {
        self.stranger.as_ref()
    }

    /// The column, if no cell is a stranger.
    pub(crate) fn finish(self) -> Column {
        let mut column = self.column;
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

/// Doubles hold every whole number up to here.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Is `text` a whole number in digits that its double does not hold?
fn loses_digits(text: &str, value: f64) -> bool {
    if value.abs() < EXACT {
        return false;
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // No literal with all its digits is as long as this.
    let whole = !digits.is_empty() && digits.len() < 400 && digits.bytes().all(|b| b.is_ascii_digit());
    whole && format!("{:.0}", value.abs()) != digits.trim_start_matches('0')
}
