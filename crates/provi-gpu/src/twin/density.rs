//! The fused pass over rows and draws.

use super::functions::{add, ln_one};
use crate::{
    error::{Result, same_length},
    family::Kind,
    shape::{FOLD, ROW_WARPS, TILE_ROWS},
    table::Table,
};

/// Σ_n w_n φ(x_nᵀz_k + o_n) for points z_k, one after the other.
pub fn energies(table: &Table<'_>, points: &[f64]) -> Result<Vec<f64>> {
    Ok(passes(table, points)?.into_iter().map(|(energy, _)| energy).collect())
}

/// The energies, and their gradients Σ_n w_n φ′ x_n, one after the other.
pub fn energies_and_gradients(table: &Table<'_>, points: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
    let passes = passes(table, points)?;
    let width = (passes.len(), table.columns);
    let gradients = super::contract(
        table.response.len(),
        width,
        |n, k| passes[k].1[n],
        |n, j| table.design[n * table.columns + j],
    );
    Ok((passes.into_iter().map(|(energy, _)| energy).collect(), gradients))
}

/// Of each point the energy and the slopes w_n φ′.
fn passes(table: &Table<'_>, points: &[f64]) -> Result<Vec<(f64, Vec<f64>)>> {
    table.check()?;
    same_length("points", points.len() % table.columns, 0)?;
    Ok(points.chunks_exact(table.columns).map(|point| pass(table, point)).collect())
}

/// As a card takes it. Of a tile of 64 rows, thread (warp w, lane l of four) has rows 32w + 8j + 2l + h for j < 4, h < 2, in
/// this order, tile after tile of a chunk. The four lanes are added in pairs, then the warps, then the chunks, in order.
fn pass(table: &Table<'_>, point: &[f64]) -> (f64, Vec<f64>) {
    let (shape, kind, parameter) = (table.shape(), table.kind(), table.family.parameter());
    let mut slopes = vec![0.0; shape.padded_rows()];
    let mut total = 0.0;
    for chunk in 0..shape.chunks() {
        let from = chunk * shape.chunk_tiles();
        let tiles = shape.chunk_tiles().min(shape.tiles() - from);
        let mut warps = [0.0; ROW_WARPS];
        for (w, warp) in warps.iter_mut().enumerate() {
            let mut lanes = [0.0; 4];
            for (l, lane) in lanes.iter_mut().enumerate() {
                let mut slot = [0.0, 1.0];
                for tile in 0..tiles {
                    for place in 0..8 {
                        let n = (from + tile) * TILE_ROWS + 32 * w + 8 * (place / 2) + 2 * l + place % 2;
                        let [offset, code, weight] = table.numbers(kind, n);
                        let row = if n < shape.rows { super::row(table, n) } else { &[] };
                        let s = super::predictor(row, offset, point);
                        slopes[n] = add(kind, s, [code, weight], parameter, &mut slot);
                    }
                    if kind == Kind::Logistic && (tile % FOLD == FOLD - 1 || tile == tiles - 1) {
                        slot = [slot[0] + ln_one(slot[1]), 1.0];
                    }
                }
                *lane = slot[0];
            }
            *warp = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        }
        let sum = warps[1..].iter().fold(warps[0], |sum, warp| sum + warp);
        total = if chunk == 0 { sum } else { total + sum };
    }
    slopes.truncate(shape.rows);
    (total, slopes)
}
