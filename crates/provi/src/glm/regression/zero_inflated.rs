//! Poisson counts with more zeros than they have by themselves.

use crate::base::special::{sigmoid, softplus};

/// The probability of a count at π = sigmoid(t):
/// ```text
/// log L(0) = log(π + (1 − π)e^{−λ}) = log(e^t + e^{−λ}) − log(1 + e^t),   λ = e^η
/// log L(y) = −log(1 + e^t) + yη − λ,   y > 0
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    logit: f64,
    share: f64,
    log_rest: f64,
}

impl At {
    pub(super) fn new(logit: f64) -> Self {
        Self { logit, share: sigmoid(logit), log_rest: -softplus(logit) }
    }

    pub(super) fn row(&self, y: f64, weight: f64, eta: &mut f64, further: &mut f64) -> f64 {
        let mean = eta.exp();
        if y > 0.0 {
            let value = self.log_rest + y * *eta - mean;
            *eta = y - mean;
            *further -= weight * self.share;
            return value;
        }
        // How likely it is that a zero is one of the Poisson counts.
        let counted = sigmoid(-mean - self.logit);
        let larger = self.logit.max(-mean);
        let value = self.log_rest + larger + (-(self.logit + mean).abs()).exp().ln_1p();
        // Where no such zero is possible, the product is 0 and not ∞·0.
        *eta = if counted > 0.0 { -mean * counted } else { 0.0 };
        *further += weight * (1.0 - counted - self.share);
        value
    }
}
