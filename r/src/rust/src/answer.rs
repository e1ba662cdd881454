//! The handle of an answer, with everything about it.

use std::path::Path;

use provi::predict::{Observation, Prediction};
use provi::{Certificate, Matrix, Seed};
use provi_analysis::Fitted;
use provi_analysis::run::predict::NewData;
use provi_analysis::run::sampled::usual_draws;
use provi_analysis::show::rows;
use provi_table::{Missing, NewLevels};
use savvy::{ListSexp, OwnedIntegerSexp, OwnedRawSexp, OwnedStringSexp, RawSexp, Sexp, savvy};
use serde_json::json;

use crate::columns::table;
use crate::error::refuse;
use crate::run::guarded;
use crate::value::{List, matrix, maybe_numbers, numbers, record};

// An answer with its certificate.
#[savvy]
pub(crate) struct Answer {
    fitted: Fitted,
    certificate: Certificate,
}

impl From<Fitted> for Answer {
    fn from(fitted: Fitted) -> Self {
        let certificate = match fitted.certificate() {
            Some(certificate) => certificate.clone(),
            None => Certificate::nothing(fitted.names(), "the fit has no certificate"),
        };
        Self { fitted, certificate }
    }
}

#[savvy]
impl Answer {
    /// What is known about the fit apart from its numbers.
    fn record(&self) -> savvy::Result<Sexp> {
        let file = &self.fitted.file;
        let model = &file.model;
        let mixture = self.fitted.mixture.is_some();
        record(&json!({
            "provi": file.provi,
            "names": file.names,
            "population": model.population,
            "family": model.family,
            "formula": model.formula,
            "rows": model.rows,
            "prior": model.prior,
            "prior_mean": model.prior_mean,
            "prior_sd": model.prior_sd,
            "noise_sd": model.noise_sd,
            "time_unit": model.time_unit,
            "scales": model.scales.iter().map(|scale| json!({
                "label": scale.label(), "name": scale.name, "sd": scale.sd, "origin": scale.origin,
                "words": provi_analysis::show::words::describe_scale(scale),
            })).collect::<Vec<_>>(),
            "correlations": model.correlations.iter().map(|block| json!({
                "group": block.group, "scales": block.scales, "labels": block.labels(),
                "words": provi_analysis::show::words::describe_correlations(block),
            })).collect::<Vec<_>>(),
            "elbo": -file.neg_elbo,
            "elbo_error": file.neg_elbo_error,
            "elbo_exact": file.neg_elbo_exact,
            "method": file.method,
            "steps": file.steps,
            "stopped_early": file.stopped_early,
            "seed": file.seed,
            "seconds": file.phases.map_or(file.seconds, |p| p.scales.unwrap_or(0.0) + p.fit + p.audit),
            "estimates": file.estimates,
            "certified": file.is_certified(),
            "integrated": mixture,
            "measured": file.posterior.is_some(),
            "notes": self.fitted.notes(),
            "conflicts": file.conflicts().cloned().collect::<Vec<_>>(),
            "usual_draws": usual_draws(self.fitted.gaussian.dim()),
        }))
    }

    /// The certificate: numbers and words.
    fn certificate(&self) -> savvy::Result<Sexp> {
        let words = self.fitted.certificate_words();
        let mut out = List::new(2)?;
        out.put("numbers", record(&self.certificate)?)?;
        out.put("words", record(&words)?)?;
        out.done()
    }

    /// Mean of every coefficient under the answer.
    fn mean(&self) -> savvy::Result<Sexp> {
        let [mean, _] = guarded(|| self.fitted.moments())?;
        Ok(numbers(&mean)?.into())
    }

    /// The covariance of the coefficients.
    fn covariance(&self) -> savvy::Result<Sexp> {
        matrix(&guarded(|| self.fitted.covariance("vcov"))?)
    }

    /// The rows of the table: mean and sd with their proved errors, the interval, and the probability of being positive.
    fn table(&self, level: f64) -> savvy::Result<Sexp> {
        let measured = self.fitted.file.posterior.as_ref();
        let found = guarded(|| {
            let rows = rows::coefficients(&self.fitted, &self.certificate).all()?;
            let intervals: Result<Vec<_>, _> = rows.iter().map(|(_, row)| row.interval(level)).collect();
            Ok((rows, intervals?))
        })?;
        let (rows, intervals) = found;
        let moments: Vec<_> =
            rows.iter().enumerate().map(|(i, (_, row))| rows::moments(row, measured, i)).collect();
        let positive: Vec<_> =
            rows.iter().enumerate().map(|(i, (_, row))| rows::positive(row, measured, i)).collect();
        columns(&[
            ("mean", moments.iter().map(|m| Some(m[0].0)).collect()),
            ("mean_error", moments.iter().map(|m| m[0].1).collect()),
            ("sd", moments.iter().map(|m| Some(m[1].0)).collect()),
            ("sd_error", moments.iter().map(|m| m[1].1).collect()),
            ("low", intervals.iter().map(|ends| Some(ends[0])).collect()),
            ("high", intervals.iter().map(|ends| Some(ends[1])).collect()),
            ("positive", positive.iter().map(|p| Some(p.0)).collect()),
            ("positive_error", positive.iter().map(|p| p.1).collect()),
        ])
    }

    /// The scales that are integrated over.
    fn scales(&self, level: f64) -> savvy::Result<Sexp> {
        record(&guarded(|| rows::scales(&self.fitted, level))?)
    }

    /// A linear combination of coefficients, with its errors.
    fn contrast(&self, expression: &str, level: f64) -> savvy::Result<Sexp> {
        record(&guarded(|| self.fitted.contrast(expression, level))?)
    }

    /// Draws of the coefficients and the scales that are integrated over, one per row.
    fn sample(&self, count: f64, seed: f64) -> savvy::Result<Sexp> {
        let count = whole("ndraws", count)?;
        // The same limit as for draws of the coefficients alone.
        let draws = guarded(|| {
            self.fitted.sample(0, Seed(0))?;
            self.fitted.draw_part(0..count, Seed(seed_of(seed)))
        })?;
        matrix(&draws)
    }

    /// The names of what `sample` draws.
    fn draw_names(&self) -> savvy::Result<Sexp> {
        Ok(OwnedStringSexp::try_from_slice(self.fitted.draw_names())?.into())
    }

    /// Predictions at the rows of columns: `groups` is "refuse", "population" for the spread of new groups, or "none" for no effects of
    /// new groups.
    fn predict(&self, columns: ListSexp, groups: &str, level: f64) -> savvy::Result<Sexp> {
        let (rows, errors, probability) = self.at(&columns, groups, false, |new| {
            Ok((new.predict(level)?, new.mean_errors()?, new.probability_error()))
        })?;
        predictions(&rows, errors.as_deref(), probability)
    }

    /// The same of the probability that the event of a row comes after a time.
    fn survival(&self, columns: ListSexp, groups: &str, time: f64, level: f64) -> savvy::Result<Sexp> {
        let (rows, error) =
            self.at(&columns, groups, false, |new| Ok((new.survival(time, level)?, new.tv_bound())))?;
        predictions(&rows, None, error)
    }

    /// The probability of each level of an ordered response at each row, with its interval: matrices with a column for each level.
    fn levels(&self, columns: ListSexp, groups: &str, level: f64) -> savvy::Result<Sexp> {
        let (rows, error) =
            self.at(&columns, groups, false, |new| Ok((new.categories(level)?, new.tv_bound())))?;
        let levels = self.fitted.file.model.categories.len();
        let pick = |one: fn(&Prediction) -> f64| {
            let all = rows.iter().flatten().map(one).collect();
            matrix(&Matrix::new(rows.len(), levels, all).map_err(|error| refuse(error.into()))?)
        };
        let mut out = List::new(3 + usize::from(error.is_some()))?;
        out.put("mean", pick(|p| p.mean)?)?;
        out.put("low", pick(|p| p.low)?)?;
        out.put("high", pick(|p| p.high)?)?;
        if let Some(error) = error {
            out.put("probability_error", numbers(&[error])?)?;
        }
        out.done()
    }

    /// The standard deviation and the interval of a new response at each row.
    fn observations(&self, columns: ListSexp, groups: &str, level: f64) -> savvy::Result<Sexp> {
        let rows = self.at(&columns, groups, true, |new| new.observations(level))?;
        let pick = |one: fn(&Observation) -> f64| rows.iter().map(one).collect::<Vec<_>>();
        let mut out = List::new(3)?;
        out.put("sd", numbers(&pick(|y| y.sd))?)?;
        out.put("low", numbers(&pick(|y| y.low))?)?;
        out.put("high", numbers(&pick(|y| y.high))?)?;
        out.done()
    }

    /// Draws of the linear predictors, or of new responses, one per row.
    fn draws_at(
        &self,
        columns: ListSexp,
        groups: &str,
        responses: bool,
        count: f64,
        seed: f64,
    ) -> savvy::Result<Sexp> {
        let (count, seed) = (whole("ndraws", count)? as usize, Seed(seed_of(seed)));
        let found: Matrix = self.at(&columns, groups, responses, |new| match responses {
            true => new.responses(count, seed),
            false => new.predictors(count, seed),
        })?;
        matrix(&found)
    }

    /// For `saveRDS`: the record, and the numbers bit for bit.
    fn state(&self) -> savvy::Result<Sexp> {
        let (text, bytes) = guarded(|| self.fitted.state())?;
        let mut out = List::new(2)?;
        out.put("record", OwnedRawSexp::try_from_slice(text.as_bytes())?)?;
        out.put("numbers", OwnedRawSexp::try_from_slice(&bytes)?)?;
        out.done()
    }

    /// The inverse of `state`.
    fn restore(text: RawSexp, bytes: RawSexp) -> savvy::Result<Self> {
        let text = std::str::from_utf8(text.as_slice()).map_err(savvy::Error::new)?;
        Ok(guarded(|| Fitted::restore(text, bytes.as_slice()))?.into())
    }

    /// Writes fit.json into a folder, as the command does.
    fn save(&self, dir: &str, force: bool) -> savvy::Result<Sexp> {
        let path = guarded(|| self.fitted.save(Path::new(dir), force))?;
        Ok(OwnedStringSexp::try_from_scalar(path.display().to_string())?.into())
    }

    /// The report page.
    fn report(&self, level: f64) -> savvy::Result<Sexp> {
        Ok(OwnedStringSexp::try_from_scalar(guarded(|| self.fitted.html(level, ""))?)?.into())
    }

    /// Whether the pointer is alive.
    fn alive(&self) -> savvy::Result<Sexp> {
        Ok(OwnedIntegerSexp::try_from_scalar(1)?.into())
    }
}

impl Answer {
    /// What `ask` says at the rows of columns.
    fn at<T>(
        &self,
        columns: &ListSexp,
        groups: &str,
        trials: bool,
        ask: impl FnOnce(&NewData<'_>) -> provi_analysis::Result<T>,
    ) -> savvy::Result<T> {
        let levels = if groups == "refuse" { NewLevels::Refuse } else { NewLevels::Population };
        let table = table("newdata", columns, &self.fitted.file.model.formula)?;
        let new = match trials {
            true => self.fitted.new_data_with_trials(&table, levels, Missing::Error),
            false => self.fitted.new_data(&table, levels, Missing::Error),
        };
        let new = new.map_err(refuse)?;
        let new = if groups == "none" { new.of_population() } else { new };
        guarded(|| ask(&new))
    }
}

/// Means, intervals and predictors of rows, with what is proved of each mean, or of every probability.
fn predictions(rows: &[Prediction], errors: Option<&[f64]>, probability: Option<f64>) -> savvy::Result<Sexp> {
    let pick = |one: fn(&Prediction) -> f64| rows.iter().map(one).collect::<Vec<_>>();
    let mut out = List::new(5 + usize::from(errors.is_some()) + usize::from(probability.is_some()))?;
    out.put("mean", numbers(&pick(|p| p.mean))?)?;
    out.put("low", numbers(&pick(|p| p.low))?)?;
    out.put("high", numbers(&pick(|p| p.high))?)?;
    out.put("predictor", numbers(&pick(|p| p.predictor))?)?;
    out.put("predictor_sd", numbers(&pick(|p| p.predictor_sd))?)?;
    if let Some(errors) = errors {
        out.put("mean_error", numbers(errors)?)?;
    }
    if let Some(error) = probability {
        out.put("probability_error", numbers(&[error])?)?;
    }
    out.done()
}

fn columns(columns: &[(&str, Vec<Option<f64>>)]) -> savvy::Result<Sexp> {
    let mut out = List::new(columns.len())?;
    for (name, values) in columns {
        out.put(name, maybe_numbers(values)?)?;
    }
    out.done()
}

fn whole(what: &str, x: f64) -> savvy::Result<u64> {
    match x.fract() == 0.0 && (1.0..=9e15).contains(&x) {
        true => Ok(x as u64),
        false => Err(savvy::Error::new(format!("{what} = {x}; must be a whole number from 1 on"))),
    }
}

/// R's seeds are integers of either sign.
fn seed_of(x: f64) -> u64 {
    (x as i64) as u64
}
