//! What learning a recipe needs to know about the data, whether they are in memory or read block by block.

use super::{
    basis::{distinct, mean, standard_deviation},
    view::View,
};
use crate::{
    column::ColumnKind,
    error::{Error, Result, UnfitColumn},
    formula::Expression,
};

/// Statistics of a number over all rows used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// Standard deviation, with n − 1; 0 for a single row.
    pub(crate) sd: f64,
    /// Number of distinct values, or as many as were distinguished.
    pub(crate) distinct: usize,
}

/// A level of a grouping: its names, one for each grouping column, and its number of rows.
pub(crate) type Counted = (Vec<String>, usize);

/// Facts about the rows used.
pub(crate) trait Facts {
    /// What the data are called in messages.
    fn table(&self) -> &str;

    /// Number of rows used.
    fn rows(&self) -> usize;

    /// The type of a column.
    fn kind(&self, column: &str) -> Option<ColumnKind>;

    /// The error for a column of text that is mostly numbers, which is more often a typing error than a category.
    fn mixed(&self, column: &str) -> Result<Option<Error>>;

    /// Whether the owner of a column says that the order of its levels means something.
    fn is_ordered(&self, column: &str) -> bool;

    /// The levels of a column, in order.
    fn levels(&self, column: &str) -> Result<Vec<String>>;

    /// The combinations of levels that occur in some columns, in the order of these columns' levels.
    fn combinations(&self, columns: &[String]) -> Result<Vec<Counted>>;

    /// Refuses an expression that is not a finite number in every row.
    fn check(&self, x: &Expression) -> Result<()>;

    /// The value of an expression if it is the same in every row.
    fn constant(&self, x: &Expression) -> Result<Option<f64>>;

    /// Mean and deviation of an expression.
    fn spread(&self, x: &Expression) -> Result<Spread>;

    /// All values of an expression, which the term `term` of the formula needs.
    fn points(&self, x: &Expression, term: &str) -> Result<Vec<f64>>;

    /// Whole numbers of a column that doubles cannot hold: how many, and the first one.
    fn inexact(&self, column: &str) -> Option<Inexact>;

    /// Numbers of at least 2⁵³ that may have lost digits before they were read: how many, and the first one.
    fn coarse(&self, column: &str) -> Option<Inexact>;
}

/// Whole numbers that doubles cannot hold.
pub(crate) struct Inexact {
    pub(crate) count: usize,
    /// File of the first one, if there are several files.
    pub(crate) file: Option<String>,
    pub(crate) line: usize,
    pub(crate) found: String,
}

impl Facts for View<'_> {
    fn table(&self) -> &str {
        self.table.name()
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn kind(&self, column: &str) -> Option<ColumnKind> {
        self.table.kind(column)
    }

    fn mixed(&self, name: &str) -> Result<Option<Error>> {
        let column = self.table.column(self.table.place(name)?);
        let present = self.table.rows() - column.missing;
        Ok(column.first_text.as_ref().filter(|_| 2 * column.numbers >= present).map(|cell| {
            let (line, found) = self.table.found(cell);
            Error::Column(UnfitColumn::MixedColumn {
                table: self.table.name().to_owned(),
                column: name.to_owned(),
                line,
                found: found.into(),
                numbers: column.numbers,
                span: None,
            })
        }))
    }

    fn is_ordered(&self, column: &str) -> bool {
        self.table.place(column).is_ok_and(|place| self.table.column(place).ordered)
    }

    fn levels(&self, column: &str) -> Result<Vec<String>> {
        View::levels(self, column)
    }

    fn combinations(&self, columns: &[String]) -> Result<Vec<Counted>> {
        let levels: Vec<Vec<String>> =
            columns.iter().map(|column| View::levels(self, column)).collect::<Result<_>>()?;
        if let ([column], [own]) = (columns, levels.as_slice()) {
            let mut counts = vec![0; own.len()];
            self.places(column, own)?.into_iter().flatten().for_each(|place| counts[place] += 1);
            return Ok(own.iter().map(|level| vec![level.clone()]).zip(counts).collect());
        }
        let mut rows: Vec<Vec<usize>> = vec![Vec::with_capacity(columns.len()); self.rows.len()];
        for (column, own) in columns.iter().zip(&levels) {
            let places = self.places(column, own)?;
            rows.iter_mut().zip(places).for_each(|(row, place)| row.extend(place));
        }
        rows.sort_unstable();
        let named = |row: &[usize]| row.iter().zip(&levels).map(|(&place, own)| own[place].clone()).collect();
        Ok(rows.chunk_by(|a, b| a == b).map(|same| (named(&same[0]), same.len())).collect())
    }

    fn check(&self, x: &Expression) -> Result<()> {
        self.evaluate(x).map(|_| ())
    }

    fn constant(&self, x: &Expression) -> Result<Option<f64>> {
        let values = self.evaluate(x)?;
        let same = values.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
        Ok(values.first().copied().filter(|_| same))
    }

    fn spread(&self, x: &Expression) -> Result<Spread> {
        let values = self.evaluate(x)?;
        let mean = mean(values.iter().copied());
        let sd = standard_deviation(&values, mean);
        Ok(Spread { mean, sd, distinct: if sd > 0.0 { 2 } else { distinct(&values) } })
    }

    fn points(&self, x: &Expression, _: &str) -> Result<Vec<f64>> {
        self.evaluate(x)
    }

    fn inexact(&self, column: &str) -> Option<Inexact> {
        let column = self.table.place(column).map(|place| self.table.column(place)).ok()?;
        let (line, found) = self.table.found(column.first_inexact.as_ref()?);
        Some(Inexact { count: column.inexact, file: None, line, found })
    }

    fn coarse(&self, column: &str) -> Option<Inexact> {
        let column = self.table.place(column).map(|place| self.table.column(place)).ok()?;
        let (line, found) = self.table.found(column.first_coarse.as_ref()?);
        Some(Inexact { count: column.coarse, file: None, line, found })
    }
}
