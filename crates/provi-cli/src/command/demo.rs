//! `provi demo`: an embedded data set, from table to certificate.

use provi::{Auto, Seed};

use super::Outcome;
use crate::args::DemoArgs;
use crate::failure::Result;
use crate::model::{Data, Model};
use crate::options::ModelOptions;
use crate::output::describe::describe;
use crate::output::json;
use crate::output::table::LEVEL;
use crate::run::{self, Run, Way};

const DATA: &[u8] = include_bytes!("../../data/tumours.csv");
const FORMULA: &str = "benign ~ .";

pub(crate) fn execute(args: &DemoArgs) -> Result<Outcome> {
    let options = ModelOptions { prior_scale: Some(1.0), ..ModelOptions::default() };
    let data = Data::new(DATA.to_vec(), "tumours.csv".to_owned());
    let model = Model::build(&data, FORMULA, &options, None)?;
    let auto = Auto::default();
    let audit = auto.audit;
    let how = Run { quiet: args.quiet, ..Run::quiet(Seed(0), audit) };
    let answer = run::run(&Way::Auto(auto), &model, how)?;
    let file = json::fit_file(&model, None, &answer)?;
    Ok(Outcome::said(format!(
        "Wisconsin diagnostic breast cancer data: which tumours are benign?\n{}\n\
         next: provi fit DATA.csv 'y ~ .' on a table of your own; `provi fit --help` has examples\n",
        describe(&file, &answer.fit.gaussian, LEVEL, false)?
    )))
}
