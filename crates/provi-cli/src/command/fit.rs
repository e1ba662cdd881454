//! `provi fit`.

use provi::Seed;

use super::Outcome;
use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::output::fit_file::{FitFile, LARGEST_COVARIANCE};
use crate::output::store::Store;
use crate::output::{json, summary, table};
use crate::run::{self, Aim};

pub(crate) fn execute(args: &FitArgs) -> Result<Outcome> {
    let limit = run::time_limit(args.time_limit)?;
    let model = Model::read(&args.model)?;
    if args.json && args.out.is_none() && model.dim() > LARGEST_COVARIANCE {
        return Err(Failure::NoFolder { dim: model.dim() });
    }
    // A folder that cannot take the answer is found before the work, not after.
    let store = args.out.as_deref().map(|dir| Store::open(dir, args.force)).transpose()?;
    if let Some(threads) = args.threads {
        start_threads(threads)?;
    }
    let aim = args.distance.map_or(Aim::Practice(args.steps), Aim::Distance);
    let plan = aim.plan(&model, &args.method)?;
    let fit = run::run(&plan, &model, Seed(args.seed), limit, args.quiet)?;

    let file = json::fit_file(&model, &plan, &fit)?;
    if let Some(store) = &store {
        let path = store.save(&file, &fit)?;
        if !args.quiet && args.json {
            eprintln!("written: {}", path.display());
        }
    }
    let proved = aim.is_met(&fit);
    let text = if args.json {
        FitFile::to_json(&file)
    } else {
        let mut text =
            format!("{}\n{}\n{}", summary::model(&model), table::posterior(&fit), summary::run(&fit));
        if let Some(store) = &store {
            text.push_str(&format!("written to {}\n", store.fit_path().display()));
        }
        text
    };
    if !proved {
        eprintln!("the accuracy asked for was not proved");
    }
    Ok(Outcome { text, proved })
}

fn start_threads(threads: u16) -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.into())
        .build_global()
        .map_err(|error| Failure::Threads { threads, reason: error.to_string() })
}
