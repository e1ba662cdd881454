//! Fits of families beyond one log-concave function of one linear predictor: the run, parameters on their own scale, predictions.

use std::ops::Range;

use provi::fit::Watch;
use provi::predict::Prediction;
use provi::regression::NewRows;
use provi::sparse::NormalLaw;
use provi::target::Likelihood;
use provi::{Certificate, Design, Matrix, Seed};
use provi_table::{Dropped, Missing, NewLevels, Table};

use crate::error::{BadRegression, Error, Result};
use crate::model::{self, RegressionModel};
use crate::options::{FamilyName, RunOptions, SearchOptions};
use crate::record::fit_file::FitFile;
use crate::run::fitted::Fitted;
use crate::run::problem::Problem;
use crate::run::sampled::Sampled;

/// The probability of the intervals of parameters in fit.json.
const LEVEL: f64 = 0.95;
/// Numbers held at once when draws are made part by part.
const PART: usize = 1 << 20;

impl RegressionModel {
    /// The options of a run, with a start at the prior's means unless one is given.
    pub fn run_options(&self, options: &RunOptions) -> RunOptions {
        let start = options.search.start.clone().or_else(|| Some(self.regression().start()));
        let search = SearchOptions { start, ..options.search.clone() };
        RunOptions { search, ..options.clone() }
    }

    /// Returns the answer with its certificate or its verdict, under a watch.
    pub fn fit(&self, options: &RunOptions, watch: &mut Watch<'_>) -> Result<Fitted> {
        let mut fitted = Problem::regression(self).fit(&self.run_options(options), watch)?;
        fitted.add_parameters()?;
        Ok(fitted)
    }
}

impl FitFile {
    /// The likelihood of a fit of such a family; `None` for other fits.
    pub fn likelihood(&self) -> Option<Likelihood> {
        let family: FamilyName = self.model.family.parse().ok()?;
        let options = &self.model.options;
        let found = match family {
            // The scale of a prior does not matter to an answer.
            FamilyName::Student => {
                Some(Likelihood::Student { sd: options.noise_sd, degrees: options.nu, scale: 1.0 })
            }
            FamilyName::Multinomial if self.model.categories.len() > 1 => {
                Some(Likelihood::Multinomial { levels: self.model.categories.len() })
            }
            FamilyName::Betabinomial => Some(Likelihood::BetaBinomial),
            FamilyName::Zipoisson => Some(Likelihood::ZeroInflatedPoisson),
            _ => None,
        };
        // A file that somebody has changed may have fewer coordinates than its family.
        found.filter(|likelihood| self.names.len() > likelihood.parameters().len())
    }
}

impl Fitted {
    /// Writes down the further parameters on their own scale, from draws of the Gaussian with the seed of the fit.
    pub fn add_parameters(&mut self) -> Result<()> {
        let Some(likelihood) = self.file.likelihood() else { return Ok(()) };
        if let Some(reason) = model::not_log_concave(likelihood) {
            // The same as before, with the reason that concerns this family.
            self.file.certificate = Some(Certificate::nothing(&self.file.names, &reason));
        }
        let points = self.gaussian.sample(model::PARAMETER_DRAWS, Seed(self.file.seed));
        let pareto_k = self.file.estimates.as_ref().and_then(|found| found.pareto_k);
        self.file.constrained = model::natural_parameters(likelihood, &points, pareto_k, LEVEL);
        Ok(())
    }

    /// The model of such a fit, made again from its data; from other data only if `force`.
    pub fn regression(&self, data: &model::Data, force: bool) -> Result<RegressionModel> {
        if !force {
            super::fitted::refuse_other_data(&self.file, data)?;
        }
        let options = self.file.model.options.clone().as_recorded();
        RegressionModel::build(data, &self.file.model.formula, &options)
    }

    /// New rows in the design of such a fit; with their trials, if `trials`.
    pub fn regression_rows(
        &self,
        table: &Table,
        missing: Missing,
        trials: bool,
    ) -> Result<RegressionRows<'_>> {
        let recipe = self.file.model.recipe.as_ref().ok_or(Error::NoRecipe)?;
        let refuse = |error| Error::table(error, &self.file.model.formula);
        let Some(likelihood) = self.file.likelihood() else {
            let found = self.file.model.family.clone();
            return Err(Error::UnknownModel { what: "family", found });
        };
        let new = match trials {
            true => recipe.rows_with_trials(table, NewLevels::Refuse, missing),
            false => recipe.rows_with(table, NewLevels::Refuse, missing),
        };
        let new = new.map_err(refuse)?;
        let (offsets, trials, lines, dropped) = (new.offsets, new.trials, new.lines, new.dropped);
        let design = model::design(&new.design)?;
        Ok(RegressionRows { fit: self, likelihood, design, offsets, trials, lines, dropped })
    }

    /// Refuses what is not there for a fit of such a family.
    pub fn needs_one_predictor(&self, what: &str) -> Result<()> {
        match self.file.likelihood() {
            None => Ok(()),
            Some(likelihood) => {
                let (what, family) = (what.to_owned(), likelihood.name());
                Err(BadRegression::NotThere { what, family }.into())
            }
        }
    }
}

impl Sampled {
    /// The same draws with parameters on their own scale beside the coefficients, if the fit has such.
    pub fn with_parameters(mut self, file: &FitFile) -> Result<Self> {
        let Some(likelihood) = file.likelihood().filter(|found| !found.parameters().is_empty()) else {
            return Ok(self);
        };
        let first = self.points.columns() - likelihood.parameters().len();
        let names = self.names[..first].iter().cloned();
        let names = names.chain(likelihood.parameters().iter().map(|name| (*name).to_owned())).collect();
        let mut entries = Vec::with_capacity(self.points.entries().len());
        for k in 0..self.points.rows() {
            let (own, further) = self.points.row(k).split_at(first);
            entries.extend_from_slice(own);
            entries.extend(likelihood.natural(further));
        }
        let points = Matrix::new(self.points.rows(), self.points.columns(), entries)?;
        self.constrained = Some((names, points));
        Ok(self)
    }
}

/// New rows in the design of a fit.
#[derive(Debug)]
pub struct RegressionRows<'f> {
    fit: &'f Fitted,
    /// The likelihood of the fit.
    pub likelihood: Likelihood,
    design: Design,
    offsets: Option<Vec<f64>>,
    trials: Option<Vec<f64>>,
    /// The line of each row, from 1.
    pub lines: Vec<usize>,
    /// Rows left out.
    pub dropped: Dropped,
}

impl RegressionRows<'_> {
    fn rows(&self) -> NewRows<'_> {
        NewRows { design: &self.design, offsets: self.offsets.as_deref(), trials: self.trials.as_deref() }
    }

    /// The mean response of each row with its interval: one prediction a row, or that of the probability of each level.
    pub fn predict(&self, level: f64) -> Result<Vec<Vec<Prediction>>> {
        let q = self.fit.dense("a prediction")?;
        Ok(self.rows().predict(self.likelihood, &q, level, Seed(self.fit.file.seed))?)
    }

    /// The draws of new responses with these numbers, one per row, with a column for each new row; a pure function of the seed.
    pub fn responses_part(&self, which: Range<u64>, seed: Seed) -> Result<Matrix> {
        if self.likelihood == Likelihood::BetaBinomial && self.trials.is_none() {
            return Err(Error::DrawsWithoutTrials);
        }
        let points = self.fit.gaussian.sample_part(which.clone(), seed);
        Ok(self.rows().responses(self.likelihood, &points, which.start, seed)?)
    }

    /// How many draws to make at once, so that a list of any length takes little memory.
    pub fn part_of_draws(&self) -> u64 {
        (PART / (self.design.rows() + self.fit.gaussian.dim()).max(1)).max(1) as u64
    }
}
