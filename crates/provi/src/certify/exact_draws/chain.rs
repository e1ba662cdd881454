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
/// The same in a coarse search.
const LONG_GROWTH: f64 = 4.0;
const SLOWLY_GROWN: usize = 24;
const MOST_GROWN: usize = 40;
/// The share of the mass that is not worth another slab.
const NEGLIGIBLE: f64 = 1e-10;
/// Rows on which slabs are compared.
const COMPARED: usize = 2000;
/// Rows from which the search is coarse: each slab that is tried costs a Gram matrix.
const MANY: usize = 200_000;
/// ‖e‖ exceeds √d by more than this only rarely, P < 1e-3.
const ROOM: f64 = 2.6;

/// How slabs are looked for. It decides about cost alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// Where proposals lie is looked at by another processor than the one that takes their densities, which costs more than the densities
    /// do. Then slabs are so wide that most proposals need no look ([`Layer::free_radius`]).
    pub(super) apart: bool,
    /// Half-widths are chosen for some rows alone, and slabs grow in long steps.
    pub(super) coarse: bool,
}

impl Search {
    /// With fewer rows the slabs, and so the draws of a seed, are the same whoever takes the densities, up to the rounding of the mode.
    pub(super) fn of(frame: &Frame<'_>, apart: bool) -> Self {
        let coarse = frame.len() >= MANY;
        Self { apart: apart && coarse, coarse }
    }
}

/// The slabs in use, from the innermost to the whole space. `None`: the whole space has no Gaussian above the density.
pub(super) fn cheapest(frame: &Frame<'_>, search: Search) -> Result<Option<Vec<Layer>>> {
    let n = frame.len();
    let Some(whole) = Layer::new(frame, vec![f64::INFINITY; n])? else { return Ok(None) };
    let mut all: Vec<Layer> = Vec::new();
    if !is_quadratic(frame) {
        for reach in priced(frame, search) {
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
            let growth = if search.coarse { LONG_GROWTH } else { GROWTH[usize::from(k >= SLOWLY_GROWN)] };
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

/// For each price λ the half-widths that make a row's loss plus λ·P_q(beyond) least: nested, for a larger λ widens them all. In a coarse
/// search some rows are asked, and all have the median of their answers.
fn priced(frame: &Frame<'_>, search: Search) -> Vec<Vec<f64>> {
    let rows = &frame.model.rows;
    let least = if search.apart { (frame.q.dim() as f64).sqrt() + ROOM } else { 0.0 };
    let is_bounded = |n: usize| frame.spreads[n] > 0.0 && rows.weights[n] > 0.0;
    let wide = |width: f64, n: usize| {
        if is_bounded(n) { width.max(least) * frame.spreads[n] } else { f64::INFINITY }
    };
    let asked: Vec<usize> = match search.coarse {
        false => (0..frame.len()).collect(),
        true => (0..frame.len()).step_by(frame.len().div_ceil(COMPARED)).filter(|&n| is_bounded(n)).collect(),
    };
    let widths = frame.each_of(&asked, 8000 * WIDTHS.len(), |n| widths_of(frame, n));
    (0..PRICES.len())
        .map(|k| match search.coarse {
            false => widths.iter().enumerate().map(|(n, of_row)| wide(of_row[k], n)).collect(),
            true => {
                let mut of_some: Vec<f64> = widths.iter().map(|of_row| of_row[k]).collect();
                of_some.sort_unstable_by(f64::total_cmp);
                let median = of_some.get(of_some.len() / 2).copied().unwrap_or(WIDTHS[WIDTHS.len() - 1]);
                (0..frame.len()).map(|n| wide(median, n)).collect()
            }
        })
        .collect()
}

/// The best half-widths of one row, for each price.
fn widths_of(frame: &Frame<'_>, n: usize) -> [f64; PRICES.len()] {
    let (rows, family) = (&frame.model.rows, frame.model.linear.family);
    let (row, spread) = ((frame.middles[n], rows.response[n]), frame.spreads[n]);
    let gains = WIDTHS
        .map(|width| rows.weights[n] * Minorant::best(family, row, spread, width * spread).mean(spread));
    PRICES.map(|price| {
        let cost = |k: usize| price * 2.0 * normal_cdf(-WIDTHS[k]) - gains[k];
        let mut best = WIDTHS.len() - 1;
        for k in (0..best).rev() {
            if cost(k) < cost(best) {
                best = k;
            }
        }
        WIDTHS[best]
    })
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
