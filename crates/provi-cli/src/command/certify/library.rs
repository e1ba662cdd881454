//! `provi certify --stan` and `--library`: against a density from a library.

use provi::{Gaussian, Seed};
use provi_analysis::Problem;
use provi_analysis::model::compiled::{Compiled, ConstrainedRecord, Digests};
use provi_analysis::options::ModelOptions;
use provi_analysis::record::gaussian_file::GaussianFile;
use provi_analysis::run::claims::{Claim, Verdict};
use provi_ffi::Include;

use super::judge;
use crate::args::CertifyArgs;
use crate::command::Outcome;
use crate::command::library::{open, open_again};
use crate::failure::{Failure, Result};

pub(super) fn execute(args: &CertifyArgs, given: &GaussianFile) -> Result<Outcome> {
    if let Some((key, ..)) = args.model.difference(&ModelOptions::default()) {
        return Err(Failure::OfTable { option: format!("--{key}") });
    }
    // A fit of anything else is certified like a Gaussian of another tool.
    let stored = given.record.as_deref().and_then(|record| Some((record, record.model.library.as_ref()?)));
    let record = stored.map(|(record, _)| record);
    // The seed of the model's own random numbers is that of the fit.
    let seed = record.map_or(args.seed.unwrap_or_default(), |record| record.seed);
    let compiled = match record {
        Some(record) => open_again(record, &args.library, args.force)?,
        None => open(&args.library, None, seed, Digests::default())?,
    };
    // The quantities on a Stan model's own scale are drawn again too.
    let own_scale = match record.and_then(|record| record.constrained.as_ref()) {
        Some(stored) => {
            let q = given.gaussian(&compiled.target().target().names())?;
            vec![on_own_scale(stored, &compiled, &*q.to_dense()?, seed)]
        }
        None => Vec::new(),
    };
    judge(args, given, record, &Problem::compiled(&compiled), own_scale)
}

/// Most sets of draws that are tried until one uses weights where the stored one did.
const SEEDS: u64 = 16;

/// Compares the stored means and deviations of a Stan model's own quantities with fresh draws: within six standard
/// errors.
fn on_own_scale(stored: &ConstrainedRecord, compiled: &Compiled, q: &Gaussian, seed: u64) -> Claim {
    let seed = Seed(seed.wrapping_add(1));
    // The file does not record which quantities were asked for, but its names show it.
    let kinds = [(false, false), (true, false), (false, true), (true, true)];
    // Whether the weights are used may depend on the draws if k̂ is near its limit: look for draws that agree on that.
    let of = |seed: Seed| {
        kinds.into_iter().find_map(|(transformed, generated)| {
            let include = Include { transformed, generated };
            let found = compiled.constrained(q, include, stored.level, seed).ok().flatten()?;
            (found.names == stored.names).then_some(found)
        })
    };
    let mut found = of(seed);
    for more in 1..SEEDS {
        if found.as_ref().is_none_or(|now| now.weighted == stored.weighted) {
            break;
        }
        found = of(Seed(seed.0.wrapping_add(more)));
    }
    let agrees = |now: &ConstrainedRecord| {
        let count = now.draws.min(stored.draws).max(1) as f64;
        let lengths = [&stored.mean, &stored.sd, &stored.lower, &stored.upper].map(Vec::len);
        lengths.iter().all(|n| *n == stored.names.len())
            && (0..stored.names.len()).all(|i| {
                // Weighted or heavy-tailed draws carry less information: allow three times the plain standard
                // error.
                let room = 18.0 * now.sd[i] * (2.0 / count).sqrt() + 1e-9 * now.mean[i].abs();
                (stored.mean[i] - now.mean[i]).abs() <= room
                    && (stored.sd[i] - now.sd[i]).abs() <= room
                    && (stored.lower[i] - now.lower[i]).abs() <= 3.0 * room
                    && (stored.upper[i] - now.upper[i]).abs() <= 3.0 * room
            })
    };
    let verdict = if found.as_ref().is_some_and(agrees) { Verdict::Agrees } else { Verdict::NotReproduced };
    let count = |names: &[String]| format!("{} quantities", names.len());
    Claim {
        what: "on the constrained scale".to_owned(),
        stored: count(&stored.names),
        now: found.map_or("–".to_owned(), |now| count(&now.names)),
        verdict,
    }
}
