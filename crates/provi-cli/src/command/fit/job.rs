//! What is to be done: the command line, with a run file behind it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use provi::checkpoint::Checkpoint;
use provi::stream::Reduce;
use provi_analysis::compiled::Digests;
use provi_analysis::model::{self, Data, USUAL_MEMORY};
use provi_analysis::options::ModelOptions;
use provi_analysis::store::{RUN, Store};

use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use crate::run_file::RunFile;
use crate::watched::{self, Run};

pub(super) struct Job {
    pub(super) args: FitArgs,
    /// Of the files, as the run file has them; none where others are meant.
    pub(super) digests: Digests,
    /// A folder in which the fit was begun.
    begun: Option<Store>,
    from: Option<Checkpoint>,
    /// Which process this is; the first one alone writes and speaks.
    rank: usize,
    /// How many processes began it, if it was several.
    processes: Option<usize>,
}

impl Job {
    pub(super) fn new(args: &FitArgs, rank: usize) -> Result<Self> {
        let (path, begun, from) = match (&args.resume, &args.config) {
            (Some(dir), _) => {
                let (store, from) = Store::reopen(dir)?;
                (Some(store.run_path()), Some(store), from)
            }
            (None, Some(path)) => (Some(path.clone()), None, None),
            (None, None) => (None, None, None),
        };
        let (args, digests, processes) = match path {
            None => (args.clone(), Digests::default(), None),
            Some(path) => {
                let file = RunFile::read(&path)?;
                let digests = if args.force { Digests::default() } else { file.digests(args) };
                let processes = file.processes;
                (file.behind(args)?, digests, processes)
            }
        };
        if args.compiled.library.is_given() {
            refuse_table_options(&args)?;
        }
        Ok(Self { args, digests, begun, from, rank, processes })
    }

    /// The table and the formula. Files are found when the model asks for their rows.
    pub(super) fn data(&self, crew: &Arc<dyn Reduce>) -> Result<(Data, &str)> {
        let (Some(path), Some(formula)) = (&self.args.data, &self.args.formula) else {
            return Err(Failure::NoFormula);
        };
        // A formula that cannot be read is refused before a large file is.
        model::parse(formula)?;
        if self.args.distributed || self.args.memory.is_some() {
            let memory = self.args.memory.map_or(USUAL_MEMORY, |memory| memory.0);
            return Ok((Data::shared(path, memory, Arc::clone(crew)), formula));
        }
        let refuse = |error| Failure::table(error, formula);
        let data = Data::read(path).map_err(refuse)?;
        // Files have their digest from the first pass over them.
        if !data.stays_in_files() {
            self.refuse_other_data(data.sha256().map_err(refuse)?)?;
        }
        Ok((data, formula))
    }

    /// Refuses data that are not those of the run file.
    pub(super) fn refuse_other_data(&self, found: &str) -> Result<()> {
        match (&self.digests.data, &self.args.data) {
            (Some(stored), Some(path)) if stored != found => {
                let (path, stored, found) = (path.clone(), stored.clone(), found.to_owned());
                Err(Failure::OtherRunData { path, stored, found })
            }
            _ => Ok(()),
        }
    }

    /// Says so where another number of processes takes a run up.
    pub(super) fn compare_processes(&self, size: usize) {
        if let (Some(begun), true) =
            (self.processes, self.from.is_some() && self.rank == 0 && !self.args.quiet)
            && begun != size
        {
            eprintln!(
                "begun by {begun} processes, taken up by {size}: the same answer up to rounding, not to the bit"
            );
        }
    }

    /// How the run is watched.
    pub(super) fn run<'a>(
        &'a self,
        store: Option<&'a Store>,
        begin: Instant,
        limit: Option<Duration>,
    ) -> Run<'a> {
        Run {
            quiet: self.args.quiet || self.rank > 0,
            store,
            from: self.from.clone(),
            keep_every: self.args.checkpoint_every.map_or(watched::KEEP_EVERY, |every| every.0),
            begin,
            limit,
            folder: self.begun.as_ref().map(Store::dir).or(self.args.out.as_deref()),
            processes: None,
        }
    }

    /// The folder for the answer, with its run file: one that cannot take the answer is found before the work, not after.
    pub(super) fn store(&self, file: impl FnOnce() -> RunFile) -> Result<Option<Store>> {
        if self.rank > 0 {
            return Ok(None);
        }
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
