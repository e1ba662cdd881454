//! Watching a run: progress, stopping and resuming, for every algorithm of this crate.
//!
//! A watch knows neither targets nor steps. An algorithm reports its progress to the watch ([`Snapshot`]), asks the
//! watch whether to stop ([`Watch`]), and hands it what is needed to resume ([`checkpoint`]).

pub mod checkpoint;
mod snapshot;

pub use snapshot::{AverageState, Snapshot};

use crate::base::error::Result;
use crate::base::stop::{Agreement, PATIENCE, Signal, Stop};
use checkpoint::{Checkpoint, Keeper};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What observes a run, and what may stop it early. A run that was stopped returns a result without its promise.
#[derive(Default)]
pub struct Watch<'a> {
    /// Called at each trace point; break to stop.
    #[allow(clippy::type_complexity)]
    pub observer: Option<&'a mut dyn FnMut(&Snapshot) -> ControlFlow<()>>,
    /// Stop after this much wall-clock time.
    pub time_limit: Option<Duration>,
    /// Stop soon after this flag is raised. Every loop reads it; `observer` is called rarely.
    pub stop: Option<&'a Stop>,
    /// How long a phase that has no result to keep may go on after a stop is requested, and how long the answer of
    /// a stopped run may be audited. `None`: [`PATIENCE`]; for the audit also a tenth of the time that the run
    /// took, if that is longer.
    pub patience: Option<Duration>,
    /// Called between the draws of an audit with (draws made, draws wanted). Break to certify with the draws made
    /// so far.
    #[allow(clippy::type_complexity)]
    pub audit: Option<&'a mut dyn FnMut(u64, u64) -> ControlFlow<()>>,
    /// Keeps checkpoints.
    pub keeper: Option<Keeper<'a>>,
    /// Resume the run from this checkpoint.
    pub from: Option<Checkpoint>,
    /// How several processes that share the run agree on stopping: they must stop at the same place
    /// ([`crate::stream::Streamed::agreement`]). `None`: this process decides alone.
    pub agree: Option<Agreement>,
}

impl Watch<'_> {
    /// Whether the clock or the flag asks a run that began at `begin` to stop.
    pub(crate) fn wants_stop(&self, begin: Instant) -> bool {
        self.time_limit.is_some_and(|limit| begin.elapsed() >= limit) || self.stop.is_some_and(Stop::is_asked)
    }

    /// The signal that stops the loops of a run that began at `begin`. `None` if nothing can stop it. If several
    /// processes share the run there is always a signal, since another process may be asked to stop.
    pub fn signal(&self, begin: Instant) -> Option<Signal> {
        if self.agree.is_none() && self.stop.is_none() && self.time_limit.is_none() {
            return None;
        }
        let deadline = self.time_limit.and_then(|limit| begin.checked_add(limit));
        let signal = self.stop.map_or_else(Signal::default, Signal::on);
        let signal = signal.at(deadline).with_patience(self.patience.unwrap_or(PATIENCE));
        Some(signal.among(self.agree.clone()))
    }

    /// How long the audit may last if the search was stopped: the watch's patience; without one, a tenth of the
    /// time that the search took, and at least [`PATIENCE`].
    pub(crate) fn grace(&self, begin: Instant) -> Duration {
        self.patience.unwrap_or_else(|| PATIENCE.max(begin.elapsed() / 10))
    }

    pub(crate) fn show(&mut self, snapshot: &Snapshot) -> ControlFlow<()> {
        self.observer.as_mut().map_or(ControlFlow::Continue(()), |observer| observer(snapshot))
    }

    /// Returns the joint decision, given this process's wish to stop.
    pub(crate) fn settle(&self, stop: bool) -> Result<ControlFlow<()>> {
        let stop = self.agree.as_ref().map_or(Ok(stop), |agreement| agreement.any(stop))?;
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// The function that an audit calls between its draws ([`Audit::run_with`](crate::Audit::run_with)), in a run
    /// that began at `begin`.
    /// If the run was stopped before its audit, the audit still runs, for as long as [`Watch::patience`] says. No
    /// audit ends before its first draws, without which hardly anything is proved.
    pub(crate) fn between_draws(
        &mut self,
        begin: Instant,
    ) -> Result<impl FnMut(u64, u64) -> Result<ControlFlow<()>>> {
        let told = self.settle(self.wants_stop(begin))?.is_break();
        let (since, grace) = (Instant::now(), self.grace(begin));
        Ok(move |made: u64, wanted: u64| {
            let shown = self.audit.as_mut().is_some_and(|show| show(made, wanted).is_break());
            let over = if told { since.elapsed() >= grace } else { self.wants_stop(begin) };
            self.settle(shown || made > 0 && over)
        })
    }

    /// Passes a snapshot to the observer. Breaks if the observer, the clock or the flag asks to stop.
    pub(crate) fn see(&mut self, snapshot: &Snapshot, begin: Instant) -> Result<ControlFlow<()>> {
        let shown = self.show(snapshot);
        self.settle(shown.is_break() || self.wants_stop(begin))
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("time_limit", &self.time_limit).finish_non_exhaustive()
    }
}
