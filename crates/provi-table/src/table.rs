//! A table: named columns, and the line of the file each row comes from.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use crate::{
    cells::MissingWords,
    column::{Cell, Column, ColumnKind, Data},
    error::{BadDates, BadFile, BadValue, Error, Result, UnfitColumn},
    missing::Retype,
    nearest::nearest,
};

/// Columns of equal length under distinct names: numbers, true/false, categories or dates.
///
/// A column with missing values or an infinity may be in the table; whether that is an error is decided when the
/// column is used.
///
/// ```
/// use provi_table::{ColumnKind, Table};
///
/// let table = Table::read(b"id;x\nfirst;0.5\nsecond;2\n", "points.csv")?;
/// assert_eq!(table.names(), ["id", "x"]);
/// assert_eq!(table.rows(), 2);
/// assert_eq!(table.numeric("x")?, [0.5, 2.0]);
/// assert_eq!(table.kind("id"), Some(ColumnKind::Category));
/// assert_eq!(
///     table.numeric("id").unwrap_err().to_string(),
///     "column `id` of `points.csv` holds text, `first` on line 2, \
///      where numbers or true/false are needed; recode it, or leave it out"
/// );
/// # Ok::<(), provi_table::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    name: String,
    names: Vec<String>,
    places: HashMap<String, usize>,
    columns: Vec<Arc<Column>>,
    lines: Arc<[usize]>,
}

impl Table {
    /// `columns` are in the order of `names`, and each has a row for each of `lines`.
    pub(crate) fn new(
        name: String,
        names: Vec<String>,
        columns: Vec<Column>,
        lines: Vec<usize>,
    ) -> Result<Self> {
        let places = places(&names, &name)?;
        let columns = columns.into_iter().map(Arc::new).collect();
        Ok(Self { name, names, places, columns, lines: lines.into() })
    }

    /// The table's name in messages: its path, if it comes from a file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the columns, in file order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of rows, not counting the header; at least one.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// Line of the file on which a row starts (from 1), if there is such a row; in a Parquet file, which has no
    /// lines, the row itself, from 1.
    pub fn line_of_row(&self, row: usize) -> Option<usize> {
        self.lines.get(row).copied()
    }

    /// The type of a column, if there is one of that name.
    pub fn kind(&self, column: &str) -> Option<ColumnKind> {
        self.places.get(column).map(|&place| self.columns[place].kind())
    }

    /// The values of a column, all of them finite numbers; true/false as 1/0.
    pub fn numeric(&self, column: &str) -> Result<&[f64]> {
        let place = self.place(column)?;
        let values = self.numbers(place)?;
        let column = &self.columns[place];
        match &column.first_missing {
            Some(first) => Err(self.missing_error(place, first, column.missing)),
            None => Ok(values),
        }
    }

    /// A cell as the name of a category, if it exists and is not missing.
    pub fn level(&self, column: &str, row: usize) -> Option<String> {
        let place = *self.places.get(column)?;
        if row < self.rows() { self.columns[place].level(row) } else { None }
    }

    /// The table in which these words mean "no value" too, besides the usual ones (an empty cell, `NA`, `NaN`,
    /// `null`, `n/a`, `.`, `?`). A number matches by its value: `-9` also matches `-9.0`.
    ///
    /// ```
    /// use provi_table::{ColumnKind, Table};
    ///
    /// let table = Table::read(b"x\n1.5\nnone\n2\n", "t.csv")?;
    /// assert_eq!(table.kind("x"), Some(ColumnKind::Category));
    /// assert_eq!(table.with_na(&["none".to_owned()]).kind("x"), Some(ColumnKind::Number));
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn with_na(&self, words: &[String]) -> Cow<'_, Self> {
        self.with_missing(&MissingWords::new(words), Retype::Whole)
    }

    pub(crate) fn lines(&self) -> &[usize] {
        &self.lines
    }

    pub(crate) fn column(&self, place: usize) -> &Column {
        &self.columns[place]
    }

    /// The same table with some columns replaced. Cost: that of the columns' names.
    pub(crate) fn with_columns(&self, changed: Vec<(usize, Column)>) -> Self {
        let mut table = self.clone();
        changed.into_iter().for_each(|(place, column)| table.columns[place] = Arc::new(column));
        table
    }

    /// Index of the column of that name.
    pub(crate) fn place(&self, column: &str) -> Result<usize> {
        self.places.get(column).copied().ok_or_else(|| {
            Error::Column(UnfitColumn::UnknownColumn {
                table: self.name.clone(),
                column: column.to_owned(),
                nearest: nearest(column, self.names.iter().map(String::as_str)).map(Into::into),
                available: self.names.clone().into(),
                span: None,
            })
        })
    }

    /// The numbers of the column at `place`, NaN where missing, none of them infinite.
    pub(crate) fn numbers(&self, place: usize) -> Result<&[f64]> {
        let column = &self.columns[place];
        let (table, name) = (|| self.name.clone(), || self.names[place].clone());
        if let Some(cell) = &column.infinite {
            let (line, found) = self.found(cell);
            return Err(Error::Value(BadValue::InfiniteValue {
                table: table(),
                column: name(),
                line,
                found,
                span: None,
            }));
        }
        match &column.data {
            Data::Numbers(values) | Data::Booleans(values) => Ok(values),
            Data::Text { dates: true, .. } if column.days.is_some() => {
                Ok(column.days.as_deref().unwrap_or_default())
            }
            Data::Text { dates, .. } => {
                let first = (0..self.rows()).find_map(|row| column.level(row).map(|text| Cell { row, text }));
                let cell =
                    column.first_text.clone().or(first).unwrap_or(Cell { row: 0, text: String::new() });
                let (line, found) = self.found(&cell);
                Err(match dates {
                    true => Error::Dates(BadDates::DateColumn {
                        table: table(),
                        column: name(),
                        line,
                        found,
                        span: None,
                    }),
                    false => Error::Column(UnfitColumn::TextColumn {
                        table: table(),
                        column: name(),
                        line,
                        found,
                        span: None,
                    }),
                })
            }
            Data::Nothing => {
                Err(Error::Column(UnfitColumn::EmptyColumn { table: table(), column: name(), span: None }))
            }
        }
    }

    /// Line and text of a cell.
    pub(crate) fn found(&self, cell: &Cell) -> (usize, String) {
        (self.lines[cell.row], cell.text.clone())
    }

    pub(crate) fn missing_error(&self, place: usize, first: &Cell, count: usize) -> Error {
        let (line, found) = self.found(first);
        Error::Value(BadValue::MissingValue {
            table: self.name.clone(),
            column: self.names[place].clone(),
            line,
            found: found.into(),
            count,
            span: None,
        })
    }
}

/// The index of each name; empty and repeated names are refused.
pub(crate) fn places(names: &[String], table: &str) -> Result<HashMap<String, usize>> {
    let mut places = HashMap::new();
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::File(BadFile::UnnamedColumn { table: table.to_owned(), position: place + 1 }));
        }
        if let Some(first) = places.insert(name.clone(), place) {
            return Err(Error::File(BadFile::DuplicateColumn {
                table: table.to_owned(),
                column: name.clone(),
                first: first + 1,
                second: place + 1,
            }));
        }
    }
    Ok(places)
}
