//! `provi fit`.

pub(crate) mod compiled;
mod job;
mod regression;

use std::sync::Arc;
use std::time::Instant;

use provi::stop::Agreement;
use provi::stream::{Alone, Reduce, together};
use provi_analysis::model::{self, ModelTarget, RegressionModel, device};
use provi_analysis::options::RunOptions;
use provi_analysis::record::fit_file::LARGEST_COVARIANCE;
use provi_analysis::record::store::Store;
use provi_analysis::run::Aim;
use provi_analysis::run::robust::{REFITS, RobustAsked};
use provi_analysis::run::sampled::{self, Sampled};
use provi_analysis::show::rows::LEVEL;
use provi_analysis::show::zarr;
use provi_analysis::threads;
use provi_analysis::{Analysis, Fitted};

use super::{Ending, Outcome};
use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::certificate::{Proved, is_proved};
use crate::output::describe::{Detail, describe};
use crate::processes;
use crate::progress::Heartbeat;
use crate::run_file::RunFile;
use crate::sensitivity;
use crate::watched::{self, Run};
use job::Job;

pub(crate) fn execute(args: &FitArgs, crew: Option<&Arc<dyn Reduce>>) -> Result<Ending> {
    let begin = Instant::now();
    match crew {
        None if args.distributed => match processes::hand_over()? {},
        Some(crew) if !args.distributed && crew.size() > 1 => {
            return Err(Failure::NotDistributed { size: crew.size() });
        }
        _ => {}
    }
    let crew = Crew::new(crew);
    let locked = crew.together(job::lock(args, crew.rank))?;
    let job = crew.together(Job::new(args, crew.rank, locked))?;
    let args = &job.args;
    let options = &args.run;
    options.check()?;
    // A card that is not there is refused before anything is read.
    device::is_there(options.device.unwrap_or_default())?;
    // Before anything uses threads: the search for the model's scales may take long.
    options.threads.map_or(Ok(()), |threads| start_threads(threads, args.quiet || crew.rank > 0))?;
    let limit = options.limit()?;
    match crew.several() {
        true => interrupt::watch_among(crew.rank, crew.size, job.folder()),
        false => _ = interrupt::watch(),
    }
    let quiet = args.quiet || crew.rank > 0;
    let _heartbeat = Heartbeat::new(quiet, limit.and_then(|limit| begin.checked_add(limit)));
    let signal = interrupt::limited(begin, limit, crew.rank);
    // A wrong formula is refused where it is read.
    let formula = args.formula.as_deref().and_then(|text| model::parse(text).ok());
    let regression = formula.and_then(|formula| RegressionModel::asked(&formula, &args.model));
    if let Some(family) = regression.filter(|_| !args.compiled.library.is_given()) {
        return signal.cover(|| regression::execute(&job, &crew, family, begin));
    }
    if crew.several() {
        // What the first process does alone, such as writing, needs no agreement.
        return fit_table(&job, &crew, options, begin);
    }
    signal.cover(|| match args.compiled.library.is_given() {
        true => compiled::execute(&job, begin),
        false => fit_table(&job, &crew, options, begin),
    })
}

fn fit_table(job: &Job, crew: &Crew, options: &RunOptions, begin: Instant) -> Result<Ending> {
    let args = &job.args;
    job.compare_processes(crew.size);
    let (data, formula) = crew.together(job.data(&crew.reduce))?;
    let signal = interrupt::signal(begin, options.limit()?).among(crew.agreement());
    let analysis = signal.cover(|| Analysis::of(data, formula, &args.model)?.on_device(options.device))?;
    job.refuse_other_data(&analysis.model().data_sha256)?;
    refuse_without_folder(args, analysis.model().dim())?;
    let robust = args.robust.map(|method| {
        let refits = args.refits.map_or(REFITS, |refits| refits as usize);
        RobustAsked { method, cluster: args.cluster.clone(), refits }
    });
    robust.iter().try_for_each(|asked| asked.check(analysis.model(), analysis.data()))?;
    interrupt::begin();
    let prepared = signal.cover(|| analysis.problem().prepare(options))?;
    let store =
        crew.together(job.store(|| RunFile::of_table(args, &analysis.model().data_sha256, crew.size)))?;
    let strategy = signal.during("the making of the plan", || prepared.strategy())?;
    let how = Run { agree: crew.agreement(), ..job.run(store.as_ref(), begin, options.limit()?) };
    let mut fit = watched::run(&prepared, &strategy, how)?;
    let sensitivity = match args.prior_sensitivity && !args.json {
        true => Some(signal.during("the sensitivity to the prior", || analysis.sensitivity(&fit))),
        false => None,
    };
    fit.file.prior_sensitivity = sensitivity.as_ref().and_then(|found| found.as_ref().ok().cloned());
    let robust = robust.map(|asked| {
        signal.during("the robust spread", || fit.robust(analysis.model(), analysis.data(), &asked))
    });
    let mut missed: Vec<String> = Vec::new();
    match robust {
        Some(Ok(found)) => fit.file.robust = Some(found),
        Some(Err(error)) => missed.push(format!("robust spread: none, {error}")),
        None => {}
    }
    let kept = store.as_ref().map_or(Ok(()), |store| {
        prepared.check(&mut fit);
        let draw = || match (&fit.mixture, &analysis.model().target) {
            (Some(mixture), _) => Ok(Sampled::of_scales(mixture, &fit.file, prepared.seed())),
            (None, ModelTarget::Memory(_)) => {
                Sampled::of_fit(&fit.gaussian, prepared.target(), prepared.seed())
            }
            (None, _) => Sampled::of_files(&fit.gaussian, &fit.file.names, prepared.seed()),
        };
        let draw = || {
            let mut sampled: Sampled = draw()?;
            let added = sampled.add_log_likelihood(&analysis.model().target, &fit, sampled::FEW_LIKELIHOODS);
            if let Err(error) = added {
                eprintln!("the draws are written without log likelihoods: {error}");
            }
            provi_analysis::Result::Ok(sampled)
        };
        // The first process draws alone.
        let sampled = match crew.several() {
            true => draw(),
            false => signal.during("the draws", draw),
        };
        keep(args, store, &fit, sampled.map_err(Failure::from))
    });
    // What a card did after the answer was written down.
    let known = &fit.file.model.warnings;
    for said in device::said(analysis.model().target.device_rows(), options.device) {
        if !known.contains(&said) {
            eprintln!("{said}");
        }
    }
    let sensitivity = match sensitivity {
        Some(Ok(found)) => {
            let sd: Vec<f64> = fit.moments().map_or_else(|_| Vec::new(), |[_, sd]| sd);
            Some(sensitivity::describe(&found, &sd))
        }
        Some(Err(error)) => {
            missed.push(format!("prior sensitivity: none, {error}"));
            None
        }
        None => None,
    };
    match crew.rank {
        0 => finish(args, options, &fit, store.as_ref(), kept, Asides { said: sensitivity, missed }),
        _ => Ok(Outcome::said(String::new()).into()),
    }
}

/// The processes of a fit; usually one.
struct Crew {
    reduce: Arc<dyn Reduce>,
    rank: usize,
    size: usize,
}

impl Crew {
    fn new(crew: Option<&Arc<dyn Reduce>>) -> Self {
        let reduce = crew.map_or_else(|| Arc::new(Alone) as Arc<dyn Reduce>, Arc::clone);
        let (rank, size) = (reduce.rank(), reduce.size());
        Self { reduce, rank, size }
    }

    fn several(&self) -> bool {
        self.size > 1
    }

    /// How they agree on stopping, if there are several.
    fn agreement(&self) -> Option<Agreement> {
        let reduce = Arc::clone(&self.reduce);
        self.several().then(|| Agreement::new(move |values| reduce.largest(values)))
    }

    /// This process's result, unless another process failed.
    fn together<T>(&self, own: Result<T>) -> Result<T> {
        together(&*self.reduce, own)
    }
}

/// Writes the answer and its draws. The answer is written even without draws, for example if a run was stopped or
/// its model failed.
fn keep(args: &FitArgs, store: &Store, fit: &Fitted, sampled: Result<Sampled>) -> Result<()> {
    let drawn = sampled.and_then(|sampled| Ok(zarr::files(&sampled, fit)?));
    let path = store.save(&fit.file, &fit.gaussian, drawn.as_deref().unwrap_or_default())?;
    if !args.quiet && args.json {
        eprintln!("written: {}", path.display());
    }
    match drawn {
        Err(failure) if failure.is_stop() => {
            eprintln!("no draws were written: {failure}");
            Ok(())
        }
        drawn => drawn.map(drop),
    }
}

/// A covariance that is too large for the file needs a folder.
fn refuse_without_folder(args: &FitArgs, dim: usize) -> Result<()> {
    match args.json && args.out.is_none() && dim > LARGEST_COVARIANCE {
        true => Err(Failure::NoFolder { dim }),
        false => Ok(()),
    }
}

/// What was asked for beside the fit.
#[derive(Default)]
struct Asides {
    /// The sensitivity to the prior, as a table.
    said: Option<String>,
    /// What could not be found, and why.
    missed: Vec<String>,
}

/// The text to print, and whether what was asked for is proved.
fn finish(
    args: &FitArgs,
    options: &RunOptions,
    fit: &Fitted,
    store: Option<&Store>,
    kept: Result<()>,
    asides: Asides,
) -> Result<Ending> {
    let text = if args.json {
        fit.file.to_json()
    } else {
        let mut text = describe(fit, LEVEL, Detail::default())?;
        asides.said.iter().for_each(|said| text.push_str(&format!("\n{said}")));
        asides.missed.iter().for_each(|missed| text.push_str(&format!("\n{missed}\n")));
        if let Some(store) = store.filter(|_| kept.is_ok()) {
            text.push_str(&format!("\nwritten to {}\n", store.fit_path().display()));
            if fit.file.stopped_early {
                // A search by draws keeps no checkpoint.
                let what = if store.has_checkpoint() { "to go on" } else { "to begin again" };
                let among = if args.distributed { " --distributed" } else { "" };
                text.push_str(&format!("{what}: provi fit --resume {}{among}\n", store.dir().display()));
            }
        }
        text
    };
    let aim = Aim::of(options);
    let mut proved = aim.is_met(&fit.file) && asides.missed.is_empty();
    if args.json {
        asides.missed.iter().for_each(|missed| eprintln!("{missed}"));
    }
    if let Aim::Distance(distance) = aim
        && !aim.is_met(&fit.file)
    {
        eprintln!("the distance asked for, {distance}, was not proved");
    }
    if let Some(certificate) = fit.certificate() {
        let (posterior, estimates) = (fit.file.posterior.as_ref(), fit.file.estimates.as_ref());
        proved &= is_proved(&options.audit, &Proved { q: &fit.gaussian, certificate, posterior, estimates });
    }
    let outcome = Outcome { text, proved };
    Ok(Ending { outcome, stopped: fit.file.stopped_early, failure: kept.err() })
}

pub(crate) fn start_threads(threads: u32, quiet: bool) -> Result<()> {
    let (number, words) = threads::sensible(threads as usize);
    if let Some(words) = words.filter(|_| !quiet) {
        eprintln!("--{words}");
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(number)
        .build_global()
        .map_err(|error| Failure::Threads { threads, reason: error.to_string() })
}
