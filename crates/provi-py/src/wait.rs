//! A run that Python can interrupt, and whose progress it can show.
//!
//! The library works on another thread while the calling thread waits, checks for signals and shows progress:
//! ctrl-C works within a tenth of a second, whatever the library is doing. A target that calls Python stays on the
//! calling thread, where its user's context is, and signals are checked between steps.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use provi::fit::Snapshot;
use provi::stop::Stop;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

/// Time between two checks for signals.
const LOOK: Duration = Duration::from_millis(50);
/// Time between two displays of progress.
const SHOW: Duration = Duration::from_millis(100);
/// Stack for the recursions of large factorisations: as much as a main thread has.
const STACK: usize = 8 << 20;

/// What the run shares with the thread that waits for it.
#[derive(Default)]
pub(crate) struct Shared {
    /// Asks the run to end and keep what it has.
    pub(crate) stop: Stop,
    /// Its progress.
    pub(crate) at: Mutex<Option<Snapshot>>,
}

/// What the user sees of a run.
pub(crate) struct Viewer {
    observer: Option<Py<PyAny>>,
    shown: Instant,
}

impl Viewer {
    /// `observer(step, steps, elbo, gap)` is called from time to time.
    pub(crate) fn new(observer: Option<Py<PyAny>>) -> Self {
        Self { observer, shown: Instant::now() }
    }

    /// Checks for signals and shows progress. The first ctrl-C asks the run to end; the second one, and any other
    /// exception, is an error.
    pub(crate) fn look(&mut self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        if let Err(error) = py.check_signals() {
            let first = !shared.stop.swap(true, Ordering::Relaxed);
            if !(first && error.is_instance_of::<PyKeyboardInterrupt>(py)) {
                return Err(error);
            }
        }
        let Some(observer) = self.observer.as_ref().filter(|_| self.shown.elapsed() >= SHOW) else {
            return Ok(());
        };
        self.shown = Instant::now();
        let at = shared.at.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(at) = at {
            observer.call1(py, (at.step, at.steps, -at.neg_elbo, at.gap))?;
        }
        Ok(())
    }
}

/// Does the work on another thread, and waits for it while checking for signals.
pub(crate) fn on_a_thread<T: Send + 'static>(
    py: Python<'_>,
    shared: &Arc<Shared>,
    viewer: &mut Viewer,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, mut receive) = channel();
    // If nobody waits any longer, the receiver has been dropped, and nobody needs the result.
    let body = move || drop(send.send(catch_unwind(AssertUnwindSafe(work))));
    std::thread::Builder::new().name("provi".into()).stack_size(STACK).spawn(body)?;
    loop {
        let receive = &mut receive;
        match py.detach(move || receive.recv_timeout(LOOK)) {
            Ok(outcome) => return outcome.map_err(|panic| bug(&*panic)),
            Err(RecvTimeoutError::Disconnected) => return Err(bug(&"the thread is gone")),
            Err(RecvTimeoutError::Timeout) => viewer.look(py, shared).inspect_err(|_| {
                shared.stop.store(true, Ordering::Relaxed);
            })?,
        }
    }
}

/// Does work without progress on another thread. The first ctrl-C is an error: there is nothing to keep.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let shared = Arc::new(Shared::default());
    shared.stop.ask();
    on_a_thread(py, &shared, &mut Viewer::new(None), work)
}

/// Does the work here, without the lock.
pub(crate) fn in_place<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| bug(&*panic))
}

/// Checks for signals during a run on the calling thread, when it is time; keeps the exception that ends it.
pub(crate) struct Lookout<'a> {
    shared: &'a Shared,
    viewer: &'a mut Viewer,
    raised: &'a mut Option<PyErr>,
    looked: Instant,
}

impl<'a> Lookout<'a> {
    pub(crate) fn new(shared: &'a Shared, viewer: &'a mut Viewer, raised: &'a mut Option<PyErr>) -> Self {
        Self { shared, viewer, raised, looked: Instant::now() }
    }

    /// Called between two steps.
    pub(crate) fn see(&mut self, at: &Snapshot) -> ControlFlow<()> {
        *self.shared.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
        self.look()
    }

    /// Called when it may be time: breaks at an exception.
    pub(crate) fn look(&mut self) -> ControlFlow<()> {
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            if let Err(error) = Python::attach(|py| self.viewer.look(py, self.shared)) {
                *self.raised = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let words =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    PyRuntimeError::new_err(format!("a bug in provi: {}", words.unwrap_or("it panicked")))
}
