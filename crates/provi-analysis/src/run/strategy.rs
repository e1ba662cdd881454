//! How the answer is found, by the automatic method or by a plan, and its assessment.

use std::time::Instant;

use provi::audit::Audited;
use provi::auto::{Choice, audit_watched};
use provi::coupling::Coupling;
use provi::fit::Watch;
use provi::fit::{NegElbo, Snapshot};
use provi::plan::{PRACTICAL_DRAWS, Promise};
use provi::scalar::Positive;
use provi::sparse::{AnyGaussian, SparseSolver};
use provi::subsample::Subsample;
use provi::target::Evaluator;
use provi::{Audit, Auto, Fit, Pattern, Plan, Planner, Seed, Target};

use crate::error::{Error, Result};
use crate::options::{RunOptions, Size};
use crate::record::fit_file::FitFile;
use crate::record::trust::SearchRecord;
use crate::run::assessment::Assessment;

/// The aim of planned steps.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    /// Steps that work in practice; this many, if a number is given.
    Practice(Option<u64>),
    /// A proved distance to the optimum.
    Distance(f64),
}

impl Aim {
    /// The aim that the options ask for.
    pub fn of(options: &RunOptions) -> Self {
        options.distance.map_or(Self::Practice(options.steps), Self::Distance)
    }

    /// The plan for this aim.
    pub fn plan(self, target: &dyn Target, planner: &Planner) -> Result<Plan> {
        Ok(match self {
            Self::Practice(steps) => planner.practical(target, steps)?,
            Self::Distance(accuracy) => {
                let accuracy = Positive::new("distance", accuracy).map_err(Error::Option)?.get();
                planner.to_distance(target, accuracy)?
            }
        })
    }

    /// Draws per step if none are given.
    pub fn draws(self) -> usize {
        match self {
            Self::Practice(_) => PRACTICAL_DRAWS,
            Self::Distance(_) => 1,
        }
    }

    /// Whether the fit reached its aim.
    pub fn is_met(self, file: &FitFile) -> bool {
        match self {
            Self::Practice(_) => true,
            Self::Distance(accuracy) => file.plan_bound.value.is_some_and(|bound| bound <= accuracy),
        }
    }
}

/// q, and how it was found: a [`Fit`] with a Gaussian of either kind.
#[derive(Clone, Debug)]
pub struct Found {
    /// The names of the coefficients.
    pub names: Vec<String>,
    /// The answer.
    pub gaussian: AnyGaussian,
    /// −ELBO with its error.
    pub neg_elbo: NegElbo,
    /// How it was found.
    pub method: String,
    /// The family in which it was sought.
    pub pattern: Pattern,
    /// Steps made.
    pub steps: u64,
    /// Whether the search was stopped.
    pub stopped_early: bool,
    /// Draws per step.
    pub draws_per_step: usize,
    /// How the draws of a step depend on each other.
    pub coupling: Coupling,
    /// Terms of a finite sum for each draw.
    pub subsample: Option<Subsample>,
    /// Evaluations of the gradient, or passes over the rows.
    pub gradient_evaluations: u64,
    /// The seed.
    pub seed: Seed,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// What was promised before the first draw.
    pub promise: Promise,
    /// Progress.
    pub trace: Vec<Snapshot>,
}

impl From<Fit> for Found {
    fn from(fit: Fit) -> Self {
        Self {
            names: fit.names,
            gaussian: fit.gaussian.into(),
            neg_elbo: fit.neg_elbo,
            method: fit.method,
            pattern: fit.pattern,
            steps: fit.steps,
            stopped_early: fit.stopped_early,
            draws_per_step: fit.draws_per_step,
            coupling: fit.coupling,
            subsample: fit.subsample,
            gradient_evaluations: fit.gradient_evaluations,
            seed: fit.seed,
            seconds: fit.seconds,
            promise: fit.promise,
            trace: fit.trace,
        }
    }
}

/// How the answer is found.
#[derive(Debug)]
pub enum Strategy {
    /// The exact solver on a sparse precision.
    Sparse(SparseSolver),
    /// The automatic method.
    Auto(Auto),
    /// Planned steps, and the audit of their answer.
    Planned(Box<Plan>, Audit),
}

impl Strategy {
    /// The strategy that the options ask for.
    pub fn of(options: &RunOptions, target: &dyn Target) -> Result<Self> {
        let audit = options.audit.audit()?;
        Ok(match options.choice()? {
            Choice::Auto => {
                let default = Auto::default();
                Self::Auto(Auto {
                    accuracy: options.audit.accuracy,
                    evaluations: options.search.evaluations,
                    audit,
                    start: options.search.start.clone(),
                    starts: options.search.starts.map_or(default.starts, |starts| starts as usize),
                    pattern: options.step.pattern(),
                    memory_budget: options.memory_budget.map(|size| size.0),
                })
            }
            Choice::Planned(method) => {
                let mut planner = options.step.planner(method)?;
                if let Some(start) = &options.search.start {
                    planner = planner.start(start);
                }
                if let Some(Size(bytes)) = options.memory_budget {
                    planner = planner.memory_budget(bytes);
                }
                Self::Planned(Box::new(Aim::of(options).plan(target, &planner)?), audit)
            }
        })
    }

    /// The plan, if there is one.
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Auto(_) | Self::Sparse(_) => None,
            Self::Planned(plan, _) => Some(plan),
        }
    }

    /// Finds the answer, under a watch.
    pub fn run(&self, target: Evaluator<'_>, seed: Seed, watch: &mut Watch<'_>) -> Result<Answer> {
        let begin = Instant::now();
        let since = |begin: Instant| begin.elapsed().as_secs_f64();
        match self {
            Self::Sparse(_) => Err(Error::SparseFactor { what: "a log density".to_owned() }),
            Self::Auto(auto) => {
                let certified = auto.run_with(target, seed, watch)?;
                let estimating = Instant::now();
                let agreement = certified.search.agreement();
                let measure = || {
                    Assessment::of_search(
                        &certified.audited,
                        target,
                        &certified.fit.gaussian,
                        seed,
                        agreement,
                    )
                };
                let assessment = covered(watch, begin, measure);
                let audit_seconds = certified.audit_seconds + since(estimating);
                let search = certified.search.beginnings.as_ref().map(SearchRecord::new);
                Ok(Answer {
                    fit: certified.fit.into(),
                    assessment,
                    notes: certified.search.notes(),
                    search,
                    audit_seconds,
                })
            }
            Self::Planned(plan, audit) => {
                let fit = plan.run_with(target, seed, watch)?;
                let auditing = Instant::now();
                let audited = audit_watched(audit, target, &fit.gaussian, seed, watch, begin);
                let within = |audited: Audited| audited.within(target.target(), &fit.gaussian, &plan.pattern);
                let audited = audited.and_then(within);
                let assessment =
                    covered(watch, begin, || Assessment::after(audited, target, &fit.gaussian, seed));
                Ok(Answer {
                    fit: fit.into(),
                    assessment,
                    notes: Vec::new(),
                    search: None,
                    audit_seconds: since(auditing),
                })
            }
        }
    }
}

/// Runs the work under the stop signal of a run that began at `begin`.
pub(crate) fn covered<T>(watch: &Watch<'_>, begin: Instant, work: impl FnOnce() -> T) -> T {
    match watch.signal(begin) {
        Some(signal) => signal.cover(work),
        None => work(),
    }
}

/// An answer and its assessment.
#[derive(Debug)]
pub struct Answer {
    /// q, and how it was found.
    pub fit: Found,
    /// What is proved and what is estimated about it.
    pub assessment: Assessment,
    /// What happened during the search, one sentence each.
    pub notes: Vec<String>,
    /// How a search on a bare log density went.
    pub search: Option<SearchRecord>,
    /// Wall-clock seconds of the audit.
    pub audit_seconds: f64,
}
