//! `provi report`: a fit as one HTML file, or one of its plots.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use provi_analysis::Fitted;
use provi_analysis::model::Data;
use provi_analysis::record::fit_file::Kind;
use provi_analysis::record::store::{RUN, refuse_fit, write_file};
use provi_analysis::show::rows::LEVEL;
use provi_report::{Form, Plot};

use super::Outcome;
use crate::failure::{Failure, Result};

const HELP: &str = "\
The page is one file that needs no network: a summary, the certificate in plain
words, effects, coefficients, checks against the data, groups, scales, what was
not proved, and how to make it again. A script inside sorts tables, chooses
between views and says what a mark stands for; without it, and on paper,
everything is shown. It is written beside fit.json as report.html. With --exact
the data replicated for the checks have coefficients of the posterior itself, as
`provi sample --exact` draws them, rather than of the fitted Gaussian.

Examples:
  provi report wells.fit
  provi report wells.fit --out wells.html
  provi report wells.fit --exact --data wells.csv
  provi report wells.fit --plot forest --out forest.svg
  provi report wells.fit --plot marginals --out marginals.png";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReportArgs {
    /// The folder of a fit, or its fit.json
    #[arg(value_name = "DIR")]
    fit: PathBuf,
    /// File to write [default: report.html beside the fit; for a plot, its name.svg]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write one plot instead of the page, as SVG or PNG by the ending of FILE
    #[arg(long, value_parser = plots())]
    plot: Option<Plot>,
    /// Draw the coefficients behind the checks from the posterior itself, by rejection
    #[arg(long, requires = "data")]
    exact: bool,
    /// The data of the fit, for --exact
    #[arg(long, value_name = "FILE", requires = "exact")]
    data: Option<PathBuf>,
}

fn plots() -> impl TypedValueParser<Value = Plot> {
    PossibleValuesParser::new(Plot::ALL.map(Plot::name))
        .try_map(|name| Plot::from_name(&name).ok_or_else(|| format!("no plot `{name}`")))
}

/// Pixels of a PNG for each unit of the drawing.
const PIXELS: f64 = 2.0;

pub(crate) fn execute(args: &ReportArgs) -> Result<Outcome> {
    let mut fit = Fitted::load(&args.fit)?;
    if let Some(path) = &args.data {
        let data = Data::read(path).map_err(|error| Failure::table(error, &fit.file.model.formula))?;
        let model = fit.model(&data, false)?;
        fit.check_exactly(&model)?;
    }
    let folder =
        if args.fit.is_dir() { args.fit.clone() } else { args.fit.parent().unwrap_or(&args.fit).to_owned() };
    let run = folder.join(RUN);
    let command = match (run.exists(), fit.file.model.kind) {
        (true, _) => format!("provi fit --config {}", run.display()),
        (false, Kind::Formula) => format!("provi fit {} '{}'", fit.file.model.data, fit.file.model.formula),
        // No command can make the fit of a program again.
        (false, _) => String::new(),
    };
    let mut page = fit.page(LEVEL, &command)?;
    if args.exact {
        let origin = "coefficients drawn from the posterior itself, by rejection".to_owned();
        page.model.further.push(("replicated data".to_owned(), origin));
    }
    let (path, bytes) = match args.plot {
        None => (args.out.clone().unwrap_or_else(|| folder.join("report.html")), page.html().into_bytes()),
        Some(plot) => {
            let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", plot.name())));
            let bytes = match path.extension().and_then(|e| e.to_str()) {
                Some("svg") => plot.svg(&page, Form::Standalone).into_bytes(),
                Some("png") => {
                    plot.scene(&page).to_png(PIXELS).map_err(|error| Failure::Draw(error.to_string()))?
                }
                _ => return Err(Failure::UnknownImage { path }),
            };
            (path, bytes)
        }
    };
    refuse_fit(&path)?;
    write_file(&path, &bytes)?;
    Ok(Outcome::said(format!("written to {}\n", path.display())))
}
