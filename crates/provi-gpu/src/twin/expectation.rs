//! Exact expectations under a Gaussian, with the Hessian.

use super::functions::{exp_one, potential};
use crate::{
    error::Result,
    family::Kind,
    shape::{CHUNK, DRAW_WARPS, EXPECT_ROWS, TILE_DRAWS},
    table::{Moments, Normal, Rule, Table, check_rules},
};

/// [`Moments`] of the rows under q.
pub fn expectations(table: &Table<'_>, q: &Normal<'_>, rules: &[Rule<'_>]) -> Result<Moments> {
    table.check()?;
    q.check(table.columns)?;
    check_rules(rules)?;
    let (rows, d, kind) = (table.response.len(), table.columns, table.kind());
    let terms: Vec<[f64; 3]> = (0..rows)
        .map(|n| {
            let [offset, code, weight] = table.numbers(kind, n);
            let row = super::row(table, n);
            let mean = super::predictor(row, 0.0, q.mean) + offset;
            let at = expect(kind, table.family.parameter(), mean, variance(row, q), code, rules);
            at.map(|x| weight * x)
        })
        .collect();
    let value = terms.chunks(EXPECT_ROWS).enumerate().fold(0.0, |sum, (b, rows)| {
        let block = block_sum(rows);
        if b == 0 { block } else { sum + block }
    });
    let design = |n: usize, j: usize| table.design[n * d + j];
    let mut gradient = vec![0.0; d];
    for from in (0..rows).step_by(CHUNK) {
        for (j, sum) in gradient.iter_mut().enumerate() {
            let part = |p| {
                (from + p..rows.min(from + CHUNK))
                    .step_by(8)
                    .fold(0.0, |s, n| terms[n][1].mul_add(design(n, j), s))
            };
            let chunk = (1..8).fold(part(0), |all, p| all + part(p));
            *sum = if from == 0 { chunk } else { *sum + chunk };
        }
    }
    let hessian = super::contract(rows, (d, d), |n, i| design(n, i) * terms[n][2], design);
    Ok(Moments { value, gradient, hessian: super::lower_mirrored(&hessian, d) })
}

/// ‖Cᵀx‖²: column c of C belongs to tile c/128, warp (c/32) mod 4, and there to thread c mod 8 with place (c/8) mod 4. A thread adds
/// its places tile after tile; of the eight threads neighbours are added first, then pairs, then fours; the warps last.
fn variance(row: &[f64], q: &Normal<'_>) -> f64 {
    let d = row.len();
    let mut warps = [0.0; DRAW_WARPS];
    for (w, warp) in warps.iter_mut().enumerate() {
        let mut threads = [0.0f64; 8];
        for (g, thread) in threads.iter_mut().enumerate() {
            for tile in 0..(d + 1).div_ceil(TILE_DRAWS) {
                for place in 0..4 {
                    let c = tile * TILE_DRAWS + 32 * w + 8 * place + g;
                    if c < d {
                        let entry = (c..d)
                            .fold(0.0, |sum: f64, i| q.factor[i * (i + 1) / 2 + c].mul_add(row[i], sum));
                        *thread = entry.mul_add(entry, *thread);
                    }
                }
            }
        }
        let t = threads;
        *warp = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
    }
    warps[1..].iter().fold(warps[0], |sum, warp| sum + warp)
}

/// E φ, E φ′ and E φ″ at s ~ N(μ, σ²).
fn expect(kind: Kind, parameter: f64, mean: f64, variance: f64, code: f64, rules: &[Rule<'_>]) -> [f64; 3] {
    match kind {
        Kind::Gaussian => {
            let residual = mean - code;
            [0.5 * parameter * residual.mul_add(residual, variance), parameter * residual, parameter]
        }
        Kind::Poisson => {
            let rate = exp_one(0.5f64.mul_add(variance, mean));
            [rate - code * mean, rate - code, rate]
        }
        Kind::Gamma => {
            let rate = code * exp_one(0.5f64.mul_add(variance, -mean));
            [parameter.mul_add(mean, rate), parameter - rate, rate]
        }
        _ => {
            let sigma = variance.sqrt();
            let last = rules.len() - 1;
            let rule = rules[..last].iter().position(|rule| sigma <= rule.widest).unwrap_or(last);
            let mut sums = [0.0; 3];
            for (t, w) in rules[rule].nodes.iter().zip(rules[rule].weights) {
                let at = potential(kind, sigma.mul_add(*t, mean), code, parameter);
                for (sum, x) in sums.iter_mut().zip(at) {
                    *sum = w.mul_add(x, *sum);
                }
            }
            sums
        }
    }
}

/// The values of at most 256 rows: lanes of a warp by halves, then the warps in order.
fn block_sum(rows: &[[f64; 3]]) -> f64 {
    let mut all = [0.0; EXPECT_ROWS];
    all.iter_mut().zip(rows).for_each(|(to, row)| *to = row[0]);
    let warp = |w: usize| {
        let mut lanes = [0.0; 32];
        lanes.copy_from_slice(&all[32 * w..][..32]);
        for apart in [16, 8, 4, 2, 1] {
            for l in 0..apart {
                lanes[l] += lanes[l + apart];
            }
        }
        lanes[0]
    };
    (1..8).fold(warp(0), |sum, w| sum + warp(w))
}
