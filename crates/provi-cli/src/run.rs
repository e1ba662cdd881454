//! An answer found under watch, by the automatic path or by a plan, and what it is worth.

use std::ops::ControlFlow;
use std::time::Duration;

use provi::fit::{Snapshot, Watch};
use provi::scalar::Positive;
use provi::{Audit, Auto, Fit, Method, Plan, Planner, Seed};

use crate::args::StepArgs;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::model::Model;
use crate::output::summary;
use crate::progress::Progress;
use crate::worth::Worth;

/// A planner with the options that were given; the library knows the others.
pub(crate) fn planner(method: Method, args: &StepArgs) -> Planner {
    let mut planner = Planner::new(method);
    if let Some(draws) = args.draws {
        planner = planner.draws(draws as usize);
    }
    if let Some(coordinates) = args.coordinates {
        planner = planner.coordinates(coordinates);
    }
    planner
}

/// What planned steps aim for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim {
    /// Steps that work in practice; that many, if a number is given.
    Practice(Option<u64>),
    /// A proved distance.
    Distance(f64),
}

impl Aim {
    pub(crate) fn plan(self, model: &Model, planner: &Planner) -> Result<Plan> {
        Ok(match self {
            Self::Practice(steps) => planner.practical(&model.target, steps)?,
            Self::Distance(accuracy) => {
                let accuracy = Positive::new("--distance", accuracy)?.get();
                planner.to_distance(&model.target, accuracy)?
            }
        })
    }

    /// Whether the fit earned what was asked for.
    pub(crate) fn is_met(self, fit: &Fit) -> bool {
        match self {
            Self::Practice(_) => true,
            Self::Distance(accuracy) => fit.promise.value.is_some_and(|bound| bound <= accuracy),
        }
    }
}

/// The way to the answer.
#[derive(Debug)]
pub(crate) enum Way {
    Auto(Auto),
    Planned(Box<Plan>),
}

impl Way {
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Auto(_) => None,
            Self::Planned(plan) => Some(plan),
        }
    }
}

/// An answer and what it is worth.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) fit: Fit,
    pub(crate) worth: Worth,
}

/// Seconds to a duration; none for no limit.
pub(crate) fn time_limit(seconds: Option<f64>) -> Result<Option<Duration>> {
    let to_duration = |seconds| match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err(Failure::TimeLimit(seconds)),
    };
    seconds.map(to_duration).transpose()
}

/// Goes that way; progress on standard error, ctrl-C and the clock may end it early.
pub(crate) fn run(
    way: &Way,
    model: &Model,
    seed: Seed,
    audit: &Audit,
    limit: Option<Duration>,
    quiet: bool,
) -> Result<Answer> {
    let stop = interrupt::watch();
    if !quiet {
        eprintln!("{}", summary::announcement(model, way.plan()));
    }
    let mut progress = Progress::new(quiet, way.plan().map_or(0, |plan| plan.steps));
    let mut observer = |at: &Snapshot| {
        progress.show(at);
        ControlFlow::Continue(())
    };
    let mut watch = Watch { observer: Some(&mut observer), time_limit: limit, stop: Some(stop) };
    let found = match way {
        Way::Auto(auto) => auto.run_watched(&model.target, seed, &mut watch).map(|certified| {
            let worth = Worth::of(&certified.audited, model, &certified.fit.gaussian, seed);
            Answer { fit: certified.fit, worth }
        }),
        Way::Planned(plan) => plan.run_watched(&model.target, seed, &mut watch).map(|fit| {
            let worth = Worth::measure(model, &fit.gaussian, seed, audit);
            Answer { fit, worth }
        }),
    };
    progress.finish();
    Ok(found?)
}
