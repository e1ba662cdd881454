//! `provi fit`.

use provi::auto::Choice;
use provi::checkpoint::Checkpoint;
use provi::checks::Checks;
use provi::{Auto, Seed, Target};

use super::Outcome;
use crate::args::FitArgs;
use crate::contrast::Contrast;
use crate::failure::{Failure, Result};
use crate::model::{self, Data, Model};
use crate::output::describe::describe;
use crate::output::fit_file::{FitFile, LARGEST_COVARIANCE};
use crate::output::store::Store;
use crate::output::table::LEVEL;
use crate::output::{certificate, json, zarr};
use crate::run::{self, Aim, Run, Way};
use crate::run_file::RunFile;
use crate::sampled::Sampled;
use crate::{memory, method, sensitivity, worth};

pub(crate) fn execute(args: &FitArgs) -> Result<Outcome> {
    let job = Job::new(args)?;
    let args = &job.args;
    let limit = run::time_limit(args.time_limit)?;
    let audit = worth::audit(&args.audit)?;
    let choice = method::choose(args)?;
    // Before anything uses threads: the model's own scales may be a long search.
    if let Some(threads) = args.threads {
        start_threads(threads)?;
    }
    let (data, formula) = job.data()?;
    let model = Model::build(&data, formula, &args.model, None)?;
    if args.json && args.out.is_none() && model.dim() > LARGEST_COVARIANCE {
        return Err(Failure::NoFolder { dim: model.dim() });
    }
    let contrasts = Contrast::read(&args.contrast, &model.target.names())?;
    let aim = args.distance.map_or(Aim::Practice(args.steps), Aim::Distance);
    let need = memory::forecast(&model, choice, run::draws(&args.step, aim.draws()), true)?;
    // A folder that cannot take the answer is found before the work, not after.
    let store = job.store(&data)?;
    let way = match choice {
        Choice::Auto => Way::Auto(Auto { accuracy: args.audit.accuracy, audit, ..Auto::default() }),
        Choice::Planned(method) => {
            Way::Planned(Box::new(aim.plan(&model, &run::planner(method, &args.step))?))
        }
    };
    if !args.quiet {
        eprintln!("memory {need}");
    }
    let seed = Seed(args.seed());
    let how = Run { seed, audit, limit, quiet: args.quiet, store: store.as_ref(), from: job.from.clone() };
    let answer = run::run(&way, &model, how)?;

    let (q, worth) = (&answer.fit.gaussian, &answer.worth);
    let mut file = json::fit_file(&model, way.plan(), &answer)?;
    for contrast in contrasts {
        file.contrasts.push(contrast.measure(q, &worth.certificate, worth.moment_bounds.as_ref())?);
    }
    if let Some(store) = &store {
        file.checks = Checks::new(&model.target, q, seed).ok();
        let sampled = Sampled::of_fit(q, &model, seed)?;
        store.save_draws(&zarr::files(&sampled, &file, q)?)?;
        let path = store.save(&file, &answer.fit)?;
        if !answer.fit.stopped_early {
            store.forget_checkpoint();
        }
        if !args.quiet && args.json {
            eprintln!("written: {}", path.display());
        }
    }
    let text = if args.json {
        FitFile::to_json(&file)
    } else {
        let mut text = describe(&file, q, LEVEL, false)?;
        if args.prior_sensitivity {
            text.push_str(&format!("\n{}", sensitivity::describe(&data, formula, &model, &file, q)?));
        }
        if let Some(store) = &store {
            text.push_str(&format!("\nwritten to {}\n", store.fit_path().display()));
            if answer.fit.stopped_early {
                text.push_str(&format!("to go on: provi fit --resume {}\n", store.dir().display()));
            }
        }
        text
    };
    let mut proved = aim.is_met(&answer.fit);
    if let Aim::Distance(distance) = aim
        && !proved
    {
        eprintln!("the distance asked for, {distance}, was not proved");
    }
    if let Some(accuracy) = args.audit.accuracy {
        proved &= certificate::accuracy_is_proved(&answer.worth.certificate, accuracy);
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
    fn store(&self, data: &Data) -> Result<Option<Store>> {
        if let Some(store) = &self.begun {
            return Ok(Some(store.clone()));
        }
        let (Some(dir), Some(path), Some(formula)) = (&self.args.out, &self.args.data, &self.args.formula)
        else {
            return Ok(None);
        };
        let store = Store::open(dir, self.args.force)?;
        store.begin(&RunFile::new(&self.args, path, formula, &data.sha256))?;
        Ok(Some(store))
    }
}

fn start_threads(threads: u16) -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.into())
        .build_global()
        .map_err(|error| Failure::Threads { threads, reason: error.to_string() })
}
