//! `provi demo`: an embedded data set, from plan to bound.

use provi::Seed;
use provi_table::Formula;

use super::{Outcome, plan::details};
use crate::args::{DemoArgs, MethodArgs, ModelArgs};
use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::output::{summary, table};
use crate::run::{self, Aim};

const DATA: &[u8] = include_bytes!("../../data/tumours.csv");
const FORMULA: &str = "benign ~ .";
const ACCURACY: f64 = 1e-6;

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
    let aim = Aim::Distance(ACCURACY);
    let plan = aim.plan(&model, &MethodArgs { method: None, draws: None, coordinates: None })?;
    let fit = run::run(&plan, &model, Seed(0), None, args.quiet)?;
    let text = format!(
        "Wisconsin diagnostic breast cancer data: which tumours are benign?\n{}{}\n{}\n{}",
        summary::model(&model),
        details(&plan),
        table::posterior(&fit),
        summary::run(&fit)
    );
    Ok(Outcome { text, proved: aim.is_met(&fit) })
}
