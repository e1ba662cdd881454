//! What the answer owes to the prior: the same model with every prior half and twice as wide.

use provi::Gaussian;
use provi::solve::{Solution, Solver};
use serde::Serialize;

use crate::error::Result;
use crate::fitted::{Fitted, rebuild};
use crate::model::{Data, Model};

/// A coefficient that moves by more of its sd than this leans on the prior.
pub const VISIBLE: f64 = 0.5;

/// The means of the population under three priors, conditional on the same scales.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// A coefficient each.
    pub rows: Vec<SensitivityRow>,
    /// −ELBO under narrower, given and wider priors.
    pub neg_elbo: [f64; 3],
}

/// One coefficient.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SensitivityRow {
    /// The coefficient.
    pub name: String,
    /// Its mean under narrower, given and wider priors.
    pub means: [f64; 3],
    /// The largest move away from the given one, in sds.
    pub moves: f64,
}

impl SensitivityRow {
    /// Does it move by more than [`VISIBLE`]?
    pub fn leans_on_the_prior(&self) -> bool {
        self.moves > VISIBLE
    }
}

/// Fits the model again under narrower and wider priors.
pub(crate) fn sensitivity(data: &Data, formula: &str, model: &Model, fitted: &Fitted) -> Result<Sensitivity> {
    let Fitted { file, gaussian: q } = fitted;
    let solve = |factor: f64| -> Result<Solution> {
        let options = model.options.with_wider_priors(factor);
        let wider = match &model.prior_gaussian {
            None => rebuild(file, data, formula, &options)?,
            Some(prior) => {
                let packed: Vec<f64> = prior.factor().iter().map(|c| factor * c).collect();
                Model::build(data, formula, &model.options, Some(&Gaussian::new(prior.mean(), &packed)?))?
            }
        };
        Ok(Solver::default().run(wider.target.target())?)
    };
    let (narrow, wide) = (solve(0.5)?, solve(2.0)?);
    let sd = q.standard_deviations();
    let row = |i: usize| {
        let means = [narrow.gaussian.mean()[i], q.mean()[i], wide.gaussian.mean()[i]];
        let moves = means.iter().map(|m| (m - means[1]).abs()).fold(0.0, f64::max) / sd[i];
        SensitivityRow { name: file.names[i].clone(), means, moves }
    };
    Ok(Sensitivity {
        rows: (0..model.population).map(row).collect(),
        neg_elbo: [narrow.neg_elbo, file.neg_elbo, wide.neg_elbo],
    })
}
