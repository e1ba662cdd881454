//! The derivative of log Γ, and its difference from the logarithm.

use super::chebyshev;
use std::f64::consts::PI;

/// The positive zero of ψ, as a sum of two doubles.
const DIGAMMA_ZERO: [f64; 2] = [1.461_632_144_968_362_2, 9.549_995_429_965_697e-17];

/// Chebyshev coefficients of ψ(x)/(x − zero) in t = 2x − 3, for x ∈ [1, 2].
const DIGAMMA: [f64; 22] = [
    0.983570260441567,
    -0.2270640863346444,
    0.03336889902393011,
    -0.005320077271596548,
    0.0008788656937820505,
    -0.00014773492650606044,
    2.5060543468359146e-05,
    -4.2721034029993324e-06,
    7.302769272465923e-07,
    -1.2502886813559594e-07,
    2.1425009322359472e-08,
    -3.673295918565179e-09,
    6.299717236108931e-10,
    -1.080593028883266e-10,
    1.853735192053638e-11,
    -3.18023536582553e-12,
    5.456147570322795e-13,
    -9.360993131036438e-14,
    1.606064636295075e-14,
    -2.7555431377438815e-15,
    4.727736178601912e-16,
    -8.11148420346509e-17,
];

/// ψ(x) = (log |Γ|)′(x); NaN at the poles 0, −1, −2, …
///
/// On [1, 2]: a series with the zero factored out. Elsewhere: ψ(x+1) = ψ(x) + 1/x, the asymptotic series for x ≥
/// 10, and the reflection ψ(x) = ψ(1−x) − π/tan(πx).
pub(crate) fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        let r = x - x.round();
        return if r == 0.0 { f64::NAN } else { digamma(1.0 - x) - PI / (PI * r).tan() };
    }
    if x < 1.0 {
        return digamma(1.0 + x) - x.recip();
    }
    if x < FAR {
        let (mut x, mut shift) = (x, 0.0);
        while x > 2.0 {
            x -= 1.0;
            shift += x.recip();
        }
        return (x - DIGAMMA_ZERO[0] - DIGAMMA_ZERO[1]) * chebyshev(&DIGAMMA, 2.0 * x - 3.0) + shift;
    }
    x.ln() - log_minus_digamma(x)
}

/// Where asymptotic series are used.
const FAR: f64 = 10.0;

/// B_{2k}/2k for k = 1, 2, …
const BERNOULLI: [f64; 9] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32760.0,
    1.0 / 12.0,
    -3617.0 / 8160.0,
    43867.0 / 14364.0,
];

/// log x − ψ(x) = 1/2x + Σ_k B_{2k}/(2k x^{2k}) for x > 0, without cancellation where x is large.
pub(crate) fn log_minus_digamma(x: f64) -> f64 {
    if x < FAR {
        return x.ln() - digamma(x);
    }
    let w = (x * x).recip();
    0.5 / x + BERNOULLI.iter().rev().fold(0.0, |sum, b| (sum + b) * w)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reflections, recurrences and values of the literature test ψ elsewhere; here the difference is held against it.
    #[test]
    fn the_difference_from_the_logarithm_agrees_with_the_function() {
        for k in 1..400 {
            let x = 0.05 * f64::from(k);
            let (a, b) = (log_minus_digamma(x), x.ln() - digamma(x));
            assert!((a - b).abs() < 1e-14 * (1.0 + b.abs()), "{x}: {a} {b}");
        }
        // No cancellation: 1/2x + 1/12x² at 10⁹.
        assert!((log_minus_digamma(1e9) / 5.000000000833333e-10 - 1.0).abs() < 1e-15);
    }
}
