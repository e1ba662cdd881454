//! What a model says about its variables: predicted responses over a grid, slopes, and contrasts.
//!
//! The linear predictor at a row a with offset o is s = aᵀz + o, and the mean response is g(s). With D = d/dx:
//! ```text
//! prediction   E g(s)                      slope   E D g(s) = E g'(s)·(Da)ᵀz
//! contrast     E g(s₁) − E g(s₀),  E g(s₁)/E g(s₀),  or the ratio of the odds
//! ```
//! at one row whose other variables are held, or averaged over the rows of a table. What is linear in z (everything on the link
//! scale, everything of a gaussian model) is a functional vᵀz, with its proved error. A probability is within TV(q, p) of the
//! posterior's, or within what a coupling says of a function of bounded slope, and a difference of two within the sum of both
//! [cert-moments], [local-tv], [local-moments]. Families beyond one log-concave function of one predictor are averaged over draws.

mod answer;
mod asked;
mod average;
mod layout;
mod regression;
mod variables;

pub use asked::{Compare, EffectKind, EffectScale, EffectsAsked};
pub use variables::Setting;

use provi::{Matrix, Seed};
use provi_table::{Missing, Table};
use serde::Serialize;

use crate::error::{BadEffect, Error, Result};
use crate::options::MissingName;
use crate::record::fit_file::FitFile;
use crate::run::fitted::Fitted;
use crate::run::sampled::Law;
use answer::Answer;
use layout::{Ground, Layout};
use variables::Variables;

/// An effect: one number with its interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The variable.
    pub variable: String,
    /// prediction, slope or contrast.
    pub kind: &'static str,
    /// Its value; of a contrast, the value that is compared. Absent for a slope over the data.
    pub value: Option<Setting>,
    /// Of a contrast: what it is compared with.
    pub reference: Option<Setting>,
    /// The value of the variable or column that the effects are split by.
    pub by: Option<Setting>,
    /// The level of the response that the number belongs to; absent for responses without such levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Rows that it is averaged over; 1 on a grid.
    pub rows: usize,
    /// The mean under q; of a ratio, the median.
    pub estimate: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// A bound of the difference between the estimate and the posterior's own value; null if none is proved.
    pub error: Option<f64>,
    /// What the bound is: proved, declared, or estimate if there is none.
    pub status: &'static str,
    /// Where the interval comes from: quantiles of q, or draws.
    pub interval: &'static str,
}

/// Effects of a fit, and what they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effects {
    /// The response, and what its mean is: probability, rate or mean; or `linear predictor`.
    pub response: String,
    /// The unit of the numbers, in a word.
    pub unit: &'static str,
    /// response or link.
    pub scale: &'static str,
    /// difference, ratio or odds-ratio.
    pub compare: &'static str,
    /// The variable or column by which they are split.
    pub by: Option<String>,
    /// Probability of the intervals.
    pub level: f64,
    /// The table that was averaged over; null on a grid.
    pub data: Option<String>,
    /// Rows of that table that were used; 0 on a grid.
    pub rows: usize,
    /// On a grid: where the variables are held that are not shown.
    pub held: Vec<(String, Setting)>,
    /// Whether effects of groups are left out, because a grid has no group.
    pub without_groups: bool,
    /// What is proved of the total variation between q and the posterior, and with which probability.
    pub tv: Option<(f64, f64)>,
    /// The probability with which the bounds of the errors hold; null if there are none.
    pub confidence: Option<f64>,
    /// The draws behind intervals from draws; null if none was needed.
    pub draws: Option<Drawn>,
    /// The effects.
    pub effects: Vec<Effect>,
}

/// The draws behind intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// How many.
    pub count: usize,
    /// What they are draws of: gaussian, mixture, exact or tv.
    pub law: &'static str,
}

/// Most values of a column by which effects are split.
const MOST_PARTS: usize = 50;
/// Fewest draws for an interval.
const LEAST_DRAWS: usize = 100;
/// Most points of a grid.
const MOST_POINTS: usize = 1000;

impl Fitted {
    /// Effects on a grid, or averaged over the rows of a table. `exact` are draws of the posterior itself, from which estimates and
    /// intervals are then made.
    pub fn effects(
        &self,
        asked: &EffectsAsked,
        data: Option<&Table>,
        exact: Option<(Matrix, Law)>,
    ) -> Result<Effects> {
        self.needs_formula("it has no formula whose variables could have effects")?;
        let recipe = self.file.model.recipe.as_ref().ok_or(Error::NoRecipe)?;
        let family = answer::family(self)?;
        asked.check(family, self.file.likelihood().map_or(family.name(), |likelihood| likelihood.name()))?;
        let table_error = |error| Error::table(error, &self.file.model.formula);
        let missing = match self.file.model.options.missing {
            Some(MissingName::Drop) => Missing::Drop,
            _ => Missing::Error,
        };
        let facts = match (self.file.model.variables.is_empty(), data) {
            (false, _) => self.file.model.variables.clone(),
            (true, Some(table)) => recipe.variables(table, missing).map_err(table_error)?,
            (true, None) => Vec::new(),
        };
        let variables = Variables::new(recipe, facts);
        let shown = variables.chosen(asked, data.is_some(), &self.file.model.formula)?;
        let ground = match data {
            None => Ground::grid(&variables, asked)?,
            Some(table) => {
                // A level that the fit has not seen is refused with its line in the table.
                recipe.rows_with(table, provi_table::NewLevels::Refuse, missing).map_err(table_error)?;
                let columns = recipe.columns_of(table, asked.by.as_deref(), missing).map_err(table_error)?;
                Ground::data(columns, table.name(), asked)?
            }
        };
        let answer = Answer::new(self, asked, exact)?;
        let mut effects = Vec::new();
        for name in &shown {
            for layout in Layout::of(&variables, &ground, name, asked).map_err(|error| match error {
                Error::Table { error, .. } => table_error(*error),
                other => other,
            })? {
                effects.extend(layout.effects(&answer, &self.file.model.categories, asked)?);
            }
        }
        let held = match &ground {
            Ground::Grid { .. } => variables.held_besides(&shown, asked)?,
            Ground::Data { .. } => Vec::new(),
        };
        let response = self.file.model.response();
        Ok(Effects {
            response,
            unit: answer.unit(asked.scale),
            scale: asked.scale.name(),
            compare: asked.compare.name(),
            by: asked.by.clone(),
            level: asked.level,
            data: ground.name(),
            rows: ground.rows(),
            held,
            without_groups: data.is_none() && variables.leaves_groups_out(&shown, asked),
            tv: answer.tv(),
            confidence: answer.confidence(),
            draws: answer.drawn(),
            effects,
        })
    }
}

impl EffectsAsked {
    /// The seed of the draws.
    fn seed(&self, file: &FitFile) -> Seed {
        Seed(self.seed.unwrap_or(file.seed))
    }
}

impl From<BadEffect> for Error {
    fn from(error: BadEffect) -> Self {
        Self::Effect(Box::new(error))
    }
}
