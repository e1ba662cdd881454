//! The incomplete beta function, by its continued fraction.

use super::ln_gamma_rest;

/// I_x(a, b) = ∫₀ˣ t^{a−1}(1−t)^{b−1} dt / B(a, b) at log(x/(1 − x)) = `odds`, for a, b > 0: P(y < b) for a negative binomial count y of
/// shape a and a whole b, if x = a/(a + mean).
///
/// The continued fraction of the side on which x lies below the mean a/(a + b); the other side is 1 minus it. Cost: about √max{a, b}
/// steps. Beyond 10⁷, where that would be many, the normal law of log(x/(1 − x)) with cumulants of the same size, to within 10⁻⁴.
pub(crate) fn beta_lower(a: f64, b: f64, odds: f64) -> f64 {
    if a.max(b) > 1e7 && a.min(b) > 1e7 {
        let spread = (1.0 / a + 1.0 / b).sqrt();
        return super::normal_cdf((odds - (a / b).ln()) / spread);
    }
    // x < (a + 1)/(a + b + 2), where the fraction converges fast.
    if odds < ((a + 1.0) / (b + 1.0)).ln() { fraction(a, b, odds) } else { 1.0 - fraction(b, a, -odds) }
}

/// x^a(1−x)^b/(aB(a, b)) times the continued fraction, by Lentz's method.
fn fraction(a: f64, b: f64, odds: f64) -> f64 {
    let (log_x, log_y) = (-(-odds).exp().ln_1p(), -odds.exp().ln_1p());
    // log Γ(c) = c log c − c + rest(c): the large parts cancel beforehand.
    let rest = ln_gamma_rest(a + b) - ln_gamma_rest(a) - ln_gamma_rest(b);
    let log = a * (log_x + (b / a).ln_1p()) + b * (log_y + (a / b).ln_1p()) + rest - a.ln();
    let x = log_x.exp();
    let (mut c, mut d, mut total) = (1.0, (1.0 - (a + b) * x / (a + 1.0)).recip(), 0.0);
    total += d;
    for m in 1..200_000 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = (1.0 + term * d).recip();
            c = 1.0 + term / c;
            total *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (log.exp() * total).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I_x(a, b) with a whole b: Σ_{k<b} C(a+k−1, k) x^a (1−x)^k.
    #[test]
    fn it_is_the_sum_of_negative_binomial_probabilities() {
        for shape in [0.3, 1.0, 2.7, 40.0, 900.0] {
            for mean in [0.01, 0.8, 7.0, 300.0] {
                let x = shape / (shape + mean);
                let (mut term, mut sum) = ((shape * f64::ln(x)).exp(), 0.0);
                for k in 0..=60u32 {
                    sum += term;
                    let found = beta_lower(shape, f64::from(k) + 1.0, (shape / mean).ln());
                    assert!((found - sum).abs() < 1e-11, "{shape} {mean} {k}: {found} {sum}");
                    term *= (shape + f64::from(k)) / (f64::from(k) + 1.0) * (1.0 - x);
                }
            }
        }
    }

    #[test]
    fn the_normal_law_takes_over_where_both_are_near() {
        for z in [-2.0, -0.5, 0.0, 1.0, 3.0] {
            let at = |n: f64| beta_lower(n, n, z * (2.0 / n).sqrt());
            assert!((at(0.99e7) - at(1.01e7)).abs() < 1e-4, "{z}");
        }
    }
}
