//! A run under watch: progress on standard error, checkpoints and a log in its folder, ctrl-C.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use provi::checkpoint::{Checkpoint, Keeper};
use provi::fit::{Snapshot, Watch};
use provi::stop::Agreement;
use provi_analysis::Fitted;
use provi_analysis::record::store::Store;
use provi_analysis::run::Strategy;
use provi_analysis::run::problem::Prepared;

use crate::failure::Result;
use crate::interrupt;
use crate::log::Log;
use crate::output::summary;
use crate::progress::Progress;

/// How a run is made and watched.
pub(crate) struct Run<'a> {
    pub(crate) quiet: bool,
    /// Where checkpoints and the log go.
    pub(crate) store: Option<&'a Store>,
    /// The checkpoint from which to resume the run.
    pub(crate) from: Option<Checkpoint>,
    /// Time between two checkpoints.
    pub(crate) keep_every: Duration,
    /// When the command began, and how long it may last.
    pub(crate) begin: Instant,
    pub(crate) limit: Option<Duration>,
    /// How the processes agree, if several share the run.
    pub(crate) agree: Option<Agreement>,
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self {
            quiet: false,
            store: None,
            from: None,
            keep_every: KEEP_EVERY,
            begin: Instant::now(),
            limit: None,
            agree: None,
        }
    }
}

/// Default time between two checkpoints.
pub(crate) const KEEP_EVERY: Duration = Duration::from_secs(15);

/// Runs the strategy, with progress on standard error; ctrl-C and the clock may end it early.
pub(crate) fn run(prepared: &Prepared<'_>, strategy: &Strategy, how: Run<'_>) -> Result<Fitted> {
    // Before a signal is handled: from here on no data are read.
    interrupt::begin();
    let stop = match how.agree {
        None => interrupt::watch(),
        // They watch from the beginning.
        Some(_) => interrupt::stop(),
    };
    let mut log = Log::new(how.store);
    let begin = summary::announcement(prepared.target().dim(), strategy.plan());
    log.say(&begin);
    if !how.quiet {
        // Ctrl-C is watched before the first line is printed, because a reader of that line may press it.
        eprintln!("memory {}\n{begin}", prepared.memory);
    }
    let progress = RefCell::new(Progress::new(how.quiet, strategy.plan().map_or(0, |plan| plan.steps), log));
    let mut observer = |at: &Snapshot| {
        progress.borrow_mut().show(at);
        ControlFlow::Continue(())
    };
    let mut audit = |made, wanted| {
        progress.borrow_mut().show_audit(made, wanted);
        ControlFlow::Continue(())
    };
    let mut refused = false;
    let mut save = |at: &Checkpoint| {
        if let Some(Err(failure)) = how.store.map(|store| store.save_checkpoint(at)).filter(|_| !refused) {
            // The run is more important than its checkpoint.
            refused = true;
            eprintln!("no checkpoint is kept from here on: {failure}");
        }
    };
    let keeper = how.store.is_some().then_some(Keeper { every: how.keep_every, save: &mut save });
    let mut watch = Watch {
        observer: Some(&mut observer),
        // The model, its scales and its plan have used a part of the time.
        time_limit: how.limit.map(|limit| limit.saturating_sub(how.begin.elapsed())),
        stop: Some(stop),
        patience: None,
        audit: Some(&mut audit),
        keeper,
        from: how.from,
        agree: how.agree,
    };
    let found = prepared.run(strategy, &mut watch);
    progress.borrow_mut().finish(&match &found {
        Ok(fit) if fit.file.stopped_early => format!("stopped early after {} steps", fit.file.steps),
        Ok(fit) => format!("finished after {} steps", fit.file.steps),
        Err(error) => format!("failed: {error}"),
    });
    Ok(found?)
}
