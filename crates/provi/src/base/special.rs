//! Special functions, accurate in their tails.
//!
//! Write φ for the standard normal density, Φ for its distribution function and R(s) = Φ(−s)/φ(s) for the
//! Mills ratio. One Chebyshev series gives R on the half line s ≥ 0; Φ, log Φ and φ/Φ follow from it without
//! subtracting near-equals, on the whole line.

pub(crate) mod chi_square;
mod digamma;
mod incomplete_beta;
mod incomplete_gamma;

pub(crate) use digamma::{digamma, log_minus_digamma};
pub(crate) use incomplete_beta::beta_lower;
pub(crate) use incomplete_gamma::{gamma_from, gamma_upper, ln_gamma_rest, ln_poisson, log_gamma_from};

/// log Σ e^x; −∞ for an empty list.
pub(crate) fn log_sum_exp(logs: &[f64]) -> f64 {
    let top = logs.iter().fold(f64::NEG_INFINITY, |a, x| a.max(*x));
    if top.is_infinite() { top } else { top + logs.iter().map(|x| (x - top).exp()).sum::<f64>().ln() }
}

const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// Chebyshev coefficients of (1 + s)·R(s) in t = (s − 5)/(s + 5), for s ∈ [0, ∞).
const MILLS: [f64; 24] = [
    1.1579976221305188,
    -0.1633449388451398,
    -0.013683136055781576,
    0.03082200019810004,
    -0.016220073012046806,
    0.005616691016460094,
    -0.0014133933783549216,
    0.0002502625460725661,
    -2.468907239728387e-05,
    -1.0107964061837592e-06,
    7.495419179740573e-07,
    -7.600274268728337e-08,
    -1.1574771441328644e-08,
    3.333386472599843e-09,
    7.538039628171347e-11,
    -1.1104247263727494e-10,
    3.509243776551059e-12,
    3.6894953861750955e-12,
    -2.3376697776383095e-13,
    -1.3271797523541405e-13,
    9.921706995888276e-15,
    5.276004995455379e-15,
    -3.373097694187922e-16,
    -2.2804338776379946e-16,
];

/// Σ c_k T_k(t), by Clenshaw's recurrence.
fn chebyshev(coefficients: &[f64], t: f64) -> f64 {
    let (mut b1, mut b2) = (0.0, 0.0);
    for &c in coefficients[1..].iter().rev() {
        (b1, b2) = (2.0 * t * b1 - b2 + c, b1);
    }
    t * b1 - b2 + coefficients[0]
}

/// Mills ratio R(s) = Φ(−s)/φ(s), for s ≥ 0.
fn mills(s: f64) -> f64 {
    if s == f64::INFINITY { 0.0 } else { chebyshev(&MILLS, (s - 5.0) / (s + 5.0)) / (1.0 + s) }
}

/// φ(s). The square s² is split, so that its rounding error is not multiplied by s²/2 in the exponential.
pub(crate) fn normal_density(s: f64) -> f64 {
    let head = (s * 65536.0).round() / 65536.0;
    if s.abs() < 40.0 {
        INV_SQRT_TAU * (-0.5 * head * head).exp() * (-0.5 * (s - head) * (s + head)).exp()
    } else if s.is_nan() {
        s
    } else {
        0.0
    }
}

/// Φ(s), with a small relative error in the left tail too.
pub(crate) fn normal_cdf(s: f64) -> f64 {
    normal_cdf_and_density(s).0
}

/// Φ(s) and φ(s).
pub(crate) fn normal_cdf_and_density(s: f64) -> (f64, f64) {
    let density = normal_density(s);
    let tail = mills(s.abs()) * density;
    (if s < 0.0 { tail } else { 1.0 - tail }, density)
}

/// s with Φ(−s) = tail, for 0 < tail ≤ ½.
///
/// Newton's method on log Φ(−s), which is concave: after the first step from 0, the iterates decrease to the root
/// and never pass it.
pub(crate) fn upper_quantile(tail: f64) -> f64 {
    let mut s = 0.0;
    for _ in 0..64 {
        let step = (log_normal_cdf(-s) - tail.ln()) / inverse_mills(-s);
        s += step;
        if step.abs() <= f64::EPSILON * s.abs() {
            break;
        }
    }
    s
}

/// s ≤ 0 with Φ(s) = tail, for 10⁻¹⁷ < tail ≤ ½, to an absolute error of 1e-14.
///
/// Hastings' rational form is within 4.5e-4; each of two steps of Newton's method on log Φ squares the error, with a factor below ½.
pub(crate) fn normal_quantile(tail: f64) -> f64 {
    let log = tail.ln();
    let t = (-2.0 * log).sqrt();
    let above = (0.010_328 * t + 0.802_853) * t + 2.515_517;
    let below = ((0.001_308 * t + 0.189_269) * t + 1.432_788) * t + 1.0;
    let mut s = t - above / below;
    for _ in 0..2 {
        let ratio = mills(s);
        s += ((ratio * normal_density(s)).ln() - log) * ratio;
    }
    -s
}

/// log Φ(s), to a relative error of 1e-14 on the whole line:
/// ```text
/// log R(−s) − s²/2 − ½ log 2π  for s < 0,      log1p(−R(s)·φ(s))  for s ≥ 0
/// ```
pub(crate) fn log_normal_cdf(s: f64) -> f64 {
    if s == f64::NEG_INFINITY {
        s
    } else if s < 0.0 {
        mills(-s).ln() - 0.5 * s * s - HALF_LN_TAU
    } else {
        (-mills(s) * normal_density(s)).ln_1p()
    }
}

/// φ(s)/Φ(s), the derivative of log Φ, to a relative error of 1e-14 on the whole line:
/// ```text
/// 1/R(−s)  for s < 0,      φ(s)/(1 − R(s)·φ(s))  for s ≥ 0
/// ```
pub(crate) fn inverse_mills(s: f64) -> f64 {
    if s < 0.0 {
        mills(-s).recip()
    } else {
        let density = normal_density(s);
        density / (1.0 - mills(s) * density)
    }
}

/// −(log Φ)″(s) = ρ(ρ + s), ρ = φ(s)/Φ(s): between 0 and 1, decreasing.
///
/// For s ≪ 0 the sum ρ + s cancels; there it is the continued fraction of the Mills ratio without its first
/// term, ρ + s = 1/(x + 2/(x + 3/(x + …))), x = −s.
pub(crate) fn log_normal_cdf_curvature(s: f64) -> f64 {
    let ratio = inverse_mills(s);
    if s > -4.0 {
        return ratio * (ratio + s);
    }
    let excess = (2..=60).rev().fold(-s, |tail, k| -s + f64::from(k) / tail).recip();
    (excess - s) * excess
}

/// log |Γ(x)|.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma_r(x).0
}

/// 1/(1 + e⁻ˣ), with a small relative error in the left tail too.
pub(crate) fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x < 0.0 { e / (1.0 + e) } else { (1.0 + e).recip() }
}

/// log(1 + eˣ) = max(x, 0) + log1p(e^−|x|).
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_curvature_of_log_phi_keeps_its_digits_in_the_tail() {
        // ρ(ρ+s) = 1 − 1/s² + 6/s⁴ − 50/s⁶ + … for s → −∞.
        for s in [-1e8f64, -1e4, -300.0, -60.0] {
            let y = 1.0 / (s * s);
            let series = 1.0 - y * (1.0 - y * (6.0 - 50.0 * y));
            let value = super::log_normal_cdf_curvature(s);
            assert!((value - series).abs() < 1e-13 + 600.0 * y.powi(4), "{s}: {value} {series}");
        }
        let (left, right) =
            (super::log_normal_cdf_curvature(-4.0), super::log_normal_cdf_curvature(-4.0 + 1e-12));
        assert!((left - right).abs() < 1e-11);
    }

    use super::*;
    use std::f64::consts::LN_2;

    /// (s, log Φ(s), φ(s)/Φ(s)), from 60-digit arithmetic.
    const NORMAL: [(f64, f64, f64); 37] = [
        (-1e+200, f64::NEG_INFINITY, 1e+200),
        (-100000000.0, -5000000000000019.0, 100000000.00000001),
        (-10000.0, -50000010.12927891, 10000.000099999997),
        (-300.0, -45006.62273211866, 300.0033332592634),
        (-40.0, -804.6084420137538, 40.02496884720726),
        (-37.5, -707.6689893175072, 37.526628874883656),
        (-20.1, -205.92711840194823, 20.149507950077545),
        (-10.0, -53.23128515051247, 10.098093233962512),
        (-5.3, -16.664525302382472, 5.47716027785666),
        (-3.0, -6.607726221510349, 3.2830986549304364),
        (-2.0, -3.783184333682032, 2.373215532822841),
        (-1.5, -2.7059444008238898, 1.938677166622543),
        (-1.0, -1.8410216450092636, 1.525135276160981),
        (-0.7, -1.4189677615315315, 1.2904993394581665),
        (-0.3, -0.9621028181688507, 0.9981659688584833),
        (-0.1, -0.7761545927302733, 0.8626174715309362),
        (-0.001, -0.6939453834669652, 0.7985212895629114),
        (-1e-10, -0.6931471806397338, 0.7978845608665274),
        (0.0, -LN_2, 0.7978845608028654),
        (1e-10, -0.6931471804801569, 0.7978845607392033),
        (0.001, -0.6923496142726883, 0.7972480500564331),
        (0.1, -0.6165050101150263, 0.7353317485057806),
        (0.3, -0.4814101615884812, 0.6172208536127345),
        (0.6744897501960817, -0.28768207245178096, 0.4237020969121426),
        (1.0, -0.17275377902344988, 0.2875999709391784),
        (1.2815515594457831, -0.10536051684708438, 0.19499814834765067),
        (2.0, -0.02301290932896349, 0.055247862678989956),
        (3.0, -0.0013508099647481938, 0.004437839042125664),
        (4.7, -1.3008082999680308e-06, 6.369833464793947e-06),
        (6.0, -9.865876455243758e-10, 6.075882855817676e-09),
        (8.2, -1.2019351542735859e-16, 9.998378748497213e-16),
        (10.3, -3.5230650789264124e-25, 3.6623451685553836e-24),
        (15.0, -3.670966199312751e-51, 5.530709549844416e-50),
        (20.1, -3.6896808637213897e-90, 7.434525389680312e-89),
        (27.3, -2.1207986243198492e-164, 5.79752802910885e-163),
        (33.3, -1.93050550592784e-243, 6.434370239339347e-242),
        (37.5, -4.605353009581955e-308, 1.7282337322841054e-306),
    ];

    /// (x, ψ(x), log |Γ(x)|), from 60-digit arithmetic.
    const GAMMA: [(f64, f64, f64); 30] = [
        (1e-300, -9.999999999999999e+299, 690.7755278982137),
        (1e-10, -10000000000.577215, 23.025850929882736),
        (0.001, -1000.5755719318103, 6.907178885383853),
        (0.1, -10.423754940411076, 2.252712651734206),
        (0.5, -1.9635100260214235, 0.5723649429247001),
        (0.9, -0.7549269499470513, 0.06637623973474295),
        (1.0, -0.5772156649015329, 0.0),
        (1.2, -0.2890398965921884, -0.08537409000331583),
        (1.46, -0.0015805619870834522, -0.12148500100400743),
        (1.4616321449683622, -9.241265521729427e-17, -0.12148629053584961),
        (1.4616321449683625, 1.2245374622004068e-16, -0.12148629053584961),
        (1.5, 0.03648997397857652, -0.12078223763524522),
        (1.9, 0.35618416116405965, -0.03898427592308336),
        (2.0, 0.42278433509846713, 0.0),
        (2.5, 0.7031566406452432, 0.2846828704729192),
        (3.7, 1.1671535393615113, 1.428072326665388),
        (6.5, 1.792911330399933, 5.662562059857142),
        (9.99, 2.250700372831201, 12.779315214350193),
        (10.0, 2.251752589066721, 12.801827480081469),
        (12.3, 2.468398400301138, 18.238983407092245),
        (50.0, 3.901989673427892, 144.5657439463449),
        (1000.0, 6.907255195648812, 5905.220423209181),
        (10000000000.0, 23.025850929890456, 220258509288.81058),
        (1e+300, 690.7755278982137, 6.897755278982137e+302),
        (-0.5, 0.03648997397857652, 1.2655121234846454),
        (-0.1, 9.245073050052948, 2.3689613327287886),
        (-1.5, 0.7031566406452432, 0.860047015376481),
        (-2.3, 3.3173231575618227, 0.36956666345500805),
        (-10.7, 0.13374481244706443, -15.416789096416636),
        (-100.25, 7.754238959208646, -363.4009232278215),
    ];

    fn relative_error(found: f64, expected: f64) -> f64 {
        if found.to_bits() == expected.to_bits() { 0.0 } else { ((found - expected) / expected).abs() }
    }

    #[test]
    fn log_normal_cdf_and_its_slope_hold_on_the_whole_line() {
        for (s, log_cdf, slope) in NORMAL {
            assert!(relative_error(log_normal_cdf(s), log_cdf) < 2e-15, "log Φ({s}) = {}", log_normal_cdf(s));
            assert!(relative_error(inverse_mills(s), slope) < 2e-15, "φ/Φ({s}) = {}", inverse_mills(s));
            assert!(relative_error(normal_cdf(s), log_cdf.exp()) < 2e-13 || log_cdf < -700.0, "Φ({s})");
        }
    }

    #[test]
    fn normal_functions_have_their_limits() {
        let inf = f64::INFINITY;
        assert_eq!((log_normal_cdf(inf), inverse_mills(inf), normal_cdf(inf)), (0.0, 0.0, 1.0));
        assert_eq!((log_normal_cdf(-inf), inverse_mills(-inf), normal_cdf(-inf)), (-inf, inf, 0.0));
        let nan = f64::NAN;
        assert!(log_normal_cdf(nan).is_nan() && inverse_mills(nan).is_nan() && normal_cdf(nan).is_nan());
    }

    #[test]
    fn branches_of_the_normal_functions_meet_at_zero() {
        assert!(relative_error(log_normal_cdf(-f64::MIN_POSITIVE), -LN_2) < 1e-15);
        assert!(relative_error(log_normal_cdf(0.0), -LN_2) < 1e-15);
    }

    #[test]
    fn gamma_functions_hold_for_small_large_and_negative_arguments() {
        for (x, psi, log_gamma) in GAMMA {
            // On the negative axis zeros are not factored out: only the absolute error is small there.
            let scale = if x < 0.0 { 10.0 } else { 0.0 };
            assert!((digamma(x) - psi).abs() <= 3e-15 * psi.abs().max(scale), "ψ({x}) = {}", digamma(x));
            assert!(
                (ln_gamma(x) - log_gamma).abs() <= 2e-15 * log_gamma.abs().max(scale),
                "ln Γ({x}) = {}",
                ln_gamma(x)
            );
        }
        assert!([0.0, -1.0, -7.0].iter().all(|&x| digamma(x).is_nan()));
        assert!(digamma(f64::INFINITY).is_infinite());
    }

    #[test]
    fn logistic_functions_neither_overflow_nor_cancel() {
        assert_eq!((softplus(800.0), softplus(-800.0)), (800.0, 0.0));
        assert!(relative_error(softplus(-700.0), (-700.0f64).exp()) < 1e-15);
        assert_eq!((sigmoid(800.0), sigmoid(-800.0), sigmoid(0.0)), (1.0, 0.0, 0.5));
        assert!(relative_error(sigmoid(-40.0), (-40.0f64).exp()) < 1e-15);
        assert!(softplus(f64::NAN).is_nan() && sigmoid(f64::NAN).is_nan());
    }
}
