//! The part of a run file that speaks of a library.

use std::path::PathBuf;

use provi_analysis::model::compiled::Digests;
use serde::{Deserialize, Serialize};

use crate::command::fit::compiled::CompiledArgs;
use crate::command::library::LibraryArgs;

/// A library, with the fingerprints of its files. Its data are the run's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct CompiledRun {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stan: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) library: Option<PathBuf>,
    /// Of the file that one of the two names; a file with another one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) init: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) init_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) smoothness: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) starts: Option<u16>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) transformed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) generated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bridgestan: Option<PathBuf>,
}

impl CompiledRun {
    pub(super) fn new(args: &CompiledArgs, digests: &Digests) -> Self {
        let library = &args.library;
        Self {
            stan: library.stan.clone(),
            library: library.library.clone(),
            sha256: digests.model.clone(),
            init: args.init.clone(),
            init_sha256: digests.init.clone(),
            mu: library.convexity,
            smoothness: library.smoothness,
            starts: args.starts,
            transformed: args.transformed,
            generated: args.generated,
            bridgestan: library.bridgestan.clone(),
        }
    }

    /// The files and folders it names.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.stan.iter_mut().chain(&mut self.library).chain(&mut self.init).chain(&mut self.bridgestan)
    }

    pub(super) fn names_one(&self) -> bool {
        self.stan.is_some() != self.library.is_some()
    }

    /// The arguments with this behind them.
    pub(super) fn behind(self, args: &CompiledArgs, data: Option<PathBuf>) -> CompiledArgs {
        let given = &args.library;
        // Another library is named whole: the file's may be of the other kind.
        let (stan, library) = match given.is_given() {
            true => (given.stan.clone(), given.library.clone()),
            false => (self.stan, self.library),
        };
        // An upper bound goes with its lower one.
        let (convexity, smoothness) = match given.convexity {
            Some(_) => (given.convexity, given.smoothness),
            None => (self.mu, self.smoothness),
        };
        CompiledArgs {
            library: LibraryArgs {
                stan,
                library,
                data_file: given.data_file.clone().or(data),
                convexity,
                smoothness,
                bridgestan: given.bridgestan.clone().or(self.bridgestan),
            },
            init: args.init.clone().or(self.init),
            starts: args.starts.or(self.starts),
            transformed: args.transformed || self.transformed,
            generated: args.generated || self.generated,
        }
    }
}
