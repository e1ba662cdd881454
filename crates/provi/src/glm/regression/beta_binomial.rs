//! Successes among trials whose probability varies between rows.

use crate::base::special::{digamma, ln_gamma, ln_gamma_rest, log_minus_digamma, sigmoid};

/// log a(a+1)⋯(a+n−1) = log Γ(a+n) − log Γ(a), and its derivative in a, without cancellation where a is large.
pub(super) fn rising(a: f64, n: f64) -> (f64, f64) {
    /// Factors that are multiplied one by one.
    const FEW: f64 = 24.0;
    if n <= FEW {
        let (mut value, mut slope) = (0.0, 0.0);
        let mut factor = a;
        for _ in 0..n as usize {
            value += factor.ln();
            slope += factor.recip();
            factor += 1.0;
        }
        return (value, slope);
    }
    if a < FEW {
        return (ln_gamma(a + n) - ln_gamma(a), digamma(a + n) - digamma(a));
    }
    // log Γ(x) = x log x − x + rest(x).
    let log = (n / a).ln_1p();
    let value = a * log + n * (a + n).ln() - n + ln_gamma_rest(a + n) - ln_gamma_rest(a);
    (value, log - log_minus_digamma(a + n) + log_minus_digamma(a))
}

/// The probability of k successes among n trials at ρ = sigmoid(t), without the binomial coefficient:
/// ```text
/// log L = log (pφ)_k + log ((1−p)φ)_{n−k} − log (φ)_n,   p = sigmoid(η),   φ = (1 − ρ)/ρ = e^{−t}
/// ```
/// with (a)_k = a(a+1)⋯(a+k−1). The probability of a row has a beta distribution with mean p and total φ.
///
/// Beyond ±600 of t nothing changes: φ is then so large that the law is binomial, or so small that all trials of a row are alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    total: f64,
}

/// e^±600 and its inverse are numbers.
pub(super) const FAR: f64 = 600.0;

impl At {
    pub(super) fn new(logit: f64) -> Self {
        Self { total: (-logit.clamp(-FAR, FAR)).exp() }
    }

    pub(super) fn row(
        &self,
        [successes, trials]: [f64; 2],
        weight: f64,
        eta: &mut f64,
        further: &mut f64,
    ) -> f64 {
        let (p, rest, total) = (sigmoid(*eta), sigmoid(-*eta), self.total);
        // A product may leave the range of numbers; its logarithm must not.
        let [of_p, of_rest] = [p * total, rest * total].map(|x| x.max(f64::MIN_POSITIVE));
        let (of_successes, a) = rising(of_p, successes);
        let (of_failures, b) = rising(of_rest, trials - successes);
        let (of_all, c) = rising(total, trials);
        *eta = total * p * rest * (a - b);
        *further -= weight * total * (p * a + rest * b - c);
        of_successes + of_failures - of_all
    }
}
