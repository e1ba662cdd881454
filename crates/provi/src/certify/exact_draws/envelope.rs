//! Functions above the density that can be drawn from.

use super::layer::{Layer, in_order};
use crate::base::draws::Draws;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::special::upper_quantile;
use crate::glm::Glm;
use crate::glm::rows::Slab;
use provi_kernels::{dot, triangle};

/// A function that is at least e^{−E}, E = V without its constant, made of pieces. Each piece is proposed from with its own
/// probability, and what it proposes counts where its slab says so.
///
/// What a piece proposes has a density proportional to e^{bound(z)}·(rows of z beyond the slab's inner bounds, or 1 where it has none) on
/// its own region; with the weights of the pieces as they are, a proposal that is accepted with probability
/// e^{−E(z) − bound(z)}/(that number) has the law of the posterior.
pub(super) trait Envelope: Send + Sync {
    /// log of the mass of all pieces.
    fn log_mass(&self) -> f64;

    /// The piece for a uniform u.
    fn piece(&self, u: f64) -> usize;

    /// Where proposals of a piece count.
    fn slab(&self, piece: usize) -> Slab<'_>;

    /// Proposal k of a piece into `z`; returns bound(z). `room` has 3d numbers.
    fn propose(
        &self,
        model: &Glm,
        draws: &Draws,
        k: u64,
        piece: usize,
        z: &mut [f64],
        room: &mut [f64],
    ) -> f64;

    /// Whether a proposal of a piece with that bound(z) lies where the piece counts, whatever its direction.
    fn is_inside(&self, piece: usize, bound: f64) -> bool;

    /// Whether e^{−E} is at most the envelope everywhere; otherwise it is cut off there.
    fn is_above(&self) -> bool {
        true
    }
}

/// Uniforms of a proposal, in the second stream of its number: for its piece, its row, its place beyond a bound, its acceptance.
pub(super) const UNIFORMS: usize = 4;

pub(super) fn uniforms(draws: &Draws, k: u64) -> [f64; UNIFORMS] {
    let mut out = [0.0; UNIFORMS];
    draws.uniforms(k, 1, &mut out);
    out
}

/// Slabs around each other [exact-draws].
///
/// Inside the first slab its Gaussian is the envelope. Between two slabs it is that of the outer one, proposed from a half-space
/// {σt_n > reach_n} that is drawn in proportion to its probability: a point there is proposed once for each row whose inner bound it
/// is beyond.
pub(super) struct Slabs {
    pub(super) layers: Vec<Layer>,
    middles: Vec<f64>,
    /// Σ over (row, sign) of the probabilities of half-spaces, for each layer but the first.
    tables: Vec<Vec<f64>>,
    /// Sums of the weights of the pieces, over that of all.
    ends: Vec<f64>,
    /// log of each piece's weight, and of all.
    pub(super) weights: Vec<f64>,
    log_mass: f64,
    /// ‖e‖² up to which a proposal of the first slab lies in it.
    free_square: f64,
}

/// log of the share of the mass that nothing can miss, 10^{−47}.
const MISSED: f64 = -108.0;
/// Two normal tails, in multiply-adds.
const TAIL_WORK: usize = 64;

impl Slabs {
    pub(super) fn new(layers: Vec<Layer>, middles: Vec<f64>) -> Self {
        let mut tables = vec![Vec::new()];
        let mut weights = vec![layers[0].log_mass];
        for pair in layers.windows(2) {
            let (inner, outer) = (&pair[0], &pair[1]);
            let mut sum = 0.0;
            let tails = in_order(middles.len(), TAIL_WORK, |n| {
                [1.0, -1.0].map(|sign| outer.tail(n, sign, inner.reach[n]))
            });
            let mut table = Vec::with_capacity(2 * middles.len());
            for tail in tails.into_iter().flatten() {
                sum += tail;
                table.push(sum);
            }
            weights.push(outer.log_mass + sum.ln());
            tables.push(table);
        }
        let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Half-spaces whose probabilities underflow are never proposed; with a mass that would be missed the slabs are of no use.
        let is_missed = |(pair, weight): (&[Layer], &f64)| {
            *weight == f64::NEG_INFINITY
                && pair[1].log_mass + pair[1].log_tails(&pair[0].reach, 1) > top + MISSED
        };
        let missed = layers.windows(2).zip(&weights[1..]).any(is_missed);
        let parts: Vec<f64> = weights.iter().map(|w| (w - top).exp()).collect();
        let whole: f64 = parts.iter().sum();
        let mut sum = 0.0;
        let ends = parts
            .iter()
            .map(|part| {
                sum += part / whole;
                sum
            })
            .collect();
        let log_mass = if missed { f64::INFINITY } else { top + whole.ln() };
        let free_square = layers[0].free_radius().powi(2);
        Self { layers, middles, tables, ends, weights, log_mass, free_square }
    }
}

impl Envelope for Slabs {
    fn log_mass(&self) -> f64 {
        self.log_mass
    }

    fn piece(&self, u: f64) -> usize {
        self.ends.partition_point(|&end| end < u).min(self.ends.len() - 1)
    }

    fn slab(&self, piece: usize) -> Slab<'_> {
        let inner = piece.checked_sub(1).map(|before| &self.layers[before].reach[..]);
        Slab { middle: &self.middles, inner, outer: &self.layers[piece].reach }
    }

    fn propose(
        &self,
        model: &Glm,
        draws: &Draws,
        k: u64,
        piece: usize,
        z: &mut [f64],
        room: &mut [f64],
    ) -> f64 {
        let d = z.len();
        let layer = &self.layers[piece];
        let (e, room) = room.split_at_mut(d);
        let (row, v) = room.split_at_mut(d);
        draws.fill(k, 0, e);
        if piece > 0 {
            let [_, which, place, _] = uniforms(draws, k);
            let table = &self.tables[piece];
            let at = which * table[table.len() - 1];
            let entry = table.partition_point(|&end| end < at).min(table.len() - 1);
            let (n, sign) = (entry / 2, if entry.is_multiple_of(2) { 1.0 } else { -1.0 });
            // e given σ·Fᵀa_n·e > ‖Fᵀa_n‖·cut: its part along that vector is drawn from the tail.
            row.fill(0.0);
            model.rows.design.add_row(n, 1.0, row);
            triangle::multiply_transposed(layer.gaussian.factor(), row, v);
            let size = norm(v);
            let along = dot(v, e) / size;
            let far = beyond(place * layer.tail(n, sign, self.layers[piece - 1].reach[n]));
            let change = (sign * far - along) / size;
            e.iter_mut().zip(v.iter()).for_each(|(e, v)| *e += change * v);
        }
        layer.gaussian.transport(e, z);
        layer.height - 0.5 * dot(e, e)
    }

    fn is_inside(&self, piece: usize, bound: f64) -> bool {
        // bound = height − ½‖e‖², rounded.
        let height = self.layers[0].height;
        let lost = 8.0 * f64::EPSILON * (height.abs() + bound.abs());
        piece == 0 && 2.0 * (height - bound) + lost <= self.free_square
    }
}

/// Kq: e^{−E} above it is cut off [exact-draws].
pub(super) struct Capped {
    q: Gaussian<Triangular>,
    /// log of K·e^{const − f} and of the height of q.
    height: f64,
    log_mass: f64,
    middles: Vec<f64>,
    everywhere: Vec<f64>,
}

impl Capped {
    /// `log_scale` is log of K·e^{const − f}.
    pub(super) fn new(q: Gaussian<Triangular>, log_scale: f64, rows: usize) -> Result<Self> {
        let normaliser = 0.5 * q.dim() as f64 * (2.0 * std::f64::consts::PI).ln() + q.log_det()?;
        let (middles, everywhere) = (vec![0.0; rows], vec![f64::INFINITY; rows]);
        Ok(Self { q, height: log_scale - normaliser, log_mass: log_scale, middles, everywhere })
    }
}

impl Envelope for Capped {
    fn log_mass(&self) -> f64 {
        self.log_mass
    }

    fn piece(&self, _: f64) -> usize {
        0
    }

    fn slab(&self, _: usize) -> Slab<'_> {
        Slab { middle: &self.middles, inner: None, outer: &self.everywhere }
    }

    fn propose(&self, _: &Glm, draws: &Draws, k: u64, _: usize, z: &mut [f64], room: &mut [f64]) -> f64 {
        let e = &mut room[..z.len()];
        draws.fill(k, 0, e);
        self.q.transport(e, z);
        self.height - 0.5 * dot(e, e)
    }

    fn is_inside(&self, _: usize, _: f64) -> bool {
        true
    }

    fn is_above(&self) -> bool {
        false
    }
}

/// x with P(N(0,1) > x) = tail.
fn beyond(tail: f64) -> f64 {
    match tail {
        tail if tail <= 0.5 => upper_quantile(tail.max(f64::MIN_POSITIVE)),
        tail => -upper_quantile((1.0 - tail).max(f64::MIN_POSITIVE)),
    }
}
