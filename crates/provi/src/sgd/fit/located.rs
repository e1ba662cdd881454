//! The answer of a run with any base law.

use super::{Fit, MEASURED, NegElbo, Snapshot, at_least, measure_neg_elbo, neg_elbo_by_draws};
use crate::base::coupling::Coupling;
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::location_scale::LocationScale;
use crate::base::pattern::Pattern;
use crate::sgd::plan::Promise;
use crate::sgd::subsample::Subsample;
use crate::target::Target;

/// An answer q = law of m + Cu in the user's coordinates, and how it was reached \[base-law\].
///
/// The fields are those of a [`Fit`]. `promise` is about the best member of the same family: with another law than the normal,
/// w* is not the best Gaussian. `neg_elbo` is f(q) with the entropy of q itself, so that −f(q) ≤ log p(x) up to its standard
/// error. Audits, certificates and moments by quadrature take a Gaussian, so that none can be asked of this answer unless it is
/// one ([`LocationScaleFit::into_fit`]).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LocationScaleFit {
    /// The names of the coordinates.
    pub names: Vec<String>,
    /// The answer q: its law, mean and factor.
    pub q: LocationScale,
    /// The negative ELBO f(q).
    pub neg_elbo: NegElbo,
    /// The family of factors in which q was sought.
    pub pattern: Pattern,
    /// The method's name.
    pub method: String,
    /// Steps made.
    pub steps: u64,
    /// Whether fewer steps were made than planned.
    pub stopped_early: bool,
    /// Draws per step.
    pub draws_per_step: usize,
    /// How the draws of a step depend on each other.
    pub coupling: Coupling,
    /// How many terms each draw used, if not all.
    pub subsample: Option<Subsample>,
    /// Evaluations of log p with its gradient that led to the answer.
    pub gradient_evaluations: u64,
    /// The seed.
    pub seed: Seed,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// What the plan promised; without its value if the run stopped early.
    pub promise: Promise,
    /// The progress of the run at evenly spaced steps.
    pub trace: Vec<Snapshot>,
}

impl LocationScaleFit {
    /// The same answer as a [`Fit`], which can be audited; refused if q is no Gaussian.
    pub fn into_fit(self) -> Result<Fit> {
        let law = self.q.law();
        let gaussian = self.q.into_gaussian().ok_or_else(|| Error::BaseLaw {
            law: law.to_string(),
            why: "audits, certificates and moments are proved for a Gaussian q; seek one with the base law gaussian",
        })?;
        Ok(Fit {
            names: self.names,
            gaussian,
            neg_elbo: self.neg_elbo,
            pattern: self.pattern,
            method: self.method,
            steps: self.steps,
            stopped_early: self.stopped_early,
            draws_per_step: self.draws_per_step,
            coupling: self.coupling,
            subsample: self.subsample,
            gradient_evaluations: self.gradient_evaluations,
            seed: self.seed,
            seconds: self.seconds,
            promise: self.promise,
            trace: self.trace,
        })
    }
}

/// f(q), from draws unless q is a Gaussian whose expectations are exact.
pub(super) fn neg_elbo_at_least(target: &dyn Target, q: &LocationScale, seed: Seed) -> Result<NegElbo> {
    let by_draws = |count| neg_elbo_by_draws(target, q.shape(), q.law(), seed, count);
    let measure = || match q.as_gaussian() {
        Some(gaussian) => measure_neg_elbo(target, gaussian, seed),
        None => by_draws(MEASURED),
    };
    at_least(measure, by_draws, None)
}

#[cfg(test)]
mod tests;
