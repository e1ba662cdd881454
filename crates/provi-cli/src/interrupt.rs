//! Ctrl-C, SIGTERM and the time limit. The first signal asks a run to end and keep what it has; the second ends the
//! process. A command that has nothing to keep ends at the first.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use provi::stop::{PATIENCE, Signal, Stop};
use provi_ffi::children;

/// Exit status of a run that a second ctrl-C aborts, and of any other command that the first one aborts.
const ABORTED: i32 = 130;
/// Exit status of a run that has no result.
const FAILED: i32 = 2;

static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);
/// Whether a run has begun; from then on it ends itself.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// The flag that asks a run to end.
pub(crate) fn stop() -> &'static Stop {
    &STOP
}

/// Marks the beginning of a run; from here on a stop keeps what the run has.
pub(crate) fn begin() {
    BEGUN.store(true, Ordering::Relaxed);
}

/// Whether nothing has been computed yet that could be kept.
fn nothing_yet() -> bool {
    !BEGUN.load(Ordering::Relaxed) && !STOP.has_begun()
}

/// Ends the process at once, and the programs that it started. Files under a temporary name are removed; a file at
/// its final name is complete.
fn end(status: i32) -> ! {
    provi_analysis::abandon();
    children::end_all();
    std::process::exit(status)
}

/// From here on ctrl-C and SIGTERM end the process at once: for commands that have no partial result.
pub(crate) fn end_at_once() {
    children::look_after();
    let _ = ctrlc::set_handler(|| {
        eprintln!("\nstopped: there is no result to keep");
        end(ABORTED);
    });
}

/// From here on ctrl-C and SIGTERM ask the run to end; a second one ends the process, and so does the first while
/// data are still being read. If no handler can be installed, as in some containers, ctrl-C ends the process as
/// usual.
pub(crate) fn watch() -> &'static Stop {
    children::look_after();
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            end(ABORTED);
        }
        if nothing_yet() {
            eprintln!("\nstopped while the data were read: there is no result to keep");
            end(FAILED);
        }
        eprintln!("\nending with what there is; ctrl-C again aborts");
    });
    &STOP
}

/// The signal of a command that began at `begin` and may last as long as `limit`. If data are still being read when
/// the time is over, the process ends: there is no result to keep. Of several processes, the first one says so.
pub(crate) fn limited(begin: Instant, limit: Option<Duration>, rank: usize) -> Signal {
    /// By then the first process has printed, and `mpirun` ends the others with it.
    const SPOKEN: Duration = Duration::from_millis(500);
    let deadline = limit.and_then(|limit| begin.checked_add(limit));
    if let (Some(deadline), Some(limit)) = (deadline, limit) {
        // If no thread can be started, the clock is not checked while data are read; everything else still checks
        // it.
        let _ = std::thread::Builder::new().name("time-limit".into()).spawn(move || {
            let patience = if rank == 0 { PATIENCE } else { PATIENCE + SPOKEN };
            std::thread::sleep((deadline + patience).saturating_duration_since(Instant::now()));
            if nothing_yet() {
                eprintln!(
                    "Error: --time-limit {} was over while the data were still being read: there is no result to keep\n  help: \
                     allow more time",
                    limit.as_secs_f64()
                );
                end(FAILED);
            }
        });
    }
    signal(begin, limit)
}

/// The same signal, for one further phase.
pub(crate) fn signal(begin: Instant, limit: Option<Duration>) -> Signal {
    Signal::on(&STOP).at(limit.and_then(|limit| begin.checked_add(limit)))
}

/// From here on ctrl-C and SIGTERM ask one of several processes, and so all of them, to end the run and keep what
/// it has; a second one ends the process. When a process dies, `mpirun` tells the others to end and kills them a
/// little later; they wait for the dead one inside a sum. So the first two processes say at once how the run can be
/// resumed: two, because the dead one may be the very first.
pub(crate) fn watch_among(rank: usize, size: usize, folder: Option<&Path>) {
    let resume = match folder {
        Some(folder) => {
            let folder = folder.display();
            format!("its last checkpoint is in {folder}; to go on: provi fit --resume {folder} --distributed")
        }
        None => "it kept no checkpoint, having no --out".to_owned(),
    };
    let _ = ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            end(ABORTED);
        }
        let reading = nothing_yet();
        if rank < 2 && !reading {
            eprintln!(
                "rank {rank} of {size} was told to end: the run ends with what there is, or without an answer if a process is \
                 gone; {resume}"
            );
        } else if rank < 2 {
            eprintln!(
                "rank {rank} of {size} was told to end while the data were read: there is no result to keep"
            );
        }
        if reading {
            end(FAILED);
        }
    });
}
