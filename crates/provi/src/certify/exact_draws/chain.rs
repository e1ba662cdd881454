//! Which slabs: nested ones, of which the cheapest are used.

use super::layer::{Frame, Layer};
use super::minorant::Minorant;
use crate::base::error::Result;
use crate::base::special::normal_cdf;
use crate::base::stop;

/// Half-widths that are tried for a row, in deviations of its predictor.
const WIDTHS: [f64; 15] = [1.25, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 4.5, 5.0, 5.6, 6.5, 8.0, 10.0, 13.0];
/// What a row beyond its slab is taken to cost, in masses of q, for the slabs that are tried.
const PRICES: [f64; 9] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 512.0, 8192.0];
/// What the last of those slabs grows by, first and later, and how often at most: many rows leave little between slabs of a row's own deviation
/// and those beyond which the prior has no mass, and far out the steps may be long.
const GROWTH: [f64; 2] = [1.35, 2.0];
const SLOWLY_GROWN: usize = 24;
const MOST_GROWN: usize = 40;
/// The share of the mass that is not worth another slab.
const NEGLIGIBLE: f64 = 1e-10;
/// Rows on which slabs are compared.
const COMPARED: usize = 2000;

/// The slabs in use, from the innermost to the whole space. `None`: the whole space has no Gaussian above the density.
pub(super) fn cheapest(frame: &Frame<'_>) -> Result<Option<Vec<Layer>>> {
    let n = frame.len();
    let Some(whole) = Layer::new(frame, vec![f64::INFINITY; n])? else { return Ok(None) };
    let mut all: Vec<Layer> = Vec::new();
    if !is_quadratic(frame) {
        for reach in priced(frame) {
            stop::check()?;
            if all.last().is_none_or(|last| last.reach != reach) {
                all.extend(Layer::new(frame, reach)?);
            }
        }
        for k in 0..MOST_GROWN {
            stop::check()?;
            let Some(last) = all.last() else { break };
            let inner = all.iter().map(|layer| layer.log_mass).fold(f64::INFINITY, f64::min);
            if log_beyond(frame, last, &whole) + whole.log_mass - inner < NEGLIGIBLE.ln() {
                break;
            }
            let growth = GROWTH[usize::from(k >= SLOWLY_GROWN)];
            let reach = last.reach.iter().map(|t| t * growth).collect();
            match Layer::new(frame, reach)? {
                Some(layer) => all.push(layer),
                None => break,
            }
        }
    }
    all.push(whole);
    let path = shortest(frame, &all);
    let mut kept = Vec::with_capacity(path.len());
    for (k, layer) in all.into_iter().enumerate() {
        if path.contains(&k) {
            kept.push(layer);
        }
    }
    Ok(Some(kept))
}

/// Whether every φ is its own best quadratic.
fn is_quadratic(frame: &Frame<'_>) -> bool {
    let (low, high) = frame.model.linear.family.curvature_range();
    high.is_some_and(|high| high - low <= 0.0)
}

/// For each price λ the half-widths that make a row's loss plus λ·P_q(beyond) least: nested, for a larger λ widens them all.
fn priced(frame: &Frame<'_>) -> Vec<Vec<f64>> {
    let (rows, family) = (&frame.model.rows, frame.model.linear.family);
    let outside = WIDTHS.map(|width| 2.0 * normal_cdf(-width));
    let widths = frame.each(8000 * WIDTHS.len(), |n| {
        let (row, spread) = ((frame.middles[n], rows.response[n]), frame.spreads[n]);
        if spread <= 0.0 || rows.weights[n] <= 0.0 {
            return [f64::INFINITY; PRICES.len()];
        }
        let gain =
            |width: f64| rows.weights[n] * Minorant::best(family, row, spread, width * spread).mean(spread);
        let gains = WIDTHS.map(gain);
        PRICES.map(|price| {
            let cost = |k: usize| price * outside[k] - gains[k];
            let mut best = WIDTHS.len() - 1;
            for k in (0..best).rev() {
                if cost(k) < cost(best) {
                    best = k;
                }
            }
            WIDTHS[best] * spread
        })
    });
    (0..PRICES.len()).map(|k| widths.iter().map(|of_row| of_row[k]).collect()).collect()
}

/// log Σ_n P(|t_n| > reach of `inner`) under `outer`, from some of the rows where there are many.
fn log_beyond(frame: &Frame<'_>, inner: &Layer, outer: &Layer) -> f64 {
    let step = frame.len().div_ceil(COMPARED);
    outer.log_tails(&inner.reach, step) + (step as f64).ln()
}

/// The path from some slab to the whole space with the least mass in all: that of the first one's Gaussian, and for each next one
/// that of its half-spaces beyond the one before.
fn shortest(frame: &Frame<'_>, all: &[Layer]) -> Vec<usize> {
    let least = all.iter().map(|layer| layer.log_mass).fold(f64::INFINITY, f64::min);
    // The mass of a layer, or of a part of it.
    let mass = |j: usize, log_part: f64| (all[j].log_mass - least + log_part).exp();
    let mut best: Vec<(f64, Option<usize>)> = Vec::with_capacity(all.len());
    for j in 0..all.len() {
        let mut here = (mass(j, 0.0), None);
        for i in 0..j {
            // Slabs before it cost less than the mass that they save, or are not used.
            let sum = best[i].0 + mass(j, log_beyond(frame, &all[i], &all[j]));
            if sum < here.0 {
                here = (sum, Some(i));
            }
        }
        best.push(here);
    }
    let mut path = vec![all.len() - 1];
    while let Some(&last) = path.last() {
        match best[last].1 {
            Some(before) => path.push(before),
            None => break,
        }
    }
    path.reverse();
    path
}
