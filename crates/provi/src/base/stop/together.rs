//! One signal for several processes: none acts on a wish to stop before all know of it.
//!
//! Processes that share a run make the same calls in the same order, so no decision may rest on a clock or a flag of one of them.
//! Under a shared signal they rest on what was agreed last, and that changes at reductions alone, where all have the same bits:
//! each process adds to them what its own clock and flag say ([`Ballot`]). Only inside its own share of a pass, which ends in such a
//! reduction, may a process be cut off on its own ([`own_share`]). A long loop that every process makes alike, outside passes, ends in
//! a reduction of its own ([`alike`]). Work that nobody can look into is waited for in rounds ([`apart`](super::apart)).

use super::{CURRENT, Carried, Entered};
use crate::base::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Largest = dyn Fn(&mut [f64]) -> Result<()> + Send + Sync;

/// How processes that share a run agree: each number becomes its maximum over all of them. Clones are the same way.
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
    /// By a maximum over all processes: a collective call, as of [`Reduce::largest`](crate::stream::Reduce::largest).
    pub fn new(largest: impl Fn(&mut [f64]) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(largest))
    }

    /// Whether any process says so: a collective call, the same answer for all.
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

/// What the processes of a signal know together.
#[derive(Debug)]
pub(super) struct Together {
    agreement: Agreement,
    /// A stop is wanted by somebody, and all know it.
    pub(super) wanted: AtomicBool,
}

impl Together {
    pub(super) fn new(agreement: Agreement) -> Self {
        Self { agreement, wanted: AtomicBool::new(false) }
    }
}

/// Numbers of a ballot: a stop is wanted, half of the patience is over, all of it is.
pub(crate) const VOTES: usize = 3;

/// What a process says to the others about stopping, as numbers of a reduction of its own or of somebody else's.
pub(crate) struct Ballot {
    /// None where no signal is shared: then nothing is said.
    entered: Option<Arc<Entered>>,
    votes: [bool; VOTES],
}

impl Ballot {
    fn of(entered: Arc<Entered>) -> Self {
        Self { votes: entered.votes(), entered: Some(entered) }
    }

    /// One where this process says so.
    pub(crate) fn numbers(&self) -> [f64; VOTES] {
        self.votes.map(|vote| f64::from(u8::from(vote)))
    }

    /// Takes over what all said, by sums or by maxima. [`Error::Stopped`] if the work under way is cut off, for all processes alike.
    pub(crate) fn count(self, all: &[f64]) -> Result<()> {
        let Some(entered) = self.entered else { return Ok(()) };
        let said = |k: usize| all.get(k).is_some_and(|sum| *sum > 0.5);
        entered.take_over([said(0), said(1), said(2)]);
        match entered.tripped.load(Ordering::Relaxed) {
            true => Err(Error::Stopped { during: entered.what }),
            false => Ok(()),
        }
    }

    /// Whether this process stands under a shared signal, and speaks of it.
    pub(crate) fn is_cast(&self) -> bool {
        self.entered.is_some()
    }
}

/// Does this process's own share of work that ends in a reduction, by its own clock: it may be cut off alone, for the ballot says so
/// to all others.
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

/// Does a long piece of work that every process makes alike, and that no pass is part of. Inside, each process may be cut off by its
/// own clock; at the end all agree. If one was cut off, all are: nothing is to be used that this returned ([`super::was_cut_off`]).
pub(crate) fn alike<T>(work: impl FnOnce() -> T) -> T {
    let (out, ballot) = own_share(work);
    // Where no signal is shared, there is nothing to agree on.
    let _ = ask_all(ballot, false);
    out
}

/// The signal of this thread if it is shared, and this is the thread that speaks to the other processes.
fn shared() -> Option<Arc<Entered>> {
    let here = std::thread::current().id();
    CURRENT.with_borrow(Clone::clone).filter(|entered| entered.together().is_some() && entered.thread == here)
}

/// Between two pieces of work that every process makes alike, each of which takes its time: whether it is cut off.
pub(crate) fn trips_together() -> bool {
    wait(false).map_or_else(super::trips, |round| matches!(round, Round::CutOff))
}

/// What comes of one round of waiting: None where no signal is shared, otherwise whether all are to end or to wait on.
pub(super) enum Round {
    CutOff,
    Waiting,
    Done,
}

/// Asks all processes whether any is still busy.
pub(super) fn wait(busy: bool) -> Option<Round> {
    ask_all(Ballot::of(shared()?), busy)
}

/// One round: what this process says, and whether it is still busy.
fn ask_all(ballot: Ballot, busy: bool) -> Option<Round> {
    let entered = ballot.entered.clone()?;
    let [wanted, urgent, trips] = ballot.numbers();
    let mut all = [wanted, urgent, trips, f64::from(u8::from(busy))];
    if (entered.together()?.agreement.0)(&mut all).is_err() {
        // The others cannot be reached: the next reduction says so, and nothing is made of this.
        entered.take_over([true; VOTES]);
        return Some(Round::CutOff);
    }
    Some(match ballot.count(&all) {
        Err(_) => Round::CutOff,
        Ok(()) if all[VOTES] > 0.5 => Round::Waiting,
        Ok(()) => Round::Done,
    })
}
