//! How well a row's response is predicted: its log likelihood at a predictor, its predictive density under a normal predictor, and the
//! probability of responses up to it.
//!
//! A row of weight w has the likelihood p(y|s)ʷ, as in the posterior. With s ~ N(μ, σ²) and W, φ, c of [`crate::target::Glm`],
//! ```text
//! log ∫ p(y|s)ʷ N(s; μ, σ²) ds = −c − ½ log 2πσ² + log ∫ e^{−h(s)} ds,   h(s) = Wφ(s) + (s−μ)²/2σ²
//! gaussian, θ = 1/noise²:        −c − ½ log(1 + Wθσ²) − ½Wθ(y−μ)²/(1 + Wθσ²)
//! ```
//! h is convex, h'' ≥ 1/σ², so e^{−h} has one peak and falls to e^{−40} of it within 9σ on either side. The trapezoidal rule between
//! those ends is refined until it stands still.

use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::base::special;
use crate::glm::family::Form;
use crate::glm::predict::response;
use crate::glm::rows::{GivenRow, Rows};
use crate::glm::{Family, Glm};
use provi_kernels::Cloglog;

/// How far h rises from its least value to the ends of the integral: e^{−40} is nothing in double precision.
const RISE: f64 = 40.0;
/// Intervals of the first rule, and of the last one.
const INTERVALS: [usize; 2] = [32, 1 << 14];
/// A predictor whose deviation is a smaller part of its size is taken for known.
const NARROW: f64 = 1e-10;
/// A normal variable beyond this many standard deviations contributes nothing in double precision.
const REACH: f64 = 8.5;
/// A number this near to a whole one, relative to its size, is one that was divided and multiplied again.
const WHOLE: f64 = 1e-9;

/// The likelihood of one row as a function of its predictor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLikelihood {
    family: Family,
    response: f64,
    /// The factor of φ: the user's weight times the trials.
    weight: f64,
    /// The part of −log p that does not depend on the predictor.
    constant: f64,
    trials: f64,
    /// log(t/u) of a time to an event, or a count, and the user's weight, of families that are coded anew for each noise.
    given: Option<GivenRow>,
}

impl Rows {
    /// The likelihood of a row.
    pub(crate) fn likelihood_of(&self, row: usize) -> RowLikelihood {
        let (family, response, weight) = (self.family, self.response[row], self.weights[row]);
        let (trials, given) = (self.trials().map(|trials| trials[row]), self.given_of(row));
        let constant = match (trials, given) {
            (Some(n), _) => -weight / n * super::rows::ln_choose(n, (response * n).round())[0],
            (None, Some(given)) => given.weight * given.constant(family)[0],
            (None, None) => weight * family.constant(response),
        };
        RowLikelihood { family, response, weight, constant, trials: trials.unwrap_or(1.0), given }
    }
}

impl RowLikelihood {
    /// Whether the row says nothing.
    pub(crate) fn is_void(&self) -> bool {
        self.weight <= 0.0
    }

    /// The same response under a family that differs in its noise or its gaps, and by how much its predictor differs from that under this one.
    pub(crate) fn with_family(self, family: Family) -> Result<(Self, f64)> {
        let before = self.family;
        if std::mem::discriminant(&before) != std::mem::discriminant(&family) {
            return Err(Error::OtherFamily { found: before.name(), expected: family.name() });
        }
        let Some(given) = self.given else {
            return Ok((
                Self { family, constant: self.weight * family.constant(self.response), ..self },
                0.0,
            ));
        };
        let constant = given.weight * given.constant(family)[0];
        if let Some((response, moved)) = given.time_under(family, before) {
            return Ok((Self { family, constant, response, ..self }, moved));
        }
        if let (Some(gaps), Some(old)) = (family.gaps(), before.gaps()) {
            let [(response, shift), (_, old)] = [gaps, old].map(|gaps| gaps.code(given.value));
            return Ok((Self { family, constant, response, ..self }, shift - old));
        }
        let GivenRow { value, weight, .. } = given;
        let [r, old] = [family, before].map(|family| family.count_shape().unwrap_or(1.0));
        let (response, weight) = (value / (value + r), weight * (value + r));
        Ok((Self { family, constant, response, weight, ..self }, old.ln() - r.ln()))
    }

    /// log p(y|s), times the weight.
    pub(crate) fn log_density(&self, s: f64) -> f64 {
        if self.is_void() {
            return 0.0;
        }
        -self.weight * self.family.derivatives(s, self.response)[0] - self.constant
    }

    /// log E p(y|s)ʷ for s ~ N(mean, deviation²).
    pub(crate) fn log_predictive(&self, mean: f64, deviation: f64) -> f64 {
        // So narrow a predictor is known.
        if self.is_void() || deviation <= NARROW * (1.0 + mean.abs()) {
            return self.log_density(mean);
        }
        let (y, w, variance) = (self.response, self.weight, deviation * deviation);
        if let Form::Quadratic { precision } = self.family.form(y) {
            let spread = 1.0 + w * precision * variance;
            return -self.constant - 0.5 * spread.ln() - 0.5 * w * precision * (y - mean).powi(2) / spread;
        }
        let h = |s: f64| w * self.family.derivatives(s, y)[0] + 0.5 * ((s - mean) / deviation).powi(2);
        let peak = self.peak(mean, variance);
        let least = h(peak);
        let end = |sign: f64| {
            let (mut inside, mut outside) = (0.0, (2.0 * RISE).sqrt() * deviation);
            for _ in 0..60 {
                let middle = 0.5 * (inside + outside);
                // A NaN is an overflow, and outside.
                if h(peak + sign * middle) - least < RISE { inside = middle } else { outside = middle }
            }
            peak + sign * outside
        };
        let f = |s: f64| (least - h(s)).exp();
        let log = trapezoid(|s| [f(s)], end(-1.0), end(1.0), 1e-14)[0].ln();
        -self.constant - least + log - (deviation * (2.0 * std::f64::consts::PI).sqrt()).ln()
    }

    /// Where h is least: between μ and μ − σ²Wφ'(μ), since φ' increases.
    fn peak(&self, mean: f64, variance: f64) -> f64 {
        let slope = |s: f64| {
            let [_, first, second] = self.family.derivatives(s, self.response);
            [self.weight * first + (s - mean) / variance, self.weight * second + 1.0 / variance]
        };
        let mut other = mean - variance * self.weight * self.family.derivatives(mean, self.response)[1];
        if !other.is_finite() {
            // A rate that overflows: go down until the slope turns.
            let mut step = variance.sqrt();
            while slope(mean - step)[0].total_cmp(&0.0).is_gt() && step < 1e6 * (1.0 + mean.abs()) {
                step *= 2.0;
            }
            other = mean - step;
        }
        let (mut low, mut high) = if other < mean { (other, mean) } else { (mean, other) };
        let mut at = mean;
        for i in 0..400 {
            let [first, second] = slope(at);
            if first > 0.0 {
                high = at;
            } else {
                low = at;
            }
            let newton = at - first / second;
            // Newton's step where it stays inside the bracket, which NaN does not. On an exponential it is one unit long from anywhere, so
            // every fourth step is a bisection.
            let inside = newton > low && newton < high;
            if inside && (newton - at).abs() <= 1e-12 * (1.0 + at.abs()) {
                return newton;
            }
            at = if inside && i % 4 < 3 { newton } else { 0.5 * (low + high) };
        }
        at
    }

    /// P(new < y) and P(new ≤ y) at a known predictor; the same number for a response with a density. A time that was censored stands for
    /// all later ones, an interval for all times in it, and all are beyond the row's entry. A weight changes nothing, unless it turns a rate into a
    /// count ([`RowLikelihood::whole_count`]).
    pub(crate) fn cumulative(&self, s: f64) -> [f64; 2] {
        let mean = response(self.family, s);
        match self.family {
            Family::Weibull { .. } | Family::ExponentialTime { .. } => {
                let passed = |part: f64| -(-part * s.exp()).exp_m1();
                let Cloglog { success, rate: before, .. } = Cloglog::of(self.response);
                match self.response {
                    _ if self.family.is_coarse() && success > 0.0 => [passed(before), passed(before + 1.0)],
                    y if y.abs() > 0.5 => [passed(1.0); 2],
                    _ => [passed(1.0), 1.0],
                }
            }
            Family::NegativeBinomial { .. } => {
                let (k, r) =
                    (self.given.map_or(0.0, |given| given.value), self.family.count_shape().unwrap_or(1.0));
                [k - 1.0, k].map(|k| negative_binomial_up_to(k, r, s))
            }
            Family::Gaussian { noise_sd } => [special::normal_cdf((self.response - s) / noise_sd); 2],
            Family::Ordered { .. } => {
                // P(y > k) is the sigmoid of the predictor less the upper end of its category, P(y ≥ k) of that less the lower end.
                let half = if self.response < 0.0 { -0.5 * self.response } else { 0.0 };
                let below = if self.is_lowest() { 0.0 } else { special::sigmoid(-s - half) };
                let up_to = if self.is_highest() { 1.0 } else { special::sigmoid(half - s) };
                [below, up_to]
            }
            Family::Bernoulli | Family::Binomial | Family::Probit | Family::Cloglog => {
                let k = (self.response * self.trials).round();
                [binomial_up_to(k - 1.0, self.trials, mean), binomial_up_to(k, self.trials, mean)]
            }
            Family::Poisson => {
                let (k, mean) = self.whole_count(mean);
                [k, k + 1.0].map(|shape| if shape > 0.0 { special::gamma_upper(shape, mean) } else { 0.0 })
            }
            Family::Gamma { .. } | Family::Exponential => {
                let shape = self.family.gamma_shape().unwrap_or(1.0);
                [1.0 - special::gamma_upper(shape, shape * self.response / mean); 2]
            }
        }
    }

    /// Whether an ordered response is the first category.
    fn is_lowest(&self) -> bool {
        (0.0..0.5).contains(&self.response)
    }

    /// Whether it is the last one.
    fn is_highest(&self) -> bool {
        self.response > 0.5
    }

    /// The count of a Poisson row and its mean. A rate y whose weight w is its exposure stands for the count wy, of mean wμ: p(y|s)ʷ is that
    /// of wy up to a factor without s. It is taken for one where y is not whole and wy is.
    fn whole_count(&self, mean: f64) -> (f64, f64) {
        let count = self.response * self.weight;
        let is_whole = |x: f64| (x - x.round()).abs() <= WHOLE * (1.0 + x.abs());
        match !is_whole(self.response) && is_whole(count) {
            true => (count.round(), self.weight * mean),
            false => (self.response, mean),
        }
    }

    /// The expectation of [`RowLikelihood::cumulative`] for s ~ N(mean, deviation²).
    pub(crate) fn mean_cumulative(&self, mean: f64, deviation: f64) -> [f64; 2] {
        if deviation <= 0.0 {
            return self.cumulative(mean);
        }
        if let Family::Gaussian { noise_sd } = self.family {
            return [special::normal_cdf((self.response - mean) / noise_sd.hypot(deviation)); 2];
        }
        let at = |u: f64| {
            let density = special::normal_density(u);
            self.cumulative(mean + deviation * u).map(|p| density * p)
        };
        trapezoid(at, -REACH, REACH, 1e-10).map(|p| p.clamp(0.0, 1.0))
    }
}

/// ∫f over an interval at whose ends f vanishes, by the trapezoidal rule with twice as many nodes each time, until every component
/// changes by less than that part of it.
fn trapezoid<const N: usize>(f: impl Fn(f64) -> [f64; N], from: f64, to: f64, tolerance: f64) -> [f64; N] {
    let add = |sums: &mut [f64; N], x: f64| sums.iter_mut().zip(f(x)).for_each(|(sum, f)| *sum += f);
    let mut sums = [0.0; N];
    let mut intervals = INTERVALS[0];
    (1..intervals).for_each(|i| add(&mut sums, from + (to - from) * i as f64 / intervals as f64));
    let mut found = sums.map(|sum| sum * (to - from) / intervals as f64);
    while intervals < INTERVALS[1] {
        let step = (to - from) / intervals as f64;
        (0..intervals).for_each(|i| add(&mut sums, from + step * (i as f64 + 0.5)));
        intervals *= 2;
        let finer = sums.map(|sum| sum * (to - from) / intervals as f64);
        let still = finer.iter().zip(&found).all(|(a, b)| (a - b).abs() <= tolerance * a.abs().max(1e-300));
        found = finer;
        if still {
            break;
        }
    }
    found
}

/// P(X ≤ k) for counts of mean re^s and shape r, whose trials succeed with probability sigmoid(s): I_{1−sigmoid(s)}(r, k + 1).
fn negative_binomial_up_to(k: f64, r: f64, s: f64) -> f64 {
    if k < 0.0 { 0.0 } else { special::beta_lower(r, k + 1.0, -s) }
}

/// P(X ≤ k), X the number of successes among n trials of probability p: I_{1−p}(n − k, k + 1).
fn binomial_up_to(k: f64, n: f64, p: f64) -> f64 {
    match k {
        k if k < 0.0 => 0.0,
        k if k >= n || p <= 0.0 => 1.0,
        _ if p >= 1.0 => 0.0,
        k => special::beta_lower(n - k, k + 1.0, (-p).ln_1p() - p.ln()),
    }
}

impl Glm {
    /// log p(y_n | z) of every row n at each point z, a row of `points`: as many rows as points, as many columns as the model has rows. A
    /// row of weight w has w times its log likelihood. `families`: if the noise or the gaps between cut points were drawn with the coefficients, the
    /// family with those of each point.
    ///
    /// ```
    /// use provi::{Design, Matrix, target::{Glm, Prior}};
    ///
    /// let design = Design::dense(2, 1, &[1.0, -1.0])?;
    /// let model = Glm::logistic(design, &[1.0, 0.0], Prior::scale(1.0)?)?;
    /// let found = model.log_likelihoods(&Matrix::zeros(3, 1), None)?;
    /// assert!(found.rows() == 3 && found.entries().iter().all(|l| (l - 0.5f64.ln()).abs() < 1e-15));
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn log_likelihoods(&self, points: &Matrix, families: Option<&[Family]>) -> Result<Matrix> {
        let (count, rows) = (points.rows(), self.rows.len());
        let mut out = Matrix::zeros(count, rows);
        for n in 0..rows {
            crate::base::stop::check()?;
            for (k, log) in self.log_likelihoods_of(n, points, families)?.into_iter().enumerate() {
                out.row_mut(k)[n] = log;
            }
        }
        Ok(out)
    }

    /// One column of [`Glm::log_likelihoods`].
    pub(crate) fn log_likelihoods_of(
        &self,
        row: usize,
        points: &Matrix,
        families: Option<&[Family]>,
    ) -> Result<Vec<f64>> {
        let (predictors, law) = (self.predictors_of(row, points)?, self.rows.likelihood_of(row));
        match families {
            None => Ok(predictors.iter().map(|&s| law.log_density(s)).collect()),
            Some(families) if families.len() != points.rows() => {
                let (found, expected) = (families.len(), points.rows());
                Err(Error::Shape { what: "families of the draws", found, expected })
            }
            Some(families) => {
                let at = |(&s, &family): (&f64, &Family)| {
                    let (law, shift) = law.with_family(family)?;
                    Ok(law.log_density(s + shift))
                };
                predictors.iter().zip(families).map(at).collect()
            }
        }
    }

    /// The predictor of a row at each point.
    pub(crate) fn predictors_of(&self, row: usize, points: &Matrix) -> Result<Vec<f64>> {
        let d = self.design().columns();
        if points.columns() != d {
            return Err(Error::Shape { what: "a draw", found: points.columns(), expected: d });
        }
        let mut predictors = vec![0.0; points.rows()];
        self.rows.predictors(row..row + 1, points.entries(), &mut predictors);
        Ok(predictors)
    }

    /// The same model without a row: its weight is 0.
    pub(crate) fn without(&self, row: usize) -> Result<Self> {
        self.clone().with_rows(|rows| Ok(rows.without(row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::Gaps;
    use crate::glm::Prior;
    use crate::glm::design::Design;

    fn law(family: Family, y: f64, w: f64) -> RowLikelihood {
        let rows = Rows::new(family, Design::dense(1, 1, &[1.0]).unwrap(), &[y]).unwrap();
        rows.with_weights(&[w]).unwrap().likelihood_of(0)
    }

    fn trials(family: Family, k: f64, n: f64) -> RowLikelihood {
        let design = Design::dense(1, 1, &[1.0]).unwrap();
        Rows::successes(family, design, &[k], &[n]).unwrap().likelihood_of(0)
    }

    const ORDERED: Family = Family::Ordered { gaps: Gaps::SOME };

    fn all() -> Vec<RowLikelihood> {
        vec![
            law(Family::Gaussian { noise_sd: 0.7 }, 1.3, 1.0),
            law(Family::Bernoulli, 1.0, 1.0),
            law(Family::Bernoulli, 0.0, 2.5),
            law(Family::Probit, 1.0, 1.0),
            law(Family::Cloglog, 0.0, 1.0),
            trials(Family::Binomial, 7.0, 20.0),
            trials(Family::Cloglog, 3.0, 9.0),
            law(Family::Poisson, 4.0, 1.0),
            law(Family::Poisson, 0.0, 0.5),
            law(Family::Poisson, 900.0, 1.0),
            law(Family::Gamma { noise_sd: 0.4 }, 2.0, 1.0),
            law(Family::Exponential, 0.3, 1.0),
            law(Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: false }, 0.8, 1.0),
            law(Family::NegativeBinomial { noise_sd: 0.7 }, 3.0, 1.0),
            law(ORDERED, 1.0, 1.0),
            law(ORDERED, 3.0, 1.7),
            law(ORDERED, 4.0, 1.0),
        ]
    }

    /// A plain sum of 400 001 terms over ±12 standard deviations.
    #[test]
    fn predictive_densities_are_the_integral() {
        for law in all() {
            for (mean, deviation) in [(0.3f64, 0.2f64), (-1.0, 1.5), (2.0, 0.01), (6.5, 0.5)] {
                let (step, mut sum) = (6e-5, 0.0);
                for i in -200_000..=200_000 {
                    let u = step * f64::from(i);
                    sum += step * special::normal_density(u) * law.log_density(mean + deviation * u).exp();
                }
                let found = law.log_predictive(mean, deviation);
                // Otherwise most of it lies beyond the sum.
                if sum > 1e-30 {
                    assert!(
                        (found - sum.ln()).abs() < 1e-11 * (1.0 + found.abs()),
                        "{law:?} {mean} {deviation}"
                    );
                }
                assert!(found.is_finite());
            }
            assert!((law.log_predictive(0.4, 0.0) - law.log_density(0.4)).abs() < 1e-15);
        }
    }

    #[test]
    fn probabilities_of_counts_add_up_to_the_cumulative_ones() {
        let design = || Design::dense(1, 1, &[1.0]).unwrap();
        for (mean, deviation) in [(0.4, 0.3), (-1.2, 1.1)] {
            let (mut poisson, mut binomial, mut negative) = (0.0, 0.0, 0.0);
            for k in 0..=20 {
                let k = f64::from(k);
                let row = law(Family::Poisson, k, 1.0);
                let [below, up_to] = row.mean_cumulative(mean, deviation);
                assert!((below - poisson).abs() < 1e-9);
                poisson += row.log_predictive(mean, deviation).exp();
                assert!((up_to - poisson).abs() < 1e-9);
                let row = Rows::binomial(design(), &[k], &[20.0]).unwrap().likelihood_of(0);
                let [below, up_to] = row.mean_cumulative(mean, deviation);
                assert!((below - binomial).abs() < 1e-9);
                binomial += row.log_predictive(mean, deviation).exp();
                assert!((up_to - binomial).abs() < 1e-9);
                let row = law(Family::NegativeBinomial { noise_sd: 0.7 }, k, 1.0);
                let [below, up_to] = row.mean_cumulative(mean, deviation);
                assert!((below - negative).abs() < 1e-9);
                negative += row.log_predictive(mean, deviation).exp();
                assert!((up_to - negative).abs() < 1e-9);
            }
            assert!((binomial - 1.0).abs() < 1e-10);
            let mut ordered = 0.0;
            for k in 1..=4 {
                let row = law(ORDERED, f64::from(k), 1.0);
                // The predictor of the row is that of the model, less the middle of its category.
                let (_, shift) = Gaps::SOME.code(f64::from(k));
                let [below, up_to] = row.mean_cumulative(mean + shift, deviation);
                assert!((below - ordered).abs() < 1e-9);
                ordered += row.log_predictive(mean + shift, deviation).exp();
                assert!((up_to - ordered).abs() < 1e-9);
            }
            assert!((ordered - 1.0).abs() < 1e-10);
        }
        // A density is the slope of its distribution function.
        for family in
            [Family::Gamma { noise_sd: 0.4 }, Family::Exponential, Family::Gaussian { noise_sd: 0.5 }]
        {
            let up_to = |y: f64| law(family, y, 1.0).mean_cumulative(0.2, 0.6)[1];
            let slope = (up_to(1.5 + 1e-4) - up_to(1.5 - 1e-4)) / 2e-4;
            assert!((slope.ln() - law(family, 1.5, 1.0).log_predictive(0.2, 0.6)).abs() < 1e-6, "{family:?}");
        }
    }

    /// A rate of 2.5 with an exposure of 2 is a count of 5; a whole count with a weight stays a count.
    #[test]
    fn a_rate_with_its_exposure_as_weight_is_a_count() {
        let rows = Rows::poisson_rates(Design::dense(1, 1, &[1.0]).unwrap(), &[2.5]).unwrap();
        let rate = rows.with_weights(&[2.0]).unwrap().likelihood_of(0).mean_cumulative(0.4, 0.3);
        let count = law(Family::Poisson, 5.0, 1.0).mean_cumulative(0.4 + 2f64.ln(), 0.3);
        assert!((0..2).all(|i| (rate[i] - count[i]).abs() < 1e-12) && rate[1] - rate[0] > 0.05);
        let bits = |weight: f64| law(Family::Poisson, 5.0, weight).cumulative(0.4).map(f64::to_bits);
        assert_eq!(bits(2.0), bits(1.0));
    }

    /// Neither large counts nor extreme predictors take long or end in nothing.
    #[test]
    fn far_away_values_have_finite_answers() {
        let design = || Design::dense(1, 1, &[1.0]).unwrap();
        let many = Rows::binomial(design(), &[4e11], &[1e12]).unwrap().likelihood_of(0);
        let at = (0.4f64 / 0.6).ln();
        let [below, up_to] = many.cumulative(at);
        assert!((below - 0.5).abs() < 1e-3 && up_to >= below, "{below} {up_to}");
        let rates = law(Family::NegativeBinomial { noise_sd: 1e-3 }, 1e7, 1.0);
        // r = 10⁶: mean 10⁷ has the deviation √(10⁷ + 10⁸).
        let [_, up_to] = rates.cumulative(10f64.ln());
        let [_, above] =
            law(Family::NegativeBinomial { noise_sd: 1e-3 }, 1e7 + 10_488.0, 1.0).cumulative(10f64.ln());
        assert!((up_to - 0.5).abs() < 2e-3 && (above - 0.8413).abs() < 2e-3, "{up_to} {above}");
        let count = law(Family::Poisson, 3.0, 1.0);
        for (mean, deviation) in [(750.0, 1.0), (750.0, 200.0), (-750.0, 300.0), (0.4, 1e-13), (3e5, 1e-12)] {
            let found = count.log_predictive(mean, deviation);
            assert!(
                !found.is_nan() && (found.is_finite() || deviation < 1e-10),
                "{mean} {deviation}: {found}"
            );
        }
        let close = count.log_predictive(0.4, 1e-13) - count.log_density(0.4);
        assert!(close.abs() < 1e-12, "{close}");
    }

    #[test]
    fn rows_sum_to_the_log_density_of_the_data() {
        use crate::target::Target;
        let design = Design::dense(3, 2, &[1.0, 0.5, 1.0, -2.0, 1.0, 0.0]).unwrap();
        let flat = Prior::scale(3.0).unwrap();
        let models = [
            Glm::binomial(design.clone(), &[3.0, 0.0, 7.0], &[5.0, 2.0, 7.0], flat.clone()).unwrap(),
            Glm::poisson(design.clone(), &[3.0, 0.0, 7.0], flat.clone()).unwrap(),
            Glm::gamma(design.clone(), &[3.0, 0.2, 7.0], 0.6, flat.clone()).unwrap(),
            Glm::ordered(design.clone(), &[3.0, 1.0, 2.0], &[0.8], flat.clone()).unwrap(),
            Glm::new(
                Family::NegativeBinomial { noise_sd: 0.6 },
                design.clone(),
                &[3.0, 0.0, 7.0],
                flat.clone(),
            )
            .unwrap(),
            Glm::survival(
                Family::Weibull { noise_sd: 0.6, unit: 2.0, coarse: false },
                design,
                &[3.0, 0.2, 7.0],
                &[1.0, 0.0, 1.0],
                flat,
            )
            .unwrap(),
        ];
        for model in models {
            let model =
                model.with_offsets(&[0.1, 0.0, -0.2]).unwrap().with_weights(&[1.0, 2.0, 0.5]).unwrap();
            let z = [0.4, -0.3];
            let prior: f64 =
                z.iter().map(|z| -0.5 * z * z / 9.0 - (3.0 * (2.0 * std::f64::consts::PI).sqrt()).ln()).sum();
            let points = Matrix::new(1, 2, z.to_vec()).unwrap();
            let sum: f64 = model.log_likelihoods(&points, None).unwrap().entries().iter().sum();
            let whole = model.log_density(&z, &mut [0.0; 2]).unwrap();
            assert!(
                (sum + prior - whole).abs() < 1e-11,
                "{}: {} and {whole}",
                model.family().name(),
                sum + prior
            );
            let less = model.without(1).unwrap().log_density(&z, &mut [0.0; 2]).unwrap();
            let row = model.log_likelihoods_of(1, &points, None).unwrap()[0];
            assert!((less + row - whole).abs() < 1e-11);
            // The noise of a draw changes how some rows are coded.
            let other = match model.family().gaps() {
                Some(_) => Some(Family::Ordered { gaps: Gaps::new(&[1.3]).unwrap() }),
                None => model.family().with_noise_sd(0.9),
            };
            let Some(other) = other else { continue };
            let noisy: f64 = model.log_likelihoods(&points, Some(&[other])).unwrap().entries().iter().sum();
            let whole = model.with_family(other).unwrap().log_density(&z, &mut [0.0; 2]).unwrap();
            assert!((noisy + prior - whole).abs() < 1e-11, "{}", other.name());
        }
    }
}
