//! Columns of dates as numbers: days since the start of 1970.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    column::{Column, Data},
    date::{DateForms, DateOrder, days},
    error::{BadDates, Error, Result},
    table::Table,
};

/// A column of dates that counts as days since 1970-01-01.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DateColumn {
    /// The column.
    pub column: String,
    /// How its dates are written.
    pub order: DateOrder,
}

impl Table {
    /// How the dates of some columns are written; a column that may be read in two ways is refused.
    pub(crate) fn date_columns(&self, names: &[String]) -> Result<Vec<DateColumn>> {
        let of = |name: &String| {
            let column = self.column(self.place(name)?);
            let Data::Text { levels, .. } = &column.data else { return Err(self.no_dates(name)) };
            let forms = levels.iter().filter_map(|level| DateForms::of(level));
            match forms.fold(DateForms::default(), DateForms::merge).order() {
                Some(order) => Ok(DateColumn { column: name.clone(), order }),
                None => {
                    let (line, found) = self.first_cell(column);
                    Err(ambiguous(self.name(), name, line, &found))
                }
            }
        };
        names.iter().map(of).collect()
    }

    /// The table in which some columns of dates can be used as numbers.
    pub(crate) fn with_days(&self, dates: &[DateColumn]) -> Result<Cow<'_, Self>> {
        let mut changed = Vec::new();
        for DateColumn { column: name, order } in dates {
            let place = self.place(name)?;
            let column = self.column(place);
            let numbers = match &column.data {
                Data::Text { codes, levels, dates: true } => {
                    let levels: Vec<Option<f64>> = levels.iter().map(|level| days(level, *order)).collect();
                    let bad = |code: &Option<u32>| code.is_some_and(|code| levels[code as usize].is_none());
                    if let Some(row) = codes.iter().position(bad) {
                        return Err(Error::Dates(BadDates::BadDate {
                            table: self.name().to_owned(),
                            column: name.clone(),
                            line: self.lines()[row],
                            found: column.level(row).unwrap_or_default(),
                            span: None,
                        }));
                    }
                    let day = |code: &Option<u32>| code.and_then(|code| levels[code as usize]);
                    codes.iter().map(|code| day(code).unwrap_or(f64::NAN)).collect()
                }
                // Whatever is wrong with it is said by whoever uses it.
                Data::Nothing | Data::Text { dates: false, .. } => continue,
                Data::Numbers(_) | Data::Booleans(_) => return Err(self.no_dates(name)),
            };
            changed.push((place, Column { days: Some(numbers), ..column.clone() }));
        }
        Ok(if changed.is_empty() { Cow::Borrowed(self) } else { Cow::Owned(self.with_columns(changed)) })
    }

    fn no_dates(&self, name: &str) -> Error {
        let (line, found) =
            self.place(name).map_or((1, String::new()), |place| self.first_cell(self.column(place)));
        let (table, column) = (self.name().to_owned(), name.to_owned());
        Error::Dates(BadDates::NoDates { table, column, line, found, span: None })
    }

    fn first_cell(&self, column: &Column) -> (usize, String) {
        let cell = |row: usize| column.level(row).map(|text| (self.lines()[row], text));
        (0..self.rows()).find_map(cell).unwrap_or((1, String::new()))
    }
}

/// The refusal of dates that may be read in two ways.
pub(crate) fn ambiguous(table: &str, column: &str, line: usize, found: &str) -> Error {
    let (table, column, found) = (table.to_owned(), column.to_owned(), found.to_owned());
    Error::Dates(BadDates::AmbiguousDates { table, column, line, found, span: None })
}
