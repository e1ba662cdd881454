//! u_{t,k} of other base laws than the normal: mean 0, variance 1, the same bits on every instruction set.
//!
//! They use the blocks of [`normals`](crate::normals), and as there only operations that IEEE 754 rounds correctly.

use crate::normals::{circle, fits, halves, in_blocks, minus_two_ln, uniform};
use crate::{dispatch::dispatch, lanes::Simd};

/// Fills `out` with independent numbers of the Laplace law of mean 0 and variance 1, a pure function of (key, step, draw,
/// index) with the prefix property of [`normals`](crate::normals).
///
/// Each comes from 64 bits: the first is the sign, the next 52 are v in (0, 1), and |u| = −ln v/√2.
///
/// # Panics
/// If `out` is longer than 2³³.
pub fn laplaces(key: u64, step: u64, draw: u32, out: &mut [f64]) {
    fits(out.len());
    dispatch!(plain::laplaces, laplaces_lanes(key: u64, step: u64, draw: u32, out: &mut [f64]));
}

/// Fills `out` with independent numbers of the logistic law of mean 0 and variance 1, as [`laplaces`]:
/// u = √3/π·ln(v/(1 − v)), v in (0, 1).
///
/// # Panics
/// If `out` is longer than 2³³.
pub fn logistics(key: u64, step: u64, draw: u32, out: &mut [f64]) {
    fits(out.len());
    dispatch!(plain::logistics, logistics_lanes(key: u64, step: u64, draw: u32, out: &mut [f64]));
}

/// Fills `out` with independent numbers of the uniform law on (−√3, √3), of mean 0 and variance 1, as [`laplaces`].
///
/// # Panics
/// If `out` is longer than 2³³.
pub fn flats(key: u64, step: u64, draw: u32, out: &mut [f64]) {
    fits(out.len());
    dispatch!(plain::flats, flats_lanes(key: u64, step: u64, draw: u32, out: &mut [f64]));
}

/// (−2 ln v, cos θ) from one block, v uniform in (0, 1) and θ on the circle, independent: the parts of the normal that
/// [`normals`](crate::normals) makes of that block first, √(−2 ln v)·cos θ.
#[must_use]
pub fn polar(key: u64, step: u64, draw: u32, block: u32) -> [f64; 2] {
    let [x, y] = halves(key, step, draw, u64::from(block));
    [minus_two_ln(uniform(x)), circle(y)[0]]
}

#[inline(always)]
fn laplaces_lanes<S: Simd>(_: S, key: u64, step: u64, draw: u32, out: &mut [f64]) {
    in_blocks(key, step, draw, out, |[x, y]| [laplace(x), laplace(y)]);
}

#[inline(always)]
fn logistics_lanes<S: Simd>(_: S, key: u64, step: u64, draw: u32, out: &mut [f64]) {
    in_blocks(key, step, draw, out, |[x, y]| [logistic(x), logistic(y)]);
}

#[inline(always)]
fn flats_lanes<S: Simd>(_: S, key: u64, step: u64, draw: u32, out: &mut [f64]) {
    in_blocks(key, step, draw, out, |[x, y]| [flat(x), flat(y)]);
}

/// ±(−ln v)/√2: half of −2 ln v, with the sign of the first bit.
#[inline(always)]
fn laplace(x: u64) -> f64 {
    const SCALE: f64 = 0.5 * std::f64::consts::FRAC_1_SQRT_2;
    let size = SCALE * minus_two_ln(uniform(x << 1));
    f64::from_bits(size.to_bits() | x & 1 << 63)
}

/// √3/π·(ln v − ln(1 − v)); v is an odd multiple of 2⁻⁵³, so that 1 − v is exact.
#[inline(always)]
fn logistic(x: u64) -> f64 {
    const SCALE: f64 = 0.5 * 0.551_328_895_421_792_1;
    let v = uniform(x);
    SCALE * (minus_two_ln(1.0 - v) - minus_two_ln(v))
}

/// √3(2v − 1); 2v − 1 is exact.
#[inline(always)]
fn flat(x: u64) -> f64 {
    const EDGE: f64 = 1.732_050_807_568_877_2;
    EDGE * (2.0 * uniform(x) - 1.0)
}

mod plain {
    use super::{flat, halves, laplace, logistic};

    fn each(key: u64, step: u64, draw: u32, out: &mut [f64], law: impl Fn(u64) -> f64) {
        for (i, u) in out.iter_mut().enumerate() {
            *u = law(halves(key, step, draw, i as u64 / 2)[i % 2]);
        }
    }

    pub(super) fn laplaces(key: u64, step: u64, draw: u32, out: &mut [f64]) {
        each(key, step, draw, out, laplace);
    }

    pub(super) fn logistics(key: u64, step: u64, draw: u32, out: &mut [f64]) {
        each(key, step, draw, out, logistic);
    }

    pub(super) fn flats(key: u64, step: u64, draw: u32, out: &mut [f64]) {
        each(key, step, draw, out, flat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{
        Level,
        tests::{at, levels},
    };

    type Fill = fn(u64, u64, u32, &mut [f64]);

    const ALL: [Fill; 3] = [laplaces, logistics, flats];

    fn bits(x: &[f64]) -> Vec<u64> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn every_level_gives_the_same_bits_and_prefixes() {
        for fill in ALL {
            for (key, step, draw) in [(0, 0, 0), (7, 3, 1), (u64::MAX, u64::MAX, u32::MAX)] {
                let mut whole = vec![0.0; 1027];
                at(Level::Plain, || fill(key, step, draw, &mut whole));
                for level in levels() {
                    for len in (0..40).chain([1024, 1027]) {
                        let mut part = vec![0.0; len];
                        at(level, || fill(key, step, draw, &mut part));
                        assert_eq!(bits(&part), bits(&whole[..len]), "{level:?}, {len}");
                    }
                }
            }
        }
    }

    /// Part of the contract, like the normals: these are the laws' quantiles at the bits of the block (0, 0, 0, 0), whose
    /// first uniform is 0.399046470848964….
    #[test]
    fn the_numbers_are_quantiles_of_their_uniforms() {
        let mut v = [0.0; 2];
        crate::uniforms(0, 0, 0, &mut v);
        let mut u = [0.0; 2];
        flats(0, 0, 0, &mut u);
        assert!((u[0] - 3f64.sqrt() * (2.0 * v[0] - 1.0)).abs() < 1e-15);
        logistics(0, 0, 0, &mut u);
        let scale = 3f64.sqrt() / std::f64::consts::PI;
        assert!((u[1] - scale * (v[1] / (1.0 - v[1])).ln()).abs() < 1e-15);
        // Below one half the first bit is 0, and the next bits are those of 2v.
        laplaces(0, 0, 0, &mut u);
        assert!((u[0] + (2.0 * v[0]).ln() / 2f64.sqrt()).abs() < 1e-14, "{u:?}");
        assert!((u[1] - (2.0 * v[1] - 1.0).ln() / 2f64.sqrt()).abs() < 1e-14, "{u:?}");
        let mut normal = [0.0; 2];
        crate::normals(0, 0, 0, &mut normal);
        let [radius, cosine] = polar(0, 0, 0, 0);
        assert_eq!((radius.sqrt() * cosine).to_bits(), normal[0].to_bits());
    }

    #[test]
    fn the_most_extreme_bits_give_finite_numbers() {
        for x in [0, 1, u64::MAX, u64::MAX >> 1, 1 << 63, 1 << 12] {
            for u in [laplace(x), logistic(x), flat(x)] {
                assert!(u.is_finite() && u.abs() < 40.0);
            }
        }
    }
}
