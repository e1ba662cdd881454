//! Prior predictive simulation: what responses the prior alone expects at the rows of the table.

use provi::Seed;
use provi::predict::response;
use provi::target::{Family, Glm};
use serde::Serialize;

use super::simulation::Simulation;
use crate::capacity::refuse_beyond;
use crate::error::Result;
use crate::model::Model;
use crate::number::plain;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorAsked {
    /// Number of simulated data sets.
    pub draws: usize,
    /// The seed.
    pub seed: Seed,
}

impl Default for PriorAsked {
    fn default() -> Self {
        Self { draws: 500, seed: Seed(0) }
    }
}

/// The kind of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseKind {
    /// 0 or 1.
    Binary,
    /// Successes among trials, as a share.
    Share,
    /// 0, 1, 2, …
    Count,
    /// A number.
    Number,
    /// A time to an event.
    Time,
}

/// A statistic of a data set, for the observed one and for simulated ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorStatistic {
    /// What it is.
    pub name: String,
    /// Of the observed data; null for times, of which some are censored.
    pub observed: Option<f64>,
    /// Of the simulated data: 5 %, 25 %, 50 %, 75 % and 95 % quantiles.
    pub simulated: [f64; 5],
    /// All simulated values, in order of size.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// What the prior expects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorPredictive {
    /// The prior in words: of the population, then of the scales.
    pub prior: Vec<String>,
    /// The kind of responses.
    pub kind: ResponseKind,
    /// Data sets that were simulated.
    pub draws: usize,
    /// Data sets of which some response is too large for a number.
    pub overflowed: usize,
    /// Rows in each.
    pub rows: usize,
    /// The seed.
    pub seed: u64,
    /// Statistics of whole data sets.
    pub statistics: Vec<PriorStatistic>,
    /// Levels of the quantiles of single responses.
    pub levels: Vec<f64>,
    /// Quantiles of all simulated responses together.
    pub simulated: Vec<f64>,
    /// Quantiles of the observed responses; empty for times, of which some are censored.
    pub observed: Vec<f64>,
    /// For probabilities: how many of them lie in each of twenty bins between 0 and 1, as shares.
    pub probabilities: Vec<f64>,
    /// Where the prior puts most of its mass on implausible places, in sentences.
    pub warnings: Vec<String>,
}

/// The most rows that are simulated; of more, every n-th is taken.
const MOST_ROWS: usize = 2000;
/// A probability nearer to 0 or 1 than this is next to certain.
const CERTAIN: f64 = 0.01;
/// Bins of probabilities.
const BINS: usize = 20;
/// Levels of the quantiles that are shown.
const LEVELS: [f64; 7] = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/// Simulates responses from the prior at the rows of the table. The default prior takes its scales from the data; the data are used for nothing
/// else. A pure function of the seed.
pub fn prior_predictive(model: &Model, asked: &PriorAsked) -> Result<PriorPredictive> {
    if asked.draws < 2 {
        let (what, needed) = ("draws", "at least 2");
        return Err(provi::Error::OutOfRange { what, value: asked.draws as f64, needed }.into());
    }
    let whole = Simulation::new(model, "prior predictive simulation", asked.seed)?;
    let kind = kind(whole.glm);
    let all = whole.glm.design().rows();
    let count = all.min(MOST_ROWS);
    let needed = 16 * asked.draws as u128 * count as u128;
    refuse_beyond(|| format!("{} simulations of {count} rows", asked.draws), needed)?;
    let is_time = kind == ResponseKind::Time;
    let part = whole.glm.part(&some_rows(&whole.glm.observed_responses(), count, is_time))?;
    let (glm, simulation) = (&part, Simulation { glm: &part, ..whole });
    let share = |glm: &Glm| -> Vec<f64> {
        let seen = glm.observed_responses();
        let trials = glm.trials();
        let one = |n: usize| seen[n] / trials.map_or(1.0, |trials| trials[n].max(f64::MIN_POSITIVE));
        let kept = |n: &usize| trials.is_none_or(|trials| trials[*n] > 0.0);
        (0..seen.len()).filter(kept).map(one).collect()
    };
    let observed = share(glm);
    let (mut sets, mut overflowed, mut probabilities) = (Vec::new(), 0, vec![0.0; BINS]);
    let mut certain = 0.0;
    for number in 0..asked.draws as u64 {
        provi::stop::check()?;
        let truth = simulation.truth(number)?;
        match simulation.replicated(&truth, number) {
            Ok(drawn) => sets.push(share(&drawn)),
            Err(_) => overflowed += 1,
        }
        if glm.family().has_probabilities() {
            for n in 0..count {
                let s = predictor(glm, n, &truth.point);
                let p = response(glm.family(), s);
                probabilities[((p * BINS as f64) as usize).min(BINS - 1)] += 1.0;
                certain += f64::from(u8::from(!(CERTAIN..=1.0 - CERTAIN).contains(&p)));
            }
        }
    }
    let total = (asked.draws * count) as f64;
    match glm.family().has_probabilities() {
        true => probabilities.iter_mut().for_each(|bin| *bin /= total),
        false => probabilities.clear(),
    }
    let mut pooled: Vec<f64> = sets.concat();
    pooled.sort_by(f64::total_cmp);
    let mut own = observed.clone();
    own.sort_by(f64::total_cmp);
    let statistics = statistics(kind, &observed, &sets);
    let mut out = PriorPredictive {
        prior: model.prior_lines(),
        kind,
        draws: asked.draws,
        overflowed,
        rows: count,
        seed: asked.seed.0,
        statistics,
        levels: LEVELS.to_vec(),
        simulated: LEVELS.iter().map(|level| quantile(&pooled, *level)).collect(),
        observed: if is_time {
            Vec::new()
        } else {
            LEVELS.iter().map(|level| quantile(&own, *level)).collect()
        },
        probabilities,
        warnings: Vec::new(),
    };
    for scale in model.scales.iter().filter(|scale| scale.prior.is_some()) {
        out.prior.push(format!("{} on {}", scale.prior.as_deref().unwrap_or_default(), scale.label()));
    }
    out.warnings = warnings(&out, &pooled, &own, certain / total);
    Ok(out)
}

/// Rows at equal distances; for times to an event the last of them is that of the largest time, the end of the study.
fn some_rows(responses: &[f64], count: usize, is_time: bool) -> Vec<usize> {
    let all = responses.len();
    let mut chosen: Vec<usize> = (0..count).map(|i| i * all / count).collect();
    let largest = (0..all).max_by(|a, b| responses[*a].total_cmp(&responses[*b]));
    if let (Some(last), Some(largest)) = (chosen.last_mut(), largest.filter(|_| is_time && count < all)) {
        *last = largest;
    }
    chosen
}

/// The linear predictor of a row.
fn predictor(glm: &Glm, row: usize, point: &[f64]) -> f64 {
    let mut weights = vec![0.0; point.len()];
    glm.design().write_row(row, &mut weights);
    let own: f64 = weights.iter().zip(point).map(|(a, b)| a * b).sum();
    own + glm.offsets().map_or(0.0, |offsets| offsets[row])
}

fn kind(glm: &Glm) -> ResponseKind {
    match glm.family() {
        family if family.time_unit().is_some() => ResponseKind::Time,
        family if family.has_probabilities() && glm.trials().is_some() => ResponseKind::Share,
        family if family.has_probabilities() => ResponseKind::Binary,
        Family::Poisson | Family::NegativeBinomial { .. } => ResponseKind::Count,
        _ => ResponseKind::Number,
    }
}

/// A quantile of numbers in order of size; NaN if there are none.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * (sorted.len().saturating_sub(1)) as f64;
    match (sorted.get(place.floor() as usize), sorted.get(place.ceil() as usize)) {
        (Some(low), Some(high)) => low + (high - low) * place.fract(),
        _ => f64::NAN,
    }
}

fn statistics(kind: ResponseKind, observed: &[f64], sets: &[Vec<f64>]) -> Vec<PriorStatistic> {
    type Of = fn(&[f64]) -> f64;
    let mean: Of = |y| y.iter().sum::<f64>() / y.len().max(1) as f64;
    let sd: Of = |y| {
        let mean = y.iter().sum::<f64>() / y.len().max(1) as f64;
        (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len().max(1) as f64).sqrt()
    };
    let zeros: Of = |y| y.iter().filter(|y| **y <= 0.0).count() as f64 / y.len().max(1) as f64;
    let least: Of = |y| y.iter().copied().fold(f64::INFINITY, f64::min);
    let most: Of = |y| y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let median: Of = |y| {
        let mut sorted = y.to_vec();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, 0.5)
    };
    let asked: Vec<(&str, Of)> = match kind {
        ResponseKind::Binary => vec![("share of ones", mean)],
        ResponseKind::Share => vec![("mean share of successes", mean), ("sd of the shares", sd)],
        ResponseKind::Count => vec![("mean", mean), ("share of zeros", zeros), ("largest", most)],
        ResponseKind::Number => vec![("mean", mean), ("sd", sd), ("smallest", least), ("largest", most)],
        ResponseKind::Time => vec![("median time, censored ones as they are", median)],
    };
    let one = |(name, of): (&str, Of)| {
        let mut values: Vec<f64> = sets.iter().map(|set| of(set)).collect();
        values.sort_by(f64::total_cmp);
        let simulated = [0.05, 0.25, 0.5, 0.75, 0.95].map(|level| quantile(&values, level));
        PriorStatistic { name: name.to_owned(), observed: Some(of(observed)), simulated, values }
    };
    asked.into_iter().map(one).collect()
}

/// Sentences about mass on implausible places.
///
/// - more than half of the probabilities are within 0.01 of 0 or 1;
/// - more than a quarter of the counts are above a hundred times the largest one observed;
/// - the middle 90 % of numbers are more than a hundred times as wide as the observed range, or the median observed response is outside the
///   middle 99 % of simulated ones;
/// - some data sets overflow.
fn warnings(found: &PriorPredictive, pooled: &[f64], own: &[f64], certain: f64) -> Vec<String> {
    let mut out = Vec::new();
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if found.overflowed > 0 {
        out.push(format!(
            "{} of {} data sets have responses too large for a number: the prior reaches far beyond any data; make it narrower",
            found.overflowed, found.draws
        ));
    }
    if !found.probabilities.is_empty() && certain > 0.5 {
        out.push(format!(
            "{} of the probabilities are below 0.01 or above 0.99: the prior is nearly certain of most responses before it has seen them; make \
             it narrower",
            percent(certain)
        ));
    }
    let (Some(least), Some(most)) = (own.first(), own.last()) else { return out };
    let middle = quantile(own, 0.5);
    match found.kind {
        ResponseKind::Count => {
            let limit = 100.0 * most.max(1.0);
            let beyond = pooled.iter().filter(|y| **y > limit).count() as f64 / pooled.len().max(1) as f64;
            if beyond > 0.25 {
                out.push(format!(
                    "{} of the counts are above {}, a hundred times the largest one in the data; make the prior narrower",
                    percent(beyond),
                    plain(limit)
                ));
            }
        }
        ResponseKind::Number | ResponseKind::Time => {
            let width = quantile(pooled, 0.95) - quantile(pooled, 0.05);
            if width > 100.0 * (most - least) && most > least {
                out.push(format!(
                    "the middle 90 % of responses are {} times as wide as the data; make the prior narrower",
                    plain((width / (most - least)).round())
                ));
            }
            let (low, high) = (quantile(pooled, 0.005), quantile(pooled, 0.995));
            if middle < low || middle > high {
                out.push(format!(
                    "the median response of the data, {}, is outside the middle 99 % of the prior's, {} to {}: the prior excludes what was \
                     observed; move or widen it",
                    plain(middle),
                    plain(low),
                    plain(high)
                ));
            }
        }
        ResponseKind::Binary | ResponseKind::Share => {}
    }
    out
}
