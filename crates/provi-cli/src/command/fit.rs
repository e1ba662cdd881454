//! `provi fit`.

use provi::auto::Choice;
use provi::{Auto, Seed};

use super::Outcome;
use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::output::fit_file::{FitFile, LARGEST_COVARIANCE};
use crate::output::store::Store;
use crate::output::{certificate, estimates, json, summary, table};
use crate::run::{self, Aim, Answer, Way};
use crate::{memory, method, worth};

pub(crate) fn execute(args: &FitArgs) -> Result<Outcome> {
    let limit = run::time_limit(args.time_limit)?;
    let audit = worth::audit(&args.audit)?;
    let choice = method::choose(args)?;
    let model = Model::read(&args.model)?;
    if args.json && args.out.is_none() && model.dim() > LARGEST_COVARIANCE {
        return Err(Failure::NoFolder { dim: model.dim() });
    }
    let need = memory::forecast(&model, choice, args.step.draws, true)?;
    // A folder that cannot take the answer is found before the work, not after.
    let store = args.out.as_deref().map(|dir| Store::open(dir, args.force)).transpose()?;
    if let Some(threads) = args.threads {
        start_threads(threads)?;
    }
    let aim = args.distance.map_or(Aim::Practice(args.steps), Aim::Distance);
    let way = match choice {
        Choice::Auto => Way::Auto(Auto { accuracy: args.audit.accuracy, audit, ..Auto::default() }),
        Choice::Planned(method) => {
            Way::Planned(Box::new(aim.plan(&model, &run::planner(method, &args.step))?))
        }
    };
    if !args.quiet {
        eprintln!("memory {need}");
    }
    let answer = run::run(&way, &model, Seed(args.seed), &audit, limit, args.quiet)?;

    let file = json::fit_file(&model, way.plan(), &answer)?;
    if let Some(store) = &store {
        let path = store.save(&file, &answer.fit)?;
        if !args.quiet && args.json {
            eprintln!("written: {}", path.display());
        }
    }
    let text = if args.json {
        FitFile::to_json(&file)
    } else {
        let mut text = describe(&model, &answer);
        if let Some(store) = &store {
            text.push_str(&format!("\nwritten to {}\n", store.fit_path().display()));
        }
        text
    };
    let mut proved = aim.is_met(&answer.fit);
    if let Aim::Distance(distance) = aim
        && !proved
    {
        eprintln!("the distance asked for, {distance}, was not proved");
    }
    if let Some(accuracy) = args.audit.accuracy {
        proved &= certificate::accuracy_is_proved(&answer.worth.certificate, accuracy);
    }
    Ok(Outcome { text, proved })
}

/// Model, posterior, run, certificate and estimates.
pub(crate) fn describe(model: &Model, answer: &Answer) -> String {
    let certificate = &answer.worth.certificate;
    format!(
        "{}\n{}\n{}\n{}\n{}",
        summary::model(model),
        table::posterior(&answer.fit.gaussian, certificate),
        summary::run(&answer.fit, answer.planned),
        certificate::describe(certificate),
        estimates::describe(&answer.worth.estimates),
    )
}

fn start_threads(threads: u16) -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.into())
        .build_global()
        .map_err(|error| Failure::Threads { threads, reason: error.to_string() })
}
