//! Text cells to a typed column.

use crate::{
    column::{Cell, Column, Data, coded},
    date::is_date,
};

/// A column of text while its cells come in.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    text: String,
    ends: Vec<usize>,
}

/// What one cell reads as.
enum Reading {
    Missing,
    Number,
    Truth,
    Text,
}

impl Cells {
    /// Take in the next cell, already trimmed.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// The column's type.
    ///
    /// Numbers, if every cell that is not missing is one; else booleans, if every one is; else dates,
    /// if every one is; else text. With `comma`, numbers may have a decimal comma, where it cannot be a
    /// thousands separator.
    pub(crate) fn finish(self, comma: bool) -> Column {
        let (mut missing, mut numbers, mut truths) = (0, 0, 0);
        let mut first_text = None;
        for (row, text) in self.iter().enumerate() {
            match read(text) {
                Reading::Missing => missing += 1,
                Reading::Number => numbers += 1,
                Reading::Truth => truths += 1,
                Reading::Text => {
                    first_text.get_or_insert_with(|| Cell { row, text: text.to_owned() });
                }
            }
        }
        let present = self.ends.len() - missing;
        let mut column = if present == 0 {
            Column::new(Data::Nothing)
        } else if numbers == present {
            self.numeric(false)
        } else if truths == present {
            Column::new(Data::Booleans(self.iter().map(truth_or_nan).collect()))
        } else if comma && self.has_decimal_commas() {
            self.numeric(true)
        } else {
            let texts = self.iter().map(|text| (!is_missing(text)).then_some(text));
            let dates = texts.clone().flatten().all(is_date);
            let (codes, levels) = coded(texts);
            let mut column = Column::new(Data::Text { codes, levels, dates });
            column.numbers = numbers;
            // Where text and numbers mix, true/false counts as text.
            let truth = || self.iter().position(|text| truth(text).is_some());
            let cell = |row: usize| Cell { row, text: self.iter().nth(row).unwrap_or_default().to_owned() };
            column.first_text = first_text.or_else(|| truth().map(cell));
            column
        };
        for (row, text) in self.iter().enumerate().filter(|(_, text)| is_missing(text)) {
            column.note_missing(row, text);
        }
        column
    }

    fn numeric(&self, decimal_comma: bool) -> Column {
        let value = |text: &str| match decimal_comma {
            true => text.replacen(',', ".", 1).parse::<f64>(),
            false => text.parse::<f64>(),
        };
        let values: Vec<f64> = self
            .iter()
            .map(|text| if is_missing(text) { f64::NAN } else { value(text).unwrap_or(f64::NAN) })
            .collect();
        let mut column = Column::new(Data::Nothing);
        for ((row, text), value) in self.iter().enumerate().zip(&values) {
            if value.is_infinite() {
                column.note_infinite(row, text);
            } else if loses_digits(text, *value) {
                column.note_inexact(row, text);
            }
        }
        column.data = Data::Numbers(values);
        column.decimal_comma = decimal_comma;
        column
    }

    /// Is every cell a number with at most one comma, and some comma no thousands separator?
    fn has_decimal_commas(&self) -> bool {
        let mut proof = false;
        for text in self.iter().filter(|text| !is_missing(text)) {
            let Some((whole, part)) = text.split_once(',') else {
                if text.parse::<f64>().is_err() {
                    return false;
                }
                continue;
            };
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
            if !unsigned.chars().all(|c| c.is_ascii_digit())
                || text.replacen(',', ".", 1).parse::<f64>().is_err()
            {
                return false;
            }
            proof |= digits != 3 || unsigned.is_empty() || unsigned.starts_with('0') || unsigned.len() > 3;
        }
        proof
    }
}

fn read(text: &str) -> Reading {
    if is_missing(text) {
        return Reading::Missing;
    }
    match (text.parse::<f64>(), truth(text)) {
        (Ok(_), _) => Reading::Number,
        (_, Some(_)) => Reading::Truth,
        _ => Reading::Text,
    }
}

/// The ways to write "no value". A signed NaN is one too.
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

fn truth_or_nan(text: &str) -> f64 {
    truth(text).unwrap_or(f64::NAN)
}

/// Doubles hold every whole number up to here.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Is `text` a whole number in digits that its double does not hold?
fn loses_digits(text: &str, value: f64) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // No literal with all its digits is as long as this.
    let whole = !digits.is_empty() && digits.len() < 400 && digits.bytes().all(|b| b.is_ascii_digit());
    value.abs() >= EXACT && whole && format!("{:.0}", value.abs()) != digits.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::ColumnKind;

    fn column(cells: &[&str]) -> Column {
        let mut reading = Cells::default();
        cells.iter().for_each(|text| reading.push(text));
        reading.finish(true)
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
