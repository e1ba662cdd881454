//! Rows left out by importance ratios of draws, and WAIC.

use super::{LeftOut, Total};
use crate::base::chunked::{self, Chunks};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::base::special::log_sum_exp;
use crate::base::stop;
use crate::certify::estimate::psis;
use crate::glm::regression::Regression;
use crate::glm::{Family, Glm};

/// Above this variance of a row's log likelihood, WAIC is not to be believed.
pub const WAIC_BELIEVED: f64 = 0.4;
/// Rows at a time.
const WAVE: usize = 64;

/// The widely applicable information criterion, on the scale of elpd.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Waic {
    /// elpd_waic = Σ (lpd_i − v_i), v_i the variance of log p(y_i | z) over the draws.
    pub elpd: Total,
    /// p_waic = Σ v_i.
    pub p_waic: f64,
    /// Rows with v_i above 0.4, which make it unreliable.
    pub doubtful: usize,
}

/// All rows left out by Pareto smoothed importance ratios.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Smoothed {
    /// The rows in their order.
    pub rows: Vec<LeftOut>,
    /// From the same draws.
    pub waic: Waic,
}

impl Smoothed {
    /// From draws of the posterior, one a row. With w_k the smoothed ratios p(y_i | z_k)⁻¹ of row i,
    /// ```text
    /// elpd_i = log Σ_k w_k p(y_i | z_k) − log Σ_k w_k,    lpd_i = log (1/S) Σ_k p(y_i | z_k)
    /// ```
    /// `families`: if the noise or the gaps between cut points were drawn with the coefficients, the family with those of each draw. The same bits for any number of threads. Cost: a
    /// sort of the draws for each row.
    ///
    /// ```
    /// use provi::{Design, Seed, loo::Smoothed, solve::Solver, target::{Glm, Prior}};
    ///
    /// let design = Design::dense(4, 1, &[1.0, 1.0, 1.0, 1.0])?;
    /// let model = Glm::linear(design, &[0.1, 0.2, 0.4, -0.3], 1.0, Prior::scale(10.0)?)?;
    /// let draws = Solver::default().run(&model)?.gaussian.sample(4000, Seed(1));   // a gaussian posterior: its own draws
    /// let found = Smoothed::of_draws(&model, &draws, None, &mut |_| ())?;
    /// assert!(found.rows.iter().all(|row| row.pareto_k.unwrap() < 0.7));
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn of_draws(
        model: &Glm,
        points: &Matrix,
        families: Option<&[Family]>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        let draws = points.rows();
        if draws == 0 {
            return Err(Error::Empty { what: "draws for leaving out rows" });
        }
        let work = draws.saturating_mul(64 + model.design().columns());
        let one = |row: usize| smoothed(model, row, points, families);
        Self::of_rows(model.design().rows(), work, &one, progress)
    }

    /// From draws of any Gaussian near the posterior of a regression, one a row, with their log ratios log p(z, y) − log q(z): with w_k the
    /// smoothed ratios p(z_k, y)/(q(z_k) p(y_i | z_k)) of row i,
    /// ```text
    /// elpd_i = log Σ_k w_k p(y_i | z_k) − log Σ_k w_k
    /// ```
    /// lpd_i and WAIC take the smoothed ratios p/q. So k̂ of a row speaks of both, how far q is from the posterior and how far that moves
    /// without the row.
    pub fn of_weighted_draws(
        model: &Regression,
        points: &Matrix,
        log_ratios: &[f64],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        if log_ratios.is_empty() || log_ratios.len() != points.rows() {
            let (found, expected) = (log_ratios.len(), points.rows().max(1));
            return Err(Error::Shape { what: "log ratios of the draws", found, expected });
        }
        let mut smooth = log_ratios.to_vec();
        if !are_equal(log_ratios) {
            psis(&mut smooth)?;
        }
        let towards = Towards { raw: log_ratios, smooth: &smooth };
        let work = points.rows().saturating_mul(256 + model.coefficients());
        let one = |row: usize| {
            let (logs, cumulative) =
                (model.log_likelihoods_of(row, points)?, model.cumulative_of(row, points)?);
            left_out(&logs, Some(towards), model.is_void(row), &cumulative)
        };
        Self::of_rows(model.design().rows(), work, &one, progress)
    }

    /// Row after row; `work` is that of one.
    fn of_rows(
        rows: usize,
        work: usize,
        smoothed: &(dyn Fn(usize) -> Result<(LeftOut, f64)> + Sync),
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        let (mut out, mut variances) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for first in (0..rows).step_by(WAVE) {
            if stop::is_wanted() {
                return Err(Error::Stopped { during: "leaving out rows by their draws" });
            }
            let chunks = Chunks { len: WAVE.min(rows - first), size: 1, work: work.saturating_mul(WAVE) };
            let one = |range: std::ops::Range<usize>| {
                range.map(|i| smoothed(first + i)).collect::<Result<Vec<_>>>()
            };
            for part in chunked::map(chunks, one) {
                for (row, variance) in part? {
                    out.push(row);
                    variances.push(variance);
                }
            }
            progress(out.len());
        }
        let each: Vec<f64> = out.iter().zip(&variances).map(|(row, v)| row.lpd - v).collect();
        let waic = Waic {
            elpd: Total::of(&each),
            p_waic: variances.iter().sum(),
            doubtful: variances.iter().filter(|v| **v > WAIC_BELIEVED).count(),
        };
        Ok(Self { rows: out, waic })
    }
}

/// Log ratios that differ by less are equal.
const EQUAL: f64 = 1e-9;

fn are_equal(ratios: &[f64]) -> bool {
    let [low, high] = [f64::min, f64::max].map(|pick| ratios.iter().copied().fold(ratios[0], pick));
    high - low < EQUAL
}

/// A row, and the variance of its log likelihood.
fn smoothed(model: &Glm, row: usize, points: &Matrix, families: Option<&[Family]>) -> Result<(LeftOut, f64)> {
    let logs = model.log_likelihoods_of(row, points, families)?;
    let law = model.rows.likelihood_of(row);
    let cumulative = |(k, s): (usize, &f64)| {
        let (law, shift) = families.map_or(Ok((law, 0.0)), |families| law.with_family(families[k]))?;
        Ok(law.cumulative(s + shift))
    };
    let cumulative: Vec<[f64; 2]> =
        model.predictors_of(row, points)?.iter().enumerate().map(cumulative).collect::<Result<_>>()?;
    left_out(&logs, None, law.is_void(), &cumulative)
}

/// Log weights of draws towards the posterior: as they are, and smoothed.
#[derive(Clone, Copy)]
struct Towards<'a> {
    raw: &'a [f64],
    smooth: &'a [f64],
}

/// A row from its log likelihoods at the draws, and where it lies in its law there.
fn left_out(
    logs: &[f64],
    towards: Option<Towards<'_>>,
    is_void: bool,
    cumulative: &[[f64; 2]],
) -> Result<(LeftOut, f64)> {
    if let Some(index) = logs.iter().position(|log| !log.is_finite()) {
        return Err(Error::NotFinite { what: "log likelihood of the draws", index, value: logs[index] });
    }
    let mut ratios: Vec<f64> = match towards {
        None => logs.iter().map(|log| -log).collect(),
        // A row that says nothing leaves the weights as they are.
        Some(towards) if is_void => towards.smooth.to_vec(),
        Some(towards) => logs.iter().zip(towards.raw).map(|(log, weight)| weight - log).collect(),
    };
    // Equal ratios have no tail to fit and need none.
    let pareto_k = match is_void {
        true => None,
        false if are_equal(&ratios) => Some(0.0),
        false => Some(psis(&mut ratios)?),
    };
    let total = log_sum_exp(&ratios);
    let weighted: Vec<f64> = ratios.iter().zip(logs).map(|(ratio, log)| ratio + log).collect();
    let [mut below, mut up_to] = [0.0; 2];
    for ([a, b], ratio) in cumulative.iter().zip(&ratios) {
        let share = (ratio - total).exp();
        below += share * a;
        up_to += share * b;
    }
    let (lpd, variance) = match towards {
        None => {
            let n = logs.len() as f64;
            let mean = logs.iter().sum::<f64>() / n;
            let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / n;
            (log_sum_exp(logs) - n.ln(), variance)
        }
        Some(Towards { smooth, .. }) => {
            let all = log_sum_exp(smooth);
            let each = || smooth.iter().map(|weight| (weight - all).exp()).zip(logs);
            let mean: f64 = each().map(|(share, log)| share * log).sum();
            let variance = each().map(|(share, log)| share * (log - mean).powi(2)).sum();
            let weighted: Vec<f64> = smooth.iter().zip(logs).map(|(weight, log)| weight + log).collect();
            (log_sum_exp(&weighted) - all, variance)
        }
    };
    let found = LeftOut {
        elpd: log_sum_exp(&weighted) - total,
        lpd,
        lower: None,
        upper: None,
        below: below.clamp(0.0, 1.0),
        up_to: up_to.clamp(0.0, 1.0),
        pareto_k,
        refitted: false,
        converged: true,
    };
    Ok((found, variance))
}
