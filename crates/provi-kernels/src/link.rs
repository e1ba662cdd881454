//! Element-wise exp, softplus and sigmoid. The result of an entry does not depend on its position.
//!
//! The bodies are straight-line scalar code in loops of eight, which the compiler turns into lanes.

use crate::{dispatch::dispatch, lanes::Simd};

/// softplus(s) = log(1 + eˢ) and sigmoid(s) = 1/(1 + e⁻ˢ), entry by entry.
///
/// With e = e^(−|s|), so that nothing overflows and both tails are accurate:
/// ```text
/// softplus = max(s, 0) + log1p(e),   sigmoid = 1/(1 + e) for s ≥ 0,  e/(1 + e) for s < 0
/// ```
/// Both are within 4 ulp for every finite s, including subnormal results (the largest errors seen in tests are 1.9
/// and 2.3); they underflow to zero below s = −745.13. Cost: an exp, a log and two divisions, 2 to 3 ns with
/// AVX-512.
///
/// # Panics
/// If the three lengths differ.
pub fn logistic(s: &[f64], softplus: &mut [f64], sigmoid: &mut [f64]) {
    assert_eq!(s.len(), softplus.len(), "logistic: lengths of s and softplus");
    assert_eq!(s.len(), sigmoid.len(), "logistic: lengths of s and sigmoid");
    dispatch!(plain::logistic, logistic_lanes(s: &[f64], softplus: &mut [f64], sigmoid: &mut [f64]));
}

/// eˣ, entry by entry, within 2 ulp (the largest error seen in tests is 1.01).
///
/// ∞ above 709.78; subnormal below −708.4, where it is as accurate in units of its last place; zero below −745.13;
/// NaN for NaN.
///
/// # Panics
/// If the lengths differ.
pub fn exp(x: &[f64], out: &mut [f64]) {
    assert_eq!(x.len(), out.len(), "exp: lengths of x and out");
    dispatch!(plain::exp, exp_lanes(x: &[f64], out: &mut [f64]));
}

#[inline(always)]
fn logistic_lanes<S: Simd>(simd: S, s: &[f64], softplus: &mut [f64], sigmoid: &mut [f64]) {
    let ((s, s_tail), (p, p_tail), (q, q_tail)) =
        (s.as_chunks(), softplus.as_chunks_mut(), sigmoid.as_chunks_mut());
    for ((s, p), q) in s.iter().zip(p).zip(q) {
        (*p, *q) = logistic_eight(simd, *s);
    }
    let (p, q) = logistic_eight(simd, padded(s_tail));
    p_tail.copy_from_slice(&p[..s_tail.len()]);
    q_tail.copy_from_slice(&q[..s_tail.len()]);
}

#[inline(always)]
fn logistic_eight<S: Simd>(simd: S, s: [f64; 8]) -> ([f64; 8], [f64; 8]) {
    let (mut p, mut q) = ([0.0; 8], [0.0; 8]);
    for l in 0..8 {
        let e = exp_one(simd, -s[l].abs());
        let r = 1.0 / (1.0 + e);
        p[l] = (if s[l] > 0.0 { s[l] } else { 0.0 }) + log1p_one(simd, e);
        q[l] = if s[l] >= 0.0 { r } else { e * r };
    }
    (p, q)
}

#[inline(always)]
fn exp_lanes<S: Simd>(simd: S, x: &[f64], out: &mut [f64]) {
    let ((x, x_tail), (out, out_tail)) = (x.as_chunks(), out.as_chunks_mut());
    for (x, out) in x.iter().zip(out) {
        *out = exp_eight(simd, *x);
    }
    out_tail.copy_from_slice(&exp_eight(simd, padded(x_tail))[..x_tail.len()]);
}

#[inline(always)]
fn exp_eight<S: Simd>(simd: S, x: [f64; 8]) -> [f64; 8] {
    let mut out = [0.0; 8];
    for l in 0..8 {
        out[l] = exp_one(simd, x[l]);
    }
    out
}

#[inline(always)]
fn padded(tail: &[f64]) -> [f64; 8] {
    let mut eight = [0.0; 8];
    eight[..tail.len()].copy_from_slice(tail);
    eight
}

/// 1.5·2⁵²: adding it to a small number leaves the nearest integer in the low bits.
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0;

/// eˣ = 2ⁿeʳ with n the integer nearest to x/ln 2 and |r| ≤ ln 2/2.
#[inline(always)]
pub(crate) fn exp_one<S: Simd>(simd: S, x: f64) -> f64 {
    // Beyond these limits the answer is 0 or ∞; written so that a NaN stays a NaN.
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let (y, n) = exp_parts(simd, x);
    // 2ⁿ as a product of two powers, for n from −1076 to 1024: the first product is exact, the second rounds once.
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// eʳ and n.
#[inline(always)]
fn exp_parts<S: Simd>(simd: S, x: f64) -> (f64, i64) {
    // ln 2 in two parts; the upper has 41 bits, so that its product with n is exact.
    const LN_2_HIGH: f64 = 0.693_147_180_559_663;
    const LN_2_LOW: f64 = 2.823_529_056_303_157_7e-13;
    let shifted = simd.fma(x, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = simd.fma(n, -LN_2_LOW, simd.fma(n, -LN_2_HIGH, x));
    // Even and odd powers separately: two short chains instead of a long one.
    let square = r * r;
    let odd = simd.fma(2.510_038_549_551_032e-8, square, 2.755_726_845_999_706_4e-6);
    let odd = simd.fma(odd, square, 0.000_198_412_698_630_536_18);
    let odd = simd.fma(odd, square, 0.008_333_333_333_330_062);
    let odd = simd.fma(odd, square, 0.166_666_666_666_666_69);
    let even = simd.fma(2.762_008_844_540_974_6e-7, square, 2.480_152_129_595_437_6e-5);
    let even = simd.fma(even, square, 0.001_388_888_891_721_371_7);
    let even = simd.fma(even, square, 0.041_666_666_666_624_13);
    let even = simd.fma(even, square, 0.500_000_000_000_000_1);
    let y = 1.0 + simd.fma(square, simd.fma(odd, r, even), r);
    (y, (shifted.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64))
}

#[inline(always)]
fn power_of_two(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(1023) << 52) as u64)
}

/// log(1 + e) for e in [0, 1]: where e > √2 − 1, as ln 2 + log(1 + f) with f = (e − 1)/2.
#[inline(always)]
pub(crate) fn log1p_one<S: Simd>(simd: S, e: f64) -> f64 {
    let upper = e > 0.414_213_562_373_095_03;
    let f = if upper { 0.5 * (e - 1.0) } else { e };
    (if upper { std::f64::consts::LN_2 } else { 0.0 }) + log1p_near(simd, f)
}

/// log(1 + f) for 1 + f between √½ and √2:
/// ```text
/// log(1 + f) = f − s(f − R(s²)),   s = f/(2 + f),   |s| < 0.172
/// ```
#[inline(always)]
pub(crate) fn log1p_near<S: Simd>(simd: S, f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let p = 0.146_164_496_850_434_06;
    let p = simd.fma(p, z, 0.153_317_216_005_560_42);
    let p = simd.fma(p, z, 0.181_828_891_252_617_23);
    let p = simd.fma(p, z, 0.222_222_111_347_950_8);
    let p = simd.fma(p, z, 0.285_714_286_259_754_87);
    let p = simd.fma(p, z, 0.399_999_999_998_995_05);
    let p = simd.fma(p, z, 0.666_666_666_666_667);
    simd.fma(-s, simd.fma(-z, p, f), f)
}

mod plain {
    pub(super) fn logistic(s: &[f64], softplus: &mut [f64], sigmoid: &mut [f64]) {
        for ((s, p), q) in s.iter().zip(softplus).zip(sigmoid) {
            let e = (-s.abs()).exp();
            *p = s.max(0.0) + e.ln_1p();
            *q = if *s >= 0.0 { 1.0 } else { e } / (1.0 + e);
        }
    }

    pub(super) fn exp(x: &[f64], out: &mut [f64]) {
        for (x, out) in x.iter().zip(out) {
            *out = x.exp();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::{
        each_level, numbers,
        wide::{Wide, ulps},
    };

    /// Points over all magnitudes, and close to where the formulas switch.
    fn points() -> Vec<f64> {
        let mut s: Vec<f64> = numbers(1, 6000).iter().map(|x| 750.0 * x).collect();
        s.extend(numbers(2, 6000).iter().map(|x| 40.0 * x));
        s.extend(numbers(3, 6000).iter().map(|x| 2.0 * x));
        s.extend(numbers(4, 2000).iter().map(|x| 1e-8 * x));
        s.extend(numbers(5, 2000).iter().map(|x| -727.0 + 19.0 * x));
        let edges =
            [0.0, 1e-300, 5e-324, 0.881_373_587_019_543, 0.346_573_590_279_972_65, 36.7, 708.4, 709.7, 745.1];
        s.extend(edges.iter().flat_map(|&x| [x, -x, x * (1.0 + 1e-12), -x * (1.0 + 1e-12)]));
        s
    }

    #[test]
    fn exp_is_within_two_ulp() {
        let x: Vec<f64> = points().into_iter().filter(|x| *x < 709.7).collect();
        let truth: Vec<Wide> = x.iter().map(|&x| Wide::exp(x)).collect();
        each_level(|| {
            let mut y = vec![0.0; x.len()];
            super::exp(&x, &mut y);
            for i in 0..x.len() {
                assert!(ulps(y[i], truth[i]) <= 1.5, "exp({:e}): {} ulp", x[i], ulps(y[i], truth[i]));
            }
        });
    }

    #[test]
    fn exp_is_right_at_the_ends() {
        let x = [
            f64::INFINITY,
            1e300,
            709.783,
            -745.14,
            -1e300,
            f64::NEG_INFINITY,
            f64::NAN,
            0.0,
            -745.13,
            709.78,
        ];
        each_level(|| {
            let mut y = [0.0; 10];
            super::exp(&x, &mut y);
            assert!(y[..3].iter().all(|&y| y.to_bits() == f64::INFINITY.to_bits()));
            assert!(y[3..6].iter().all(|&y| y.to_bits() == 0));
            assert!(y[6].is_nan() && y[7].to_bits() == 1f64.to_bits());
            assert!(y[8].to_bits() == 1 && y[9].is_finite());
        });
    }

    #[test]
    fn softplus_and_sigmoid_are_within_four_ulp() {
        let s = points();
        let truth: Vec<[Wide; 2]> = s.iter().map(|&s| [Wide::softplus(s), Wide::sigmoid(s)]).collect();
        each_level(|| {
            let (mut p, mut q) = (vec![0.0; s.len()], vec![0.0; s.len()]);
            super::logistic(&s, &mut p, &mut q);
            for i in 0..s.len() {
                let (dp, dq) = (ulps(p[i], truth[i][0]), ulps(q[i], truth[i][1]));
                assert!(dp <= 4.0 && dq <= 4.0, "s = {:e}: softplus {dp} ulp, sigmoid {dq} ulp", s[i]);
            }
        });
    }

    #[test]
    fn the_far_tails_neither_overflow_nor_turn_negative() {
        each_level(|| {
            let s = [-f64::MAX, f64::MAX, -800.0, 800.0];
            let (mut p, mut q) = ([f64::NAN; 4], [f64::NAN; 4]);
            super::logistic(&s, &mut p, &mut q);
            assert_eq!(p.map(f64::to_bits), [0.0, f64::MAX, 0.0, 800.0].map(f64::to_bits));
            assert_eq!(q.map(f64::to_bits), [0.0, 1.0, 0.0, 1.0f64].map(f64::to_bits));
        });
    }

    #[test]
    fn an_entry_does_not_feel_its_place() {
        let s = points();
        each_level(|| {
            let (mut p, mut q) = (vec![0.0; s.len()], vec![0.0; s.len()]);
            super::logistic(&s, &mut p, &mut q);
            for i in 0..100 {
                let (mut a, mut b) = (vec![0.0; i % 17], vec![0.0; i % 17]);
                super::logistic(&s[i..][..i % 17], &mut a, &mut b);
                assert!((0..i % 17).all(|j| a[j].to_bits() == p[i + j].to_bits() && b[j].to_bits() == q[i + j].to_bits()));
            }
        });
    }
}
