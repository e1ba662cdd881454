//! The folder of a fit: one writer at a time, and a fit in it whole or not at all.
//!
//! A run keeps its options, its log and its checkpoint in the folder, or, where that holds a fit which is to be replaced,
//! in `unfinished` inside it. The files of an answer are all made before any of them has its name. One rename, of the
//! folder they are made in, then decides: before it the old fit counts, after it the new one, and whoever opens the folder
//! next moves to their places what a killed process did not.

mod lock;
mod whole;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provi::Gaussian;
use provi::checkpoint::Checkpoint;

use crate::error::{Error, Result};
use crate::record::fit_file::{FitFile, factor_bytes};
use lock::Lock;
use whole::{TEMPORARY, remove};
pub use whole::{check_free, refuse_fit, write_file, write_file_with, write_files, write_folder};

/// The fit.
const FIT: &str = "fit.json";

/// The factor of a large fit.
pub(crate) const FACTOR: &str = "factor.f64";

/// The options, for `provi fit --config`.
pub const RUN: &str = "run.toml";

/// What `provi fit --resume` goes on from.
const CHECKPOINT: &str = "checkpoint.bin";

/// What happened when.
const LOG: &str = "log.txt";

/// Draws for ArviZ.
const DRAWS: &str = "draws.zarr";

/// What speaks of one answer, fit.json itself excepted, and goes with it.
const ANSWER: [&str; 3] = [FACTOR, DRAWS, "report.html"];

/// What speaks of one run.
const WORK: [&str; 4] = [FIT, RUN, LOG, CHECKPOINT];

/// Where a run works that is to replace a fit.
const UNFINISHED: &str = "unfinished";

/// Where an answer is made whose run works in the folder itself.
const STAGED: &str = ".staged";

/// The same once they are whole: a run with its answer, which replace everything, and an answer alone.
const WHOLE: [&str; 2] = [".whole", ".answer"];

/// Once nothing of the old fit is left that the new one does not replace.
const MOVING: &str = ".moving";

/// A folder that may be written to, and by nobody else.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    /// Where the run keeps what it needs.
    work: PathBuf,
    /// None for a process that only reads.
    lock: Option<Arc<Lock>>,
}

impl Store {
    /// Makes the folder if need be, locks it, and sees that it takes a file. One that holds a fit, or a run that can go on,
    /// is refused unless `force`; one that another process writes to is refused.
    pub fn open(dir: &Path, force: bool) -> Result<Self> {
        let lock = Arc::new(Lock::take(dir)?);
        settle(dir).map_err(|error| Error::write(dir, &error))?;
        let taken = dir.join(FIT).exists();
        let work = if taken { dir.join(UNFINISHED) } else { dir.to_owned() };
        let store = Self { dir: dir.to_owned(), work, lock: Some(lock) };
        if !force && taken {
            return Err(Error::FitExists { path: dir.to_owned() });
        }
        if !force && dir.join(CHECKPOINT).exists() {
            return Err(Error::RunExists { path: dir.to_owned() });
        }
        Ok(store)
    }

    /// A folder in which a fit was begun and not finished, with what it can go on from. A run that was killed in its
    /// first seconds has left no checkpoint, and a search by draws keeps none: such a run begins again.
    pub fn reopen(dir: &Path) -> Result<(Self, Option<Checkpoint>)> {
        if !dir.join(RUN).exists() && !dir.join(UNFINISHED).join(RUN).exists() {
            return Err(nothing(dir, format!("there is no {RUN}")));
        }
        let lock = Lock::take(dir)?;
        settle(dir).map_err(|error| Error::write(dir, &error))?;
        let (store, checkpoint) = Self::follow(dir)?;
        store.sweep();
        Ok((Self { lock: Some(Arc::new(lock)), ..store }, checkpoint))
    }

    /// The same for a process that only reads, after another one has reopened it.
    pub fn follow(dir: &Path) -> Result<(Self, Option<Checkpoint>)> {
        let next = dir.join(UNFINISHED);
        let work = if next.join(RUN).exists() { next } else { dir.to_owned() };
        let store = Self { dir: dir.to_owned(), work, lock: None };
        if !store.run_path().exists() {
            return Err(nothing(dir, format!("there is no {RUN}")));
        }
        let checkpoint = match fs::read(store.work.join(CHECKPOINT)) {
            Ok(bytes) => {
                Some(Checkpoint::from_bytes(&bytes).map_err(|error| nothing(dir, error.to_string()))?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_finished(&store.work.join(FIT)) => {
                return Err(nothing(dir, "its fit is finished".to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(nothing(dir, format!("{CHECKPOINT}: {error}"))),
        };
        Ok((store, checkpoint))
    }

    /// Whether another process is kept out: some file systems have no locks.
    pub fn is_locked(&self) -> bool {
        self.lock.as_ref().is_some_and(|lock| lock.is_held())
    }

    /// Whether a stopped run can go on where it was.
    pub fn has_checkpoint(&self) -> bool {
        self.dir.join(CHECKPOINT).exists()
    }

    /// Its path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The options' file, while the run lasts.
    pub fn run_path(&self) -> PathBuf {
        self.work.join(RUN)
    }

    /// The log's, while the run lasts.
    pub fn log_path(&self) -> PathBuf {
        self.work.join(LOG)
    }

    /// The options, before the run: whatever becomes of it, it can be made again.
    pub fn begin(&self, run: &str) -> Result<()> {
        let begin = || {
            // What an earlier run left here and nobody wants to go on with.
            remove(&self.dir.join(UNFINISHED))?;
            fs::create_dir_all(&self.work)?;
            [CHECKPOINT, LOG].iter().try_for_each(|old| remove(&self.work.join(old)))
        };
        begin().map_err(|error| Error::write(&self.work, &error))?;
        self.sweep();
        write_file(&self.run_path(), run.as_bytes())
    }

    /// Removes what a killed process left half-written, under names that nothing reads.
    fn sweep(&self) {
        let parts = WORK.iter().chain(&ANSWER[..2]);
        let begin: Vec<String> = parts.map(|part| format!(".{part}.")).collect();
        let remains =
            |name: &str| name.ends_with(TEMPORARY) && begin.iter().any(|part| name.starts_with(part));
        for entry in [&self.dir, &self.work].into_iter().flat_map(fs::read_dir).flatten().flatten() {
            let name = entry.file_name();
            if remains(&name.to_string_lossy()) || name == STAGED {
                // Best effort: it is in nobody's way.
                let _ = remove(&entry.path());
            }
        }
    }

    /// What a run can go on from.
    pub fn save_checkpoint(&self, at: &Checkpoint) -> Result<()> {
        write_file(&self.work.join(CHECKPOINT), &at.to_bytes())
    }

    /// The fit's.
    pub fn fit_path(&self) -> PathBuf {
        self.dir.join(FIT)
    }

    /// The fit of the run that began here, with its draws as the files of a folder. A run that came to its end needs no
    /// checkpoint, and keeps none.
    pub fn save(&self, file: &FitFile, q: &Gaussian, draws: &[(String, Vec<u8>)]) -> Result<PathBuf> {
        match self.work == self.dir {
            true => self.commit(&self.dir.join(STAGED), WHOLE[1], file, q, draws),
            false => self.commit(&self.work, WHOLE[0], file, q, draws),
        }
    }

    /// A fit without a run, in place of whatever fit and run the folder holds.
    pub fn save_alone(&self, file: &FitFile, q: &Gaussian) -> Result<PathBuf> {
        let path = self.commit(&self.dir.join(STAGED), WHOLE[0], file, q, &[])?;
        remove(&self.dir.join(UNFINISHED)).map_err(|error| Error::write(&self.dir, &error))?;
        Ok(path)
    }

    /// Everything into one folder, then that folder under its new name, then what it holds to where it belongs.
    fn commit(
        &self,
        staged: &Path,
        whole: &str,
        file: &FitFile,
        q: &Gaussian,
        draws: &[(String, Vec<u8>)],
    ) -> Result<PathBuf> {
        let refuse = |error: io::Error| Error::write(&self.dir, &error);
        if staged != self.work {
            remove(staged).map_err(refuse)?;
        }
        fs::create_dir_all(staged).map_err(refuse)?;
        let fill = || {
            if !draws.is_empty() {
                write_folder(&staged.join(DRAWS), draws)?;
            }
            if let Some(name) = &file.factor_file {
                write_file(&staged.join(name), &factor_bytes(q))?;
            }
            write_file(&staged.join(FIT), file.to_json().as_bytes())?;
            fs::rename(staged, self.dir.join(whole)).map_err(refuse)
        };
        fill().inspect_err(|_| {
            if staged != self.work {
                let _ = remove(staged);
            }
        })?;
        settle(&self.dir).map_err(refuse)?;
        Ok(self.fit_path())
    }
}

fn nothing(dir: &Path, reason: String) -> Error {
    Error::NothingToResume { path: dir.to_owned(), reason }
}

/// Whether a fit came to its end, rather than being what there was when it was stopped.
fn is_finished(fit: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Ending {
        stopped_early: bool,
    }
    let Ok(text) = fs::read_to_string(fit) else { return false };
    // What cannot be read is not to be overwritten.
    serde_json::from_str(&text).map_or(true, |fit: Ending| !fit.stopped_early)
}

/// For readers: if a process was killed between the rename that decides and its end, does what it left undone.
pub(crate) fn settle_for_reading(dir: &Path) {
    let undone = WHOLE.iter().chain([&MOVING]).any(|name| dir.join(name).is_dir());
    if undone && let Ok(lock) = Lock::wait(dir) {
        // Where nothing may be written the old fit is read, which is whole.
        let _ = settle(dir);
        drop(lock);
    }
}

/// Puts an answer that is whole in its place; nothing to do, mostly. Can be cut off anywhere and done again.
fn settle(dir: &Path) -> io::Result<()> {
    move_out(dir)?;
    for name in WHOLE {
        let whole = dir.join(name);
        if !whole.is_dir() {
            continue;
        }
        // What is not of a fit that is replaced, whatever its name, is somebody else's.
        let replaces = dir.join(FIT).exists() || dir.join(CHECKPOINT).exists();
        let run: &[&str] = if name == WHOLE[0] { &[RUN, LOG, CHECKPOINT] } else { &[] };
        for part in ANSWER.iter().chain(run) {
            if replaces && !whole.join(part).exists() {
                remove(&dir.join(part))?;
            }
        }
        if is_finished(&whole.join(FIT)) {
            remove(&whole.join(CHECKPOINT))?;
            remove(&dir.join(CHECKPOINT))?;
        }
        fs::rename(&whole, dir.join(MOVING))?;
    }
    move_out(dir)
}

/// fit.json last.
fn move_out(dir: &Path) -> io::Result<()> {
    let from = dir.join(MOVING);
    let Ok(entries) = fs::read_dir(&from) else { return Ok(()) };
    let mut names: Vec<_> = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort_by_key(|name| name == FIT);
    for name in names {
        let to = dir.join(&name);
        if to.is_dir() {
            fs::remove_dir_all(&to)?;
        }
        fs::rename(from.join(&name), to)?;
    }
    fs::remove_dir(from)
}

#[cfg(test)]
mod tests;
