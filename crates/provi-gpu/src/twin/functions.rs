//! Functions of one predictor, operation for operation as in `kernels/functions.cuh`.

use crate::family::Kind;
use provi_kernels::PROBIT_EXCESS;
use std::f64::consts::{LN_2, LOG2_E};

const ROUND: f64 = 6_755_399_441_055_744.0;
// ln 2 in two parts; the upper has 41 bits, so that its product with n is exact.
const LN_2_HIGH: f64 = 0.693_147_180_559_663;
const LN_2_LOW: f64 = 2.823_529_056_303_157_7e-13;
const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();

fn fma(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

fn power_of_two(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(1023) << 52) as u64)
}

/// e^r − 1 for |r| ≤ ln 2/2.
fn expm1_reduced(r: f64) -> f64 {
    let square = r * r;
    let odd = fma(2.510_038_549_551_032e-8, square, 2.755_726_845_999_706_4e-6);
    let odd = fma(odd, square, 0.000_198_412_698_630_536_18);
    let odd = fma(odd, square, 0.008_333_333_333_330_062);
    let odd = fma(odd, square, 0.166_666_666_666_666_69);
    let even = fma(2.762_008_844_540_974_6e-7, square, 2.480_152_129_595_437_6e-5);
    let even = fma(even, square, 0.001_388_888_891_721_371_7);
    let even = fma(even, square, 0.041_666_666_666_624_13);
    let even = fma(even, square, 0.500_000_000_000_000_1);
    fma(square, fma(odd, r, even), r)
}

/// n and r with x = n ln 2 + r; n also as an integer.
fn reduced(x: f64) -> (i64, f64) {
    let shifted = fma(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma(n, -LN_2_LOW, fma(n, -LN_2_HIGH, x));
    ((shifted.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64), r)
}

/// e^(−|t|) for |t| ≤ 708, e^−708 beyond and for a NaN.
pub(crate) fn exp_negative(t: f64) -> f64 {
    let t = t.abs();
    let x = -if t < 708.0 { t } else { 708.0 };
    let (n, r) = reduced(x);
    let y = 1.0 + expm1_reduced(r);
    f64::from_bits(y.to_bits().wrapping_add((n as u64) << 52))
}

/// eˣ.
pub(crate) fn exp_one(x: f64) -> f64 {
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let (n, r) = reduced(x);
    let y = 1.0 + expm1_reduced(r);
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// eˣ − 1 for −1 ≤ x ≤ 41: 2ⁿm + (2ⁿ − 1).
fn expm1_one(x: f64) -> f64 {
    let (n, r) = reduced(x);
    let power = power_of_two(n);
    fma(power, expm1_reduced(r), power - 1.0)
}

/// log(1 + f) for 1 + f between √½ and √2.
fn log1p_near(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let p = fma(0.146_164_496_850_434_06, z, 0.153_317_216_005_560_42);
    let p = fma(p, z, 0.181_828_891_252_617_23);
    let p = fma(p, z, 0.222_222_111_347_950_8);
    let p = fma(p, z, 0.285_714_286_259_754_87);
    let p = fma(p, z, 0.399_999_999_998_995_05);
    let p = fma(p, z, 0.666_666_666_666_667);
    fma(-s, fma(-z, p, f), f)
}

/// log(1 + e) for e in [0, 1].
fn log1p_one(e: f64) -> f64 {
    let upper = e > 0.414_213_562_373_095_03;
    let f = if upper { 0.5 * (e - 1.0) } else { e };
    (if upper { LN_2 } else { 0.0 }) + log1p_near(f)
}

/// log x for normal x > 0.
pub(crate) fn ln_one(x: f64) -> f64 {
    let k = (x.to_bits().wrapping_sub(SQRT_HALF) as i64) >> 52;
    let reduced = f64::from_bits(x.to_bits().wrapping_sub((k as u64) << 52));
    let whole = f64::from_bits(ROUND.to_bits().wrapping_add(k as u64)) - ROUND;
    fma(whole, LN_2, log1p_near(reduced - 1.0))
}

/// 1/x for x in [1, 2].
fn reciprocal_one_to_two(x: f64) -> f64 {
    let mut r = fma(x, fma(x, 32.0 / 99.0, -144.0 / 99.0), 210.0 / 99.0);
    for _ in 0..2 {
        let h = fma(-x, r, 1.0);
        r = fma(r, fma(h, h, h), r);
    }
    r
}

/// log(1 + eˢ) and its derivatives.
fn softplus(s: f64) -> [f64; 3] {
    let e = exp_negative(s);
    let r = reciprocal_one_to_two(1.0 + e);
    let value = (if s > 0.0 { s } else { 0.0 }) + log1p_one(e);
    let er = e * r;
    [value, if s >= 0.0 { r } else { er }, er * r]
}

/// e^(−a²/2)/√2π for a ≥ 0; the square is split.
fn normal_density(a: f64) -> f64 {
    let a = if a > 40.0 { 40.0 } else { a };
    let head = ((a * 65536.0 + ROUND) - ROUND) * (1.0 / 65536.0);
    let rest = -0.5 * (a - head) * (a + head);
    let series = fma(rest, 1.0 / 24.0, 1.0 / 6.0);
    let series = fma(rest, series, 0.5);
    let series = fma(rest, series, 1.0);
    0.398_942_280_401_432_7 * exp_one(-0.5 * head * head) * fma(rest, series, 1.0)
}

/// −log Φ(s) and its derivatives.
fn neg_log_normal_cdf(s: f64) -> [f64; 3] {
    let (a, left) = (s.abs(), s < 0.0);
    let t = (a - 4.0) / (a + 4.0);
    let (mut b1, mut b2) = (PROBIT_EXCESS[28], 0.0);
    for k in (1..28).rev() {
        (b1, b2) = (fma(2.0 * t, b1, PROBIT_EXCESS[k] - b2), b1);
    }
    let excess = fma(t, b1, PROBIT_EXCESS[0] - b2) / (1.0 + a);
    let rho_left = a + excess;
    let density = normal_density(a);
    let q = density / rho_left;
    let rho = if left { rho_left } else { density / (1.0 - q) };
    let second = if left { rho * excess } else { rho * (rho + a) };
    let k = rho_left.to_bits().wrapping_sub(SQRT_HALF) >> 52;
    let reduced = f64::from_bits(rho_left.to_bits().wrapping_sub(k << 52));
    let whole = f64::from_bits(ROUND.to_bits().wrapping_add(k)) - ROUND;
    let (f, whole) = match (left, q > 0.29) {
        (true, _) => (reduced - 1.0, whole),
        (false, true) => (1.0 - 2.0 * q, -1.0),
        (false, false) => (-q, 0.0),
    };
    let log = fma(whole, LN_2, log1p_near(f));
    let value = if left { fma(0.5 * a, a, 0.918_938_533_204_672_8) + log } else { -log };
    [value, -rho, second]
}

/// −log(1 − e^{−r}), r = eˢ, and its derivatives.
fn cloglog_success(s: f64) -> [f64; 3] {
    let r = exp_one(s);
    if r > 745.0 {
        return [0.0; 3];
    }
    let value = if s < -36.0 {
        0.5 * r - s
    } else if r > LN_2 {
        let q = exp_one(-r);
        let low = q > 0.29;
        -fma(if low { -1.0 } else { 0.0 }, LN_2, log1p_near(if low { 1.0 - 2.0 * q } else { -q }))
    } else {
        -ln_one(-expm1_one(-r))
    };
    // Written so that a NaN takes the first branch, as on the card.
    let slope = if r <= 0.0 || r.is_nan() {
        1.0
    } else if r > 40.0 {
        r * exp_one(-r)
    } else {
        r / expm1_one(r)
    };
    let excess = if r < 0.5 {
        let w = r * r;
        let sum = fma(1.0 / 74_724_249_600.0, w, -691.0 / 1_307_674_368_000.0);
        let sum = fma(sum, w, 1.0 / 47_900_160.0);
        let sum = fma(sum, w, -1.0 / 1_209_600.0);
        let sum = fma(sum, w, 1.0 / 30_240.0);
        let sum = fma(sum, w, -1.0 / 720.0);
        let sum = fma(sum, w, 1.0 / 12.0);
        fma(w, sum, r * 0.5)
    } else {
        slope + r - 1.0
    };
    [value, -slope, slope * excess]
}

/// φ, φ′ and φ″ of one row without its weight; `code` is the response as the family wants it.
pub(crate) fn potential(kind: Kind, s: f64, code: f64, parameter: f64) -> [f64; 3] {
    match kind {
        Kind::Logistic | Kind::LogisticWeighted => {
            let [value, first, second] = softplus(code * s);
            [value, code * first, second]
        }
        Kind::Binomial => {
            let [value, first, second] = softplus(s);
            [value - code * s, first - code, second]
        }
        Kind::Probit => {
            let [value, first, second] = neg_log_normal_cdf(code * s);
            [value, code * first, second]
        }
        Kind::Poisson => {
            let rate = exp_one(s);
            [rate - code * s, rate - code, rate]
        }
        Kind::Gamma => {
            let rate = code * exp_one(-s);
            [fma(parameter, s, rate), parameter - rate, rate]
        }
        Kind::Cloglog => {
            let rate = if code < 1.0 { (1.0 - code) * exp_one(s) } else { 0.0 };
            let at = cloglog_success(s);
            at.map(|x| if code > 0.0 { code * x + rate } else { rate })
        }
        Kind::Gaussian => {
            let slope = parameter * (s - code);
            [0.5 * slope * (s - code), slope, parameter]
        }
    }
}

/// What one predictor adds to the sum and the product of its draw; returns w φ′.
pub(crate) fn add(kind: Kind, s: f64, [code, weight]: [f64; 2], parameter: f64, slot: &mut [f64; 2]) -> f64 {
    if kind == Kind::Logistic {
        // φ = max(t, 0) + log(1 + e^(−|t|)), t = ±s. The logarithm of many rows is taken once, of their product.
        let e = exp_negative(s);
        let u = 1.0 + e;
        let t = if code < 0.0 { -s } else { s };
        let below = t.is_sign_negative() && !t.is_nan();
        slot[0] += if below { 0.0 } else { t };
        slot[1] *= u;
        let r = code * reciprocal_one_to_two(u);
        return if below { e * r } else { r };
    }
    let [value, first, _] = potential(kind, s, code, parameter);
    slot[0] = fma(weight, value, slot[0]);
    weight * first
}
