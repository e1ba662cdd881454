//! A fit that R can interrupt, and whose progress it can show.
//!
//! The library works on a thread of its own. R asks from time to time whether it has finished; between two questions R is R, which
//! sees Ctrl-C and prints. So no code of R's runs on another thread, and none of the library's on R's.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use provi::fit::{Snapshot, Watch};
use provi::stop::{Signal, Stop};
use provi_analysis::model::Data;
use provi_analysis::options::{ModelOptions, RunOptions};
use provi_analysis::{Analysis, Error, Fitted};
use savvy::{ListSexp, NullSexp, Sexp, savvy};

use crate::answer::Answer;
use crate::columns::table;
use crate::error::{described, refuse};
use crate::options::{model_options, run_options};
use crate::value::{List, numbers, record};

/// Stack for the recursions of large factorisations: as much as a main thread has.
const STACK: usize = 8 << 20;
/// The most threads that are started: more than any machine can use, and few enough to start.
const MOST_THREADS: u32 = 1024;

#[derive(Default)]
struct Shared {
    stop: Stop,
    at: Mutex<Option<Snapshot>>,
}

/// A message, and the words of the formula that it is about.
type Failure = (String, Option<String>);

// A fit under way.
#[savvy]
struct Run {
    shared: Arc<Shared>,
    receive: Receiver<Result<Fitted, Failure>>,
    outcome: Option<Result<Fitted, Failure>>,
}

#[savvy]
impl Run {
    /// Begins the fit of a formula to columns.
    fn new(
        formula: &str,
        name: &str,
        columns: ListSexp,
        model: ListSexp,
        run: ListSexp,
    ) -> savvy::Result<Self> {
        let (model, run) = (model_options(&model)?, run_options(&run)?);
        run.check().map_err(refuse)?;
        if let Some(threads) = run.threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
            let message = format!("threads = {threads}; must be between 1 and {MOST_THREADS}");
            return Err(savvy::Error::new(message));
        }
        let data = Data::from(table(name, &columns, formula)?);
        let (shared, (send, receive)) = (Arc::new(Shared::default()), channel());
        let (its, formula) = (Arc::clone(&shared), formula.to_owned());
        let body = move || {
            let work = AssertUnwindSafe(|| fit(data, &formula, &model, &run, &its));
            let outcome = match catch_unwind(work) {
                Ok(outcome) => outcome.map_err(|error| described(&error)),
                Err(panic) => Err((bug(&*panic), None)),
            };
            // If nobody waits any longer, nobody needs the result.
            drop(send.send(outcome));
        };
        let thread = std::thread::Builder::new().name("provi".into()).stack_size(STACK).spawn(body);
        thread.map_err(savvy::Error::new)?;
        Ok(Self { shared, receive, outcome: None })
    }

    /// Waits for this many seconds at most; whether the fit has ended.
    fn poll(&mut self, seconds: f64) -> savvy::Result<Sexp> {
        if self.outcome.is_none() {
            let wait = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            self.outcome = match self.receive.recv_timeout(wait) {
                Ok(outcome) => Some(outcome),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Err((bug(&"the thread is gone"), None))),
            };
        }
        self.outcome.is_some().try_into()
    }

    /// Asks the fit to end, and to keep what it has.
    fn stop(&self) -> savvy::Result<()> {
        self.shared.stop.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Step, steps, ELBO and gap; NULL if there is nothing new.
    fn progress(&self) -> savvy::Result<Sexp> {
        let at = self.shared.at.lock().unwrap_or_else(PoisonError::into_inner).take();
        match at {
            Some(at) => {
                let gap = at.gap.unwrap_or(f64::NAN);
                Ok(numbers(&[at.step as f64, at.steps as f64, -at.neg_elbo, gap])?.into())
            }
            None => Ok(NullSexp.into()),
        }
    }

    /// NULL if the fit succeeded; else what is wrong, and where.
    fn failure(&self) -> savvy::Result<Sexp> {
        match &self.outcome {
            Some(Err((message, word))) => {
                let mut out = List::new(2)?;
                out.put("message", record(message)?)?;
                out.put("word", record(word)?)?;
                out.done()
            }
            _ => Ok(NullSexp.into()),
        }
    }

    /// The answer, once.
    fn take(&mut self) -> savvy::Result<Answer> {
        match self.outcome.take() {
            Some(Ok(fitted)) => Ok(Answer::from(fitted)),
            Some(Err((message, _))) => Err(savvy::Error::new(message)),
            None => Err(savvy::Error::new("the fit has not ended, or its answer was taken before")),
        }
    }
}

/// What R has let go of ends: nobody waits for it.
impl Drop for Run {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

fn fit(
    data: Data,
    formula: &str,
    model: &ModelOptions,
    run: &RunOptions,
    shared: &Shared,
) -> provi_analysis::Result<Fitted> {
    let work = || {
        let mut observer = |at: &Snapshot| {
            *shared.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
            ControlFlow::Continue(())
        };
        let mut watch = Watch { observer: Some(&mut observer), stop: Some(&shared.stop), ..Watch::default() };
        // The search for the scales counts: the clock starts with the call.
        let (begin, limit) = (Instant::now(), run.limit()?);
        let deadline = limit.and_then(|limit| begin.checked_add(limit));
        Signal::on(&shared.stop).at(deadline).cover(|| {
            let analysis = Analysis::of(data, formula, model)?.on_device(run.device)?;
            watch.time_limit = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
            analysis.fit(run, &mut watch)
        })
    };
    match run.threads {
        None => work(),
        Some(threads) => {
            // Fewer if more would be of no use: the answer is the same.
            let (threads, _) = provi_analysis::threads::sensible(threads as usize);
            match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
                Ok(pool) => pool.install(work),
                Err(_) => work(),
            }
        }
    }
}

/// Work without partial results, on this thread; a panic is an error of R's.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> savvy::Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome.map_err(refuse),
        Err(panic) => Err(savvy::Error::new(bug(&*panic))),
    }
}

fn bug(panic: &(dyn Any + Send)) -> String {
    let words =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a bug in provi: {}", words.unwrap_or("it panicked"))
}
