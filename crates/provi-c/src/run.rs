//! A fit, or draws of a posterior, under watch.
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

/// How far the work is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    step: u64,
    steps: u64,
    elbo: f64,
    gap: f64,
}

impl At {
    /// Nothing is known yet.
    const BEGIN: Self = Self { step: 0, steps: 0, elbo: f64::NAN, gap: f64::NAN };

    /// So many draws of those that were asked for.
    pub(crate) fn draws(made: usize, asked: usize) -> Self {
        Self { step: made as u64, steps: asked as u64, ..Self::BEGIN }
    }
}

impl From<&Snapshot> for At {
    fn from(at: &Snapshot) -> Self {
        Self { step: at.step, steps: at.steps, elbo: -at.neg_elbo, gap: at.gap.unwrap_or(f64::NAN) }
    }
}

/// Takes down how far the work is.
pub(crate) type Tell<'a> = &'a dyn Fn(At);

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
    fn says_stop(&self, at: At) -> bool {
        let Some(function) = self.function else { return false };
        let At { step, steps, elbo, gap } = at;
        // SAFETY: as `new` demands; the progress never leaves the calling thread.
        unsafe { function(step, steps, elbo, gap, self.user) != 0 }
    }
}

/// What the work shares with the thread that waits.
struct Shared {
    stop: Stop,
    at: Mutex<At>,
}

impl Shared {
    /// Before the work: the first call of the progress function may stop it already.
    fn begun(progress: &Progress) -> Self {
        let shared = Self { stop: Stop::default(), at: Mutex::new(At::BEGIN) };
        shared.look(progress);
        shared
    }

    fn at(&self) -> At {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, at: At) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    fn look(&self, progress: &Progress) {
        if progress.says_stop(self.at()) {
            self.stop.ask();
        }
    }
}

/// Work on a thread of its own, or on so many, while this one waits and calls the progress function: before the work, and every
/// twentieth of a second.
pub(crate) fn on_a_thread<T: Send>(
    progress: &Progress,
    threads: Option<u32>,
    work: impl FnOnce(&mut Watch<'_>, Tell<'_>) -> Result<T> + Send,
) -> Result<T> {
    let shared = Shared::begun(progress);
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
                Err(RecvTimeoutError::Timeout) => shared.look(progress),
            }
        }
    })
}

fn watched<T>(shared: &Shared, work: impl FnOnce(&mut Watch<'_>, Tell<'_>) -> Result<T>) -> Result<T> {
    let mut observer = |at: &Snapshot| {
        shared.note(at.into());
        ControlFlow::Continue(())
    };
    let mut watch = Watch { observer: Some(&mut observer), stop: Some(&shared.stop), ..Watch::default() };
    work(&mut watch, &|at| shared.note(at))
}

/// Work on the calling thread, which calls the progress function between steps, between draws of the audit, and when it is told how far
/// the work is: for a function that no other thread may call.
pub(crate) fn in_place<T>(
    progress: &Progress,
    work: impl FnOnce(&mut Watch<'_>, Tell<'_>) -> Result<T>,
) -> Result<T> {
    let shared = Shared::begun(progress);
    let looked = Mutex::new(Instant::now());
    let look = || {
        let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() >= LOOK {
            *looked = Instant::now();
            shared.look(progress);
        }
        ControlFlow::Continue(())
    };
    let mut observer = |at: &Snapshot| {
        shared.note(at.into());
        look()
    };
    let mut audit = |_, _| look();
    let mut watch = Watch {
        observer: Some(&mut observer),
        audit: Some(&mut audit),
        stop: Some(&shared.stop),
        ..Watch::default()
    };
    work(&mut watch, &|at| {
        shared.note(at);
        let _: ControlFlow<()> = look();
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
