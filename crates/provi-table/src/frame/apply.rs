//! A recipe and a table to the rows of a design.

use std::collections::HashMap;

use super::{
    options::{Dropped, FrameOptions, Missing},
    recipe::{Block, CodedFactor, CodedTerm, GroupRecipe, Offset, Recipe},
    rows::{DesignRows, GroupRows},
    view::{View, complete_rows},
};
use crate::{
    error::{Error, Purpose, Result},
    formula::{Expression, Formula},
    table::Table,
};

/// What becomes of a group level that the fitted data did not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewLevels {
    /// The table is refused, with the line.
    #[default]
    Refuse,
    /// The row has no entries for that group term: the population's prediction. It is listed, so that the
    /// group's spread can be added.
    Population,
}

/// The design of new data.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRows {
    /// The design.
    pub design: DesignRows,
    /// What is added to the linear predictor, if the model has an offset.
    pub offsets: Option<Vec<f64>>,
    /// The levels that the fitted data did not have, by row and group term.
    pub new_levels: Vec<NewLevel>,
    /// Rows left out for their missing values.
    pub dropped: Dropped,
    /// Line of the file of each row, the first being 1.
    pub lines: Vec<usize>,
}

/// A group level that the fitted data did not have.
#[derive(Debug, Clone, PartialEq)]
pub struct NewLevel {
    /// The row of the design.
    pub row: usize,
    /// Index of the group term.
    pub group: usize,
    /// The level.
    pub level: String,
    /// What varies by level: with a spread τ_j of each column, Σ (τ_j·value_j)² is added to the variance.
    pub values: Vec<f64>,
}

/// Entries of a dense population block that are surely a mistake: 4 GB.
const MOST_ENTRIES: usize = 1 << 29;

impl Recipe {
    /// The design of the rows of another table, which needs no response. A missing value is refused.
    ///
    /// ```
    /// use provi_table::{Formula, FrameOptions, ModelFrame, NewLevels, Table};
    ///
    /// let table = Table::read(b"y,dose,town\n1,2,Bern\n0,3,Basel\n1,5,Bern\n", "fit.csv")?;
    /// let frame = ModelFrame::new(&table, &Formula::parse("y ~ dose + town")?, &FrameOptions::default())?;
    /// let new = Table::read(b"town,dose\nBern,7\n", "new.csv")?;
    /// assert_eq!(frame.recipe().rows(&new, NewLevels::Refuse)?.design.population, [1.0, 7.0, 1.0]);
    ///
    /// let new = Table::read(b"town,dose\nBiel,7\n", "new.csv")?;
    /// assert_eq!(
    ///     frame.recipe().rows(&new, NewLevels::Refuse).unwrap_err().to_string(),
    ///     "column `town` of `new.csv` has `Biel` on line 2, which the fitted data did not have; \
    ///      known are `Basel`, `Bern`; leave the row out, or fit with data that have it"
    /// );
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn rows(&self, table: &Table, new_levels: NewLevels) -> Result<NewRows> {
        self.rows_with(table, new_levels, Missing::Error)
    }

    /// The same, with a choice of what becomes of rows with missing values.
    pub fn rows_with(&self, table: &Table, new_levels: NewLevels, missing: Missing) -> Result<NewRows> {
        self.check()?;
        let (rows, dropped) = complete_rows(table, &self.columns(), missing)?;
        let view = View { table, rows: &rows };
        let (design, new_levels) = self.design(view, new_levels)?;
        Ok(NewRows { design, offsets: self.offsets(view)?, new_levels, dropped, lines: view.lines() })
    }

    /// The design of a view.
    pub(crate) fn design(&self, view: View<'_>, new: NewLevels) -> Result<(DesignRows, Vec<NewLevel>)> {
        let population = self.population.values(view)?;
        let population_columns = self.population.columns.len();
        let mut columns = population_columns;
        let (mut groups, mut unknown) = (Vec::new(), Vec::new());
        for (index, group) in self.groups.iter().enumerate() {
            let rows = group.rows(view, columns, new)?;
            for row in (0..view.rows.len()).filter(|&row| rows.levels[row].is_none()) {
                let level = group.level_of(view, row)?.join(":");
                unknown.push(NewLevel { row, group: index, level, values: rows.row(row).to_vec() });
            }
            columns += group.levels.len() * group.block.columns.len();
            groups.push(rows);
        }
        let rows = view.rows.len();
        Ok((DesignRows { rows, columns, population_columns, population, groups }, unknown))
    }

    /// The sum of the offsets, if there are any.
    pub(crate) fn offsets(&self, view: View<'_>) -> Result<Option<Vec<f64>>> {
        offsets_of(&self.offsets, view)
    }
}

/// What a formula and the options add to the linear predictor.
pub(crate) fn offsets(formula: &Formula, options: &FrameOptions) -> Vec<Offset> {
    let number = |x: Expression| Offset::Number { x };
    let written = formula.offsets.iter().map(|offset| number(offset.node.clone()));
    let column = options.offset.iter().map(|column| number(Expression::Column(column.clone())));
    let exposure = options.exposure.iter().map(|column| Offset::Exposure { column: column.clone() });
    written.chain(column).chain(exposure).collect()
}

/// The sum of some offsets, if there are any.
pub(crate) fn offsets_of(offsets: &[Offset], view: View<'_>) -> Result<Option<Vec<f64>>> {
    let mut total: Option<Vec<f64>> = None;
    for offset in offsets {
        let values = match offset {
            Offset::Number { x } => view.evaluate(x)?,
            Offset::Exposure { column } => exposure(view, column)?,
        };
        match &mut total {
            Some(total) => total.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
            None => total = Some(values),
        }
    }
    Ok(total)
}

fn exposure(view: View<'_>, column: &str) -> Result<Vec<f64>> {
    let mut values = view.numbers(column)?;
    for (i, value) in values.iter_mut().enumerate() {
        if *value <= 0.0 {
            return Err(Error::OutOfRange {
                table: view.table.name().to_owned(),
                purpose: Purpose::Exposure,
                column: column.to_owned(),
                line: view.line(i),
                value: value.to_string(),
                span: None,
            });
        }
        *value = value.ln();
    }
    Ok(values)
}

/// Rows whose columns are filled in together, so that they stay in the cache.
const TILE: usize = 256;

impl Block {
    /// The columns, row by row.
    pub(crate) fn values(&self, view: View<'_>) -> Result<Vec<f64>> {
        let (rows, columns) = (view.rows.len(), self.columns.len());
        if rows.saturating_mul(columns) > MOST_ENTRIES {
            return Err(Error::DesignTooLarge { rows, columns, column: self.widest() });
        }
        let terms: Vec<Vec<Prepared<'_>>> =
            self.terms.iter().map(|term| term.prepare(view)).collect::<Result<_>>()?;
        let mut values = vec![1.0; rows * columns];
        if columns == 0 {
            return Ok(values);
        }
        for (tile, first) in values.chunks_mut(TILE * columns).zip((0..).step_by(TILE)) {
            let mut place = usize::from(self.intercept);
            for (term, coded) in terms.iter().zip(&self.terms) {
                let width = coded.width();
                if width > 0 {
                    fill(term, first, tile, columns, place);
                }
                place += width;
            }
            debug_assert_eq!(place, columns);
            for (place, column) in self.columns.iter().enumerate().filter(|(_, column)| column.is_scaled()) {
                for value in tile.iter_mut().skip(place).step_by(columns) {
                    *value = (*value - column.mean) / column.sd;
                }
            }
        }
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            let column = &self.columns[place % columns];
            let inputs = "what it is made of is too large".to_owned();
            return Err(view.not_finite(&column.name, place / columns, values[place], inputs));
        }
        Ok(values)
    }

    /// The category with the most levels.
    fn widest(&self) -> Option<String> {
        let factors = self.terms.iter().flat_map(|term| &term.factors);
        let categories = factors.filter_map(|factor| match factor {
            CodedFactor::Category { column, levels, .. } => Some((levels.len(), column)),
            _ => None,
        });
        categories.max_by_key(|(levels, _)| *levels).map(|(_, column)| column.clone())
    }
}

/// A factor's columns, ready to be read by row.
enum Prepared<'a> {
    /// A column as it is, with the rows in use.
    Column { values: &'a [f64], rows: &'a [usize] },
    /// Numbers, row by row.
    Values { values: Vec<f64>, width: usize },
    /// One of the columns is 1 and the others 0, or all are.
    Indicator { column: Vec<Option<usize>>, width: usize },
}

impl Prepared<'_> {
    fn width(&self) -> usize {
        match self {
            Self::Column { .. } => 1,
            Self::Values { width, .. } | Self::Indicator { width, .. } => *width,
        }
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        match self {
            Self::Column { values, rows } => values[rows[row]],
            Self::Values { values, width } => values[row * width + column],
            Self::Indicator { column: one, .. } => f64::from(u8::from(one[row] == Some(column))),
        }
    }
}

/// Fill in a term's columns, from `place` on, in the rows of a tile, the first of which is `first`.
fn fill(factors: &[Prepared<'_>], first: usize, tile: &mut [f64], columns: usize, place: usize) {
    let rows = tile.chunks_mut(columns).zip(first..);
    match factors {
        [Prepared::Column { values, rows: used }] => {
            rows.for_each(|(row, i)| row[place] = values[used[i]]);
        }
        [Prepared::Values { values, width: 1 }] => rows.for_each(|(row, i)| row[place] = values[i]),
        [Prepared::Indicator { column, width }] => {
            for (row, i) in rows {
                row[place..place + width].fill(0.0);
                if let Some(one) = column[i] {
                    row[place + one] = 1.0;
                }
            }
        }
        _ => rows.for_each(|(row, i)| multiply(factors, i, &mut row[place..])),
    }
}

/// The products of a term in one row, the first factor's columns running fastest.
fn multiply(factors: &[Prepared<'_>], row: usize, values: &mut [f64]) {
    let mut filled = 1;
    values[0] = 1.0;
    for factor in factors {
        // From the last column down, since the first ones are still needed.
        for column in (0..factor.width()).rev() {
            let own = factor.value(row, column);
            for i in 0..filled {
                values[column * filled + i] = values[i] * own;
            }
        }
        filled *= factor.width();
    }
}

impl CodedTerm {
    fn prepare<'a>(&self, view: View<'a>) -> Result<Vec<Prepared<'a>>> {
        self.factors.iter().map(|factor| factor.prepare(view)).collect()
    }
}

impl CodedFactor {
    fn prepare<'a>(&self, view: View<'a>) -> Result<Prepared<'a>> {
        let one = |values| Prepared::Values { values, width: 1 };
        Ok(match self {
            Self::Number { x: Expression::Column(name) } => {
                Prepared::Column { values: view.table.numbers(view.table.place(name)?)?, rows: view.rows }
            }
            Self::Number { x } => one(view.evaluate(x)?),
            Self::Scaled { x, mean, sd, .. } => {
                one(view.evaluate(x)?.into_iter().map(|value| (value - mean) / sd).collect())
            }
            Self::Polynomial { x, basis } => {
                let mut values = Vec::new();
                view.evaluate(x)?.into_iter().for_each(|x| basis.evaluate(x, &mut values));
                Prepared::Values { values, width: basis.degree() }
            }
            Self::Spline { x, basis } => {
                let mut values = Vec::new();
                view.evaluate(x)?.into_iter().for_each(|x| basis.evaluate(x, &mut values));
                Prepared::Values { values, width: basis.count() }
            }
            Self::Category { column, levels, reference } => {
                let codes = codes(view, column, levels)?;
                let place = |code: usize| match reference {
                    Some(reference) if code == *reference => None,
                    Some(reference) if code > *reference => Some(code - 1),
                    _ => Some(code),
                };
                Prepared::Indicator { column: codes.into_iter().map(place).collect(), width: self.width() }
            }
        })
    }
}

/// Each row's level by its place among `levels`.
fn codes(view: View<'_>, column: &str, levels: &[String]) -> Result<Vec<usize>> {
    let places = view.places(column, levels)?;
    let unknown = |i: usize| Error::UnknownLevel {
        table: view.table.name().to_owned(),
        column: column.to_owned(),
        line: view.line(i),
        level: view.table.level(column, view.rows[i]).unwrap_or_default(),
        levels: levels.to_vec(),
        group: false,
    };
    places.into_iter().enumerate().map(|(i, place)| place.ok_or_else(|| unknown(i))).collect()
}

impl GroupRecipe {
    fn rows(&self, view: View<'_>, first: usize, new: NewLevels) -> Result<GroupRows> {
        let values = self.block.values(view)?;
        let levels = self.places(view)?;
        if let Some(i) = levels.iter().position(Option::is_none)
            && new == NewLevels::Refuse
        {
            return Err(Error::UnknownLevel {
                table: view.table.name().to_owned(),
                column: self.factors.join(":"),
                line: view.line(i),
                level: self.level_of(view, i)?.join(":"),
                levels: self.levels.iter().map(|level| level.join(":")).collect(),
                group: true,
            });
        }
        Ok(GroupRows { first, columns: self.block.columns.len(), levels, values })
    }

    /// Each row's level by its place; `None` for a level that is not among them.
    fn places(&self, view: View<'_>) -> Result<Vec<Option<usize>>> {
        if let [factor] = self.factors.as_slice() {
            let levels: Vec<String> = self.levels.iter().map(|level| level[0].clone()).collect();
            return view.places(factor, &levels);
        }
        let mut combinations: Vec<Vec<usize>> = vec![Vec::new(); self.levels.len()];
        let mut rows: Vec<Option<Vec<usize>>> = vec![Some(Vec::new()); view.rows.len()];
        for (k, factor) in self.factors.iter().enumerate() {
            let mut own: Vec<String> = self.levels.iter().map(|level| level[k].clone()).collect();
            own.sort_unstable();
            own.dedup();
            for (combination, level) in combinations.iter_mut().zip(&self.levels) {
                combination.extend(own.binary_search(&level[k]).ok());
            }
            for (row, place) in rows.iter_mut().zip(view.places(factor, &own)?) {
                match (row.as_mut(), place) {
                    (Some(row), Some(place)) => row.push(place),
                    _ => *row = None,
                }
            }
        }
        let known: HashMap<Vec<usize>, usize> = combinations.into_iter().zip(0..).collect();
        Ok(rows.into_iter().map(|row| row.and_then(|row| known.get(&row).copied())).collect())
    }

    fn level_of(&self, view: View<'_>, row: usize) -> Result<Vec<String>> {
        let one = View { table: view.table, rows: &view.rows[row..=row] };
        self.factors.iter().map(|name| Ok(one.cells(name)?.swap_remove(0))).collect()
    }
}
