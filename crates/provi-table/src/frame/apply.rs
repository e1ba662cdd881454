//! From a recipe and a table to the rows of a design.

use std::collections::HashMap;

use super::{
    options::{Dropped, FrameOptions, Missing},
    recipe::{GroupRecipe, Offset, Recipe},
    response::Reading,
    rows::{DesignRows, GroupRows},
    view::{View, complete_rows},
};
use crate::{
    cells::MissingWords,
    error::{BadModel, BadValue, Error, Purpose, Result},
    formula::{Expression, Formula},
    missing::Retype,
    table::Table,
};

/// What to do with a group level that the fitted data did not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewLevels {
    /// Refuse the table, with the line.
    #[default]
    Refuse,
    /// Give the row no entries for that group term: the population's prediction. The level is listed, so that the
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
    /// The number of trials of each row, if it was asked for and the response has trials.
    pub trials: Option<Vec<f64>>,
    /// The levels that the fitted data did not have, by row and group term.
    pub new_levels: Vec<NewLevel>,
    /// Rows left out because of missing values.
    pub dropped: Dropped,
    /// Line of the file of each row, from 1.
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
    /// What varies by level: if column j has the spread τ_j, Σ (τ_j·value_j)² is added to the variance.
    pub values: Vec<f64>,
}

impl Recipe {
    /// The design for the rows of another table, which needs no response. A missing value is an error.
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

    /// The same, with a choice of what to do with missing values.
    pub fn rows_with(&self, table: &Table, new_levels: NewLevels, missing: Missing) -> Result<NewRows> {
        self.new_rows(table, new_levels, missing, None)
    }

    /// The same with the trials of each row, which draws of a binomial response need: the column of `trials(n)`, or
    /// the sum of both columns of `cbind(successes, failures)`. The table must have those columns.
    pub fn rows_with_trials(
        &self,
        table: &Table,
        new_levels: NewLevels,
        missing: Missing,
    ) -> Result<NewRows> {
        let formula = Formula::parse(&self.formula)?;
        self.new_rows(table, new_levels, missing, Some(&formula))
    }

    fn new_rows(
        &self,
        table: &Table,
        new_levels: NewLevels,
        missing: Missing,
        with_trials: Option<&Formula>,
    ) -> Result<NewRows> {
        self.check()?;
        let table = &*table.with_missing(&MissingWords::new(&self.na), Retype::Whole);
        let table = &*table.with_days(&self.dates)?;
        let mut columns = self.columns();
        let counted = with_trials.map_or(Vec::new(), |formula| formula.trial_columns());
        for name in counted {
            if table.place(name).is_err() {
                return Err(Error::Model(BadModel::NoTrialsColumn {
                    table: table.name().to_owned(),
                    column: name.to_owned(),
                    response: with_trials.map_or(String::new(), Formula::response_name),
                }));
            }
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        let (rows, dropped) = complete_rows(table, &columns, missing)?;
        let view = View { table, rows: &rows };
        let (design, new_levels) = self.design(view, new_levels)?;
        let trials = match with_trials {
            Some(formula) => {
                let options = FrameOptions::default();
                Reading { formula, options: &options, levels: None, categories: Vec::new() }.trials(view)?
            }
            None => None,
        };
        let offsets = self.offsets(view)?;
        Ok(NewRows { design, offsets, trials, new_levels, dropped, lines: view.lines() })
    }

    /// The design of a view.
    pub(crate) fn design(&self, view: View<'_>, new: NewLevels) -> Result<(DesignRows, Vec<NewLevel>)> {
        self.design_by(view, new, 1)
    }

    /// The same by at most so many threads; it does not depend on their number.
    pub(crate) fn design_by(
        &self,
        view: View<'_>,
        new: NewLevels,
        threads: usize,
    ) -> Result<(DesignRows, Vec<NewLevel>)> {
        let population = self.population.values_by(view, threads)?;
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
    Ok(exposure_values(view, column)?.into_iter().map(f64::ln).collect())
}

/// The exposures themselves, which are positive.
pub(super) fn exposure_values(view: View<'_>, column: &str) -> Result<Vec<f64>> {
    let values = view.numbers(column)?;
    for (i, value) in values.iter().enumerate() {
        if *value <= 0.0 {
            return Err(Error::Value(BadValue::OutOfRange {
                table: view.table.name().to_owned(),
                purpose: Purpose::Exposure,
                column: column.to_owned(),
                line: view.line(i),
                value: value.to_string().into(),
                span: None,
            }));
        }
    }
    Ok(values)
}

impl GroupRecipe {
    fn rows(&self, view: View<'_>, first: usize, new: NewLevels) -> Result<GroupRows> {
        let values = self.block.values(view)?;
        let levels = self.places(view)?;
        if let Some(i) = levels.iter().position(Option::is_none)
            && new == NewLevels::Refuse
        {
            return Err(Error::Model(BadModel::UnknownLevel {
                table: view.table.name().to_owned(),
                column: self.factors.join(":"),
                line: view.line(i),
                level: self.level_of(view, i)?.join(":"),
                levels: self.levels.iter().map(|level| level.join(":")).collect(),
                group: true,
            }));
        }
        Ok(GroupRows { first, columns: self.block.columns.len(), levels, values })
    }

    /// The index of each row's level; `None` for an unknown level.
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
