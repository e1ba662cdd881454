//! The sparse solver under a watch.

use crate::base::error::Result;
use crate::glm::sparse::{AnyGaussian, SparseModel, SparseSolution, SparseSolver};
use crate::target::solution::Look;
use crate::watch::{Snapshot, Watch};
use std::ops::ControlFlow;
use std::time::Instant;

impl SparseSolver {
    /// Solves the model under a watch, from a Gaussian if one is given; returns the progress beside the answer. A stop leaves the best
    /// Gaussian so far.
    pub fn run_watched(
        &self,
        model: &SparseModel,
        from: Option<&AnyGaussian>,
        watch: &mut Watch<'_>,
    ) -> Result<(SparseSolution, Vec<Snapshot>)> {
        let (begin, steps) = (Instant::now(), self.iterations as u64);
        let (mut trace, mut lost, signal) = (Vec::new(), None, watch.signal(begin));
        let mut told = |look: &Look| {
            let gap = look.proved.then_some(look.gap);
            let at =
                Snapshot { step: look.iteration as u64, steps, gamma: 1.0, neg_elbo: look.neg_elbo, gap };
            trace.push(at);
            watch.see(&at, begin).unwrap_or_else(|error| {
                lost = Some(error);
                ControlFlow::Break(())
            })
        };
        let mut run = || match from.and_then(AnyGaussian::as_sparse) {
            Some(from) => self.run_from(model, from, &mut told),
            None => self.run_with(model, &mut told),
        };
        let solution = match signal {
            Some(signal) => signal.cover(run),
            None => run(),
        };
        match lost {
            Some(error) => Err(error),
            None => Ok((solution?, trace)),
        }
    }
}
