//! `provi summary`: a fit on the screen again, out of its folder.

use std::path::PathBuf;

use clap::Args;
use provi::functional::Functional;
use provi::scalar::Probability;
use provi::{Certificate, Gaussian};
use provi_analysis::contrast::Contrast;
use provi_analysis::fit_file::{ContrastRecord, EstimatesRecord, FitFile, ModelRecord, to_json};
use provi_analysis::rows::{self, LEVEL};
use provi_analysis::stored::Stored;
use serde::Serialize;

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::describe::describe;
use crate::output::forest;

const HELP: &str = "\
Nothing is fitted, and no data are needed. `mean ±` and `sd ±` are what mean and
sd are proved to be off by at most, `P ±` the same for the probability of being
positive, `digits` how many digits of mean and sd are proved; `provi explain
digits` says how they are counted.

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
    /// A linear combination of coefficients, such as 'a - b' or '0.5*a + b'; may be given again
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    contrast: Vec<String>,
    /// The effects of groups too
    #[arg(long)]
    groups: bool,
    /// Draw the intervals instead of the table
    #[arg(long, conflicts_with = "json")]
    plot: bool,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(args: &SummaryArgs) -> Result<Outcome> {
    let level = Probability::new("--level", args.level)?.get();
    let Stored { mut file, gaussian: q } = Stored::read(&args.fit)?;
    let Some(certificate) = file.certificate.clone() else {
        return Err(Failure::NoCertificate { path: args.fit.clone() });
    };
    for contrast in Contrast::read(&args.contrast, &file.names)? {
        let found = contrast.measure(&q, &certificate, file.moment_bounds.as_ref())?;
        // One that was asked for in the fit needs no second row.
        if file.contrasts.iter().all(|c| c.expression != found.expression) {
            file.contrasts.push(found);
        }
    }
    let text = if args.json {
        to_json(&Report::new(&file, &q, &certificate, level)?)
    } else if args.plot {
        let mut shown = rows::coefficients(&q, &certificate)?;
        shown.extend(rows::contrasts(&file));
        forest::plot(&shown, level)?
    } else {
        describe(&file, &q, level, args.groups)?
    };
    Ok(Outcome::said(text))
}

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'a str,
    model: &'a ModelRecord,
    level: f64,
    coefficients: Vec<RowRecord>,
    contrasts: Vec<RowRecord>,
    certificate: &'a Certificate,
    estimates: Option<&'a EstimatesRecord>,
}

/// A row of the table.
#[derive(Serialize)]
struct RowRecord {
    name: String,
    #[serde(flatten)]
    functional: Functional,
    /// The central interval of q.
    interval: [f64; 2],
    /// Proved digits of mean and sd.
    digits: [Option<u32>; 2],
}

impl<'a> Report<'a> {
    fn new(file: &'a FitFile, q: &Gaussian, certificate: &'a Certificate, level: f64) -> Result<Self> {
        let record = |(name, functional): (String, Functional)| {
            let (interval, digits) = (functional.interval(level)?, functional.digits());
            Ok(RowRecord { name, functional, interval, digits })
        };
        let contrast = |c: &ContrastRecord| (c.expression.clone(), c.functional.clone());
        let all = |all: Vec<rows::Row>| all.into_iter().map(record).collect::<Result<Vec<_>>>();
        Ok(Self {
            schema: "provi-summary/1",
            provi: &file.provi,
            model: &file.model,
            level,
            coefficients: all(rows::coefficients(q, certificate)?)?,
            contrasts: all(file.contrasts.iter().map(contrast).collect())?,
            certificate,
            estimates: file.estimates.as_ref(),
        })
    }
}
