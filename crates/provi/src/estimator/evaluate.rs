//! Evaluating a batch of draws, on one thread or many, with the same bits.

use crate::error::Result;
use crate::target::{Scratch, Target};

/// A target and the rule for threads: a `Sync` target may be evaluated in parallel, any other serially.
#[derive(Clone, Copy)]
pub enum Evaluator<'a> {
    /// One chunk after the other.
    Serial(&'a dyn Target),
    /// Chunks in parallel on the current thread pool.
    Parallel(&'a (dyn Target + Sync)),
}

impl std::fmt::Debug for Evaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = if matches!(self, Self::Serial(_)) { "Serial" } else { "Parallel" };
        f.debug_struct(name).field("dim", &self.dim()).finish()
    }
}

impl<'a> Evaluator<'a> {
    /// The target.
    pub fn target(&self) -> &'a dyn Target {
        match self {
            Self::Serial(target) => *target,
            Self::Parallel(target) => *target,
        }
    }

    /// d.
    pub fn dim(&self) -> usize {
        self.target().dim()
    }

    /// Draws evaluated together. The chunks do not depend on the number of threads, so neither do the results.
    fn chunk(&self) -> usize {
        self.target().batch().max(1)
    }

    /// Working memory for `batch` draws, one piece a chunk.
    pub(crate) fn scratch(&self, batch: usize) -> Vec<Scratch> {
        vec![Scratch::default(); batch.div_ceil(self.chunk())]
    }

    /// log p and ∇ log p at every point.
    pub(crate) fn evaluate(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut [Scratch],
    ) -> Result<()> {
        let (d, chunk) = (self.dim(), self.chunk());
        let numbers = chunk.saturating_mul(d);
        #[cfg(feature = "parallel")]
        if let Self::Parallel(target) = self
            && values.len() > chunk
            && rayon::current_num_threads() > 1
        {
            use rayon::prelude::*;
            return points
                .par_chunks(numbers)
                .zip(values.par_chunks_mut(chunk))
                .zip(gradients.par_chunks_mut(numbers))
                .zip(scratch.par_iter_mut())
                .try_for_each(|(((z, v), g), s)| target.log_densities(z, v, g, s));
        }
        let target = self.target();
        let chunks = points.chunks(numbers).zip(values.chunks_mut(chunk));
        for (((z, v), g), s) in chunks.zip(gradients.chunks_mut(numbers)).zip(scratch) {
            target.log_densities(z, v, g, s)?;
        }
        Ok(())
    }
}
