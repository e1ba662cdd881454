//! Files and folders written whole or not at all: under a temporary name beside their place, then renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use provi::Fit;

use super::fit_file::FitFile;
use super::json::factor_bytes;
use crate::failure::{Failure, Result};

/// The fit.
const FIT: &str = "fit.json";

/// The factor of a large fit.
pub(crate) const FACTOR: &str = "factor.f64";

/// Draws for ArviZ.
pub(crate) const DRAWS: &str = "draws.zarr";

/// A folder that may be written to.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
}

impl Store {
    /// Makes the folder if need be, and sees that it takes a file. One that holds a fit is refused unless `force`.
    pub(crate) fn open(dir: &Path, force: bool) -> Result<Self> {
        let store = Self { dir: dir.to_owned() };
        fs::create_dir_all(dir).map_err(|error| refused(dir, &error))?;
        if !force && store.fit_path().exists() {
            return Err(Failure::FitExists { path: dir.to_owned() });
        }
        let probe = temporary(&store.fit_path());
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(|error| refused(dir, &error))?;
        Ok(store)
    }

    pub(crate) fn fit_path(&self) -> PathBuf {
        self.dir.join(FIT)
    }

    /// The factor first, so that fit.json never names a file that is not there.
    pub(crate) fn save(&self, file: &FitFile, fit: &Fit) -> Result<PathBuf> {
        if let Some(name) = &file.factor_file {
            write_file(&self.dir.join(name), &factor_bytes(fit))?;
        }
        write_file(&self.fit_path(), file.to_json().as_bytes())?;
        if file.factor_file.is_none() {
            // A factor that the fit before this one left belongs to nothing now; there is mostly none.
            let _ = fs::remove_file(self.dir.join(FACTOR));
        }
        Ok(self.fit_path())
    }

    /// The draws, as the files of a folder.
    pub(crate) fn save_draws(&self, files: &[(String, Vec<u8>)]) -> Result<()> {
        write_folder(&self.dir.join(DRAWS), files)
    }
}

/// Refuses a place that is taken, unless `force`, or that takes no file.
pub(crate) fn check_free(path: &Path, force: bool) -> Result<()> {
    if path.exists() && !force {
        return Err(Failure::Exists { path: path.to_owned() });
    }
    let probe = temporary(path);
    File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(|error| refused(path, &error))
}

/// A file, through a temporary one.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary(path);
    write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path)).map_err(|error| {
        // Best effort: what matters is that `path` is untouched.
        let _ = fs::remove_file(&temporary);
        refused(path, &error)
    })
}

/// A folder with these files and no others, through a temporary one. What was there goes once the new one is whole.
pub(crate) fn write_folder(path: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    let temporary = temporary(path);
    let fill = || {
        for (name, bytes) in files {
            let file = temporary.join(name);
            fs::create_dir_all(file.parent().unwrap_or(&temporary))?;
            write(&file, bytes)?;
        }
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path)?,
            Ok(_) => fs::remove_file(path)?,
            Err(_) => {}
        }
        fs::rename(&temporary, path)
    };
    fill().map_err(|error| {
        let _ = fs::remove_dir_all(&temporary);
        refused(path, &error)
    })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all())
}

/// A hidden name in the same folder, so that a rename stays on one disk.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::Write { path: path.to_owned(), reason: error.to_string() }
}
