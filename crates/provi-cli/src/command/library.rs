//! The library that a command line names.

use std::path::PathBuf;
use std::process::Command;

use provi_analysis::model::compiled::{Compiled, Data, Digests, Source};
use provi_analysis::options::LibraryOptions;

use crate::command::probe_library::COMMAND;
use crate::failure::{Failure, Result};

/// Opens the library, after another process has tried it. A file whose digest is not the expected one is refused.
pub(crate) fn open(
    given: &LibraryOptions,
    init: Option<PathBuf>,
    seed: u64,
    expected: Digests,
) -> Result<Compiled> {
    let program = std::env::current_exe().map_err(|error| Failure::Probe(error.to_string()))?;
    let mut prober = Command::new(program);
    prober.arg(COMMAND);
    let source = Source {
        path: given.stan.clone().or_else(|| given.library.clone()).unwrap_or_default(),
        stan: given.stan.is_some(),
        data: given.data_file.clone().map(Data::File),
        init,
        convexity: given.mu,
        smoothness: given.smoothness,
        bridgestan: given.bridgestan.clone(),
        // Stan takes a seed of 32 bits.
        seed: seed as u32,
        expected,
    };
    Ok(Compiled::open(&source, Some(prober))?)
}
