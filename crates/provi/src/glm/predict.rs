//! Predictions at new rows: the mean response under q, and draws of new responses.
//!
//! At a row a with offset o, the linear predictor s = aᵀz + o is N(aᵀm + o, ‖Cᵀa‖²) under q. So the mean response E
//! g(s), where g is the inverse link, is a formula or a one-dimensional integral; and since g is monotone, an
//! interval of s maps to one of g(s):
//! ```text
//! gaussian  E s = μ          bernoulli  E sigmoid(s) by quadrature
//! poisson, negbinomial, gamma  e^{μ + σ²/2}     probit     Φ(μ/√(1+σ²))     cloglog  E[1 − exp(−eˢ)] by quadrature
//! ```
//! The mean time to an event of a [`Family::Weibull`] with shape k is uΓ(1 + 1/k)e^{−s/k}, which falls with s; its own mean is a formula too.
//!
//! The mean of ordered categories is that of their numbers, 1 + Σ_k P(y > k); [`categories`] gives the probability of each.
//!
//! These are statements about q. For a mean between 0 and 1, the posterior's own value differs by at most TV(q, p)
//! [cert-moments].

mod categories;
mod observed;

pub use categories::categories;
pub use observed::{Observation, observations, observations_mixture};

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::base::scalar::Probability;
use crate::base::{normal_mixture, special};
use crate::glm::Family;
use crate::glm::design::{BLOCK, Design};
use crate::glm::expectation::{mean_of, mean_slopes};
use crate::glm::sparse::NormalLaw;
use std::ops::Range;

/// New rows to predict at.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Their design, with the columns of the model.
    pub design: &'a Design,
    /// A known part of each predictor.
    pub offsets: Option<&'a [f64]>,
    /// Variance of each predictor in addition to q's, for example from groups that the model has not seen.
    pub extra_variance: Option<&'a [f64]>,
    /// Trials of each row, for the binomial family; without them, one.
    pub trials: Option<&'a [f64]>,
}

/// The mean response of one row under q.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Prediction {
    /// Mean of the linear predictor, offset included.
    pub predictor: f64,
    /// Standard deviation of the linear predictor.
    pub predictor_sd: f64,
    /// The mean response: a probability, a rate or a value.
    pub mean: f64,
    /// Lower end of the equal-tailed interval of g(s).
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
}

/// Predictions at the rows, with intervals of the given probability. Cost: one pass over the rows and, for a dense
/// factor, d² per row.
///
/// ```
/// use provi::{Design, Gaussian, predict::{Rows, predict}, target::Family};
///
/// let q = Gaussian::new(&[0.5, 1.0], &[0.2, 0.0, 0.1])?;
/// let design = Design::dense(1, 2, &[1.0, 2.0])?;
/// let found = predict(Family::Poisson, &q, &Rows::new(&design), 0.95)?;
/// assert!((found[0].mean - (2.5f64 + 0.5 * (0.04 + 0.04)).exp()).abs() < 1e-12);
/// # Ok::<(), provi::Error>(())
/// ```
pub fn predict(
    family: Family,
    q: &impl NormalLaw,
    rows: &Rows<'_>,
    probability: f64,
) -> Result<Vec<Prediction>> {
    rows.check(q.mean().len())?;
    let level = Probability::new("probability of an interval", probability)?.get();
    let half = special::upper_quantile(0.5 * (1.0 - level));
    let means = rows.predictors(q.mean());
    let mut deviations = q.row_variances(rows.design)?;
    for (n, variance) in deviations.iter_mut().enumerate() {
        *variance = (*variance + rows.extra_variance.map_or(0.0, |extra| extra[n])).sqrt();
    }
    let responses = mean_responses(family, &means, &deviations);
    let at = |n: usize| {
        let [low, high] = [-half, half].map(|half| response(family, means[n] + half * deviations[n]));
        // The time to an event falls with its hazard.
        let [low, high] = if high < low { [high, low] } else { [low, high] };
        Prediction { predictor: means[n], predictor_sd: deviations[n], mean: responses[n], low, high }
    };
    Ok((0..means.len()).map(at).collect())
}

/// Predictions of a mixture: shares, families that differ in their noise at most, and the predictions of each part at the same rows. Means
/// are averages, and the linear predictor is a mixture of normal laws, whose quantiles map to those of the mean response. The mean time to an
/// event depends on the noise too: its logarithm is a mixture of normal laws.
pub fn predict_mixture(
    parts: &[(f64, Family, Vec<Prediction>)],
    probability: f64,
) -> Result<Vec<Prediction>> {
    let rows = parts.first().map_or(0, |(_, _, first)| first.len());
    if let Some((_, _, other)) = parts.iter().find(|(_, _, part)| part.len() != rows) {
        return Err(Error::Shape { what: "predictions of a part", found: other.len(), expected: rows });
    }
    // The mean category depends on the gaps too.
    let ordered = parts.len() > 1 && parts.iter().any(|(_, family, _)| family.gaps().is_some());
    let at = |n: usize| {
        let law = |(share, family, part): &(f64, Family, Vec<Prediction>)| match log_mean_time(*family) {
            Some([at, slope]) => (*share, at + slope * part[n].predictor, slope.abs() * part[n].predictor_sd),
            None => (*share, part[n].predictor, part[n].predictor_sd),
        };
        let laws: Vec<(f64, f64, f64)> = parts.iter().map(law).collect();
        let mean = |f: &dyn Fn(&Prediction) -> f64| -> f64 {
            parts.iter().map(|(share, _, part)| share * f(&part[n])).sum()
        };
        let predictor = mean(&|part| part.predictor);
        let variance = mean(&|part| part.predictor_sd.powi(2) + (part.predictor - predictor).powi(2));
        let respond = |s: f64| match parts.first() {
            Some((_, family, _)) if log_mean_time(*family).is_none() => response(*family, s),
            _ => s.exp(),
        };
        let [low, high] = match ordered {
            true => categories::interval_of_mean(parts, n, probability)?,
            false => normal_mixture::interval(&laws, probability)?.map(respond),
        };
        let mean = mean(&|part| part.mean);
        Ok(Prediction { predictor, predictor_sd: variance.sqrt(), mean, low, high })
    };
    (0..rows).map(at).collect()
}

/// `count` draws of new responses at the rows, each with its own z ~ q: `count` × rows, row by row. A pure function
/// of the seed.
pub fn responses(
    family: Family,
    q: &impl NormalLaw,
    rows: &Rows<'_>,
    count: usize,
    seed: Seed,
) -> Result<Vec<f64>> {
    responses_part(family, q, rows, 0..count as u64, seed)
}

/// The draws with these numbers from the list that [`responses`] makes. A list of any length can so be made part by
/// part.
pub fn responses_part(
    family: Family,
    q: &impl NormalLaw,
    rows: &Rows<'_>,
    which: Range<u64>,
    seed: Seed,
) -> Result<Vec<f64>> {
    responses_at(family, &q.sample_part(which.clone(), seed), rows, which.start, seed)
}

/// Draws of new responses at the rows for coefficients that were drawn before, one for each row of `points`: of the posterior itself, for
/// instance ([`crate::exact_draws`]). `first` is the number of the first one in the list of all, which can so be made part by part.
pub fn responses_at(
    family: Family,
    points: &Matrix,
    rows: &Rows<'_>,
    first: u64,
    seed: Seed,
) -> Result<Vec<f64>> {
    rows.check(points.columns())?;
    let n_rows = rows.design.rows();
    let stream = Draws::new(seed, Purpose::Response);
    let mut out = Vec::with_capacity(points.rows() * n_rows);
    let (mut extra, mut chance) = (vec![0.0; n_rows], vec![0.0; n_rows]);
    for (k, row) in (first..).zip(0..points.rows()) {
        stream.fill(k, 0, &mut chance);
        stream.fill(k, 1, &mut extra);
        let predictors = rows.predictors(points.row(row));
        out.extend((0..n_rows).map(|n| {
            let spread = rows.extra_variance.map_or(0.0, |v| v[n].sqrt());
            let trials = rows.trials.map_or(1.0, |t| t[n]);
            observe(family, predictors[n] + spread * extra[n], trials, chance[n])
        }));
    }
    Ok(out)
}

/// The linear predictors behind [`responses_at`], offsets included: `points.rows()` lists of one number for each row.
pub fn predictors_at(points: &Matrix, rows: &Rows<'_>, first: u64, seed: Seed) -> Result<Vec<f64>> {
    rows.check(points.columns())?;
    let stream = Draws::new(seed, Purpose::Response);
    let mut out = Vec::with_capacity(points.rows() * rows.design.rows());
    let mut extra = vec![0.0; rows.design.rows()];
    for (k, row) in (first..).zip(0..points.rows()) {
        let mut predictors = rows.predictors(points.row(row));
        if let Some(variances) = rows.extra_variance {
            stream.fill(k, 1, &mut extra);
            let each = predictors.iter_mut().zip(variances).zip(&extra);
            each.for_each(|((s, variance), normal)| *s += variance.sqrt() * normal);
        }
        out.append(&mut predictors);
    }
    Ok(out)
}

/// [`responses_at`] where the noise or the gaps between cut points were drawn with the coefficients: the family with those of each row of
/// `points`.
pub fn responses_with_families(
    families: &[Family],
    points: &Matrix,
    rows: &Rows<'_>,
    first: u64,
    seed: Seed,
) -> Result<Vec<f64>> {
    if families.len() != points.rows() {
        let (found, expected) = (families.len(), points.rows());
        return Err(Error::Shape { what: "families of the draws", found, expected });
    }
    let mut out = Vec::with_capacity(points.rows() * rows.design.rows());
    for (k, &family) in families.iter().enumerate() {
        let one = Matrix::new(1, points.columns(), points.row(k).to_vec())?;
        out.extend(responses_at(family, &one, rows, first + k as u64, seed)?);
    }
    Ok(out)
}

impl<'a> Rows<'a> {
    /// Rows with a design and nothing else.
    pub fn new(design: &'a Design) -> Self {
        Self { design, offsets: None, extra_variance: None, trials: None }
    }

    fn check(&self, dim: usize) -> Result<()> {
        let rows = self.design.rows();
        if self.design.columns() != dim {
            return Err(Error::Shape { what: "a new row", found: self.design.columns(), expected: dim });
        }
        let parts =
            [("offsets", self.offsets), ("extra variances", self.extra_variance), ("trials", self.trials)];
        for (what, part) in parts {
            if let Some(part) = part
                && part.len() != rows
            {
                return Err(Error::Shape { what, found: part.len(), expected: rows });
            }
        }
        Ok(())
    }

    fn predictors(&self, point: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.design.rows()];
        for first in (0..out.len()).step_by(BLOCK) {
            let last = (first + BLOCK).min(out.len());
            self.design.predict(first..last, point, &mut out[first..last]);
        }
        if let Some(offsets) = self.offsets {
            out.iter_mut().zip(offsets).for_each(|(s, offset)| *s += offset);
        }
        out
    }
}

/// g(s): the mean response at a known predictor s.
pub fn response(family: Family, s: f64) -> f64 {
    match family {
        Family::Gaussian { .. } => s,
        Family::Bernoulli | Family::Binomial => special::sigmoid(s),
        Family::Probit => special::normal_cdf(s),
        Family::Cloglog => -(-s.exp()).exp_m1(),
        Family::Ordered { gaps } => 1.0 + gaps.exceeding(s).sum::<f64>(),
        Family::Poisson | Family::NegativeBinomial { .. } | Family::Gamma { .. } | Family::Exponential => {
            s.exp()
        }
        Family::Weibull { .. } | Family::ExponentialTime { .. } => {
            log_mean_time(family).map_or(f64::NAN, |[at, slope]| (at + slope * s).exp())
        }
    }
}

/// a and b in the logarithm a + bs of the mean time to an event, uΓ(1 + 1/k)e^{−s/k}.
fn log_mean_time(family: Family) -> Option<[f64; 2]> {
    let (shape, unit) = (family.hazard_shape()?, family.time_unit()?);
    Some([unit.ln() + special::ln_gamma(1.0 + 1.0 / shape), -1.0 / shape])
}

/// P(time > t) at each row, for times to an event: E exp(−(t/u)^k eˢ), and the interval of exp(−(t/u)^k eˢ). The parts are those of
/// [`predict_mixture`]; of a single answer, one with the share 1.
/// ```
/// use provi::{Design, Gaussian, predict::{Rows, predict, survival}, target::Family};
///
/// let family = Family::Weibull { noise_sd: 0.5, unit: 10.0, coarse: false };
/// let q = Gaussian::new(&[0.3], &[1e-9])?;
/// let design = Design::dense(1, 1, &[1.0])?;
/// let at = predict(family, &q, &Rows::new(&design), 0.95)?;
/// let found = survival(&[(1.0, family, at)], 20.0, 0.95)?[0].mean;
/// assert!((found - (-4.0 * 0.3f64.exp()).exp()).abs() < 1e-6);
/// # Ok::<(), provi::Error>(())
/// ```
pub fn survival(
    parts: &[(f64, Family, Vec<Prediction>)],
    time: f64,
    probability: f64,
) -> Result<Vec<Prediction>> {
    let time = crate::base::scalar::Positive::new("time", time)?.get();
    let lived = |s: f64| (-s.exp()).exp();
    let mut moved = Vec::with_capacity(parts.len());
    for (share, family, part) in parts {
        let (Some(shape), Some(unit)) = (family.hazard_shape(), family.time_unit()) else {
            return Err(Error::NoEvents { family: family.name() });
        };
        let shift = shape * (time / unit).ln();
        let at = |at: &Prediction| {
            let predictor = at.predictor + shift;
            Prediction { predictor, mean: mean_of(lived, predictor, at.predictor_sd), ..*at }
        };
        // No event before that time: 1 less the probability of a cloglog response.
        moved.push((*share, Family::Cloglog, part.iter().map(at).collect()));
    }
    let mut found = predict_mixture(&moved, probability)?;
    found.iter_mut().for_each(|at| (at.low, at.high) = (1.0 - at.high, 1.0 - at.low));
    Ok(found)
}

/// E g(s) for s ~ N(μ, σ²).
fn mean_responses(family: Family, means: &[f64], deviations: &[f64]) -> Vec<f64> {
    match family {
        Family::Probit => {
            let at = |(m, s): (&f64, &f64)| special::normal_cdf(m / (1.0 + s * s).sqrt());
            means.iter().zip(deviations).map(at).collect()
        }
        Family::Gaussian { .. } => means.to_vec(),
        Family::Cloglog => {
            let at = |(m, s): (&f64, &f64)| mean_of(|s| response(family, s), *m, *s);
            means.iter().zip(deviations).map(at).collect()
        }
        Family::Weibull { .. } | Family::ExponentialTime { .. } => {
            let [at, slope] = log_mean_time(family).unwrap_or_default();
            let of = |(m, s): (&f64, &f64)| (at + slope * m + 0.5 * (slope * s).powi(2)).exp();
            means.iter().zip(deviations).map(of).collect()
        }
        Family::Poisson | Family::NegativeBinomial { .. } | Family::Gamma { .. } | Family::Exponential => {
            means.iter().zip(deviations).map(|(m, s)| (m + 0.5 * s * s).exp()).collect()
        }
        // φ'(s) = g(s) − y, at y = 0.
        Family::Bernoulli | Family::Binomial => mean_slopes(family, means, deviations),
        Family::Ordered { gaps } => {
            let mut out = vec![1.0; means.len()];
            for cut in gaps.cuts() {
                let shifted: Vec<f64> = means.iter().map(|m| m - cut).collect();
                let above = mean_slopes(Family::Bernoulli, &shifted, deviations);
                out.iter_mut().zip(above).for_each(|(out, p)| *out += p);
            }
            out
        }
    }
}

/// A response at predictor s, made from a standard normal.
pub(super) fn observe(family: Family, s: f64, trials: f64, normal: f64) -> f64 {
    let mean = response(family, s);
    match family {
        Family::Gaussian { noise_sd } => s + noise_sd * normal,
        Family::Bernoulli | Family::Probit => f64::from(u8::from(special::normal_cdf(normal) < mean)),
        Family::Binomial | Family::Cloglog => {
            let odds = mean / (1.0 - mean);
            let mode = ((trials + 1.0) * mean).floor().min(trials);
            let weight = special::ln_gamma(trials + 1.0)
                - special::ln_gamma(mode + 1.0)
                - special::ln_gamma(trials - mode + 1.0)
                + if mode > 0.0 { mode * mean.ln() } else { 0.0 }
                + if mode < trials { (trials - mode) * (-mean).ln_1p() } else { 0.0 };
            count_from(special::normal_cdf(normal), mode, weight.exp(), trials, |k| {
                (trials - k) / (k + 1.0) * odds
            })
        }
        Family::Poisson => {
            let mode = mean.floor();
            // A double above this has no units digit, so a normal approximation is used.
            if mean > 1e12 {
                return (mean + mean.sqrt() * normal).round().max(0.0);
            }
            let weight = mode * s - mean - special::ln_gamma(mode + 1.0);
            count_from(special::normal_cdf(normal), mode, weight.exp(), f64::INFINITY, |k| mean / (k + 1.0))
        }
        Family::Ordered { gaps } => {
            // The categories whose lower end is exceeded: u < P(y > k) for k = 1, 2, …
            let u = special::normal_cdf(-normal);
            1.0 + gaps.exceeding(s).filter(|p| u < *p).count() as f64
        }
        Family::Gamma { noise_sd } => mean * special::gamma_from(1.0 / (noise_sd * noise_sd), normal),
        Family::Exponential => mean * special::gamma_from(1.0, normal),
        Family::Weibull { .. } | Family::ExponentialTime { .. } => {
            let (shape, unit) = (family.hazard_shape().unwrap_or(1.0), family.time_unit().unwrap_or(1.0));
            // (t/u)^k eˢ has an exponential distribution.
            unit * ((special::gamma_from(1.0, normal).ln() - s) / shape).exp()
        }
        Family::NegativeBinomial { noise_sd } => {
            let r = 1.0 / (noise_sd * noise_sd);
            // The rate alone says which of so many counts it is, to within their square root.
            if mean.sqrt().max(noise_sd * mean) > FAR_COUNTS {
                return (mean * special::gamma_from(r, normal)).round();
            }
            let mode = (mean * (r - 1.0) / r).floor().max(0.0);
            let share = mean / (mean + r);
            let weight = mode * share.ln()
                - r * (mean / r).ln_1p()
                - Family::NegativeBinomial { noise_sd }.constant(mode);
            count_from(special::normal_cdf(normal), mode, weight.exp(), f64::INFINITY, |k| {
                (k + r) / (k + 1.0) * share
            })
        }
    }
}

/// Above this spread, counts with gamma rates are drawn as their rates are.
const FAR_COUNTS: f64 = 1e5;

/// A count with a unimodal distribution, made from a uniform u: probabilities are subtracted from u, from the mode
/// outwards, always on the nearer side, until u is used up. `ratio(k)` = P(k+1)/P(k). Cost: as many terms as lie
/// within a few standard deviations.
fn count_from(mut u: f64, mode: f64, at_mode: f64, most: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut below, mut above) = ((mode, at_mode), (mode, at_mode));
    u -= at_mode;
    while u > 0.0 {
        let before = u;
        if above.0 < most {
            above = (above.0 + 1.0, above.1 * ratio(above.0));
            u -= above.1;
            if u <= 0.0 {
                return above.0;
            }
        }
        if below.0 > 0.0 {
            below = (below.0 - 1.0, below.1 / ratio(below.0 - 1.0));
            u -= below.1;
            if u <= 0.0 {
                return below.0;
            }
        }
        // Rounding left a rest of u although both tails are used up.
        if before - u <= 0.0 {
            break;
        }
    }
    mode
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::gaussian::{Gaussian, Triangular};
    use crate::glm::Gaps;

    fn design() -> Design {
        Design::dense(3, 2, &[1.0, 0.5, 1.0, -2.0, 1.0, 0.0]).unwrap()
    }

    fn rows(design: &Design) -> Rows<'_> {
        Rows { offsets: Some(&[0.1, 0.0, -0.3]), ..Rows::new(design) }
    }

    fn q() -> Gaussian<Triangular> {
        Gaussian::new(&[0.3, -0.6], &[0.5, -0.2, 0.4]).unwrap()
    }

    const ALL: [Family; 11] = [
        Family::Gaussian { noise_sd: 0.7 },
        Family::Bernoulli,
        Family::Probit,
        Family::Cloglog,
        Family::Poisson,
        Family::Gamma { noise_sd: 0.8 },
        Family::Exponential,
        Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: false },
        Family::ExponentialTime { unit: 0.7, coarse: false },
        Family::NegativeBinomial { noise_sd: 0.7 },
        Family::Ordered { gaps: Gaps::SOME },
    ];

    #[test]
    fn means_and_intervals_are_those_of_the_draws() {
        let design = design();
        let rows = rows(&design);
        let draws = 40_000;
        for family in ALL {
            let found = predict(family, &q(), &rows, 0.9).unwrap();
            let points = q().sample(draws, Seed(5));
            for (n, p) in found.iter().enumerate() {
                let values: Vec<f64> =
                    (0..draws).map(|k| response(family, rows.predictors(points.row(k))[n])).collect();
                let mean = values.iter().sum::<f64>() / draws as f64;
                let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / draws as f64;
                // Six standard errors: false alarm near 2e-9 each.
                assert!((mean - p.mean).abs() < 6.0 * (variance / draws as f64).sqrt(), "{family:?} {n}");
                let inside = values.iter().filter(|v| (p.low..p.high).contains(v)).count() as f64;
                assert!((inside / draws as f64 - 0.9).abs() < 6.0 * (0.09 / draws as f64).sqrt());
            }
        }
    }

    #[test]
    fn responses_are_made_from_the_predictors_of_the_same_seed() {
        let (design, family) = (design(), Family::Gaussian { noise_sd: 1e-9 });
        let rows = Rows { extra_variance: Some(&[0.0, 4.0, 0.25]), ..rows(&design) };
        let points = q().sample(5, Seed(3));
        let predictors = predictors_at(&points, &rows, 7, Seed(3)).unwrap();
        let responses = responses_at(family, &points, &rows, 7, Seed(3)).unwrap();
        assert!(predictors.iter().zip(&responses).all(|(s, y)| (s - y).abs() < 1e-7));
        assert!((predictors[0] - rows.predictors(points.row(0))[0]).abs() < 1e-15);
        let spread = |n: usize| (predictors[n] - rows.predictors(points.row(0))[n]).abs();
        assert!(spread(1) > 0.0 && spread(2) > 0.0);
    }

    #[test]
    fn observations_have_the_mean_and_the_spread_of_their_law() {
        let q = Gaussian::new(&[0.3, -0.6], &[1e-9, 0.0, 1e-9]).unwrap();
        let (draws, trials) = (20_000, 7.0);
        let design = design();
        let rows = Rows { trials: Some(&[trials; 3]), ..rows(&design) };
        for family in ALL.into_iter().chain([Family::Binomial]) {
            let seen = responses(family, &q, &rows, draws, Seed(2)).unwrap();
            for (n, p) in predict(family, &q, &rows, 0.5).unwrap().iter().enumerate() {
                let (mean, variance) = match family {
                    Family::Gaussian { noise_sd } => (p.mean, noise_sd * noise_sd),
                    Family::Poisson => (p.mean, p.mean),
                    Family::Gamma { noise_sd } => (p.mean, (noise_sd * p.mean).powi(2)),
                    Family::Exponential | Family::ExponentialTime { .. } => (p.mean, p.mean * p.mean),
                    Family::Weibull { noise_sd, .. } => {
                        let gamma = |x: f64| libm::tgamma(1.0 + x * noise_sd);
                        (p.mean, p.mean * p.mean * (gamma(2.0) / gamma(1.0).powi(2) - 1.0))
                    }
                    Family::NegativeBinomial { noise_sd } => (p.mean, p.mean + (noise_sd * p.mean).powi(2)),
                    Family::Ordered { gaps } => {
                        let of = |k: usize| gaps.probability(k, p.predictor) * (k as f64 - p.mean).powi(2);
                        (p.mean, (1..=4).map(of).sum())
                    }
                    Family::Binomial | Family::Cloglog => (trials * p.mean, trials * p.mean * (1.0 - p.mean)),
                    _ => (p.mean, p.mean * (1.0 - p.mean)),
                };
                let values: Vec<f64> = (0..draws).map(|k| seen[3 * k + n]).collect();
                let average = values.iter().sum::<f64>() / draws as f64;
                let squares: Vec<f64> = values.iter().map(|v| (v - mean).powi(2)).collect();
                let spread = squares.iter().sum::<f64>() / draws as f64;
                let fourth = squares.iter().map(|s| s * s).sum::<f64>() / draws as f64;
                assert!((average - mean).abs() < 6.0 * (variance / draws as f64).sqrt(), "{family:?} {n}");
                assert!((spread - variance).abs() < 6.0 * (fourth / draws as f64).sqrt(), "{family:?} {n}");
            }
        }
    }

    #[test]
    fn counts_follow_their_probabilities_exactly() {
        // u walks over (0, 1) in equal steps, so each count comes up in proportion to its probability.
        let (rate, steps) = (3.7f64, 200_000u32);
        let mut seen = [0u32; 12];
        for i in 0..steps {
            let u = (f64::from(i) + 0.5) / f64::from(steps);
            let k =
                count_from(u, 3.0, (3.0 * rate.ln() - rate).exp() / 6.0, f64::INFINITY, |k| rate / (k + 1.0));
            if k < 12.0 {
                seen[k as usize] += 1;
            }
        }
        let mut probability = (-rate).exp();
        for (k, &count) in seen.iter().enumerate() {
            assert!((f64::from(count) - probability * f64::from(steps)).abs() <= 1.5, "{k}");
            probability *= rate / (k as f64 + 1.0);
        }
    }

    #[test]
    fn new_groups_widen_the_interval() {
        let design = design();
        let (known, new) = (rows(&design), Rows { extra_variance: Some(&[1.0; 3]), ..rows(&design) });
        let at = |rows| predict(Family::Bernoulli, &q(), &rows, 0.9);
        let (a, b) = (at(known), at(new));
        for (a, b) in a.unwrap().iter().zip(b.unwrap()) {
            assert!(b.low < a.low && b.high > a.high);
            assert!((b.predictor_sd.powi(2) - a.predictor_sd.powi(2) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn rows_of_another_model_are_refused() {
        let (design, narrow) = (design(), Design::dense(1, 1, &[1.0]).unwrap());
        let other = Rows::new(&narrow);
        assert!(predict(Family::Poisson, &q(), &other, 0.9).is_err());
        let short = Rows { offsets: Some(&[0.0]), ..rows(&design) };
        assert!(responses(Family::Poisson, &q(), &short, 1, Seed(0)).is_err());
        let whole = responses(Family::Poisson, &q(), &rows(&design), 9, Seed(4)).unwrap();
        let part = responses_part(Family::Poisson, &q(), &rows(&design), 5..9, Seed(4)).unwrap();
        assert_eq!(part, whole[15..], "a part is a part of the whole");
        let points = q().sample_part(5..9, Seed(4));
        let given = responses_at(Family::Poisson, &points, &rows(&design), 5, Seed(4)).unwrap();
        assert_eq!(given, part, "the same coefficients give the same responses");
        assert!(predict(Family::Poisson, &q(), &rows(&design), 1.5).is_err());
    }
}
