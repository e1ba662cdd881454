//! A plan made and run under watch.

use std::ops::ControlFlow;
use std::time::Duration;

use provi::fit::{Snapshot, Watch};
use provi::{Fit, Plan, Planner, Seed};

use crate::args::MethodArgs;
use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::output::summary;
use crate::progress::Progress;
use crate::{interrupt, method};

/// A planner with the options that were given; the library knows the others. `proved`: is a bound asked for?
pub(crate) fn planner(model: &Model, args: &MethodArgs, proved: bool) -> Result<Planner> {
    let mut planner = Planner::new(method::choose(args.method, &model.target, proved)?);
    if let Some(draws) = args.draws {
        planner = planner.draws(draws as usize);
    }
    if let Some(coordinates) = args.coordinates {
        planner = planner.coordinates(coordinates);
    }
    Ok(planner)
}

/// What to aim for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim {
    /// Steps that work in practice; that many, if a number is given.
    Practice(Option<u64>),
    /// A proved distance.
    Distance(f64),
}

impl Aim {
    pub(crate) fn plan(self, model: &Model, args: &MethodArgs) -> Result<Plan> {
        let planner = planner(model, args, matches!(self, Self::Distance(_)))?;
        Ok(match self {
            Self::Practice(steps) => planner.practical(&model.target, steps)?,
            Self::Distance(accuracy) => planner.to_distance(&model.target, accuracy)?,
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

/// Seconds to a duration; none for no limit.
pub(crate) fn time_limit(seconds: Option<f64>) -> Result<Option<Duration>> {
    let to_duration = |seconds| match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err(Failure::TimeLimit(seconds)),
    };
    seconds.map(to_duration).transpose()
}

/// Runs the plan; progress on standard error, ctrl-C and the clock may end it early.
pub(crate) fn run(
    plan: &Plan,
    model: &Model,
    seed: Seed,
    limit: Option<Duration>,
    quiet: bool,
) -> Result<Fit> {
    let stop = interrupt::watch();
    if !quiet {
        eprintln!("{}", summary::announcement(model, plan));
    }
    let mut progress = Progress::new(quiet, plan.steps);
    let mut observer = |at: &Snapshot| {
        progress.show(at);
        ControlFlow::Continue(())
    };
    let mut watch = Watch { observer: Some(&mut observer), time_limit: limit, stop: Some(stop) };
    let fit = plan.run_watched(&model.target, seed, &mut watch);
    progress.finish();
    Ok(fit?)
}
