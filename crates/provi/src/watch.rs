//! What watches a run and may end it: progress, stopping, resuming, said once.
//!
//! A watch knows neither targets nor steps. Whatever makes steps shows it where it stands ([`Snapshot`]), asks it whether to end
//! ([`Watch`]), and leaves with it what is needed to go on ([`checkpoint`]).

pub mod checkpoint;

use crate::base::error::Result;
use crate::base::stop::{Agreement, PATIENCE, Signal, Stop};
use checkpoint::{Checkpoint, Keeper};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What watches a run, and what may end it early. A run cut short is a result without its promise.
#[derive(Default)]
pub struct Watch<'a> {
    /// Called at each trace point; break to stop.
    #[allow(clippy::type_complexity)]
    pub observer: Option<&'a mut dyn FnMut(&Snapshot) -> ControlFlow<()>>,
    /// Stop after this long.
    pub time_limit: Option<Duration>,
    /// Stop soon after somebody asks: read inside every loop, where `observer` is called rarely.
    pub stop: Option<&'a Stop>,
    /// How long a phase with nothing to keep goes on after a stop, and an answer that was stopped may be audited. If nobody says it,
    /// [`PATIENCE`], and for the audit a tenth of the time that the run took, if that is longer.
    pub patience: Option<Duration>,
    /// Called between the draws of an audit with those made and those wanted; break to certify by those made.
    #[allow(clippy::type_complexity)]
    pub audit: Option<&'a mut dyn FnMut(u64, u64) -> ControlFlow<()>>,
    /// Keeps checkpoints.
    pub keeper: Option<Keeper<'a>>,
    /// Take the run up here instead of at its start.
    pub from: Option<Checkpoint>,
    /// How this process and the others agree on stopping, where several share the run: they must end it at the same place
    /// ([`crate::stream::Streamed::agreement`]). Without it each process thinks for itself.
    pub agree: Option<Agreement>,
}

impl Watch<'_> {
    /// Whether the clock or the flag ends a run that began at `begin`.
    pub(crate) fn wants_stop(&self, begin: Instant) -> bool {
        self.time_limit.is_some_and(|limit| begin.elapsed() >= limit) || self.stop.is_some_and(Stop::is_asked)
    }

    /// What ends the loops of a run that began at `begin`: nothing where nobody may stop it. Several processes share it, even where
    /// nobody may stop this one.
    pub fn signal(&self, begin: Instant) -> Option<Signal> {
        if self.agree.is_none() && self.stop.is_none() && self.time_limit.is_none() {
            return None;
        }
        let deadline = self.time_limit.and_then(|limit| begin.checked_add(limit));
        let signal = self.stop.map_or_else(Signal::default, Signal::on);
        let signal = signal.at(deadline).with_patience(self.patience.unwrap_or(PATIENCE));
        Some(signal.among(self.agree.clone()))
    }

    /// How long the audit of an answer may last if its search was stopped: a tenth of the time that it took.
    pub(crate) fn grace(&self, begin: Instant) -> Duration {
        self.patience.unwrap_or_else(|| PATIENCE.max(begin.elapsed() / 10))
    }

    pub(crate) fn show(&mut self, snapshot: &Snapshot) -> ControlFlow<()> {
        self.observer.as_mut().map_or(ControlFlow::Continue(()), |observer| observer(snapshot))
    }

    /// What comes of a wish to stop.
    pub(crate) fn settle(&self, stop: bool) -> Result<ControlFlow<()>> {
        let stop = self.agree.as_ref().map_or(Ok(stop), |agreement| agreement.any(stop))?;
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// What an audit asks between its draws ([`Audit::run_with`](crate::Audit::run_with)), in a run that began at `begin`.
    /// If the run was stopped before its audit, the audit still runs: for a tenth of the time that the run took, and at least for the
    /// patience of the watch ([`Watch::patience`]). No audit ends before its first draws, without which hardly anything is proved.
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

    /// Passes a snapshot on; breaks if anything says so.
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

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// Steps made.
    pub step: u64,
    /// Steps planned.
    pub steps: u64,
    /// The size of the last one.
    pub gamma: f64,
    /// An estimate of f from the draws since the last snapshot: noisy, and behind by half that stretch.
    pub neg_elbo: f64,
    /// What f − f* is proved to be at most, where that is known on the way.
    #[cfg_attr(feature = "serde", serde(default))]
    pub gap: Option<f64>,
}

/// An average put aside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AverageState {
    /// The mean so far; empty for `Average::Last`.
    pub mean: Vec<f64>,
    /// How many vectors are in it.
    pub count: u64,
    /// c of the last of them.
    pub coefficient: f64,
}
