//! From text cells to a typed column.

mod tally;
mod typed;
mod words;

pub(crate) use tally::{CellKind, Spot, Tally};
pub(crate) use typed::{TypedCells, whole_name};
pub(crate) use words::{EXACT, MissingWords};

use crate::column::{Cell, Column, ColumnKind, TypedBy};

/// A column of text that is being read.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    text: String,
    ends: Vec<usize>,
}

impl Cells {
    /// Adds the next cell, already trimmed.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// The column, of the type that [`Tally::kind`] gives.
    pub(crate) fn finish(self, comma: bool, words: &MissingWords) -> Column {
        let mut tally = Tally::default();
        self.iter().enumerate().for_each(|(row, text)| tally.see(text, words, 0, row));
        let kind = tally.kind(comma);
        let mut typed = TypedCells::new(kind, self.ends.len());
        self.iter().for_each(|text| typed.push(text, words));
        let mut column = typed.finish();
        column.typed_by = TypedBy::Cells { comma };
        if let ColumnKind::Category | ColumnKind::Date = kind.kind {
            column.numbers = tally.numbers;
            column.first_text =
                tally.first_text().map(|spot| Cell { row: spot.line, text: spot.text.clone() });
        }
        column
    }
}

/// Whether the text means "no value". A signed NaN counts too.
fn is_missing(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(text, "" | "." | "?")
        || ["na", "n/a", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
        || unsigned.eq_ignore_ascii_case("nan")
}

fn truth(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case("true") {
        Some(1.0)
    } else if text.eq_ignore_ascii_case("false") {
        Some(0.0)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Cell, ColumnKind, Data};

    fn column(cells: &[&str]) -> Column {
        let mut reading = Cells::default();
        cells.iter().for_each(|text| reading.push(text));
        reading.finish(true, &MissingWords::default())
    }

    fn numbers(cells: &[&str]) -> Vec<f64> {
        column(cells).numbers().unwrap().to_vec()
    }

    #[test]
    fn numbers_are_read_to_the_nearest_double() {
        let values = numbers(&["0.1", "-3", "+1e3", "5.", ".5", "2.2250738585072011e-308"]);
        assert_eq!(values, [0.1, -3.0, 1000.0, 5.0, 0.5, 2.225_073_858_507_201e-308]);
    }

    #[test]
    fn true_and_false_are_one_and_zero() {
        let column = column(&["true", "FALSE", "True", ""]);
        assert_eq!(column.kind(), ColumnKind::Boolean);
        assert_eq!(&column.numbers().unwrap()[..3], [1.0, 0.0, 1.0]);
        assert_eq!((column.level(0), column.level(3)), (Some("true".to_owned()), None));
    }

    #[test]
    fn true_among_numbers_is_text() {
        let column = column(&["3.5", "true"]);
        assert_eq!(column.kind(), ColumnKind::Category);
        assert_eq!((column.numbers, column.first_text.unwrap().row), (1, 1));
    }

    #[test]
    fn text_is_coded_by_sorted_levels() {
        let column = column(&["red", "blue", "NA", "red"]);
        let Data::Text { codes, levels, dates: false } = &column.data else { panic!() };
        assert_eq!(levels, &["blue", "red"]);
        assert_eq!(codes, &[Some(1), Some(0), None, Some(1)]);
    }

    #[test]
    fn every_spelling_of_missing_is_counted() {
        let spellings = ["", "NA", "NaN", "nan", "null", "NULL", ".", "?", "-nan", "N/A"];
        let column = column(&spellings);
        assert_eq!((column.kind(), column.missing), (ColumnKind::Missing, 10));
        assert_eq!(column.first_missing.unwrap().row, 0);
    }

    #[test]
    fn overflow_is_infinite_not_text() {
        assert_eq!(column(&["1", "1e999"]).infinite, Some(Cell { row: 1, text: "1e999".into() }));
        assert_eq!(column(&["-inf", "2"]).infinite.unwrap().row, 0);
    }

    #[test]
    fn a_whole_number_that_no_double_holds_is_noted() {
        let column = column(&["9007199254740992", "9007199254740993", "-18446744073709551617", "1e300"]);
        assert_eq!((column.inexact, column.first_inexact.unwrap().row), (2, 1));
    }

    #[test]
    fn a_decimal_comma_counts_where_it_is_no_thousands_separator() {
        assert_eq!(numbers(&["1,5", "-2", "0,125"]), [1.5, -2.0, 0.125]);
        assert!(column(&["1,5"]).decimal_comma);
        assert_eq!(column(&["1,500", "2,250"]).kind(), ColumnKind::Category);
        assert_eq!(column(&["1,5", "a"]).kind(), ColumnKind::Category);
    }

    #[test]
    fn dates_are_no_numbers_and_no_plain_text() {
        assert_eq!(column(&["2024-01-31", "", "2024-02-01"]).kind(), ColumnKind::Date);
        assert_eq!(column(&["2024-01-31", "soon"]).kind(), ColumnKind::Category);
    }
}
