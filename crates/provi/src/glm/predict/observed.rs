//! A new response at a row: its standard deviation, and an interval that contains it.
//!
//! Given the predictor s ~ N(μ, σ²), the response has the family's distribution. A new response has the mixture of
//! these over s:
//! ```text
//! gaussian  N(μ, σ² + noise²)        bernoulli, probit, cloglog  0 or 1, with the probabilities of `predict`
//! gamma     P(y > x) = E_s Q(α, αxe⁻ˢ)
//! poisson   P(y ≤ k) = E_s Q(k+1, eˢ) = E_L Φ((L − μ)/σ),   L = log G,  G ~ Gamma(k+1)
//! ```
//! since Q(k+1, λ) = P(G > λ). Of the two integrals, the one over the narrower distribution is computed: the other
//! function is then smooth on the scale of the steps.

use super::{Prediction, Rows, predict};
use crate::base::error::{Error, Result};
use crate::base::scalar::Probability;
use crate::base::special;
use crate::glm::expectation::mean_of;
use crate::glm::sparse::NormalLaw;
use crate::glm::{Family, Gaps};

/// The distribution of a new response of one row under q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Standard deviation, of the mean and the noise together.
    pub sd: f64,
    /// Lower end of an interval that has at least the probability asked for, with at most half of the rest on
    /// either side.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
}

/// New responses at the rows, one trial each, with intervals of the given probability under q. Cost: that of
/// [`predict`]; for counts a few thousand operations per row besides.
///
/// ```
/// use provi::{Design, Gaussian, predict::{Rows, observations}, target::Family};
///
/// let q = Gaussian::new(&[0.5, 1.0], &[0.3, 0.0, 0.0001])?;
/// let design = Design::dense(1, 2, &[1.0, 0.0])?;
/// let found = observations(Family::Gaussian { noise_sd: 0.4 }, &q, &Rows::new(&design), 0.9)?;
/// assert!((found[0].sd - 0.5).abs() < 1e-12 && (found[0].high - (0.5 + 1.6449 * 0.5)).abs() < 1e-4);
/// # Ok::<(), provi::Error>(())
/// ```
pub fn observations(
    family: Family,
    q: &impl NormalLaw,
    rows: &Rows<'_>,
    probability: f64,
) -> Result<Vec<Observation>> {
    if let Some(&value) = rows.trials.and_then(|trials| trials.iter().find(|&&n| (n - 1.0).abs() > 0.0)) {
        return Err(Error::OutOfRange { what: "trials of a new response", value, needed: "1" });
    }
    let found = predict(family, q, rows, probability)?;
    let tail = 0.5 * (1.0 - Probability::new("probability of an interval", probability)?.get());
    Ok(found.iter().map(|at| observation(family, at, tail)).collect())
}

fn observation(family: Family, at: &Prediction, tail: f64) -> Observation {
    let (mean, spread) = (at.mean, at.predictor_sd);
    match family {
        Family::Gaussian { noise_sd } => {
            let sd = spread.hypot(noise_sd);
            let half = special::upper_quantile(tail) * sd;
            Observation { sd, low: mean - half, high: mean + half }
        }
        Family::Bernoulli | Family::Binomial | Family::Probit | Family::Cloglog => {
            // The smaller of 0 and 1 whose cumulative probability reaches the level.
            let least = |level: f64| f64::from(u8::from(1.0 - mean < level));
            Observation { sd: (mean * (1.0 - mean)).sqrt(), low: least(tail), high: least(1.0 - tail) }
        }
        Family::Ordered { .. } => ordered(&[(1.0, family, at)], tail),
        Family::Poisson => {
            let rate = Rate { location: at.predictor, spread };
            let sd = (mean + mean * mean * (spread * spread).exp_m1()).sqrt();
            Observation { sd, low: rate.quantile(tail), high: rate.quantile(1.0 - tail) }
        }
        Family::Gamma { .. }
        | Family::Exponential
        | Family::Weibull { .. }
        | Family::ExponentialTime { .. } => positive(&[(1.0, family, at)], tail),
        Family::NegativeBinomial { .. } => counts(&[(1.0, family, at)], tail),
    }
}

/// [`observations`] of a mixture: shares, families that differ in their noise, and predictions of each part at the same rows. `None` for
/// families whose mixtures are not computed: those of gaussian responses are mixtures of normal laws ([`super::predict_mixture`]).
pub fn observations_mixture(
    parts: &[(f64, Family, Vec<Prediction>)],
    probability: f64,
) -> Result<Option<Vec<Observation>>> {
    let tail = 0.5 * (1.0 - Probability::new("probability of an interval", probability)?.get());
    let rows = parts.first().map_or(0, |(_, _, first)| first.len());
    if let Some((_, _, other)) = parts.iter().find(|(_, _, part)| part.len() != rows) {
        return Err(Error::Shape { what: "predictions of a part", found: other.len(), expected: rows });
    }
    let is_count = |family: Family| family.count_shape().is_some();
    let is_positive = |family: Family| family.gamma_shape().or(family.hazard_shape()).is_some();
    let all = |is: &dyn Fn(Family) -> bool| parts.iter().all(|(_, family, _)| is(*family));
    let is_ordered = |family: Family| family.gaps().is_some();
    if !all(&is_count) && !all(&is_positive) && !all(&is_ordered) {
        return Ok(None);
    }
    let at = |n: usize| {
        let laws: Vec<(f64, Family, &Prediction)> =
            parts.iter().map(|(share, family, part)| (*share, *family, &part[n])).collect();
        if all(&is_count) {
            counts(&laws, tail)
        } else if all(&is_ordered) {
            ordered(&laws, tail)
        } else {
            positive(&laws, tail)
        }
    };
    Ok(Some((0..rows).map(at).collect()))
}

/// An ordered category, or a mixture of some: shares, families and predictions.
fn ordered(parts: &[(f64, Family, &Prediction)], tail: f64) -> Observation {
    let most = parts.first().and_then(|(_, family, _)| family.gaps()).map_or(1, |gaps| gaps.categories());
    // P(y > k), k = 0, 1, …, K.
    let mut above = vec![0.0; most + 1];
    for (share, family, at) in parts {
        above[0] += share;
        for (k, cut) in family.gaps().map(|gaps| gaps.cuts()).into_iter().flatten().enumerate() {
            above[k + 1] += share * mean_of(special::sigmoid, at.predictor - cut, at.predictor_sd);
        }
    }
    // The smallest category whose cumulative probability reaches the level.
    let least = |level: f64| (1..most).find(|&k| 1.0 - above[k] >= level).unwrap_or(most) as f64;
    let sd = Gaps::deviation(above[1..most].iter().copied());
    Observation { sd, low: least(tail), high: least(1.0 - tail) }
}

/// A positive response, or a mixture of some: shares, families and predictions. A gamma response is y = eˢG/α, G ~ Gamma(α), α = 1/σ²; of a
/// time to an event of shape k, (t/u)^k eˢ is exponential.
/// ```text
/// gamma    E y² = e^{2μ + 2v}(1 + σ²),                   P(y > x) = E_s Q(α, αxe⁻ˢ),   s ~ N(μ, v)
/// weibull  E y² = (E y)² e^{v/k²}Γ(1 + 2/k)/Γ(1 + 1/k)²,   P(y > x) = E_s exp(−(x/u)^k eˢ)
/// ```
fn positive(parts: &[(f64, Family, &Prediction)], tail: f64) -> Observation {
    let mean: f64 = parts.iter().map(|(share, _, at)| share * at.mean).sum();
    // The spread of log y given s, and what E y² is relative to its value without doubt about s.
    let noise = |family: Family| match family.hazard_shape() {
        Some(shape) => 1.0 / shape,
        None => family.noise_sd().unwrap_or(1.0),
    };
    let variance = |family: Family, at: &Prediction| match family.hazard_shape() {
        Some(shape) => {
            let v = (at.predictor_sd / shape).powi(2);
            let gammas = special::ln_gamma(1.0 + 2.0 / shape) - 2.0 * special::ln_gamma(1.0 + 1.0 / shape);
            at.mean * at.mean * (v + gammas).exp_m1()
        }
        None => {
            let v = at.predictor_sd * at.predictor_sd;
            at.mean * at.mean * (v.exp_m1() + v.exp() * noise(family).powi(2))
        }
    };
    let about = |&(share, family, at): &(f64, Family, &Prediction)| {
        share * (variance(family, at) + (at.mean - mean).powi(2))
    };
    let above = |log: f64| -> f64 {
        let of = |&(share, family, at): &(f64, Family, &Prediction)| {
            let spread = at.predictor_sd;
            if let (Some(shape), Some(unit)) = (family.hazard_shape(), family.time_unit()) {
                // No event before x: a count of 0.
                let location = at.predictor + shape * (log - unit.ln());
                return share * Rate { location, spread }.up_to(0.0);
            }
            let shape = family.gamma_shape().unwrap_or(1.0);
            // −s has the law of the predictor of a count's rate.
            let rate = Rate { location: log + shape.ln() - at.predictor, spread };
            share * rate.up_to(shape - 1.0)
        };
        parts.iter().map(of).sum()
    };
    let middle = |f: &dyn Fn(Family, &Prediction) -> f64| -> f64 {
        parts.iter().map(|(share, family, at)| share * f(*family, at)).sum()
    };
    let log_mean = |family: Family, at: &Prediction| super::response(family, at.predictor).ln();
    let slope = |family: Family| family.hazard_shape().map_or(1.0, |shape| 1.0 / shape);
    let step = middle(&|family, at| (slope(family) * at.predictor_sd).hypot(noise(family))).max(1e-6);
    let start = middle(&log_mean);
    let quantile = |level: f64| {
        // A bracket that doubles, then halves.
        let end = |sign: f64| {
            let (mut at, mut length) = (start, step);
            while sign * (above(at) - (1.0 - level)) > 0.0 && length < 1e6 {
                (at, length) = (at + sign * length, 2.0 * length);
            }
            at
        };
        let (mut below, mut beyond) = (end(-1.0), end(1.0));
        while beyond - below > 1e-9 * (1.0 + below.abs()) {
            let middle = 0.5 * (below + beyond);
            if above(middle) > 1.0 - level { below = middle } else { beyond = middle }
        }
        (0.5 * (below + beyond)).exp()
    };
    let sd = parts.iter().map(about).sum::<f64>().sqrt();
    Observation { sd, low: quantile(tail), high: quantile(1.0 - tail) }
}

/// A count with gamma rates, or a mixture of some: shares, families and predictions.
/// ```text
/// E y² − E y = (E eˢ)² e^v(1 + σ²),    P(y ≤ k) = E_s I_x(r, k + 1),   x = r/(r + eˢ),   s ~ N(μ, v)
/// ```
fn counts(parts: &[(f64, Family, &Prediction)], tail: f64) -> Observation {
    let mean: f64 = parts.iter().map(|(share, _, at)| share * at.mean).sum();
    let square = |&(share, family, at): &(f64, Family, &Prediction)| {
        let (v, noise) = (at.predictor_sd * at.predictor_sd, family.noise_sd().unwrap_or(0.0));
        share * (at.mean + at.mean * at.mean * v.exp() * (1.0 + noise * noise))
    };
    let variance = parts.iter().map(square).sum::<f64>() - mean * mean;
    let up_to = |k: f64| -> f64 {
        let of = |&(share, family, at): &(f64, Family, &Prediction)| {
            let r = family.count_shape().unwrap_or(1.0);
            let (step, last) = (0.25, (REACH / 0.25) as i32);
            let term = |i: i32| {
                let u = step * f64::from(i);
                // log(x/(1 − x)) = log r − s.
                let odds = r.ln() - at.predictor - at.predictor_sd * u;
                special::normal_density(u) * special::beta_lower(r, k + 1.0, odds)
            };
            share * step * (-last..=last).map(term).sum::<f64>()
        };
        parts.iter().map(of).sum()
    };
    let [low, high] = [tail, 1.0 - tail].map(|level| least_count(mean, level, up_to));
    Observation { sd: variance.max(0.0).sqrt(), low, high }
}

/// The smallest count whose cumulative probability reaches `level`; infinite if no double does. The search begins at `guess`.
fn least_count(guess: f64, level: f64, up_to: impl Fn(f64) -> f64) -> f64 {
    if up_to(0.0) >= level {
        return 0.0;
    }
    let (mut below, mut above) = (0.0f64, guess.max(1.0).floor());
    while up_to(above) < level {
        (below, above) = (above, 2.0 * above);
        if !above.is_finite() {
            return f64::INFINITY;
        }
    }
    loop {
        let middle = (0.5 * below + 0.5 * above).floor();
        if middle <= below || middle >= above {
            return above;
        }
        if up_to(middle) < level { below = middle } else { above = middle }
    }
}

/// A count whose rate is e^s, s ~ N(location, spread²).
struct Rate {
    location: f64,
    spread: f64,
}

/// Beyond this many standard deviations a Gaussian contributes nothing in double precision.
const REACH: f64 = 8.5;

impl Rate {
    /// P(y ≤ k).
    fn up_to(&self, k: f64) -> f64 {
        // The logarithm of a gamma variable of shape below 1 falls as fast on the right as that of shape 1.
        let (shape, width) = (k + 1.0, (k + 1.0).max(1.0).sqrt().recip());
        if width < 1e-7 {
            // L is Gaussian to double precision, and its density cannot be computed for so large a shape.
            special::normal_cdf((shape.ln() - self.location) / self.spread.hypot(width))
        } else if self.spread < width {
            self.over_predictors(shape)
        } else {
            self.over_gammas(shape, width)
        }
    }

    /// E_s Q(k+1, eˢ) by the trapezoidal rule, in steps of a quarter of the deviation of s.
    fn over_predictors(&self, shape: f64) -> f64 {
        let (step, last) = (0.25, (REACH / 0.25) as i32);
        let term = |i: i32| {
            let u = step * f64::from(i);
            special::normal_density(u) * upper(shape, (self.location + self.spread * u).exp())
        };
        step * (-last..=last).map(term).sum::<f64>()
    }

    /// E_L Φ((L − μ)/σ), in steps of a quarter of the deviation of L = log G, whose density is aD(a, eˡ) at l. Its
    /// left tail falls only like e^{al}.
    fn over_gammas(&self, shape: f64, width: f64) -> f64 {
        let step = 0.25 * width;
        let (first, last) = (-((35.0 / shape + 10.0 * width) / step) as i32, (9.0 * width / step) as i32);
        let term = |i: i32| {
            let t = step * f64::from(i);
            let density = shape * special::ln_poisson(shape, shape * t.exp()).exp();
            density * special::normal_cdf((shape.ln() + t - self.location) / self.spread)
        };
        step * (first..=last).map(term).sum::<f64>()
    }

    /// The smallest count whose cumulative probability reaches `level`; infinite if no double does.
    fn quantile(&self, level: f64) -> f64 {
        least_count(self.location.exp(), level, |k| self.up_to(k))
    }
}

/// Q(a, x). For a ≥ 10⁵ by Wilson and Hilferty's cube root, to within 10⁻⁷: the series would take 10√a operations.
fn upper(a: f64, x: f64) -> f64 {
    if a < 1e5 {
        return special::gamma_upper(a, x);
    }
    special::normal_cdf(3.0 * a.sqrt() * (1.0 - (9.0 * a).recip() - (x / a).cbrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::Seed;
    use crate::base::gaussian::Gaussian;
    use crate::glm::design::Design;
    use crate::glm::predict::responses;

    /// P(y ≤ k) by brute force: fine steps over s, probabilities added up.
    fn slow(rate: &Rate, k: u32) -> f64 {
        let (step, mut total) = (1e-3, 0.0);
        for i in -9000..=9000 {
            let u = step * f64::from(i);
            let lambda = (rate.location + rate.spread * u).exp();
            let (mut term, mut sum) = ((-lambda).exp(), 0.0);
            for j in 0..=k {
                sum += term;
                term *= lambda / f64::from(j + 1);
            }
            total += step * special::normal_density(u) * sum;
        }
        total
    }

    #[test]
    fn both_integrals_are_the_probability_of_a_count() {
        for (location, spread) in [(0.3, 0.05), (1.2, 0.4), (-1.0, 1.5), (2.5, 0.2), (3.0, 1e-9), (0.0, 3.0)]
        {
            let rate = Rate { location, spread };
            for k in [0u32, 1, 3, 12, 40] {
                let (found, expected) = (rate.up_to(f64::from(k)), slow(&rate, k));
                assert!((found - expected).abs() < 1e-9, "{location} {spread} {k}: {found} and {expected}");
            }
        }
        // Where both integrals are accurate, they agree.
        let rate = Rate { location: 4.0, spread: 0.1 };
        let (a, b) = (rate.over_predictors(60.0), rate.over_gammas(60.0, 60f64.sqrt().recip()));
        assert!((a - b).abs() < 1e-10, "{a} and {b}");
        for i in -40..=40 {
            let (a, x) = (1e5, 1e5 + 50.0 * f64::from(i));
            assert!((upper(a, x) - special::gamma_upper(a, x)).abs() < 1e-7, "{x}");
        }
        // Neighbouring methods agree where one takes over from the other.
        let at = |location: f64, spread, k: f64| Rate { location, spread }.up_to(k);
        for spread in [2e-8, 2e-7, 1e-3] {
            let (below, above) = (at(32.0, spread, 9.9e13), at(32.0, spread, 1.01e14));
            assert!(below <= above, "{spread}: {below} and {above}");
        }
    }

    #[test]
    fn a_quantile_is_the_least_count_that_holds_its_level() {
        for (location, spread) in [(0.3, 0.05), (1.2, 0.4), (-3.0, 1.5), (5.0, 0.2), (30.0, 0.1), (2.0, 0.0)]
        {
            let rate = Rate { location, spread };
            for level in [0.025, 0.05, 0.5, 0.95, 0.975] {
                let k = rate.quantile(level);
                assert!(rate.up_to(k) >= level, "{location} {spread} {level}");
                assert!(k == 0.0 || k > 1e12 || rate.up_to(k - 1.0) < level, "{location} {spread} {level}");
            }
        }
        // A rate of 10¹³ ± 10 %: its counts are the rate's own quantiles.
        let (large, z) = (Rate { location: 30.0, spread: 0.1 }, special::upper_quantile(0.05));
        assert!((large.quantile(0.95).ln() - (30.0 + 0.1 * z)).abs() < 1e-9);
        assert!(Rate { location: 800.0, spread: 0.1 }.quantile(0.95).is_infinite());
    }

    #[test]
    fn the_deviation_of_a_count_is_that_of_its_probabilities() {
        let (rate, most) = (Rate { location: 0.4, spread: 0.6 }, 200);
        let below = |k: i32| if k < 0 { 0.0 } else { rate.up_to(f64::from(k)) };
        let moment =
            |power| -> f64 { (0..most).map(|k| f64::from(k).powi(power) * (below(k) - below(k - 1))).sum() };
        let at = Prediction {
            predictor: rate.location,
            predictor_sd: rate.spread,
            mean: (rate.location + 0.5 * rate.spread * rate.spread).exp(),
            low: 0.0,
            high: 1.0,
        };
        let found = observation(Family::Poisson, &at, 0.05).sd;
        assert!((moment(1) - at.mean).abs() < 1e-6);
        assert!((found - (moment(2) - moment(1).powi(2)).sqrt()).abs() < 1e-4, "{found}");
    }

    /// E y² = E(1 + σ²)e^{2s}, by a sum over s; and a gamma response without doubt about s has the quantiles of its law.
    #[test]
    fn the_deviation_of_a_positive_response_is_that_of_its_law() {
        let (location, spread, noise_sd) = (0.4, 0.3, 0.7);
        let at = |spread: f64| Prediction {
            predictor: location,
            predictor_sd: spread,
            mean: (location + 0.5 * spread * spread).exp(),
            low: 0.0,
            high: 1.0,
        };
        let step = 1e-3;
        let square: f64 = (-9000..=9000)
            .map(|i| {
                let u = step * f64::from(i);
                step * special::normal_density(u) * (2.0 * (location + spread * u)).exp()
            })
            .sum();
        let expected = (square * (1.0 + noise_sd * noise_sd) - at(spread).mean.powi(2)).sqrt();
        let found = observation(Family::Gamma { noise_sd }, &at(spread), 0.05).sd;
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        let narrow = observation(Family::Exponential, &at(1e-9), 0.05);
        let mean = location.exp();
        assert!((narrow.low / (-mean * 0.95f64.ln()) - 1.0).abs() < 1e-6, "{narrow:?}");
        assert!((narrow.high / (-mean * 0.05f64.ln()) - 1.0).abs() < 1e-6, "{narrow:?}");
        // A mixture of a law with itself is that law; of two noises, it has the mean of their tails.
        let gamma = |noise_sd: f64| Family::Gamma { noise_sd };
        let twice = [(0.3, gamma(0.7), vec![at(spread)]), (0.7, gamma(0.7), vec![at(spread)])];
        let found = observations_mixture(&twice, 0.9).unwrap().unwrap()[0];
        let one = observation(gamma(0.7), &at(spread), 0.05);
        assert!((found.sd - one.sd).abs() < 1e-12 && (found.high / one.high - 1.0).abs() < 1e-8);
        let mixed = [(0.5, gamma(0.2), vec![at(1e-9)]), (0.5, gamma(1.0), vec![at(1e-9)])];
        let found = observations_mixture(&mixed, 0.9).unwrap().unwrap()[0];
        let above = |x: f64| 0.5 * special::gamma_upper(25.0, 25.0 * x / mean) + 0.5 * (-x / mean).exp();
        assert!((above(found.high) - 0.05).abs() < 1e-6 && (above(found.low) - 0.95).abs() < 1e-6);
        let other = [(1.0, Family::Poisson, vec![at(spread)])];
        assert!(observations_mixture(&other, 0.9).unwrap().is_none());
    }

    #[test]
    fn deviations_and_intervals_are_those_of_draws() {
        let design = Design::dense(3, 2, &[1.0, 0.5, 1.0, -2.0, 1.0, 0.0]).unwrap();
        let q = Gaussian::new(&[0.3, -0.6], &[0.5, -0.2, 0.4]).unwrap();
        let (rows, draws) = (Rows::new(&design), 40_000);
        let families = [
            Family::Gaussian { noise_sd: 0.7 },
            Family::Bernoulli,
            Family::Probit,
            Family::Cloglog,
            Family::Poisson,
            Family::Gamma { noise_sd: 0.4 },
            Family::Gamma { noise_sd: 1.4 },
            Family::Exponential,
        ];
        for family in families {
            let found = observations(family, &q, &rows, 0.9).unwrap();
            let drawn = responses(family, &q, &rows, draws, Seed(7)).unwrap();
            for (n, at) in found.iter().enumerate() {
                let values = drawn.iter().skip(n).step_by(3);
                let inside = values.clone().filter(|&&y| at.low <= y && y <= at.high).count();
                let share = inside as f64 / draws as f64;
                // Five standard errors: a false alarm in 2·10⁶, here for 24 rows.
                assert!(share > 0.9 - 5.0 * (0.09 / draws as f64).sqrt(), "{family:?} {n}: {share}");
                let positive = matches!(family, Family::Gamma { .. } | Family::Exponential);
                assert!(
                    !positive || share < 0.9 + 5.0 * (0.09 / draws as f64).sqrt(),
                    "{family:?} {n}: {share}"
                );
                // Those of rates have heavy tails, and their averages converge slowly.
                if family != Family::Poisson && !positive {
                    let mean = values.clone().sum::<f64>() / draws as f64;
                    let sd = (values.map(|y| (y - mean).powi(2)).sum::<f64>() / draws as f64).sqrt();
                    // More than ten standard errors.
                    assert!((sd / at.sd - 1.0).abs() < 0.05, "{family:?} {n}: {sd} and {}", at.sd);
                }
                // The interval of the mean alone, a planted mistake, is too narrow for a response.
                let mean = &predict(family, &q, &rows, 0.9).unwrap()[n];
                assert!(at.low <= mean.low && (at.high >= mean.high || at.high >= 1.0), "{family:?} {n}");
            }
        }
        let several = Rows { trials: Some(&[1.0, 2.0, 1.0]), ..rows };
        assert!(observations(Family::Binomial, &q, &several, 0.9).is_err());
        assert!(observations(Family::Poisson, &q, &rows, 1.0).is_err());
    }
}
