//! `provi demo`: an embedded data set, from table to certificate.

use provi_analysis::Analysis;
use provi_analysis::model::Data;
use provi_analysis::options::{ModelOptions, RunOptions};
use provi_analysis::show::rows::LEVEL;

use super::{Ending, Outcome};
use crate::args::DemoArgs;
use crate::failure::Result;
use crate::output::describe::{Detail, describe};
use crate::watched::{self, Run};

const DATA: &[u8] = include_bytes!("../../data/tumours.csv");
const FORMULA: &str = "benign ~ .";

pub(crate) fn execute(args: &DemoArgs) -> Result<Ending> {
    let options = ModelOptions { prior_scale: Some(1.0), ..ModelOptions::default() };
    let data = Data::new(DATA.to_vec(), "tumours.csv".to_owned());
    let analysis = Analysis::of(data, FORMULA, &options)?;
    let prepared = analysis.problem().prepare(&RunOptions::default())?;
    let how = Run { quiet: args.quiet, ..Run::default() };
    let fit = watched::run(&prepared, &prepared.strategy()?, how)?;
    let stopped = fit.file.stopped_early;
    let outcome = Outcome::said(format!(
        "Wisconsin diagnostic breast cancer data: which tumours are benign?\n{}\n\
         next: provi fit DATA.csv 'y ~ .' on a table of your own; `provi fit --help` has examples\n",
        describe(&fit, LEVEL, Detail::default())?
    ));
    Ok(Ending { outcome, stopped, failure: None })
}
