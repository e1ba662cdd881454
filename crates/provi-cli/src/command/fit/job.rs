//! What is to be done: the command line, with a run file behind it.

use provi::checkpoint::Checkpoint;
use provi_analysis::compiled::Digests;
use provi_analysis::model::{self, Data};
use provi_analysis::options::ModelOptions;
use provi_analysis::store::{RUN, Store};

use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use crate::run_file::RunFile;

pub(super) struct Job {
    pub(super) args: FitArgs,
    /// Of the files, as the run file has them; none where others are meant.
    pub(super) digests: Digests,
    /// A folder in which the fit was begun.
    begun: Option<Store>,
    from: Option<Checkpoint>,
}

impl Job {
    pub(super) fn new(args: &FitArgs) -> Result<Self> {
        let (path, begun, from) = match (&args.resume, &args.config) {
            (Some(dir), _) => {
                let (store, from) = Store::reopen(dir)?;
                (Some(store.run_path()), Some(store), from)
            }
            (None, Some(path)) => (Some(path.clone()), None, None),
            (None, None) => (None, None, None),
        };
        let (args, digests) = match path {
            None => (args.clone(), Digests::default()),
            Some(path) => {
                let file = RunFile::read(&path)?;
                let digests = if args.force { Digests::default() } else { file.digests(args) };
                (file.behind(args)?, digests)
            }
        };
        if args.compiled.library.is_given() {
            refuse_table_options(&args)?;
        }
        Ok(Self { args, digests, begun, from })
    }

    /// The table and the formula.
    pub(super) fn data(&self) -> Result<(Data, &str)> {
        let (Some(path), Some(formula)) = (&self.args.data, &self.args.formula) else {
            return Err(Failure::NoFormula);
        };
        // A formula that cannot be read is refused before a large file is.
        model::parse(formula)?;
        let data = Data::read(path).map_err(|error| Failure::table(error, formula))?;
        match &self.digests.data {
            Some(stored) if *stored != data.sha256 => {
                Err(Failure::OtherRunData { path: path.clone(), stored: stored.clone(), found: data.sha256 })
            }
            _ => Ok((data, formula)),
        }
    }

    /// The folder for the answer, with its run file: one that cannot take the answer is found before the work, not after.
    pub(super) fn store(&self, file: impl FnOnce() -> RunFile) -> Result<Option<Store>> {
        if let Some(store) = &self.begun {
            if self.from.is_none() && !self.args.quiet {
                eprintln!(
                    "no checkpoint was kept, as in a search by draws or a run of a few seconds: it begins again, with the \
                     options of {}/{RUN}",
                    store.dir().display()
                );
            }
            return Ok(Some(store.clone()));
        }
        let Some(dir) = &self.args.out else { return Ok(None) };
        let store = Store::open(dir, self.args.force)?;
        store.begin(&file().to_toml()?)?;
        Ok(Some(store))
    }

    /// Where to take the run up.
    pub(super) fn from(&self) -> Option<Checkpoint> {
        self.from.clone()
    }
}

/// What speaks of a table says nothing about a library.
fn refuse_table_options(args: &FitArgs) -> Result<()> {
    let option = match (&args.data, &args.formula) {
        (Some(_), _) => Some("a table".to_owned()),
        (_, Some(_)) => Some("a formula".to_owned()),
        _ if args.prior_sensitivity => Some("--prior-sensitivity".to_owned()),
        _ => args.model.difference(&ModelOptions::default()).map(|(key, ..)| format!("--{key}")),
    };
    option.map_or(Ok(()), |option| Err(Failure::OfTable { option }))
}
