//! `provi fit --stan` and `provi fit --library`: a density out of a library.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args as Group;
use provi_analysis::Problem;
use provi_analysis::options::RunOptions;
use provi_analysis::run::sampled::Sampled;
use provi_analysis::show::rows::LEVEL;
use provi_ffi::Include;

use super::{Job, finish, keep, refuse_without_folder};
use crate::command::Ending;
use crate::command::library::{HEADING, LibraryArgs};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::run_file::RunFile;
use crate::watched;

/// What is said of a library that is to be fitted.
#[derive(Clone, Debug, Default, Group)]
pub(crate) struct CompiledArgs {
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Values to start from, in JSON, on the constrained scale of a Stan model
    #[arg(long, value_name = "FILE", requires = "of_library", help_heading = HEADING)]
    pub(crate) init: Option<PathBuf>,
    /// Search from so many starts, and compare what they find
    #[arg(long, value_name = "K", requires = "of_library", value_parser = clap::value_parser!(u16).range(1..), help_heading = HEADING)]
    pub(crate) starts: Option<u16>,
    /// Show transformed parameters as well
    #[arg(long, requires = "of_stan", help_heading = HEADING)]
    pub(crate) transformed: bool,
    /// Show generated quantities as well
    #[arg(long, requires = "of_stan", help_heading = HEADING)]
    pub(crate) generated: bool,
}

impl CompiledArgs {
    /// An option that is given, other than the library itself.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let library = &self.library;
        let all = [
            ("--data", library.data_file.is_some()),
            ("--mu", library.convexity.is_some()),
            ("--bridgestan", library.bridgestan.is_some()),
            ("--init", self.init.is_some()),
            ("--starts", self.starts.is_some()),
            ("--transformed", self.transformed),
            ("--generated", self.generated),
        ];
        all.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

pub(super) fn execute(job: &Job, begin: Instant) -> Result<Ending> {
    let (args, given) = (&job.args, &job.args.compiled);
    let compiled = given.library.open(given.init.clone(), args.seed(), job.digests.clone())?;
    refuse_without_folder(args, compiled.target().dim())?;
    let options = RunOptions {
        start: compiled.start().map(<[f64]>::to_vec),
        starts: given.starts.map(usize::from),
        ..args.run_options()
    };
    let prepared = Problem::compiled(&compiled).prepare(&options)?;
    let store = job.store(|| RunFile::of_library(args, compiled.digests()))?;
    let signal = interrupt::signal(begin, options.limit()?);
    let strategy = signal.during("the making of the plan", || prepared.strategy())?;
    let mut fit = watched::run(&prepared, &strategy, job.run(store.as_ref(), begin, options.limit()?))?;
    let include = Include { transformed: given.transformed, generated: given.generated };
    // The answer is there: whatever the model makes of its own scale, it is kept.
    let constrained = signal.during("the draws on the constrained scale", || {
        compiled.constrained(&fit.gaussian, include, LEVEL, prepared.seed())
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
            eprintln!("nothing is said on the constrained scale: {failure}");
            kept
        }
        lost => kept.and(lost),
    };
    finish(args, &options, &fit, store.as_ref(), kept, None)
}
