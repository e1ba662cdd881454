//! Means with their errors, quantiles, and confidence limits of failure counts.

/// The number of standard errors of a one-sided alarm. A mean that is exactly at its bound is called above it with
/// probability 1e-9 (normal limit; the summands here are skewed to the right, which makes a false alarm even
/// rarer).
pub const SIGMAS: f64 = 6.0;

/// The probability of a false alarm of one statistical check, P(N(0,1) > 6).
pub const FALSE_ALARM: f64 = 1e-9;

/// A mean over independent replicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl Mean {
    /// The mean of a list. A single number has no standard error; it is then infinite.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - value).powi(2)).sum::<f64>() / (n - 1.0);
        let error = if values.len() > 1 { (variance / n).sqrt() } else { f64::INFINITY };
        Self { value, error }
    }

    /// The one-sided lower confidence limit at level 1 − [`FALSE_ALARM`].
    pub fn lower(&self) -> f64 {
        self.value - SIGMAS * self.error
    }

    /// The one-sided upper confidence limit at the same level.
    pub fn upper(&self) -> f64 {
        self.value + SIGMAS * self.error
    }
}

/// The p-quantile of a list, by the nearest order statistic.
pub fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((p * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The largest p for which `failures` or more among n have probability at most [`FALSE_ALARM`]: a lower confidence
/// limit of the failure probability (Clopper and Pearson).
pub fn least_failure_probability(failures: u64, n: u64) -> f64 {
    if failures == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, failures as f64 / n as f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if upper_tail(failures, n, middle) > FALSE_ALARM { high = middle } else { low = middle }
    }
    low
}

/// P(Binomial(n, p) ≥ k).
fn upper_tail(k: u64, n: u64, p: f64) -> f64 {
    let choose = |j: u64| {
        let gamma = |x: u64| libm::lgamma(x as f64 + 1.0);
        gamma(n) - gamma(j) - gamma(n - j)
    };
    let term = |j: u64| (choose(j) + j as f64 * p.ln() + (n - j) as f64 * (-p).ln_1p()).exp();
    (k..=n).map(term).sum()
}

/// The slope of log y over log x by least squares, over the points where both are positive.
pub fn log_slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (mut top, mut bottom) = (0.0, 0.0);
    for (u, v) in &logs {
        top += (u - x) * (v - y);
        bottom += (u - x) * (u - x);
    }
    top / bottom
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_is_that_of_the_formula() {
        let mean = Mean::of(&[1.0, 2.0, 3.0, 6.0]);
        assert!((mean.value - 3.0).abs() < 1e-15);
        assert!((mean.error - (14.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert!(Mean::of(&[1.0]).lower() < -1e300);
    }

    #[test]
    fn a_limit_of_a_failure_probability_leaves_the_tail_it_states() {
        for (k, n) in [(1, 10), (30, 100), (100, 100)] {
            let p = least_failure_probability(k, n);
            assert!((upper_tail(k, n, p) / FALSE_ALARM - 1.0).abs() < 1e-6, "{k} of {n}: {p}");
        }
        assert!((upper_tail(3, 3, 0.5) - 0.125).abs() < 1e-12);
    }

    #[test]
    fn a_power_law_has_its_exponent_as_slope() {
        let points: Vec<(f64, f64)> =
            (1..20).map(|i| (f64::from(i), 3.0 * f64::from(i).powf(-0.5))).collect();
        assert!((log_slope(&points) + 0.5).abs() < 1e-12);
        assert!((quantile(&[3.0, 1.0, 2.0], 0.5) - 2.0).abs() < 1e-15);
    }
}
