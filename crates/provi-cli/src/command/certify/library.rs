//! `provi certify --stan` and `--library`: against a density out of a library.

use provi_analysis::Subject;
use provi_analysis::compiled::{Digests, LibraryRecord};
use provi_analysis::fit_file::FitFile;
use provi_analysis::given::Given;
use provi_analysis::options::ModelOptions;

use super::judge;
use crate::args::CertifyArgs;
use crate::command::Outcome;
use crate::command::library::LibraryArgs;
use crate::failure::{Failure, Result};

pub(super) fn execute(args: &CertifyArgs, given: &Given) -> Result<Outcome> {
    if let Some((key, ..)) = args.model.difference(&ModelOptions::default()) {
        return Err(Failure::OfTable { option: format!("--{key}") });
    }
    // A fit of anything else is certified like a Gaussian of another tool.
    let stored = given.record.as_deref().and_then(|record| Some((record, record.model.library.as_ref()?)));
    let (mut library, mut expected) = (args.library.clone(), Digests::default());
    if let Some((record, stored)) = stored {
        if !args.force {
            expected = refuse_another_model(record, stored, &library)?;
        }
        // What is not declared is what the fit was made with.
        if library.convexity.is_none() {
            (library.convexity, library.smoothness) = (stored.mu, stored.smoothness);
        }
    }
    let record = stored.map(|(record, _)| record);
    // Of what the model itself draws: that of the fit.
    let seed = record.map_or(args.seed.unwrap_or_default(), |record| record.seed);
    let compiled = library.open(None, seed, expected)?;
    judge(args, given, record, &Subject::compiled(&compiled))
}

/// Another model than the fit's is a mistake, unless it is meant; the digests that the files must have.
fn refuse_another_model(record: &FitFile, stored: &LibraryRecord, given: &LibraryArgs) -> Result<Digests> {
    let other = |what: &str, stored: String, given: String| {
        Err(Failure::OtherModel { what: what.to_owned(), stored, given })
    };
    let named = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let data = Some(record.model.data_sha256.clone()).filter(|digest| !digest.is_empty());
    if data.is_some() != given.data_file.is_some() {
        let shown = given.data_file.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        return other("--data", named(record.model.data.clone()), named(shown));
    }
    if let Some(mu) = given.convexity {
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
