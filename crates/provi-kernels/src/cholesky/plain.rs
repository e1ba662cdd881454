//! The plain versions.

use super::{columns, rows};
use crate::aligned::Chunk;

/// The position of W_kj: its chunk and its lane.
fn at(panels: usize, k: usize, j: usize) -> (usize, usize) {
    (columns(panels, j / 8) + k - j / 8 * 8, j % 8)
}

pub(super) fn factor(panels: usize, factor: &mut [Chunk], reciprocals: &mut [Chunk]) -> Option<usize> {
    for i in (0..8 * panels).rev() {
        for j in (0..=i).rev() {
            let entry = |k: usize, j: usize| {
                let (chunk, lane) = at(panels, k, j);
                factor[chunk][lane]
            };
            let rest = entry(i, j) - (i + 1..8 * panels).map(|k| entry(k, i) * entry(k, j)).sum::<f64>();
            let (chunk, lane) = at(panels, i, j);
            if i == j {
                if !(rest > 0.0 && rest < f64::INFINITY) {
                    return Some(i);
                }
                reciprocals[i / 8][i % 8] = 1.0 / rest.sqrt();
            }
            factor[chunk][lane] = rest * reciprocals[i / 8][i % 8];
        }
    }
    None
}

pub(super) fn invert(factor: &[Chunk], reciprocals: &[Chunk], inverse: &mut [Chunk]) {
    let panels = reciprocals.len();
    for i in 0..8 * panels {
        let own = &mut inverse[rows(i / 8)..rows(i / 8 + 1)];
        for j in (0..own.len()).rev() {
            let one = if i == j { 1.0 } else { 0.0 };
            let known: f64 = (j + 1..=i)
                .map(|l| {
                    let (chunk, lane) = at(panels, l, j);
                    own[l][i % 8] * factor[chunk][lane]
                })
                .sum();
            own[j][i % 8] = reciprocals[j / 8][j % 8] * (one - known);
        }
    }
}

pub(super) fn square(dim: usize, inverse: &[Chunk], packed: &mut [f64]) {
    let entry = |i: usize, k: usize| inverse[rows(i / 8) + k][i % 8];
    for i in 0..dim {
        for j in 0..=i {
            packed[i * (i + 1) / 2 + j] = (0..=j).map(|k| entry(i, k) * entry(j, k)).sum();
        }
    }
}
