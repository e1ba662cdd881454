//! `provi fit --stan` and `provi fit --library`: a density from a library.

use std::time::Instant;

use provi_analysis::Problem;
use provi_analysis::options::{RunOptions, SearchOptions};
use provi_analysis::run::sampled::Sampled;
use provi_analysis::show::rows::LEVEL;
use provi_ffi::Include;

use super::{Asides, Job, finish, keep, refuse_without_folder};
use crate::command::Ending;
use crate::command::library;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::run_file::RunFile;
use crate::watched;

pub(super) fn execute(job: &Job, begin: Instant) -> Result<Ending> {
    let (args, given) = (&job.args, &job.args.compiled);
    let compiled = library::open(&given.library, given.init.clone(), args.seed(), job.digests.clone())?;
    refuse_without_folder(args, compiled.target().dim())?;
    let start = compiled.start().map(<[f64]>::to_vec);
    let options = RunOptions { search: SearchOptions { start, ..given.search.clone() }, ..args.run.clone() };
    let prepared = Problem::compiled(&compiled).prepare(&options)?;
    let store = job.store(|| RunFile::of_library(args, compiled.digests()))?;
    let signal = interrupt::signal(begin, options.limit()?);
    let strategy = signal.during("the making of the plan", || prepared.strategy())?;
    let mut fit = watched::run(&prepared, &strategy, job.run(store.as_ref(), begin, options.limit()?))?;
    let include = Include { transformed: given.transformed, generated: given.generated };
    // The answer exists: it is kept whatever happens on the model's own scale.
    let constrained = signal.during("the draws on the constrained scale", || {
        compiled.constrained(&*fit.dense("the constrained scale")?, include, LEVEL, prepared.seed())
    });
    let lost = constrained.map(|found| fit.file.constrained = found).map_err(Failure::from);
    let kept = store.as_ref().map_or(Ok(()), |store| {
        let sampled = signal.during("the draws on the constrained scale", || {
            let sampled = Sampled::of_fit(&fit.gaussian, prepared.target(), prepared.seed())?;
            let constrained = compiled.constrain(&sampled.points, include, prepared.seed())?;
            Ok(Sampled { constrained, ..sampled })
        });
        keep(args, store, &fit, sampled.map_err(|error: provi_analysis::Error| Failure::from(error)))
    });
    let kept = match lost {
        Err(failure) if failure.is_stop() => {
            eprintln!("there is no result on the constrained scale: {failure}");
            kept
        }
        lost => kept.and(lost),
    };
    finish(args, &options, &fit, store.as_ref(), kept, Asides::default())
}
