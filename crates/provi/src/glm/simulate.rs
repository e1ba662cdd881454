//! Responses that a model itself gives, at the rows of its data.

use super::predict::{self, responses_at};
use super::rows::Rows;
use super::{Family, Glm, Time};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::target::Target;

impl Glm {
    /// The model with responses drawn at known coefficients: design, offsets, trials, weights, prior and noise stay. A pure function of
    /// (number, seed).
    ///
    /// Times to an event are censored as in the data: a row that was censored at c_n stays censored there, and one whose event was seen at
    /// the last time of the table, so that the censoring depends on no coefficient:
    /// ```text
    /// observed min(T_n, c_n),   event if T_n ≤ c_n,   T_n from the model, given that it is after the row's entry
    /// ```
    /// A row whose event lies in an interval has intervals of that width, one after the other, and the event lies in one of them.
    /// Weights stay, though they are no law of responses: a simulation with weights other than 1 follows no model.
    ///
    /// ```
    /// use provi::{Design, Seed, target::{Glm, Prior}};
    ///
    /// let design = Design::dense(3, 1, &[1.0, 1.0, 1.0])?;
    /// let model = Glm::poisson(design, &[4.0, 0.0, 2.0], Prior::scale(1.0)?)?;
    /// let other = model.replicated(&[1.0], 0, Seed(1))?;
    /// assert_eq!(other.observed_responses().len(), 3);
    /// assert_eq!(other.observed_responses(), model.replicated(&[1.0], 0, Seed(1))?.observed_responses());
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn replicated(&self, point: &[f64], number: u64, seed: Seed) -> Result<Self> {
        let (family, trials) = (self.family(), self.rows.trials());
        let rows = predict::Rows { offsets: self.offsets(), trials, ..predict::Rows::new(self.design()) };
        let point = Matrix::new(1, point.len(), point.to_vec())?;
        let drawn = responses_at(family, &point, &rows, number, seed)?;
        // A time beyond all numbers is censored.
        let is_time = family.time_unit().is_some();
        if let Some(row) = drawn.iter().position(|y| !(y.is_finite() || is_time && *y > 0.0)) {
            let needed = "a finite response: the linear predictor of this draw is too large";
            return Err(Error::Response { family: family.name(), row, value: drawn[row], needed });
        }
        let design = self.design().clone();
        let made = match (trials, family.time_unit()) {
            (Some(trials), _) => Rows::successes(family, design, &drawn, trials)?,
            (None, Some(_)) => Rows::times(family, design, &self.censored(&drawn))?,
            (None, None) => Rows::new(family, design, &drawn)?,
        };
        let mut model = Self::of_rows(made, self.prior().clone())?.with_names(self.names())?;
        if let Some(weights) = self.weights() {
            model = model.with_weights(&weights)?;
        }
        match self.offsets() {
            Some(offsets) => model.with_offsets(offsets),
            None => Ok(model),
        }
    }

    /// The model of some of its rows, in this order, with the same prior.
    pub fn part(&self, which: &[usize]) -> Result<Self> {
        if let Some(&index) = which.iter().find(|n| **n >= self.rows.len()) {
            return Err(Error::Index { what: "row", index, length: self.rows.len() });
        }
        self.clone().with_rows(|rows| {
            let design = rows.design().select(which)?;
            Ok(rows.part(which, design))
        })
    }

    /// What is known of drawn times under the censoring and with the entries of the data.
    fn censored(&self, drawn: &[f64]) -> Vec<Time> {
        let seen: Vec<Time> = (0..self.rows.len()).filter_map(|n| self.rows.time(n)).collect();
        let last = seen.iter().map(|time| time.last()).fold(0.0, f64::max);
        let shape = self.family().hazard_shape().unwrap_or(1.0);
        seen.iter()
            .zip(drawn)
            .map(|(time, t)| time.like(time.later(t.max(f64::MIN_POSITIVE), shape), last))
            .collect()
    }

    /// The responses as they were observed: labels, counts, successes among trials, numbers or times.
    pub fn observed_responses(&self) -> Vec<f64> {
        let trials = self.rows.trials();
        let label = |y: f64| match self.family() {
            Family::Bernoulli | Family::Probit | Family::Cloglog if trials.is_none() => y.max(0.0),
            _ => y,
        };
        (0..self.rows.len())
            .map(|n| label(self.rows.observed(n)) * trials.map_or(1.0, |trials| trials[n]))
            .collect()
    }

    /// Trials of each row, for a model of successes among trials.
    pub fn trials(&self) -> Option<&[f64]> {
        self.rows.trials()
    }

    /// Whether the event of each row was seen; all true for responses that are not times.
    pub fn events(&self) -> Vec<bool> {
        (0..self.rows.len()).map(|n| self.rows.is_event(n)).collect()
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the same bits are the claim
mod tests {
    use super::*;
    use crate::base::special::normal_cdf;
    use crate::glm::Prior;
    use crate::glm::design::Design;

    fn design(rows: usize) -> Design {
        Design::dense(rows, 1, &vec![1.0; rows]).unwrap()
    }

    /// The mean of many replicated responses against the one that the family states, at four standard errors.
    #[test]
    fn replicated_responses_have_the_law_of_the_family() {
        const ROWS: usize = 20_000;
        let prior = || Prior::scale(1.0).unwrap();
        let ones = vec![1.0; ROWS];
        let trials = vec![5.0; ROWS];
        let s = 0.4f64;
        let probability = 1.0 / (1.0 + (-s).exp());
        let linear = Glm::linear(design(ROWS), &ones, 2.0, prior()).unwrap();
        let models: Vec<(Glm, f64, f64)> = vec![
            (linear, s, 2.0),
            (Glm::logistic(design(ROWS), &ones, prior()).unwrap(), probability, 0.5),
            (Glm::probit(design(ROWS), &ones, prior()).unwrap(), normal_cdf(s), 0.5),
            (Glm::cloglog(design(ROWS), &ones, prior()).unwrap(), 1.0 - (-s.exp()).exp(), 0.5),
            (Glm::binomial(design(ROWS), &ones, &trials, prior()).unwrap(), 5.0 * probability, 1.2),
            (Glm::poisson(design(ROWS), &ones, prior()).unwrap(), s.exp(), 1.3),
            (Glm::gamma(design(ROWS), &ones, 0.5, prior()).unwrap(), s.exp(), 0.8),
            (Glm::exponential(design(ROWS), &ones, prior()).unwrap(), s.exp(), 1.5),
            (Glm::negative_binomial(design(ROWS), &ones, 0.5, prior()).unwrap(), s.exp(), 1.5),
        ];
        for (model, mean, sd) in models {
            let found = model.replicated(&[s], 3, Seed(8)).unwrap();
            assert_eq!(found.family(), model.family());
            let drawn = found.observed_responses();
            let average = drawn.iter().sum::<f64>() / ROWS as f64;
            let allowed = 4.0 * sd / (ROWS as f64).sqrt();
            assert!((average - mean).abs() < allowed, "{:?}: {average} {mean}", model.family());
        }
    }

    #[test]
    fn censored_rows_stay_censored_and_no_time_comes_after_the_last() {
        let times = [1.0, 4.0, 2.0, 3.0];
        let family = Family::ExponentialTime { unit: 1.0, coarse: false };
        let model =
            Glm::survival(family, design(4), &times, &[1.0, 1.0, 0.0, 1.0], Prior::scale(1.0).unwrap())
                .unwrap();
        for number in 0..200 {
            let other = model.replicated(&[-1.0], number, Seed(2)).unwrap();
            let (times, events) = (other.observed_responses(), other.events());
            assert!(times.iter().all(|t| *t <= 4.0 * (1.0 + 1e-12)) && times[2] <= 2.0 * (1.0 + 1e-12));
            let censored = |n: usize, end: f64| !events[n] && (times[n] - end).abs() < 1e-9;
            assert!((0..4).all(|n| events[n] || censored(n, if n == 2 { 2.0 } else { 4.0 })));
        }
    }

    #[test]
    fn offsets_weights_and_names_stay() {
        let model = Glm::poisson(design(3), &[1.0, 2.0, 3.0], Prior::scale(1.0).unwrap())
            .unwrap()
            .with_offsets(&[0.5, 0.0, -0.5])
            .unwrap()
            .with_names(vec!["rate".to_owned()])
            .unwrap();
        let other = model.replicated(&[0.2], 1, Seed(4)).unwrap();
        assert_eq!(other.offsets(), model.offsets());
        assert_eq!(other.names(), ["rate"]);
        assert!(model.replicated(&[1e4], 1, Seed(4)).is_err());
        assert!(model.replicated(&[1.0, 2.0], 1, Seed(4)).is_err());
        assert_eq!(model.observed_responses(), [1.0, 2.0, 3.0]);
        let part = model.part(&[2, 0]).unwrap();
        assert_eq!(part.observed_responses(), [3.0, 1.0]);
        assert_eq!(part.offsets(), Some(&[-0.5, 0.5][..]));
        assert!(model.part(&[3]).is_err());
    }
}
