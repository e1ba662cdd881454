//! The plain twins.

use super::BLOCK;
use super::deferred::{Panel, Row};

fn row(packed: &mut [f64], i: usize) -> &mut [f64] {
    &mut packed[i * (i + 1) / 2..][..i]
}

pub(super) fn lift(diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]) {
    for i in 0..diagonal.len() {
        let c = diagonal[i] - gamma * pull[i] * draw[i];
        let root = (c * c + 4.0 * gamma).sqrt();
        diagonal[i] = if c >= 0.0 { 0.5 * (c + root) } else { 2.0 * gamma / (root - c) };
    }
}

pub(super) fn blend(packed: &[f64], share: f64, mean: &mut [f64]) {
    for (m, c) in mean.iter_mut().zip(packed) {
        *m += share * (c - *m);
    }
}

pub(super) fn step(
    packed: &mut [f64],
    mean: &[f64],
    diagonal: &[f64],
    left: &[f64],
    right: &[f64],
    draw: &[f64],
    out: &mut [f64],
) {
    for i in 0..left.len() {
        out[i] = mean[i] + diagonal[i] * draw[i];
        for (j, c) in row(packed, i).iter_mut().enumerate() {
            *c += left[i] * right[j];
            out[i] += *c * draw[j];
        }
    }
}

pub(super) fn sweep(
    packed: &mut [f64],
    d: usize,
    update: bool,
    left: &[Row],
    last: &[Panel],
    next: Option<&[Panel]>,
    out: &mut [Row],
) {
    for i in 0..d {
        for (j, c) in row(packed, i).iter_mut().enumerate() {
            if update {
                *c += (0..BLOCK).map(|k| left[i][k] * last[j / 8][k].0[j % 8]).sum::<f64>();
            }
            if let Some(next) = next {
                for k in 0..BLOCK {
                    out[i][k] += *c * next[j / 8][k].0[j % 8];
                }
            }
        }
    }
}

pub(super) fn correct(
    k: usize,
    left: &[Row],
    draws: &[Row],
    products: &[Row],
    mean: &[f64],
    diagonal: &[f64],
    out: &mut [f64],
) {
    let mut so_far = [0.0; BLOCK];
    for i in 0..out.len() {
        out[i] = mean[i] + diagonal[i] * draws[i][k] + products[i][k];
        for n in 0..k {
            out[i] += left[i][n] * so_far[n];
            so_far[n] += draws[i][n] * draws[i][k];
        }
    }
}
