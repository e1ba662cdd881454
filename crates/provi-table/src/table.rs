//! A table: named columns, and the line of the file each row comes from.

use std::{collections::HashMap, sync::Arc};

use crate::{
    column::{Cell, Column},
    error::{Error, Result},
    nearest::nearest,
};

/// Columns of equal length under distinct names, each numeric or text.
///
/// A numeric column holds finite numbers, or true/false (capitals aside) as 1/0. A column with text,
/// a missing value or an infinity may be in the table; it is refused when it is asked for as numbers.
///
/// ```
/// use provi_table::Table;
///
/// let table = Table::from_csv_bytes(b"id,x\nfirst,0.5\nsecond,2\n", "points.csv")?;
/// assert_eq!(table.names(), ["id", "x"]);
/// assert_eq!(table.rows(), 2);
/// assert_eq!(table.numeric("x")?, [0.5, 2.0]);
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
    columns: Vec<Column>,
    lines: Arc<[usize]>,
}

impl Table {
    /// `places` maps each of `names` to its index; `columns` stand in the same order, and each has
    /// a row for each of `lines`.
    pub(crate) fn new(
        name: String,
        names: Vec<String>,
        places: HashMap<String, usize>,
        columns: Vec<Column>,
        lines: Vec<usize>,
    ) -> Self {
        Self { name, names, places, columns, lines: lines.into() }
    }

    /// What the table is called in messages: its path, when it comes from a file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the columns, in file order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of rows, the header not among them; at least one.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// Line of the file on which a row starts (the file's first line is 1), if there is such a row.
    pub fn line_of_row(&self, row: usize) -> Option<usize> {
        self.lines.get(row).copied()
    }

    /// The values of a column, all of them finite numbers.
    pub fn numeric(&self, column: &str) -> Result<&[f64]> {
        self.values(self.place(column)?)
    }

    pub(crate) fn lines(&self) -> Arc<[usize]> {
        Arc::clone(&self.lines)
    }

    /// Index of the column of that name.
    pub(crate) fn place(&self, column: &str) -> Result<usize> {
        self.places.get(column).copied().ok_or_else(|| Error::UnknownColumn {
            table: self.name.clone(),
            column: column.to_owned(),
            nearest: nearest(column, self.names.iter().map(String::as_str)).map(str::to_owned),
            available: self.names.clone(),
            span: None,
        })
    }

    /// The first text of the column at `place`, with its line, if it holds text.
    pub(crate) fn text(&self, place: usize) -> Option<(usize, &str)> {
        match &self.columns[place] {
            Column::Text(cell) => Some((self.lines[cell.row], &cell.text)),
            _ => None,
        }
    }

    /// Can the column at `place` be used as numbers?
    pub(crate) fn is_numeric(&self, place: usize) -> bool {
        matches!(self.columns[place], Column::Numeric(_))
    }

    /// The values of the column at `place`.
    pub(crate) fn values(&self, place: usize) -> Result<&[f64]> {
        let table = || self.name.clone();
        let column = || self.names[place].clone();
        let found = |cell: &Cell| (self.lines[cell.row], cell.text.clone());
        match &self.columns[place] {
            Column::Numeric(values) => Ok(values),
            Column::Text(cell) => {
                let (line, found) = found(cell);
                Err(Error::TextColumn { table: table(), column: column(), line, found, span: None })
            }
            Column::Missing { first, count } => {
                let (line, found) = found(first);
                let count = *count;
                Err(Error::MissingValue { table: table(), column: column(), line, found, count, span: None })
            }
            Column::Infinite(cell) => {
                let (line, found) = found(cell);
                Err(Error::InfiniteValue { table: table(), column: column(), line, found, span: None })
            }
        }
    }
}
