//! The source of a draw's log density and gradient: the whole target, or some of its terms.

use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::sgd::subsample::Law;
use crate::target::evaluate::Evaluator;
use crate::target::{FiniteSum, Target};

/// The whole target, or terms chosen anew for each draw. Both are unbiased, so the step code treats them alike.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Every draw uses the whole target.
    Whole(Evaluator<'a>),
    /// Every draw uses its own terms.
    Terms(Terms<'a>),
}

/// Terms of a finite sum, chosen anew for every draw of every step by a pure function of (seed, step, draw).
///
/// Draws are evaluated one after the other: a batch of terms is little work, and the bits are the same for any
/// number of threads. Cost: B terms per draw.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    sum: &'a dyn FiniteSum,
    law: &'a Law,
    seed: Seed,
}

impl std::fmt::Debug for Terms<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("law", &self.law.subsample()).finish_non_exhaustive()
    }
}

impl<'a> Terms<'a> {
    /// The terms of a target that is a finite sum.
    pub fn new(target: &'a dyn Target, law: &'a Law, seed: Seed) -> Result<Self> {
        let sum = target.finite_sum().ok_or(NO_TERMS)?;
        if sum.terms() != law.count() {
            return Err(Error::Shape { what: "terms", found: sum.terms(), expected: law.count() });
        }
        Ok(Self { sum, law, seed })
    }

    /// The estimates of log p and ∇ log p at the points of step t, one for each draw.
    fn evaluate(
        &self,
        step: u64,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (d, draws) = (self.sum.dimension(), values.len());
        let size = self.law.subsample().terms;
        let (terms, room, inner) = scratch.terms(size, 3 * size);
        let (weights, room) = room.split_at_mut(size);
        for (draw, ((z, value), gradient)) in points
            .chunks_exact(d)
            .zip(values.chunks_exact_mut(1))
            .zip(gradients.chunks_exact_mut(d))
            .enumerate()
        {
            stop::check()?;
            self.law.draw(self.seed, (step, draw, draws), terms, weights, room);
            self.sum.estimate(terms, weights, z, value, gradient, inner)?;
        }
        Ok(())
    }
}

/// The error for a target that is not a finite sum.
pub(crate) const NO_TERMS: Error = Error::MissingConstant {
    wanted: "a subsample",
    constant: "terms: log p as a sum over data",
    way_out: "leave the subsample out, or give the target as a `FiniteSum`",
};

impl<'a> From<Evaluator<'a>> for Source<'a> {
    fn from(evaluator: Evaluator<'a>) -> Self {
        Self::Whole(evaluator)
    }
}

impl<'a> From<Terms<'a>> for Source<'a> {
    fn from(terms: Terms<'a>) -> Self {
        Self::Terms(terms)
    }
}

impl Source<'_> {
    /// The dimension d.
    pub fn dim(&self) -> usize {
        match self {
            Self::Whole(evaluator) => evaluator.dim(),
            Self::Terms(terms) => terms.sum.dimension(),
        }
    }

    /// Working memory for `batch` draws.
    pub(crate) fn scratch(&self, batch: usize) -> Vec<Scratch> {
        match self {
            Self::Whole(evaluator) => evaluator.scratch(batch),
            Self::Terms(_) => vec![Scratch::default()],
        }
    }

    /// log p and ∇ log p, or their estimates, at the points of step t. A stop ends it between two evaluations
    /// ([`crate::stop`]).
    pub(crate) fn evaluate(
        &self,
        step: u64,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut [Scratch],
    ) -> Result<()> {
        stop::evaluation(|| match self {
            Self::Whole(evaluator) => evaluator.evaluate(points, values, gradients, scratch),
            Self::Terms(terms) => terms.evaluate(step, points, values, gradients, &mut scratch[0]),
        })
    }
}
