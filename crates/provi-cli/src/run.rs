//! An answer found under watch, by the automatic path or by a plan, and what it is worth.

use std::ops::ControlFlow;
use std::time::Duration;

use provi::checkpoint::{Checkpoint, Keeper};
use provi::fit::{Snapshot, Watch};
use provi::plan::PRACTICAL_DRAWS;
use provi::scalar::Positive;
use provi::{Audit, Auto, Fit, Method, Plan, Planner, Seed};

use crate::args::StepArgs;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::log::Log;
use crate::model::Model;
use crate::output::store::Store;
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

/// Draws per step: those that were given, or the number of a plan that was told none.
pub(crate) fn draws(args: &StepArgs, untold: usize) -> usize {
    args.draws.map_or(untold, |draws| draws as usize)
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

    /// Draws per step where none are given.
    pub(crate) fn draws(self) -> usize {
        match self {
            Self::Practice(_) => PRACTICAL_DRAWS,
            Self::Distance(_) => 1,
        }
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

/// How a run is made and watched.
pub(crate) struct Run<'a> {
    pub(crate) seed: Seed,
    pub(crate) audit: Audit,
    pub(crate) limit: Option<Duration>,
    pub(crate) quiet: bool,
    /// Where checkpoints and the log go.
    pub(crate) store: Option<&'a Store>,
    /// Where to take the run up.
    pub(crate) from: Option<Checkpoint>,
}

impl Run<'_> {
    /// Without limit, progress or folder.
    pub(crate) fn quiet(seed: Seed, audit: Audit) -> Self {
        Self { seed, audit, limit: None, quiet: true, store: None, from: None }
    }
}

/// Between two checkpoints.
const KEEP_EVERY: Duration = Duration::from_secs(15);

/// Goes that way; progress on standard error, ctrl-C and the clock may end it early.
pub(crate) fn run(way: &Way, model: &Model, how: Run<'_>) -> Result<Answer> {
    let stop = interrupt::watch();
    let mut log = Log::new(how.store);
    let begin = summary::announcement(model, way.plan());
    log.say(&begin);
    if !how.quiet {
        eprintln!("{begin}");
    }
    let mut progress = Progress::new(how.quiet, way.plan().map_or(0, |plan| plan.steps), log);
    let mut observer = |at: &Snapshot| {
        progress.show(at);
        ControlFlow::Continue(())
    };
    let mut refused = false;
    let mut save = |at: &Checkpoint| {
        if let Some(Err(failure)) = how.store.map(|store| store.save_checkpoint(at)).filter(|_| !refused) {
            // The run is worth more than its checkpoint.
            refused = true;
            eprintln!("no checkpoint is kept from here on: {failure}");
        }
    };
    let keeper = how.store.is_some().then_some(Keeper { every: KEEP_EVERY, save: &mut save });
    let mut watch = Watch {
        observer: Some(&mut observer),
        time_limit: how.limit,
        stop: Some(stop),
        keeper,
        from: how.from,
    };
    let found = match way {
        Way::Auto(auto) => auto.run_watched(&model.target, how.seed, &mut watch).map(|certified| {
            let worth = Worth::of(&certified.audited, model, &certified.fit.gaussian, how.seed);
            Answer { fit: certified.fit, worth }
        }),
        Way::Planned(plan) => plan.run_watched(&model.target, how.seed, &mut watch).map(|fit| {
            let worth = Worth::measure(model, &fit.gaussian, how.seed, &how.audit);
            Answer { fit, worth }
        }),
    };
    progress.finish(&match &found {
        Ok(answer) if answer.fit.stopped_early => format!("stopped early after {} steps", answer.fit.steps),
        Ok(answer) => format!("finished after {} steps", answer.fit.steps),
        Err(error) => format!("failed: {error}"),
    });
    Ok(found?)
}
