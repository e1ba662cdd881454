//! From a table and a formula to a fit: everything that `provi fit` does, except printing.

use std::ops::ControlFlow;
use std::path::Path;

use provi::Gaussian;
use provi::fit::Watch;
use provi_table::Table;

use crate::error::{Error, Result};
use crate::model::{self, Data, Earlier, Model};
use crate::options::{DeviceName, ModelOptions, RunOptions};
use crate::record::fit_file::sha256;
use crate::run::calibrate::{CalibrateAsked, Calibration, calibrate};
use crate::run::fitted::Fitted;
use crate::run::prior_predictive::{PriorAsked, PriorPredictive, prior_predictive};
use crate::run::problem::Problem;
use crate::run::sensitivity::{Sensitivity, sensitivity};

/// A table, a formula, and the model that they make.
///
/// ```
/// use provi::fit::Watch;
/// use provi_analysis::options::{ModelOptions, RunOptions};
/// use provi_analysis::Analysis;
/// use provi_table::{Table, Values};
///
/// let columns = vec![
///     ("switch".to_owned(), Values::Booleans([true, false, true, true, false].map(Some).to_vec())),
///     ("arsenic".to_owned(), Values::Numbers(vec![2.36, 0.71, 2.07, 1.15, 1.1])),
/// ];
/// let table = Table::from_columns("wells", columns)?;
/// let analysis = Analysis::new(table, "switch ~ arsenic", &ModelOptions::default())?;
/// let options = RunOptions { contrasts: vec!["(Intercept) + 2*arsenic".to_owned()], ..RunOptions::default() };
/// let fit = analysis.fit(&options, &mut Watch::default())?;
/// let summary = fit.summary(0.95)?;
/// assert_eq!(summary.coefficients[1].name, "arsenic");
/// assert!(summary.certificate.proves_gap(1e-9) && summary.contrasts.len() == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Analysis {
    data: Data,
    model: Model,
}

impl Analysis {
    /// From a table in memory.
    pub fn new(table: Table, formula: &str, options: &ModelOptions) -> Result<Self> {
        Self::of(Data::from(table), formula, options)
    }

    /// From a file; `-` is standard input.
    pub fn read(path: &Path, formula: &str, options: &ModelOptions) -> Result<Self> {
        // Refuse a wrong formula before reading a large file.
        model::parse(formula)?;
        let data = Data::read(path).map_err(|error| Error::table(error, formula))?;
        Self::of(data, formula, options)
    }

    /// From data in memory. Scales that are not given are estimated here.
    pub fn of(data: Data, formula: &str, options: &ModelOptions) -> Result<Self> {
        let model = Model::build(&data, formula, options, None)?;
        Ok(Self { data, model })
    }

    /// [`Analysis::of`] with a prior of the population's coefficients, in their order, instead of the options'
    /// prior.
    pub fn with_prior(data: Data, formula: &str, options: &ModelOptions, prior: &Gaussian) -> Result<Self> {
        let model = Model::build(&data, formula, options, Some(prior))?;
        Ok(Self { data, model })
    }

    /// [`Analysis::of`] with the Gaussian of an earlier fit as the prior of the coefficients that both models have. `name` stands for the
    /// fit in messages.
    pub fn after(
        data: Data,
        formula: &str,
        options: &ModelOptions,
        earlier: &Fitted,
        name: &str,
    ) -> Result<Self> {
        let sha256 = sha256(earlier.file.to_json().as_bytes());
        let earlier = Earlier::new(name.to_owned(), sha256, earlier.file.clone(), &earlier.gaussian)?;
        let model = Model::after(&data, formula, options, &earlier)?;
        Ok(Self { data, model })
    }

    /// The same with a card, where that is asked for ([`Model::on_device`]).
    pub fn on_device(self, asked: Option<DeviceName>) -> Result<Self> {
        Ok(Self { model: self.model.on_device(asked)?, ..self })
    }

    /// The target, and what a reader needs to know about it.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The rows.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// What is fitted, for shells that make the steps of [`Analysis::fit`] one by one.
    pub fn problem(&self) -> Problem<'_> {
        Problem::model(&self.model)
    }

    /// Returns the answer with its certificate and its checks, under a watch.
    pub fn fit(&self, options: &RunOptions, watch: &mut Watch<'_>) -> Result<Fitted> {
        self.problem().fit(options, watch)
    }

    /// How much an answer depends on the prior.
    pub fn sensitivity(&self, fitted: &Fitted) -> Result<Sensitivity> {
        sensitivity(&self.model, fitted)
    }

    /// What responses the prior expects, before any fit.
    pub fn prior_predictive(&self, asked: &PriorAsked) -> Result<PriorPredictive> {
        prior_predictive(&self.model, asked)
    }

    /// Simulation-based calibration at the design of the data; `told` hears how many simulations are made, and may end it.
    pub fn calibrate(
        &self,
        asked: &CalibrateAsked,
        told: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Calibration> {
        calibrate(&self.model, asked, told)
    }
}
