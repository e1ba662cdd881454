//! One signal that ends work under way: a flag and a clock, read inside every loop that can last.
//!
//! A loop over blocks of rows or of columns lies too deep to hand an error through every kernel above it. It asks whether it is
//! to end, and if so leaves its result unfinished. That is safe because the signal stays *tripped* from then on: whoever entered
//! it with [`Signal::during`] gets [`Error::Stopped`] in place of whatever came out, and what was worth keeping was kept before.
//!
//! Two moments matter. A stop is *wanted* from the moment that somebody asks for it or the clock passes its limit: loops that
//! have something to keep end there. Work that has nothing to keep yet goes on for the signal's patience, a second where nobody
//! says otherwise, and is cut off then. Small problems are done by that time.
//!
//! A run that is not stopped has the same bits with a signal as without. Processes that share a run share its signal too
//! ([`Signal::among`]): they stop at the same place.

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

/// How long work with nothing to keep goes on once a stop is wanted, where nobody says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// A flag that asks work to end. Clones are the same flag.
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
    /// Asks for the end.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether anybody asked.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// What is being done by the work that may be stopped, such as "the search for the mode"; empty where nothing is.
    pub fn doing(&self) -> &'static str {
        *self.0.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any work under this flag has come to one of its phases yet.
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

/// What may end work: a flag, and perhaps a moment.
#[derive(Clone, Debug)]
pub struct Signal {
    stop: Stop,
    deadline: Option<Instant>,
    patience: Duration,
    /// Where several processes share the work.
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

/// Counts how often the loops of one phase ask whether they are cut off, and cuts them off at one of these times: by work, where
/// a clock would make a test a matter of luck.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Polls {
    during: &'static str,
    cut: u64,
    made: std::sync::atomic::AtomicU64,
}

#[cfg(test)]
impl Polls {
    /// Those of the phases with this name; the `cut`-th of them, from one, cuts off.
    pub(crate) fn new(during: &'static str, cut: u64) -> Arc<Self> {
        Arc::new(Self { during, cut, made: std::sync::atomic::AtomicU64::new(0) })
    }

    /// A signal that nothing else raises.
    pub(crate) fn signal(self: &Arc<Self>) -> Signal {
        Signal { polls: Some(Arc::clone(self)), ..Signal::default() }.with_patience(Duration::MAX)
    }

    /// How often it was asked.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    fn cuts_off(&self, what: &'static str) -> bool {
        what == self.during && self.made.fetch_add(1, Ordering::Relaxed) + 1 >= self.cut
    }
}

impl Signal {
    /// Ends work when this flag is raised.
    pub fn on(stop: &Stop) -> Self {
        Self { stop: stop.clone(), ..Self::default() }
    }

    /// Ends work at that moment as well; `None` changes nothing.
    pub fn at(self, deadline: Option<Instant>) -> Self {
        Self { deadline: deadline.or(self.deadline), ..self }
    }

    /// How long work with nothing to keep goes on after that.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Shared by processes that make the same calls: each enters it at the same places, and what one of them wants all of them do, at
    /// the next reduction. `None` changes nothing.
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

    /// Whether a stop is wanted here.
    pub fn is_wanted(&self) -> bool {
        self.stop.is_asked() || self.deadline.is_some_and(|at| Instant::now() >= at)
    }

    /// Does the work under this signal. Loops that have something to keep end when a stop is wanted; each phase of the work that
    /// has nothing yet is cut off after the signal's patience, and says so by [`Error::Stopped`].
    ///
    /// One of several processes that share the work needs [`Signal::among`]: they must end it at the same place.
    pub fn cover<T>(&self, work: impl FnOnce() -> T) -> T {
        self.enter("", None, work)
    }

    /// The same for work that is one phase, called `what`: [`Error::Stopped`] if it was cut off, whatever came out of it.
    pub fn during<T, E: From<Error>>(
        &self,
        what: &'static str,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.cover(|| phase(what, work))
    }

    /// Does steps, each of which leaves something to keep: an [`evaluation`] among them is cut off as soon as a stop is wanted, and
    /// nothing else is.
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

/// A signal while work goes on under it.
#[derive(Debug)]
struct Entered {
    signal: Signal,
    what: &'static str,
    /// None: never cut off.
    patience: Option<Duration>,
    since: Instant,
    /// When the flag was first seen raised.
    noticed: OnceLock<Instant>,
    tripped: AtomicBool,
    /// What evaluations are made under, where they are cut off sooner than the rest.
    evaluations: Option<Arc<Entered>>,
    /// All processes know that half of the patience is over.
    urgent: AtomicBool,
    /// The share of one process, which decides by its own clock.
    own: bool,
    /// Which one speaks to the other processes.
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

    /// The same for a share of this process alone.
    fn on_its_own(&self) -> Self {
        Self {
            since: self.since,
            noticed: self.noticed.clone(),
            tripped: AtomicBool::new(self.tripped.load(Ordering::Relaxed)),
            own: true,
            ..Self::new(&self.signal, self.what, self.patience)
        }
    }

    /// The others, where decisions are theirs too.
    fn together(&self) -> Option<&Together> {
        self.signal.together.as_deref().filter(|_| !self.own)
    }

    /// What this process has to say to the others: a stop is wanted, half of the patience is over, all of it is.
    fn votes(&self) -> [bool; VOTES] {
        let (since, patience) = (self.wanted_since(), self.patience.unwrap_or(Duration::MAX));
        let over = |part: Duration| since.is_some_and(|since| since.elapsed() >= part);
        [since.is_some(), over(patience / 2), over(patience) || self.tripped.load(Ordering::Relaxed)]
    }

    /// What all of them said.
    fn take_over(&self, [wanted, urgent, trips]: [bool; VOTES]) {
        if let Some(together) = self.together() {
            together.wanted.fetch_or(wanted, Ordering::Relaxed);
        }
        self.urgent.fetch_or(urgent, Ordering::Relaxed);
        self.tripped.fetch_or(trips, Ordering::Relaxed);
    }

    /// Since when a stop is wanted as far as this process knows, or since the work began if it was wanted before.
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

    /// Trips when patience is at its end.
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
    /// The signal that this thread works under.
    static CURRENT: RefCell<Option<Arc<Entered>>> = const { RefCell::new(None) };
}

fn current<T>(f: impl FnOnce(&Entered) -> T) -> Option<T> {
    CURRENT.with_borrow(|entered| entered.as_deref().map(f))
}

/// A phase of the work under way, called `what`, with patience of its own. [`Error::Stopped`] if it was cut off, whatever came
/// out of it.
pub(crate) fn phase<T, E: From<Error>>(
    what: &'static str,
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    patient_phase(what, Duration::ZERO, work)
}

/// The same with that much more patience.
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

/// A phase that looks after itself: it asks [`was_cut_off`] before it uses what it computed. It has that much more patience than
/// its signal.
pub(crate) fn careful_phase<T>(what: &'static str, more: Duration, work: impl FnOnce() -> T) -> T {
    match current(|entered| entered.signal.clone()) {
        Some(signal) => signal.enter(what, Some(signal.patience.saturating_add(more)), work),
        None => work(),
    }
}

/// Evaluations of one step, which changes nothing before it has them. Among [`Signal::steps`] they are cut off between two calls as
/// soon as a stop is wanted: [`Error::Stopped`], and the step was not made.
pub(crate) fn evaluation<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(entered) = current(|entered| entered.evaluations.clone()).flatten() else { return work() };
    let during = entered.what;
    Carried(Some(entered)).within(|| {
        let out = work();
        if was_cut_off() { Err(Error::Stopped { during }) } else { out }
    })
}

/// Whether the work under way has been, or is now to be, cut off.
pub(crate) fn trips() -> bool {
    current(Entered::trips).unwrap_or(false)
}

/// Whether anything under the signal was left unfinished: nothing is to be used that was computed since it was entered.
pub(crate) fn was_cut_off() -> bool {
    current(|entered| entered.tripped.load(Ordering::Relaxed)).unwrap_or(false)
}

/// Whether a stop is wanted: for loops that have something to keep.
pub(crate) fn is_wanted() -> bool {
    current(Entered::is_wanted).unwrap_or(false)
}

/// Whether half of the patience is over: for loops that need the other half to make something of what they have.
pub(crate) fn is_urgent() -> bool {
    current(Entered::is_urgent).unwrap_or(false)
}

/// [`Error::Stopped`] where the work under way is cut off: for loops over slow calls, between two of them. Whoever entered the
/// signal gets that error too, whatever the loop makes of it.
pub fn check() -> Result<()> {
    current(|entered| match entered.trips() {
        true => Err(Error::Stopped { during: entered.what }),
        false => Ok(()),
    })
    .unwrap_or(Ok(()))
}

/// [`Error::Stopped`] as soon as a stop is wanted: where there is something to keep already.
pub(crate) fn check_early() -> Result<()> {
    current(|entered| match entered.is_wanted() {
        true => Err(Error::Stopped { during: entered.what }),
        false => Ok(()),
    })
    .unwrap_or(Ok(()))
}

/// Does work that nobody can look into, such as a large factorisation, on a thread of its own, and waits for it; `None` if it is
/// cut off first. The thread then ends when it is done, and what it owns goes with it. Processes that share a signal wait for each
/// other's, in rounds: all have the result or none.
pub(crate) fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    /// Between two looks at the signal.
    const LOOK: Duration = Duration::from_millis(20);
    /// Room for the recursions of large factorisations: as much as a main thread has.
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
            // Whoever does not wait any longer has dropped the receiver: there is nobody to tell.
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

/// The signal of one thread, on its way to the others that share its work.
pub(crate) struct Carried(Option<Arc<Entered>>);

impl Carried {
    /// That of this thread.
    #[cfg(any(feature = "parallel", test))]
    pub(crate) fn from_here() -> Self {
        Self(CURRENT.with_borrow(Clone::clone))
    }

    /// Whether to leave the rest.
    #[cfg(feature = "parallel")]
    pub(crate) fn trips(&self) -> bool {
        self.0.as_deref().is_some_and(Entered::trips)
    }

    /// Does a share of the work under the signal.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores what was, even when the work panics.
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
mod tests {
    use super::*;

    fn asked(patience: Duration) -> Signal {
        let stop = Stop::default();
        stop.ask();
        Signal::on(&stop).with_patience(patience)
    }

    #[test]
    fn work_that_was_cut_off_has_no_result() {
        let out = asked(Duration::ZERO).during("a sum", || {
            let seen = trips();
            Ok::<_, Error>(seen)
        });
        assert_eq!(out, Err(Error::Stopped { during: "a sum" }));
        // Errors made of unfinished numbers are not its own.
        let out = asked(Duration::ZERO).during("a sum", || {
            assert!(trips());
            Err::<(), _>(Error::Empty { what: "nothing" })
        });
        assert_eq!(out, Err(Error::Stopped { during: "a sum" }));
    }

    #[test]
    fn within_its_patience_a_stop_is_wanted_and_nothing_is_cut_off() {
        let out = asked(Duration::MAX).during("a sum", || {
            assert!(is_wanted() && !trips() && check().is_ok() && check_early().is_err());
            Ok::<_, Error>(7)
        });
        assert_eq!(out, Ok(7));
        let late = Signal::default().at(Some(Instant::now())).with_patience(Duration::ZERO);
        assert!(late.is_wanted() && late.during("a sum", check).is_err());
        assert!(!Signal::default().is_wanted());
        assert!(Signal::default().during("a sum", check).is_ok());
    }

    #[test]
    fn a_phase_is_cut_off_alone_and_reaches_other_threads() {
        let signal = asked(Duration::ZERO);
        signal.cover(|| {
            // What is between the phases is not cut off: it holds what they kept.
            assert!(is_wanted() && !trips());
            careful_phase("a phase", Duration::ZERO, || {
                assert_eq!(signal.stop.doing(), "a phase");
                let carried = Carried::from_here();
                let elsewhere = || carried.within(trips);
                assert!(std::thread::scope(|s| s.spawn(elsewhere).join()).unwrap());
                assert!(was_cut_off());
            });
            assert!(!was_cut_off() && !trips());
        });
        assert!(!trips() && !is_wanted() && check().is_ok() && phase("alone", check).is_ok());
        assert_eq!(signal.stop.doing(), "");
    }

    #[test]
    fn among_steps_only_evaluations_are_cut_off_and_at_once() {
        let signal = asked(Duration::MAX);
        signal.steps("the steps", || {
            assert!(is_wanted() && !trips());
            assert_eq!(evaluation(check), Err(Error::Stopped { during: "the steps" }));
            assert!(!was_cut_off() && !trips());
        });
        // What was whole when the stop came is kept.
        let stop = Stop::default();
        let whole = Signal::on(&stop).steps("the steps", || {
            evaluation(|| {
                let free = check();
                stop.ask();
                free
            })
        });
        assert_eq!(whole, Ok(()));
        assert_eq!(evaluation(check), Ok(()));
    }

    #[test]
    fn work_apart_is_done_here_there_or_not_at_all() {
        let own = std::thread::current().id();
        let who = move || std::thread::current().id() == own;
        assert_eq!(apart(who), Some(true));
        Signal::default().cover(|| assert_eq!(apart(who), Some(false)));
        let out = asked(Duration::ZERO).during("a factorisation", || Ok::<_, Error>(apart(who)));
        assert_eq!(out, Err(Error::Stopped { during: "a factorisation" }));
    }
}
