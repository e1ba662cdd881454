//! Draws of scales and correlations from their priors.

use super::{FreeScales, Integration, ScalePrior, correlation};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::special::gamma_from;

impl ScalePrior {
    /// A draw of the scale, made of two independent standard normal numbers.
    /// ```text
    /// half_t: S|u|/√(χ²_ν/ν),   exponential: G_1/rate,   inv_gamma: S/G_shape
    /// ```
    /// with G_a a gamma variable of shape a.
    pub(crate) fn of_normals(&self, [u, v]: [f64; 2]) -> f64 {
        match *self {
            Self::HalfNormal { scale } => scale * u.abs(),
            Self::HalfStudentT { degrees, scale } => scale * u.abs() / gamma_from(0.5 * degrees, v).sqrt(),
            Self::Exponential { rate } => gamma_from(1.0, u) / rate,
            Self::LogNormal { center, sd } => (center + sd * u).exp(),
            Self::InverseGamma { shape, scale } => scale / (shape * gamma_from(shape, u)),
            Self::PenalisedComplexity { upper, probability } => {
                gamma_from(1.0, u) * upper / -probability.ln()
            }
        }
    }
}

impl Integration {
    /// A draw of the free scales from their priors, as [`FreeScales::model_at`] takes it: logarithms of scales, then coordinates of
    /// correlations. A pure function of (number, seed).
    ///
    /// Under the LKJ law a partial correlation z has the density (1 − z²)^{b−1}, so that (1 + z)/2 is Beta(b, b), and its coordinate
    /// artanh z = ½ log(G/G′) with two gamma variables of shape b.
    pub fn draw(&self, free: &FreeScales, number: u64, seed: Seed) -> Result<Vec<f64>> {
        let scales = free.scales();
        if self.priors.len() != scales || self.correlations.len() != free.correlated.len() {
            let (found, expected) = (self.priors.len(), scales);
            return Err(Error::Shape { what: "priors of scales", found, expected });
        }
        let mut normals = vec![0.0; 2 * free.parameters()];
        Draws::new(seed, Purpose::Prior).fill(number, 1, &mut normals);
        let mut pairs = normals.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        let mut next = || pairs.next().unwrap_or_default();
        let mut out: Vec<f64> = self.priors.iter().map(|prior| prior.of_normals(next()).ln()).collect();
        for (effects, shape) in free.effects().zip(&self.correlations) {
            for (_, j) in correlation::each_pair(effects) {
                let b = shape + 0.5 * (effects as f64 - 2.0 - j as f64);
                let [u, v] = next();
                out.push(0.5 * (gamma_from(b, u) / gamma_from(b, v)).ln());
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(s ≤ x) by the midpoint rule over the density of log s.
    fn below(prior: &ScalePrior, x: f64) -> f64 {
        let (low, high, steps) = (-16.0, x.ln(), 40_000);
        let width = (high - low) / f64::from(steps);
        (0..steps).map(|k| prior.of_logarithm(low + (f64::from(k) + 0.5) * width)[0].exp() * width).sum()
    }

    /// Three points of each law at 4.5 standard errors: a false alarm in all eighteen has probability below 2·10⁻⁴, at a fixed seed.
    #[test]
    fn draws_of_scales_have_their_density() {
        const COUNT: u64 = 20_000;
        let laws = [
            ScalePrior::HalfNormal { scale: 2.0 },
            ScalePrior::HalfStudentT { degrees: 3.0, scale: 0.7 },
            ScalePrior::Exponential { rate: 1.5 },
            ScalePrior::LogNormal { center: -0.5, sd: 0.8 },
            ScalePrior::InverseGamma { shape: 2.5, scale: 1.2 },
            ScalePrior::PenalisedComplexity { upper: 2.0, probability: 0.1 },
        ];
        let worst = |drawn: &ScalePrior, stated: &ScalePrior| {
            let free = FreeScales { noise_sd: Some(1.0), ..FreeScales::default() };
            let how = Integration::new(vec![*drawn]);
            let all: Vec<f64> = (0..COUNT).map(|k| how.draw(&free, k, Seed(11)).unwrap()[0].exp()).collect();
            [0.2, 0.8, 2.0].into_iter().fold(0.0f64, |worst, x| {
                let p = below(stated, x);
                let found = all.iter().filter(|s| **s <= x).count() as f64 / COUNT as f64;
                worst.max((found - p).abs() / (p * (1.0 - p) / COUNT as f64).sqrt())
            })
        };
        for law in &laws {
            assert!(worst(law, law) < 4.5, "{law:?}: {}", worst(law, law));
        }
        // Another degree of freedom is seen.
        assert!(worst(&laws[1], &ScalePrior::HalfStudentT { degrees: 4.0, scale: 0.8 }) > 4.5);
    }

    /// Under lkj(1) for two effects the correlation is uniform on (−1, 1); for lkj(2) its variance is 1/5.
    #[test]
    fn draws_of_correlations_have_the_lkj_law() {
        let sets = vec![(vec![0], 1.0), (vec![1], 1.0)];
        let free = FreeScales { shared: sets, correlated: vec![vec![0, 1]], ..FreeScales::default() };
        let variance = |shape: f64| {
            let prior = ScalePrior::Exponential { rate: 1.0 };
            let how = Integration { correlations: vec![shape], ..Integration::new(vec![prior; 2]) };
            let square = |k: u64| how.draw(&free, k, Seed(5)).unwrap()[2].tanh().powi(2);
            (0..20_000).map(square).sum::<f64>() / 20_000.0
        };
        // sd of z² is 0.298 for a uniform z: five standard errors.
        assert!((variance(1.0) - 1.0 / 3.0).abs() < 0.0106, "{}", variance(1.0));
        assert!((variance(2.0) - 0.2).abs() < 0.0106, "{}", variance(2.0));
        let other = Integration::new(vec![ScalePrior::Exponential { rate: 1.0 }]);
        assert!(other.draw(&free, 0, Seed(5)).is_err());
    }
}
