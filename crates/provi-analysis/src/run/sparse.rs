//! The answer of a model with thousands of group effects: the best Gaussian by its sparse precision.

use std::time::Instant;

use provi::certificate::Certificate;
use provi::coupling::Coupling;
use provi::fit::{NegElbo, Watch};
use provi::plan::Promise;
use provi::sparse::{AnyGaussian, SparseModel, SparseSolver};
use provi::{Pattern, Seed};

use super::assessment::Assessment;
use super::strategy::{Answer, Found, covered};
use crate::error::Result;
use crate::record::trust::SearchRecord;

/// How a solution was found, for the record.
pub(super) fn found(names: Vec<String>, gaussian: AnyGaussian, neg_elbo: NegElbo, seed: Seed) -> Found {
    Found {
        names,
        gaussian,
        neg_elbo,
        method: "auto".to_owned(),
        pattern: Pattern::Full,
        steps: 0,
        stopped_early: false,
        draws_per_step: 0,
        coupling: Coupling::Independent,
        subsample: None,
        gradient_evaluations: 0,
        seed,
        seconds: 0.0,
        promise: Promise::none("the exact solver on a sparse precision plans no steps".to_owned()),
        trace: Vec::new(),
    }
}

/// Solves the model, and states what is proved of the solution. A stop leaves the best Gaussian so far, with its own gap.
pub(super) fn solve(
    model: &SparseModel,
    names: Vec<String>,
    solver: &SparseSolver,
    from: Option<&AnyGaussian>,
    seed: Seed,
    watch: &mut Watch<'_>,
) -> Result<Answer> {
    let begin = Instant::now();
    let (solution, trace) = solver.run_watched(model, from, watch)?;
    let seconds = begin.elapsed().as_secs_f64();
    let auditing = Instant::now();
    // A pass over the rows, which a stop need not spare.
    let certificate = Certificate::sparse(model, &solution.gaussian)?;
    let neg_elbo = NegElbo::new(solution.neg_elbo, solution.neg_elbo_error, solution.neg_elbo_proved);
    let fit = Found {
        steps: solution.iterations as u64,
        stopped_early: solution.stop == provi::solve::Stop::Interrupted,
        gradient_evaluations: solution.expectation_evaluations,
        seconds,
        trace,
        ..found(names, solution.gaussian.into(), neg_elbo, seed)
    };
    let assessment = Assessment::of_sparse(certificate);
    let audit_seconds = auditing.elapsed().as_secs_f64();
    Ok(Answer { fit, assessment, notes: Vec::new(), search: None::<SearchRecord>, audit_seconds })
}

/// What is proved now of a Gaussian that was stored, under the watch of a caller.
pub(super) fn assess(model: &SparseModel, q: &AnyGaussian, watch: &Watch<'_>) -> Result<Assessment> {
    let Some(q) = q.as_sparse() else {
        let reason = "the model has a sparse factor, and this Gaussian a dense one: see --factor";
        return Ok(Assessment::of_sparse(Certificate::nothing(&[], reason)));
    };
    let certificate = covered(watch, Instant::now(), || Certificate::sparse(model, q))?;
    Ok(Assessment::of_sparse(certificate))
}
