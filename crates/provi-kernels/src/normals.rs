//! u_{t,k}: standard normals that anyone can recompute, the same bits on every instruction set.
//!
//! Only operations that IEEE 754 rounds correctly are used, one at a time and in a fixed order: no fused
//! multiply-add, no library `ln`, `sin` or `cos`. Scalar and vector code then agree to the last bit.

use crate::{dispatch::dispatch, lanes::Simd, philox::philox};

/// Fills `out` with standard normals, a pure function of (key, step, draw, index).
///
/// Numbers 2b and 2b + 1 come from the Philox4x32-10 block with counter words (b, draw, step low, step high),
/// by Box–Muller from its two 64-bit halves x and y:
/// ```text
/// ρ = √(−2 ln v),   v = (2⌊x/2¹²⌋ + 1)/2⁵³,   θ = 2πy/2⁶⁴ − π/4,   (ρ cos θ, ρ sin θ)
/// ```
/// A longer buffer starts with the numbers of a shorter one. |u| ≤ √(106 ln 2) < 8.58; the mass beyond is 1e-17.
///
/// The same blocks feed [`uniforms`]: use another key, step or draw there.
///
/// ```
/// let (mut short, mut long) = ([0.0; 3], [0.0; 8]);
/// provi_kernels::normals(7, 0, 0, &mut short);
/// provi_kernels::normals(7, 0, 0, &mut long);
/// assert_eq!(short[..], long[..3]);
/// ```
///
/// # Panics
/// When `out` is longer than 2³³, the numbers that the 2³² blocks of one draw hold.
pub fn normals(key: u64, step: u64, draw: u32, out: &mut [f64]) {
    fits(out.len());
    dispatch!(plain::normals, normals_lanes(key: u64, step: u64, draw: u32, out: &mut [f64]));
}

/// Fills `out` with uniforms in (0, 1): odd multiples of 2⁻⁵³, from the same blocks as [`normals`] and with
/// the same prefix property.
///
/// # Panics
/// When `out` is longer than 2³³.
pub fn uniforms(key: u64, step: u64, draw: u32, out: &mut [f64]) {
    fits(out.len());
    dispatch!(plain::uniforms, uniforms_lanes(key: u64, step: u64, draw: u32, out: &mut [f64]));
}

fn fits(len: usize) {
    assert!(len as u64 <= 1 << 33, "{len} numbers asked of one draw, which holds 2³³");
}

/// Blocks drawn at a time.
const BLOCKS: usize = 16;

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
fn in_blocks(key: u64, step: u64, draw: u32, out: &mut [f64], pair: impl Fn([u64; 2]) -> [f64; 2] + Copy) {
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

/// The two 64-bit halves of a block.
#[inline(always)]
fn halves(key: u64, step: u64, draw: u32, block: u64) -> [u64; 2] {
    let [a, b, c, d] = philox([block, u64::from(draw), step & 0xFFFF_FFFF, step >> 32], key);
    [a | b << 32, c | d << 32]
}

#[inline(always)]
fn both_uniform([x, y]: [u64; 2]) -> [f64; 2] {
    [uniform(x), uniform(y)]
}

/// (2⌊x/2¹²⌋ + 1)/2⁵³, exactly: a number of [1, 2) less its lower end, less half a spacing.
#[inline(always)]
fn uniform(x: u64) -> f64 {
    f64::from_bits(x >> 12 | 0x3FF0_0000_0000_0000) - (1.0 - f64::EPSILON / 2.0)
}

#[inline(always)]
fn box_muller([x, y]: [u64; 2]) -> [f64; 2] {
    let radius = (-2.0 * ln(uniform(x))).sqrt();
    let [cos, sin] = circle(y);
    [radius * cos, radius * sin]
}

/// ln v for normal v in (0, 1): v = 2ᵏm with m in [√½, √2), s = (m − 1)/(m + 1), ln m = 2 artanh s.
#[inline(always)]
fn ln(v: f64) -> f64 {
    // Adding 1 − √½ in units of the mantissa carries into the exponent where m would pass √2.
    const SHIFT: u64 = 0x3FF0_0000_0000_0000 - 0x3FE6_A09E_667F_3BCD;
    let bits = v.to_bits() + SHIFT;
    let m = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF) + 0x3FE6_A09E_667F_3BCD);
    // k + 1023 in the low bits of 2⁵² is an integer read back by one exact subtraction.
    let k = f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = 0.146_164_496_850_434_06;
    let p = p * z + 0.153_317_216_005_560_42;
    let p = p * z + 0.181_828_891_252_617_23;
    let p = p * z + 0.222_222_111_347_950_8;
    let p = p * z + 0.285_714_286_259_754_87;
    let p = p * z + 0.399_999_999_998_995_05;
    let p = p * z + 0.666_666_666_666_667;
    k * std::f64::consts::LN_2 + s * (2.0 + z * p)
}

/// (cos θ, sin θ) at θ = 2πy/2⁶⁴ − π/4: the upper two bits of y are the quarter q, the next 52 the place h in it.
/// ```text
/// θ = π/2·(q + h),   h in (−½, ½)
/// ```
#[inline(always)]
fn circle(y: u64) -> [f64; 2] {
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
