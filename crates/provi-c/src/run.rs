//! A fit under watch.
//!
//! The library works on a thread of its own, and the calling thread waits: it tells the caller how far the fit is, and hears whether to
//! stop. So a progress function is called by the thread that asked for the fit and by no other, which is what most languages want.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use provi::fit::{Snapshot, Watch};
use provi::stop::Stop;

use crate::error::{Refused, Result, caught};

/// Stack for the recursions of large factorisations: as much as a main thread has.
const STACK: usize = 8 << 20;
/// Time between two calls of a progress function.
const LOOK: Duration = Duration::from_millis(50);

/// Steps made, steps planned, a noisy estimate of the ELBO, the bound of the gap; NaN for what is not known. A result other than 0
/// asks the fit to stop.
pub(crate) type ProgressFunction = unsafe extern "C" fn(u64, u64, f64, f64, *mut c_void) -> c_int;

/// Such a function with its data.
pub(crate) struct Progress {
    function: Option<ProgressFunction>,
    user: *mut c_void,
}

impl Progress {
    /// None if the function is NULL.
    ///
    /// # Safety
    /// The function may be called with `user`, by the thread that calls this, as long as this lives.
    pub(crate) unsafe fn new(function: Option<ProgressFunction>, user: *mut c_void) -> Self {
        Self { function, user }
    }

    /// Whether the caller wants to stop.
    fn says_stop(&self, at: Option<Snapshot>) -> bool {
        let Some(function) = self.function else { return false };
        let [step, steps] = at.map_or([0, 0], |at| [at.step, at.steps]);
        let [elbo, gap] = at.map_or([f64::NAN; 2], |at| [-at.neg_elbo, at.gap.unwrap_or(f64::NAN)]);
        // SAFETY: as `new` demands; the progress never leaves the calling thread.
        unsafe { function(step, steps, elbo, gap, self.user) != 0 }
    }
}

/// What the work shares with the thread that waits.
#[derive(Default)]
struct Shared {
    stop: Stop,
    at: Mutex<Option<Snapshot>>,
}

impl Shared {
    fn at(&self) -> Option<Snapshot> {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work on a thread of its own, or on so many, while this one waits and calls the progress function: before the work, and every
/// twentieth of a second.
pub(crate) fn on_a_thread<T: Send>(
    progress: &Progress,
    threads: Option<u32>,
    work: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
) -> Result<T> {
    let shared = Shared::default();
    if progress.says_stop(None) {
        shared.stop.ask();
    }
    std::thread::scope(|scope| {
        let (send, receive) = channel();
        let its = &shared;
        let body = move || {
            let outcome = caught(|| with_threads(threads, || watched(its, work)));
            // The receiver waits for it.
            drop(send.send(outcome));
        };
        std::thread::Builder::new().name("provi".into()).stack_size(STACK).spawn_scoped(scope, body)?;
        loop {
            match receive.recv_timeout(LOOK) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => return Err(Refused::Bug("the thread is gone".into())),
                Err(RecvTimeoutError::Timeout) if progress.says_stop(shared.at()) => shared.stop.ask(),
                Err(RecvTimeoutError::Timeout) => (),
            }
        }
    })
}

fn watched<T>(shared: &Shared, work: impl FnOnce(&mut Watch<'_>) -> Result<T>) -> Result<T> {
    let mut observer = |at: &Snapshot| {
        *shared.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
        ControlFlow::Continue(())
    };
    work(&mut Watch { observer: Some(&mut observer), stop: Some(&shared.stop), ..Watch::default() })
}

/// Work on the calling thread, which calls the progress function between steps and between draws of the audit: for a function that
/// no other thread may call.
pub(crate) fn in_place<T>(progress: &Progress, work: impl FnOnce(&mut Watch<'_>) -> Result<T>) -> Result<T> {
    let shared = Shared::default();
    if progress.says_stop(None) {
        shared.stop.ask();
    }
    let looked = Mutex::new(Instant::now());
    let look = || {
        let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() >= LOOK {
            *looked = Instant::now();
            if progress.says_stop(shared.at()) {
                shared.stop.ask();
            }
        }
        ControlFlow::Continue(())
    };
    let mut observer = |at: &Snapshot| {
        *shared.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
        look()
    };
    let mut audit = |_, _| look();
    work(&mut Watch {
        observer: Some(&mut observer),
        audit: Some(&mut audit),
        stop: Some(&shared.stop),
        ..Watch::default()
    })
}

/// Work on so many threads, or on those of the process.
pub(crate) fn with_threads<T: Send>(
    threads: Option<u32>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let Some(threads) = threads else { return work() };
    // Fewer if more would be of no use: the answer is the same.
    let (threads, _) = provi_analysis::threads::sensible(threads as usize);
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        Err(error) => Err(Refused::Thread(std::io::Error::other(error))),
    }
}
