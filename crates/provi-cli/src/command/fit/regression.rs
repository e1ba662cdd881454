//! `provi fit` of families beyond one log-concave function of one linear predictor.

use std::time::Instant;

use provi_analysis::Problem;
use provi_analysis::error::BadRegression;
use provi_analysis::model::RegressionModel;
use provi_analysis::options::{DeviceName, FamilyName};
use provi_analysis::run::sampled::{self, Sampled};

use super::{Asides, Crew, Job, finish, keep, refuse_without_folder};
use crate::command::Ending;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::run_file::RunFile;
use crate::watched;

pub(super) fn execute(job: &Job, crew: &Crew, family: FamilyName, begin: Instant) -> Result<Ending> {
    let args = &job.args;
    let asked = [
        (args.distributed, "a fit by several processes"),
        (args.robust.is_some(), "a robust spread"),
        (args.prior_sensitivity, "the sensitivity to the prior"),
        (matches!(args.run.device, Some(DeviceName::Cuda(_))), "a fit on a card"),
    ];
    if let Some((_, what)) = asked.into_iter().find(|(asked, _)| *asked) {
        let error = BadRegression::NotThere { what: what.to_owned(), family: family.name() };
        return Err(provi_analysis::Error::from(error).into());
    }
    let (data, formula) = job.data(&crew.reduce)?;
    let signal = interrupt::signal(begin, args.run.limit()?);
    let model = signal.cover(|| RegressionModel::build(&data, formula, &args.model))?;
    job.refuse_other_data(model.data_sha256())?;
    refuse_without_folder(args, model.target().dim())?;
    interrupt::begin();
    let options = model.run_options(&args.run);
    let prepared = signal.cover(|| Problem::regression(&model).prepare(&options))?;
    let store = job.store(|| RunFile::of_table(args, model.data_sha256(), 1))?;
    let strategy = signal.during("the making of the plan", || prepared.strategy())?;
    let mut fit = watched::run(&prepared, &strategy, job.run(store.as_ref(), begin, options.limit()?))?;
    fit.add_parameters()?;
    let kept = store.as_ref().map_or(Ok(()), |store| {
        prepared.check(&mut fit);
        let sampled = signal.during("the draws", || {
            let mut sampled = Sampled::of_fit(&fit.gaussian, prepared.target(), prepared.seed())?;
            let added = sampled.add_log_likelihood_of(model.regression(), sampled::FEW_LIKELIHOODS);
            if let Err(error) = added {
                eprintln!("the draws are written without log likelihoods: {error}");
            }
            sampled.with_parameters(&fit.file)
        });
        keep(args, store, &fit, sampled.map_err(|error: provi_analysis::Error| Failure::from(error)))
    });
    finish(args, &options, &fit, store.as_ref(), kept, Asides::default())
}
