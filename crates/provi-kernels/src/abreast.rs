//! The functions of a logistic loss on several registers at once.
//!
//! The chain of multiply-adds on one register leaves most of the processor idle. If several registers take turns at
//! each operation, there is always work to do. The result of a lane does not depend on its position.

use crate::{lanes::Simd, link::ROUND};

/// `$call` for each of N registers.
macro_rules! each {
    ($simd:expr, $n:expr, |$i:ident| $call:expr) => {{
        let mut out = [$simd.splat(0.0); $n];
        for $i in 0..$n {
            out[$i] = $call;
        }
        out
    }};
}

/// e^(−|t|): as [`crate::link::exp_one`] down to −708, and e^−708 ≈ 3e-308 below. For terms that are added to 1 or
/// vanish. A NaN gives such a small term.
#[inline(always)]
pub(crate) fn exp_negative<S: Simd, const N: usize>(simd: S, t: [S::Vector; N]) -> [S::Vector; N] {
    // ln 2 in two parts; the upper has 41 bits, so that its product with n is exact.
    const LN_2_HIGH: f64 = 0.693_147_180_559_663;
    const LN_2_LOW: f64 = 2.823_529_056_303_157_7e-13;
    const ODD: [f64; 4] = [
        2.755_726_845_999_706_4e-6,
        0.000_198_412_698_630_536_18,
        0.008_333_333_333_330_062,
        0.166_666_666_666_666_69,
    ];
    const EVEN: [f64; 4] = [
        2.480_152_129_595_437_6e-5,
        0.001_388_888_891_721_371_7,
        0.041_666_666_666_624_13,
        0.500_000_000_000_000_1,
    ];
    let (low, round, back) = (simd.splat(-708.0), simd.splat(ROUND), simd.splat(-ROUND));
    let x = each!(simd, N, |i| simd.max(simd.negative(t[i]), low));
    let shifted = each!(simd, N, |i| simd.mul_add(x[i], simd.splat(std::f64::consts::LOG2_E), round));
    let n = each!(simd, N, |i| simd.add(shifted[i], back));
    let r = each!(simd, N, |i| simd.mul_add(n[i], simd.splat(-LN_2_HIGH), x[i]));
    let r = each!(simd, N, |i| simd.mul_add(n[i], simd.splat(-LN_2_LOW), r[i]));
    let square = each!(simd, N, |i| simd.mul(r[i], r[i]));
    let mut odd = [simd.splat(2.510_038_549_551_032e-8); N];
    let mut even = [simd.splat(2.762_008_844_540_974_6e-7); N];
    for k in 0..4 {
        odd = each!(simd, N, |i| simd.mul_add(odd[i], square[i], simd.splat(ODD[k])));
        even = each!(simd, N, |i| simd.mul_add(even[i], square[i], simd.splat(EVEN[k])));
    }
    let y = each!(simd, N, |i| simd.mul_add(odd[i], r[i], even[i]));
    let y = each!(simd, N, |i| simd.mul_add(square[i], y[i], r[i]));
    let y = each!(simd, N, |i| simd.add(simd.splat(1.0), y[i]));
    // y is in [√½, √2) and the result normal, so the exponent can be moved as an integer.
    each!(simd, N, |i| simd.scale(y[i], shifted[i]))
}

/// 1/x for x in [1, 2]: a parabola within 1/99, then twice r(1 + h + h²) with h = 1 − xr, each of which cubes the
/// error. With fused multiply-adds a division would cost more; without them, a division is used.
#[inline(always)]
pub(crate) fn reciprocal_one_to_two<S: Simd, const N: usize>(simd: S, x: [S::Vector; N]) -> [S::Vector; N] {
    let one = simd.splat(1.0);
    if !S::FUSED {
        return each!(simd, N, |i| simd.div(one, x[i]));
    }
    let r = each!(simd, N, |i| simd.mul_add(x[i], simd.splat(32.0 / 99.0), simd.splat(-144.0 / 99.0)));
    let mut r = each!(simd, N, |i| simd.mul_add(x[i], r[i], simd.splat(210.0 / 99.0)));
    let minus = each!(simd, N, |i| simd.mul(x[i], simd.splat(-1.0)));
    for _ in 0..2 {
        let h = each!(simd, N, |i| simd.mul_add(minus[i], r[i], one));
        let h = each!(simd, N, |i| simd.mul_add(h[i], h[i], h[i]));
        r = each!(simd, N, |i| simd.mul_add(r[i], h[i], r[i]));
    }
    r
}

/// φ, φ′ and φ″ of φ(s) = log(1 + eˢ), with e = e^(−|s|), u = 1 + e, and one division for both quotients:
/// ```text
/// φ = max(s, 0) + log u,   φ′ = 1/u or e/u,   φ″ = e/u²,   log(1 + f) = f − v(f − R(v²)),   v = f/(2 + f)
/// ```
/// f = e, or where e > √2 − 1, log u = ln 2 + log(1 + f) with f = (e − 1)/2.
#[inline(always)]
pub(crate) fn softplus<S: Simd, const N: usize>(simd: S, s: [S::Vector; N]) -> [[S::Vector; N]; 3] {
    const LOG: [f64; 6] = [
        0.153_317_216_005_560_42,
        0.181_828_891_252_617_23,
        0.222_222_111_347_950_8,
        0.285_714_286_259_754_87,
        0.399_999_999_998_995_05,
        0.666_666_666_666_667,
    ];
    let (zero, one, cut) = (simd.splat(0.0), simd.splat(1.0), simd.splat(0.414_213_562_373_095_03));
    let e = exp_negative(simd, s);
    let u = each!(simd, N, |i| simd.add(one, e[i]));
    // v = top/bottom.
    let top = each!(simd, N, |i| simd.less(cut, e[i], simd.add(e[i], simd.splat(-1.0)), e[i]));
    let bottom = each!(simd, N, |i| simd.add(e[i], simd.less(cut, e[i], simd.splat(3.0), simd.splat(2.0))));
    let both = each!(simd, N, |i| simd.div(one, simd.mul(u[i], bottom[i])));
    let r = each!(simd, N, |i| simd.mul(bottom[i], both[i]));
    let v = each!(simd, N, |i| simd.mul(simd.mul(top[i], u[i]), both[i]));
    let z = each!(simd, N, |i| simd.mul(v[i], v[i]));
    let mut p = [simd.splat(0.146_164_496_850_434_06); N];
    for k in 0..6 {
        p = each!(simd, N, |i| simd.mul_add(p[i], z[i], simd.splat(LOG[k])));
    }
    let f = each!(simd, N, |i| simd.less(cut, e[i], simd.mul(top[i], simd.splat(0.5)), top[i]));
    let minus = each!(simd, N, |i| simd.mul(v[i], simd.splat(-1.0)));
    let p = each!(simd, N, |i| simd.mul_add(simd.mul(z[i], simd.splat(-1.0)), p[i], f[i]));
    let log = each!(simd, N, |i| simd.mul_add(minus[i], p[i], f[i]));
    let ln_2 = simd.splat(std::f64::consts::LN_2);
    let log = each!(simd, N, |i| simd.add(simd.less(cut, e[i], ln_2, zero), log[i]));
    // In this order a NaN stays a NaN.
    let value = each!(simd, N, |i| simd.add(simd.max(zero, s[i]), log[i]));
    let er = each!(simd, N, |i| simd.mul(e[i], r[i]));
    let first = each!(simd, N, |i| simd.less(s[i], zero, er[i], r[i]));
    let second = each!(simd, N, |i| simd.mul(er[i], r[i]));
    [value, first, second]
}

pub(crate) use each;
