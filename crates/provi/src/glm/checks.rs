//! Checks of a model against its own data: replicated responses beside the observed ones.
//!
//! Replicated responses are drawn at the rows of the data, each with its own z ~ q. No statement here is a bound: a
//! failed check says that the model is wrong; a passed check says nothing.
//!
//! Times to an event are compared as Kaplan and Meier estimate their distribution: as if nothing had been censored before the last time, where
//! data and replicates are cut. That estimate needs censoring that does not depend on the predictors.

mod kaplan_meier;
mod pit;
mod regression;

pub use pit::{BandPoint, NormalQuantiles, Pit};

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::glm::predict::{Rows, predict, responses_at, responses_with_families};
use crate::glm::sparse::NormalLaw;
use crate::glm::{Family, Gaps, Glm, Time};

/// The most rows that are used; if there are more, evenly spaced ones.
const MOST_ROWS: usize = 2000;
/// Most bins of a calibration.
const CALIBRATION_BINS: usize = 10;
/// Most bins of a histogram.
const HISTOGRAM_BINS: usize = 24;
/// Draws behind the predictive distribution functions, at most.
const PIT_DRAWS: usize = 100;

/// The data compared with responses replicated under q.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Checks {
    /// Rows used.
    pub rows: usize,
    /// Histogram of the observed and the replicated responses; empty for binary responses.
    pub histogram: Vec<Bin>,
    /// Observed frequencies against predicted probabilities, for binary responses and successes among trials.
    pub calibration: Vec<CalibrationBin>,
    /// (fitted mean, Pearson residual), for the other families; for times to an event (fitted cumulative hazard H, martingale residual
    /// δ − H).
    pub residuals: Vec<(f64, f64)>,
    /// Summaries of the data, compared with those of replicated data.
    pub statistics: Vec<Statistic>,
    /// Where each response lies in its predictive distribution. Empty for binary responses without trials, which calibration is for.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pit: Pit,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Bin {
    /// Left edge.
    pub low: f64,
    /// Right edge.
    pub high: f64,
    /// Observed rows in the bin.
    pub observed: f64,
    /// Replicated rows in the bin: 2.5% quantile, median, 97.5% quantile.
    pub replicated: [f64; 3],
}

/// A group of rows with similar predicted probability.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CalibrationBin {
    /// Mean predicted probability.
    pub predicted: f64,
    /// Observed frequency.
    pub observed: f64,
    /// Wilson's 95% interval of the observed frequency.
    pub interval: (f64, f64),
    /// Rows in the bin.
    pub rows: usize,
}

/// A summary of the data, compared with its distribution over replicated data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Statistic {
    /// Name of the summary.
    pub name: String,
    /// Its value for the observed data.
    pub observed: f64,
    /// Its value for replicated data: 2.5% quantile, median, 97.5% quantile.
    pub replicated: [f64; 3],
}

impl Checks {
    /// Checks a model at q; a pure function of the seed. Cost: 200 replicates of at most 2000 rows.
    pub fn new(model: &Glm, q: &impl NormalLaw, seed: Seed) -> Result<Self> {
        Self::with_draws(model, q, &q.sample_part(0..Self::REPLICATES as u64, seed), seed)
    }

    /// Number of replicated data sets, and of the draws behind them.
    pub const REPLICATES: usize = 200;

    /// The same with coefficients that were drawn before, one draw for each replicate: of the posterior itself, for instance
    /// ([`crate::exact_draws`]). Predicted means stay q's.
    pub fn with_draws(model: &Glm, q: &impl NormalLaw, points: &Matrix, seed: Seed) -> Result<Self> {
        if points.rows() == 0 {
            return Err(Error::Empty { what: "draws of the checks" });
        }
        crate::base::stop::phase("the checks", || Self::made(model, q, points, &[], seed))
    }

    /// The same where the noise or the gaps between cut points were drawn with the coefficients: the family with those of each row of `points`.
    pub fn with_families(
        model: &Glm,
        q: &impl NormalLaw,
        points: &Matrix,
        families: &[Family],
        seed: Seed,
    ) -> Result<Self> {
        if families.len() != points.rows() || families.is_empty() {
            let what = "families of the checks";
            return Err(Error::Shape { what, found: families.len(), expected: points.rows().max(1) });
        }
        crate::base::stop::phase("the checks", || Self::made(model, q, points, families, seed))
    }

    fn made(
        model: &Glm,
        q: &impl NormalLaw,
        points: &Matrix,
        families: &[Family],
        seed: Seed,
    ) -> Result<Self> {
        let all = model.design().rows();
        let chosen = Self::rows_of(all);
        let count = chosen.len();
        let take = |values: &[f64]| -> Vec<f64> { chosen.iter().map(|&n| values[n]).collect() };
        let design = model.design().select(&chosen)?;
        let (offsets, trials) = (model.rows.given_offsets().map(take), model.rows.trials().map(take));
        let rows = Rows { offsets: offsets.as_deref(), trials: trials.as_deref(), ..Rows::new(&design) };
        let family = model.family();
        let of_row = |n: usize| trials.as_ref().map_or(1.0, |t| t[n]);
        let seen: Vec<f64> =
            chosen.iter().enumerate().map(|(i, &n)| model.rows.observed(n) * of_row(i)).collect();
        let is_time = family.time_unit().is_some();
        // The cumulative hazard of a time is the mean of the count that its row is coded as.
        let coded = model.rows.offsets.as_deref().map(take);
        let (law, at) = match is_time {
            true => (Family::Poisson, Rows { offsets: coded.as_deref(), ..Rows::new(&design) }),
            false => (family, rows),
        };
        let (predicted, mean_predictors): (Vec<f64>, Vec<f64>) =
            predict(law, q, &at, 0.95)?.iter().map(|p| (p.mean, p.predictor)).unzip();
        let mut replicated = match families {
            [] => responses_at(family, points, &rows, 0, seed)?,
            families => responses_with_families(families, points, &rows, 0, seed)?,
        };
        let events: Vec<bool> = chosen.iter().map(|&n| model.rows.is_event(n)).collect();
        let times: Vec<Time> = chosen.iter().filter_map(|&n| model.rows.time(n)).collect();
        let seen = if is_time {
            kaplan_meier::replicated_alike(family, &times, families, &mut replicated);
            let last = seen.iter().copied().fold(0.0, f64::max);
            replicated.iter_mut().for_each(|t| *t = t.min(last));
            kaplan_meier::uncensored(&times)
        } else {
            seen
        };
        let replicates: Vec<&[f64]> = replicated.chunks_exact(count).collect();

        let shares = family.has_probabilities();
        let binary = shares && family != Family::Binomial && trials.is_none();
        let residual = |n: usize| {
            let mean = predicted[n];
            let sd = match family {
                Family::Gaussian { noise_sd } => noise_sd,
                Family::Gamma { noise_sd } => noise_sd * mean,
                Family::Exponential => mean,
                Family::NegativeBinomial { noise_sd } => (mean + (noise_sd * mean).powi(2)).sqrt(),
                Family::Ordered { gaps } => Gaps::deviation(gaps.exceeding(mean_predictors[n])),
                _ => mean.sqrt(),
            };
            match is_time {
                // δ − H is −φ'. For an event, H is exponential with mean 1: divided by √H it would have no variance.
                true => {
                    let residual = -family.derivatives(mean.ln(), model.rows.response[chosen[n]])[1];
                    (f64::from(u8::from(events[n])) - residual, residual)
                }
                false => (mean, (seen[n] - mean) / sd),
            }
        };
        let pit = match binary {
            true => Pit::default(),
            false => Pit::new(cumulative(model, &chosen, points, families, seed)?, false),
        };
        let whole = match family {
            Family::Gaussian { .. } | Family::Gamma { .. } | Family::Exponential => false,
            _ => !is_time,
        };
        Ok(Self {
            rows: count,
            histogram: if binary { Vec::new() } else { histogram(&seen, &replicates, whole) },
            calibration: if shares { calibration(&predicted, &seen, of_row) } else { Vec::new() },
            residuals: if shares { Vec::new() } else { (0..count).map(residual).collect() },
            statistics: if is_time {
                kaplan_meier::statistics(&seen, &replicates)
            } else {
                statistics(&seen, &replicates, family, (whole, binary))
            },
            pit,
        })
    }

    /// The rows that are used of so many: all, or evenly spaced ones.
    pub fn rows_of(all: usize) -> Vec<usize> {
        let count = all.min(MOST_ROWS);
        (0..count).map(|i| i * all / count).collect()
    }

    /// The same with rows that were predicted without themselves: `below` and `up_to` are P(new < y) and P(new ≤ y) of every row of the
    /// model. Calibration of binary responses and the distribution of all others are then those of these predictions.
    pub fn with_left_out(mut self, model: &Glm, left_out: &[[f64; 2]], seed: Seed) -> Result<Self> {
        let all = model.design().rows();
        if left_out.len() != all {
            return Err(Error::Shape { what: "rows left out", found: left_out.len(), expected: all });
        }
        let chosen = Self::rows_of(all);
        if model.family().has_probabilities() && model.rows.trials().is_none() {
            let seen: Vec<f64> = chosen.iter().map(|&n| model.rows.observed(n)).collect();
            // P(new = 0) lies below a 1, and is all that there is up to a 0.
            let failure = |(&n, &y): (&usize, &f64)| left_out[n][usize::from(y < 0.5)];
            let predicted: Vec<f64> = chosen.iter().zip(&seen).map(|at| 1.0 - failure(at)).collect();
            self.calibration = calibration(&predicted, &seen, |_| 1.0);
        }
        self.pit = Pit::new(randomised(chosen.iter().map(|&n| left_out[n]), seed), true);
        Ok(self)
    }
}

/// Values between P(new < y) and P(new ≤ y), by uniforms that depend on the seed.
fn randomised(ends: impl Iterator<Item = [f64; 2]>, seed: Seed) -> Vec<f64> {
    let stream = Draws::new(seed, Purpose::Response);
    let at =
        |(i, [below, up_to]): (usize, [f64; 2])| below + (up_to - below) * stream.uniform(i as u64, u32::MAX);
    ends.enumerate().map(at).collect()
}

/// A value of the predictive distribution function of each row, averaged over draws.
fn cumulative(
    model: &Glm,
    chosen: &[usize],
    points: &Matrix,
    families: &[Family],
    seed: Seed,
) -> Result<Vec<f64>> {
    let count = points.rows().min(PIT_DRAWS);
    let entries = &points.entries()[..count * points.columns()];
    let mut predictors = vec![0.0; count];
    let mut ends = Vec::with_capacity(chosen.len());
    for &row in chosen {
        model.rows.predictors(row..row + 1, entries, &mut predictors);
        let law = model.rows.likelihood_of(row);
        let mut sums = [0.0; 2];
        for (k, &s) in predictors.iter().enumerate() {
            let (law, shift) = match families.get(k) {
                Some(&family) => law.with_family(family)?,
                None => (law, 0.0),
            };
            let found = law.cumulative(s + shift);
            sums = [sums[0] + found[0], sums[1] + found[1]];
        }
        ends.push(sums.map(|sum| sum / count as f64));
    }
    Ok(randomised(ends.into_iter(), seed))
}

/// Bins over the range of the data; for whole numbers the edges lie between them.
fn histogram(seen: &[f64], replicates: &[&[f64]], whole: bool) -> Vec<Bin> {
    let (low, high) = seen.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &y| (a.min(y), b.max(y)));
    let (low, high) = if whole { (low - 0.5, high + 0.5) } else { (low, high) };
    if high <= low {
        return Vec::new();
    }
    let (bins, width) = if whole {
        let width = ((high - low) / HISTOGRAM_BINS as f64).ceil();
        (((high - low) / width).ceil() as usize, width)
    } else {
        (HISTOGRAM_BINS, (high - low) / HISTOGRAM_BINS as f64)
    };
    let count = |values: &[f64]| {
        let mut counts = vec![0.0; bins];
        for &y in values {
            let place = ((y - low) / width).floor();
            // The largest value belongs to the last bin.
            let place = if (y - high).abs() <= 0.0 { bins as f64 - 1.0 } else { place };
            if place >= 0.0 && place < bins as f64 {
                counts[place as usize] += 1.0;
            }
        }
        counts
    };
    let (observed, replicated): (_, Vec<_>) = (count(seen), replicates.iter().map(|r| count(r)).collect());
    (0..bins)
        .map(|b| Bin {
            low: low + b as f64 * width,
            high: low + (b + 1) as f64 * width,
            observed: observed[b],
            replicated: quantiles(replicated.iter().map(|counts| counts[b]).collect()),
        })
        .collect()
}

/// Bins with equally many rows, in order of the prediction.
fn calibration(predicted: &[f64], successes: &[f64], trials: impl Fn(usize) -> f64) -> Vec<CalibrationBin> {
    let mut order: Vec<usize> = (0..predicted.len()).collect();
    order.sort_by(|&a, &b| predicted[a].total_cmp(&predicted[b]));
    let bins = CALIBRATION_BINS.min(order.len());
    (0..bins)
        .map(|b| {
            let rows = &order[b * order.len() / bins..(b + 1) * order.len() / bins];
            let total: f64 = rows.iter().map(|&n| trials(n)).sum();
            let successes: f64 = rows.iter().map(|&n| successes[n]).sum();
            let expected: f64 = rows.iter().map(|&n| trials(n) * predicted[n]).sum();
            CalibrationBin {
                predicted: expected / total,
                observed: successes / total,
                interval: wilson(successes, total),
                rows: rows.len(),
            }
        })
        .collect()
}

/// Wilson's 95% interval of a proportion.
fn wilson(successes: f64, trials: f64) -> (f64, f64) {
    let z = crate::base::special::upper_quantile(0.025);
    let (share, square) = (successes / trials, z * z / trials);
    let center = (share + 0.5 * square) / (1.0 + square);
    let half = z * (share * (1.0 - share) / trials + 0.25 * square / trials).sqrt() / (1.0 + square);
    ((center - half).max(0.0), (center + half).min(1.0))
}

/// A function that summarises responses as one number.
type Summary<'a> = &'a dyn Fn(&[f64]) -> f64;

/// Mean, standard deviation, largest value; for counts the share of zeros, for ordered categories that of the lowest.
fn statistics(
    seen: &[f64],
    replicates: &[&[f64]],
    family: Family,
    (whole, binary): (bool, bool),
) -> Vec<Statistic> {
    let (lowest, name) =
        if family.gaps().is_some() { (1.0, "share of the lowest level") } else { (0.0, "share of zeros") };
    summaries(seen, replicates, whole.then_some((lowest, name)), binary)
}

/// The same; `lowest` is a value whose share is counted, and its name.
fn summaries(
    seen: &[f64],
    replicates: &[&[f64]],
    lowest: Option<(f64, &'static str)>,
    binary: bool,
) -> Vec<Statistic> {
    let mean = |y: &[f64]| y.iter().sum::<f64>() / y.len() as f64;
    let sd = |y: &[f64]| {
        let center = mean(y);
        (y.iter().map(|x| (x - center).powi(2)).sum::<f64>() / y.len() as f64).sqrt()
    };
    let largest = |y: &[f64]| y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let at = lowest.map_or(0.0, |(at, _)| at);
    let share = |y: &[f64]| y.iter().filter(|x| (*x - at).abs() < 0.5).count() as f64 / y.len() as f64;
    let mut all: Vec<(&str, Summary<'_>)> = vec![("mean", &mean)];
    if !binary {
        all.extend([("standard deviation", &sd as Summary<'_>), ("largest", &largest)]);
    }
    if let (Some((_, name)), false) = (lowest, binary) {
        all.push((name, &share));
    }
    all.into_iter().map(|(name, f)| statistic(name, seen, replicates, f)).collect()
}

/// A summary of the data beside that of each replicate.
fn statistic(name: &str, seen: &[f64], replicates: &[&[f64]], f: Summary<'_>) -> Statistic {
    let replicated = quantiles(replicates.iter().map(|y| f(y)).collect());
    Statistic { name: name.to_owned(), observed: f(seen), replicated }
}

/// 2.5%, median and 97.5%.
fn quantiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    [0.025, 0.5, 0.975].map(|p| values.get((p * last).round() as usize).copied().unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::solve::Solver;
    use crate::base::gaussian::{Gaussian, Triangular};
    use crate::certify::exact_draws::ExactDraws;
    use crate::glm::Prior;
    use crate::glm::design::Design;
    use crate::glm::predict::responses;

    const ROWS: usize = 400;

    /// Data drawn from the model itself, so that it fits.
    fn fitted(family: Family) -> (Glm, Gaussian<Triangular>) {
        let mut x = vec![0.0; ROWS];
        provi_kernels::normals(4, 0, 0, &mut x);
        let entries: Vec<f64> = x.iter().flat_map(|&x| [1.0, x]).collect();
        let design = Design::dense(ROWS, 2, &entries).unwrap();
        let truth = Gaussian::new(&[0.4, 0.7], &[1e-9, 0.0, 1e-9]).unwrap();
        let trials = vec![5.0; ROWS];
        let rows = Rows { trials: Some(&trials), ..Rows::new(&design) };
        let y = responses(family, &truth, &rows, 1, Seed(6)).unwrap();
        let prior = Prior::scale(2.5).unwrap();
        let model = match family {
            Family::Binomial | Family::Cloglog => Glm::successes(family, design, &y, &trials, prior),
            _ => Glm::new(family, design, &y, prior),
        };
        let model = model.unwrap();
        let q = Solver::default().run(&model).unwrap().gaussian;
        (model, q)
    }

    #[test]
    fn draws_of_the_posterior_replicate_too() {
        let (model, q) = fitted(Family::Poisson);
        let own = Checks::with_draws(&model, &q, &q.sample(Checks::REPLICATES, Seed(1)), Seed(1)).unwrap();
        assert_eq!(own, Checks::new(&model, &q, Seed(1)).unwrap());
        let points = ExactDraws::new(&model, &q, Seed(1)).unwrap().draw(Checks::REPLICATES).unwrap();
        let exact = Checks::with_draws(&model, &q, &points, Seed(1)).unwrap();
        assert!(exact != own && exact.residuals == own.residuals);
        assert!(
            exact.statistics.iter().all(|s| s.replicated[0] <= s.observed && s.observed <= s.replicated[2])
        );
        assert!(Checks::with_draws(&model, &q, &Matrix::zeros(0, 2), Seed(1)).is_err());
    }

    #[test]
    fn data_of_the_model_pass_its_checks() {
        // Of ten bands of 95 %, four or more are left with a probability of 0.001.
        let mut left = 0;
        for family in [
            Family::Gaussian { noise_sd: 0.7 },
            Family::Bernoulli,
            Family::Probit,
            Family::Binomial,
            Family::Cloglog,
            Family::Poisson,
            Family::Gamma { noise_sd: 0.6 },
            Family::Exponential,
            Family::Weibull { noise_sd: 0.6, unit: 3.0, coarse: false },
            Family::ExponentialTime { unit: 2.0, coarse: false },
            Family::NegativeBinomial { noise_sd: 0.7 },
            Family::Ordered { gaps: Gaps::SOME },
        ] {
            let (model, q) = fitted(family);
            let checks = Checks::new(&model, &q, Seed(1)).unwrap();
            let usual = |at: f64, [low, _, high]: [f64; 3]| low <= at && at <= high;
            let outside = checks.statistics.iter().filter(|s| !usual(s.observed, s.replicated)).count();
            assert!(outside <= 1, "{family:?} {:?}", checks.statistics);
            let off =
                checks.calibration.iter().filter(|b| !(b.interval.0..=b.interval.1).contains(&b.predicted));
            assert!(off.count() <= 3, "{family:?} {:?}", checks.calibration);
            let total: f64 = checks.histogram.iter().map(|b| b.observed).sum();
            assert!(checks.histogram.is_empty() || (total - ROWS as f64).abs() < 0.5);
            let squares: f64 = checks.residuals.iter().map(|r| r.1 * r.1).sum::<f64>() / ROWS as f64;
            assert!(checks.residuals.is_empty() || (0.7..1.4).contains(&squares), "{squares}");
            left += usize::from(checks.pit.outside() > 0);
            assert_eq!(checks.pit.values.len(), if checks.histogram.is_empty() { 0 } else { ROWS });
        }
        assert!(left < 4, "{left}");
    }

    #[test]
    fn data_of_another_model_do_not() {
        let (model, q) = fitted(Family::Poisson);
        // Counts twice as spread as Poisson counts are.
        let wide: Vec<f64> = model
            .rows
            .response
            .iter()
            .enumerate()
            .map(|(n, y)| if n % 2 == 0 { 3.0 * y } else { 0.0 })
            .collect();
        let model = Glm::poisson(model.design().clone(), &wide, Prior::scale(2.5).unwrap()).unwrap();
        let checks = Checks::new(&model, &q, Seed(1)).unwrap();
        let sd = checks.statistics.iter().find(|s| s.name == "standard deviation").unwrap();
        assert!(sd.observed > sd.replicated[2]);
        let zeros = checks.statistics.iter().find(|s| s.name == "share of zeros").unwrap();
        assert!(zeros.observed > zeros.replicated[2]);
        assert!(checks.pit.outside() > 5, "{}", checks.pit.outside());
    }

    /// Predicted without themselves, labels have the probabilities that the refits found, and the values are theirs.
    #[test]
    fn rows_left_out_take_the_place_of_posterior_predictions() {
        let (model, q) = fitted(Family::Bernoulli);
        let checks = Checks::new(&model, &q, Seed(1)).unwrap();
        let rows: Vec<usize> = (0..ROWS).collect();
        let found = crate::auto::loo::refits(&model, &q, &rows, &Default::default(), &mut |_| ()).unwrap();
        let ends: Vec<[f64; 2]> = found.iter().map(|row| [row.below, row.up_to]).collect();
        let mut left = checks.clone().with_left_out(&model, &ends, Seed(1)).unwrap();
        assert!(left.pit.left_out && left.pit.outside() == 0 && left.pit.values.len() == ROWS);
        for (a, b) in left.calibration.iter().zip(&checks.calibration) {
            assert!((a.predicted - b.predicted).abs() < 0.02, "{a:?} {b:?}");
        }
        assert!(left.calibration != checks.calibration);
        // Exchanged probabilities of 0 and 1 would be seen.
        let turn = |[below, up_to]: &[f64; 2]| match *below > 0.0 {
            true => [1.0 - below, 1.0],
            false => [0.0, 1.0 - up_to],
        };
        let turned: Vec<[f64; 2]> = ends.iter().map(turn).collect();
        left = left.with_left_out(&model, &turned, Seed(1)).unwrap();
        assert!(left.calibration.iter().any(|b| !(b.interval.0..=b.interval.1).contains(&b.predicted)));
        assert!(checks.with_left_out(&model, &ends[1..], Seed(1)).is_err());
    }

    #[test]
    fn wilson_is_the_textbook_s() {
        let (low, high) = wilson(8.0, 10.0);
        assert!((low - 0.490_162).abs() < 1e-5 && (high - 0.943_318).abs() < 1e-5, "{low} {high}");
        assert!(wilson(0.0, 5.0).0 <= 0.0 && wilson(5.0, 5.0).1 >= 1.0);
    }
}
