//! The library that a command line names.

use std::path::PathBuf;
use std::process::Command;

use provi_analysis::model::compiled::{Compiled, Data, Digests, LibraryRecord, Source};
use provi_analysis::options::LibraryOptions;
use provi_analysis::record::fit_file::FitFile;

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

/// Opens the library of a fit, with what was declared then if nothing is declared now. Another one is refused unless `force`.
pub(crate) fn open_again(record: &FitFile, given: &LibraryOptions, force: bool) -> Result<Compiled> {
    let (mut given, mut expected) = (given.clone(), Digests::default());
    if let Some(stored) = &record.model.library {
        if !force {
            expected = refuse_another_model(record, stored, &given)?;
        }
        if given.mu.is_none() {
            (given.mu, given.smoothness) = (stored.mu, stored.smoothness);
        }
    }
    open(&given, None, record.seed, expected)
}

/// Refuses another model than the fit's, unless --force. Returns the digests that the files must have.
fn refuse_another_model(record: &FitFile, stored: &LibraryRecord, given: &LibraryOptions) -> Result<Digests> {
    let other = |what: &str, stored: String, given: String| {
        Err(Failure::OtherModel { what: what.to_owned(), stored, given })
    };
    let named = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let data = Some(record.model.data_sha256.clone()).filter(|digest| !digest.is_empty());
    if data.is_some() != given.data_file.is_some() {
        let shown = given.data_file.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        return other("--data", named(record.model.data.clone()), named(shown));
    }
    if let Some(mu) = given.mu {
        let shown = |mu: Option<f64>, top: Option<f64>| {
            let number = |x: Option<f64>| x.map_or("none".to_owned(), |x| x.to_string());
            format!("{} and {}", number(mu), number(top))
        };
        let (before, now) = (shown(stored.mu, stored.smoothness), shown(Some(mu), given.smoothness));
        if before != now {
            return other("--mu and --smoothness", before, now);
        }
    }
    Ok(Digests { model: Some(stored.sha256.clone()), data, init: None })
}
