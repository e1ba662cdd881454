//! Files and folders written whole or not at all: under a temporary name beside their place, then renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use provi::Gaussian;
use provi::checkpoint::Checkpoint;

use crate::error::{Error, Result};
use crate::fit_file::{FitFile, factor_bytes};
use crate::unfinished::Unfinished;

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

/// How the names of files end that are being written.
const TEMPORARY: &str = ".tmp";

/// Draws for ArviZ.
const DRAWS: &str = "draws.zarr";

/// A folder that may be written to.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Makes the folder if need be, and sees that it takes a file. One that holds a fit is refused unless `force`.
    pub fn open(dir: &Path, force: bool) -> Result<Self> {
        let store = Self { dir: dir.to_owned() };
        fs::create_dir_all(dir).map_err(|error| Error::write(dir, &error))?;
        if !force && store.fit_path().exists() {
            return Err(Error::FitExists { path: dir.to_owned() });
        }
        takes_a_file(&store.fit_path()).map_err(|error| Error::write(dir, &error))?;
        Ok(store)
    }

    /// A folder in which a fit was begun and not finished, with what it can go on from. A run that was killed in its
    /// first seconds has left no checkpoint, and a search by draws keeps none: such a run begins again.
    pub fn reopen(dir: &Path) -> Result<(Self, Option<Checkpoint>)> {
        let nothing = |reason: String| Error::NothingToResume { path: dir.to_owned(), reason };
        let store = Self { dir: dir.to_owned() };
        if !store.dir.join(RUN).exists() {
            return Err(nothing(format!("there is no {RUN}")));
        }
        store.sweep();
        let checkpoint = match fs::read(dir.join(CHECKPOINT)) {
            Ok(bytes) => Some(Checkpoint::from_bytes(&bytes).map_err(|error| nothing(error.to_string()))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound && store.is_finished() => {
                return Err(nothing("its fit is finished".to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(nothing(format!("{CHECKPOINT}: {error}"))),
        };
        Ok((store, checkpoint))
    }

    /// Whether it holds a fit that came to its end, rather than what there was when it was stopped.
    fn is_finished(&self) -> bool {
        #[derive(serde::Deserialize)]
        struct Ending {
            stopped_early: bool,
        }
        let Ok(text) = fs::read_to_string(self.fit_path()) else { return false };
        // What cannot be read is not to be overwritten.
        serde_json::from_str(&text).map_or(true, |fit: Ending| !fit.stopped_early)
    }

    /// Whether a stopped run can go on where it was.
    pub fn has_checkpoint(&self) -> bool {
        self.dir.join(CHECKPOINT).exists()
    }

    /// Its path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The options' file.
    pub fn run_path(&self) -> PathBuf {
        self.dir.join(RUN)
    }

    /// The log's.
    pub fn log_path(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    /// The options, before the run: whatever becomes of it, it can be made again.
    pub fn begin(&self, run: &str) -> Result<()> {
        for old in [CHECKPOINT, LOG] {
            let _ = fs::remove_file(self.dir.join(old));
        }
        self.sweep();
        write_file(&self.run_path(), run.as_bytes())
    }

    /// Removes what a killed process left half-written, under names that nothing reads.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') && name.ends_with(TEMPORARY) {
                // Best effort: it is in nobody's way.
                let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
            }
        }
    }

    /// What a run can go on from.
    pub fn save_checkpoint(&self, at: &Checkpoint) -> Result<()> {
        write_file(&self.dir.join(CHECKPOINT), &at.to_bytes())
    }

    /// A run that came to its end needs no checkpoint.
    pub fn forget_checkpoint(&self) {
        let _ = fs::remove_file(self.dir.join(CHECKPOINT));
    }

    /// The fit's.
    pub fn fit_path(&self) -> PathBuf {
        self.dir.join(FIT)
    }

    /// The factor first, so that fit.json never names a file that is not there.
    pub fn save(&self, file: &FitFile, q: &Gaussian) -> Result<PathBuf> {
        if let Some(name) = &file.factor_file {
            write_file(&self.dir.join(name), &factor_bytes(q))?;
        }
        write_file(&self.fit_path(), file.to_json().as_bytes())?;
        if file.factor_file.is_none() {
            // A factor that the fit before this one left belongs to nothing now; there is mostly none.
            let _ = fs::remove_file(self.dir.join(FACTOR));
        }
        Ok(self.fit_path())
    }

    /// The draws, as the files of a folder.
    pub fn save_draws(&self, files: &[(String, Vec<u8>)]) -> Result<()> {
        write_folder(&self.dir.join(DRAWS), files)
    }
}

/// Refuses a place that is taken, unless `force`, or that takes no file.
pub fn check_free(path: &Path, force: bool) -> Result<()> {
    if path.exists() && !force {
        return Err(Error::Exists { path: path.to_owned() });
    }
    takes_a_file(path).map_err(|error| Error::write(path, &error))
}

/// Whether a file could be made beside this place.
fn takes_a_file(path: &Path) -> io::Result<()> {
    Unfinished::new(temporary(path)).change(|probe| File::create(probe).map(drop))
}

/// A file, through a temporary one.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = Unfinished::new(temporary(path));
    let place = || {
        write(unfinished.change(|new| File::create(new))?, bytes)?;
        unfinished.change(|new| fs::rename(new, path))
    };
    place().map_err(|error| Error::write(path, &error))
}

/// A folder with these files and no others, through a temporary one. What was there goes once the new one is whole.
pub fn write_folder(path: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    let unfinished = Unfinished::new(temporary(path));
    let fill = || {
        for (name, bytes) in files {
            let file = unfinished.change(|new| {
                let file = new.join(name);
                fs::create_dir_all(file.parent().unwrap_or(new))?;
                File::create(file)
            })?;
            write(file, bytes)?;
        }
        unfinished.change(|new| {
            match fs::symlink_metadata(path) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(path)?,
                Ok(_) => fs::remove_file(path)?,
                Err(_) => {}
            }
            fs::rename(new, path)
        })
    };
    fill().map_err(|error| Error::write(path, &error))
}

fn write(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes).and_then(|()| file.sync_all())
}

/// A hidden name in the same folder, so that a rename stays on one disk.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}{TEMPORARY}", std::process::id()))
}
