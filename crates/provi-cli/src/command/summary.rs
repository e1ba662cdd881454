//! `provi summary`: shows a fit from its folder.

use std::path::PathBuf;

use clap::Args;
use provi::scalar::Probability;
use provi_analysis::Fitted;
use provi_analysis::record::fit_file::to_json;
use provi_analysis::run::contrast::Contrast;
use provi_analysis::show::rows::{self, LEVEL};

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::describe::{Detail, describe};
use crate::output::forest;

const HELP: &str = "\
Nothing is fitted, and no data are needed. `±` is what the number before it is
proved to be off by at most. Mean and sd are the posterior's own where they were
measured; the line below the table says so. With --wide they are the Gaussian's,
`P ±` is the same for the probability of being positive, and `digits` is how many
digits of mean and sd are proved; `provi explain digits` says how to count them.

Examples:
  provi summary wells.fit
  provi summary wells.fit --contrast 'arsenic - dist' --level 0.9
  provi summary wells.fit --plot
  provi summary wells.fit --json > summary.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SummaryArgs {
    /// The folder of a fit, or its fit.json
    #[arg(value_name = "DIR")]
    fit: PathBuf,
    /// The probability of the intervals
    #[arg(long, value_name = "P", default_value_t = LEVEL, allow_negative_numbers = true)]
    level: f64,
    /// A linear combination of coefficients, such as 'a - b' or '0.5*a + b'; repeatable
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    contrast: Vec<String>,
    /// Also show the effects of groups
    #[arg(long)]
    groups: bool,
    /// Every column: the Gaussian's mean and sd with their errors, P(>0) with its error, and proved digits
    #[arg(long, conflicts_with_all = ["json", "plot"])]
    wide: bool,
    /// Draw the intervals instead of the table
    #[arg(long, conflicts_with = "json")]
    plot: bool,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
}

/// The most effects of groups in a plot.
const MOST_PLOTTED: usize = 1_000;

pub(crate) fn execute(args: &SummaryArgs) -> Result<Outcome> {
    let level = Probability::new("--level", args.level)?.get();
    let mut fit = Fitted::load(&args.fit)?;
    let Some(certificate) = fit.file.certificate.clone() else {
        return Err(Failure::NoCertificate { path: args.fit.clone() });
    };
    for contrast in Contrast::read(&args.contrast, fit.names(), fit.file.model.recipe.as_ref())? {
        let found = fit.measure(&contrast, &certificate)?;
        // A contrast that was asked for in the fit needs no second row.
        if fit.file.contrasts.iter().all(|c| c.expression != found.expression) {
            fit.file.contrasts.push(found);
        }
    }
    let text = if args.json {
        to_json(&fit.summary(level)?)
    } else if args.plot {
        let mut shown =
            rows::coefficients(&fit, &certificate).first(fit.file.model.population + MOST_PLOTTED)?;
        shown.extend(rows::contrasts(&fit));
        forest::plot(&shown, level)?
    } else {
        describe(&fit, level, Detail { groups: args.groups, wide: args.wide })?
    };
    Ok(Outcome::said(text))
}
