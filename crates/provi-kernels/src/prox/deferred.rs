//! Steps of Prox-SGD in blocks: one pass over the triangle for each.

use super::{plain, sweep::*, tiles::*};
use crate::{aligned::*, dispatch::dispatch};

/// The most draws of a block of more than one step.
const MOST: usize = 16;

/// C, and a block of steps. Their updates of the tiles left of the diagonal are deferred to the end of the block.
///
/// With C_0 those tiles at the start of the block, u_k its draws, l_k = −γπ_k/S its scaled pulls, and made(k) the
/// number of draws in the steps before that of k:
/// ```text
/// (C u_k)_i = (C_0 u_k)_i + Σ_{n<made(k)} l_n(i) Σ_j u_n(j) u_k(j),   j left of the tile on the diagonal
/// ```
/// One pass ([`begin`](Self::begin)) applies the last block's updates and forms all C_0 u_k of the next; the sum
/// costs O(d) for each pair of draws. Tiles on the diagonal, and the diagonal, change at every step. The iterates
/// are those of the step-by-step loop, up to rounding. Memory besides C: 4d numbers for each draw of a block.
/// Nothing is allocated after construction.
#[derive(Debug)]
pub struct Deferred {
    dim: usize,
    batch: usize,
    /// Number of draws of a block.
    width: usize,
    /// Number of draws of the steps made so far; as many updates are pending.
    made: usize,
    factor: Tiles,
    /// Chunk b of l_k, of u_k (of this block, and room for the next), of C_0 u_k, at b·width + k. To C_0 u_k the step before
    /// that of k adds the tiles on the diagonal.
    left: Aligned,
    draws: Aligned,
    next: Aligned,
    products: Aligned,
}

impl Deferred {
    /// The number of steps of a block that was fastest. Longer blocks save passes over C, and a pass costs more if
    /// C is in no near cache.
    #[must_use]
    pub fn fitting(dim: usize, batch: usize) -> usize {
        (if dim < 512 { 8 } else { MOST } / batch.max(1)).max(1)
    }

    /// For factors of size `dim` and steps of `batch` draws; a block has at most `steps` steps and 16 draws.
    ///
    /// # Panics
    /// If one of the three is zero.
    #[must_use]
    pub fn new(dim: usize, batch: usize, steps: usize) -> Self {
        assert!(dim > 0 && batch > 0 && steps > 0, "prox: d = {dim}, S = {batch}, {steps} steps a block");
        let width = batch * steps.min(MOST / batch).max(1);
        let room = || Aligned::zeros(dim.div_ceil(8) * width);
        Self {
            dim,
            batch,
            width,
            made: 0,
            factor: Tiles::new(dim),
            left: room(),
            draws: room(),
            next: room(),
            products: room(),
        }
    }

    /// The number of steps of a block.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.width / self.batch
    }

    /// The number of steps of this block made so far.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made / self.batch
    }

    /// C; left of the tiles on the diagonal it is C_0.
    #[must_use]
    pub fn factor(&self) -> &Tiles {
        &self.factor
    }

    /// Loads a triangle packed row by row, and discards pending updates.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn read(&mut self, packed: &[f64]) {
        self.made = 0;
        self.factor.read(packed);
    }

    /// Applies the pending updates, ends the block, and writes C, packed row by row.
    ///
    /// # Panics
    /// If `packed` does not have d(d+1)/2 entries.
    pub fn write(&mut self, packed: &mut [f64]) {
        let (left, draws) = (self.left.chunks(), self.draws.chunks());
        sweep(self.factor.far.chunks_mut(), [self.width, self.made], left, draws, &[], &mut []);
        self.made = 0;
        self.factor.write(packed);
    }

    /// Applies the pending updates and starts a block with these draws, u_k at `draws[k·d..]`.
    ///
    /// Cost: 2d² flops per draw; C is read and written once.
    ///
    /// # Panics
    /// If `draws` does not hold one vector for each draw of the block.
    pub fn begin(&mut self, draws: &[f64]) {
        let (d, width) = (self.dim, self.width);
        assert_eq!(draws.len(), width * d, "prox: {width} draws of d = {d} entries");
        let (next, products) = (self.next.chunks_mut(), self.products.chunks_mut());
        dispatch!(plain::open, open_lanes(draws: &[f64], d: usize, next: &mut [Chunk], products: &mut [Chunk]));
        let (left, last, next) = (self.left.chunks(), self.draws.chunks(), self.next.chunks());
        let (far, out) = (self.factor.far.chunks_mut(), self.products.chunks_mut());
        sweep(far, [width, self.made], left, last, next, out);
        self.made = 0;
        std::mem::swap(&mut self.draws, &mut self.next);
    }

    /// z_s = mean + C·u_s for the draws of the next step, at `points[s·d..]`. Cost: O(d) for each pair of draws.
    ///
    /// # Panics
    /// If the block is over, or lengths differ.
    pub fn points(&self, mean: &[f64], points: &mut [f64]) {
        let (d, width, made) = (self.dim, self.width, self.made);
        assert!(made < width, "prox: a block has {} steps", self.steps());
        assert!(mean.len() == d && points.len() == self.batch * d, "prox: vectors have d = {d} entries");
        let on = [self.factor.near.chunks(), self.factor.diagonal.chunks()];
        let block = [self.left.chunks(), self.draws.chunks(), self.products.chunks()];
        let sizes = [width, made];
        dispatch!(
            plain::points,
            points_lanes(sizes: [usize; 2], on: [&[Chunk]; 2], block: [&[Chunk]; 3], mean: &[f64], points: &mut [f64])
        );
    }

    /// The rest of a step, from the pulls at its points: adds −γ/S Σ_s π_s u_sᵀ to the pending updates, and lifts
    /// the diagonal.
    ///
    /// The textbook root ½(c + √(c² + 4γ)) subtracts nearly equal numbers for c < 0; its conjugate 2γ/(√(c² + 4γ) −
    /// c) is used there.
    ///
    /// # Panics
    /// If the block is over, or `pulls` does not have S·d entries.
    pub fn push(&mut self, gamma: f64, pulls: &[f64]) {
        let (d, batch, made) = (self.dim, self.batch, self.made);
        assert!(made < self.width, "prox: a block has {} steps", self.steps());
        assert_eq!(pulls.len(), batch * d, "prox: {batch} pulls of d = {d} entries");
        let sizes = [self.width, made, d];
        let on = [self.factor.near.chunks_mut(), self.factor.diagonal.chunks_mut()];
        let (block, draws) = ([self.left.chunks_mut(), self.products.chunks_mut()], self.draws.chunks());
        dispatch!(
            plain::push,
            push_lanes(sizes: [usize; 3], gamma: f64, pulls: &[f64], on: [&mut [Chunk]; 2], block: [&mut [Chunk]; 2],
                draws: &[Chunk])
        );
        self.made += batch;
    }

    /// An average over the block, left of the tiles on the diagonal: mean ← mean + share·(C_0 − mean) + Σ_k
    /// weight_k l_k u_kᵀ, with one weight for the draws of each step.
    ///
    /// The products are no longer valid afterwards, so the block must be over. Cost: d² flops per draw; C is read,
    /// `mean` read and written. If all weights are zero, only a blend.
    ///
    /// # Panics
    /// If sizes differ, or a step that was made has no weight.
    pub fn average(&mut self, share: f64, weights: &[f64], mean: &mut Tiles) {
        mean.blend_far(&self.factor, share);
        let (width, batch, made) = (self.width, self.batch, self.made);
        let weights = &weights[..made / batch];
        if weights.iter().all(|weight| *weight <= 0.0) {
            return;
        }
        let left = self.left.chunks().chunks_exact(width);
        for (scaled, left) in self.products.chunks_mut().chunks_exact_mut(width).zip(left) {
            for k in 0..made {
                scaled[k] = left[k].map(|l| weights[k / batch] * l);
            }
        }
        let (left, draws) = (self.products.chunks(), self.draws.chunks());
        sweep(mean.far.chunks_mut(), [width, made], left, draws, &[], &mut []);
    }
}

fn sweep(
    far: &mut [Chunk],
    sizes: [usize; 2],
    left: &[Chunk],
    last: &[Chunk],
    next: &[Chunk],
    out: &mut [Chunk],
) {
    dispatch!(
        plain::sweep,
        sweep_lanes(far: &mut [Chunk], sizes: [usize; 2], left: &[Chunk], last: &[Chunk], next: &[Chunk],
            out: &mut [Chunk])
    );
}
