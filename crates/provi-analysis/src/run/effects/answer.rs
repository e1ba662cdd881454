//! All that effects ask of an answer: linear functionals, mean responses at rows, draws, and what is proved.

use std::cell::OnceCell;

use provi::certificate::Statement;
use provi::target::{Family, Likelihood};
use provi::{Certificate, Matrix, Provenance};
use provi_table::{DesignRows, NewRows};

use super::asked::{EffectScale, is_probability};
use super::{Drawn, EffectsAsked, regression};
use crate::error::Result;
use crate::run::contrast::Contrast;
use crate::run::fitted::Fitted;
use crate::run::sampled::Law;

/// Most products for bounds of single rows; beyond them the total variation is the bound.
const MOST_COUPLED: u128 = 1 << 30;

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

    /// The bound of a sum.
    pub(super) fn plus(self, other: Self) -> Self {
        let weaker = if other.provenance == Provenance::Proved { self.provenance } else { other.provenance };
        let confidence = self.confidence.min(other.confidence);
        Self { bound: self.bound + other.bound, confidence, provenance: weaker }
    }

    /// No error.
    pub(super) fn nothing() -> Self {
        Self { bound: 0.0, confidence: 1.0, provenance: Provenance::Proved }
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
    /// The likelihood of a family beyond one log-concave function of one predictor; `family` is then the one whose link it has.
    pub(super) likelihood: Option<Likelihood>,
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
            family: family(fit)?,
            likelihood: fit.file.likelihood(),
            certificate: fit.certificate().cloned().unwrap_or_else(nothing),
            level: asked.level,
            count: asked.draws,
            seed: asked.seed(&fit.file),
            exact,
            draws: OnceCell::new(),
        })
    }

    /// The same for weights of some coordinates, from `first` on.
    pub(super) fn linear_from(&self, first: usize, v: &[f64], offset: f64) -> Result<Linear> {
        let mut all = vec![0.0; self.fit.gaussian.dim().max(first + v.len())];
        all[first..first + v.len()].copy_from_slice(v);
        self.linear(&all, offset)
    }

    /// vᵀz + offset under q.
    fn linear(&self, v: &[f64], offset: f64) -> Result<Linear> {
        if v.iter().all(|x| x.abs() <= 0.0) {
            // It is known.
            return Ok(Linear { mean: offset, interval: [offset; 2], error: Some(Proof::nothing()) });
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
        let mut total = Proof::nothing();
        for (moment, v) in moments.iter().zip(v).filter(|(_, v)| v.abs() > 0.0) {
            total = total.plus(Proof::of(&moment.mean_error)?.times(v.abs()));
        }
        // More than the rounding error of such a sum.
        Some(total.times(1.0 + 1e-12))
    }

    /// E g(s) at each row under q, with the interval of g(s).
    pub(super) fn means(&self, rows: NewRows) -> Result<Vec<[f64; 3]>> {
        let found = self.fit.of_rows(rows)?.predict(self.level)?;
        Ok(found.iter().map(|at| [at.mean, at.low, at.high]).collect())
    }

    /// The same of such a likelihood with one outcome.
    pub(super) fn means_of(&self, likelihood: Likelihood, rows: &NewRows) -> Result<Vec<[f64; 3]>> {
        let design = crate::model::design(&rows.design)?;
        let new =
            provi::regression::NewRows { design: &design, offsets: rows.offsets.as_deref(), trials: None };
        let q = self.fit.dense("an effect")?;
        let found = new.predict(likelihood, &q, self.level, self.seed)?;
        Ok(found.iter().filter_map(|row| row.first()).map(|at| [at.mean, at.low, at.high]).collect())
    }

    /// The bound of the error of the probability at each row: the total variation between q and the posterior or, where it is less, what
    /// a coupling of both says of a function of bounded slope [cert-moments], [local-moments]. `None` for other families, and if nothing
    /// is proved.
    pub(super) fn probability_errors(&self, rows: &DesignRows) -> Result<Option<Vec<Proof>>> {
        let tv = Proof::of(&self.certificate.tv).map(|tv| Proof { bound: tv.bound.min(1.0), ..tv });
        let slope = match self.family {
            Family::Probit => 0.398_942_281,
            _ => 0.25,
        };
        let numbers = rows.rows as u128 * (rows.columns as u128).pow(2);
        let bounds = self.fit.file.moment_bounds.as_ref().filter(|_| numbers <= MOST_COUPLED);
        let mut out = Vec::with_capacity(rows.rows);
        for row in (0..rows.rows).take_while(|_| is_probability(self.family)) {
            let coupled = match bounds {
                Some(bounds) => Proof::of(&bounds.bounded_mean(&dense(rows, row), slope, 1.0)?),
                None => None,
            };
            match [tv, coupled].into_iter().flatten().min_by(|a, b| a.bound.total_cmp(&b.bound)) {
                Some(least) => out.push(least),
                None => return Ok(None),
            }
        }
        Ok(is_probability(self.family).then_some(out))
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

    /// The family of each draw, if the mean response at a known predictor depends on a noise that is drawn too.
    pub(super) fn families(&self) -> Option<Vec<Family>> {
        let (Family::Weibull { .. } | Family::Ordered { .. }, Some(mixture), None) =
            (self.family, &self.fit.mixture, &self.exact)
        else {
            return None;
        };
        let [_, scales] = mixture.sample(self.count, self.seed);
        self.fit.families_of(self.family, &scales)
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

    /// The probability with which every bound here holds; `None` if there is none.
    pub(super) fn confidence(&self) -> Option<f64> {
        let moments = self.certificate.moments.first().and_then(|moment| moment.mean_error.confidence());
        let kept = self.fit.file.moment_bounds.as_ref().map(|bounds| bounds.confidence);
        [moments, kept, self.certificate.tv.confidence()].into_iter().flatten().reduce(f64::min)
    }

    /// The unit of an effect, in a word.
    pub(super) fn unit(&self, scale: EffectScale) -> &'static str {
        if let (Some(likelihood), EffectScale::Response) = (self.likelihood, scale) {
            return match likelihood {
                // There is no mean.
                Likelihood::Student { degrees: Some(nu), .. } if nu <= 1.0 => "centre",
                Likelihood::BetaBinomial | Likelihood::Multinomial { .. } => "probability",
                Likelihood::ZeroInflatedPoisson => "mean count",
                _ => "mean",
            };
        }
        match (scale, self.family) {
            (EffectScale::Link, _) => "linear predictor",
            (_, family) if is_probability(family) => "probability",
            (_, Family::Gaussian { .. }) => "mean",
            (_, Family::Poisson) => "rate",
            (_, Family::Ordered { .. }) => "mean number of the level",
            (_, Family::Weibull { .. } | Family::ExponentialTime { .. }) => "mean time",
            _ => "mean response",
        }
    }
}

/// The family of a fit, or the one whose link it has.
pub(super) fn family(fit: &Fitted) -> Result<Family> {
    fit.file.likelihood().map_or_else(|| fit.family(), |likelihood| Ok(regression::alike(likelihood)))
}

/// A row of a design with its zeros.
fn dense(design: &DesignRows, row: usize) -> Vec<f64> {
    let mut out = vec![0.0; design.columns];
    out[..design.population_columns].copy_from_slice(design.population_row(row));
    for group in &design.groups {
        if let Some(level) = group.levels[row] {
            let first = group.first + level * group.columns;
            out[first..first + group.columns].copy_from_slice(group.row(row));
        }
    }
    out
}
