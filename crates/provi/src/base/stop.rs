//! A signal that stops work: a flag and a clock, which every long loop reads.
//!
//! A loop over blocks of rows or columns lies too deep to pass an error through every kernel above it. It asks the
//! signal whether to stop, and if so leaves its result unfinished. This is safe because the signal stays *tripped*
//! from then on: the caller that entered it with [`Signal::during`] gets [`Error::Stopped`] instead of the result.
//! Whatever was to be kept has been saved before.
//!
//! There are two stages. A stop is *wanted* from the moment that somebody asks for it or the clock passes its
//! limit: loops that have a result to keep end then. Work that has no result yet continues for the signal's
//! patience, by default one second, and is then cut off. Small problems finish within that time.
//!
//! A run that is not stopped has the same bits with a signal as without. Processes that share a run also share its
//! signal ([`Signal::among`]), so that they stop at the same place.

mod together;

pub use together::Agreement;
pub(crate) use together::{VOTES, alike, own_share, trips_together};

use crate::base::error::{Error, Result};
use std::cell::RefCell;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use together::{Round, Together};

/// Default for how long work without a result continues once a stop is wanted.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// A flag that asks work to stop. Clones share the same flag.
///
/// ```
/// use provi::{Auto, Design, Seed, fit::Watch, stop::Stop, target::{Glm, Prior}};
///
/// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(2.5)?)?;
/// let stop = Stop::default();
/// stop.ask();                                                   // from another thread, or a signal handler
/// let mut watch = Watch { stop: Some(&stop), ..Watch::default() };
/// assert!(Auto::default().run_with(&target, Seed(0), &mut watch)?.fit.stopped_early);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    asked: AtomicBool,
    doing: Mutex<&'static str>,
    begun: AtomicBool,
}

impl Stop {
    /// Asks the work to stop.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether [`Stop::ask`] was called.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// The current phase of the work that may be stopped, such as "the search for the mode"; empty if there is
    /// none.
    pub fn doing(&self) -> &'static str {
        *self.0.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any work under this flag has entered a phase yet.
    pub fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
    }

    fn do_now(&self, what: &'static str) -> &'static str {
        self.0.begun.fetch_or(!what.is_empty(), Ordering::Relaxed);
        std::mem::replace(&mut *self.0.doing.lock().unwrap_or_else(PoisonError::into_inner), what)
    }
}

impl Deref for Stop {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        &self.0.asked
    }
}

/// What may stop work: a flag, and optionally a deadline.
#[derive(Clone, Debug)]
pub struct Signal {
    stop: Stop,
    deadline: Option<Instant>,
    patience: Duration,
    /// Set if several processes share the work.
    together: Option<Arc<Together>>,
    #[cfg(test)]
    polls: Option<Arc<Polls>>,
}

impl Default for Signal {
    fn default() -> Self {
        Self {
            stop: Stop::default(),
            deadline: None,
            patience: PATIENCE,
            together: None,
            #[cfg(test)]
            polls: None,
        }
    }
}

/// Test tool: counts how often the loops of one phase ask whether they are cut off, and cuts them off at a given
/// count. Counting work instead of time makes tests deterministic.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Polls {
    during: &'static str,
    cut: u64,
    made: std::sync::atomic::AtomicU64,
}

#[cfg(test)]
impl Polls {
    /// Counts in the phases named `during`. The `cut`-th question, from one, cuts the work off.
    pub(crate) fn new(during: &'static str, cut: u64) -> Arc<Self> {
        Arc::new(Self { during, cut, made: std::sync::atomic::AtomicU64::new(0) })
    }

    /// A signal that nothing else trips.
    pub(crate) fn signal(self: &Arc<Self>) -> Signal {
        Signal { polls: Some(Arc::clone(self)), ..Signal::default() }.with_patience(Duration::MAX)
    }

    /// How many questions were asked.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    fn cuts_off(&self, what: &'static str) -> bool {
        what == self.during && self.made.fetch_add(1, Ordering::Relaxed) + 1 >= self.cut
    }
}

impl Signal {
    /// A signal that stops work when this flag is raised.
    pub fn on(stop: &Stop) -> Self {
        Self { stop: stop.clone(), ..Self::default() }
    }

    /// Adds a deadline; `None` changes nothing.
    pub fn at(self, deadline: Option<Instant>) -> Self {
        Self { deadline: deadline.or(self.deadline), ..self }
    }

    /// Sets how long work without a result continues once a stop is wanted.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Shares the signal among processes that make the same calls. Each process enters the signal at the same
    /// places. If one process wants a stop, all of them stop at the next reduction. `None` changes nothing.
    ///
    /// ```
    /// use provi::stop::{Agreement, Signal, Stop};
    /// use provi::stream::{Alone, Reduce};
    ///
    /// let agreement = Agreement::new(|values: &mut [f64]| Alone.largest(values));
    /// let signal = Signal::on(&Stop::default()).among(Some(agreement));
    /// assert_eq!(signal.during("a sum", || Ok::<_, provi::Error>(7))?, 7);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn among(self, agreement: Option<Agreement>) -> Self {
        let together = agreement.map(|agreement| Arc::new(Together::new(agreement)));
        Self { together: together.or(self.together), ..self }
    }

    /// Whether a stop is wanted now.
    pub fn is_wanted(&self) -> bool {
        self.stop.is_asked() || self.deadline.is_some_and(|at| Instant::now() >= at)
    }

    /// Runs the work under this signal. Loops that have a result to keep end when a stop is wanted. A phase that
    /// has no result yet is cut off after the signal's patience and returns [`Error::Stopped`].
    ///
    /// If several processes share the work, use [`Signal::among`]: they must stop at the same place.
    pub fn cover<T>(&self, work: impl FnOnce() -> T) -> T {
        self.enter("", None, work)
    }

    /// Runs work that is a single phase, called `what`. Returns [`Error::Stopped`] if the phase was cut off,
    /// whatever its result.
    pub fn during<T, E: From<Error>>(
        &self,
        what: &'static str,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.cover(|| phase(what, work))
    }

    /// Runs steps, each of which leaves a result to keep. An [`evaluation`] among them is cut off as soon as a stop
    /// is wanted; nothing else is cut off.
    pub(crate) fn steps<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let evaluations = Some(Arc::new(Entered::new(self, what, Some(Duration::ZERO))));
        self.enter_as(Entered { evaluations, ..Entered::new(self, what, None) }, work)
    }

    fn enter<T>(&self, what: &'static str, patience: Option<Duration>, work: impl FnOnce() -> T) -> T {
        self.enter_as(Entered::new(self, what, patience), work)
    }

    fn enter_as<T>(&self, entered: Entered, work: impl FnOnce() -> T) -> T {
        let before = self.stop.do_now(entered.what);
        let out = Carried(Some(Arc::new(entered))).within(work);
        self.stop.do_now(before);
        out
    }
}

/// A signal while work runs under it.
#[derive(Debug)]
struct Entered {
    signal: Signal,
    what: &'static str,
    /// `None`: never cut off.
    patience: Option<Duration>,
    since: Instant,
    /// When the flag was first seen raised.
    noticed: OnceLock<Instant>,
    tripped: AtomicBool,
    /// The signal for evaluations, if they are cut off earlier than the rest.
    evaluations: Option<Arc<Entered>>,
    /// Set once all processes know that half of the patience has passed.
    urgent: AtomicBool,
    /// Set for the share of one process, which decides by its own clock.
    own: bool,
    /// The thread that communicates with the other processes.
    thread: ThreadId,
}

impl Entered {
    fn new(signal: &Signal, what: &'static str, patience: Option<Duration>) -> Self {
        Self {
            signal: signal.clone(),
            what,
            patience,
            since: Instant::now(),
            noticed: OnceLock::new(),
            tripped: AtomicBool::new(false),
            evaluations: None,
            urgent: AtomicBool::new(false),
            own: false,
            thread: std::thread::current().id(),
        }
    }

    /// The same signal for the share of this process alone.
    fn on_its_own(&self) -> Self {
        Self {
            since: self.since,
            noticed: self.noticed.clone(),
            tripped: AtomicBool::new(self.tripped.load(Ordering::Relaxed)),
            own: true,
            ..Self::new(&self.signal, self.what, self.patience)
        }
    }

    /// The other processes, if decisions are made jointly.
    fn together(&self) -> Option<&Together> {
        self.signal.together.as_deref().filter(|_| !self.own)
    }

    /// What this process reports to the others: a stop is wanted; half of the patience has passed; all of it has
    /// passed.
    fn votes(&self) -> [bool; VOTES] {
        let (since, patience) = (self.wanted_since(), self.patience.unwrap_or(Duration::MAX));
        let over = |part: Duration| since.is_some_and(|since| since.elapsed() >= part);
        [since.is_some(), over(patience / 2), over(patience) || self.tripped.load(Ordering::Relaxed)]
    }

    /// Takes over the joint result of the reports.
    fn take_over(&self, [wanted, urgent, trips]: [bool; VOTES]) {
        if let Some(together) = self.together() {
            together.wanted.fetch_or(wanted, Ordering::Relaxed);
        }
        self.urgent.fetch_or(urgent, Ordering::Relaxed);
        self.tripped.fetch_or(trips, Ordering::Relaxed);
    }

    /// Since when this process knows that a stop is wanted, or since the work began if a stop was wanted before.
    fn wanted_since(&self) -> Option<Instant> {
        let told = || self.signal.together.as_ref().is_some_and(|all| all.wanted.load(Ordering::Relaxed));
        if self.signal.stop.is_asked() || told() {
            return Some(*self.noticed.get_or_init(Instant::now));
        }
        self.signal.deadline.filter(|at| Instant::now() >= *at).map(|at| at.max(self.since))
    }

    fn is_wanted(&self) -> bool {
        match self.together() {
            Some(together) => together.wanted.load(Ordering::Relaxed),
            None => self.wanted_since().is_some(),
        }
    }

    fn is_urgent(&self) -> bool {
        if self.together().is_some() {
            return self.urgent.load(Ordering::Relaxed);
        }
        let patience = self.patience.unwrap_or(Duration::MAX);
        self.wanted_since().is_some_and(|since| since.elapsed() >= patience / 2)
    }

    /// Whether the patience has passed; if so, the signal trips.
    fn trips(&self) -> bool {
        if self.tripped.load(Ordering::Relaxed) {
            return true;
        }
        if self.together().is_some() {
            return false;
        }
        #[cfg(test)]
        if self.signal.polls.as_ref().is_some_and(|polls| polls.cuts_off(self.what)) {
            self.signal.stop.ask();
            self.tripped.store(true, Ordering::Relaxed);
            return true;
        }
        let Some(patience) = self.patience else { return false };
        let trips = self.wanted_since().is_some_and(|since| since.elapsed() >= patience);
        if trips {
            self.tripped.store(true, Ordering::Relaxed);
        }
        trips
    }
}

std::thread_local! {
    /// The signal under which this thread works.
    static CURRENT: RefCell<Option<Arc<Entered>>> = const { RefCell::new(None) };
}

fn current<T>(f: impl FnOnce(&Entered) -> T) -> Option<T> {
    CURRENT.with_borrow(|entered| entered.as_deref().map(f))
}

/// Runs a phase of the current work, called `what`, with patience of its own. Returns [`Error::Stopped`] if the
/// phase was cut off, whatever its result.
pub(crate) fn phase<T, E: From<Error>>(
    what: &'static str,
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    patient_phase(what, Duration::ZERO, work)
}

/// A phase with `more` patience than its signal has.
pub(crate) fn patient_phase<T, E: From<Error>>(
    what: &'static str,
    more: Duration,
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    careful_phase(what, more, || {
        let out = work();
        match was_cut_off() {
            true => Err(Error::Stopped { during: what }.into()),
            false => out,
        }
    })
}

/// Runs a phase that checks for itself: it calls [`was_cut_off`] before it uses what it computed. It has `more`
/// patience than its signal has.
pub(crate) fn careful_phase<T>(what: &'static str, more: Duration, work: impl FnOnce() -> T) -> T {
    match current(|entered| entered.signal.clone()) {
        Some(signal) => signal.enter(what, Some(signal.patience.saturating_add(more)), work),
        None => work(),
    }
}

/// Runs the evaluations of one step, which changes nothing before it has them. Inside [`Signal::steps`] they are
/// cut off between two calls as soon as a stop is wanted; the result is then [`Error::Stopped`], and the step was
/// not made.
pub(crate) fn evaluation<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(entered) = current(|entered| entered.evaluations.clone()).flatten() else { return work() };
    let during = entered.what;
    Carried(Some(entered)).within(|| {
        let out = work();
        if was_cut_off() { Err(Error::Stopped { during }) } else { out }
    })
}

/// Whether the current work has been cut off, or is cut off now.
pub(crate) fn trips() -> bool {
    current(Entered::trips).unwrap_or(false)
}

/// Whether any work under the signal was left unfinished. If so, use nothing that was computed since the signal was
/// entered.
pub(crate) fn was_cut_off() -> bool {
    current(|entered| entered.tripped.load(Ordering::Relaxed)).unwrap_or(false)
}

/// Whether a stop is wanted. For loops that have a result to keep.
pub(crate) fn is_wanted() -> bool {
    current(Entered::is_wanted).unwrap_or(false)
}

/// Whether half of the patience has passed. For loops that need the other half to complete a result from what they
/// have.
pub(crate) fn is_urgent() -> bool {
    current(Entered::is_urgent).unwrap_or(false)
}

/// Returns [`Error::Stopped`] if the current work is cut off. Call it between two slow calls of a loop. The caller
/// that entered the signal gets that error too, whatever the loop does with it.
pub fn check() -> Result<()> {
    current(|entered| match entered.trips() {
        true => Err(Error::Stopped { during: entered.what }),
        false => Ok(()),
    })
    .unwrap_or(Ok(()))
}

/// Returns [`Error::Stopped`] as soon as a stop is wanted. For places that already have a result to keep.
pub(crate) fn check_early() -> Result<()> {
    current(|entered| match entered.is_wanted() {
        true => Err(Error::Stopped { during: entered.what }),
        false => Ok(()),
    })
    .unwrap_or(Ok(()))
}

/// Runs work that cannot check the signal, such as a large factorisation, on a thread of its own and waits for it.
/// `None` if it is cut off first; the abandoned thread ends when its work is done and frees what it owns. Processes
/// that share a signal wait in rounds for each other: either all have the result or none.
pub(crate) fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    /// Time between two checks of the signal.
    const LOOK: Duration = Duration::from_millis(20);
    /// Stack for the recursions of large factorisations: as much as a main thread has.
    const STACK: usize = 8 << 20;
    if current(|_| ()).is_none() {
        return Some(work());
    }
    if trips() {
        return None;
    }
    let work = Arc::new(Mutex::new(Some(work)));
    let (send, receive) = std::sync::mpsc::channel();
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let its = Arc::clone(&work);
    let body = move || {
        if let Some(work) = take(&its) {
            // If the caller has stopped waiting, it has dropped the receiver, and nobody needs the result.
            let _ = send.send(work());
        }
    };
    let (thread, mut out) = match std::thread::Builder::new().stack_size(STACK).spawn(body) {
        Ok(thread) => (Some(thread), None),
        Err(_) => (None, take(&work).map(|work| work())),
    };
    loop {
        if out.is_none() {
            out = match receive.recv_timeout(LOOK) {
                Ok(out) => Some(out),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => match thread.map(std::thread::JoinHandle::join) {
                    Some(Err(panic)) => std::panic::resume_unwind(panic),
                    _ => return None,
                },
            };
        }
        match together::wait(out.is_none()) {
            Some(Round::CutOff) => return None,
            Some(Round::Waiting) => {}
            Some(Round::Done) => return out,
            None if out.is_some() => return out,
            None if trips() => return None,
            None => {}
        }
    }
}

/// The signal of one thread, to be handed to the threads that share its work.
pub struct Carried(Option<Arc<Entered>>);

impl Carried {
    /// The signal of this thread.
    pub fn from_here() -> Self {
        Self(CURRENT.with_borrow(Clone::clone))
    }

    /// Whether to skip the remaining work.
    #[cfg(feature = "parallel")]
    pub(crate) fn trips(&self) -> bool {
        self.0.as_deref().is_some_and(Entered::trips)
    }

    /// Runs a share of the work under the signal.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores the previous signal, even if the work panics.
        struct Before(Option<Arc<Entered>>);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        if self.0.is_none() {
            return work();
        }
        let _before = Before(CURRENT.replace(self.0.clone()));
        work()
    }
}

#[cfg(test)]
mod tests;
