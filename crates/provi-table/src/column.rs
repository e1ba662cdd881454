//! A column, typed by its cells.

/// What the cells of one column amount to.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// Finite numbers, or true/false as 1/0.
    Numeric(Vec<f64>),
    /// Some cell is text; the first of them.
    Text(Cell),
    /// Numbers, but for some missing values.
    Missing {
        /// The first of them.
        first: Cell,
        /// How many.
        count: usize,
    },
    /// Numbers, of which one is infinite; the first.
    Infinite(Cell),
}

/// One cell, for an error message.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Row of the table, from zero.
    pub(crate) row: usize,
    /// As written in the file.
    pub(crate) text: String,
}

/// A column while its cells come in.
///
/// A value is kept only while it can still be used: the first fault ends the numbers.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    values: Vec<f64>,
    number: bool,
    boolean: Option<Cell>,
    text: Option<Cell>,
    missing: Option<Cell>,
    missing_count: usize,
    infinite: Option<Cell>,
}

impl Cells {
    /// Take in the next cell, already trimmed.
    pub(crate) fn push(&mut self, row: usize, text: &str) {
        if self.text.is_some() {
            return;
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.number = true;
                self.values.push(value);
            }
            Ok(value) if value.is_infinite() => note(&mut self.infinite, row, text),
            _ if is_missing(text) => {
                self.missing_count += 1;
                note(&mut self.missing, row, text);
            }
            _ => match truth(text) {
                Some(value) => {
                    note(&mut self.boolean, row, text);
                    self.values.push(value);
                }
                None => {
                    note(&mut self.text, row, text);
                    self.values = Vec::new();
                }
            },
        }
    }

    /// The column's type. True/false among other numbers is text: it cannot mean 1/0 there.
    pub(crate) fn finish(self) -> Column {
        let mixed = self.boolean.filter(|_| self.number);
        if let Some(cell) = self.text.or(mixed) {
            Column::Text(cell)
        } else if let Some(first) = self.missing {
            Column::Missing { first, count: self.missing_count }
        } else if let Some(cell) = self.infinite {
            Column::Infinite(cell)
        } else {
            Column::Numeric(self.values)
        }
    }
}

fn note(slot: &mut Option<Cell>, row: usize, text: &str) {
    slot.get_or_insert_with(|| Cell { row, text: text.to_owned() });
}

/// The ways to write "no value". A signed NaN is one too.
fn is_missing(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(text, "" | "." | "?")
        || ["na", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
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

    fn column(cells: &[&str]) -> Column {
        let mut reading = Cells::default();
        for (row, text) in cells.iter().enumerate() {
            reading.push(row, text);
        }
        reading.finish()
    }

    #[test]
    fn numbers_are_read_to_the_nearest_double() {
        let Column::Numeric(values) = column(&["0.1", "-3", "+1e3", "5.", ".5", "2.2250738585072011e-308"])
        else {
            panic!()
        };
        assert_eq!(values, [0.1, -3.0, 1000.0, 5.0, 0.5, 2.225_073_858_507_201e-308]);
    }

    #[test]
    fn true_and_false_are_one_and_zero() {
        assert!(matches!(column(&["true", "FALSE", "True"]), Column::Numeric(v) if v == [1.0, 0.0, 1.0]));
    }

    #[test]
    fn yes_and_no_are_text() {
        assert!(matches!(column(&["yes", "no"]), Column::Text(Cell { row: 0, .. })));
    }

    #[test]
    fn true_among_numbers_is_text() {
        assert!(matches!(column(&["3.5", "true"]), Column::Text(Cell { row: 1, .. })));
        assert!(matches!(column(&["true", "3.5"]), Column::Text(Cell { row: 0, .. })));
    }

    #[test]
    fn every_spelling_of_missing_is_counted() {
        let spellings = ["", "NA", "NaN", "nan", "null", "NULL", ".", "?", "-nan"];
        assert!(matches!(column(&spellings), Column::Missing { count: 9, first: Cell { row: 0, .. } }));
    }

    #[test]
    fn text_outranks_a_missing_value_before_it() {
        assert!(matches!(column(&["NA", "1", "red"]), Column::Text(Cell { row: 2, text }) if text == "red"));
    }

    #[test]
    fn overflow_is_infinite_not_text() {
        assert!(
            matches!(column(&["1", "1e999"]), Column::Infinite(Cell { row: 1, text }) if text == "1e999")
        );
        assert!(matches!(column(&["-inf"]), Column::Infinite(_)));
    }
}
