//! Leave-one-out cross-validation: how well a model predicts each row from the others.
//!
//! For row i, elpd_i = log p(y_i | y_{−i}), the log density of its response under the posterior without it. Two ways, both of the weight
//! that the row has in the model (a row of weight w has the likelihood pʷ, and is left out with all of it):
//!
//! *Refits* ([`refits`]). q_{−i} is the best Gaussian of the posterior without row i, found from the full fit's. Its predictor of the row
//! is N(μ, σ²), and
//! ```text
//! elpd_i ≈ log ∫ p(y_i | s) N(s; μ, σ²) ds
//! ```
//! by quadrature: the predictive density of the Gaussian approximation. The posterior's own elpd_i is a ratio of evidences, which
//! certificates bound \[evidence-difference\]:
//! ```text
//! elpd_i = log p(y) − log p(y_{−i}),      L − U_{−i} ≤ elpd_i ≤ U − L_{−i}
//! ```
//! for L ≤ log p(y) ≤ U and L_{−i} ≤ log p(y_{−i}) ≤ U_{−i}. L_{−i} is the ELBO of the refit and costs nothing; U_{−i} takes an audit. The
//! width is of the order of KL(q‖p), not of its root as by Pinsker's inequality.
//!
//! *Draws* ([`Smoothed::of_draws`]). With draws z_k of the posterior, p(y_i | z_k)⁻¹ are the importance ratios from it to the one without
//! row i, smoothed by [`crate::estimate::psis`]; k̂ says how far to believe them.
//!
//! If scales are integrated over, with weights w_j at nodes j, the posterior of the scales loses the row too ([`refits_of_mixture`]):
//! ```text
//! elpd_i = −log Σ_j w_j e^{−elpd_ij},     node weights without the row ∝ w_j e^{−elpd_ij}
//! ```

mod draws;
mod refit;
#[cfg(test)]
mod tests;

pub use draws::{Smoothed, WAIC_BELIEVED, Waic};
pub use refit::{Refits, refits, refits_of_mixture, whole, work};

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};

/// One row, left out.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LeftOut {
    /// log p(y_i | y_{−i}).
    pub elpd: f64,
    /// log p(y_i | y): the same without leaving the row out.
    pub lpd: f64,
    /// Proved lower bound of the posterior's own elpd_i.
    pub lower: Option<f64>,
    /// Proved upper bound of it.
    pub upper: Option<f64>,
    /// P(new < y_i) without the row.
    pub below: f64,
    /// P(new ≤ y_i) without the row; the same as `below` for a response with a density.
    pub up_to: f64,
    /// k̂ of the ratios; `None` for a refit.
    pub pareto_k: Option<f64>,
    /// Whether the row was left out by a refit, rather than by importance ratios.
    pub refitted: bool,
    /// Whether that refit converged, at every value of the scales; true for importance ratios.
    pub converged: bool,
}

/// A sum over rows with its standard error √(N·Var), as if rows were drawn independently; the variance has the divisor N.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Total {
    /// The sum.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl Total {
    /// Of the contributions of the rows.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let value: f64 = values.iter().sum();
        let spread: f64 = values.iter().map(|x| (x - value / n).powi(2)).sum();
        Self { value, standard_error: spread.sqrt() }
    }
}

/// Above this k̂ a row's importance ratios are not believed, and the row is refitted if it can be.
pub const BELIEVED: f64 = 0.7;

/// Every row of a model, left out in turn.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Loo {
    /// The rows in their order.
    pub rows: Vec<LeftOut>,
}

impl Loo {
    /// elpd_loo = Σ elpd_i.
    pub fn elpd(&self) -> Total {
        Total::of(&self.each(|row| row.elpd))
    }

    /// p_loo = Σ (lpd_i − elpd_i): the effective number of parameters.
    pub fn p_loo(&self) -> Total {
        Total::of(&self.each(|row| row.lpd - row.elpd))
    }

    /// Proved bounds of the posterior's own elpd_loo: sums of those of the rows, where every row has one.
    pub fn bounds(&self) -> [Option<f64>; 2] {
        // More than the rounding of a sum.
        let outwards = self.rows.len() as f64 * f64::EPSILON;
        let sum = |side: &dyn Fn(&LeftOut) -> Option<f64>, sign: f64| {
            let each: Option<Vec<f64>> = self.rows.iter().map(side).collect();
            let each = each.filter(|each| !each.is_empty())?;
            let size: f64 = each.iter().map(|x| x.abs()).sum();
            Some(each.iter().sum::<f64>() + sign * outwards * size)
        };
        [sum(&|row| row.lower, -1.0), sum(&|row| row.upper, 1.0)]
    }

    /// Rows whose ratios are not believed and that were not refitted.
    pub fn doubtful(&self) -> usize {
        let doubtful =
            |row: &&LeftOut| !row.refitted && row.pareto_k.is_some_and(|k| k.is_nan() || k > BELIEVED);
        self.rows.iter().filter(doubtful).count()
    }

    /// Rows whose refit did not converge: their elpd is that of a Gaussian that is not the best one.
    pub fn unconverged(&self) -> usize {
        self.rows.iter().filter(|row| !row.converged).count()
    }

    /// elpd of this model minus that of another, of the same rows in the same order; its standard error is that of the sum of the differences.
    /// Refused if there are not as many rows.
    pub fn difference(&self, other: &Self) -> Result<Total> {
        let (found, expected) = (other.rows.len(), self.rows.len());
        if found != expected {
            return Err(Error::Shape { what: "rows of the other model", found, expected });
        }
        let pairs = self.rows.iter().zip(&other.rows);
        Ok(Total::of(&pairs.map(|(a, b)| a.elpd - b.elpd).collect::<Vec<_>>()))
    }

    /// A value of the predictive distribution function for each row: about uniform if the model is right. Between P(new < y_i) and P(new ≤ y_i),
    /// where a response is discrete, by a uniform that depends on the seed.
    pub fn pit(&self, seed: Seed) -> Vec<f64> {
        let stream = Draws::new(seed, Purpose::Response);
        let at = |(i, row): (usize, &LeftOut)| {
            row.below + (row.up_to - row.below) * stream.uniform(i as u64, u32::MAX)
        };
        self.rows.iter().enumerate().map(at).collect()
    }

    fn each(&self, pick: impl Fn(&LeftOut) -> f64) -> Vec<f64> {
        self.rows.iter().map(pick).collect()
    }
}
