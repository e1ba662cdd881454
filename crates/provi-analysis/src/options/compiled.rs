//! Options of a compiled model.

use std::path::PathBuf;

use super::options;
#[cfg(feature = "clap")]
use super::run::COMPILED as HEADING;
use super::run::SearchOptions;

options! {
/// A library, its data, and what is declared about it. Commands that take these options name the clap groups
/// `of_library` and `of_stan`, which other options require.
pub struct LibraryOptions {
    /// A Stan model: a library of BridgeStan, or a .stan file where BridgeStan is installed
    #[cfg_attr(feature = "clap", arg(long, value_name = "MODEL", conflicts_with_all = ["data", "formula", "library"], help_heading = HEADING))]
    pub stan: Option<PathBuf>,
    /// A log density in any language, as a library with the functions of provi.h
    #[cfg_attr(feature = "clap", arg(long, value_name = "LIBRARY", conflicts_with_all = ["data", "formula"], help_heading = HEADING))]
    pub library: Option<PathBuf>,
    /// Its data: JSON for Stan, any text for a library. In a run file they are under the same key as a table
    #[cfg_attr(feature = "clap", arg(
        long = "data",
        id = "data_file",
        value_name = "FILE",
        requires = "of_library",
        help_heading = HEADING,
        help = "Its data: JSON for Stan, any text for a library"
    ))]
    #[serde(skip)]
    pub data_file: Option<PathBuf>,
    /// Declare that the curvature of −log p is at least MU everywhere, on the unconstrained scale
    #[cfg_attr(feature = "clap", arg(long, value_name = "MU", requires = "of_library", allow_negative_numbers = true, help_heading = HEADING))]
    pub mu: Option<f64>,
    /// Declare that it is at most M; certificates rest on both declarations, and say so
    #[cfg_attr(feature = "clap", arg(long, value_name = "M", requires = "mu", allow_negative_numbers = true, help_heading = HEADING))]
    pub smoothness: Option<f64>,
    /// The folder of BridgeStan [default: $BRIDGESTAN, or the newest in ~/.bridgestan]
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR", requires = "of_stan", help_heading = HEADING))]
    pub bridgestan: Option<PathBuf>,
}
below LibraryOptions::left_below
}

impl LibraryOptions {
    /// Whether a library is named.
    pub fn is_given(&self) -> bool {
        self.stan.is_some() || self.library.is_some()
    }

    /// A library replaces the lower layer's, which may be of the other kind. An upper bound belongs to its lower
    /// bound.
    fn left_below(&self, mut below: Self) -> Self {
        if self.is_given() {
            (below.stan, below.library) = (None, None);
        }
        if self.mu.is_some() {
            below.smoothness = None;
        }
        below
    }
}

options! {
/// A library to fit, with the digests of its files, and how to search for and show its answer.
pub struct CompiledOptions {
    /// The library itself; in a file its keys are beside these
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten, skip_deserializing)]
    pub library: LibraryOptions,
    /// Digest of the library's file; a file with another digest is refused. Set only in files.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub sha256: Option<String>,
    /// Values to start from, in JSON, on the constrained scale of a Stan model
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "of_library", help_heading = HEADING))]
    pub init: Option<PathBuf>,
    /// Digest of that file. Set only in files.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub init_sha256: Option<String>,
    /// The search; in a file its keys are beside these
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten, skip_deserializing)]
    pub search: SearchOptions,
    /// Also show transformed parameters
    #[cfg_attr(feature = "clap", arg(long, requires = "of_stan", help_heading = HEADING))]
    pub transformed: bool,
    /// Also show generated quantities
    #[cfg_attr(feature = "clap", arg(long, requires = "of_stan", help_heading = HEADING))]
    pub generated: bool,
}
}

impl CompiledOptions {
    /// The key of the first option that is set, other than the library itself.
    pub fn first_given(&self) -> Option<String> {
        let named = LibraryOptions { stan: None, library: None, ..self.library.clone() };
        let rest = Self { library: named, sha256: None, init_sha256: None, ..self.clone() };
        let key = || toml::Table::try_from(&rest).ok()?.into_iter().map(|(key, _)| key).next();
        self.library.data_file.as_ref().map(|_| "data".to_owned()).or_else(key)
    }
}
