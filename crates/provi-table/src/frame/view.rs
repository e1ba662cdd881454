//! Some rows of a table: their numbers and their levels.

use std::collections::HashMap;

use super::options::{Dropped, Missing};
use crate::{
    column::{Cell, Column, Data, number_level},
    error::{Error, Result},
    formula::Expression,
    table::Table,
};

/// The rows in use of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) table: &'a Table,
    pub(crate) rows: &'a [usize],
}

/// The rows that have a value in each of `columns`, or an error for those that have not.
pub(crate) fn complete_rows(
    table: &Table,
    columns: &[&str],
    missing: Missing,
) -> Result<(Vec<usize>, Dropped)> {
    let mut gaps = Vec::new();
    for column in columns {
        let place = table.place(column)?;
        let found = table.column(place);
        if let Data::Nothing = found.data {
            table.numbers(place)?;
        }
        match (&found.first_missing, missing) {
            (Some(first), Missing::Error) => return Err(table.missing_error(place, first, found.missing)),
            (Some(_), Missing::Drop) => gaps.push(found),
            (None, _) => {}
        }
    }
    let rows = rows_without_gaps(table.rows(), &gaps);
    let mut counts = Vec::new();
    for column in columns {
        let missing = table.column(table.place(column)?).missing;
        if missing > 0 {
            counts.push(((*column).to_owned(), missing));
        }
    }
    if rows.is_empty() {
        return Err(Error::NoRowsLeft {
            table: table.name().to_owned(),
            rows: table.rows(),
            columns: counts,
        });
    }
    let dropped = Dropped { rows: table.rows() - rows.len(), columns: counts };
    Ok((rows, dropped))
}

impl Table {
    /// The rows that have a value in each column.
    pub(crate) fn complete_rows(&self) -> Vec<usize> {
        let columns = (0..self.names().len()).map(|place| self.column(place));
        rows_without_gaps(self.rows(), &columns.filter(|column| column.missing > 0).collect::<Vec<_>>())
    }
}

/// The rows in which every one of `columns` has a value.
pub(crate) fn rows_without_gaps(rows: usize, columns: &[&Column]) -> Vec<usize> {
    let whole = |row: &usize| !columns.iter().any(|column| column.is_missing(*row));
    (0..rows).filter(whole).collect()
}

impl View<'_> {
    /// Line of the file that row `i` of the view comes from.
    pub(crate) fn line(&self, i: usize) -> usize {
        self.table.lines()[self.rows[i]]
    }

    /// Lines of the file, by row.
    pub(crate) fn lines(&self) -> Vec<usize> {
        (0..self.rows.len()).map(|i| self.line(i)).collect()
    }

    /// The numbers of a column.
    pub(crate) fn numbers(&self, column: &str) -> Result<Vec<f64>> {
        let values = self.table.numbers(self.table.place(column)?)?;
        Ok(self.rows.iter().map(|&row| values[row]).collect())
    }

    /// The values of an expression, all of them finite.
    pub(crate) fn evaluate(&self, x: &Expression) -> Result<Vec<f64>> {
        if let Expression::Column(column) = x {
            return self.numbers(column);
        }
        let mut names = Vec::new();
        x.columns(&mut |name| names.push(name));
        let mut columns: HashMap<&str, &[f64]> = HashMap::new();
        for name in names {
            columns.insert(name, self.table.numbers(self.table.place(name)?)?);
        }
        let mut values = Vec::with_capacity(self.rows.len());
        for (i, &row) in self.rows.iter().enumerate() {
            let value = x.evaluate(&|name| columns.get(name).map_or(f64::NAN, |column| column[row]));
            if !value.is_finite() {
                let mut inputs: Vec<String> = Vec::new();
                x.columns(&mut |name| {
                    let input = format!("{name} is {}", number_level(columns[name][row]));
                    if !inputs.contains(&input) {
                        inputs.push(input);
                    }
                });
                return Err(self.not_finite(&x.to_string(), i, value, inputs.join(", ")));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The refusal of a value that is not finite, in row `i`.
    pub(crate) fn not_finite(&self, term: &str, i: usize, value: f64, inputs: String) -> Error {
        Error::NotFinite {
            table: self.table.name().to_owned(),
            term: term.to_owned(),
            line: self.line(i),
            value: value.to_string().into(),
            inputs: inputs.into(),
            span: None,
        }
    }

    /// The levels that a column has in these rows: numbers in their order, text in that of its column.
    pub(crate) fn levels(&self, column: &str) -> Result<Vec<String>> {
        let place = self.table.place(column)?;
        match &self.table.column(place).data {
            Data::Numbers(_) => {
                let mut values: Vec<f64> = self.numbers(column)?.iter().map(|value| value + 0.0).collect();
                values.sort_unstable_by(f64::total_cmp);
                values.dedup_by(|a, b| a.total_cmp(b).is_eq());
                Ok(values.into_iter().map(number_level).collect())
            }
            Data::Text { codes, levels, .. } => {
                let mut used = vec![false; levels.len()];
                self.rows.iter().filter_map(|&row| codes[row]).for_each(|code| used[code as usize] = true);
                let kept = levels.iter().zip(used).filter(|(_, used)| *used);
                Ok(kept.map(|(level, _)| level.clone()).collect())
            }
            Data::Booleans(_) | Data::Nothing => {
                let mut levels: Vec<String> = self.cells(column)?;
                levels.sort_unstable();
                levels.dedup();
                Ok(levels)
            }
        }
    }

    /// Each row's place among `levels`; `None` where it has another level.
    pub(crate) fn places(&self, column: &str, levels: &[String]) -> Result<Vec<Option<usize>>> {
        let known: HashMap<&str, usize> =
            levels.iter().zip(0..).map(|(level, place)| (level.as_str(), place)).collect();
        let place = self.table.place(column)?;
        let (codes, own) = match &self.table.column(place).data {
            Data::Text { codes, levels: own, .. } => (codes, own),
            Data::Numbers(_) => return self.places_of_numbers(column, &known),
            Data::Booleans(_) | Data::Nothing => {
                return Ok(self
                    .cells(column)?
                    .iter()
                    .map(|cell| known.get(cell.as_str()).copied())
                    .collect());
            }
        };
        // A level is looked up once, not once a row.
        let own: Vec<Option<usize>> = own.iter().map(|level| known.get(level.as_str()).copied()).collect();
        let of_row = |&row: &usize| match codes[row] {
            Some(code) => Ok(own[code as usize]),
            None => Err(self.gap(place, row)),
        };
        self.rows.iter().map(of_row).collect()
    }

    /// A level is the name of a number if the number is called so; other levels fit none.
    fn places_of_numbers(&self, column: &str, known: &HashMap<&str, usize>) -> Result<Vec<Option<usize>>> {
        let number = |level: &str| level.parse::<f64>().ok().filter(|value| number_level(*value) == level);
        let known: HashMap<u64, usize> = known
            .iter()
            .filter_map(|(level, place)| Some(((number(level)? + 0.0).to_bits(), *place)))
            .collect();
        let values = self.numbers(column)?;
        if let Some(i) = values.iter().position(|value| value.is_nan()) {
            return Err(self.gap(self.table.place(column)?, self.rows[i]));
        }
        Ok(values.iter().map(|value| known.get(&(value + 0.0).to_bits()).copied()).collect())
    }

    fn gap(&self, place: usize, row: usize) -> Error {
        let first = Cell { row, text: String::new() };
        self.table.missing_error(place, &first, self.table.column(place).missing)
    }

    /// The cells of a column as names of categories.
    pub(crate) fn cells(&self, column: &str) -> Result<Vec<String>> {
        let place = self.table.place(column)?;
        let found = self.table.column(place);
        // An infinite number is no category either.
        if found.numbers().is_some() {
            self.table.numbers(place)?;
        }
        let cell = |&row: &usize| found.level(row).ok_or_else(|| self.gap(place, row));
        self.rows.iter().map(cell).collect()
    }
}
