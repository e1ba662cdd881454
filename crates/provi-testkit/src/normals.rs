//! Random numbers for data.

use provi::draws::{Draws, Purpose, Seed};

/// Reproducible standard normals of a numbered stream.
pub fn normals(key: u64, count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    Draws::new(Seed(key), Purpose::Sample).fill(key, 0, &mut out);
    out
}
