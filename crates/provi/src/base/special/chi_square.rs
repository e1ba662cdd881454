//! Tails of χ²_d, and upper bounds of the tails of the noncentral χ'²_d(λ).

use super::incomplete_gamma::{gamma_upper, ln_gamma_upper, ln_poisson};

/// The noncentral sum is evaluated only if its largest term has an index below this.
const LARGEST_PEAK: f64 = 1e10;

/// P(χ²_d > r²) = Q(d/2, r²/2).
pub(crate) fn chi_square_tail(d: usize, r2: f64) -> f64 {
    gamma_upper(0.5 * d as f64, 0.5 * r2)
}

/// An upper bound of log P(χ'²_d(λ) > r²), which exceeds it by less than 10⁻¹⁰ + 10⁻¹⁴·|log P|, where
/// ```text
/// P(χ'²_d(λ) > r²) = Σ_j T_j,   T_j = Poisson(j; ℓ)·Q(a+j, x),   a = d/2, ℓ = λ/2, x = r²/2
/// ```
/// With h_j = D(a+j, x)/Q(a+j, x), Q(a+1, x) = Q(a, x) + D(a, x) makes the sum a chain of positive products,
/// ```text
/// T_{j+1}/T_j = ℓ/(j+1)·(1 + h_j),      h_{j+1} = h_j·x/((a+j+1)(1 + h_j))
/// ```
/// 1/h_j = (a+j)/x·∫(1 + s/x)^{a+j−1}e⁻ˢds grows with j, so the ratios T_{j+1}/T_j fall: T is log-concave. The
/// terms left out on either side are therefore below a geometric series, and both series are added. A margin of
/// 10⁻¹¹ + 10⁻¹⁵·|log P| covers rounding; it is ten times the largest error seen. Cost: the width of the sum, about
/// 20 standard deviations.
///
/// If the sum would be too long (λ or r√λ above 10¹⁰), the bound is Chernoff's: true but not tight.
pub(crate) fn ln_noncentral_chi_square_tail_upper(d: usize, lambda: f64, r2: f64) -> f64 {
    if lambda.is_nan() || r2.is_nan() {
        return f64::NAN;
    }
    let (a, l, x) = (0.5 * d as f64, 0.5 * lambda.max(0.0), 0.5 * r2);
    if x <= 0.0 || l == f64::INFINITY {
        return 0.0;
    }
    if x == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    // Where Q is near one, the terms peak at j = ℓ; far in the tail Q ∝ D, and they peak where j(a+j) = ℓx.
    let root = l.sqrt() * x.sqrt();
    let peak = l.max(2.0 * root * (root / (a + a.hypot(2.0 * root))));
    let ln_tail = if l == 0.0 {
        ln_gamma_upper(a, x)
    } else if peak < LARGEST_PEAK {
        ln_mixture(a, l, x, peak.floor())
    } else {
        ln_chernoff(a, l, x)
    };
    (ln_tail + 1e-11 + 1e-15 * ln_tail.abs()).min(0.0)
}

/// min_u −(1−u)x + ℓ(1−u)/u − a log u, reached where xu² = au + ℓ.
fn ln_chernoff(a: f64, l: f64, x: f64) -> f64 {
    let u = 0.5 * (a + a.hypot(2.0 * l.sqrt() * x.sqrt())) / x;
    // Near the mean the terms nearly cancel, so a bound of their rounding error is added.
    let rounding = 1e-14 * (x + l + a);
    if u < 1.0 { (1.0 - u) * (l / u - x) - a * u.ln() + rounding } else { 0.0 }
}

/// log Σ_j T_j, with bounds for both remainders added; l and x must be positive.
fn ln_mixture(a: f64, l: f64, x: f64, peak: f64) -> f64 {
    /// Terms smaller than e^−LEFT_OUT times the largest are left out.
    const LEFT_OUT: f64 = 40.0;
    let ln_term = |j: f64| ln_poisson(j, l) + ln_gamma_upper(a + j, x);
    let (mut first, mut ln_first) = (peak, ln_term(peak));
    let (level, step) = (ln_first - LEFT_OUT, (peak + 1.0).sqrt().ceil());
    while first > 0.0 && ln_first > level {
        first = (first - step).max(0.0);
        ln_first = ln_term(first);
    }
    let hazard = |j: f64| (ln_poisson(a + j, x) - ln_gamma_upper(a + j, x)).exp();
    let mut sum = 1.0;
    if first > 0.0 {
        // T_{first−1}/T_first < 1, and the ratios fall further as the index decreases.
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
