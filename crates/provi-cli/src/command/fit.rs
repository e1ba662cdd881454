//! `provi fit`.

pub(crate) mod compiled;

use provi::checkpoint::Checkpoint;
use provi_analysis::fit_file::LARGEST_COVARIANCE;
use provi_analysis::model::{self, Data};
use provi_analysis::options::RunOptions;
use provi_analysis::rows::LEVEL;
use provi_analysis::run::Aim;
use provi_analysis::sampled::Sampled;
use provi_analysis::store::Store;
use provi_analysis::zarr;
use provi_analysis::{Analysis, Fitted};

use super::Outcome;
use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use crate::output::certificate::accuracy_is_proved;
use crate::output::describe::describe;
use crate::run_file::RunFile;
use crate::sensitivity;
use crate::watched::{self, Run};

pub(crate) fn execute(args: &FitArgs) -> Result<Outcome> {
    if args.compiled.is_given() {
        args.run_options().check()?;
        args.threads.map_or(Ok(()), start_threads)?;
        return compiled::execute(args);
    }
    let job = Job::new(args)?;
    let args = &job.args;
    let options = args.run_options();
    options.check()?;
    // Before anything uses threads: the model's own scales may be a long search.
    args.threads.map_or(Ok(()), start_threads)?;
    let (data, formula) = job.data()?;
    let analysis = Analysis::of(data, formula, &args.model)?;
    refuse_without_folder(args, analysis.model().dim())?;
    let prepared = analysis.subject().prepare(&options)?;
    // A folder that cannot take the answer is found before the work, not after.
    let store = job.store(&analysis.data().sha256)?;
    let way = prepared.way()?;
    let how = Run { quiet: args.quiet, store: store.as_ref(), from: job.from.clone() };
    let mut fit = watched::run(&prepared, &way, how)?;
    if let Some(store) = &store {
        prepared.check(&mut fit);
        let sampled = Sampled::of_fit(&fit.gaussian, prepared.target(), prepared.seed())?;
        store.save_draws(&zarr::files(&sampled, &fit.file, &fit.gaussian)?)?;
        let path = store.save(&fit.file, &fit.gaussian)?;
        if !fit.file.stopped_early {
            store.forget_checkpoint();
        }
        if !args.quiet && args.json {
            eprintln!("written: {}", path.display());
        }
    }
    let sensitivity = match args.prior_sensitivity && !args.json {
        true => {
            let (found, sd) = (analysis.sensitivity(&fit)?, fit.gaussian.standard_deviations());
            Some(sensitivity::describe(&found, &sd))
        }
        false => None,
    };
    finish(args, &options, &fit, store.as_ref(), sensitivity)
}

/// A covariance that is too large for the file needs a folder.
fn refuse_without_folder(args: &FitArgs, dim: usize) -> Result<()> {
    match args.json && args.out.is_none() && dim > LARGEST_COVARIANCE {
        true => Err(Failure::NoFolder { dim }),
        false => Ok(()),
    }
}

/// What is printed, and whether what was asked for is proved.
fn finish(
    args: &FitArgs,
    options: &RunOptions,
    fit: &Fitted,
    store: Option<&Store>,
    sensitivity: Option<String>,
) -> Result<Outcome> {
    let text = if args.json {
        fit.file.to_json()
    } else {
        let mut text = describe(fit, LEVEL, false)?;
        if let Some(sensitivity) = sensitivity {
            text.push_str(&format!("\n{sensitivity}"));
        }
        if let Some(store) = store {
            text.push_str(&format!("\nwritten to {}\n", store.fit_path().display()));
            if fit.file.stopped_early && store.run_path().exists() {
                text.push_str(&format!("to go on: provi fit --resume {}\n", store.dir().display()));
            }
        }
        text
    };
    let aim = Aim::of(options);
    let mut proved = aim.is_met(&fit.file);
    if let Aim::Distance(distance) = aim
        && !proved
    {
        eprintln!("the distance asked for, {distance}, was not proved");
    }
    if let (Some(accuracy), Some(certificate)) = (args.audit.accuracy, fit.certificate()) {
        proved &= accuracy_is_proved(certificate, accuracy);
    }
    Ok(Outcome { text, proved })
}

/// What is to be done: the command line, with a run file behind it.
struct Job {
    args: FitArgs,
    /// Of the data, as the run file has it.
    sha256: Option<String>,
    /// A folder in which the fit was begun.
    begun: Option<Store>,
    from: Option<Checkpoint>,
}

impl Job {
    fn new(args: &FitArgs) -> Result<Self> {
        let (path, begun, from) = match (&args.resume, &args.config) {
            (Some(dir), _) => {
                let (store, from) = Store::reopen(dir)?;
                (store.run_path(), Some(store), from)
            }
            (None, Some(path)) => (path.clone(), None, None),
            (None, None) => return Ok(Self { args: args.clone(), sha256: None, begun: None, from: None }),
        };
        let file = RunFile::read(&path)?;
        // Other data named on the command line are meant.
        let sha256 = file.data_sha256.clone().filter(|_| args.data.is_none() && !args.force);
        Ok(Self { args: file.behind(args), sha256, begun, from })
    }

    /// The data and the formula.
    fn data(&self) -> Result<(Data, &str)> {
        let (Some(path), Some(formula)) = (&self.args.data, &self.args.formula) else {
            return Err(Failure::NoFormula);
        };
        // A formula that cannot be read is refused before a large file is.
        model::parse(formula)?;
        let data = Data::read(path).map_err(|error| Failure::table(error, formula))?;
        match &self.sha256 {
            Some(stored) if *stored != data.sha256 => {
                Err(Failure::OtherRunData { path: path.clone(), stored: stored.clone(), found: data.sha256 })
            }
            _ => Ok((data, formula)),
        }
    }

    /// The folder for the answer, with its run file.
    fn store(&self, sha256: &str) -> Result<Option<Store>> {
        if let Some(store) = &self.begun {
            return Ok(Some(store.clone()));
        }
        let (Some(dir), Some(path), Some(formula)) = (&self.args.out, &self.args.data, &self.args.formula)
        else {
            return Ok(None);
        };
        let store = Store::open(dir, self.args.force)?;
        store.begin(&RunFile::new(&self.args, path, formula, sha256).to_toml()?)?;
        Ok(Some(store))
    }
}

fn start_threads(threads: u16) -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.into())
        .build_global()
        .map_err(|error| Failure::Threads { threads, reason: error.to_string() })
}
