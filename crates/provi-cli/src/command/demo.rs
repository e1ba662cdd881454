//! `provi demo`: an embedded data set, from table to certificate.

use provi::{Auto, Seed};
use provi_table::Formula;

use super::Outcome;
use crate::args::{DemoArgs, ModelArgs};
use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::output::describe::describe;
use crate::output::json;
use crate::output::table::LEVEL;
use crate::run::{self, Way};

const DATA: &[u8] = include_bytes!("../../data/tumours.csv");
const FORMULA: &str = "benign ~ .";

pub(crate) fn execute(args: &DemoArgs) -> Result<Outcome> {
    let options = ModelArgs {
        data: "tumours.csv".into(),
        formula: FORMULA.to_owned(),
        family: None,
        noise_sd: None,
        prior_scale: 1.0,
    };
    let formula = Formula::parse(FORMULA).map_err(|error| Failure::table(error, FORMULA))?;
    let model = Model::from_bytes(DATA, "tumours.csv".to_owned(), &formula, &options)?;
    let auto = Auto::default();
    let audit = auto.audit;
    let answer = run::run(&Way::Auto(auto), &model, Seed(0), &audit, None, args.quiet)?;
    let file = json::fit_file(&model, None, &answer)?;
    Ok(Outcome::said(format!(
        "Wisconsin diagnostic breast cancer data: which tumours are benign?\n{}\n\
         next: provi fit DATA.csv 'y ~ .' on a table of your own; `provi fit --help` has examples\n",
        describe(&file, &answer.fit.gaussian, LEVEL)?
    )))
}
