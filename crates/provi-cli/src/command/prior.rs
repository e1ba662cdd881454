//! `provi prior`: what responses the prior expects, before any fit.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use provi::Seed;
use provi_analysis::number::{grouped, plain};
use provi_analysis::record::fit_file::write_json;
use provi_analysis::record::store::{refuse_fit, write_file};
use provi_analysis::run::prior_predictive::{PriorAsked, PriorPredictive, prior_predictive};
use serde::Serialize;

use super::Outcome;
use crate::args::ModelArgs;
use crate::failure::Result;
use crate::output::columns::{Columns, Side};
use crate::output::flow;
use crate::output::style;
use crate::output::wrap::wrapped;

const HELP: &str = "\
Nothing is fitted. Parameters are drawn from the prior and responses from the
model, at the rows of the table. Each simulated data set is a table that the
prior thinks possible; a statistic of the observed one far outside of theirs, or
simulated responses that no one would believe, call for another prior. The
default prior takes its scales from the data, which are used for nothing else.

Examples:
  provi prior wells.csv 'switch ~ arsenic + dist'
  provi prior wells.csv 'switch ~ arsenic + dist' --prior-scale 10 --out prior.html
  provi prior visits.csv 'visits ~ age' --family poisson -n 2000 --seed 1 --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PriorArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Number of simulated data sets
    #[arg(short = 'n', long = "draws", value_name = "N", default_value_t = 500,
        value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    draws: u32,
    /// Seed of the draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
}

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    formula: &'a str,
    family: &'static str,
    #[serde(flatten)]
    found: &'a PriorPredictive,
}

pub(crate) fn execute(args: &PriorArgs) -> Result<Outcome> {
    if let Some(path) = &args.out {
        refuse_fit(path)?;
    }
    let model = args.model.read()?;
    let found = prior_predictive(&model, &PriorAsked { draws: args.draws as usize, seed: Seed(args.seed) })?;
    if let Some(path) = &args.out {
        let command = format!(
            "provi prior {} '{}' -n {} --seed {}",
            args.model.data.display(),
            args.model.formula,
            args.draws,
            args.seed
        );
        write_file(path, found.page(&model.formula, &command).html().as_bytes())?;
    }
    if args.json {
        let (formula, family) = (model.formula.as_str(), model.family.name());
        let report = Report { schema: "provi-prior/1", formula, family, found: &found };
        return flow::to_stdout(|to: &mut dyn Write| Ok(write_json(to, &report)?));
    }
    let mut text = format!("model  {}, {}\n", model.formula, model.family.name());
    for (i, line) in found.prior.iter().enumerate() {
        text.push_str(&wrapped(if i == 0 { "prior  " } else { "       " }, 9, line));
    }
    text.push('\n');
    text.push_str(&tables(&found));
    text.push('\n');
    for note in found.notes() {
        text.push_str(&wrapped("", 0, &note));
    }
    match found.warnings.is_empty() {
        true => text.push_str("no warnings\n"),
        false => {
            text.push_str("warnings\n");
            found.warnings.iter().for_each(|warning| text.push_str(&wrapped("- ", 2, warning)));
        }
    }
    if let Some(path) = &args.out {
        text.push_str(&format!("written to {}\n", path.display()));
    }
    Ok(Outcome::said(text))
}

/// Statistics of data sets, and quantiles of single responses.
fn tables(found: &PriorPredictive) -> String {
    let right = Side::Right;
    let heading = [
        ("of a data set", Side::Left),
        ("observed", right),
        ("simulated: 5%", right),
        ("25%", right),
        ("50%", right),
        ("75%", right),
        ("95%", right),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for one in &found.statistics {
        let observed = one.observed.map_or(String::new(), plain);
        let row = std::iter::once(one.name.clone()).chain([observed]).chain(one.simulated.map(plain));
        columns.push(row.collect());
    }
    let mut text = columns.render();
    if found.has_quantiles() {
        let unit = format!("quantile of the {}", found.unit());
        let mut columns =
            Columns::new(&[(unit.as_str(), Side::Left), ("observed", right), ("simulated", right)]);
        columns.bold_heading(style::bold());
        for (i, level) in found.levels.iter().enumerate() {
            let observed = found.observed.get(i).copied().map_or(String::new(), plain);
            columns.push(vec![format!("{}%", plain(100.0 * level)), observed, plain(found.simulated[i])]);
        }
        text.push_str(&format!("\n{}", columns.render()));
    }
    if let (Some(first), Some(last)) = (found.probabilities.first(), found.probabilities.last()) {
        text.push_str(&format!(
            "\nprobabilities below 0.05: {:.0}%, above 0.95: {:.0}% (of {} rows and draws)\n",
            100.0 * first,
            100.0 * last,
            grouped((found.rows * found.draws) as u64)
        ));
    }
    text
}
