//! One stop signal for several processes: no process acts on a wish to stop before all of them know of it.
//!
//! Processes that share a run make the same calls in the same order, so no decision may depend on the clock or the
//! flag of one process. Under a shared signal, decisions depend on what was agreed last. That changes only at
//! reductions, where all processes have the same bits: each process adds what its own clock and flag say
//! ([`Ballot`]). A process may be cut off alone only inside its own share of a pass, which ends in such a reduction
//! ([`own_share`]). A long loop outside passes that every process makes alike ends in its own reduction ([`alike`]).
//! Work that cannot check the signal is waited for in rounds ([`apart`](super::apart)).

use super::{CURRENT, Carried, Entered};
use crate::base::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Largest = dyn Fn(&mut [f64]) -> Result<()> + Send + Sync;

/// How processes that share a run agree: each number becomes its maximum over all processes. Clones share the same
/// function.
///
/// ```
/// use provi::stop::Agreement;
///
/// let alone = Agreement::new(|_: &mut [f64]| Ok(()));
/// assert!(alone.any(true)? && !alone.any(false)?);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone)]
pub struct Agreement(Arc<Largest>);

impl Agreement {
    /// From a function that takes the maximum over all processes: a collective call, such as
    /// [`Reduce::largest`](crate::stream::Reduce::largest).
    pub fn new(largest: impl Fn(&mut [f64]) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(largest))
    }

    /// Whether any process passes `true`. A collective call; all processes get the same answer.
    pub fn any(&self, own: bool) -> Result<bool> {
        let mut any = [f64::from(u8::from(own))];
        (self.0)(&mut any)?;
        Ok(any[0] > 0.5)
    }
}

impl std::fmt::Debug for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agreement").finish_non_exhaustive()
    }
}

/// What all processes of a signal know.
#[derive(Debug)]
pub(super) struct Together {
    agreement: Agreement,
    /// Some process wants a stop, and all know it.
    pub(super) wanted: AtomicBool,
}

impl Together {
    pub(super) fn new(agreement: Agreement) -> Self {
        Self { agreement, wanted: AtomicBool::new(false) }
    }
}

/// Numbers of a ballot: a stop is wanted; half of the patience has passed; all of it has passed.
pub(crate) const VOTES: usize = 3;

/// What a process tells the others about stopping. The numbers travel in a reduction of their own, or in another
/// one.
pub(crate) struct Ballot {
    /// `None` if no signal is shared; the ballot is then all zeros.
    entered: Option<Arc<Entered>>,
    votes: [bool; VOTES],
}

impl Ballot {
    fn of(entered: Arc<Entered>) -> Self {
        Self { votes: entered.votes(), entered: Some(entered) }
    }

    /// Three numbers, each 1 if this process says so and 0 otherwise.
    pub(crate) fn numbers(&self) -> [f64; VOTES] {
        self.votes.map(|vote| f64::from(u8::from(vote)))
    }

    /// Takes over the joint result, given as sums or maxima. Returns [`Error::Stopped`], for all processes alike,
    /// if the current work is cut off.
    pub(crate) fn count(self, all: &[f64]) -> Result<()> {
        let Some(entered) = self.entered else { return Ok(()) };
        let said = |k: usize| all.get(k).is_some_and(|sum| *sum > 0.5);
        entered.take_over([said(0), said(1), said(2)]);
        match entered.tripped.load(Ordering::Relaxed) {
            true => Err(Error::Stopped { during: entered.what }),
            false => Ok(()),
        }
    }

    /// Whether this process works under a shared signal and reports to it.
    pub(crate) fn is_cast(&self) -> bool {
        self.entered.is_some()
    }
}

/// Runs this process's own share of work that ends in a reduction, by its own clock. The share may be cut off
/// alone, because the ballot tells all other processes.
pub(crate) fn own_share<T>(work: impl FnOnce() -> T) -> (T, Ballot) {
    let Some(entered) = shared() else { return (work(), Ballot { entered: None, votes: [false; VOTES] }) };
    let own = Arc::new(entered.on_its_own());
    let out = Carried(Some(Arc::clone(&own))).within(work);
    if let Some(noticed) = own.noticed.get() {
        entered.noticed.get_or_init(|| *noticed);
    }
    let mut ballot = Ballot::of(entered);
    if own.tripped.load(Ordering::Relaxed) {
        ballot.votes = [true; VOTES];
    }
    (out, ballot)
}

/// Runs a long piece of work that every process makes alike and that contains no pass. Inside it, each process may be
/// cut off by its own clock; at the end all agree. If one was cut off, all are: the result must not be used then
/// ([`super::was_cut_off`]).
pub(crate) fn alike<T>(work: impl FnOnce() -> T) -> T {
    let (out, ballot) = own_share(work);
    // Without a shared signal there is nothing to agree on.
    let _ = ask_all(ballot, false);
    out
}

/// The signal of this thread, if it is shared and this thread communicates with the other processes.
fn shared() -> Option<Arc<Entered>> {
    let here = std::thread::current().id();
    CURRENT.with_borrow(Clone::clone).filter(|entered| entered.together().is_some() && entered.thread == here)
}

/// Whether the work is cut off. Call it between two long pieces of work that every process makes alike.
pub(crate) fn trips_together() -> bool {
    wait(false).map_or_else(super::trips, |round| matches!(round, Round::CutOff))
}

/// The result of one round of waiting: all processes end, or all wait on.
pub(super) enum Round {
    CutOff,
    Waiting,
    Done,
}

/// Asks all processes whether any is still busy. `None` if no signal is shared.
pub(super) fn wait(busy: bool) -> Option<Round> {
    ask_all(Ballot::of(shared()?), busy)
}

/// One round: reports the ballot of this process, and whether it is still busy.
fn ask_all(ballot: Ballot, busy: bool) -> Option<Round> {
    let entered = ballot.entered.clone()?;
    let [wanted, urgent, trips] = ballot.numbers();
    let mut all = [wanted, urgent, trips, f64::from(u8::from(busy))];
    if (entered.together()?.agreement.0)(&mut all).is_err() {
        // The others cannot be reached. The next reduction reports that, and this result is not used.
        entered.take_over([true; VOTES]);
        return Some(Round::CutOff);
    }
    Some(match ballot.count(&all) {
        Err(_) => Round::CutOff,
        Ok(()) if all[VOTES] > 0.5 => Round::Waiting,
        Ok(()) => Round::Done,
    })
}
