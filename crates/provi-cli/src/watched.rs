//! A run under watch: progress on standard error, checkpoints and a log in its folder, ctrl-C.

use std::ops::ControlFlow;
use std::time::Duration;

use provi::checkpoint::{Checkpoint, Keeper};
use provi::fit::{Snapshot, Watch};
use provi_analysis::Fitted;
use provi_analysis::run::Way;
use provi_analysis::store::Store;
use provi_analysis::subject::Prepared;

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
    /// Where to take the run up.
    pub(crate) from: Option<Checkpoint>,
}

/// Between two checkpoints.
const KEEP_EVERY: Duration = Duration::from_secs(15);

/// Goes that way; progress on standard error, ctrl-C and the clock may end it early.
pub(crate) fn run(prepared: &Prepared<'_>, way: &Way, how: Run<'_>) -> Result<Fitted> {
    let stop = interrupt::watch();
    let mut log = Log::new(how.store);
    let begin = summary::announcement(prepared.target().dim(), way.plan());
    log.say(&begin);
    if !how.quiet {
        // Ctrl-C is watched from before the first word: who reads one may press it.
        eprintln!("memory {}\n{begin}", prepared.memory);
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
    let mut watch =
        Watch { observer: Some(&mut observer), stop: Some(stop), keeper, from: how.from, ..Watch::default() };
    let found = prepared.run(way, &mut watch);
    progress.finish(&match &found {
        Ok(fit) if fit.file.stopped_early => format!("stopped early after {} steps", fit.file.steps),
        Ok(fit) => format!("finished after {} steps", fit.file.steps),
        Err(error) => format!("failed: {error}"),
    });
    Ok(found?)
}
