//! Other programs that this process starts, a compiler and a probe, and their end where this process is ended before them.
//!
//! A signal from a terminal reaches every process of its group; one that is sent to this process alone does not. A shell that handles
//! signals says so ([`look_after`]): from then on each child leads a group of its own, and [`end_all`] ends these groups and takes
//! away what they have half written.

use std::io::{Result, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Those that run now.
static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());
/// Whether somebody ends them.
static LOOKED_AFTER: AtomicBool = AtomicBool::new(false);

/// A child, and the files that it makes as they were before.
struct Running {
    child: u32,
    makes: Vec<Made>,
}

/// A file that a child makes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Made {
    path: PathBuf,
    before: Option<(u64, Option<SystemTime>)>,
}

impl Made {
    /// To be made at this place.
    pub(crate) fn at(path: PathBuf) -> Self {
        let before = Self::stamp(&path);
        Self { path, before }
    }

    /// Made already, and of no use afterwards.
    pub(crate) fn here(path: PathBuf) -> Self {
        Self { path, before: None }
    }

    fn stamp(path: &Path) -> Option<(u64, Option<SystemTime>)> {
        std::fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()))
    }

    /// Takes away what whoever made it did not finish; what was there before stays.
    pub(crate) fn abandon(&self) {
        if Self::stamp(&self.path) != self.before {
            // Best effort: it may be gone already.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn running() -> MutexGuard<'static, Vec<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on children lead groups of their own: whoever calls this calls [`end_all`] where it ends the process.
pub fn look_after() {
    LOOKED_AFTER.store(true, Ordering::Relaxed);
}

/// Ends every child with all that it started: asks first, and kills what is still there after a second. No other one is started, and
/// nobody learns how they ended, so call this only where the process ends next.
pub fn end_all() {
    let all = running();
    #[cfg(unix)]
    if LOOKED_AFTER.load(Ordering::Relaxed) {
        unix::end(&all);
    }
    all.iter().flat_map(|running| &running.makes).for_each(Made::abandon);
    // Never unlocked: whoever waits for a child stays there.
    std::mem::forget(all);
}

/// Runs the program to its end, with `input` on its standard input.
pub(crate) fn run(command: &mut Command, input: Option<&[u8]>, makes: &[Made]) -> Result<Output> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = start(command, makes)?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A child that died has closed its end; how it ended is what counts.
        let _ = pipe.write_all(input);
    }
    let id = child.id();
    let output = child.wait_with_output();
    running().retain(|running| running.child != id);
    output
}

fn start(command: &mut Command, makes: &[Made]) -> Result<Child> {
    #[cfg(unix)]
    if LOOKED_AFTER.load(Ordering::Relaxed) {
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    // Under the lock: an end that has begun finds every child, or there is none.
    let mut all = running();
    let child = command.spawn()?;
    all.push(Running { child: child.id(), makes: makes.to_vec() });
    Ok(child)
}

#[cfg(unix)]
mod unix {
    use super::Running;
    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;
    use std::time::{Duration, Instant};

    /// How long they have to end by themselves, as `make` does once it has removed what it was making.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// Between two looks.
    const LOOK: Duration = Duration::from_millis(10);

    pub(super) fn end(all: &[Running]) {
        let mut left: Vec<Pid> =
            all.iter().filter_map(|running| i32::try_from(running.child).ok()).map(Pid::from_raw).collect();
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let since = Instant::now();
            // One that cannot be told is gone.
            left.retain(|group| killpg(*group, signal).is_ok());
            while !left.is_empty() && since.elapsed() < PATIENCE {
                std::thread::sleep(LOOK);
                left.retain(|group| killpg(*group, None).is_ok());
            }
        }
    }
}
