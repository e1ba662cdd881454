//! Predictions and draws of responses at new rows.

use super::Likelihood;
use super::multinomial::probabilities;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::{Matrix, packed_len};
use crate::base::scalar::Probability;
use crate::base::special::{gamma_from, log_gamma_from, normal_cdf, sigmoid};
use crate::glm::Family;
use crate::glm::design::Design;
use crate::glm::predict::{Prediction, Rows, observe, predict};

/// Draws of q behind means that have no closed form.
const DRAWS: usize = 4000;

/// Rows at which a regression predicts.
#[derive(Clone, Copy, Debug)]
pub struct NewRows<'a> {
    /// Their columns, those of one predictor.
    pub design: &'a Design,
    /// What is added to each linear predictor.
    pub offsets: Option<&'a [f64]>,
    /// The number of trials of each, for draws of successes; one if not given.
    pub trials: Option<&'a [f64]>,
}

impl Likelihood {
    /// σ and ν of Student's t, given or at the coordinates of those that are not.
    pub(super) fn noise(self, sd: Option<f64>, degrees: Option<f64>, further: &[f64]) -> [f64; 2] {
        let mut free = self.natural(further).into_iter();
        let sd = sd.or_else(|| free.next()).unwrap_or(f64::NAN);
        [sd, degrees.or_else(|| free.next()).unwrap_or(f64::NAN)]
    }

    /// Numbers that a mean response has: the probability of each level, or one.
    pub fn outcomes(self) -> usize {
        match self {
            Self::Multinomial { levels } => levels,
            _ => 1,
        }
    }

    /// The mean response at linear predictors and the coordinates of the further parameters, into [`Likelihood::outcomes`] numbers:
    /// ```text
    /// student η,   beta-binomial sigmoid(η),   zero-inflated Poisson (1 − π)e^η,   multinomial P_k = e^{η_k}/(1 + Σ_j e^{η_j}), η₁ = 0
    /// ```
    /// Student's t with at most one degree of freedom has no mean: there it is the centre.
    pub fn means(self, etas: &[f64], further: &[f64], out: &mut [f64]) {
        match self {
            Self::Student { .. } => out[0] = etas[0],
            Self::BetaBinomial => out[0] = sigmoid(etas[0]),
            Self::ZeroInflatedPoisson => out[0] = sigmoid(-further[0]) * etas[0].exp(),
            Self::Multinomial { .. } => {
                out[1..].copy_from_slice(etas);
                let log_sum = probabilities(&mut out[1..]);
                out[0] = (-log_sum).exp();
            }
        }
    }

    /// The derivative of [`Likelihood::means`] if the predictors change at these rates r:
    /// ```text
    /// student r,   beta-binomial p(1 − p)r,   zero-inflated Poisson (1 − π)e^η r,   multinomial P_k(r_k − Σ_j P_j r_j), r₁ = 0
    /// ```
    pub fn slopes(self, etas: &[f64], rates: &[f64], further: &[f64], out: &mut [f64]) {
        match self {
            Self::Student { .. } => out[0] = rates[0],
            Self::BetaBinomial => out[0] = sigmoid(etas[0]) * sigmoid(-etas[0]) * rates[0],
            Self::ZeroInflatedPoisson => out[0] = sigmoid(-further[0]) * etas[0].exp() * rates[0],
            Self::Multinomial { .. } => {
                self.means(etas, further, out);
                let mean: f64 = out[1..].iter().zip(rates).map(|(p, r)| p * r).sum();
                out[0] *= -mean;
                out[1..].iter_mut().zip(rates).for_each(|(p, r)| *p *= r - mean);
            }
        }
    }
}

impl NewRows<'_> {
    fn check(&self, likelihood: Likelihood, dim: usize) -> Result<()> {
        let expected = likelihood.predictors() * self.design.columns() + likelihood.parameters().len();
        if dim != expected {
            return Err(Error::Shape { what: "coordinates of the fit", found: dim, expected });
        }
        for (what, values) in [("offsets", self.offsets), ("trials", self.trials)] {
            if let Some(found) = values.map(<[f64]>::len).filter(|found| *found != self.design.rows()) {
                return Err(Error::Shape { what, found, expected: self.design.rows() });
            }
        }
        Ok(())
    }

    /// The linear predictors of a row at a point.
    fn predictors(&self, n: usize, z: &[f64], out: &mut [f64]) {
        let offset = self.offsets.map_or(0.0, |offsets| offsets[n]);
        for (eta, z) in out.iter_mut().zip(z.chunks_exact(self.design.columns())) {
            *eta = self.design.row_product(n, z) + offset;
        }
    }

    /// The mean response of each row under q with its interval: one prediction a row, or that of the probability of each level.
    ///
    /// That of a Student model is the linear predictor's, that of successes an integral over it; others are averages over 4000 draws of q, a
    /// pure function of the seed, with a standard error of about 1/60 of their spread.
    pub fn predict(
        &self,
        likelihood: Likelihood,
        q: &Gaussian<Triangular>,
        level: f64,
        seed: Seed,
    ) -> Result<Vec<Vec<Prediction>>> {
        self.check(likelihood, q.dim())?;
        let level = Probability::new("level", level)?.get();
        let family = match likelihood {
            Likelihood::Student { .. } => Family::Gaussian { noise_sd: 1.0 },
            Likelihood::BetaBinomial => Family::Binomial,
            Likelihood::Multinomial { .. } | Likelihood::ZeroInflatedPoisson => {
                return Ok(self.averaged(likelihood, q, level, seed));
            }
        };
        // The first coordinates of a Gaussian with a lower triangular factor have its first rows.
        let own = self.design.columns();
        let q = Gaussian::new(&q.mean()[..own], &q.factor()[..packed_len(own)])?;
        let rows = Rows { offsets: self.offsets, ..Rows::new(self.design) };
        Ok(predict(family, &q, &rows, level)?.into_iter().map(|one| vec![one]).collect())
    }

    fn averaged(
        &self,
        likelihood: Likelihood,
        q: &Gaussian<Triangular>,
        level: f64,
        seed: Seed,
    ) -> Vec<Vec<Prediction>> {
        let points = q.sample(DRAWS, seed);
        let predictors = likelihood.predictors();
        let own = predictors * self.design.columns();
        let values_of_row = likelihood.outcomes();
        let (mut etas, mut values) = (vec![0.0; predictors], vec![0.0; values_of_row]);
        let mut drawn = vec![Vec::with_capacity(DRAWS); values_of_row];
        let mut of_row = |n: usize| -> Vec<Prediction> {
            drawn.iter_mut().for_each(Vec::clear);
            let mut linear = vec![Vec::with_capacity(DRAWS); predictors];
            for k in 0..points.rows() {
                let (z, further) = points.row(k).split_at(own);
                self.predictors(n, z, &mut etas);
                linear.iter_mut().zip(&etas).for_each(|(to, eta)| to.push(*eta));
                likelihood.means(&etas, further, &mut values);
                drawn.iter_mut().zip(&values).for_each(|(to, value)| to.push(*value));
            }
            let one = |(k, values): (usize, &mut Vec<f64>)| {
                // That of the base level is 0.
                let own = (k + predictors).checked_sub(values_of_row).and_then(|k| linear.get(k));
                let [predictor, predictor_sd] = own.map_or([0.0; 2], |own| moments(own));
                let [mean, _] = moments(values);
                values.sort_by(f64::total_cmp);
                let [low, high] = [0.5 * (1.0 - level), 0.5 * (1.0 + level)].map(|p| quantile(values, p));
                Prediction { predictor, predictor_sd, mean, low, high }
            };
            drawn.iter_mut().enumerate().map(one).collect()
        };
        (0..self.design.rows()).map(&mut of_row).collect()
    }

    /// [`Likelihood::means`] of each row at one point: a row for each, a column for each outcome.
    pub fn means_at(&self, likelihood: Likelihood, z: &[f64]) -> Result<Matrix> {
        self.at(likelihood, z, |_, etas, further, out| likelihood.means(etas, further, out))
    }

    /// [`Likelihood::slopes`] of each row at one point, if its columns and offsets change at the rates of the row of `rates`.
    pub fn slopes_at(&self, likelihood: Likelihood, rates: &NewRows<'_>, z: &[f64]) -> Result<Matrix> {
        rates.check(likelihood, z.len())?;
        if rates.design.rows() != self.design.rows() {
            let (found, expected) = (rates.design.rows(), self.design.rows());
            return Err(Error::Shape { what: "rates of the rows", found, expected });
        }
        let mut moves = vec![0.0; likelihood.predictors()];
        self.at(likelihood, z, |n, etas, further, out| {
            rates.predictors(n, z, &mut moves);
            likelihood.slopes(etas, &moves, further, out);
        })
    }

    fn at(
        &self,
        likelihood: Likelihood,
        z: &[f64],
        mut write: impl FnMut(usize, &[f64], &[f64], &mut [f64]),
    ) -> Result<Matrix> {
        self.check(likelihood, z.len())?;
        let mut etas = vec![0.0; likelihood.predictors()];
        let mut out = Matrix::zeros(self.design.rows(), likelihood.outcomes());
        let further = &z[likelihood.predictors() * self.design.columns()..];
        for n in 0..self.design.rows() {
            self.predictors(n, z, &mut etas);
            write(n, &etas, further, out.row_mut(n));
        }
        Ok(out)
    }

    /// The mean response of each row and the mean of its variance over draws of the coordinates, for each of its outcomes:
    /// ```text
    /// successes np, np(1 − p)(1 + (n − 1)ρ);   zero-inflated counts (1 − π)λ, (1 − π)λ(1 + πλ);   levels P_k, P_k(1 − P_k)
    /// ```
    /// and for Student's t σ²ν/(ν − 2), which is infinite for two degrees of freedom or fewer.
    pub(crate) fn moments(&self, likelihood: Likelihood, points: &Matrix) -> Result<Vec<Vec<[f64; 2]>>> {
        self.check(likelihood, points.columns())?;
        let own = likelihood.predictors() * self.design.columns();
        let (mut etas, mut means) = (vec![0.0; likelihood.predictors()], vec![0.0; likelihood.outcomes()]);
        let mut out = vec![vec![[0.0; 2]; means.len()]; self.design.rows()];
        let count = points.rows().max(1) as f64;
        for k in 0..points.rows() {
            crate::base::stop::check()?;
            let (z, further) = points.row(k).split_at(own);
            for (n, sums) in out.iter_mut().enumerate() {
                self.predictors(n, z, &mut etas);
                likelihood.means(&etas, further, &mut means);
                let trials = self.trials.map_or(1.0, |trials| trials[n]);
                for (sum, &mean) in sums.iter_mut().zip(&means) {
                    let [mean, variance] = match likelihood {
                        Likelihood::Student { sd, degrees, .. } => {
                            let [sd, nu] = likelihood.noise(sd, degrees, further);
                            [mean, if nu > 2.0 { sd * sd * nu / (nu - 2.0) } else { f64::INFINITY }]
                        }
                        Likelihood::BetaBinomial => {
                            let spread = 1.0 + (trials - 1.0) * sigmoid(further[0]);
                            [trials * mean, trials * mean * (1.0 - mean) * spread]
                        }
                        Likelihood::ZeroInflatedPoisson => {
                            [mean, mean * (1.0 + sigmoid(further[0]) * etas[0].exp())]
                        }
                        Likelihood::Multinomial { .. } => [mean, mean * (1.0 - mean)],
                    };
                    *sum = [sum[0] + mean / count, sum[1] + variance / count];
                }
            }
        }
        Ok(out)
    }

    /// Draws of new responses at coordinates that were drawn before, a row for each row of `points`; `first` is the number of the first one
    /// in the list of all. Multinomial responses are the numbers 1, 2, … of their levels.
    pub fn responses(
        &self,
        likelihood: Likelihood,
        points: &Matrix,
        first: u64,
        seed: Seed,
    ) -> Result<Matrix> {
        self.check(likelihood, points.columns())?;
        let (rows, predictors) = (self.design.rows(), likelihood.predictors());
        let own = predictors * self.design.columns();
        let stream = Draws::new(seed, Purpose::Response);
        let mut etas = vec![0.0; predictors];
        let mut chances = [vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]];
        let mut out = Vec::with_capacity(points.rows() * rows);
        for (number, k) in (first..).zip(0..points.rows()) {
            // Draw 1 is that of groups elsewhere.
            chances.iter_mut().zip([0, 2, 3]).for_each(|(to, draw)| stream.fill(number, draw, to));
            let (z, further) = points.row(k).split_at(own);
            for n in 0..rows {
                self.predictors(n, z, &mut etas);
                let chance = [chances[0][n], chances[1][n], chances[2][n]];
                let trials = self.trials.map_or(1.0, |trials| trials[n]);
                out.push(draw(likelihood, &mut etas, further, trials, chance));
            }
        }
        Matrix::new(points.rows(), rows, out)
    }
}

/// A response from three standard normal numbers.
fn draw(
    likelihood: Likelihood,
    etas: &mut [f64],
    further: &[f64],
    trials: f64,
    [chance, second, third]: [f64; 3],
) -> f64 {
    match likelihood {
        Likelihood::Student { sd, degrees, .. } => {
            let [sd, degrees] = likelihood.noise(sd, degrees, further);
            etas[0] + sd * chance / gamma_from(0.5 * degrees, second).sqrt()
        }
        Likelihood::Multinomial { levels } => {
            probabilities(etas);
            let mut left = normal_cdf(chance) - (1.0 - etas.iter().sum::<f64>());
            for (k, p) in etas.iter().enumerate() {
                if left <= 0.0 {
                    return k as f64 + 1.0;
                }
                left -= p;
            }
            levels as f64
        }
        Likelihood::BetaBinomial => {
            // The logit of a beta number is η + log of the ratio of two gamma numbers over their means.
            let total = (-further[0]).exp();
            let part =
                |eta: f64, normal: f64| log_gamma_from((sigmoid(eta) * total).max(f64::MIN_POSITIVE), normal);
            let logit = etas[0] + part(etas[0], second) - part(-etas[0], third);
            observe(Family::Binomial, logit, trials, chance)
        }
        Likelihood::ZeroInflatedPoisson => match normal_cdf(second) < sigmoid(further[0]) {
            true => 0.0,
            false => observe(Family::Poisson, etas[0], 1.0, chance),
        },
    }
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    [mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()]
}

/// The quantile of sorted numbers, with a straight line between neighbours.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let at = level * (sorted.len() - 1) as f64;
    let (below, share) = (at.floor() as usize, at.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] * (1.0 - share) + sorted[above] * share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probabilities add up to 1 and means have their closed forms; slopes are differences of means.
    #[test]
    fn slopes_are_those_of_the_means() {
        let student = Likelihood::Student { sd: Some(1.0), degrees: Some(4.0), scale: 1.0 };
        let cases = [
            (student, vec![0.7], vec![-1.3], vec![]),
            (Likelihood::BetaBinomial, vec![0.7], vec![-1.3], vec![0.4]),
            (Likelihood::ZeroInflatedPoisson, vec![0.7], vec![-1.3], vec![0.4]),
            (Likelihood::Multinomial { levels: 3 }, vec![0.7, -2.0], vec![-1.3, 0.9], vec![]),
        ];
        for (likelihood, etas, rates, further) in &cases {
            let at = |step: f64| {
                let moved: Vec<f64> = etas.iter().zip(rates).map(|(eta, r)| eta + step * r).collect();
                let mut out = vec![0.0; likelihood.outcomes()];
                likelihood.means(&moved, further, &mut out);
                out
            };
            let mut slopes = vec![0.0; likelihood.outcomes()];
            likelihood.slopes(etas, rates, further, &mut slopes);
            for (k, slope) in slopes.iter().enumerate() {
                let difference = (at(1e-5)[k] - at(-1e-5)[k]) / 2e-5;
                assert!((slope - difference).abs() < 1e-8, "{likelihood:?} {k}: {slope} {difference}");
                assert!((0.9 * slope - difference).abs() > 1e-8, "{likelihood:?}: a constant that is wrong");
            }
        }
        let mut out = [0.0; 3];
        Likelihood::Multinomial { levels: 3 }.means(&[2f64.ln(), 5f64.ln()], &[], &mut out);
        assert!(out.iter().zip([0.125, 0.25, 0.625]).all(|(p, expected)| (p - expected).abs() < 1e-15));
        Likelihood::ZeroInflatedPoisson.means(&[6f64.ln()], &[3f64.ln()], &mut out[..1]);
        assert!((out[0] - 1.5).abs() < 1e-14, "a quarter of 6");
    }

    /// The mean and the variance of a law that is summed, and those of draws of Student's t.
    #[test]
    fn moments_are_those_of_the_law() {
        let design = Design::dense(1, 1, &[1.0]).unwrap();
        let new = NewRows { design: &design, offsets: None, trials: Some(&[7.0]) };
        let of = |likelihood, z: &[f64]| {
            new.moments(likelihood, &Matrix::new(1, z.len(), z.to_vec()).unwrap()).unwrap().remove(0)
        };
        let summed = |chance: &dyn Fn(f64) -> f64| {
            let moment =
                |power: i32| (0..60).map(|k| f64::from(k).powi(power) * chance(f64::from(k))).sum::<f64>();
            [moment(1), moment(2) - moment(1).powi(2)]
        };
        let ln_gamma = crate::base::special::ln_gamma;
        let (eta, t) = (0.3f64, -0.8f64);
        let total = (-t).exp();
        let [a, b] = [sigmoid(eta) * total, sigmoid(-eta) * total];
        let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
        let successes = summed(&|k| match k <= 7.0 {
            true => {
                let choose = ln_gamma(8.0) - ln_gamma(k + 1.0) - ln_gamma(8.0 - k);
                (choose + ln_beta(a + k, b + 7.0 - k) - ln_beta(a, b)).exp()
            }
            false => 0.0,
        });
        let zeros = sigmoid(t);
        let counts = summed(&|k| {
            let count = (1.0 - zeros) * (k * eta - eta.exp() - ln_gamma(k + 1.0)).exp();
            if k < 0.5 { zeros + count } else { count }
        });
        for (likelihood, expected) in
            [(Likelihood::BetaBinomial, successes), (Likelihood::ZeroInflatedPoisson, counts)]
        {
            let found = of(likelihood, &[eta, t])[0];
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() < 1e-9, "{likelihood:?} {found:?} {expected:?}");
            }
        }
        let student = Likelihood::Student { sd: Some(2.0), degrees: None, scale: 1.0 };
        assert!((of(student, &[eta, 4f64.ln()])[0][1] - 4.0 * 5.0 / 3.0).abs() < 1e-12);
        assert!(of(student, &[eta, -0.1])[0][1].is_infinite());
        let levels = of(Likelihood::Multinomial { levels: 2 }, &[eta]);
        assert!((levels[0][1] - sigmoid(eta) * sigmoid(-eta)).abs() < 1e-15);
    }
}
