//! Student's distribution of the noise.

use crate::base::special::{digamma, ln_gamma, log_minus_digamma, sigmoid, softplus};

/// log Γ(a + ½) − log Γ(a), and its derivative, without cancellation where a is large.
fn half_step(a: f64) -> (f64, f64) {
    if a < 25.0 {
        return (ln_gamma(a + 0.5) - ln_gamma(a), digamma(a + 0.5) - digamma(a));
    }
    // log Γ(x) = x log x − x + rest(x).
    let rest = crate::base::special::ln_gamma_rest;
    let log = (0.5 / a).ln_1p();
    let value = a * log + 0.5 * (a + 0.5).ln() - 0.5 + rest(a + 0.5) - rest(a);
    (value, log - log_minus_digamma(a + 0.5) + log_minus_digamma(a))
}

/// The density of y = η + σt at σ and ν:
/// ```text
/// log L = c(ν) − log σ − ½(ν+1) log(1 + q),   q = r²/ν,   r = (y − η)/σ
/// c(ν) = log Γ(½(ν+1)) − log Γ(½ν) − ½ log πν
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    sd: f64,
    degrees: f64,
    /// c(ν) − log σ.
    constant: f64,
    /// c'(ν).
    slope: f64,
    /// Whether σ and ν have coordinates, log σ and log(ν − 1).
    free: [bool; 2],
}

impl At {
    pub(super) fn new(sd: f64, degrees: f64, free: [bool; 2]) -> Self {
        let (step, step_slope) = half_step(0.5 * degrees);
        let constant = step - 0.5 * (std::f64::consts::PI * degrees).ln() - sd.ln();
        Self { sd, degrees, constant, slope: 0.5 * (step_slope - degrees.recip()), free }
    }

    pub(super) fn row(&self, y: f64, weight: f64, eta: &mut f64, further: &mut [f64]) -> f64 {
        let (nu, far) = (self.degrees, y - *eta);
        let r = far / self.sd;
        let q = r * r / nu;
        let (log, share) = match q.is_finite() {
            true => (q.ln_1p(), q / (1.0 + q)),
            // Where q has no double, its logarithm has.
            false => (2.0 * (far.abs().ln() - self.sd.ln()) - nu.ln(), 1.0),
        };
        *eta = match q.is_finite() {
            true => (nu + 1.0) * r / (self.sd * nu * (1.0 + q)),
            false => (nu + 1.0) / far,
        };
        let mut further = further.iter_mut();
        if self.free[0]
            && let Some(slope) = further.next()
        {
            *slope += weight * ((nu + 1.0) * share - 1.0);
        }
        if self.free[1]
            && let Some(slope) = further.next()
        {
            let of_nu = self.slope - 0.5 * log + 0.5 * (nu + 1.0) * share / nu;
            *slope += weight * of_nu * (nu - 1.0);
        }
        self.constant - 0.5 * (nu + 1.0) * log
    }
}

/// The half-t density with 3 degrees of freedom of σ, as one of x = log σ:
/// ```text
/// log π(x) = log(4/(π√3 S)) − 2 log(1 + σ²/3S²) + x
/// ```
pub(super) fn sigma_prior(x: f64, scale: f64, slope: &mut f64) -> f64 {
    let log_q = 2.0 * (x - scale.ln()) - 3f64.ln();
    *slope += 1.0 - 4.0 * sigmoid(log_q);
    (4.0 / (std::f64::consts::PI * 3f64.sqrt())).ln() - scale.ln() - 2.0 * softplus(log_q) + x
}

/// The gamma(2, 0.1) density of ν, cut off below 1, as one of x = log(ν − 1):
/// ```text
/// log π(x) = log(0.01 ν e^{−ν/10}) − log(1.1 e^{−0.1}) + x
/// ```
pub(super) fn nu_prior(x: f64, slope: &mut f64) -> f64 {
    const RATE: f64 = 0.1;
    let above = x.min(super::beta_binomial::FAR).exp();
    let nu = 1.0 + above;
    *slope += above / nu - RATE * above + 1.0;
    // ∫₁^∞ ab² … of the density without the cut is (1 + 0.1)e^{−0.1}.
    2.0 * RATE.ln() + nu.ln() - RATE * above - (1.0 + RATE).ln() + x
}
