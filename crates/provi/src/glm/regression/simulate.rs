//! Coordinates of the prior, and responses that they give.

use super::{Likelihood, NewRows, Regression};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::Result;
use crate::base::matrix::Matrix;
use crate::base::special::{gamma_from, normal_cdf, normal_quantile};

impl Regression {
    /// The coordinates that the prior draws with this number; a pure function of the seed.
    ///
    /// Coefficients are those of [`Prior::sample`](crate::target::Prior::sample), one predictor after the other. Of the further parameters, from
    /// normal numbers u and v, each has the prior of [`Likelihood`]:
    /// ```text
    /// σ = s|u|/√g,  g = G(3/2; v)      ν = 20 G(2; s),  P(N > s) = Φ(u)P(ν > 1)      logit = log Φ(u)/Φ(−u)
    /// ```
    /// with G(a; v) the gamma number of mean 1 and shape a that has the rank of v.
    pub fn prior_draw(&self, number: u64, seed: Seed) -> Result<Vec<f64>> {
        let (columns, predictors) = (self.design.columns(), self.likelihood.predictors() as u64);
        let which = number * predictors..(number + 1) * predictors;
        let mut out = self.prior.sample(columns, which, seed)?.entries().to_vec();
        let mut normals = vec![0.0; 2 * self.likelihood.parameters().len()];
        // Draw 0 is that of the coefficients.
        Draws::new(seed, Purpose::Prior).fill(number, 1, &mut normals);
        out.extend(self.likelihood.prior_draw(&normals));
        Ok(out)
    }

    /// The same rows with responses of these coordinates; `number` is that of the draw.
    pub fn replicated(&self, point: &[f64], number: u64, seed: Seed) -> Result<Self> {
        let rows =
            NewRows { design: &self.design, offsets: self.offsets.as_deref(), trials: self.given_trials() };
        let point = Matrix::new(1, point.len(), point.to_vec())?;
        let response = rows.responses(self.likelihood, &point, number, seed)?.entries().to_vec();
        let trials = self.likelihood.check_response(&response, self.given_trials())?;
        let constants = self.likelihood.constants(&response, &trials);
        Ok(Self { response, trials, constants, ..self.clone() })
    }
}

impl Likelihood {
    /// Coordinates of the further parameters, from two normal numbers each.
    fn prior_draw(self, normals: &[f64]) -> Vec<f64> {
        let names = self.parameters().iter().zip(normals.as_chunks::<2>().0);
        let one = |(name, &[u, v]): (&&str, &[f64; 2])| match (*name, self) {
            ("sigma", Self::Student { scale, .. }) => (scale * u.abs() / gamma_from(1.5, v).sqrt()).ln(),
            ("nu", _) => {
                // P(ν > t) = (1 + t/10)e^{−t/10}.
                let tail = normal_cdf(u) * 1.1 * (-0.1f64).exp();
                let rank = if tail <= 0.5 { -normal_quantile(tail) } else { normal_quantile(1.0 - tail) };
                (20.0 * gamma_from(2.0, rank) - 1.0).max(f64::MIN_POSITIVE).ln()
            }
            _ => normal_cdf(u).ln() - normal_cdf(-u).ln(),
        };
        names.map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::target::Prior;

    fn regression(likelihood: Likelihood, response: &[f64]) -> Regression {
        let rows = response.len();
        let entries: Vec<f64> = (0..rows).flat_map(|n| [1.0, n as f64]).collect();
        let trials = vec![7.0; rows];
        let trials = (likelihood == Likelihood::BetaBinomial).then_some(&trials[..]);
        let design = Design::dense(rows, 2, &entries).unwrap();
        Regression::new(likelihood, design, response, trials, Prior::scale(2.0).unwrap()).unwrap()
    }

    /// 4000 draws of each coordinate against the integral of its density: sup|F_n − F|√n > 2.6 has probability 3e-6. A prior of σ that is a fifth
    /// wider is another one, and so is a ν without its cut.
    #[test]
    fn further_parameters_have_their_priors() {
        let student = Likelihood::Student { sd: None, degrees: None, scale: 3.0 };
        for (likelihood, place) in [(student, 0), (student, 1), (Likelihood::BetaBinomial, 0)] {
            let regression = regression(likelihood, &[1.0, 2.0, 3.0]);
            let count = 4000;
            let draw = |number| regression.prior_draw(number, Seed(7)).unwrap()[2 + place];
            let mut draws: Vec<f64> = (0..count).map(draw).collect();
            draws.sort_by(f64::total_cmp);
            let further = likelihood.parameters().len();
            // The other coordinate integrates to 1.
            let density = |x: f64| {
                let step = if further == 1 { 1.0 } else { 0.02 };
                let others = if further == 1 { 0..1 } else { -2000..1000 };
                let at = |k: i32| {
                    let other = f64::from(k) * step;
                    let point = if place == 0 { [x, other] } else { [other, x] };
                    likelihood.log_prior(&point[..further], &mut [0.0; 2][..further]).exp() * step
                };
                others.map(at).sum::<f64>()
            };
            let (mut mass, mut at, step) = (0.0, -40.0, 0.02);
            let mut worst = [0.0f64; 2];
            for (k, x) in draws.iter().enumerate() {
                while at < *x {
                    mass += step * density(at + 0.5 * step);
                    at += step;
                }
                let here = mass - (at - x) * density(*x);
                worst[0] = worst[0].max((here - (k as f64 + 0.5) / count as f64).abs());
                // The same law moved by log 1.2.
                let moved = mass - (at - x + 1.2f64.ln()) * density(*x);
                worst[1] = worst[1].max((moved - (k as f64 + 0.5) / count as f64).abs());
            }
            let [right, wrong] = worst.map(|far| far * (count as f64).sqrt());
            assert!(right < 2.6 && wrong > 2.6, "{likelihood:?} {place}: {right} {wrong}");
        }
    }

    /// Coefficients have the prior of one predictor, each predictor its own; responses are those of the law at the coordinates.
    #[test]
    fn draws_and_responses_are_those_of_the_model() {
        let levels = regression(Likelihood::Multinomial { levels: 3 }, &[1.0, 2.0, 3.0, 1.0]);
        let draws: Vec<Vec<f64>> = (0..2000).map(|k| levels.prior_draw(k, Seed(1)).unwrap()).collect();
        for j in 0..4 {
            let square = draws.iter().map(|z| z[j] * z[j]).sum::<f64>() / 2000.0;
            assert!((square / 4.0 - 1.0).abs() < 0.15, "{j}: {square}");
        }
        let product = draws.iter().map(|z| z[0] * z[2]).sum::<f64>() / 2000.0;
        assert!(product.abs() < 0.5, "{product}");
        // P(2) = e^{0.5}/(1 + e^{0.5} + e^{−1}) in every row.
        let point = [0.5, 0.0, -1.0, 0.0];
        let twos = (0..1000)
            .flat_map(|k| levels.replicated(&point, k, Seed(2)).unwrap().response)
            .filter(|y| *y > 1.5 && *y < 2.5);
        let share = twos.count() as f64 / 4000.0;
        let expected = 0.5f64.exp() / (1.0 + 0.5f64.exp() + (-1.0f64).exp());
        assert!((share - expected).abs() < 0.04, "{share} {expected}");
        // The constants are those of the new responses.
        let successes = regression(Likelihood::BetaBinomial, &[0.0, 3.0]);
        let again = successes.replicated(&[0.0, 0.1, -1.0], 3, Seed(4)).unwrap();
        let same = regression(Likelihood::BetaBinomial, &again.response);
        assert_ne!(again.response, successes.response);
        assert_eq!(again.constants, same.constants);
    }
}
