//! The regularised upper incomplete gamma function, accurate far into the tail.
//!
//! ```text
//! Q(a, x) = Γ(a, x)/Γ(a) = P(G > x),   G ~ Gamma(a, 1);      P = 1 − Q
//! ```
//! Every function here uses D(a, x) = xᵃe⁻ˣ/Γ(a+1). The textbook formula of its logarithm subtracts numbers of size
//! a·log a. Stirling's formula cancels them analytically:
//! ```text
//! log D = −a(μ − log(1+μ)) − ½ log 2πa − δ(a),   μ = (x − a)/a,   δ(a) = 1/12a − 1/360a³ + …
//! ```

use super::{HALF_LN_TAU, ln_gamma, log_normal_cdf};

/// log Q(a, x), for a > 0 and x ≥ 0; NaN for other arguments.
///
/// Compared with 50-digit references for a from ½ to 10⁵: an error below 5·10⁻¹³ wherever Q > 10⁻⁴³⁰, and
/// below 10⁻¹⁵·|log Q| beyond. Cost: about 10√a operations near x = a, fewer elsewhere.
pub(crate) fn ln_gamma_upper(a: f64, x: f64) -> f64 {
    if !(a > 0.0 && x >= 0.0 && a.is_finite()) {
        f64::NAN
    } else if x == f64::INFINITY {
        f64::NEG_INFINITY
    } else if x < a + 1.0 {
        (-lower(a, x)).ln_1p()
    } else {
        ln_poisson(a, x) + (a * upper_fraction(a, x)).ln()
    }
}

/// Q(a, x), with a relative error of 10⁻¹² down to the smallest normal number.
pub(crate) fn gamma_upper(a: f64, x: f64) -> f64 {
    ln_gamma_upper(a, x).exp()
}

/// log P(a, x), for a > 0 and x > 0.
fn ln_gamma_lower(a: f64, x: f64) -> f64 {
    if x < a + 1.0 { lower(a, x).ln() } else { (-gamma_upper(a, x)).ln_1p() }
}

/// log Γ(a) − a log a + a, for a > 0, without cancellation where a is large.
pub(crate) fn ln_gamma_rest(a: f64) -> f64 {
    stirling_error(a) + HALF_LN_TAU - 0.5 * a.ln()
}

/// Above this shape the cube root of a gamma variable is taken as normal, to within 10⁻⁷ of probability.
const CUBE: f64 = 1e5;

/// G/a for the G ~ Gamma(a) whose rank is that of a standard normal number: P(a, G) = Φ(normal). Its mean is 1 and its
/// standard deviation 1/√a.
///
/// In the logarithm of x, log P and log Q are concave; Newton's steps for the smaller of both converge from any start, after the first
/// one from one side. Cost: a few incomplete gamma functions.
pub(crate) fn gamma_from(a: f64, normal: f64) -> f64 {
    let cube = 1.0 - (9.0 * a).recip() + normal / (3.0 * a.sqrt());
    if a > CUBE { cube.powi(3) } else { log_gamma_from(a, normal).exp() }
}

/// Its logarithm, which is a number where G/a underflows: for small a mostly.
pub(crate) fn log_gamma_from(a: f64, normal: f64) -> f64 {
    let cube = 1.0 - (9.0 * a).recip() + normal / (3.0 * a.sqrt());
    if a > CUBE {
        return 3.0 * cube.ln();
    }
    let upper = normal > 0.0;
    let goal = log_normal_cdf(-normal.abs());
    // Near 0, P(a, x) = xᵃ/Γ(a+1).
    let small = (log_normal_cdf(normal) + ln_gamma(a + 1.0)) / a;
    let mut log = if cube > 0.3 { a.ln() + 3.0 * cube.ln() } else { small };
    for _ in 0..60 {
        let x = log.exp();
        let value = if upper { ln_gamma_upper(a, x) } else { ln_gamma_lower(a, x) };
        // d log P/d log x = aD/P, and the same for Q with the other sign.
        let slope = (a.ln() + ln_poisson(a, x) - value).exp();
        let step = if upper { (value - goal) / slope } else { (goal - value) / slope };
        if !step.is_finite() {
            break;
        }
        log += step.clamp(-20.0 - 20.0 / a, 20.0);
        if step.abs() < 1e-12 * (1.0 + log.abs()) {
            break;
        }
    }
    log - a.ln()
}

/// log D(a, x) = a log x − x − log Γ(a+1); for integer a, the log probability of a under Poisson(x).
pub(crate) fn ln_poisson(a: f64, x: f64) -> f64 {
    if a == 0.0 {
        -x
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else {
        -deviance(a, x) - stirling_error(a) - 0.5 * a.ln() - HALF_LN_TAU
    }
}

/// P(a, x) = D·(1 + x/(a+1) + x²/(a+1)(a+2) + …), used for x < a + 1, where 1 − P is above 1/20, so that the subtraction loses no accuracy.
fn lower(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0, 1.0, a);
    while term > 1e-17 * sum {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    ln_poisson(a, x).exp() * sum
}

/// Q/(aD) as the continued fraction 1/(x+1−a − 1(1−a)/(x+3−a − 2(2−a)/(x+5−a − …))), by Lentz's method.
///
/// For x ≥ a + 1 nothing cancels in the first a steps. Far from x = a it takes a few steps; near it, about 10√a.
fn upper_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::INFINITY, b.recip());
    let mut value = d;
    // Rounding may keep the factors one ulp away from 1; this limit on the number of steps ends the loop then.
    let most = 100.0 + 100.0 * a.sqrt();
    let mut i = 1.0;
    while i < most {
        let step = i * (a - i);
        b += 2.0;
        d = (step * d + b).recip();
        c = b + step / c;
        value *= c * d;
        if (c * d - 1.0).abs() < 4e-16 {
            break;
        }
        i += 1.0;
    }
    value
}

/// a·(μ − log(1+μ)), μ = (x − a)/a: zero at x = a, with a small relative error on both sides.
///
/// Near a, s = μ/(2+μ) gives μ − log(1+μ) = μs − 2(s³/3 + s⁵/5 + …).
fn deviance(a: f64, x: f64) -> f64 {
    let mu = (x - a) / a;
    if !(-0.5..=1.0).contains(&mu) {
        return x - a - a * (x / a).ln();
    }
    let s = mu / (2.0 + mu);
    let square = s * s;
    let odd = (0..18).rev().fold(0.0, |sum, k| sum * square + f64::from(2 * k + 3).recip());
    a * (mu * s - 2.0 * s * square * odd)
}

/// δ(a) = log Γ(a+1) − (a + ½) log a + a − ½ log 2π.
fn stirling_error(a: f64) -> f64 {
    if a < 16.0 {
        return ln_gamma(a + 1.0) - (a + 0.5) * a.ln() + a - HALF_LN_TAU;
    }
    /// B_{2k}/(2k(2k−1)) for k = 1, 2, …
    const SERIES: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    let w = (a * a).recip();
    SERIES.iter().rev().fold(0.0, |sum, c| sum * w + c) / a
}

#[cfg(test)]
mod tests;
