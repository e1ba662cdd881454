//! Targets that are far from Gaussian, or end somewhere.

use provi::target::Closure;

const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SIGMA: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
const LOG_2PI: f64 = 1.837_877_066_409_345_5;

/// log N(x; m, s) and its slope in x.
fn normal(x: f64, m: f64, s: f64) -> (f64, f64) {
    let r = (x - m) / s;
    (-0.5 * r * r - s.ln() - 0.5 * LOG_2PI, -r / s)
}

/// μ ~ N(0, 5), τ ~ Cauchy⁺(0, 5) in log τ: value and slopes.
fn hyperprior(mu: f64, log_tau: f64) -> (f64, f64, f64) {
    let (value, slope) = normal(mu, 0.0, 5.0);
    let ratio = (2.0 * log_tau).exp() / 25.0;
    let cauchy = (2.0 / (5.0 * std::f64::consts::PI)).ln() - ratio.ln_1p() + log_tau;
    (value + cauchy, slope, 1.0 - 2.0 * ratio / (1.0 + ratio))
}

/// Eight schools with θ = μ + τη: coordinates μ, log τ, η.
pub(crate) fn schools_free() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    Closure::new(10, |z: &[f64], g: &mut [f64]| {
        let tau = z[1].exp();
        let (mut value, a, b) = hyperprior(z[0], z[1]);
        (g[0], g[1]) = (a, b);
        for j in 0..8 {
            let eta = z[2 + j];
            let (prior, pull) = normal(eta, 0.0, 1.0);
            let (fit, slope) = normal(z[0] + tau * eta, Y[j], SIGMA[j]);
            value += prior + fit;
            g[0] += slope;
            g[1] += slope * tau * eta;
            g[2 + j] = pull + slope * tau;
        }
        value
    })
    .unwrap()
}

/// Eight schools with θ itself: coordinates μ, log τ, θ. Its density has no mode: it grows as τ → 0.
pub(crate) fn schools_centred() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    Closure::new(10, |z: &[f64], g: &mut [f64]| {
        let tau = z[1].exp();
        let (mut value, a, b) = hyperprior(z[0], z[1]);
        (g[0], g[1]) = (a, b);
        for j in 0..8 {
            let (prior, pull) = normal(z[2 + j], z[0], tau);
            let (fit, slope) = normal(z[2 + j], Y[j], SIGMA[j]);
            value += prior + fit;
            g[0] -= pull;
            g[1] += ((z[2 + j] - z[0]) / tau).powi(2) - 1.0;
            g[2 + j] = pull + slope;
        }
        value
    })
    .unwrap()
}

/// Neal's funnel: v ~ N(0, 3), the others N(0, e^{v/2}).
pub(crate) fn funnel(d: usize) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    Closure::new(d, move |z: &[f64], g: &mut [f64]| {
        let scale = (0.5 * z[0]).exp();
        let (mut value, slope) = normal(z[0], 0.0, 3.0);
        g[0] = slope;
        for i in 1..d {
            let (next, slope) = normal(z[i], 0.0, scale);
            value += next;
            g[i] = slope;
            g[0] += 0.5 * ((z[i] / scale).powi(2) - 1.0);
        }
        value
    })
    .unwrap()
}

/// Gamma(40) on z > 0, and nothing elsewhere: not finite at the origin.
pub(crate) fn positive() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    Closure::new(1, |z: &[f64], g: &mut [f64]| {
        g[0] = 39.0 / z[0] - 1.0;
        if z[0] > 0.0 { 39.0 * z[0].ln() - z[0] } else { f64::NEG_INFINITY }
    })
    .unwrap()
}

/// Two far normals of weights 1 : 3 in the first coordinate.
pub(crate) fn mixture() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Clone> {
    Closure::new(2, |z: &[f64], g: &mut [f64]| {
        let (a, slope_a) = normal(z[0], -6.0, 1.0);
        let (b, slope_b) = normal(z[0], 6.0, 1.0);
        let (a, b) = (a + 0.25f64.ln(), b + 0.75f64.ln());
        let top = a.max(b);
        let value = top + ((a - top).exp() + (b - top).exp()).ln();
        g[0] = (a - value).exp() * slope_a + (b - value).exp() * slope_b;
        let (other, slope) = normal(z[1], 0.0, 1.0);
        g[1] = slope;
        value + other
    })
    .unwrap()
}
