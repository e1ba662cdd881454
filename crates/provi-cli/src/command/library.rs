//! A library on the command line: which one, its data, and what is declared about it.

use std::path::PathBuf;
use std::process::Command;

use clap::Args as Group;
use provi_analysis::model::compiled::{Compiled, Data, Digests, Source};

use crate::command::probe_library::COMMAND;
use crate::failure::{Failure, Result};

pub(crate) const HEADING: &str = "Compiled models";

/// What is said of a library, whatever is done with it. The command that takes these names the groups `of_library` and
/// `of_stan`: what the others need.
#[derive(Clone, Debug, Default, Group)]
pub(crate) struct LibraryArgs {
    /// A Stan model: a library of BridgeStan, or a .stan file where BridgeStan is installed
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["data", "formula", "library"], help_heading = HEADING)]
    pub(crate) stan: Option<PathBuf>,
    /// A log density of any language, as a library with the functions of provi.h
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["data", "formula"], help_heading = HEADING)]
    pub(crate) library: Option<PathBuf>,
    /// Its data: JSON for Stan, any text for a library
    #[arg(long = "data", id = "data_file", value_name = "FILE", requires = "of_library", help_heading = HEADING)]
    pub(crate) data_file: Option<PathBuf>,
    /// Declare that the curvature of −log p is at least M everywhere, unconstrained
    #[arg(long = "mu", value_name = "M", requires = "of_library", allow_negative_numbers = true, help_heading = HEADING)]
    pub(crate) convexity: Option<f64>,
    /// And at most this; certificates rest on the two, and say so
    #[arg(long, value_name = "M", requires = "convexity", allow_negative_numbers = true, help_heading = HEADING)]
    pub(crate) smoothness: Option<f64>,
    /// The folder of BridgeStan [default: $BRIDGESTAN, or the newest in ~/.bridgestan]
    #[arg(long, value_name = "DIR", requires = "of_stan", help_heading = HEADING)]
    pub(crate) bridgestan: Option<PathBuf>,
}

impl LibraryArgs {
    /// Whether one is named.
    pub(crate) fn is_given(&self) -> bool {
        self.stan.is_some() || self.library.is_some()
    }

    /// Opens it, after a process of its own has; a file with another digest than the expected one is refused.
    pub(crate) fn open(&self, init: Option<PathBuf>, seed: u64, expected: Digests) -> Result<Compiled> {
        let program = std::env::current_exe().map_err(|error| Failure::Probe(error.to_string()))?;
        let mut prober = Command::new(program);
        prober.arg(COMMAND);
        let source = Source {
            path: self.stan.clone().or_else(|| self.library.clone()).unwrap_or_default(),
            stan: self.stan.is_some(),
            data: self.data_file.clone().map(Data::File),
            init,
            convexity: self.convexity,
            smoothness: self.smoothness,
            bridgestan: self.bridgestan.clone(),
            // Stan has 32 bits for it.
            seed: seed as u32,
            expected,
        };
        Ok(Compiled::open(&source, Some(prober))?)
    }
}
