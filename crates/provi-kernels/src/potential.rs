//! What one observation adds to −log p as a function of its linear predictor, lane by lane.
//!
//! The bodies are straight-line scalar code, which the compiler turns into lanes inside a loop of eight.

use crate::lanes::Simd;
use crate::link::{ROUND, exp_one, log1p_near, log1p_one};

/// φ with its first two derivatives.
pub(crate) trait Potential: Copy {
    fn at<S: Simd>(self, simd: S, s: f64) -> [f64; 3];

    /// The textbook formulas.
    fn plain(self, s: f64) -> [f64; 3];
}

/// φ(s) = log(1 + eˢ), the loss of a binary response 0 with the logit link.
/// ```text
/// e = e^(−|s|),  r = 1/(1 + e):   φ = max(s, 0) + log1p(e),   φ′ = r or er,   φ″ = er²
/// ```
#[derive(Clone, Copy)]
pub(crate) struct Softplus;

impl Potential for Softplus {
    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64) -> [f64; 3] {
        let e = exp_one(simd, -s.abs());
        let r = 1.0 / (1.0 + e);
        let softplus = (if s > 0.0 { s } else { 0.0 }) + log1p_one(simd, e);
        [softplus, if s >= 0.0 { r } else { e * r }, e * r * r]
    }

    fn plain(self, s: f64) -> [f64; 3] {
        let e = (-s.abs()).exp();
        let r = 1.0 / (1.0 + e);
        [s.max(0.0) + e.ln_1p(), if s >= 0.0 { r } else { e * r }, e * r * r]
    }
}

/// φ(s) = −log Φ(s), the loss of a binary response 1 with the probit link; φ′ = −ρ, φ″ = ρ(ρ + s), ρ = density/Φ.
///
/// For s < 0 and a = −s, ρ = a + G(a) with G > 0 from one Chebyshev series, so that nothing cancels:
/// ```text
/// s < 0:   φ = a²/2 + ½ log 2π + log ρ,   φ″ = ρG
/// s ≥ 0:   q = density/(s + G(s)) = Φ(−s):   φ = −log1p(−q),   ρ = density/(1 − q)
/// ```
/// All three have relative errors below 4e-15; they underflow with the density beyond s = 38.6.
#[derive(Clone, Copy)]
pub(crate) struct NegLogNormalCdf;

/// Chebyshev coefficients of (1 + a)·G(a) in (a − 4)/(a + 4) for a ∈ [0, ∞), G(a) = 1/R(a) − a, R the Mills ratio.
pub const EXCESS: [f64; 29] = [
    1.0168805564426282,
    0.06385599300140679,
    -0.11509035595355087,
    0.038934029049955285,
    -0.003347370576381033,
    -0.0017736338770155734,
    0.00054076040973986,
    3.902404417582679e-05,
    -4.402617067828808e-05,
    2.7612076544288964e-06,
    2.8674097969311685e-06,
    -4.995282519092665e-07,
    -1.5806245994487862e-07,
    4.938482308086009e-08,
    7.114472972821824e-09,
    -3.943344498242817e-09,
    -2.0992695898584107e-10,
    2.7542478232219564e-10,
    -3.29156814387016e-12,
    -1.716164405777426e-11,
    1.201559505276977e-12,
    9.424312178713976e-13,
    -1.279271190378952e-13,
    -4.29654024129139e-14,
    1.0402939865135318e-14,
    1.2728811508716543e-15,
    -7.396596377340524e-16,
    2.530671679501365e-17,
    4.8478954579590156e-17,
];
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

impl Potential for NegLogNormalCdf {
    #[inline(always)]
    fn at<S: Simd>(self, simd: S, s: f64) -> [f64; 3] {
        let a = s.abs();
        let left = s < 0.0;
        let excess = excess(simd, a);
        let rho_left = a + excess;
        let density = density(simd, a);
        let q = density / rho_left;
        let rho = if left { rho_left } else { density / (1.0 - q) };
        let second = if left { rho * excess } else { rho * (rho + a) };
        // One logarithm for both sides: 2ᵏ(1 + f) is ρ on the left, Φ = 1 − q on the right. ρ > √½, so k ≥ 0 there.
        const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        let k = rho_left.to_bits().wrapping_sub(SQRT_HALF) >> 52;
        let reduced = f64::from_bits(rho_left.to_bits().wrapping_sub(k << 52));
        let k = f64::from_bits(ROUND.to_bits().wrapping_add(k)) - ROUND;
        // 1 − 2q is exact for the values at which it is used.
        let low = q > 0.29;
        let (f_right, k_right) = if low { (1.0 - 2.0 * q, -1.0) } else { (-q, 0.0) };
        let (f, k) = if left { (reduced - 1.0, k) } else { (f_right, k_right) };
        let log = simd.fma(k, std::f64::consts::LN_2, log1p_near(simd, f));
        let value = if left { simd.fma(0.5 * a, a, HALF_LN_TAU) + log } else { -log };
        [value, -rho, second]
    }

    fn plain(self, s: f64) -> [f64; 3] {
        let a = s.abs();
        let t = (a - 4.0) / (a + 4.0);
        let (mut b1, mut b2) = (0.0, 0.0);
        for &c in EXCESS[1..].iter().rev() {
            (b1, b2) = (2.0 * t * b1 - b2 + c, b1);
        }
        let excess = (t * b1 - b2 + EXCESS[0]) / (1.0 + a);
        if s < 0.0 {
            let rho = a + excess;
            return [0.5 * a * a + HALF_LN_TAU + rho.ln(), -rho, rho * excess];
        }
        let head = (a.min(40.0) * 65536.0).round() / 65536.0;
        let a = a.min(40.0);
        let density = INV_SQRT_TAU * (-0.5 * head * head).exp() * (-0.5 * (a - head) * (a + head)).exp();
        let q = density / (a + excess);
        let rho = density / (1.0 - q);
        [-(-q).ln_1p(), -rho, rho * (rho + a)]
    }
}

/// A potential with the complementary log-log link, ψ as in [`cloglog_success`]:
/// ```text
/// φ(s) = gψ(s) + ρeˢ − ℓs
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cloglog {
    /// g, between 0 and 1.
    pub success: f64,
    /// ρ ≥ 0.
    pub rate: f64,
    /// ℓ ≥ 0.
    pub line: f64,
}

impl Cloglog {
    /// What a response stands for:
    /// ```text
    /// 0 ≤ y ≤ 1   yψ(s) + (1 − y)eˢ       the share of successes of a trial
    /// y > 1       ψ(s) + (y − 1)eˢ        an event within a span: eˢ is the hazard of the span, and y − 1 times that passed before it
    /// y ≤ −2      ψ(s) − eˢ/(y + 1)       the same where less than that passed before it
    /// y = −1      eˢ − s                  an event that was seen
    /// ```
    #[inline(always)]
    pub fn of(y: f64) -> Self {
        let (success, rate, line) = match y {
            y if y >= 0.0 => (y.min(1.0), (1.0 - y).abs(), 0.0),
            y if y <= -2.0 => (1.0, 1.0 / (-1.0 - y), 0.0),
            _ => (0.0, 1.0, 1.0),
        };
        Self { success, rate, line }
    }

    /// The response of an event within a span before which ρ times its hazard passed. [`Cloglog::of`] finds ρ without cancellation.
    pub fn within(before: f64) -> f64 {
        match before {
            x if x >= 1.0 => 1.0 + x,
            x if x > 0.0 => -1.0 - 1.0 / x,
            _ => 1.0,
        }
    }

    /// φ and its first two derivatives. A part that is not there is not computed, so that it cannot overflow.
    #[inline(always)]
    pub fn at(self, s: f64) -> [f64; 3] {
        let Self { success, rate, line } = self;
        let rate = if rate > 0.0 { rate * s.exp() } else { 0.0 };
        let mut out = [rate, rate, rate];
        if success > 0.0 {
            let parts = cloglog_success(s);
            out.iter_mut().zip(parts).for_each(|(out, x)| *out += success * x);
        }
        if line > 0.0 {
            out[0] -= line * s;
            out[1] -= line;
        }
        out
    }
}

/// ψ(s) = −log(1 − e^{−r}), r = eˢ, the loss of a success with the complementary log-log link, with its first two derivatives:
/// ```text
/// h = r/(e^r − 1):   ψ' = −h,   ψ'' = h(h + r − 1)
/// ```
/// h + r − 1 = r/2 + r²/12 − r⁴/720 + … is summed for small r, where it would cancel.
pub fn cloglog_success(s: f64) -> [f64; 3] {
    let r = s.exp();
    if r > 745.0 {
        return [0.0; 3];
    }
    let value = if r > std::f64::consts::LN_2 { -(-(-r).exp()).ln_1p() } else { -(-(-r).exp_m1()).ln() };
    // Far to the left r underflows, and −log(1 − e^{−r}) = −s + r/2.
    let value = if s < -36.0 { 0.5 * r - s } else { value };
    let slope = if r > 0.0 { r / r.exp_m1() } else { 1.0 };
    let excess = if r < 0.5 {
        /// B_{2k}/(2k)! for k = 1, 2, …
        const SERIES: [f64; 7] = [
            1.0 / 12.0,
            -1.0 / 720.0,
            1.0 / 30_240.0,
            -1.0 / 1_209_600.0,
            1.0 / 47_900_160.0,
            -691.0 / 1_307_674_368_000.0,
            1.0 / 74_724_249_600.0,
        ];
        let w = r * r;
        r * 0.5 + w * SERIES.iter().rev().fold(0.0, |sum, b| sum * w + b)
    } else {
        slope + r - 1.0
    };
    [value, -slope, slope * excess]
}

/// G(a) for a ≥ 0, by Clenshaw's recurrence.
#[inline(always)]
fn excess<S: Simd>(simd: S, a: f64) -> f64 {
    let t = (a - 4.0) / (a + 4.0);
    let (mut b1, mut b2) = (EXCESS[28], 0.0);
    for k in (1..28).rev() {
        (b1, b2) = (simd.fma(2.0 * t, b1, EXCESS[k] - b2), b1);
    }
    simd.fma(t, b1, EXCESS[0] - b2) / (1.0 + a)
}

/// e^(−a²/2)/√2π for a ≥ 0. The square is split, so that its rounding is not multiplied by a²/2 in the exponential.
#[inline(always)]
fn density<S: Simd>(simd: S, a: f64) -> f64 {
    // Beyond 40 the density is zero, and the intermediate results below would overflow.
    let a = if a > 40.0 { 40.0 } else { a };
    let head = ((a * 65536.0 + ROUND) - ROUND) * (1.0 / 65536.0);
    let rest = -0.5 * (a - head) * (a + head);
    // |rest| < 4e-4.
    let series = simd.fma(rest, 1.0 / 24.0, 1.0 / 6.0);
    let series = simd.fma(rest, series, 0.5);
    let series = simd.fma(rest, series, 1.0);
    INV_SQRT_TAU * exp_one(simd, -0.5 * head * head) * simd.fma(rest, series, 1.0)
}

#[cfg(test)]
mod tests {
    use super::{NegLogNormalCdf, Potential};
    use crate::lanes::Portable;

    /// s, −log Φ(s), ρ and ρ(ρ + s), from fifty digits.
    #[allow(clippy::approx_constant, reason = "values of functions, some of which have names")]
    const REFERENCE: [[f64; 4]; 27] = [
        [0.0, 0.6931471805599453, 0.7978845608028654, 0.6366197723675814],
        [1e-09, 0.6931471797620608, 0.7978845601662455, 0.6366197721495678],
        [0.3, 0.4814101615884812, 0.6172208536127345, 0.5661278382182529],
        [0.5533, 0.3425311555951932, 0.48216069778142934, 0.49925845256753976],
        [0.56, 0.33931187095789855, 0.4788218543918264, 0.4974106067026502],
        [0.75, 0.25699426683836524, 0.389382056735927, 0.44365492865984596],
        [1.0, 0.17275377902344988, 0.2875999709391784, 0.3703137142233946],
        [2.5, 0.006229025485860002, 0.017637825486916735, 0.04440565660519877],
        [4.0, 3.167174337748927e-05, 0.00013383446446857514, 0.0005353557695381802],
        [4.7, 1.3008082999680308e-06, 6.369833464793947e-06, 2.993825785930992e-05],
        [6.0, 9.865876455243758e-10, 6.075882855817676e-09, 3.645529717182241e-08],
        [9.3, 7.022284240441625e-21, 6.604579860739295e-20, 6.142259270487545e-19],
        [20.0, 2.7536241186062337e-89, 5.520948362159764e-88, 1.1041896724319527e-86],
        [30.5, 1.3029379131780763e-204, 3.97822342728212e-203, 1.2133581453210467e-201],
        [37.9, 1.286769202e-314, 4.88024573402e-313, 1.849613133198e-311],
        [-1e-09, 0.6931471813578298, 0.7978845614394852, 0.636619772585595],
        [-0.2, 0.8657395226815953, 0.9294158480856429, 0.6779306490556263],
        [-0.8, 1.5518513191877767, 1.3674022691824204, 0.775867150419296],
        [-2.0, 3.783184333682032, 2.373215532822841, 0.8857208995859187],
        [-3.9999, 10.359678930579474, 4.225511811862594, 0.9533253759211127],
        [-4.0, 10.360101486527292, 4.225607144489471, 0.9533271616025774],
        [-5.5, 17.77937635262526, 5.671410313897305, 0.9721382221455538],
        [-8.0, 35.01343715991455, 8.121368112236112, 0.9856751165566591],
        [-15.25, 119.92902268387525, 15.315021600074266, 0.995807209608763],
        [-40.0, 804.6084420137538, 40.02496884720726, 0.9993773316214086],
        [-300.0, 45006.62273211866, 300.0033332592634, 0.999988889629561],
        [-100000.0, 5000000012.431864, 100000.00001, 0.9999999999],
    ];

    #[test]
    fn the_probit_potential_is_right_to_fourteen_digits_on_the_whole_line() {
        for [s, value, rho, second] in REFERENCE {
            for found in [NegLogNormalCdf.at(Portable, s), NegLogNormalCdf.plain(s)] {
                for (found, truth) in found.into_iter().zip([value, -rho, second]) {
                    // The last term is for results below the normal range.
                    let room = 8e-15 * truth.abs() + 1e-322;
                    assert!((found - truth).abs() < room, "s = {s}: {found:e}, not {truth:e}");
                }
            }
        }
    }

    #[test]
    fn the_far_ends_are_finite_and_of_the_right_sign() {
        for s in [40.0, 1e3, 1e300] {
            let [value, slope, second] = NegLogNormalCdf.at(Portable, s);
            assert!(value.abs() < 1e-300 && slope.abs() < 1e-300 && second.abs() < 1e-297, "{s}");
        }
        let [value, slope, second] = NegLogNormalCdf.at(Portable, -1e150);
        assert!((value / 0.5e300 - 1.0).abs() < 1e-14);
        assert!((slope / -1e150 - 1.0).abs() < 1e-15 && (second - 1.0).abs() < 1e-15);
    }
}
