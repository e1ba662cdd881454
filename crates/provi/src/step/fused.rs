//! Prox-SGD with the energy estimator, one draw a step: the same iterates in fewer passes over C.

use crate::average::{Averager, blend};
use crate::draws::Draws;
use crate::error::{Error, Result};
use crate::estimator::{Evaluator, check_finite};
use crate::matrix::packed_index;
use crate::norm;
use crate::optimize::{Moved, Problem};
use crate::target::Scratch;
use provi_kernels::prox::{self, BLOCK, Deferred};
use provi_kernels::{axpy, dot};

/// From this dimension on updates are deferred: below, one pass a step is cheaper.
const DEFER_FROM: usize = 128;

/// w ← prox_{γh}(w − γg), g = (π, tril(πuᵀ)) from one draw: [`Prox`](super::Prox) after the energy estimator.
///
/// Below d = 128 a step is one pass over C, which applies the last update and forms the next Cu. From there on a block of
/// 16 steps is one pass: the draws are known ahead, and inside the block Cu is corrected in O(16·d) ([`Deferred`]).
/// Rounding apart the iterates are those of the plain loop.
///
/// Between steps mean and diagonal of w are up to date; the strict triangle is behind until [`Problem::settle`].
/// Averages are exact: those over a block are linear in its first triangle and its updates, so they cost two passes over
/// the mean a block. Memory beside w: O(16·d) numbers. Nothing is allocated after construction.
#[derive(Debug)]
pub struct FusedProx<'a> {
    target: Evaluator<'a>,
    draws: Draws,
    dim: usize,
    diagonal: Vec<f64>,
    point: Vec<f64>,
    value: [f64; 1],
    pull: Vec<f64>,
    scratch: Vec<Scratch>,
    evaluations: u64,
    pending: Pending,
}

/// What the strict triangle of w is behind by.
#[derive(Debug)]
enum Pending {
    One(One),
    Block(Box<Block>),
}

/// At most one update: left·rightᵀ, zero if none.
#[derive(Debug)]
struct One {
    left: Vec<f64>,
    right: Vec<f64>,
    draw: Vec<f64>,
    /// The step whose draw and point are ready; then nothing is pending.
    ready: Option<u64>,
    /// The step that `left` came from.
    last: Option<u64>,
}

#[derive(Debug)]
struct Block {
    deferred: Deferred,
    draws: Vec<f64>,
    /// The step that the block expects next.
    next: Option<u64>,
    /// The average owes mean ← mean + share·(C_0 − mean) + Σ_k weight_k·update_k.
    share: f64,
    weights: [f64; BLOCK],
    diagonal_mean: Vec<f64>,
}

impl<'a> FusedProx<'a> {
    /// For this target and stream of draws.
    pub fn new(target: Evaluator<'a>, draws: Draws) -> Result<Self> {
        let deferring = target.dim() >= DEFER_FROM;
        Self::with_deferral(target, draws, deferring)
    }

    /// The same, with or without deferral, whatever the dimension.
    pub fn with_deferral(target: Evaluator<'a>, draws: Draws, deferring: bool) -> Result<Self> {
        let dim = target.dim();
        if dim == 0 {
            return Err(Error::Empty { what: "target (dimension 0)" });
        }
        let room = || vec![0.0; dim];
        let pending = if deferring {
            Pending::Block(Box::new(Block {
                deferred: Deferred::new(dim),
                draws: vec![0.0; BLOCK * dim],
                next: None,
                share: 0.0,
                weights: [0.0; BLOCK],
                diagonal_mean: room(),
            }))
        } else {
            Pending::One(One { left: room(), right: room(), draw: room(), ready: None, last: None })
        };
        Ok(Self {
            scratch: target.scratch(1),
            target,
            draws,
            dim,
            diagonal: room(),
            point: room(),
            value: [0.0],
            pull: room(),
            evaluations: 0,
            pending,
        })
    }

    /// Evaluations of the target's density with its gradient so far.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// The point z_t, and with it the pass over C if one is due. The average must have been paid what a block owes it.
    fn prepare(&mut self, w: &mut [f64], t: u64) {
        let d = self.dim;
        let (mean, packed) = w.split_at_mut(d);
        match &mut self.pending {
            Pending::One(one) => {
                if one.ready == Some(t) {
                    return;
                }
                if one.last.is_none() {
                    read_diagonal(packed, &mut self.diagonal);
                }
                self.draws.fill(t, 0, &mut one.draw);
                let (left, right) = (&one.left, &one.right);
                prox::step(packed, mean, &self.diagonal, left, right, &one.draw, &mut self.point);
                one.left.fill(0.0);
                one.ready = Some(t);
            }
            Pending::Block(block) => {
                if block.next != Some(t) || block.deferred.made() == BLOCK {
                    if block.next.is_none() {
                        read_diagonal(packed, &mut self.diagonal);
                    }
                    for (k, u) in block.draws.chunks_exact_mut(d).enumerate() {
                        self.draws.fill(t + k as u64, 0, u);
                    }
                    block.deferred.begin(packed, &block.draws);
                    block.next = Some(t);
                }
                block.deferred.point(mean, &self.diagonal, &mut self.point);
            }
        }
    }
}

impl Problem for FusedProx<'_> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        let d = self.dim;
        self.prepare(w, t);
        self.target.evaluate(&self.point, &mut self.value, &mut self.pull, &mut self.scratch)?;
        self.evaluations += 1;
        check_finite(t, &self.point, &self.value, &self.pull)?;
        // The one minus sign: from here on everything is minimised.
        self.pull.iter_mut().for_each(|g| *g = -*g);
        let (mean, packed) = w.split_at_mut(d);
        axpy(-gamma, &self.pull, mean);
        let draw = match &mut self.pending {
            Pending::One(one) => {
                one.left.iter_mut().zip(&self.pull).for_each(|(left, pull)| *left = -gamma * pull);
                std::mem::swap(&mut one.draw, &mut one.right);
                (one.ready, one.last) = (None, Some(t));
                &one.right[..]
            }
            Pending::Block(block) => {
                let k = block.deferred.made();
                block.deferred.push(gamma, &self.pull);
                block.next = Some(t + 1);
                &block.draws[k * d..][..d]
            }
        };
        prox::lift(packed, &mut self.diagonal, gamma, &self.pull, draw);
        let distance = gamma * norm(&self.pull) * (1.0 + dot(draw, draw)).sqrt() * (1.0 + 1e-12);
        Ok(Moved { distance, value: Some(-self.value[0]) })
    }

    fn settle(&mut self, w: &mut [f64]) -> Result<()> {
        let packed = &mut w[self.dim..];
        match &mut self.pending {
            Pending::One(one) => {
                if one.last.is_some() && one.ready.is_none() {
                    provi_kernels::triangle::rank_update(packed, 1.0, &one.left, &one.right);
                    // The diagonal was up to date before.
                    write_diagonal(&self.diagonal, packed);
                }
                one.left.fill(0.0);
                (one.ready, one.last) = (None, None);
            }
            Pending::Block(block) => {
                debug_assert!(block.share <= 0.0, "the average is paid first: `conclude`");
                block.deferred.settle(packed);
                block.next = None;
            }
        }
        Ok(())
    }

    fn show(&mut self, w: &mut [f64], t: u64, average: &mut Averager) -> Result<()> {
        let d = self.dim;
        match &mut self.pending {
            Pending::One(_) => {
                // The pass of step t makes w_t: to show it is no pass more.
                self.prepare(w, t);
                average.add(t, w)
            }
            Pending::Block(block) => {
                let Some(coefficient) = average.take(t, w.len())? else { return Ok(()) };
                let (mean, packed) = w.split_at(d);
                let (average_mean, average_packed) = average.mean_mut().split_at_mut(d);
                if block.next.is_none() {
                    read_diagonal(packed, &mut self.diagonal);
                }
                if block.share <= 0.0 {
                    read_diagonal(average_packed, &mut block.diagonal_mean);
                }
                blend(average_mean, mean, coefficient);
                blend(&mut block.diagonal_mean, &self.diagonal, coefficient);
                block.owe(coefficient);
                if block.deferred.made() == BLOCK {
                    block.pay(packed, average_packed);
                }
                Ok(())
            }
        }
    }

    fn conclude(&mut self, w: &mut [f64], average: &mut Averager) -> Result<()> {
        average.fits(w.len())?;
        if let Pending::Block(block) = &mut self.pending
            && block.share > 0.0
        {
            // An average that wants nothing is owed nothing: it is not the one that was shown anything.
            match average.mean_mut().split_at_mut_checked(self.dim) {
                Some((_, average)) => block.pay(&w[self.dim..], average),
                None => block.clear(),
            }
        }
        self.settle(w)
    }
}

impl Block {
    /// mean ← mean + c(C_k − mean) with C_k = C_0 + Σ_{n<k} update_n, on account.
    fn owe(&mut self, c: f64) {
        self.share += c * (1.0 - self.share);
        for weight in &mut self.weights[..self.deferred.made()] {
            *weight += c * (1.0 - *weight);
        }
    }

    /// Pays the average what is owed, while `packed` is C_0 still.
    fn pay(&mut self, packed: &[f64], average: &mut [f64]) {
        self.deferred.average(packed, self.share, &self.weights, average);
        write_diagonal(&self.diagonal_mean, average);
        self.clear();
    }

    fn clear(&mut self) {
        (self.share, self.weights) = (0.0, [0.0; BLOCK]);
    }
}

fn read_diagonal(packed: &[f64], diagonal: &mut [f64]) {
    diagonal.iter_mut().enumerate().for_each(|(i, c)| *c = packed[packed_index(i, i)]);
}

fn write_diagonal(diagonal: &[f64], packed: &mut [f64]) {
    diagonal.iter().enumerate().for_each(|(i, c)| packed[packed_index(i, i)] = *c);
}

#[cfg(test)]
mod tests;
