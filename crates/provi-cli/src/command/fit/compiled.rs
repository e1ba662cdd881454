//! `provi fit --stan` and `provi fit --library`: a density out of a library.

use std::path::PathBuf;
use std::process::Command;

use clap::Args as Group;
use provi_analysis::Subject;
use provi_analysis::compiled::{Compiled, Data, Source};
use provi_analysis::options::RunOptions;
use provi_analysis::rows::LEVEL;
use provi_analysis::sampled::Sampled;
use provi_analysis::store::Store;
use provi_analysis::zarr;
use provi_stan::Include;

use super::{finish, refuse_without_folder};
use crate::args::FitArgs;
use crate::command::Outcome;
use crate::command::probe_library::COMMAND;
use crate::failure::{Failure, Result};
use crate::watched::{self, Run};

const HEADING: &str = "Compiled models";

/// What is said of a library.
#[derive(Clone, Debug, Default, Group)]
pub(crate) struct CompiledArgs {
    /// A Stan model: a library of BridgeStan, or a .stan file where BridgeStan is installed
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["data", "formula", "library", "config", "resume", "prior_sensitivity"], help_heading = HEADING)]
    pub(crate) stan: Option<PathBuf>,
    /// A log density of any language, as a library with the functions of provi.h
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["data", "formula", "config", "resume", "prior_sensitivity"], help_heading = HEADING)]
    pub(crate) library: Option<PathBuf>,
    /// Its data: JSON for Stan, any text for a library
    #[arg(long = "data", id = "data_file", value_name = "FILE", requires = "compiled", help_heading = HEADING)]
    pub(crate) data_file: Option<PathBuf>,
    /// Values to start from, in JSON, on the constrained scale of a Stan model
    #[arg(long, value_name = "FILE", requires = "compiled", help_heading = HEADING)]
    pub(crate) init: Option<PathBuf>,
    /// Declare that the curvature of −log p is at least M everywhere, unconstrained
    #[arg(long = "mu", value_name = "M", requires = "compiled", allow_negative_numbers = true, help_heading = HEADING)]
    pub(crate) convexity: Option<f64>,
    /// And at most this; certificates rest on the two, and say so
    #[arg(long, value_name = "M", requires = "convexity", allow_negative_numbers = true, help_heading = HEADING)]
    pub(crate) smoothness: Option<f64>,
    /// Search from so many starts, and compare what they find
    #[arg(long, value_name = "K", requires = "compiled", value_parser = clap::value_parser!(u16).range(1..), help_heading = HEADING)]
    pub(crate) starts: Option<u16>,
    /// Show transformed parameters as well
    #[arg(long, requires = "stan", help_heading = HEADING)]
    pub(crate) transformed: bool,
    /// Show generated quantities as well
    #[arg(long, requires = "stan", help_heading = HEADING)]
    pub(crate) generated: bool,
    /// The folder of BridgeStan [default: $BRIDGESTAN, or the newest in ~/.bridgestan]
    #[arg(long, value_name = "DIR", requires = "stan", help_heading = HEADING)]
    pub(crate) bridgestan: Option<PathBuf>,
}

impl CompiledArgs {
    /// Whether a library is to be fitted.
    pub(crate) fn is_given(&self) -> bool {
        self.stan.is_some() || self.library.is_some()
    }

    fn source(&self, seed: u64) -> Source {
        Source {
            path: self.stan.clone().or_else(|| self.library.clone()).unwrap_or_default(),
            stan: self.stan.is_some(),
            data: self.data_file.clone().map(Data::File),
            init: self.init.clone(),
            convexity: self.convexity,
            smoothness: self.smoothness,
            bridgestan: self.bridgestan.clone(),
            seed: seed as u32,
        }
    }
}

pub(super) fn execute(args: &FitArgs) -> Result<Outcome> {
    let given = &args.compiled;
    let program = std::env::current_exe().map_err(|error| Failure::Probe(error.to_string()))?;
    let mut prober = Command::new(program);
    prober.arg(COMMAND);
    let compiled = Compiled::open(&given.source(args.seed()), Some(prober))?;
    refuse_without_folder(args, compiled.target().dim())?;
    let options = RunOptions {
        start: compiled.start().map(<[f64]>::to_vec),
        starts: given.starts.map(usize::from),
        ..args.run_options()
    };
    let prepared = Subject::compiled(&compiled).prepare(&options)?;
    let store = args.out.as_ref().map(|dir| Store::open(dir, args.force)).transpose()?;
    let way = prepared.way()?;
    // A search by draws keeps no checkpoint.
    let how = Run { quiet: args.quiet, store: None, from: None };
    let mut fit = watched::run(&prepared, &way, how)?;
    let include = Include { transformed: given.transformed, generated: given.generated };
    fit.file.constrained = compiled.constrained(&fit.gaussian, include, LEVEL, prepared.seed())?;
    if let Some(store) = &store {
        let mut sampled = Sampled::of_fit(&fit.gaussian, prepared.target(), prepared.seed())?;
        sampled.constrained = compiled.constrain(&sampled.points, include, prepared.seed())?;
        store.save_draws(&zarr::files(&sampled, &fit.file, &fit.gaussian)?)?;
        store.save(&fit.file, &fit.gaussian)?;
    }
    finish(args, &options, &fit, store.as_ref(), None)
}
