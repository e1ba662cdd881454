//! What to do: the command line, with a run file behind it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provi::checkpoint::Checkpoint;
use provi::stream::Reduce;
use provi_analysis::model::compiled::Digests;
use provi_analysis::model::{self, Data};
use provi_analysis::options::ModelOptions;
use provi_analysis::record::store::{RUN, Store};

use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use crate::run_file::RunFile;
use crate::watched::{self, Run};

pub(super) struct Job {
    pub(super) args: FitArgs,
    /// The digests of the files in the run file; empty if the command line names other files.
    pub(super) digests: Digests,
    /// The folder for the answer.
    store: Option<Store>,
    /// Whether the fit was begun in that folder.
    resumed: bool,
    from: Option<Checkpoint>,
    /// The rank of this process; only the first one writes and prints.
    rank: usize,
    /// How many processes began the run, if there were several.
    processes: Option<usize>,
}

/// The folder of the answer, locked by the first process before any work: a folder that cannot be written, or that
/// already holds an answer, is refused early.
pub(super) fn lock(args: &FitArgs, rank: usize) -> Result<Option<(Store, Option<Checkpoint>)>> {
    let found = match (&args.resume, &args.out) {
        _ if rank > 0 => return Ok(None),
        (Some(dir), _) => Some(Store::reopen(dir)?),
        (None, Some(dir)) => Some((Store::open(dir, args.force)?, None)),
        (None, None) => None,
    };
    if let (Some((store, _)), false) = (&found, args.quiet)
        && !store.is_locked()
    {
        eprintln!(
            "the file system of {} has no locks: make sure that no other run writes there",
            store.dir().display()
        );
    }
    Ok(found)
}

impl Job {
    /// Called after the first process has its folder.
    pub(super) fn new(
        args: &FitArgs,
        rank: usize,
        locked: Option<(Store, Option<Checkpoint>)>,
    ) -> Result<Self> {
        let (store, from) = match (locked, &args.resume) {
            (Some((store, from)), _) => (Some(store), from),
            (None, Some(dir)) => Store::follow(dir).map(|(store, from)| (Some(store), from))?,
            (None, None) => (None, None),
        };
        let resumed = args.resume.is_some();
        // Paths in a run file are relative to its folder; for a resumed run that is the fit's folder.
        let path = match (&store, &args.config) {
            (Some(store), _) if resumed => Some((store.run_path(), store.dir().to_owned())),
            (_, Some(path)) => Some((path.clone(), path.parent().unwrap_or(path).to_owned())),
            _ => None,
        };
        let (args, digests, processes) = match path {
            None => (args.clone(), Digests::default(), None),
            Some((path, folder)) => {
                let file = RunFile::read(&path, &folder)?;
                let digests = if args.force { Digests::default() } else { file.digests(args) };
                let processes = file.processes;
                (file.behind(args)?, digests, processes)
            }
        };
        if args.compiled.library.is_given() {
            refuse_table_options(&args)?;
        }
        Ok(Self { args, digests, store, resumed, from, rank, processes })
    }

    /// The table and the formula. Files are opened when the model asks for their rows.
    pub(super) fn data(&self, crew: &Arc<dyn Reduce>) -> Result<(Data, &str)> {
        let (Some(path), Some(formula)) = (&self.args.data, &self.args.formula) else {
            return Err(Failure::NoFormula);
        };
        // Refuse a wrong formula before reading a large file.
        model::parse(formula)?;
        if self.args.distributed || self.args.files.memory.is_some() {
            let memory = self.args.files.memory.map(|memory| memory.0.0);
            return Ok((Data::shared(path, memory, Arc::clone(crew)), formula));
        }
        let refuse = |error| Failure::table(error, formula);
        let data = Data::read(path).map_err(refuse)?;
        // The first pass over files computes their digest.
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

    /// Tells the user if a run is resumed by another number of processes.
    pub(super) fn compare_processes(&self, size: usize) {
        if let (Some(begun), true) =
            (self.processes, self.from.is_some() && self.rank == 0 && !self.args.quiet)
            && begun != size
        {
            eprintln!(
                "begun by {begun} processes, resumed by {size}: the same answer up to rounding, not to the bit"
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
            keep_every: self.args.files.checkpoint_every.map_or(watched::KEEP_EVERY, |every| every.0),
            begin,
            limit,
            agree: None,
        }
    }

    /// The folder of the run, whichever process writes to it.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.store.as_ref().map(Store::dir).or(self.args.out.as_deref())
    }

    /// The folder of the answer, with its run file, so that the run can be made again whatever happens.
    pub(super) fn store(&self, file: impl FnOnce() -> RunFile) -> Result<Option<Store>> {
        let Some(store) = self.store.as_ref().filter(|_| self.rank == 0) else { return Ok(None) };
        if !self.resumed {
            store.begin(&file().beside(store.dir())?.to_toml()?)?;
        } else if self.from.is_none() && !self.args.quiet {
            eprintln!(
                "no checkpoint was kept, as in a search by draws or a run of a few seconds: it begins again, with the \
                 options of {}/{RUN}",
                store.dir().display()
            );
        }
        Ok(Some(store.clone()))
    }
}

/// Refuses options of a table if a library is to be fitted.
fn refuse_table_options(args: &FitArgs) -> Result<()> {
    let option = match (&args.data, &args.formula) {
        (Some(_), _) => Some("a table".to_owned()),
        (_, Some(_)) => Some("a formula".to_owned()),
        _ if args.prior_sensitivity => Some("--prior-sensitivity".to_owned()),
        _ if args.robust.is_some() => Some("--robust".to_owned()),
        _ => args.model.difference(&ModelOptions::default()).map(|(key, ..)| format!("--{key}")),
    };
    option.map_or(Ok(()), |option| Err(Failure::OfTable { option }))
}
