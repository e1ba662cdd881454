//! Prox-SGD with the energy estimator: the same iterates with fewer passes over C.

use crate::base::draws::Draws;
use crate::base::error::{Error, Result};
use crate::base::linalg::norm;
use crate::base::scratch::Scratch;
use crate::base::together::Together;
use crate::sgd::average::{Averager, blend};
use crate::sgd::estimator::{Source, check_batch, check_finite};
use crate::sgd::optimize::{Moved, Problem};
use provi_kernels::prox::{Deferred, Tiles};
use provi_kernels::{axpy, dot};

/// w ← prox_{γh}(w − γg), g = Σ_s (π_s, tril(π_s u_sᵀ))/S: [`Prox`](super::Prox) after the energy estimator.
///
/// Steps are made in blocks of eight draws (sixteen from d = 512 on), or of one step if it has more draws. A block
/// is one pass over C, which applies the last updates and forms the next products. The draws are known ahead, and
/// inside a block the products are corrected in O(d) for each pair of draws ([`Deferred`]). Except for rounding,
/// the iterates are those of the plain loop.
///
/// Between steps, mean and diagonal of w are up to date. The strict triangle lags behind until [`Problem::settle`];
/// after it, others may change w. Averages are exact: those over a block are linear in its first triangle and its
/// updates, so they cost two passes over the mean per block. Memory besides w: as much again for C, once more for
/// an average, and O(d) for each draw of a block. Nothing is allocated after the first step.
#[derive(Debug)]
pub struct FusedProx<'a> {
    target: Source<'a>,
    source: Together,
    dim: usize,
    batch: usize,
    block: Deferred,
    /// The draws of the block.
    draws: Vec<f64>,
    /// The step that the block expects next; `None` if C is in w.
    next: Option<u64>,
    points: Vec<f64>,
    values: Vec<f64>,
    pulls: Vec<f64>,
    scratch: Vec<Scratch>,
    evaluations: u64,
    debt: Debt,
}

/// The updates that the average has not received yet.
#[derive(Debug, Default)]
struct Debt {
    /// The triangle of the average; `None` while only the [`Averager`] holds it.
    mean: Option<Tiles>,
    /// Whether `mean` is more recent than the averager's.
    ahead: bool,
    /// Deferred: mean ← mean + share·(C_0 − mean) + Σ weight·update, with a weight for each step of the block.
    share: f64,
    weights: Vec<f64>,
}

impl<'a> FusedProx<'a> {
    /// `batch` ≥ 1 draws per step from this stream.
    pub fn new(target: impl Into<Source<'a>>, draws: Draws, batch: usize) -> Result<Self> {
        let target = target.into();
        let steps = Deferred::fitting(target.dim(), batch);
        Self::with_block(target, draws, batch, steps)
    }

    /// The same, with at most `steps` ≥ 1 steps per block.
    pub fn with_block(
        target: impl Into<Source<'a>>,
        source: Draws,
        batch: usize,
        steps: usize,
    ) -> Result<Self> {
        let target = target.into();
        let dim = target.dim();
        check_batch(dim, batch)?;
        if steps == 0 {
            return Err(Error::OutOfRange { what: "steps of a block", value: 0.0, needed: "1 or more" });
        }
        let block = Deferred::new(dim, batch, steps);
        let steps = block.steps();
        Ok(Self {
            scratch: target.scratch(batch),
            target,
            source: Together::new(source, dim, batch)?,
            dim,
            batch,
            block,
            draws: vec![0.0; steps * batch * dim],
            next: None,
            points: vec![0.0; batch * dim],
            values: vec![0.0; batch],
            pulls: vec![0.0; batch * dim],
            evaluations: 0,
            debt: Debt { weights: vec![0.0; steps], ..Debt::default() },
        })
    }

    /// Evaluations of the target's density with its gradient so far.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Makes a block with room for step t. The deferred average must have been applied.
    fn prepare(&mut self, w: &[f64], t: u64) {
        if self.next == Some(t) && self.block.made() < self.block.steps() {
            return;
        }
        if self.next.is_none() {
            self.block.read(&w[self.dim..]);
        }
        for (step, draws) in (t..).zip(self.draws.chunks_exact_mut(self.batch * self.dim)) {
            self.source.fill(step, draws);
        }
        self.block.begin(&self.draws);
        self.next = Some(t);
    }
}

impl Problem for FusedProx<'_> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        let d = self.dim;
        self.prepare(w, t);
        let (mean, packed) = w.split_at_mut(d);
        self.block.points(mean, &mut self.points);
        self.target.evaluate(t, &self.points, &mut self.values, &mut self.pulls, &mut self.scratch)?;
        self.evaluations += self.batch as u64;
        check_finite(t, &self.points, &self.values, &self.pulls)?;
        // The only minus sign: from here on everything is minimised.
        self.pulls.iter_mut().for_each(|g| *g = -*g);
        let scale = gamma / self.batch as f64;
        let draws = &self.draws[self.block.made() * self.batch * d..][..self.batch * d];
        let mut distance = 0.0;
        for (pull, u) in self.pulls.chunks_exact(d).zip(draws.chunks_exact(d)) {
            axpy(-scale, pull, mean);
            distance += norm(pull) * (1.0 + dot(u, u)).sqrt();
        }
        self.block.push(gamma, &self.pulls);
        self.block.factor().write_diagonal(packed);
        self.next = Some(t + 1);
        let value = -self.values.iter().sum::<f64>() / self.batch as f64;
        Ok(Moved { distance: scale * distance * (1.0 + 1e-12), value: Some(value) })
    }

    fn settle(&mut self, w: &mut [f64]) -> Result<()> {
        debug_assert!(self.debt.share <= 0.0, "the deferred average must be applied first: `conclude`");
        if self.next.take().is_some() {
            self.block.write(&mut w[self.dim..]);
        }
        Ok(())
    }

    fn show(&mut self, w: &mut [f64], t: u64, average: &mut Averager) -> Result<()> {
        let Some(coefficient) = average.take(t, w.len())? else { return Ok(()) };
        if self.next != Some(t) || self.block.made() == self.block.steps() {
            self.debt.pay(&mut self.block);
            self.prepare(w, t);
        }
        let (average_mean, average_packed) = average.mean_mut().split_at_mut(self.dim);
        blend(average_mean, &w[..self.dim], coefficient);
        let mean = self.debt.mean.get_or_insert_with(|| Tiles::new(self.dim));
        if !self.debt.ahead {
            mean.read(average_packed);
            self.debt.ahead = true;
        }
        mean.blend_near(self.block.factor(), coefficient);
        self.debt.owe(coefficient, self.block.made());
        Ok(())
    }

    fn conclude(&mut self, w: &mut [f64], average: &mut Averager) -> Result<()> {
        average.fits(w.len())?;
        self.debt.pay(&mut self.block);
        // An average that wants nothing has not been shown anything.
        if std::mem::take(&mut self.debt.ahead)
            && let Some(mean) = &mut self.debt.mean
            && let Some((_, packed)) = average.mean_mut().split_at_mut_checked(self.dim)
        {
            mean.write(packed);
        }
        self.settle(w)
    }
}

impl Debt {
    /// Defers mean ← mean + c(C_k − mean) with C_k = C_0 + Σ_{n<k} update_n.
    fn owe(&mut self, c: f64, made: usize) {
        self.share += c * (1.0 - self.share);
        for weight in &mut self.weights[..made] {
            *weight += c * (1.0 - *weight);
        }
    }

    /// Applies the deferred update, while its block still exists.
    fn pay(&mut self, block: &mut Deferred) {
        if self.share > 0.0
            && let Some(mean) = &mut self.mean
        {
            block.average(self.share, &self.weights, mean);
            self.weights.fill(0.0);
            self.share = 0.0;
        }
    }
}

#[cfg(test)]
mod tests;
