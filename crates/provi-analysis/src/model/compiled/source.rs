//! What is opened, and the digests of its files.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::record::fit_file::sha256;

/// The data of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// In a file.
    File(PathBuf),
    /// Given as text.
    Text(String),
}

impl Data {
    pub(super) fn contents(&self) -> Result<String> {
        match self {
            Self::File(path) => read(path),
            Self::Text(text) => Ok(text.clone()),
        }
    }

    /// Their name in a record; empty if they have no file.
    pub(super) fn called(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Text(_) => String::new(),
        }
    }
}

/// What to open, and what is declared about it.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The library; a `.stan` file is compiled first.
    pub path: PathBuf,
    /// Whether it is a Stan model; otherwise it has the functions of `provi.h`.
    pub stan: bool,
    /// The data of the model.
    pub data: Option<Data>,
    /// Values to start from, in JSON.
    pub init: Option<PathBuf>,
    /// Declared lower bound μ of the curvature of −log p.
    pub convexity: Option<f64>,
    /// Declared upper bound M of the curvature of −log p.
    pub smoothness: Option<f64>,
    /// The folder of BridgeStan to compile with.
    pub bridgestan: Option<PathBuf>,
    /// Seed of random numbers that the model draws when it is constructed.
    pub seed: u32,
    /// The expected digests: a file with another digest is refused before any of it runs.
    pub expected: Digests,
}

/// The SHA-256 digests of the files of a [`Source`]; `None` for a file that it does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// Of the file that `path` names; for a `.stan` file, of its source text.
    pub model: Option<String>,
    /// Of the data.
    pub data: Option<String>,
    /// Of the values to start from.
    pub init: Option<String>,
}

impl Source {
    /// The digests of its files, or an error for the first that is not the expected one.
    pub(super) fn digests(&self, data: Option<&str>) -> Result<Digests> {
        let file =
            |path: &Path| std::fs::read(path).map(|bytes| sha256(&bytes)).map_err(|e| unreadable(path, &e));
        let found = Digests {
            model: Some(file(&self.path)?),
            data: data.map(|data| sha256(data.as_bytes())),
            init: self.init.as_deref().map(file).transpose()?,
        };
        let expected = &self.expected;
        let data = match &self.data {
            Some(Data::File(path)) => path.clone(),
            _ => PathBuf::new(),
        };
        let init = self.init.clone().unwrap_or_default();
        let model = if self.stan { "Stan model" } else { "library" };
        for (what, path, stored, found) in [
            (model, &self.path, &expected.model, &found.model),
            ("data file", &data, &expected.data, &found.data),
            ("file of initial values", &init, &expected.init, &found.init),
        ] {
            if let (Some(stored), Some(found)) = (stored, found)
                && stored != found
            {
                let (path, stored, found) = (path.clone(), stored.clone(), found.clone());
                return Err(Error::OtherFile { what, path, stored, found });
            }
        }
        Ok(found)
    }
}

pub(super) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let path = path.to_owned();
    Error::Compiled(match error.kind() {
        std::io::ErrorKind::NotFound => provi_ffi::Error::NotFound { path },
        _ => provi_ffi::Error::Unreadable { path, reason: error.to_string() },
    })
}
