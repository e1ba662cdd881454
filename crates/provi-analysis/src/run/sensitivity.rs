//! How much the answer depends on the prior: the same model with every prior half and twice as wide.

use provi::solve::Solver;
use provi::sparse::{AnyGaussian, SparseSolver};
use serde::Serialize;

use crate::error::Result;
use crate::model::Model;
use crate::run::fitted::Fitted;

/// A coefficient depends visibly on the prior if it moves by more than this many of its sds.
pub const VISIBLE: f64 = 0.5;

/// The population's means under three priors, conditional on the same scales.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// One row for each coefficient.
    pub rows: Vec<SensitivityRow>,
    /// −ELBO under the narrower, the given and the wider prior.
    pub neg_elbo: [f64; 3],
}

/// One coefficient.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SensitivityRow {
    /// The coefficient.
    pub name: String,
    /// Its mean under the narrower, the given and the wider prior.
    pub means: [f64; 3],
    /// The largest distance from its mean under the given prior, in sds.
    pub moves: f64,
}

impl SensitivityRow {
    /// Whether it moves by more than [`VISIBLE`].
    pub fn leans_on_the_prior(&self) -> bool {
        self.moves > VISIBLE
    }
}

/// Fits the model again under narrower and wider priors.
pub(crate) fn sensitivity(model: &Model, fitted: &Fitted) -> Result<Sensitivity> {
    let Fitted { file, gaussian: q, mixture } = fitted;
    let solve = |factor: f64| -> Result<(AnyGaussian, f64)> {
        let prior = model.target.prior().widened(model.dim(), model.population, factor)?;
        let target = model.target.clone().with_prior(prior)?;
        if let Some(sparse) = target.sparse() {
            let solution = SparseSolver::default().run(sparse)?;
            return Ok((solution.gaussian.into(), solution.neg_elbo));
        }
        let solution = Solver::default().run(target.target())?;
        Ok((solution.gaussian.into(), solution.neg_elbo))
    };
    let (narrow, wide) = (solve(0.5)?, solve(2.0)?);
    // Scales that are integrated over are held where the ELBO is largest, for all three priors.
    let (given, neg_elbo) = match mixture {
        None => (q.clone(), file.neg_elbo),
        Some(_) => solve(1.0)?,
    };
    let sd = q.standard_deviations()?;
    let row = |i: usize| {
        let means = [narrow.0.mean()[i], given.mean()[i], wide.0.mean()[i]];
        let moves = means.iter().map(|m| (m - means[1]).abs()).fold(0.0, f64::max) / sd[i];
        SensitivityRow { name: file.names[i].clone(), means, moves }
    };
    Ok(Sensitivity { rows: (0..model.population).map(row).collect(), neg_elbo: [narrow.1, neg_elbo, wide.1] })
}
