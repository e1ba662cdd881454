//! From table, formula and options to what a model needs.

mod apply;
mod basis;
mod collinearity;
mod expand;
mod facts;
mod fill;
mod head;
mod learn;
mod options;
mod recipe;
mod response;
mod rows;
mod scale;
mod slope;
mod smooth;
mod variables;
mod view;

use serde::Serialize;

pub use apply::{NewLevel, NewLevels, NewRows};
pub(crate) use apply::{offsets, offsets_of};
pub use basis::{Polynomial, Spline};
pub(crate) use basis::{mean, standard_deviation};
pub use collinearity::{Collinearity, Dependence};
pub use learn::INTERCEPT;
pub use options::{Dropped, FrameOptions, Missing, Warning};
pub use recipe::{Block, CodedColumn, CodedFactor, CodedTerm, GroupRecipe, Offset, Recipe};
pub use response::Spans;
pub use rows::{CompressedRows, DesignRows, GroupRows, Role};
pub use scale::OriginalScale;
pub use slope::Slopes;
pub use smooth::Smooth;
pub use variables::{NumberFacts, Variable};

use crate::{
    cells::MissingWords,
    error::{Error, Result},
    formula::Formula,
    missing::Retype,
    table::Table,
};
pub(crate) use expand::{Header, columns_in_use, dates_as_numbers, written_out};
pub(crate) use facts::{Counted, Facts, Inexact, Spread};
pub(crate) use head::Head;
pub(crate) use learn::Learner;
pub(crate) use response::Reading;
pub(crate) use view::View;
use view::complete_rows;

/// A group term of a frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupTerm {
    /// Its text in the formula, such as `(1 + x | clinic)`; of a smooth its name, `s(x)`.
    pub text: String,
    /// The grouping columns; none for the curve of a smooth, whose columns share one scale.
    pub factors: Vec<String>,
    /// Names of the levels, in order; for several columns, joined by `:`.
    pub levels: Vec<String>,
    /// Number of rows of each level.
    pub counts: Vec<usize>,
    /// What varies by level: names of columns, [`INTERCEPT`] among them.
    pub columns: Vec<String>,
    /// Whether the coefficients of a level may be correlated; not for `||`.
    pub correlated: bool,
    /// Index of the first coefficient: level l, column j is first + l·columns + j.
    pub first: usize,
}

impl GroupTerm {
    /// Whether it is the curve of a smooth: one level without a name, to which all rows belong.
    pub fn is_smooth(&self) -> bool {
        self.factors.is_empty()
    }
}

/// Design, response and names: what a model needs.
///
/// Every number is finite. The model decides which values of a response are valid;
/// [`line_of_row`](ModelFrame::line_of_row) tells where in the file an invalid one is.
///
/// Coefficients are called `(Intercept)`, `x`, `log(x)`, `town[Bern]`, `poly(x, 2)[1]`, `x:town[Bern]`; those
/// of group terms `(1 | clinic)[3]` and `(x | clinic)[3]`. A smooth has `s(x)` for its straight line and `s(x)[1]`.. for its curve.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFrame {
    /// Names of all coefficients: the population's, then the groups'.
    pub names: Vec<String>,
    /// What each coefficient is.
    pub roles: Vec<Role>,
    /// The population terms in canonical text, without the intercept.
    pub terms: Vec<String>,
    /// The group terms.
    pub groups: Vec<GroupTerm>,
    /// Number of rows used.
    pub rows: usize,
    /// The design.
    pub design: DesignRows,
    /// The response, one number per row; with trials, the successes.
    pub response: Vec<f64>,
    /// The response's name.
    pub response_name: String,
    /// For a response of text: the levels that count as 0 and 1.
    pub response_levels: Option<[String; 2]>,
    /// For an ordered response: its levels from the lowest, which is 1, to the highest; otherwise none.
    pub categories: Vec<String>,
    /// The number of trials of each row, for a binomial response.
    pub trials: Option<Vec<f64>>,
    /// For a response of times: what is known of each.
    pub spans: Option<Spans>,
    /// What is added to the linear predictor of each row.
    pub offsets: Option<Vec<f64>>,
    /// The weight of each row.
    pub weights: Option<Vec<f64>>,
    /// Whether the first column is the intercept.
    pub intercept: bool,
    /// The formula in canonical text, with `.` expanded, so that it means the same for another table.
    pub formula: String,
    /// Rows left out because of missing values.
    pub dropped: Dropped,
    /// Warnings that do not stop the fit.
    pub warnings: Vec<Warning>,
    /// The columns that the model uses, each with its range, mean and levels.
    pub variables: Vec<Variable>,
    recipe: Recipe,
    lines: Vec<usize>,
}

impl ModelFrame {
    /// The frame of a formula and a table. Cost: one pass over the columns that the formula names.
    ///
    /// Categories are coded by indicators of their levels except the reference level (treatment contrasts). As in
    /// R, a category gets an indicator for every level if the term without it is not part of an earlier term, and
    /// so does the first category of a formula without intercept.
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
        let table = &*table.with_missing(&MissingWords::new(&options.na), Retype::Whole);
        let table = &*table.with_open_ends(formula.open_ends());
        let kind = |name: &str| table.kind(name);
        let header = Header { table: table.name(), names: table.names(), kind: &kind };
        let formula = &written_out(&header, formula, options)?;
        let point = |error: Error| formula.point_column(error);
        let dates = table.date_columns(&dates_as_numbers(formula, &kind)).map_err(point)?;
        let table = &*table.with_days(&dates).map_err(point)?;
        let in_use = columns_in_use(formula, options);
        let (kept, dropped) = complete_rows(table, &in_use, options.missing).map_err(point)?;
        let view = View { table, rows: &kept };
        let learner = Learner { facts: &view, formula, options, whole: true };
        let (levels, categories) = (learner.response_levels()?, learner.categories()?);
        let reading = Reading { formula, options, levels, categories };
        let outcomes = reading.outcomes(view)?;
        let weights = reading.weights(view)?;
        reading.refuse_no_weight(view, weights.as_deref())?;
        let (mut recipe, counts) = learner.recipe(dates)?;
        if options.standardize {
            let spreads: Vec<Vec<Spread>> =
                recipe.blocks().map(|block| block.spreads(view)).collect::<Result<_>>()?;
            learner.standardize(&mut recipe, &spreads);
        }
        let head = learner.head(&in_use, &recipe, counts)?;
        let (design, _) = recipe.design(view, NewLevels::Refuse)?;
        let offsets = recipe.offsets(view).map_err(point)?;
        let variables = recipe.variables_of(view)?;
        Ok(Self {
            variables,
            names: recipe.names.clone(),
            roles: head.roles,
            terms: head.terms,
            warnings: head.warnings,
            groups: head.groups,
            rows: kept.len(),
            design,
            response: outcomes.values,
            response_name: formula.response_name(),
            response_levels: reading.levels,
            categories: reading.categories,
            trials: outcomes.trials,
            spans: outcomes.spans,
            offsets,
            weights,
            intercept: formula.intercept,
            formula: recipe.formula.clone(),
            dropped,
            recipe,
            lines: view.lines(),
        })
    }

    /// Line of the file that a row comes from (the file's first line is 1), if there is such a row.
    pub fn line_of_row(&self, row: usize) -> Option<usize> {
        self.lines.get(row).copied()
    }

    /// How the design was made, to make it again for new data.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The map back from standardized columns; `None` if no column was standardized.
    pub fn original_scale(&self) -> Option<OriginalScale> {
        self.recipe.original_scale()
    }
}

impl Block {
    /// Mean and standard deviation of each column.
    fn spreads(&self, view: View<'_>) -> Result<Vec<Spread>> {
        let (values, width) = (self.values(view)?, self.columns.len());
        let spread = |place: usize| {
            let own: Vec<f64> = values.iter().skip(place).step_by(width).copied().collect();
            let mean = mean(own.iter().copied());
            Spread { mean, sd: standard_deviation(&own, mean), distinct: 1 }
        };
        Ok((0..width).map(spread).collect())
    }
}
