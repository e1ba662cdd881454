//! Programs that this process starts (a compiler and a probe), and how they are ended if this process ends first.
//!
//! A signal from a terminal reaches every process of its group; a signal sent to this process alone does not. A
//! shell that handles signals says so ([`look_after`]): from then on each child leads its own group, and
//! [`end_all`] ends these groups and removes their half-written files.

use std::io::{Result, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The children that run now.
static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());
/// Whether the shell will end them.
static LOOKED_AFTER: AtomicBool = AtomicBool::new(false);

/// A child, and the files that it makes, with their state before.
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
    /// A file to be made at this path.
    pub(crate) fn at(path: PathBuf) -> Self {
        let before = Self::stamp(&path);
        Self { path, before }
    }

    /// A file that exists already and is not needed afterwards.
    pub(crate) fn here(path: PathBuf) -> Self {
        Self { path, before: None }
    }

    fn stamp(path: &Path) -> Option<(u64, Option<SystemTime>)> {
        std::fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()))
    }

    /// Removes the file if its maker did not finish it; a file that was there before stays.
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

/// From here on children lead their own groups. The caller must call [`end_all`] before it ends the process.
pub fn look_after() {
    LOOKED_AFTER.store(true, Ordering::Relaxed);
}

/// Ends every child with all that it started: asks first, and kills what is left after a second. No other child can
/// be started, and nobody learns how they ended, so call this only if the process ends next.
pub fn end_all() {
    let all = running();
    #[cfg(unix)]
    if LOOKED_AFTER.load(Ordering::Relaxed) {
        unix::end(&all);
    }
    all.iter().flat_map(|running| &running.makes).for_each(Made::abandon);
    // Never unlocked: threads that wait for a child stay there.
    std::mem::forget(all);
}

/// Runs the program to its end, with `input` on its standard input.
pub(crate) fn run(command: &mut Command, input: Option<&[u8]>, makes: &[Made]) -> Result<Output> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = start(command, makes)?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A child that died has closed its end of the pipe; its exit status is what counts.
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
    // Under the lock: `end_all` finds every child that was started, or no child is started.
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

    /// How long they have to end by themselves; `make` uses it to remove what it was making.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// Time between two checks.
    const LOOK: Duration = Duration::from_millis(10);

    pub(super) fn end(all: &[Running]) {
        let mut left: Vec<Pid> =
            all.iter().filter_map(|running| i32::try_from(running.child).ok()).map(Pid::from_raw).collect();
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let since = Instant::now();
            // A group that cannot be signalled has ended.
            left.retain(|group| killpg(*group, signal).is_ok());
            while !left.is_empty() && since.elapsed() < PATIENCE {
                std::thread::sleep(LOOK);
                left.retain(|group| killpg(*group, None).is_ok());
            }
        }
    }
}
