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
        let values_of_row = match likelihood {
            Likelihood::Multinomial { levels } => levels,
            _ => 1,
        };
        let mut etas = vec![0.0; predictors];
        let mut drawn = vec![Vec::with_capacity(DRAWS); values_of_row];
        let mut of_row = |n: usize| -> Vec<Prediction> {
            drawn.iter_mut().for_each(Vec::clear);
            let mut linear = vec![Vec::with_capacity(DRAWS); predictors];
            for k in 0..points.rows() {
                let (z, further) = points.row(k).split_at(own);
                self.predictors(n, z, &mut etas);
                linear.iter_mut().zip(&etas).for_each(|(to, eta)| to.push(*eta));
                match likelihood {
                    Likelihood::Multinomial { .. } => {
                        probabilities(&mut etas);
                        drawn[0].push((1.0 - etas.iter().sum::<f64>()).max(0.0));
                        drawn[1..].iter_mut().zip(&etas).for_each(|(to, p)| to.push(*p));
                    }
                    _ => drawn[0].push(sigmoid(-further[0]) * etas[0].exp()),
                }
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
            let mut free = likelihood.natural(further).into_iter();
            let sd = sd.or_else(|| free.next()).unwrap_or(f64::NAN);
            let degrees = degrees.or_else(|| free.next()).unwrap_or(f64::NAN);
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
