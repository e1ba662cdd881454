//! What a table holds, column by column.

use serde::Serialize;

use crate::{
    column::{Column, ColumnKind, Data},
    frame::{mean, standard_deviation},
    table::Table,
};

/// Summary statistics of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableSummary {
    /// The table's name.
    pub name: String,
    /// Its rows.
    pub rows: usize,
    /// Rows without a missing value in any column.
    pub complete_rows: usize,
    /// The columns, in file order.
    pub columns: Vec<ColumnSummary>,
}

/// Summary statistics of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnKind,
    /// Number of cells with a value.
    pub count: usize,
    /// Number of cells without a value.
    pub missing: usize,
    /// Whether all cells with a value have the same one.
    pub constant: bool,
    /// Whether all its numbers are whole.
    pub integer: bool,
    /// Its values.
    pub contents: Contents,
    /// Infinite numbers.
    pub infinite: usize,
    /// Whole numbers with more digits than a double holds.
    pub inexact: usize,
    /// In a column of text: cells that are numbers.
    pub numbers_among_text: usize,
    /// Whether its numbers are written with a decimal comma.
    pub decimal_comma: bool,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "contents", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Contents {
    /// Statistics of the finite numbers.
    Numbers {
        /// The smallest.
        min: f64,
        /// Their mean.
        mean: f64,
        /// Their standard deviation, with n − 1; 0 for a single number.
        sd: f64,
        /// The largest.
        max: f64,
    },
    /// Categories, true/false or dates.
    Levels {
        /// Number of levels.
        levels: usize,
        /// The most frequent levels, with their counts; among equals, the first in order.
        top: Vec<(String, usize)>,
    },
    /// No value in any row.
    Nothing,
}

/// Number of levels listed.
const TOP: usize = 10;

impl Table {
    /// Describes the table. Cost: one pass over the columns.
    ///
    /// ```
    /// use provi_table::{Contents, Table};
    ///
    /// let summary = Table::read(b"x,town\n1,Bern\n3,\n", "t.csv")?.describe();
    /// assert_eq!(summary.columns[0].contents, Contents::Numbers { min: 1.0, mean: 2.0, sd: 2f64.sqrt(), max: 3.0 });
    /// assert_eq!(summary.columns[1].missing, 1);
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn describe(&self) -> TableSummary {
        let columns = self.names().iter().enumerate();
        let complete =
            |row: &usize| (0..self.names().len()).all(|place| !self.column(place).is_missing(*row));
        TableSummary {
            name: self.name().to_owned(),
            rows: self.rows(),
            complete_rows: (0..self.rows()).filter(complete).count(),
            columns: columns.map(|(place, name)| self.column(place).describe(name, self.rows())).collect(),
        }
    }
}

impl Column {
    fn describe(&self, name: &str, rows: usize) -> ColumnSummary {
        let contents = match &self.data {
            Data::Numbers(values) => numbers(values),
            Data::Booleans(values) => {
                let ones = values.iter().filter(|value| **value > 0.5).count();
                let zeros = values.iter().filter(|value| **value < 0.5).count();
                levels(vec![("false".to_owned(), zeros), ("true".to_owned(), ones)])
            }
            Data::Text { codes, levels: names, .. } => {
                let mut counts = vec![0; names.len()];
                codes.iter().flatten().for_each(|&code| counts[code as usize] += 1);
                levels(names.iter().cloned().zip(counts).collect())
            }
            Data::Nothing => Contents::Nothing,
        };
        let constant = match &contents {
            Contents::Numbers { min, max, .. } => min >= max,
            Contents::Levels { levels, .. } => *levels <= 1,
            Contents::Nothing => true,
        };
        let values = self.numbers().unwrap_or_default();
        ColumnSummary {
            name: name.to_owned(),
            kind: self.kind(),
            count: rows - self.missing,
            missing: self.missing,
            constant,
            integer: self.kind() == ColumnKind::Number
                && values.iter().all(|value| value.is_nan() || value.fract().abs() <= 0.0),
            contents,
            infinite: values.iter().filter(|value| value.is_infinite()).count(),
            inexact: self.inexact,
            numbers_among_text: self.numbers,
            decimal_comma: self.decimal_comma,
        }
    }
}

fn numbers(values: &[f64]) -> Contents {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if finite.is_empty() {
        return Contents::Nothing;
    }
    let mean = mean(finite.iter().copied());
    Contents::Numbers {
        min: finite.iter().copied().fold(f64::INFINITY, f64::min),
        mean,
        sd: standard_deviation(&finite, mean),
        max: finite.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

fn levels(mut counts: Vec<(String, usize)>) -> Contents {
    counts.retain(|(_, count)| *count > 0);
    let levels = counts.len();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(TOP);
    Contents::Levels { levels, top: counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_column_is_described() {
        let csv = "x,flag,town,day,none\n1,true,Bern,2024-01-31,\n2.5,false,Basel,2024-02-01,NA\n,true,Bern,2024-02-01,\n";
        let summary = Table::read(csv.as_bytes(), "t.csv").unwrap().describe();
        let kinds: Vec<ColumnKind> = summary.columns.iter().map(|column| column.kind).collect();
        use ColumnKind::{Boolean, Category, Date, Missing, Number};
        assert_eq!(kinds, [Number, Boolean, Category, Date, Missing]);
        assert_eq!(
            (summary.columns[0].count, summary.columns[0].missing, summary.columns[0].integer),
            (2, 1, false)
        );
        let top = |place: usize| match &summary.columns[place].contents {
            Contents::Levels { top, .. } => top.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(top(1), [("true".to_owned(), 2), ("false".to_owned(), 1)]);
        assert_eq!(top(2), [("Bern".to_owned(), 2), ("Basel".to_owned(), 1)]);
        assert_eq!(summary.columns[4].contents, Contents::Nothing);
        assert_eq!(summary.complete_rows, 0);
    }
}
