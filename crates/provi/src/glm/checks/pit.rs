//! Where each response lies in its predictive distribution, and a band that holds a whole uniform sample at once.
//!
//! If the model is known and right, the values u_i (randomised for discrete responses) are independent and uniform. With
//! N(z) = #{i : u_i ≤ z}, counts at places z_1 < … < z_K are a Markov chain, and
//! ```text
//! P(l_j ≤ N(z_j) ≤ h_j for all j) = n! eⁿ n^{−n} Σ Π_j Pois(k_j − k_{j−1}; n(z_j − z_{j−1})),   z_{K+1} = 1, k_{K+1} = n
//! ```
//! summed over l_j ≤ k_j ≤ h_j: n points of a Poisson process, given their number. The limits are binomial quantiles of tail γ/2 on either
//! side, and γ is the largest (by bisection) with which that probability is at least the level. Coefficients that were fitted to the
//! same rows keep the values nearer to uniform as a rule; then the band is no test of that level, but a picture.

use super::Bin;
use crate::base::special::{ln_gamma, upper_quantile};

/// The probability of the whole band.
const LEVEL: f64 = 0.95;
/// Intervals between the places where the band is stated.
const INTERVALS: usize = 50;
/// Bins of the histogram.
const BINS: usize = 10;
/// Fewer values have no band.
const LEAST: usize = 5;
/// Halvings of the interval that holds γ.
const HALVINGS: usize = 24;

/// A value of the predictive distribution function for each row, with a simultaneous band.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Pit {
    /// The values, between 0 and 1, in the order of the rows.
    pub values: Vec<f64>,
    /// Whether each row was predicted without itself.
    pub left_out: bool,
    /// The probability that independent uniform values stay in the whole band, at least.
    pub level: f64,
    /// The band of the share of values up to each place; empty below five values.
    pub band: Vec<BandPoint>,
    /// Counts in ten bins; their intervals hold all at once, each having a tenth of what the level leaves.
    pub bins: Vec<Bin>,
}

/// The band at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct BandPoint {
    /// The place.
    pub at: f64,
    /// The share of values up to it.
    pub share: f64,
    /// Lower end of the band.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Ordered values beside those of a normal sample, and the band on that scale.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NormalQuantiles {
    /// (normal quantile of its rank, normal quantile of its value, its place among the values), in order.
    pub points: Vec<(f64, f64, usize)>,
    /// The lower and the upper end of the band.
    pub band: [Vec<(f64, f64)>; 2],
}

impl Pit {
    /// The values with the band of independent uniforms; values that are not finite are left out.
    pub fn new(values: Vec<f64>, left_out: bool) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|u| u.is_finite()).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let n = values.len();
        let share = |at: f64| sorted.partition_point(|u| *u <= at) as f64 / n.max(1) as f64;
        let (places, limits) = simultaneous(n, LEVEL);
        let band = places.iter().zip(&limits).map(|(&at, &[low, high])| BandPoint {
            at,
            share: share(at),
            low: low as f64 / n as f64,
            high: high as f64 / n as f64,
        });
        Self { band: band.collect(), bins: bins(&sorted), level: LEVEL, left_out, values }
    }

    /// Places where the share of values leaves the band.
    pub fn outside(&self) -> usize {
        let rounding = 1e-12;
        self.band.iter().filter(|p| p.share < p.low - rounding || p.share > p.high + rounding).count()
    }

    /// Quantile residuals Φ⁻¹(u) beside normal quantiles. N(z) ≤ h says that the value of rank h + 1 is above z, so that the band of shares
    /// is one of quantiles.
    pub fn normal_quantiles(&self) -> NormalQuantiles {
        let n = self.values.len() as f64;
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&a, &b| self.values[a].total_cmp(&self.values[b]));
        let points = order
            .iter()
            .enumerate()
            .map(|(rank, &i)| (normal_quantile((rank as f64 + 0.5) / n), normal_quantile(self.values[i]), i));
        let inside = |p: f64| p > 0.0 && p < 1.0;
        let side = |pick: fn(&BandPoint) -> f64| {
            let all = self.band.iter().filter(|p| inside(pick(p)));
            all.map(|p| (normal_quantile(pick(p)), normal_quantile(p.at))).collect()
        };
        NormalQuantiles { points: points.collect(), band: [side(|p| p.high), side(|p| p.low)] }
    }
}

/// Φ⁻¹, within ±8.
fn normal_quantile(p: f64) -> f64 {
    let tail = upper_quantile(p.min(1.0 - p).max(1e-15));
    if p < 0.5 { -tail } else { tail }
}

/// Places, and the least and the largest count up to each, that hold all at once with a probability of at least `level`.
fn simultaneous(n: usize, level: f64) -> (Vec<f64>, Vec<[usize; 2]>) {
    if n < LEAST {
        return (Vec::new(), Vec::new());
    }
    let intervals = n.min(INTERVALS);
    let places: Vec<f64> = (1..intervals).map(|i| i as f64 / intervals as f64).collect();
    let cumulative: Vec<Vec<f64>> = places.iter().map(|&p| binomial_cdf(n, p)).collect();
    let limits = |tail: f64| -> Vec<[usize; 2]> { cumulative.iter().map(|c| central(c, tail)).collect() };
    // By the union bound the smaller one is wide enough; one place alone needs the larger.
    let (mut safe, mut narrow) = ((1.0 - level) / places.len() as f64, 1.0 - level);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (safe + narrow);
        if coverage(n, &places, &limits(middle)) >= level { safe = middle } else { narrow = middle }
    }
    let found = limits(safe);
    (places, found)
}

/// P(X ≤ k), k = 0, …, n, of a binomial.
fn binomial_cdf(n: usize, p: f64) -> Vec<f64> {
    let total = n as f64;
    let mut sum = 0.0;
    let log = |k: f64| {
        ln_gamma(total + 1.0) - ln_gamma(k + 1.0) - ln_gamma(total - k + 1.0)
            + k * p.ln()
            + (total - k) * (-p).ln_1p()
    };
    (0..=n)
        .map(|k| {
            sum += log(k as f64).exp();
            sum.min(1.0)
        })
        .collect()
}

/// The least and the largest count of a central interval that leaves at most `tail`/2 on either side.
fn central(cumulative: &[f64], tail: f64) -> [usize; 2] {
    let low = cumulative.partition_point(|c| *c <= 0.5 * tail);
    let high = cumulative.partition_point(|c| *c < 1.0 - 0.5 * tail);
    [low, high.min(cumulative.len() - 1)]
}

/// The probability that the counts of n independent uniforms stay within all limits.
fn coverage(n: usize, places: &[f64], limits: &[[usize; 2]]) -> f64 {
    let total = n as f64;
    let log_poisson = |k: usize, rate: f64| k as f64 * rate.ln() - rate - ln_gamma(k as f64 + 1.0);
    let (mut before, mut from, mut chain) = (0.0, 0, vec![1.0]);
    for (&at, &[low, high]) in places.iter().zip(limits) {
        let rate = total * (at - before);
        let kernel: Vec<f64> = (0..=high.saturating_sub(from)).map(|m| log_poisson(m, rate).exp()).collect();
        let next = (low..=high).map(|to| {
            let parts = chain.iter().enumerate().take_while(|(i, _)| from + i <= to);
            parts.map(|(i, p)| p * kernel[to - from - i]).sum()
        });
        chain = next.collect();
        (before, from) = (at, low);
    }
    let rate = total * (1.0 - before);
    let last = chain.iter().enumerate().filter(|(i, _)| from + i <= n);
    let joint: f64 = last.map(|(i, p)| p * log_poisson(n - from - i, rate).exp()).sum();
    joint / log_poisson(n, total).exp()
}

/// Ten bins with Bonferroni's intervals.
fn bins(sorted: &[f64]) -> Vec<Bin> {
    let n = sorted.len();
    if n < LEAST {
        return Vec::new();
    }
    let cumulative = binomial_cdf(n, 1.0 / BINS as f64);
    let [low, high] = central(&cumulative, (1.0 - LEVEL) / BINS as f64).map(|k| k as f64);
    let edge = |b: usize| b as f64 / BINS as f64;
    let up_to = |b: usize| if b == BINS { n } else { sorted.partition_point(|u| *u < edge(b)) };
    (0..BINS)
        .map(|b| Bin {
            low: edge(b),
            high: edge(b + 1),
            observed: (up_to(b + 1) - up_to(b)) as f64,
            replicated: [low, n as f64 / BINS as f64, high],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::{Draws, Purpose, Seed};

    /// Four uniforms and two places: multinomial probabilities, counted by hand.
    #[test]
    fn the_recursion_is_the_multinomial_s() {
        let (n, places) = (4usize, [0.25, 0.6]);
        let limits = [[0, 2], [1, 3]];
        let factorial = |k: usize| (1..=k).product::<usize>() as f64;
        let mut sum = 0.0;
        for a in 0..=n {
            for b in 0..=n - a {
                let c = n - a - b;
                let inside = a <= 2 && (1..=3).contains(&(a + b));
                let ways = factorial(n) / factorial(a) / factorial(b) / factorial(c);
                let p = ways * 0.25f64.powi(a as i32) * 0.35f64.powi(b as i32) * 0.4f64.powi(c as i32);
                sum += if inside { p } else { 0.0 };
            }
        }
        assert!((coverage(n, &places, &limits) - sum).abs() < 1e-13);
    }

    /// Share of 3000 uniform samples whose counts stay within the limits.
    fn share_inside(n: usize, places: &[f64], limits: &[[usize; 2]]) -> f64 {
        let stream = Draws::new(Seed(11), Purpose::Sample);
        let samples = 3000;
        let mut values = vec![0.0; n];
        let mut inside = 0;
        for sample in 0..samples {
            stream.uniforms(sample, 0, &mut values);
            let count = |at: f64| values.iter().filter(|u| **u <= at).count();
            let all = places.iter().zip(limits).all(|(&at, &[low, high])| {
                let k = count(at);
                low <= k && k <= high
            });
            inside += u64::from(all);
        }
        inside as f64 / samples as f64
    }

    /// Five standard errors: a false alarm has a probability below 1e-6. Bands that hold at each place alone are found out.
    #[test]
    fn the_band_holds_all_of_a_uniform_sample_at_once() {
        for n in [7, 60, 300] {
            let (places, limits) = simultaneous(n, LEVEL);
            let error = |p: f64| 5.0 * (p * (1.0 - p) / 3000.0).sqrt();
            let stated = coverage(n, &places, &limits);
            assert!(stated >= LEVEL && (n < 60 || stated < LEVEL + 0.01), "{n}: {stated}");
            let found = share_inside(n, &places, &limits);
            assert!((found - stated).abs() < error(stated), "{n}: {found} against {stated}");
            // The planted twin: the same quantiles, place by place.
            let alone: Vec<[usize; 2]> =
                places.iter().map(|&p| central(&binomial_cdf(n, p), 1.0 - LEVEL)).collect();
            let found = share_inside(n, &places, &alone);
            assert!(n < 60 || found < LEVEL - error(LEVEL), "{n}: {found}");
        }
    }

    #[test]
    fn uniform_values_stay_inside_and_others_leave() {
        let n = 400;
        let even: Vec<f64> = (0..n).map(|i| (i as f64 + 0.5) / n as f64).collect();
        let pit = Pit::new(even.clone(), false);
        assert_eq!((pit.outside(), pit.bins.len()), (0, BINS));
        assert!(pit.bins.iter().all(|b| b.replicated[0] <= b.observed && b.observed <= b.replicated[2]));
        // Predictions that are too wide have values near the middle.
        let wide = Pit::new(even.iter().map(|u| 0.5 + 0.6 * (u - 0.5)).collect(), false);
        assert!(wide.outside() > 10 && wide.bins[0].observed < wide.bins[0].replicated[0]);
        let quantiles = pit.normal_quantiles();
        assert!(quantiles.points.iter().all(|(x, y, _)| (x - y).abs() < 1e-9));
        // Inside the band of shares is inside that of quantiles.
        let [low, high] = &quantiles.band;
        assert!(low.iter().all(|(x, y)| y < x) && high.iter().all(|(x, y)| y > x));
        let none = Pit::new(vec![0.5, f64::NAN], true);
        assert!(none.band.is_empty() && none.values.len() == 1 && none.bins.is_empty());
    }
}
