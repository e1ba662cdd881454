//! All that effects ask of an answer: linear functionals, mean responses at rows, draws, and what is proved.

use std::cell::OnceCell;

use provi::certificate::Statement;
use provi::target::Family;
use provi::{Certificate, Matrix, Provenance};
use provi_table::NewRows;

use super::asked::{EffectScale, is_probability};
use super::{Drawn, EffectsAsked};
use crate::error::Result;
use crate::run::contrast::Contrast;
use crate::run::fitted::Fitted;
use crate::run::sampled::Law;

/// A bound of an error, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Proof {
    pub(super) bound: f64,
    confidence: f64,
    provenance: Provenance,
}

impl Proof {
    fn of(statement: &Statement) -> Option<Self> {
        let bound = statement.bound().filter(|bound| bound.is_finite())?;
        Some(Self { bound, confidence: statement.confidence()?, provenance: statement.provenance()? })
    }

    /// The bound of something that is at most `factor` times as far off.
    pub(super) fn times(self, factor: f64) -> Self {
        Self { bound: self.bound * factor, ..self }
    }

    /// The word for the bound.
    pub(super) fn status(self) -> &'static str {
        match self.provenance {
            Provenance::Proved => "proved",
            Provenance::Declared => "declared",
            _ => "estimated",
        }
    }
}

/// A functional under q.
pub(super) struct Linear {
    pub(super) mean: f64,
    pub(super) interval: [f64; 2],
    pub(super) error: Option<Proof>,
}

/// A fit, as effects see it.
pub(super) struct Answer<'f> {
    fit: &'f Fitted,
    pub(super) family: Family,
    certificate: Certificate,
    level: f64,
    count: usize,
    seed: provi::Seed,
    /// Draws of the posterior itself, if the estimates shall come from them.
    exact: Option<(Matrix, Law)>,
    draws: OnceCell<Matrix>,
}

impl<'f> Answer<'f> {
    pub(super) fn new(fit: &'f Fitted, asked: &EffectsAsked, exact: Option<(Matrix, Law)>) -> Result<Self> {
        let nothing = || Certificate::nothing(fit.names(), "the fit has no certificate");
        Ok(Self {
            fit,
            family: fit.family()?,
            certificate: fit.certificate().cloned().unwrap_or_else(nothing),
            level: asked.level,
            count: asked.draws,
            seed: asked.seed(&fit.file),
            exact,
            draws: OnceCell::new(),
        })
    }

    /// vᵀz + offset under q.
    pub(super) fn linear(&self, v: &[f64], offset: f64) -> Result<Linear> {
        if v.iter().all(|x| x.abs() <= 0.0) {
            // It is known.
            let error = Proof { bound: 0.0, confidence: 1.0, provenance: Provenance::Proved };
            return Ok(Linear { mean: offset, interval: [offset; 2], error: Some(error) });
        }
        let contrast = Contrast::of_weights("an effect".to_owned(), v.to_vec());
        let found = self.fit.measure(&contrast, &self.certificate)?.functional;
        let [low, high] = found.interval(self.level)?;
        let error = [Proof::of(&found.mean_error), self.summed(v)].into_iter().flatten();
        Ok(Linear {
            mean: found.mean + offset,
            interval: [low + offset, high + offset],
            error: error.min_by(|a, b| a.bound.total_cmp(&b.bound)),
        })
    }

    /// Σ|v_i|·(the error of coefficient i), a bound of the functional's error that needs no metric.
    fn summed(&self, v: &[f64]) -> Option<Proof> {
        let moments = &self.certificate.moments;
        if moments.len() != v.len() {
            return None;
        }
        let mut total = Proof { bound: 0.0, confidence: 1.0, provenance: Provenance::Proved };
        for (moment, v) in moments.iter().zip(v).filter(|(_, v)| v.abs() > 0.0) {
            let own = Proof::of(&moment.mean_error)?;
            total.bound += own.bound * v.abs();
            total.confidence = total.confidence.min(own.confidence);
            if own.provenance != Provenance::Proved {
                total.provenance = own.provenance;
            }
        }
        // More than the rounding error of such a sum.
        Some(total.times(1.0 + 1e-12))
    }

    /// E g(s) at each row under q, with the interval of g(s).
    pub(super) fn means(&self, rows: NewRows) -> Result<Vec<[f64; 3]>> {
        let found = self.fit.of_rows(rows)?.predict(self.level)?;
        Ok(found.iter().map(|at| [at.mean, at.low, at.high]).collect())
    }

    /// The bound of the error of a probability: the total variation between q and the posterior.
    pub(super) fn probability_error(&self) -> Option<Proof> {
        Proof::of(&self.certificate.tv).filter(|_| is_probability(self.family))
    }

    /// Whether estimates come from draws of the posterior itself.
    pub(super) fn is_drawn(&self) -> bool {
        self.exact.is_some()
    }

    /// Draws of the coefficients, a row each.
    pub(super) fn draws(&self) -> Result<&Matrix> {
        if let Some((points, _)) = &self.exact {
            return Ok(points);
        }
        match self.draws.get() {
            Some(points) => Ok(points),
            None => {
                let points = self.fit.sample(self.count, self.seed)?;
                Ok(self.draws.get_or_init(|| points))
            }
        }
    }

    /// The draws that were made.
    pub(super) fn drawn(&self) -> Option<Drawn> {
        let own = if self.fit.mixture.is_some() { Law::Mixture } else { Law::Gaussian };
        match (&self.exact, self.draws.get()) {
            (Some((points, law)), _) => Some(Drawn { count: points.rows(), law: law.name() }),
            (None, Some(points)) => Some(Drawn { count: points.rows(), law: own.name() }),
            (None, None) => None,
        }
    }

    /// The total variation between q and the posterior, and the probability with which the bound holds.
    pub(super) fn tv(&self) -> Option<(f64, f64)> {
        Proof::of(&self.certificate.tv).map(|tv| (tv.bound.min(1.0), tv.confidence))
    }

    /// The probability with which the bounds of coefficients' means hold.
    pub(super) fn confidence(&self) -> Option<f64> {
        self.certificate.moments.first().and_then(|moment| moment.mean_error.confidence())
    }

    /// The unit of an effect, in a word.
    pub(super) fn unit(&self, scale: EffectScale) -> &'static str {
        match (scale, self.family) {
            (EffectScale::Link, _) => "linear predictor",
            (_, family) if is_probability(family) => "probability",
            (_, Family::Gaussian { .. }) => "mean",
            (_, Family::Poisson) => "rate",
            _ => "mean response",
        }
    }
}
