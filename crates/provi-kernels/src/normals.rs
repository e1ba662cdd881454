//! u_{t,k}: standard normals that can be recomputed anywhere, with the same bits on every instruction set.
//!
//! Only operations that IEEE 754 rounds correctly are used, one at a time and in a fixed order: no fused
//! multiply-add, no library `ln`, `sin` or `cos`. Scalar and vector code then agree to the last bit.

use crate::{dispatch::dispatch, lanes::Simd, philox::philox};

/// Fills `out` with standard normals, a pure function of (key, step, draw, index).
///
/// Numbers 2b and 2b + 1 come from the Philox4x32-10 block with counter words (b, draw, step low, step high),
/// by Box–Muller from its words (w₀, …, w₃), taken as x = 2³²w₀ + w₁ and y = 2³²w₂ + w₃:
/// ```text
/// ρ = √(−2 ln v),   v = (2⌊x/2¹²⌋ + 1)/2⁵³,   θ = 2πy/2⁶⁴ − π/4,   (ρ cos θ, ρ sin θ)
/// ```
/// A longer buffer starts with the numbers of a shorter one. |u| ≤ √(106 ln 2) < 8.58; the mass beyond is 1e-17.
///
/// [`uniforms`] uses the same blocks: use another key, step or draw there.
///
/// ```
/// let (mut short, mut long) = ([0.0; 3], [0.0; 8]);
/// provi_kernels::normals(7, 0, 0, &mut short);
/// provi_kernels::normals(7, 0, 0, &mut long);
/// assert_eq!(short[..], long[..3]);
/// ```
///
/// # Panics
/// If `out` is longer than 2³³, the count of numbers in the 2³² blocks of one draw.
pub fn normals(key: u64, step: u64, draw: u32, out: &mut [f64]) {
    fits(out.len());
    dispatch!(plain::normals, normals_lanes(key: u64, step: u64, draw: u32, out: &mut [f64]));
}

/// Fills `out` with uniforms in (0, 1): odd multiples of 2⁻⁵³, from the same blocks as [`normals`] and with
/// the same prefix property.
///
/// # Panics
/// If `out` is longer than 2³³.
pub fn uniforms(key: u64, step: u64, draw: u32, out: &mut [f64]) {
    fits(out.len());
    dispatch!(plain::uniforms, uniforms_lanes(key: u64, step: u64, draw: u32, out: &mut [f64]));
}

pub(crate) fn fits(len: usize) {
    assert!(len as u64 <= 1 << 33, "{len} numbers asked of one draw, which holds 2³³");
}

/// Blocks computed at a time.
const BLOCKS: usize = 8;

#[inline(always)]
fn normals_lanes<S: Simd>(_: S, key: u64, step: u64, draw: u32, out: &mut [f64]) {
    in_blocks(key, step, draw, out, box_muller);
}

#[inline(always)]
fn uniforms_lanes<S: Simd>(_: S, key: u64, step: u64, draw: u32, out: &mut [f64]) {
    in_blocks(key, step, draw, out, both_uniform);
}

/// Fills `out` with `pair` of each block, `BLOCKS` of them in one loop that the compiler turns into lanes.
#[inline(always)]
pub(crate) fn in_blocks(
    key: u64,
    step: u64,
    draw: u32,
    out: &mut [f64],
    pair: impl Fn([u64; 2]) -> [f64; 2] + Copy,
) {
    for (i, chunk) in out.chunks_mut(2 * BLOCKS).enumerate() {
        let (mut first, mut second) = ([0.0; BLOCKS], [0.0; BLOCKS]);
        let start = (i * BLOCKS) as u64;
        for b in 0..BLOCKS {
            [first[b], second[b]] = pair(halves(key, step, draw, start + b as u64));
        }
        if let Ok(chunk) = <&mut [f64; 2 * BLOCKS]>::try_from(&mut *chunk) {
            for b in 0..BLOCKS {
                (chunk[2 * b], chunk[2 * b + 1]) = (first[b], second[b]);
            }
        } else {
            for (n, x) in chunk.iter_mut().enumerate() {
                *x = if n % 2 == 0 { first[n / 2] } else { second[n / 2] };
            }
        }
    }
}

/// The two 64-bit halves of a block, upper word first: the upper words need no multiplication to be shifted.
#[inline(always)]
pub(crate) fn halves(key: u64, step: u64, draw: u32, block: u64) -> [u64; 2] {
    let [a, b, c, d] = philox([block, u64::from(draw), step & 0xFFFF_FFFF, step >> 32], key);
    [a << 32 | b, c << 32 | d]
}

#[inline(always)]
fn both_uniform([x, y]: [u64; 2]) -> [f64; 2] {
    [uniform(x), uniform(y)]
}

/// (2⌊x/2¹²⌋ + 1)/2⁵³, exactly: a number in [1, 2), minus 1, minus half a spacing.
#[inline(always)]
pub(crate) fn uniform(x: u64) -> f64 {
    f64::from_bits(x >> 12 | 0x3FF0_0000_0000_0000) - (1.0 - f64::EPSILON / 2.0)
}

#[inline(always)]
fn box_muller([x, y]: [u64; 2]) -> [f64; 2] {
    let radius = minus_two_ln(uniform(x)).sqrt();
    let [cos, sin] = circle(y);
    [radius * cos, radius * sin]
}

/// −2 ln v for v in (0, 1): v = 2ᵏm with m in [√½, √2), s = (m − 1)/(m + 1), ln m = 2 artanh s = s(2 + s²p(s²)).
#[inline(always)]
pub(crate) fn minus_two_ln(v: f64) -> f64 {
    // Adding 1 − √½ in units of the mantissa carries into the exponent where m would pass √2.
    const SHIFT: u64 = 0x3FF0_0000_0000_0000 - 0x3FE6_A09E_667F_3BCD;
    let bits = v.to_bits().wrapping_add(SHIFT);
    let m = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF).wrapping_add(0x3FE6_A09E_667F_3BCD));
    // k + 1023 in the low bits of 2⁵² is an integer read back by one exact subtraction.
    let k = f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let w = z * z;
    // The factor −2 is in the constants, exactly. Terms are taken in pairs, because this is the longest chain of a
    // draw.
    const P: [f64; 7] = [
        -2.0 * 0.666_666_666_666_667,
        -2.0 * 0.399_999_999_998_995_05,
        -2.0 * 0.285_714_286_259_754_87,
        -2.0 * 0.222_222_111_347_950_8,
        -2.0 * 0.181_828_891_252_617_23,
        -2.0 * 0.153_317_216_005_560_42,
        -2.0 * 0.146_164_496_850_434_06,
    ];
    let p = (P[4] + P[5] * z) + P[6] * w;
    let p = (P[2] + P[3] * z) + p * w;
    let p = (P[0] + P[1] * z) + p * w;
    k * (-2.0 * std::f64::consts::LN_2) + s * (z * p - 4.0)
}

/// (cos θ, sin θ) at θ = 2πy/2⁶⁴ − π/4: the upper two bits of y are the quarter q, the next 52 the position h in
/// it.
/// ```text
/// θ = π/2·(q + h),   h in (−½, ½)
/// ```
#[inline(always)]
pub(crate) fn circle(y: u64) -> [f64; 2] {
    let h = uniform(y << 2) - 0.5;
    let z = h * h;
    let s = 5.633_933_781_537_854e-8;
    let s = s * z - 3.598_643_352_982_31e-6;
    let s = s * z + 0.000_160_441_150_742_190_9;
    let s = s * z - 0.004_681_754_132_340_976;
    let s = s * z + 0.079_692_626_246_043_01;
    let s = s * z - 0.645_964_097_506_244_3;
    let s = h * (s * z + std::f64::consts::FRAC_PI_2);
    let c = 4.655_296_187_486_762_3e-7;
    let c = c * z - 2.520_013_526_428_479e-5;
    let c = c * z + 0.000_919_259_950_041_661;
    let c = c * z - 0.020_863_480_734_946_57;
    let c = c * z + 0.253_669_507_899_864_75;
    let c = c * z - 1.233_700_550_136_151_3;
    let c = c * z + 1.0;
    // Each quarter turn sends (c, s) to (−s, c): bit 62 swaps, and the signs follow from both bits.
    let swap = (y >> 62 & 1).wrapping_neg();
    let (c, s) = (c.to_bits(), s.to_bits());
    let exchanged = (c ^ s) & swap;
    let negate_cos = (y ^ y << 1) & SIGN;
    let negate_sin = y & SIGN;
    [f64::from_bits(c ^ exchanged ^ negate_cos), f64::from_bits(s ^ exchanged ^ negate_sin)]
}

const SIGN: u64 = 1 << 63;

mod plain {
    use super::{both_uniform, box_muller, halves};

    pub(super) fn normals(key: u64, step: u64, draw: u32, out: &mut [f64]) {
        for (i, x) in out.iter_mut().enumerate() {
            *x = box_muller(halves(key, step, draw, i as u64 / 2))[i % 2];
        }
    }

    pub(super) fn uniforms(key: u64, step: u64, draw: u32, out: &mut [f64]) {
        for (i, x) in out.iter_mut().enumerate() {
            *x = both_uniform(halves(key, step, draw, i as u64 / 2))[i % 2];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{
        Level,
        tests::{at, levels},
    };

    fn drawn(key: u64, step: u64, draw: u32, len: usize) -> Vec<f64> {
        let mut out = vec![f64::NAN; len];
        normals(key, step, draw, &mut out);
        out
    }

    fn bits(x: &[f64]) -> Vec<u64> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn every_level_gives_the_same_bits_and_prefixes() {
        for (key, step, draw) in [(0, 0, 0), (7, 3, 1), (u64::MAX, u64::MAX, u32::MAX), (1 << 40, 1 << 33, 9)]
        {
            let whole = at(Level::Plain, || drawn(key, step, draw, 4099));
            let mut flat = vec![0.0; 4099];
            at(Level::Plain, || uniforms(key, step, draw, &mut flat));
            for level in levels() {
                for len in (0..70).chain([1023, 1024, 4099]) {
                    let mut part = vec![0.0; len];
                    at(level, || uniforms(key, step, draw, &mut part));
                    assert_eq!(bits(&part), bits(&flat[..len]), "{level:?}, {len}");
                    let part = at(level, || drawn(key, step, draw, len));
                    assert_eq!(bits(&part), bits(&whole[..len]), "{level:?}, {len}");
                }
            }
        }
    }

    #[test]
    fn each_argument_makes_other_numbers() {
        let base = drawn(1, 2, 3, 1)[0].to_bits();
        for (key, step, draw) in
            [(0, 2, 3), (1 | 1 << 32, 2, 3), (1, 0, 3), (1, 2 | 1 << 32, 3), (1, 2, 0), (2, 1, 3)]
        {
            assert_ne!(drawn(key, step, draw, 1)[0].to_bits(), base);
        }
    }

    #[test]
    fn logarithm_and_circle_are_accurate() {
        let mut v = vec![0.0; 20_000];
        uniforms(5, 0, 0, &mut v);
        v.extend([f64::EPSILON / 2.0, 0.5, 0.75, 1.0 - f64::EPSILON / 2.0, std::f64::consts::FRAC_1_SQRT_2]);
        for &v in &v {
            assert!((minus_two_ln(v) + 2.0 * v.ln()).abs() <= 2e-15 * v.ln().abs(), "ln {v}");
        }
        for i in 0..20_000u64 {
            let y = philox([i, 0, 0, 0], 3)[0] << 32 | i << 7;
            let theta = std::f64::consts::TAU * (y as f64 / 2f64.powi(64)) - std::f64::consts::FRAC_PI_4;
            let [cos, sin] = circle(y);
            assert!((cos - theta.cos()).abs() < 2e-15 && (sin - theta.sin()).abs() < 2e-15, "θ = {theta}");
            assert!((cos * cos + sin * sin - 1.0).abs() < 1e-15);
        }
    }

    /// The largest of the standardised errors of four moments, three tail masses, and two correlations.
    ///
    /// Each is near N(0, 1) for true normals, so one passes 6 with probability 2e-9, and any of the nine passes with 2e-8;
    /// the rarest tail, with 266 expected, is Poisson rather than normal and costs 1e-7 more at most.
    fn worst_error(x: &[f64]) -> f64 {
        let n = x.len() as f64;
        let mean = |f: &dyn Fn(f64) -> f64| x.iter().map(|&x| f(x)).sum::<f64>() / n;
        let score =
            |estimate: f64, truth: f64, variance: f64| ((estimate - truth) / (variance / n).sqrt()).abs();
        let mass = |edge: f64, p: f64| score(mean(&|x| f64::from(x.abs() > edge)), p, p * (1.0 - p));
        let lagged = |lag: usize| x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() / n;
        [
            score(mean(&|x| x), 0.0, 1.0),
            score(mean(&|x| x.powi(2)), 1.0, 2.0),
            score(mean(&|x| x.powi(3)), 0.0, 15.0),
            score(mean(&|x| x.powi(4)), 3.0, 96.0),
            mass(1.0, 0.317_310_507_862_914_1),
            mass(2.0, 0.045_500_263_896_358_4),
            mass(4.0, 6.334_248_366_623_996e-5),
            score(lagged(1), 0.0, 1.0),
            score(lagged(2), 0.0, 1.0),
        ]
        .into_iter()
        .fold(0.0, f64::max)
    }

    #[test]
    fn moments_tails_and_correlations_are_normal() {
        let many: Vec<f64> = (0..64).flat_map(|step| drawn(11, step, 0, 1 << 16)).collect();
        assert!(worst_error(&many) < 6.0, "{}", worst_error(&many));
        // The same numbers across steps and draws, where an optimiser meets them.
        let across: Vec<f64> = (0..1 << 20).flat_map(|i| drawn(12, i / 4, (i % 4) as u32, 4)).collect();
        assert!(worst_error(&across) < 6.0, "{}", worst_error(&across));
        // Planted: a scale off by half a percent, a lost fourth of the circle.
        let scaled: Vec<f64> = many.iter().map(|x| 1.005 * x).collect();
        assert!(worst_error(&scaled) > 6.0);
        let lost: Vec<f64> = many.chunks(2).filter(|p| p[0] > 0.0 || p[1] > 0.0).flatten().copied().collect();
        assert!(worst_error(&lost) > 6.0);
    }

    /// Level: the mean and the second moment each pass six standard errors with probability 2e-9.
    #[test]
    fn uniforms_are_odd_multiples_with_the_right_moments() {
        let mut u = vec![0.0; 1 << 20];
        uniforms(13, 0, 0, &mut u);
        let odd = |u: f64| (u * 2f64.powi(53)) as u64 % 2 == 1;
        assert!(u.iter().all(|&u| u > 0.0 && u < 1.0 && odd(u)));
        let n = u.len() as f64;
        let (mean, square) = (u.iter().sum::<f64>() / n, u.iter().map(|u| u * u).sum::<f64>() / n);
        assert!((mean - 0.5).abs() < 6.0 * (1.0 / 12.0 / n).sqrt());
        assert!((square - 1.0 / 3.0).abs() < 6.0 * (4.0 / 45.0 / n).sqrt());
    }

    /// The first numbers of two streams, as forty-digit arithmetic gives them from the published Philox.
    const TRUTH: [f64; 9] = [
        -1.040_543_433_441_147_4,
        -0.868_691_063_776_171_8,
        -0.215_372_894_843_277_9,
        -0.099_585_276_771_642_38,
        2.793_032_944_746_151_7,
        -0.402_898_959_544_084_7,
        0.769_415_234_722_707_6,
        0.607_145_185_597_364_7,
        -0.553_283_978_669_579,
    ];

    /// Part of the contract, since any fit can be recomputed from its key: these bits do not change.
    #[test]
    fn golden() {
        let both = [drawn(0, 0, 0, 5), drawn(0x0123_4567_89ab_cdef, 1 << 32 | 5, 2, 4)].concat();
        assert_eq!(bits(&both), GOLDEN);
        assert!(both.iter().zip(TRUTH).all(|(x, truth)| (x - truth).abs() <= 1e-15 * truth.abs()));
        let mut u = [0.0; 2];
        uniforms(0, 0, 0, &mut u);
        assert_eq!(bits(&u), bits(&[0.399_046_470_848_964_6, 0.735_712_784_483_442_5]));
    }

    const GOLDEN: [u64; 9] = [
        0xbff0_a610_df0b_2811,
        0xbfeb_cc51_33a7_e01f,
        0xbfcb_9156_c9e5_fb1b,
        0xbfb9_7e6b_b2e5_b645,
        0x4006_5821_a812_aeaf,
        0xbfd9_c918_b7b5_64af,
        0x3fe8_9f0c_b2c5_b3c1,
        0x3fe3_6dbb_bd82_10a5,
        0xbfe1_b480_9a39_2bdb,
    ];
}
