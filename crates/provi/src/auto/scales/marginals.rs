//! Marginals of the posterior from weighted draws of a mixture over scales: an estimate, where Gaussians at the nodes are too regular.
//!
//! With n_k draws z ~ q_k at node k, the weights of the posterior over nodes and coefficients are
//! ```text
//! log w = log(w_k/n_k) + log p(z, x | η_k) − log q_k(z) − log p(x | η_k)
//! ```
//! up to a constant, Pareto smoothed ([`psis`]). Skewness and tails that no Gaussian has are in them. Nothing here is a bound.

use super::{FreeScales, LinearPredictor, ScaleMixture, ScaleNode};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::special::{log_sum_exp, normal_cdf};
use crate::base::stop;
use crate::certify::estimate::{FEWEST_EFFECTIVE, MOSTLY_KEPT, Reliability, psis, weighted_draws};
use crate::certify::functional::between;
use crate::glm::sparse::NormalLaw;
use crate::target::Target;

/// Bisections of a quantile, from this many deviations around the mean.
const BISECTIONS: usize = 48;
const REACH: f64 = 12.0;

/// Marginals of the coefficients from weighted draws.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedMarginals {
    /// The mean of each coefficient.
    pub mean: Vec<f64>,
    /// Its standard deviation.
    pub sd: Vec<f64>,
    /// For each coefficient, the quantiles at [`WeightedMarginals::LEVELS`].
    pub quantiles: Vec<Vec<f64>>,
    /// The shape k̂ of the tail of the weights.
    pub pareto_k: f64,
    /// The number of draws.
    pub draws: usize,
    /// How many draws of equal weight they are worth.
    pub effective_draws: f64,
}

impl WeightedMarginals {
    /// The probabilities of the quantiles.
    pub const LEVELS: [f64; 27] = [
        0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.65, 0.7,
        0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.985, 0.99, 0.995, 0.9975,
    ];

    /// Whether they fit a mixture of this many coefficients.
    pub fn fits(&self, dim: usize) -> bool {
        let lengths = [self.mean.len(), self.sd.len(), self.quantiles.len()];
        let finite = self.quantiles.iter().flatten().chain(&self.mean).chain(&self.sd).all(|x| x.is_finite());
        finite
            && lengths.iter().all(|length| *length == dim)
            && self.quantiles.iter().all(|row| row.len() == Self::LEVELS.len() && row.is_sorted())
    }

    /// Level and quantile of coefficient i.
    pub(super) fn pairs(&self, i: usize) -> Vec<(f64, f64)> {
        self.quantiles
            .get(i)
            .map_or_else(Vec::new, |row| Self::LEVELS.into_iter().zip(row.iter().copied()).collect())
    }

    /// The quantile of coefficient i: between those that are kept, linear in the score of a normal law. `None` beyond them.
    pub fn quantile(&self, i: usize, level: f64) -> Option<f64> {
        between(&self.pairs(i), level)
    }
}

impl ScaleMixture {
    /// Weighs draws of every node, about `draws` in all, and keeps what they say of each coefficient, if their weights can be believed. Nothing
    /// changes if a stop is wanted. For gaussian models the mixture is the posterior already.
    pub fn weigh<M: LinearPredictor>(
        &mut self,
        free: &FreeScales,
        model: &M,
        draws: usize,
        seed: Seed,
    ) -> Result<()> {
        let places: Vec<(usize, &ScaleNode)> = self.nodes.iter().enumerate().collect();
        let of_node = |model: &M, (k, node): &(usize, &ScaleNode)| -> Result<Option<(Vec<f64>, Vec<f64>)>> {
            if stop::is_wanted() {
                return Ok(None);
            }
            let count = ((draws as f64 * node.weight).ceil() as usize).max(2);
            let model = free.model_at(model, &node.log_scales)?;
            let seed = Seed(seed.0.wrapping_add(1 + *k as u64));
            let (points, mut logs) =
                weighted_draws(&model as &dyn Target, &*node.gaussian.to_dense()?, seed, count)?;
            let known = (node.weight / count as f64).ln() - node.elbo - node.kl;
            logs.iter_mut().for_each(|x| *x += known);
            Ok(Some((points.entries().to_vec(), logs)))
        };
        let (mut points, mut shares, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for (found, node) in model.for_each(&places, &of_node).into_iter().zip(&self.nodes) {
            match found {
                Ok(Some((z, log))) => {
                    points.extend(z);
                    shares.extend(std::iter::repeat_n(node.weight / log.len() as f64, log.len()));
                    logs.extend(log);
                }
                Ok(None) | Err(Error::Stopped { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.marginals = marginals(self, &points, &shares, &logs);
        Ok(())
    }
}

/// What the weights w of the draws change in the mixture's own marginals. With b the draws' shares without weights, which the mixture's own law makes
/// superfluous, noise remains in the differences w − b alone:
/// ```text
/// P(z_i ≤ x) ≈ F(x) + Σ(w − b)1(z_i ≤ x),   E z_i ≈ m_i + Σ(w − b)z_i,   E(z_i − m_i)² ≈ s_i² + Σ(w − b)(z_i − m_i)²
/// ```
/// where F, m and s are the mixture's. `None` if the weights cannot be believed.
fn marginals(
    mixture: &ScaleMixture,
    points: &[f64],
    shares: &[f64],
    logs: &[f64],
) -> Option<WeightedMarginals> {
    let dim = mixture.dim();
    let draws = logs.len();
    let mut smooth = logs.to_vec();
    let pareto_k = psis(&mut smooth).ok()?;
    let smoothed = Reliability::new(pareto_k, draws).allows_weights();
    let mut weights = if smoothed { smooth } else { logs.to_vec() };
    let whole = log_sum_exp(&weights);
    weights.iter_mut().for_each(|x| *x = (*x - whole).exp());
    if !smoothed {
        // The tail is too heavy for a fit, and may carry little weight all the same: the largest weights are cut at √n times their mean (Ionides 2008).
        let most = 1.0 / (draws as f64).sqrt();
        weights.iter_mut().for_each(|x| *x = x.min(most));
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|x| *x /= total);
    }
    let effective_draws = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
    let kept = smoothed || effective_draws >= MOSTLY_KEPT * draws as f64;
    if !kept || effective_draws < FEWEST_EFFECTIVE {
        return None;
    }
    let differences: Vec<f64> = weights.iter().zip(shares).map(|(w, b)| w - b).collect();
    let (own_mean, own_sd) = (mixture.mean(), mixture.standard_deviations());
    let (mut mean, mut sd, mut quantiles) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..dim {
        let mut sorted: Vec<(f64, f64)> =
            differences.iter().enumerate().map(|(k, change)| (points[k * dim + i], *change)).collect();
        let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
            sorted.iter().map(|(z, change)| change * f(z - own_mean[i])).sum()
        };
        let (first, second) = (sum(&|x| x), sum(&|x| x * x));
        mean.push(own_mean[i] + first);
        sd.push((own_sd[i] * own_sd[i] + second - first * first).max(0.0).sqrt());
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let part = |node: &ScaleNode| (node.weight, node.gaussian.mean()[i], node.gaussian.deviation(i));
        let parts: Vec<(f64, f64, f64)> = mixture.nodes.iter().map(part).collect();
        quantiles.push(changed_quantiles(&parts, &sorted, (own_mean[i], own_sd[i])));
    }
    let found = WeightedMarginals { mean, sd, quantiles, pareto_k, draws, effective_draws };
    found.fits(dim).then_some(found)
}

/// The quantiles of a mixture of normal laws, whose distribution function changes by these steps, in ascending order; `about` are its mean and deviation.
fn changed_quantiles(parts: &[(f64, f64, f64)], steps: &[(f64, f64)], about: (f64, f64)) -> Vec<f64> {
    let mut sums = Vec::with_capacity(steps.len() + 1);
    sums.push(0.0);
    steps.iter().for_each(|(_, step)| sums.push(sums[sums.len() - 1] + step));
    let below = |x: f64| -> f64 {
        let own: f64 = parts.iter().map(|(share, mean, sd)| share * normal_cdf((x - mean) / sd)).sum();
        own + sums[steps.partition_point(|(z, _)| *z <= x)]
    };
    let (mean, sd) = about;
    let mut least = mean - REACH * sd;
    let quantile = |level: f64| {
        let (mut low, mut high) = (least, mean + REACH * sd);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            *(if below(middle) < level { &mut low } else { &mut high }) = middle;
        }
        // Steps may go down: a later quantile is never below an earlier one.
        least = least.max(0.5 * (low + high));
        least
    };
    WeightedMarginals::LEVELS.map(quantile).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::scales::{Integration, ScalePrior};
    use crate::base::special::upper_quantile;
    use crate::glm::design::Design;
    use crate::glm::{Glm, Prior};

    #[test]
    fn steps_change_the_quantiles_of_a_normal_law() {
        // A fifth of a normal law is moved to 1.
        let normal = |level: f64| -upper_quantile(level);
        let mut steps: Vec<(f64, f64)> =
            (0..2000).map(|k| (normal((f64::from(k) + 0.5) / 2000.0), -1e-4)).collect();
        steps.push((1.0, 0.2));
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let found = changed_quantiles(&[(1.0, 0.0, 1.0)], &steps, (0.0, 1.0));
        for (&level, value) in WeightedMarginals::LEVELS.iter().zip(&found) {
            let expected = match level {
                x if x < 0.8 * normal_cdf(1.0) => normal(x / 0.8),
                x if x < 0.8 * normal_cdf(1.0) + 0.2 => 1.0,
                x => normal((x - 0.2) / 0.8),
            };
            assert!((value - expected).abs() < 0.02, "{level}: {value} {expected}");
        }
        // A normal law is kept between the levels.
        let row = WeightedMarginals::LEVELS.map(|level| 2.0 - 3.0 * upper_quantile(level)).to_vec();
        let (mean, sd, draws) = (vec![2.0], vec![3.0], 10);
        let one =
            WeightedMarginals { mean, sd, quantiles: vec![row], pareto_k: 0.1, draws, effective_draws: 9.0 };
        assert!((one.quantile(0, 0.04).unwrap() - (2.0 - 3.0 * upper_quantile(0.04))).abs() < 1e-9);
        assert!(one.quantile(0, 1e-4).is_none() && one.fits(1) && !one.fits(2));
    }

    /// One coefficient whose rows are nearly all ones: the posterior is skewed, and the ends of the mixture's interval are not its own. 20 000 draws: an end has a
    /// standard error of 0.02 deviations, and may be off by five.
    #[test]
    fn weights_find_the_ends_of_a_skewed_posterior() {
        let (x, y) = ([1.0, 1.0, 1.5, 2.0, 0.8, 1.2], [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        let model = Glm::logistic(Design::dense(6, 1, &x).unwrap(), &y, Prior::scale(1.0).unwrap()).unwrap();
        let free = FreeScales { shared: vec![(vec![0], 1.0)], ..FreeScales::default() };
        let prior = ScalePrior::LogNormal { center: 0.3, sd: 0.3 };
        let mut found = free.integrate(&model, &Integration::new(vec![prior])).unwrap();
        found.weigh(&free, &model, 20_000, Seed(2)).unwrap();
        let weighed = found.marginals.clone().unwrap();

        let step = 0.01;
        let (mut mass, mut total) = (vec![0.0; 3000], 0.0);
        for i in 0..160 {
            let eta = -0.7 + 0.015 * f64::from(i);
            for (j, mass) in mass.iter_mut().enumerate() {
                let z = -12.0 + step * j as f64;
                let fit: f64 = x.iter().zip(&y).map(|(x, y)| x * z * y - (x * z).exp().ln_1p()).sum();
                let normal = -eta - 0.5 * (z / eta.exp()).powi(2);
                let own = (fit + normal + prior.of_logarithm(eta)[0]).exp();
                *mass += own;
                total += own;
            }
        }
        let place = |j: usize| -12.0 + step * j as f64;
        let mean: f64 = mass.iter().enumerate().map(|(j, m)| m / total * place(j)).sum();
        let sd =
            mass.iter().enumerate().map(|(j, m)| m / total * (place(j) - mean).powi(2)).sum::<f64>().sqrt();
        assert!(
            (weighed.mean[0] - mean).abs() < 0.05 * sd && (weighed.sd[0] / sd - 1.0).abs() < 0.03,
            "{mean} {sd} {} {:?}",
            weighed.effective_draws,
            (&weighed.mean, &weighed.sd, found.mean(), found.standard_deviations(), weighed.pareto_k)
        );
        let mut worst = [0f64; 2];
        for level in [0.025, 0.975] {
            let mut sum = 0.0;
            let exact = (0..mass.len()).find(|&j| {
                sum += mass[j] / total;
                sum >= level
            });
            let exact = place(exact.unwrap());
            let own = found.quantile(&[1.0], level).unwrap();
            worst[0] = worst[0].max((weighed.quantile(0, level).unwrap() - exact).abs() / sd);
            worst[1] = worst[1].max((own - exact).abs() / sd);
        }
        assert!(worst[0] < 0.1 && worst[1] > 2.0 * worst[0], "{worst:?}");
    }
}
