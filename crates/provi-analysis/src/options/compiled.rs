//! What a user may say about a compiled model.

use std::path::PathBuf;

use super::options;
#[cfg(feature = "clap")]
use super::run::COMPILED as HEADING;
use super::run::SearchOptions;

options! {
/// A library, its data, and what is declared about it, whatever is done with it. The command that takes these names the
/// groups `of_library` and `of_stan`: what the others need.
pub struct LibraryOptions {
    /// A Stan model: a library of BridgeStan, or a .stan file where BridgeStan is installed
    #[cfg_attr(feature = "clap", arg(long, value_name = "MODEL", conflicts_with_all = ["data", "formula", "library"], help_heading = HEADING))]
    pub stan: Option<PathBuf>,
    /// A log density of any language, as a library with the functions of provi.h
    #[cfg_attr(feature = "clap", arg(long, value_name = "LIBRARY", conflicts_with_all = ["data", "formula"], help_heading = HEADING))]
    pub library: Option<PathBuf>,
    /// Its data: JSON for Stan, any text for a library; a run file has them where it has those of a table
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
    /// Declare that the curvature of −log p is at least M everywhere, unconstrained
    #[cfg_attr(feature = "clap", arg(long, value_name = "M", requires = "of_library", allow_negative_numbers = true, help_heading = HEADING))]
    pub mu: Option<f64>,
    /// And at most this; certificates rest on the two, and say so
    #[cfg_attr(feature = "clap", arg(long, value_name = "M", requires = "mu", allow_negative_numbers = true, help_heading = HEADING))]
    pub smoothness: Option<f64>,
    /// The folder of BridgeStan [default: $BRIDGESTAN, or the newest in ~/.bridgestan]
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR", requires = "of_stan", help_heading = HEADING))]
    pub bridgestan: Option<PathBuf>,
}
below LibraryOptions::left_below
}

impl LibraryOptions {
    /// True if a library is named.
    pub fn is_given(&self) -> bool {
        self.stan.is_some() || self.library.is_some()
    }

    /// A library is named whole: that of the lower layer may be of the other kind. An upper bound goes with its lower one.
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
/// A library that is to be fitted, with the digests of its files, and how its answer is searched and shown.
pub struct CompiledOptions {
    /// The library itself; in a file its keys are beside these
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten, skip_deserializing)]
    pub library: LibraryOptions,
    /// Of the library's file; a file with another one is refused. Only files say it.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub sha256: Option<String>,
    /// Values to start from, in JSON, on the constrained scale of a Stan model
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "of_library", help_heading = HEADING))]
    pub init: Option<PathBuf>,
    /// Of that file. Only files say it.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub init_sha256: Option<String>,
    /// The search; in a file its keys are beside these
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten, skip_deserializing)]
    pub search: SearchOptions,
    /// Show transformed parameters as well
    #[cfg_attr(feature = "clap", arg(long, requires = "of_stan", help_heading = HEADING))]
    pub transformed: bool,
    /// Show generated quantities as well
    #[cfg_attr(feature = "clap", arg(long, requires = "of_stan", help_heading = HEADING))]
    pub generated: bool,
}
}

impl CompiledOptions {
    /// The first option that is given, other than the library itself, by its key.
    pub fn first_given(&self) -> Option<String> {
        let named = LibraryOptions { stan: None, library: None, ..self.library.clone() };
        let rest = Self { library: named, sha256: None, init_sha256: None, ..self.clone() };
        let key = || toml::Table::try_from(&rest).ok()?.into_iter().map(|(key, _)| key).next();
        self.library.data_file.as_ref().map(|_| "data".to_owned()).or_else(key)
    }
}
