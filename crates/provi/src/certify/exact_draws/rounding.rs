//! How far rounding may move the law of a draw [exact-draws].

use super::envelope::Slabs;
use super::layer::{Frame, Layer};
use crate::base::chunked::{self, Chunks};
use crate::base::special::chi_square::chi_square_tail;
use crate::base::special::normal_density;
use crate::glm::design::BLOCK;
use crate::glm::rows::Within;
use crate::target::Rounding;
use crate::target::rounding::deviations;
use std::ops::Range;

/// ‖e‖ at the ends of the shells, in multiples of √d + 3.
const RADII: [f64; 12] = [1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0];
/// The one of those up to which a point may lie so near a bound that rounding decides on which side.
const NEAR: usize = 4;
/// Relative errors of the weights of pieces and rows, and of the normal tails behind them.
const WEIGHTS: f64 = 1e-13;

/// A bound of the total variation between the posterior and the law of what a proposal would be without rounding of its place, accepted as
/// it is:
/// ```text
/// Σ_j (Σ_k min(2η_jk, 1)·ρ_{j,k−1} + ρ_{j,last} + ρ_{j,near}) + β,   ρ_jk = min(W_j, M_jP(χ²_d > R_k²))/∫e^{−E}
/// ```
/// η_jk bounds what rounding does to log of the acceptance on {‖e‖ ≤ R_k} of slab j; ρ_jk the posterior's mass beyond, for the envelope
/// has no more there; β its mass so near the bound of a slab that rounding may put a point on the other side. Predictors lie in their
/// slab, which counts where φ grows fast: the terms of a Poisson row are e^{s+T} at most, and what lies beyond T has little mass.
/// `scale` is −log of a lower bound of ∫e^{−E}.
pub(super) fn distance(frame: &Frame<'_>, slabs: &Slabs, scale: f64) -> f64 {
    let radii = radii(frame.q.dim());
    let mut sum = 0.0;
    for (j, layer) in slabs.layers.iter().enumerate() {
        let mass = |radius: f64| {
            let beyond = (layer.log_mass + scale).exp() * chi_square_tail(frame.q.dim(), radius * radius);
            (slabs.weights[j] + scale).exp().min(beyond).min(1.0)
        };
        let within = Within { middles: &frame.middles, reach: &layer.reach };
        let known = frame.model.rounding_in(&layer.gaussian, &radii, Some(within));
        let mut before = mass(0.0);
        for (radius, known) in radii.into_iter().zip(&known) {
            sum += (2.0 * log_error(layer, radius, known)).min(1.0) * before;
            before = mass(radius);
        }
        sum += before + mass(radii[NEAR]);
        let inner = j.checked_sub(1).map(|before| &slabs.layers[before].reach);
        if let Some(reach) = inner {
            // Half-spaces whose probabilities underflow are never drawn.
            let each = (2.0 * frame.len() as f64).ln() + f64::MIN_POSITIVE.ln();
            sum += (each.min(layer.log_tails(reach, 1)) + layer.log_mass + scale).exp();
        }
        let bounds = [Some(&layer.reach), inner];
        for bound in bounds.into_iter().flatten() {
            sum += (log_near_bound(frame, layer, radii[NEAR], bound) + layer.log_mass + scale).exp();
        }
    }
    sum
}

fn radii(d: usize) -> [f64; RADII.len()] {
    RADII.map(|r| r * ((d as f64).sqrt() + 3.0))
}

/// η: of E where it is evaluated; of ½‖e‖² and its sum with the height; and of the place, times the slope of V there.
fn log_error(layer: &Layer, radius: f64, known: &Rounding) -> f64 {
    let q = &layer.gaussian;
    let spreads = deviations(q);
    let place = |i: usize| q.mean()[i].abs() + spreads[i] * radius;
    let moved: f64 = (0..q.dim()).map(|i| known.sizes[i] * place(i)).sum();
    let unit = (q.dim() as f64 + 8.0) * f64::EPSILON;
    // The weights of half-spaces are sums over the rows, of which a uniform number picks one.
    let weights = WEIGHTS + 4.0 * layer.reach.len() as f64 * f64::EPSILON;
    let error = known.value + unit * (moved + layer.height.abs() + radius * radius) + weights;
    // Where a sum overflows nothing is known.
    if error.is_nan() { f64::INFINITY } else { error }
}

/// log β of one layer and one slab, in masses of the layer; where the densities underflow, an upper bound: a predictor is off by at most `off` on {‖e‖ ≤ radius}, and the density of t_n is
/// at most that of the layer's Gaussian.
fn log_near_bound(frame: &Frame<'_>, layer: &Layer, radius: f64, bound: &[f64]) -> f64 {
    let (rows, q) = (&frame.model.rows, &layer.gaussian);
    let spreads = deviations(q);
    let scales: Vec<f64> = q.mean().iter().zip(&spreads).map(|(m, sd)| m.abs() + radius * sd).collect();
    let unit = (q.dim() as f64 + 8.0) * f64::EPSILON;
    let of_block = |range: Range<usize>| {
        let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
        let (mut squares, mut sizes) = ([0.0; BLOCK], [0.0; BLOCK]);
        let (squares, sizes) = (&mut squares[..range.len()], &mut sizes[..range.len()]);
        rows.design.row_sizes(range.clone(), &scales, squares, sizes);
        for (n, size) in range.zip(sizes.iter()).filter(|(n, _)| bound[*n].is_finite()) {
            let offset = rows.offset_size(n);
            let off = 4.0 * unit * (size + offset + frame.middles[n].abs());
            for sign in [1.0, -1.0] {
                let (cut, unit) = (layer.cut(n, sign, bound[n]), 2.0 * off / layer.spreads[n]);
                sum += unit * normal_density(cut);
                largest = f64::max(largest, unit.ln() - 0.5 * cut * cut);
            }
        }
        (sum, largest)
    };
    let chunks = Chunks { len: rows.len(), size: BLOCK, work: rows.design.entries() };
    let (sum, largest) = chunked::map(chunks, of_block)
        .into_iter()
        .fold((0.0, f64::NEG_INFINITY), |(sum, largest), (more, other)| {
            (sum + more, f64::max(largest, other))
        });
    if sum > 0.0 { sum.ln() } else { largest + (2.0 * rows.len() as f64).ln() }
}

/// The same for draws of q itself of which at least one in `proposals` is kept, 2η + ρ.
pub(super) fn of_gaussian(frame: &Frame<'_>, proposals: f64) -> f64 {
    let (q, d) = (&frame.q, frame.q.dim());
    let radius = radii(d)[NEAR];
    let Some(known) = frame.model.rounding_in(q, &[radius], None).pop() else { return f64::INFINITY };
    let spreads = deviations(q);
    let place = |i: usize| q.mean()[i].abs() + spreads[i] * radius;
    let moved: f64 = (0..d).map(|i| known.sizes[i] * place(i)).sum();
    let unit = (d as f64 + 8.0) * f64::EPSILON;
    let size = frame.model.linear.constant.abs() + radius * radius;
    2.0 * (known.value + unit * (moved + size)) + WEIGHTS + proposals * chi_square_tail(d, radius * radius)
}
