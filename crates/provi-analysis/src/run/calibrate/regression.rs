//! Calibration of families beyond one log-concave function of one predictor.

use std::ops::ControlFlow;

use provi::estimate::{Estimates, log_ratios, psis, resample};
use provi::target::{Evaluator, Prior, Regression};
use provi::{Audit, Auto, Gaussian, Matrix, Seed, Target};

use super::{
    CalibrateAsked, Calibration, DrawnFrom, coordinate_ranks, exact, log_likelihood_rank, repeated, with_last,
};
use crate::error::{Error, Result};
use crate::model::RegressionModel;
use crate::run::sampled::refuse_heavy_tail;

/// Draws of each of two laws from which a posterior's are resampled: as many times those, at least and at most so many.
const POOL: usize = 40;
const LEAST_POOL: usize = 4000;
const MOST_POOL: usize = 50_000;
/// How often responses that no fit takes are drawn again, and how far apart the numbers of those draws are.
const TRIES: u64 = 1000;
const APART: u64 = 1 << 32;

/// Calibrates a regression beyond one log-concave function of one predictor, in the same way. Levels without an order have draws of the
/// posterior itself, where they cost little; the others weighted draws, and those are what is calibrated: not the Gaussian that a fit reports.
pub fn calibrate_regression(
    model: &RegressionModel,
    asked: &CalibrateAsked,
    told: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Calibration> {
    ranked_regression(model.regression(), asked, &of_regression, told)
}

/// How the posterior of a regression is found and drawn from.
pub(super) type RegressionFit<'a> =
    dyn Fn(&Regression, usize, Seed) -> Result<(Matrix, DrawnFrom)> + Sync + 'a;

/// The ranks of every coordinate and of the log likelihood under a way to fit.
pub(super) fn ranked_regression(
    regression: &Regression,
    asked: &CalibrateAsked,
    fit: &RegressionFit<'_>,
    told: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Calibration> {
    if regression.is_weighted() {
        return Err(Error::WeightedSimulation);
    }
    let mut names = regression.names();
    names.push("log likelihood".to_owned());
    let one = |number: u64| -> Result<(Vec<u32>, DrawnFrom)> {
        let (point, replicated) = simulated(regression, number, asked.seed)?;
        let (points, from) = fit(&replicated, asked.draws, asked.seed.part(number))?;
        let mut out = coordinate_ranks(&point, &points, point.len());
        out.push(log_likelihood_rank(&replicated.log_likelihoods(&with_last(&points, &point)?)?)?);
        Ok((out, from))
    };
    repeated(names, asked, &one, told)
}

/// Coordinates of the prior and their responses. Responses that no fit takes, counts that are all 0, are drawn again with others in their place:
/// that depends on the data alone, so ranks stay uniform.
fn simulated(regression: &Regression, number: u64, seed: Seed) -> Result<(Vec<f64>, Regression)> {
    let mut refused = provi::Error::Empty { what: "simulations" };
    for attempt in 0..TRIES {
        let number = number + attempt * APART;
        let point = regression.prior_draw(number, seed)?;
        match regression.replicated(&point, number, seed) {
            Err(error @ provi::Error::Response { .. }) => refused = error,
            found => return Ok((point, found?)),
        }
    }
    Err(refused.into())
}

pub(super) fn of_regression(
    regression: &Regression,
    draws: usize,
    seed: Seed,
) -> Result<(Matrix, DrawnFrom)> {
    // What the audit of the search proves is not looked at.
    let audit = Audit { draws: 1000, ..Audit::default() };
    let search = Auto { start: Some(regression.start()), audit, ..Auto::default() };
    let q: Gaussian = search.run(regression, seed)?.fit.gaussian;
    if regression.likelihood().is_log_concave() {
        match exact(regression, &q, draws, seed) {
            Err(Error::Library(
                provi::Error::ExactDrawsCost { .. } | provi::Error::ExactDrawsRounding { .. },
            )) => {}
            found => return Ok((found?, DrawnFrom::Exact)),
        }
    }
    Ok((weighted(regression, &q, draws, seed)?, DrawnFrom::Weighted))
}

/// Draws of ½q + ½t resampled towards the posterior, t Student's law with four degrees of freedom, the mean of q and twice its factor: its tails
/// bound weights that those of q leave unbounded. In d dimensions, with q(m) the density at the mean,
/// ```text
/// t(z)/q(z) = Γ(2 + d/2)·2^{−3d/2}·(1 + r²/16)^{−2−d/2}·e^{r²/2},   r² = 2 log q(m)/q(z)
/// ```
pub(super) fn weighted(regression: &Regression, q: &Gaussian, draws: usize, seed: Seed) -> Result<Matrix> {
    let (d, mean, half) = (q.dim(), q.mean(), (POOL * draws).clamp(LEAST_POOL, MOST_POOL));
    let mut entries = q.sample(half, seed).entries().to_vec();
    // ½√(χ²/4) of four normal numbers.
    let normals = Prior::scale(1.0)?.sample(4, 0..half as u64, seed.part(1))?;
    for (k, z) in q.sample(half, seed.part(2)).entries().chunks_exact(d).enumerate() {
        let shrink = (normals.row(k).iter().map(|u| u * u).sum::<f64>() / 16.0).sqrt();
        entries.extend(z.iter().zip(mean).map(|(z, m)| m + (z - m) / shrink));
    }
    let points = Matrix::new(2 * half, d, entries)?;
    let mut ratios = log_ratios(Evaluator::Parallel(regression), q, &points)?;
    let top = q.log_density(mean)?;
    for (k, ratio) in ratios.iter_mut().enumerate() {
        let square = 2.0 * (top - q.log_density(points.row(k))?).max(0.0);
        let far = log_student_over_normal(d, square);
        // log(½ + ½e^far).
        *ratio -= far.max(0.0) + (-far.abs()).exp().ln_1p() - std::f64::consts::LN_2;
    }
    refuse_heavy_tail(&Estimates::from_log_ratios(&ratios)?)?;
    psis(&mut ratios)?;
    let entries = resample(&ratios, draws, seed)?.into_iter().flat_map(|k| points.row(k).to_vec()).collect();
    Ok(Matrix::new(draws, d, entries)?)
}

/// log t(z)/q(z) of [`weighted`].
pub(super) fn log_student_over_normal(d: usize, square: f64) -> f64 {
    let shape = 2.0 + 0.5 * d as f64;
    // Γ(x + 1) = xΓ(x), from Γ(2) = 1 or Γ(5/2) = ¾√π on.
    let from = if d.is_multiple_of(2) { 0.0 } else { (0.75 * std::f64::consts::PI.sqrt()).ln() };
    let first = 2.0 + 0.5 * (d % 2) as f64;
    let log_gamma = from + (0..d / 2).map(|k| (first + k as f64).ln()).sum::<f64>();
    log_gamma - 1.5 * d as f64 * std::f64::consts::LN_2 - shape * (square / 16.0).ln_1p() + 0.5 * square
}
