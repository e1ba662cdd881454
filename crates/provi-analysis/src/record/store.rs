//! The folder of a fit: one writer at a time, and a fit is in it completely or not at all.
//!
//! A run keeps its options, its log and its checkpoint in the folder, or, if the folder holds a fit that is to be
//! replaced, in `unfinished` inside it. All files of an answer are written before any of them gets its name. Then
//! one rename, of the folder in which they were made, decides: before it the old fit counts, after it the new one.
//! If a process is killed after the rename, the next one that opens the folder moves the remaining files to their
//! places.

mod lock;
mod whole;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provi::checkpoint::Checkpoint;
use provi::sparse::AnyGaussian;

use crate::error::{Error, Result};
use crate::record::fit_file::{FitFile, factor_bytes};
use crate::record::mixture::{FACTORS, SPARSE_FACTORS};
use lock::Lock;
use whole::{TEMPORARY, remove};
pub use whole::{check_free, refuse_fit, write_file, write_file_with, write_files, write_folder};

/// The fit.
const FIT: &str = "fit.json";

/// The factor of a large fit.
pub(crate) const FACTOR: &str = "factor.f64";

/// The factor of a fit with a sparse precision.
pub(crate) const SPARSE: &str = "factor.sparse";

/// The options, for `provi fit --config`.
pub const RUN: &str = "run.toml";

/// The checkpoint from which `provi fit --resume` continues.
const CHECKPOINT: &str = "checkpoint.bin";

/// The log of the run.
const LOG: &str = "log.txt";

/// Draws for ArviZ.
const DRAWS: &str = "draws.zarr";

/// Files that belong to one answer besides fit.json, and are replaced with it.
const ANSWER: [&str; 6] = [FACTOR, DRAWS, FACTORS, SPARSE, SPARSE_FACTORS, "report.html"];

/// Files that belong to one run.
const WORK: [&str; 4] = [FIT, RUN, LOG, CHECKPOINT];

/// Where a run works that is to replace a fit.
const UNFINISHED: &str = "unfinished";

/// Where an answer is made if its run works in the folder itself.
const STAGED: &str = ".staged";

/// The names of these folders once they are complete: a run with its answer, which replaces everything, and an
/// answer alone.
const WHOLE: [&str; 2] = [".whole", ".answer"];

/// The name while files move to their places, after everything of the old fit that has no successor was removed.
const MOVING: &str = ".moving";

/// A folder to which only this process may write.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    /// Where the run keeps its files.
    work: PathBuf,
    /// `None` for a process that only reads.
    lock: Option<Arc<Lock>>,
}

impl Store {
    /// Creates the folder if necessary, locks it, and checks that files can be written. A folder that holds a fit,
    /// or a run that can be resumed, is refused unless `force`. A folder to which another process writes is always
    /// refused.
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

    /// A folder with a fit that was begun and not finished, and its checkpoint. A run that was killed in its first
    /// seconds has no checkpoint, and a search by draws keeps none; such a run starts again.
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

    /// The same for a process that only reads, after another one has reopened the folder.
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

    /// Whether other processes are kept out; some file systems have no locks.
    pub fn is_locked(&self) -> bool {
        self.lock.as_ref().is_some_and(|lock| lock.is_held())
    }

    /// Whether there is a checkpoint from which a stopped run can be resumed.
    pub fn has_checkpoint(&self) -> bool {
        self.dir.join(CHECKPOINT).exists()
    }

    /// The path of the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path of the options' file, during the run.
    pub fn run_path(&self) -> PathBuf {
        self.work.join(RUN)
    }

    /// The path of the log, during the run.
    pub fn log_path(&self) -> PathBuf {
        self.work.join(LOG)
    }

    /// Writes the options before the run, so that it can be made again whatever happens.
    pub fn begin(&self, run: &str) -> Result<()> {
        let begin = || {
            // Remove what an earlier run left here that nobody resumes.
            remove(&self.dir.join(UNFINISHED))?;
            fs::create_dir_all(&self.work)?;
            [CHECKPOINT, LOG].iter().try_for_each(|old| remove(&self.work.join(old)))
        };
        begin().map_err(|error| Error::write(&self.work, &error))?;
        self.sweep();
        write_file(&self.run_path(), run.as_bytes())
    }

    /// Removes half-written files of a killed process; nothing reads their names.
    fn sweep(&self) {
        let parts = WORK.iter().chain(&ANSWER[..5]);
        let begin: Vec<String> = parts.map(|part| format!(".{part}.")).collect();
        let remains =
            |name: &str| name.ends_with(TEMPORARY) && begin.iter().any(|part| name.starts_with(part));
        for entry in [&self.dir, &self.work].into_iter().flat_map(fs::read_dir).flatten().flatten() {
            let name = entry.file_name();
            if remains(&name.to_string_lossy()) || name == STAGED {
                // Best effort: a leftover file does no harm.
                let _ = remove(&entry.path());
            }
        }
    }

    /// Saves a checkpoint.
    pub fn save_checkpoint(&self, at: &Checkpoint) -> Result<()> {
        write_file(&self.work.join(CHECKPOINT), &at.to_bytes())
    }

    /// The path of fit.json.
    pub fn fit_path(&self) -> PathBuf {
        self.dir.join(FIT)
    }

    /// Saves the fit of the run that began here, with its draws as the files of a folder. A run that finished needs
    /// no checkpoint, and keeps none.
    pub fn save(&self, file: &FitFile, q: &AnyGaussian, draws: &[(String, Vec<u8>)]) -> Result<PathBuf> {
        match self.work == self.dir {
            true => self.commit(&self.dir.join(STAGED), WHOLE[1], file, q, draws),
            false => self.commit(&self.work, WHOLE[0], file, q, draws),
        }
    }

    /// Saves a fit without a run, replacing any fit and run in the folder.
    pub fn save_alone(&self, file: &FitFile, q: &AnyGaussian) -> Result<PathBuf> {
        let path = self.commit(&self.dir.join(STAGED), WHOLE[0], file, q, &[])?;
        remove(&self.dir.join(UNFINISHED)).map_err(|error| Error::write(&self.dir, &error))?;
        Ok(path)
    }

    /// Writes everything into one folder, renames that folder, then moves its files to their places.
    fn commit(
        &self,
        staged: &Path,
        whole: &str,
        file: &FitFile,
        q: &AnyGaussian,
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
            if let Some(mixture) = file.mixture.as_ref().filter(|mixture| mixture.factor_file.is_some()) {
                let name = mixture.factor_file.as_deref().unwrap_or(FACTORS);
                write_file(&staged.join(name), &mixture.factor_bytes())?;
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

/// Whether a fit finished, rather than being stopped early.
fn is_finished(fit: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Ending {
        stopped_early: bool,
    }
    let Ok(text) = fs::read_to_string(fit) else { return false };
    // A file that cannot be read must not be overwritten.
    serde_json::from_str(&text).map_or(true, |fit: Ending| !fit.stopped_early)
}

/// For readers: completes the moves of a process that was killed after the rename that decides.
pub(crate) fn settle_for_reading(dir: &Path) {
    let undone = WHOLE.iter().chain([&MOVING]).any(|name| dir.join(name).is_dir());
    if undone && let Ok(lock) = Lock::wait(dir) {
        // If nothing may be written, the old fit is read, which is complete.
        let _ = settle(dir);
        drop(lock);
    }
}

/// Moves a complete answer to its place; usually there is nothing to do. May be interrupted anywhere and repeated.
fn settle(dir: &Path) -> io::Result<()> {
    move_out(dir)?;
    for name in WHOLE {
        let whole = dir.join(name);
        if !whole.is_dir() {
            continue;
        }
        // A file that does not belong to a replaced fit is somebody else's, whatever its name.
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

/// Moves the files out; fit.json comes last.
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
