//! A folder that holds a fit: written whole or not at all.

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
        let probe = store.temporary(FIT);
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(|error| refused(dir, &error))?;
        Ok(store)
    }

    pub(crate) fn fit_path(&self) -> PathBuf {
        self.dir.join(FIT)
    }

    /// The factor first, so that fit.json never names a file that is not there.
    pub(crate) fn save(&self, file: &FitFile, fit: &Fit) -> Result<PathBuf> {
        if let Some(name) = &file.factor_file {
            self.write(name, &factor_bytes(fit))?;
        }
        self.write(FIT, file.to_json().as_bytes())?;
        if file.factor_file.is_none() {
            // A factor that the fit before this one left belongs to nothing now; there is mostly none.
            let _ = fs::remove_file(self.dir.join(FACTOR));
        }
        Ok(self.fit_path())
    }

    /// Through a temporary file in the same folder, renamed when it is whole.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (temporary, path) = (self.temporary(name), self.dir.join(name));
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|error| {
            // Best effort: what matters is that `path` is untouched.
            let _ = fs::remove_file(&temporary);
            refused(&path, &error)
        })
    }

    fn temporary(&self, name: &str) -> PathBuf {
        self.dir.join(format!(".{name}.{}.tmp", std::process::id()))
    }
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::Write { path: path.to_owned(), reason: error.to_string() }
}
