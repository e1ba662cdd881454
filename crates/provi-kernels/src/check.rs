//! How tests compare a kernel with its plain version, at every level that runs here.

pub(crate) mod wide;

use crate::dispatch::{
    Level,
    tests::{at, levels},
};

/// Lengths around every edge of the lanes and blocks.
pub(crate) const SIZES: [usize; 15] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 31, 33, 64, 100];

/// `count` numbers in (−1, 1), the same for the same seed.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut x = vec![0.0; count];
    crate::uniforms(seed, 0, 0, &mut x);
    x.iter().map(|u| 2.0 * u - 1.0).collect()
}

/// Asserts that every level is within `tolerance`·(1 + √n·max|x|) of the plain version, entry by entry.
pub(crate) fn agree(tolerance: f64, call: impl Fn() -> Vec<f64>) {
    let plain = at(Level::Plain, &call);
    let scale = 1.0 + (plain.len() as f64).sqrt() * plain.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for level in levels() {
        let fast = at(level, &call);
        assert_eq!(fast.len(), plain.len());
        for (i, (f, p)) in fast.iter().zip(&plain).enumerate() {
            assert!((f - p).abs() <= tolerance * scale, "{level:?}, entry {i}: {f:e}, plain {p:e}");
        }
    }
}

/// Runs `call` at every level.
pub(crate) fn each_level(call: impl Fn()) {
    for level in levels() {
        at(level, &call);
    }
}
