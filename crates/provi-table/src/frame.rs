//! Table, formula and options to what a model needs.

mod apply;
mod basis;
mod collinearity;
mod expand;
mod learn;
mod options;
mod recipe;
mod response;
mod rows;
mod scale;
mod view;

use std::collections::HashSet;

use serde::Serialize;

pub use apply::{NewLevel, NewLevels, NewRows};
pub use basis::{Polynomial, Spline};
pub(crate) use basis::{mean, standard_deviation};
pub use collinearity::{Collinearity, Dependence};
pub use learn::INTERCEPT;
pub use options::{Dropped, FrameOptions, Missing, Warning};
pub use recipe::{Block, CodedColumn, CodedFactor, CodedTerm, GroupRecipe, Offset, Recipe};
pub use rows::{CompressedRows, DesignRows, GroupRows, Role};
pub use scale::OriginalScale;

use crate::{
    error::{Error, Result},
    formula::{Formula, Short},
    table::Table,
};
use expand::{columns_in_use, written_out};
use learn::Learner;
use view::{View, complete_rows};

/// A group term of a frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupTerm {
    /// Its text in the formula, such as `(1 + x | clinic)`.
    pub text: String,
    /// The grouping columns.
    pub factors: Vec<String>,
    /// Names of the levels, in order; those of several columns joined by `:`.
    pub levels: Vec<String>,
    /// Rows of each level.
    pub counts: Vec<usize>,
    /// What varies by level: names of columns, [`INTERCEPT`] among them.
    pub columns: Vec<String>,
    /// May the coefficients of a level depend on each other? Not for `||`.
    pub correlated: bool,
    /// Index of the first coefficient: level l, column j is first + l·columns + j.
    pub first: usize,
}

/// Design, response and names: what a model needs.
///
/// Every number is finite. What values a response may take is the model's business;
/// [`line_of_row`](ModelFrame::line_of_row) lets it say where in the file a bad one is.
///
/// Coefficients are called `(Intercept)`, `x`, `log(x)`, `town[Bern]`, `poly(x, 2)[1]`, `x:town[Bern]`; those
/// of group terms `(1 | clinic)[3]` and `(x | clinic)[3]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFrame {
    /// Names of all coefficients: the population's, then the groups'.
    pub names: Vec<String>,
    /// What each coefficient is.
    pub roles: Vec<Role>,
    /// The population terms in canonical text, the intercept aside.
    pub terms: Vec<String>,
    /// The group terms.
    pub groups: Vec<GroupTerm>,
    /// Rows in use.
    pub rows: usize,
    /// The design.
    pub design: DesignRows,
    /// The response, one number per row; the successes, where there are trials.
    pub response: Vec<f64>,
    /// The response's name.
    pub response_name: String,
    /// Of a response of text: the levels that count as 0 and 1.
    pub response_levels: Option<[String; 2]>,
    /// The number of trials of each row, for a binomial response.
    pub trials: Option<Vec<f64>>,
    /// What is added to the linear predictor of each row.
    pub offsets: Option<Vec<f64>>,
    /// The weight of each row.
    pub weights: Option<Vec<f64>>,
    /// Is the first column the intercept?
    pub intercept: bool,
    /// The formula in canonical text, `.` written out, so that it means the same for another table.
    pub formula: String,
    /// Rows left out for their missing values.
    pub dropped: Dropped,
    /// What is worth saying and does not stop the fit.
    pub warnings: Vec<Warning>,
    recipe: Recipe,
    lines: Vec<usize>,
}

impl ModelFrame {
    /// The frame a formula cuts out of a table. Cost: one pass over the columns it names.
    ///
    /// Categories are coded by indicators of their levels but the reference's (treatment contrasts). As in R,
    /// a category gets an indicator for every level where the term without it is no part of an earlier term,
    /// and so does the first category of a formula without intercept.
    ///
    /// ```
    /// use provi_table::{Formula, FrameOptions, ModelFrame, Table};
    ///
    /// let table = Table::read(b"y,age,town\n1,31,Basel\n0,45,Bern\n", "people.csv")?;
    /// let error = ModelFrame::new(&table, &Formula::parse("y ~ aeg")?, &FrameOptions::default()).unwrap_err();
    /// assert_eq!(error.span(), Some(4..7));
    /// assert_eq!(
    ///     error.to_string(),
    ///     "no column `aeg` in `people.csv`; did you mean `age`? its columns are `y`, `age`, `town`"
    /// );
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn new(table: &Table, formula: &Formula, options: &FrameOptions) -> Result<Self> {
        for name in columns_in_use(formula, options) {
            table.place(name).map_err(|error| error.at(formula.place_of(name)))?;
        }
        let formula = &written_out(table, formula, options)?;
        let point = |error: Error| match error.column() {
            Some(column) => {
                let place = formula.place_of(column);
                error.at(place)
            }
            None => error,
        };
        let in_use = columns_in_use(formula, options);
        let (kept, dropped) = complete_rows(table, &in_use, options.missing).map_err(point)?;
        let view = View { table, rows: &kept };
        let learner = Learner { view, formula, options };
        let outcomes = learner.outcomes()?;
        let weights = learner.weights()?;
        let recipe = learner.recipe()?;
        learner.refuse_stray_references(&recipe)?;
        let (design, _) = recipe.design(view, NewLevels::Refuse)?;
        let offsets = recipe.offsets(view).map_err(point)?;
        let groups = groups(&recipe, &design);
        let frame = Self {
            names: recipe.names.clone(),
            roles: roles(&recipe),
            terms: recipe.population.terms.iter().map(|term| term.text.clone()).collect(),
            warnings: learner.warnings(&in_use, &recipe, &groups),
            groups,
            rows: kept.len(),
            design,
            response: outcomes.values,
            response_name: formula.response_name(),
            response_levels: outcomes.levels,
            trials: outcomes.trials,
            offsets,
            weights,
            intercept: formula.intercept,
            formula: recipe.formula.clone(),
            dropped,
            recipe,
            lines: view.lines(),
        };
        frame.refuse_repeated_names()?;
        frame.refuse_constant(&learner)?;
        Ok(frame)
    }

    /// Line of the file that a row comes from (the file's first line is 1), if there is such a row.
    pub fn line_of_row(&self, row: usize) -> Option<usize> {
        self.lines.get(row).copied()
    }

    /// How the design was made, for new data.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The way back from standardized columns; `None` where no column was standardized.
    pub fn original_scale(&self) -> Option<OriginalScale> {
        self.recipe.original_scale()
    }

    fn refuse_repeated_names(&self) -> Result<()> {
        let mut seen = HashSet::new();
        match self.names.iter().find(|name| !seen.insert(name.as_str())) {
            Some(name) => Err(Error::RepeatedName { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// A term of one number that is the same in every row repeats the intercept.
    fn refuse_constant(&self, learner: &Learner<'_>) -> Result<()> {
        if !self.intercept {
            return Ok(());
        }
        for (place, column) in self.recipe.population.columns.iter().enumerate() {
            let Some(term) = column.term.map(|term| &self.recipe.population.terms[term]) else { continue };
            let [CodedFactor::Number { x }] = term.factors.as_slice() else { continue };
            let value = |row: usize| self.design.population_row(row)[place];
            if (1..self.rows).all(|row| value(row).total_cmp(&value(0)).is_eq()) {
                let error = Error::ConstantColumn {
                    table: learner.view.table.name().to_owned(),
                    column: column.name.clone(),
                    value: Short(learner.view.evaluate(x)?[0]).to_string(),
                    span: None,
                };
                return Err(learner.point(error, x));
            }
        }
        Ok(())
    }
}

impl Learner<'_> {
    fn refuse_stray_references(&self, recipe: &Recipe) -> Result<()> {
        let mut categories: Vec<String> = Vec::new();
        let blocks =
            std::iter::once(&recipe.population).chain(recipe.groups.iter().map(|group| &group.block));
        for factor in blocks.flat_map(|block| &block.terms).flat_map(|term| &term.factors) {
            if let CodedFactor::Category { column, .. } = factor
                && !categories.contains(column)
            {
                categories.push(column.clone());
            }
        }
        let response = self.formula.response_name();
        let stray = |(column, _): &&(String, String)| !categories.contains(column) && *column != response;
        match self.options.references.iter().find(stray) {
            Some((column, _)) => Err(Error::StrayReference { column: column.clone(), categories }),
            None => Ok(()),
        }
    }

    fn warnings(&self, in_use: &[&str], recipe: &Recipe, groups: &[GroupTerm]) -> Vec<Warning> {
        let (table, rows) = (self.view.table, self.view.rows.len());
        let mut warnings = Vec::new();
        for name in in_use {
            let column = table.place(name).map(|place| table.column(place));
            if let Ok(column) = column
                && let Some(first) = &column.first_inexact
            {
                let (line, found) = table.found(first);
                let count = column.inexact;
                warnings.push(Warning::Inexact { column: (*name).to_owned(), count, line, found });
            }
        }
        for factor in recipe.population.terms.iter().flat_map(|term| &term.factors) {
            if let CodedFactor::Category { column, levels, .. } = factor
                && 2 * levels.len() > rows
                && levels.len() > 10
            {
                let warning = Warning::ManyLevels { column: column.clone(), levels: levels.len(), rows };
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        let columns = recipe.population.columns.len();
        if columns > rows {
            warnings.push(Warning::MoreColumnsThanRows { columns, rows });
        }
        for group in groups {
            if let [level] = group.levels.as_slice() {
                warnings.push(Warning::OneGroup { group: group.text.clone(), level: level.clone() });
            }
        }
        warnings
    }
}

fn groups(recipe: &Recipe, design: &DesignRows) -> Vec<GroupTerm> {
    let term = |(group, rows): (&GroupRecipe, &GroupRows)| {
        let mut counts = vec![0; group.levels.len()];
        rows.levels.iter().flatten().for_each(|&level| counts[level] += 1);
        GroupTerm {
            text: group.text.clone(),
            factors: group.factors.clone(),
            levels: group.levels.iter().map(|level| level.join(":")).collect(),
            counts,
            columns: group.block.columns.iter().map(|column| column.name.clone()).collect(),
            correlated: group.correlated,
            first: rows.first,
        }
    };
    recipe.groups.iter().zip(&design.groups).map(term).collect()
}

fn roles(recipe: &Recipe) -> Vec<Role> {
    let population = recipe.population.columns.iter();
    let mut roles: Vec<Role> = population
        .map(|column| column.term.map_or(Role::Intercept, |term| Role::Population { term }))
        .collect();
    for (term, group) in recipe.groups.iter().enumerate() {
        for level in 0..group.levels.len() {
            roles.extend((0..group.block.columns.len()).map(|column| Role::Group { term, level, column }));
        }
    }
    roles
}
