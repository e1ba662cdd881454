//! `provi demo`: an embedded data set, from table to certificate.

use provi::Seed;
use provi_analysis::fit_file::fit_file;
use provi_analysis::model::{Data, Model};
use provi_analysis::options::{ModelOptions, RunOptions};
use provi_analysis::rows::LEVEL;
use provi_analysis::run::Way;

use super::Outcome;
use crate::args::DemoArgs;
use crate::failure::Result;
use crate::output::describe::describe;
use crate::watched::{self, Run};

const DATA: &[u8] = include_bytes!("../../data/tumours.csv");
const FORMULA: &str = "benign ~ .";

pub(crate) fn execute(args: &DemoArgs) -> Result<Outcome> {
    let options = ModelOptions { prior_scale: Some(1.0), ..ModelOptions::default() };
    let data = Data::new(DATA.to_vec(), "tumours.csv".to_owned());
    let model = Model::build(&data, FORMULA, &options, None)?;
    let way = Way::of(&RunOptions::default(), &model.target)?;
    let how = Run { seed: Seed(0), limit: None, quiet: args.quiet, store: None, from: None };
    let answer = watched::run(&way, &model, how)?;
    let file = fit_file(&model, None, &answer)?;
    Ok(Outcome::said(format!(
        "Wisconsin diagnostic breast cancer data: which tumours are benign?\n{}\n\
         next: provi fit DATA.csv 'y ~ .' on a table of your own; `provi fit --help` has examples\n",
        describe(&file, &answer.fit.gaussian, LEVEL, false)?
    )))
}
