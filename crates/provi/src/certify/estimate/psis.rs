//! Pareto smoothed importance sampling.
//!
//! Vehtari, Simpson, Gelman, Yao and Gabry, *Pareto smoothed importance sampling*, JMLR 25(72), 2024; the
//! generalised Pareto fit is that of Zhang and Stephens, *Technometrics* 51(3), 2009. Decisions the papers
//! leave open follow ArviZ's `psislw`.

use crate::base::error::{Error, Result};

/// Smooths log ratios in place and returns k̂.
///
/// The M = ⌈min(S/5, 3√S)⌉ largest weights (those above the next one) are fitted by a generalised Pareto
/// distribution and replaced, in order, by its quantiles at (i − ½)/M, but by no more than the largest raw weight.
/// The scale does not change: the entries are still log p(z, x) − log q(z), not normalised.
///
/// −∞ is a weight of zero; NaN, +∞ and all −∞ are refused. If no tail can be fitted, k̂ = ∞ and nothing is
/// smoothed. That is so if the tail has fewer than five weights (S ≤ 20, or ties: *equal ratios have k̂ = ∞*,
/// although they are the best possible), or if the weights differ only by rounding. Cost: a sort, and about 30M +
/// M√M logarithms.
///
/// ```
/// let mut log_ratios: Vec<f64> = (1..=1000).map(|k| -0.4 * (k as f64 / 1001.0).ln()).collect();
/// let k = provi::estimate::psis(&mut log_ratios).unwrap();
/// assert!((k - 0.4).abs() < 0.1);
/// ```
pub fn psis(log_ratios: &mut [f64]) -> Result<f64> {
    let max = largest(log_ratios)?;
    let count = log_ratios.len();
    let tail = (count as f64 / 5.0).min(3.0 * (count as f64).sqrt()).ceil() as usize;
    if tail >= count {
        return Ok(f64::INFINITY);
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&i, &j| log_ratios[i].total_cmp(&log_ratios[j]));
    // From here on weights are relative to the largest; the cutoff is kept where its exponential is a normal
    // number.
    let cutoff = (log_ratios[order[count - tail - 1]] - max).max(f64::MIN_POSITIVE.ln());
    let begin = order.partition_point(|&i| log_ratios[i] - max <= cutoff);
    let tail = &order[begin..];
    if tail.len() < 5 {
        return Ok(f64::INFINITY);
    }
    let base = cutoff.exp();
    let excesses: Vec<f64> = tail.iter().map(|&i| (log_ratios[i] - max).exp() - base).collect();
    let Some(fit) = Pareto::fit(&excesses) else { return Ok(f64::INFINITY) };
    for (i, &k) in tail.iter().enumerate() {
        let probability = (i as f64 + 0.5) / tail.len() as f64;
        log_ratios[k] = max + (fit.quantile(probability) + base).ln().min(0.0);
    }
    Ok(fit.shape)
}

/// The largest log weight, which must be finite; no entry may be NaN or +∞.
pub(super) fn largest(log_weights: &[f64]) -> Result<f64> {
    if log_weights.is_empty() {
        return Err(Error::Empty { what: "log weights" });
    }
    let mut max = f64::NEG_INFINITY;
    for &value in log_weights {
        if value.is_nan() || value == f64::INFINITY {
            return Err(Error::OutOfRange { what: "log weight", value, needed: "a number below +∞" });
        }
        max = max.max(value);
    }
    if max == f64::NEG_INFINITY {
        let needed = "finite: every weight is zero";
        return Err(Error::OutOfRange { what: "the largest log weight", value: max, needed });
    }
    Ok(max)
}

/// P(X > x) = (1 + kx/σ)^(−1/k): heavy-tailed for k > 0, exponential for k = 0, bounded for k < 0.
#[derive(Clone, Copy, Debug)]
struct Pareto {
    shape: f64,
    scale: f64,
}

impl Pareto {
    /// The posterior mean of θ = −k/σ over a grid, under Zhang and Stephens' prior; x sorted and positive.
    ///
    /// Given θ, the likelihood is largest at k = mean log(1 − θx). k̂ is then shrunk towards ½ with the weight of
    /// ten observations: k ← (nk + 5)/(n + 10); σ keeps the earlier k. `None` if the numbers do not allow a fit.
    fn fit(x: &[f64]) -> Option<Self> {
        let n = x.len() as f64;
        let shape = |theta: f64| x.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / n;
        let grid = 30 + n.sqrt() as usize;
        let quartile = x[(n / 4.0 + 0.5) as usize - 1];
        let largest = x[x.len() - 1];
        let thetas: Vec<f64> = (0..grid)
            .map(|i| {
                let spread = 1.0 - (grid as f64 / (i as f64 + 0.5)).sqrt();
                spread / (3.0 * quartile) + largest.recip()
            })
            .collect();
        let log_likelihoods: Vec<f64> = thetas
            .iter()
            .map(|&theta| {
                let k = shape(theta);
                n * ((-theta / k).ln() - k - 1.0)
            })
            .collect();
        let (mut sum, mut total) = (0.0, 0.0);
        for (theta, l) in thetas.iter().zip(&log_likelihoods) {
            let weight = log_likelihoods.iter().map(|other| (other - l).exp()).sum::<f64>().recip();
            if weight >= 10.0 * f64::EPSILON {
                sum += weight * theta;
                total += weight;
            }
        }
        let theta = sum / total;
        let k = shape(theta);
        let (fitted, scale) = ((n * k + 5.0) / (n + 10.0), -k / theta);
        (fitted.is_finite() && scale > 0.0 && scale.is_finite()).then_some(Self { shape: fitted, scale })
    }

    /// σ((1−p)^(−k) − 1)/k.
    fn quantile(&self, p: f64) -> f64 {
        let exponential = -(-p).ln_1p();
        if self.shape.abs() < f64::EPSILON {
            self.scale * exponential
        } else {
            self.scale * (self.shape * exponential).exp_m1() / self.shape
        }
    }
}
