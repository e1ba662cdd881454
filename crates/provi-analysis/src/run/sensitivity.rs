//! How much the answer depends on the prior: the same model with every prior half and twice as wide.

use provi::solve::Solver;
use provi::sparse::{AnyGaussian, SparseSolver};

use crate::error::Result;
use crate::model::Model;
pub use crate::record::robustness::{Sensitivity, SensitivityRow, VISIBLE};
use crate::run::fitted::Fitted;

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
