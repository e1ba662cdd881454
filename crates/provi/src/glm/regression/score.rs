//! How likely rows are at points, and where they lie in their laws.

use super::beta_binomial::{FAR, rising};
use super::{Likelihood, Regression, multinomial};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::base::special::{beta_lower, gamma_upper, sigmoid};

impl Regression {
    /// log p(y_n | z) of each row at each point, times its weight: a row for each point.
    pub fn log_likelihoods(&self, points: &Matrix) -> Result<Matrix> {
        let rows = self.design.rows();
        let mut out = Matrix::zeros(points.rows(), rows);
        for n in 0..rows {
            crate::base::stop::check()?;
            for (k, log) in self.log_likelihoods_of(n, points)?.into_iter().enumerate() {
                out.row_mut(k)[n] = log;
            }
        }
        Ok(out)
    }

    /// One column of [`Regression::log_likelihoods`].
    pub(crate) fn log_likelihoods_of(&self, n: usize, points: &Matrix) -> Result<Vec<f64>> {
        self.check_points(points)?;
        let mut etas = vec![0.0; self.likelihood.predictors()];
        let mut slopes = vec![0.0; self.likelihood.parameters().len()];
        let weight = self.weight(n);
        let one = |k: usize| {
            let further = self.predict_at(n, points.row(k), &mut etas);
            let value =
                self.likelihood.at(further).row(self.response[n], self.trial(n), &mut etas, &mut slopes);
            // A row of no weight says nothing, however unlikely it is.
            if weight > 0.0 { weight * (value + self.constants[n]) } else { 0.0 }
        };
        Ok((0..points.rows()).map(one).collect())
    }

    /// P(new < y_n) and P(new ≤ y_n) at each point. Levels without an order are taken in that of their numbers: any order will do for a
    /// value that is uniform if the model is right.
    pub(crate) fn cumulative_of(&self, n: usize, points: &Matrix) -> Result<Vec<[f64; 2]>> {
        self.check_points(points)?;
        let mut etas = vec![0.0; self.likelihood.predictors()];
        let (y, trials) = (self.response[n], self.trial(n));
        let one = |k: usize| {
            let further = self.predict_at(n, points.row(k), &mut etas);
            cumulative(self.likelihood, (y, trials), &mut etas, further)
        };
        Ok((0..points.rows()).map(one).collect())
    }

    fn check_points(&self, points: &Matrix) -> Result<()> {
        let expected = self.coefficients() + self.likelihood.parameters().len();
        match points.columns() == expected {
            true => Ok(()),
            false => Err(Error::Shape { what: "points", found: points.columns(), expected }),
        }
    }

    /// The linear predictors of a row at a point, into `etas`; returns the further coordinates.
    fn predict_at<'z>(&self, n: usize, z: &'z [f64], etas: &mut [f64]) -> &'z [f64] {
        let (coefficients, further) = z.split_at(self.coefficients());
        for (eta, z) in etas.iter_mut().zip(coefficients.chunks_exact(self.design.columns())) {
            *eta = self.design.row_product(n, z) + self.offset(n);
        }
        further
    }
}

/// P(new < y) and P(new ≤ y).
fn cumulative(
    likelihood: Likelihood,
    (y, trials): (f64, f64),
    etas: &mut [f64],
    further: &[f64],
) -> [f64; 2] {
    match likelihood {
        Likelihood::Student { sd, degrees, .. } => {
            let [sd, degrees] = likelihood.noise(sd, degrees, further);
            [student_cdf((y - etas[0]) / sd, degrees); 2]
        }
        Likelihood::Multinomial { .. } => {
            multinomial::probabilities(etas);
            let base = 1.0 - etas.iter().sum::<f64>();
            let up_to = |level: f64| match level >= 1.0 {
                true => base + etas[..level as usize - 1].iter().sum::<f64>(),
                false => 0.0,
            };
            [up_to(y - 1.0), up_to(y)].map(|p| p.clamp(0.0, 1.0))
        }
        Likelihood::BetaBinomial => {
            let total = (-further[0].clamp(-FAR, FAR)).exp();
            let [a, b] = [etas[0], -etas[0]].map(|eta| (sigmoid(eta) * total).max(f64::MIN_POSITIVE));
            let below = tail_of_successes([a, b], trials, y);
            [below, tail_of_successes([a, b], trials, y + 1.0)]
        }
        Likelihood::ZeroInflatedPoisson => {
            let (share, mean) = (sigmoid(further[0]), etas[0].exp());
            // P(count < k) = Q(k, λ).
            let counts = |k: f64| if k > 0.0 { share + (1.0 - share) * gamma_upper(k, mean) } else { 0.0 };
            [counts(y), counts(y + 1.0)]
        }
    }
}

/// P(t ≤ x) for Student's t: half of I_{ν/(ν+x²)}(ν/2, ½) is the tail.
fn student_cdf(x: f64, degrees: f64) -> f64 {
    let odds = degrees.ln() - 2.0 * x.abs().ln();
    let tail = if odds == f64::INFINITY { 0.5 } else { 0.5 * beta_lower(0.5 * degrees, 0.5, odds) };
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// P(k < y) of a beta-binomial count, the sum of
/// ```text
/// P(k) = C(n, k) B(a + k, b + n − k)/B(a, b),   P(0) = (b)_n/(a + b)_n,   P(k+1)/P(k) = (n − k)(a + k)/((k + 1)(b + n − k − 1))
/// ```
/// with (a)_n = a(a+1)⋯(a+n−1). Cost: at most half of the trials.
fn tail_of_successes([a, b]: [f64; 2], trials: f64, y: f64) -> f64 {
    if y <= 0.0 {
        return 0.0;
    }
    if y > trials {
        return 1.0;
    }
    // Where the probability of the other end is larger, sums from there: 1 − P(n − k < n − y + 1).
    if y > 0.5 * (trials + 1.0) {
        return 1.0 - tail_of_successes([b, a], trials, trials - y + 1.0);
    }
    let mut log = rising(b, trials).0 - rising(a + b, trials).0;
    let mut sum = 0.0;
    for k in 0..y as u64 {
        sum += log.exp();
        let k = k as f64;
        log += ((trials - k) * (a + k) / ((k + 1.0) * (b + trials - k - 1.0))).ln();
    }
    sum.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::special::ln_gamma;

    /// Against the closed forms of ν = 1, 2, 3 and the normal law.
    #[test]
    fn a_distribution_function_of_t_is_the_closed_form() {
        use std::f64::consts::PI;
        for x in [-40.0, -3.0, -1.0, -0.2, 0.0, 1e-9, 0.7, 2.0, 11.0_f64] {
            let one = 0.5 + x.atan() / PI;
            let two = 0.5 + x / (2.0 * (2.0 + x * x).sqrt());
            let r = x / 3f64.sqrt();
            let three = 0.5 + (r / (1.0 + r * r) + r.atan()) / PI;
            for (degrees, expected) in [(1.0, one), (2.0, two), (3.0, three)] {
                let found = student_cdf(x, degrees);
                assert!((found - expected).abs() < 1e-12, "{x} {degrees}: {found} {expected}");
            }
            let normal = crate::base::special::normal_cdf(x);
            assert!((student_cdf(x, 1e9) - normal).abs() < 1e-7, "{x}");
        }
    }

    /// Sums of probabilities, counted from either end.
    #[test]
    fn a_distribution_function_of_counts_is_their_sum() {
        for ([a, b], n) in [([0.3, 2.0], 9.0), ([1.0, 1.0], 8.0), ([5.0, 0.1], 9.0), ([400.0, 900.0], 7.0)] {
            let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
            let choose = |k: f64| ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
            let mut sum = 0.0;
            for k in 0..=n as u32 {
                let k = f64::from(k);
                assert!((tail_of_successes([a, b], n, k) - sum).abs() < 1e-10, "{a} {b} {k}");
                sum += (choose(k) + ln_beta(a + k, b + n - k) - ln_beta(a, b)).exp();
            }
            assert!((sum - 1.0).abs() < 1e-10);
        }
        // Probabilities that hardly vary: P(k < 1) of four trials is 0.7⁴.
        let far = tail_of_successes([0.3e14, 0.7e14], 4.0, 1.0);
        assert!((far - 0.7f64.powi(4)).abs() < 1e-10, "{far}");
    }
}
