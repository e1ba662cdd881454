//! `provi loo`: how well models predict each row from the others.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use provi::loo::{BELIEVED, Total};
use provi_analysis::Fitted;
use provi_analysis::model::Data;
use provi_analysis::number::{bound, decimals, grouped, outward_pair};
use provi_analysis::record::fit_file::write_json;
use provi_analysis::record::store::{refuse_fit, write_file};
use provi_analysis::run::loo::{FittedLoo, LooAsked, LooMethod, LooRows};
use provi_analysis::show::compare::{OTHER_DENSITY, kind_of_density, refuse_other_data};
use provi_analysis::show::rows::LEVEL;
use serde::Serialize;

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::columns::{Columns, Side};
use crate::output::flow::{self, Stop};
use crate::output::style;
use crate::output::wrap::wrapped;

const HELP: &str = "\
elpd_loo is the sum over rows of the log density of a row's response, predicted
from all other rows; larger is better. p_loo is how much it falls short of the
same sum with no row left out: the effective number of parameters.

--method refit finds the best Gaussian without each row, from the fit's own: an
estimate, as near as that Gaussian is to its posterior. --method psis reweights draws of the posterior itself (of the
fitted Gaussian, if those cost too much) by Pareto smoothed importance ratios;
rows with k̂ above 0.7 are refitted. WAIC comes from the same draws. By default
rows are refitted if that takes about ten seconds or less.

An audit of the model bounds the posterior's own elpd_loo from above. --certify
audits every refit, and bounds it from below too; that takes about as long as an
audit of the model for each row.

Several fits of the same rows are compared: the best comes first, then the
others with their differences from it, and standard errors of those.

--rows writes a line for each row that the fit used: its number among them, its
line in the file, elpd, its bounds, k̂, and the LOO-PIT, about uniform between 0
and 1 if the model is right (randomised by the seed for counts, labels and
censored times). --report draws them with a simultaneous 95 % band, in the page
of the fit; labels are calibrated by the same predictions. `provi explain loo`
says more.

Examples:
  provi loo wells.fit --data wells.csv
  provi loo small.fit large.fit --data wells.csv
  provi loo wells.fit --data wells.csv --certify
  provi loo wells.fit --data wells.csv --method psis --rows rows.csv
  provi loo wells.fit --data wells.csv --report wells-loo.html";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LooArgs {
    /// Folders of fits, or their fit.json
    #[arg(value_name = "DIR", required = true)]
    fits: Vec<PathBuf>,
    /// The data of the fits
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// How rows are left out [default: refit, if that takes about ten seconds]
    #[arg(long)]
    method: Option<LooMethod>,
    /// Audit every refit, for proved bounds on both sides
    #[arg(long)]
    certify: bool,
    /// Draws behind psis and WAIC
    #[arg(short = 'n', long = "draws", value_name = "N", default_value_t = 4000,
        value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    draws: u32,
    /// Seed of draws, audits and randomised LOO-PIT
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write a CSV file with a line for each row; of one fit
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Write the page of the fit, its checks made of rows that were predicted without themselves; of one fit
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// End after this many seconds, without a result
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,
}

/// A positive number of seconds.
fn parse_seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let found = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    found.ok_or_else(|| format!("`{text}` is not a positive number of seconds"))
}

/// A fit, its path and what was found.
struct Entry {
    path: PathBuf,
    fit: Fitted,
    found: FittedLoo,
}

pub(crate) fn execute(args: &LooArgs) -> Result<Outcome> {
    let begin = Instant::now();
    // The clock runs while data are read, too.
    interrupt::limited(begin, args.time_limit, 0).cover(|| execute_within(args))
}

fn execute_within(args: &LooArgs) -> Result<Outcome> {
    if (args.rows.is_some() || args.report.is_some()) && args.fits.len() > 1 {
        let option = if args.rows.is_some() { "--rows" } else { "--report" };
        return Err(Failure::RowsOfSeveral { option, fits: args.fits.len() });
    }
    let mut fits = Vec::new();
    for path in &args.fits {
        fits.push((path.clone(), Fitted::load(path)?));
    }
    refuse_other_data(
        &fits.iter().map(|(path, fit)| (path.display().to_string(), &fit.file)).collect::<Vec<_>>(),
    )?;
    let asked = LooAsked {
        method: args.method,
        certify: args.certify,
        draws: args.draws as usize,
        seed: Some(args.seed),
    };
    let mut entries = Vec::new();
    let mut data = None;
    for (path, fit) in fits {
        let refuse = |error| Failure::table(error, &fit.file.model.formula);
        let data = match &data {
            Some(data) => data,
            None => data.insert(Data::read(&args.data).map_err(refuse)?),
        };
        let mut said = Instant::now();
        let mut told = |done: usize, of: usize| {
            if said.elapsed() >= SAY_EVERY {
                said = Instant::now();
                eprintln!("{} of {} rows", grouped(done as u64), grouped(of as u64));
            }
        };
        if fit.file.likelihood().is_some() {
            let model = fit.regression(data, false)?;
            interrupt::begin();
            let found = fit.loo_of_regression(&model, &asked, &mut told)?;
            if let Some(to) = &args.report {
                write_page(to, &fit.with_regression_left_out(&model, &found, args.seed)?)?;
            }
            entries.push(Entry { path, fit, found });
            continue;
        }
        let model = fit.model(data, false)?;
        interrupt::begin();
        let rows = LooRows::of(&model)?;
        let found = fit.loo(rows, &asked, &mut told)?;
        if let Some(to) = &args.report {
            write_page(to, &fit.with_left_out(rows.glm, &found, args.seed)?)?;
        }
        entries.push(Entry { path, fit, found });
    }
    entries.sort_by(|a, b| b.found.elpd.value.total_cmp(&a.found.elpd.value));
    if let Some(path) = &args.rows {
        flow::to_file(path, |to: &mut dyn Write| csv(to, &entries[0].found))?;
    }
    if args.json {
        let report = Report::new(&entries)?;
        return flow::to_stdout(|to: &mut dyn Write| Ok(write_json(to, &report)?));
    }
    let mut text = match &entries[..] {
        [entry] => one(entry),
        several => compared(several)?,
    };
    if let Some(path) = &args.rows {
        text.push_str(&format!("rows written to {}\n", path.display()));
    }
    if let Some(path) = &args.report {
        text.push_str(&format!("page written to {}\n", path.display()));
    }
    Ok(Outcome::said(text))
}

/// The report of a fit.
fn write_page(to: &Path, fit: &Fitted) -> Result<()> {
    let page = fit.page(LEVEL, "")?;
    refuse_fit(to)?;
    Ok(write_file(to, page.html().as_bytes())?)
}

/// Between two lines that say how many rows are done.
const SAY_EVERY: Duration = Duration::from_secs(5);

/// Estimate and standard error, with decimals that the error deserves.
fn pair(total: Total) -> [String; 2] {
    let places = decimals(total.standard_error).clamp(1, 4);
    [total.value, total.standard_error].map(|x| format!("{x:.places$}"))
}

/// What is proved of the sum, as text.
fn bounds(found: &FittedLoo) -> Option<String> {
    // 1 − c has lost some digits of what it was made from.
    let failure = found.confidence.map_or(0.0, |c| (1.0 - c) * (1.0 - 1e-9));
    let held = match failure > 0.0 {
        true => format!(", with probability 1 − {}", bound(failure, 1)),
        false => String::new(),
    };
    let places = 2;
    let [low, high] = outward_pair(found.elpd_lower, found.elpd_upper, places);
    match (found.elpd_lower, found.elpd_upper) {
        (Some(_), Some(_)) => {
            Some(format!("proved: the posterior's own elpd_loo is between {low} and {high}{held}"))
        }
        (None, Some(_)) => Some(format!("proved: the posterior's own elpd_loo is at most {high}{held}")),
        (Some(_), None) => Some(format!("proved: the posterior's own elpd_loo is at least {low}{held}")),
        (None, None) => None,
    }
}

fn way(found: &FittedLoo) -> String {
    let name = if found.method == "refit" { "refits" } else { "importance ratios" };
    format!("by {name}: {}", found.because)
}

fn one(entry: &Entry) -> String {
    let (found, model) = (&entry.found, &entry.fit.file.model);
    let mut text = wrapped(
        "",
        0,
        &format!("{}, {} rows left out one by one", model.title(), grouped(found.rows.len() as u64)),
    );
    text.push_str(&wrapped("", 0, &way(found)));
    text.push('\n');
    let mut columns =
        Columns::new(&[("", Side::Left), ("estimate", Side::Right), ("standard error", Side::Right)]);
    columns.bold_heading(style::bold());
    let mut push =
        |name: &str, [value, error]: [String; 2]| columns.push(vec![name.to_owned(), value, error]);
    push("elpd_loo", pair(found.elpd));
    push("p_loo", pair(found.p_loo));
    if let Some(waic) = &found.waic {
        push("elpd_waic", pair(waic.elpd));
        push("p_waic", [format!("{:.1}", waic.p_waic), String::new()]);
    }
    text.push_str(&columns.render());
    let ks: Vec<f64> = found.rows.iter().filter_map(|row| row.pareto_k).collect();
    if let Some(largest) = ks.iter().copied().reduce(f64::max) {
        let good = ks.iter().filter(|k| **k <= BELIEVED).count();
        let said = format!(
            "Pareto k̂: at most {BELIEVED} in {} of {} rows, largest {largest:.2}",
            grouped(good as u64),
            grouped(ks.len() as u64)
        );
        text.push_str(&wrapped("", 0, &said));
    }
    for said in found.grounds().into_iter().chain(bounds(found)) {
        text.push_str(&wrapped("", 0, &said));
    }
    text
}

/// The difference of each from the first.
fn difference(first: &Entry, other: &Entry) -> Result<Total> {
    Ok(other.found.loo().difference(&first.found.loo())?)
}

/// Whether a difference is at most two of its standard errors.
fn is_open(difference: Total) -> bool {
    difference.value.abs() <= 2.0 * difference.standard_error
}

fn compared(entries: &[Entry]) -> Result<String> {
    let heading = [
        ("", Side::Left),
        ("elpd_loo", Side::Right),
        ("error", Side::Right),
        ("p_loo", Side::Right),
        ("difference", Side::Right),
        ("error", Side::Right),
        ("", Side::Left),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for (i, entry) in entries.iter().enumerate() {
        let [elpd, error] = pair(entry.found.elpd);
        let apart = difference(&entries[0], entry)?;
        let [by, by_error] = if i == 0 { ["".to_owned(), "".to_owned()] } else { pair(apart) };
        let word = match i {
            0 => "",
            _ if is_open(apart) => "not told apart",
            _ => "predicts worse",
        };
        let p_loo = format!("{:.1}", entry.found.p_loo.value);
        columns.push(vec![name(&entry.path), elpd, error, p_loo, by, by_error, word.to_owned()]);
    }
    let mut text = columns.render();
    for entry in entries {
        let mut said = way(&entry.found);
        for more in entry.found.grounds().into_iter().chain(bounds(&entry.found)) {
            said.push_str(&format!("; {more}"));
        }
        text.push_str(&wrapped("", 2, &format!("{}: {said}", name(&entry.path))));
    }
    let first = kind_of_density(&entries[0].fit.file);
    if entries.iter().any(|entry| kind_of_density(&entry.fit.file) != first) {
        text.push_str(&wrapped("note  ", 6, OTHER_DENSITY));
    }
    Ok(text
        + &wrapped(
            "",
            0,
            "errors are standard errors over rows, without those of the estimates themselves; a difference of less than two of them does not tell \
             models apart",
        ))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn csv(to: &mut dyn Write, found: &FittedLoo) -> std::result::Result<(), Stop> {
    let mut writer = csv::Writer::from_writer(to);
    let place = |error: csv::Error| std::io::Error::other(error.to_string());
    let heading = ["row", "line", "elpd", "lower", "upper", "lpd", "pareto_k", "method", "pit"];
    writer.write_record(heading).map_err(place)?;
    let some = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for (n, (row, pit)) in found.rows.iter().zip(&found.pit).enumerate() {
        let line = [
            (n + 1).to_string(),
            found.lines.get(n).map_or(String::new(), |line| line.to_string()),
            row.elpd.to_string(),
            some(row.lower),
            some(row.upper),
            row.lpd.to_string(),
            some(row.pareto_k),
            if row.refitted { "refit" } else { "psis" }.to_owned(),
            pit.to_string(),
        ];
        writer.write_record(line).map_err(place)?;
    }
    Ok(writer.flush()?)
}

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'static str,
    /// The fits; the first has the largest elpd.
    models: Vec<ModelReport<'a>>,
}

#[derive(Serialize)]
struct ModelReport<'a> {
    fit: String,
    family: &'a str,
    formula: &'a str,
    /// elpd minus that of the first; null for the first.
    difference: Option<Total>,
    #[serde(flatten)]
    loo: &'a FittedLoo,
}

impl<'a> Report<'a> {
    fn new(entries: &'a [Entry]) -> Result<Self> {
        let model = |(i, entry): (usize, &'a Entry)| -> Result<ModelReport<'a>> {
            Ok(ModelReport {
                fit: name(&entry.path),
                family: &entry.fit.file.model.family,
                formula: &entry.fit.file.model.formula,
                difference: (i > 0).then(|| difference(&entries[0], entry)).transpose()?,
                loo: &entry.found,
            })
        };
        Ok(Self {
            schema: "provi-loo/1",
            provi: env!("CARGO_PKG_VERSION"),
            models: entries.iter().enumerate().map(model).collect::<Result<_>>()?,
        })
    }
}
