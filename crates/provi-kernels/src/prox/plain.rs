//! The plain versions.

use super::tiles::panel;
use crate::aligned::Chunk;

pub(super) fn blend(mean: &mut [f64], other: &[f64], c: f64) {
    for (m, x) in mean.iter_mut().zip(other) {
        *m += c * (x - *m);
    }
}

pub(super) fn open(draws: &[f64], dim: usize, next: &mut [Chunk], products: &mut [Chunk]) {
    let width = draws.len() / dim;
    for (k, u) in draws.chunks_exact(dim).enumerate() {
        for (i, x) in u.iter().enumerate() {
            next[i / 8 * width + k][i % 8] = *x;
        }
    }
    products.fill([0.0; 8]);
}

pub(super) fn sweep(
    far: &mut [Chunk],
    [width, used]: [usize; 2],
    left: &[Chunk],
    last: &[Chunk],
    next: &[Chunk],
    out: &mut [Chunk],
) {
    for b in 0..left.len() / width {
        for j in 0..8 * b {
            for r in 0..8 {
                let c = &mut far[panel(b) + j][r];
                for n in 0..used {
                    *c += left[b * width + n][r] * last[j / 8 * width + n][j % 8];
                }
                if !next.is_empty() {
                    for k in 0..width {
                        out[b * width + k][r] += *c * next[j / 8 * width + k][j % 8];
                    }
                }
            }
        }
    }
}

pub(super) fn points(
    [width, made]: [usize; 2],
    [near, diagonal]: [&[Chunk]; 2],
    [left, draws, products]: [&[Chunk]; 3],
    mean: &[f64],
    points: &mut [f64],
) {
    for (s, point) in points.chunks_exact_mut(mean.len()).enumerate() {
        let k = made + s;
        for (i, z) in point.iter_mut().enumerate() {
            let (b, r) = (i / 8, i % 8);
            let own = &draws[b * width + k];
            *z = mean[i] + diagonal[b][r] * own[r] + products[b * width + k][r];
            if made == 0 {
                *z += (0..r).map(|j| near[8 * b + j][r] * own[j]).sum::<f64>();
            }
            for n in 0..made {
                let before = |j: usize| draws[j / 8 * width + n][j % 8] * draws[j / 8 * width + k][j % 8];
                *z += left[b * width + n][r] * (0..8 * b).map(before).sum::<f64>();
            }
        }
    }
}

pub(super) fn push(
    [width, made, dim]: [usize; 3],
    gamma: f64,
    pulls: &[f64],
    [near, diagonal]: [&mut [Chunk]; 2],
    [left, products]: [&mut [Chunk]; 2],
    draws: &[Chunk],
) {
    let batch = pulls.len() / dim;
    let scale = -gamma / batch as f64;
    for (s, pull) in pulls.chunks_exact(dim).enumerate() {
        for (i, p) in pull.iter().enumerate() {
            let (b, r) = (i / 8, i % 8);
            let u = &draws[b * width + made + s];
            left[b * width + made + s][r] = scale * p;
            diagonal[b][r] += scale * p * u[r];
            for j in 0..r {
                near[8 * b + j][r] += scale * p * u[j];
            }
        }
    }
    for k in made + batch..width.min(made + 2 * batch) {
        for i in 0..dim {
            let (b, r) = (i / 8, i % 8);
            let u = &draws[b * width + k];
            products[b * width + k][r] += (0..r).map(|j| near[8 * b + j][r] * u[j]).sum::<f64>();
        }
    }
    for c in &mut diagonal.as_flattened_mut()[..dim] {
        let root = (*c * *c + 4.0 * gamma).sqrt();
        *c = if *c >= 0.0 { 0.5 * (*c + root) } else { 2.0 * gamma / (root - *c) };
    }
}
