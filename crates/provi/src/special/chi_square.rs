//! Tails of χ²_d and of the noncentral χ'²_d(λ), the latter from above.

use super::incomplete_gamma::{gamma_upper, ln_gamma_upper, ln_poisson};

/// The largest λ for which the noncentral sum is formed; beyond it the bound is the trivial one.
const LARGEST_LAMBDA: f64 = 1e10;

/// log P(χ²_d > r²).
pub(crate) fn ln_chi_square_tail(d: usize, r2: f64) -> f64 {
    ln_gamma_upper(0.5 * d as f64, 0.5 * r2)
}

/// P(χ²_d > r²) = Q(d/2, r²/2).
pub(crate) fn chi_square_tail(d: usize, r2: f64) -> f64 {
    gamma_upper(0.5 * d as f64, 0.5 * r2)
}

/// An upper bound of P(χ'²_d(λ) > r²).
pub(crate) fn noncentral_chi_square_tail_upper(d: usize, lambda: f64, r2: f64) -> f64 {
    ln_noncentral_chi_square_tail_upper(d, lambda, r2).exp()
}

/// An upper bound of log P(χ'²_d(λ) > r²), above it by less than 10⁻¹⁰ + 10⁻¹⁴·|log P|, where
/// ```text
/// P(χ'²_d(λ) > r²) = Σ_j T_j,   T_j = Poisson(j; ℓ)·Q(a+j, x),   a = d/2, ℓ = λ/2, x = r²/2
/// ```
/// With h_j = D(a+j, x)/Q(a+j, x), Q(a+1, x) = Q(a, x) + D(a, x) makes the sum a chain of positive products,
/// ```text
/// T_{j+1}/T_j = ℓ/(j+1)·(1 + h_j),      h_{j+1} = h_j·x/((a+j+1)(1 + h_j))
/// ```
/// 1/h_j = (a+j)/x·∫(1 + s/x)^{a+j−1}e⁻ˢds grows with j, so the ratios fall: T is log-concave, the terms left
/// out on either side are below a geometric series, and these two are added. Rounding is covered by a margin
/// of 10⁻¹¹ + 10⁻¹⁵·|log P|, five times the largest error seen. Cost: the width of the sum, about 20√λ.
///
/// λ above 10¹⁰ gets the bound 0; NaN in, NaN out.
pub(crate) fn ln_noncentral_chi_square_tail_upper(d: usize, lambda: f64, r2: f64) -> f64 {
    if lambda.is_nan() || r2.is_nan() {
        return f64::NAN;
    }
    let (a, l, x) = (0.5 * d as f64, 0.5 * lambda.max(0.0), 0.5 * r2);
    if x <= 0.0 || lambda > LARGEST_LAMBDA {
        return 0.0;
    }
    if x == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    let sum = if l == 0.0 { ln_gamma_upper(a, x) } else { ln_mixture(a, l, x) };
    // −10⁻¹⁵·log P is positive.
    (sum + 1e-11 - 1e-15 * sum).min(0.0)
}

/// log Σ_j T_j with both remainders, l and x positive.
fn ln_mixture(a: f64, l: f64, x: f64) -> f64 {
    /// Terms below e^−LEFT_OUT of the largest are left out.
    const LEFT_OUT: f64 = 40.0;
    let ln_term = |j: f64| ln_poisson(j, l) + ln_gamma_upper(a + j, x);
    // Where Q is near one the terms peak at ℓ; far in the tail, Q ∝ D and they peak where j(a+j) = ℓx.
    let tail_peak = 2.0 * l * x / (a + (a * a + 4.0 * l * x).sqrt());
    let peak = l.max(tail_peak).floor();
    let (mut first, mut step) = (peak, 1.0);
    let level = ln_term(peak) - LEFT_OUT;
    let mut ln_first = ln_term(first);
    while first > 0.0 && ln_first > level {
        first = (first - step).max(0.0);
        step *= 1.5_f64;
        step = step.ceil();
        ln_first = ln_term(first);
    }
    let hazard = |j: f64| (ln_poisson(a + j, x) - ln_gamma_upper(a + j, x)).exp();
    let mut sum = 1.0;
    if first > 0.0 {
        // T_{first−1}/T_first < 1, and the ratios fall on the way down.
        let ratio = first / (l * (1.0 + hazard(first - 1.0)));
        sum += ratio / (1.0 - ratio);
    }
    let (mut j, mut h, mut term) = (first, hazard(first), 1.0);
    loop {
        let ratio = l / (j + 1.0) * (1.0 + h);
        if ratio < 1.0 && term * ratio < 1e-13 * (1.0 - ratio) * sum {
            return ln_first + (sum + term * ratio / (1.0 - ratio)).ln();
        }
        term *= ratio;
        sum += term;
        j += 1.0;
        h *= x / ((a + j) * (1.0 + h));
    }
}

#[cfg(test)]
mod tests;
