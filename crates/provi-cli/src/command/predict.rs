//! `provi predict`: predictions of a fit at new rows.

mod regression;

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use provi::Certificate;
use provi::Seed;
use provi::predict::Prediction;
use provi::target::Family;
use provi_analysis::Fitted;
use provi_analysis::model::Data;
use provi_analysis::number::{bound, grouped, plain};
use provi_analysis::options::MissingName;
use provi_analysis::record::fit_file::{FitFile, write_json};
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::run::predict::NewData;
use provi_analysis::run::sampled::Law;
use provi_analysis::show::words::condition;
use provi_table::{Missing, NewLevels};
use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::columns::{Columns, Side};
use crate::output::flow::{self, Stop};
use crate::output::style;
use crate::output::wrap::wrapped;

const HELP: &str = "\
For each row of NEW: the mean response under the posterior (a probability, a
rate, a value or, for surv(time, event), a mean time) with the interval of that
mean. The interval is that of the mean, not of single observations; --draws
prints draws of those, including noise, one per line, written as they are made.
Probabilities are certified: the posterior's own differ by at most the certified
total variation, which is printed below the table. With --data each has a ± of
its own, often a hundred times smaller: the posterior's probabilities are
measured by another audit. The means of a gaussian model are certified too, each
by its own ±. Draws of a binomial model are counts among each row's own trials,
so NEW needs the column of trials.
With --exact the coefficients behind each draw are drawn from the posterior
itself rather than from the fitted Gaussian, as `provi sample --exact` does.
With --time, of a fit of surv(time, event): the probability that the event comes
later than that, certified as other probabilities are.

Examples:
  provi predict wells.fit new.csv
  provi predict wells.fit new.csv --level 0.9 --csv > predictions.csv
  provi predict wells.fit new.csv --draws 1000 --csv > draws.csv
  provi predict wells.fit new.csv --data wells.csv
  provi predict wells.fit new.csv --draws 1000 --exact --data wells.csv
  provi predict clinics.fit new.csv --new-levels population
  provi predict lung.fit new.csv --time 365";

#[derive(Debug, Group)]
#[command(after_help = HELP)]
pub(crate) struct PredictArgs {
    /// The fit: fit.json or its folder
    fit: PathBuf,
    /// The new rows: CSV, TSV (also gzipped) or Parquet, or - for standard input
    new: PathBuf,
    /// Probability of the interval
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    level: f64,
    /// What to do with groups that are not in the fitted data
    #[arg(long, value_enum, default_value_t = NewGroups::Refuse)]
    new_levels: NewGroups,
    /// What to do with rows that have missing values [default: error]
    #[arg(long)]
    missing: Option<MissingName>,
    /// For times to an event: the probability that it comes after this time
    #[arg(long, value_name = "T", conflicts_with = "draws", allow_negative_numbers = true)]
    time: Option<f64>,
    /// Draw N responses for each row instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    draws: Option<u32>,
    /// Draw their coefficients from the posterior itself, by rejection
    #[arg(long, requires = "draws", requires = "data")]
    exact: bool,
    /// The data of the fit, to measure the posterior's probabilities, or for --exact
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Seed of the random draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum NewGroups {
    /// Refuse the rows
    Refuse,
    /// Predict them from the population, and add the spread between groups
    Population,
}

/// Most rows on the screen; --csv prints all.
const MOST_ROWS: usize = 50;

/// What --json prints.
#[derive(Serialize)]
struct Report<'a, D> {
    schema: &'static str,
    level: f64,
    /// Upper bound of the error of the probabilities; null if nothing is certified.
    tv_bound: Option<f64>,
    /// Upper bound of the error of each row's mean, for a gaussian model, and of each row's probability, with the fit's data; null for others.
    mean_errors: Option<Vec<f64>>,
    lines: &'a [usize],
    predictions: &'a [Prediction],
    /// For a response of levels: the probability of each at each row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<Vec<Level<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draws: Option<D>,
    /// What the coefficients behind the draws are drawn from: gaussian, mixture or exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    law: Option<&'static str>,
}

/// The probability of one level of a response.
#[derive(Serialize)]
struct Level<'a> {
    level: &'a str,
    probability: f64,
    low: f64,
    high: f64,
}

/// The probabilities of the levels of an ordered response at each row; empty for other responses.
fn levels<'a>(new: &NewData<'_>, record: &'a FitFile, level: f64) -> Result<Vec<Vec<Level<'a>>>> {
    if new.family.gaps().is_none() {
        return Ok(Vec::new());
    }
    let names = &record.model.categories;
    let of_row = |row: &Vec<Prediction>| {
        let one = |(p, level): (&Prediction, &'a String)| Level {
            level: level.as_str(),
            probability: p.mean,
            low: p.low,
            high: p.high,
        };
        row.iter().zip(names).map(one).collect()
    };
    Ok(new.categories(level)?.iter().map(of_row).collect())
}

pub(crate) fn execute(args: &PredictArgs) -> Result<Outcome> {
    let fit = Fitted::load(&args.fit)?;
    let record = &fit.file;
    if record.likelihood().is_some() {
        return regression::execute(args, &fit);
    }
    let refuse = |error| Failure::table(error, &record.model.formula);
    let data = Data::read(&args.new).map_err(refuse)?;
    let table = data.table().map_err(refuse)?;
    let new_levels = match args.new_levels {
        NewGroups::Refuse => NewLevels::Refuse,
        NewGroups::Population => NewLevels::Population,
    };
    let missing = match args.missing {
        Some(MissingName::Drop) => Missing::Drop,
        Some(MissingName::Error) | None => Missing::Error,
    };
    let new = match args.draws {
        Some(_) => fit.new_data_with_trials(&table, new_levels, missing)?,
        None => fit.new_data(&table, new_levels, missing)?,
    };
    let predictions = match args.time {
        Some(time) => new.survival(time, args.level)?,
        None => new.predict(args.level)?,
    };
    let categories = levels(&new, record, args.level)?;
    let errors = new.mean_errors()?;
    let tv = record.certificate.as_ref().and_then(|c| c.tv.bound());
    let seed = Seed(args.seed);
    let model = match &args.data {
        Some(path) => Some(fit.model(&Data::read(path).map_err(refuse)?, false)?),
        None => None,
    };
    // Draws that are printed alone need no errors.
    let measured = match &model {
        Some(model) if !args.exact && (args.json || args.draws.is_none()) => {
            new.measured_errors(model, &predictions, Seed(record.seed))?
        }
        _ => None,
    };
    let errors = measured.as_ref().map(|found| found.each.clone()).or(errors);
    let exact = match model.as_ref().filter(|_| args.exact) {
        Some(model) => Some(PosteriorDraws::new(model, &*fit.dense("a draw of the posterior")?, None, seed)?),
        None => None,
    };
    let own = if fit.mixture.is_some() { Law::Mixture } else { Law::Gaussian };
    let law = exact.as_ref().map_or(own, PosteriorDraws::law);
    let exact = RefCell::new(exact);
    let levels = record.model.categories.as_slice();
    let draws = args.draws.map(|count| Drawn { new: &new, levels, count, seed, exact: &exact });
    match (draws, args.json) {
        // However many draws there are, only a part of them is held in memory.
        (draws, true) => {
            let report = Report {
                schema: "provi-predictions/1",
                level: args.level,
                tv_bound: tv,
                mean_errors: errors,
                lines: &new.lines,
                predictions: &predictions,
                categories,
                law: draws.as_ref().map(|_| law.name()),
                draws,
            };
            flow::to_stdout(|to| Ok(write_json(to, &report)?))
        }
        (Some(draws), false) => flow::to_stdout(|to| draws.write_csv(to)),
        (None, false) if args.csv => {
            Ok(Outcome::said(csv(&predictions, &categories, errors.as_deref(), &new.lines)))
        }
        (None, false) => {
            let confidence = measured.map(|found| found.confidence);
            let errors = (errors.as_deref(), confidence);
            Ok(Outcome::said(table_of(args, record, (&predictions, &categories), errors, &new)))
        }
    }
}

/// Draws of responses that are written as they are made.
struct Drawn<'a> {
    new: &'a NewData<'a>,
    /// The names of the response's levels, if it has levels.
    levels: &'a [String],
    count: u32,
    seed: Seed,
    /// Where their coefficients come from, if not from the fitted Gaussian.
    exact: &'a RefCell<Option<PosteriorDraws<'a>>>,
}

impl Drawn<'_> {
    /// Calls the function with each draw.
    fn each<E: From<provi_analysis::Error>>(
        &self,
        mut take: impl FnMut(&[f64]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (count, part) = (u64::from(self.count), self.new.part_of_draws());
        for first in (0..count).step_by(part as usize) {
            let which = first..(first + part).min(count);
            let draws = match &mut *self.exact.borrow_mut() {
                Some(exact) => {
                    let points = exact.draw((which.end - which.start) as usize)?;
                    self.new.responses_at(&points, first, self.seed)?
                }
                None => self.new.responses_part(which, self.seed)?,
            };
            (0..draws.rows()).try_for_each(|k| take(draws.row(k)))?;
        }
        Ok(())
    }

    /// One column for each new row, named by its line.
    fn write_csv(&self, to: &mut dyn Write) -> std::result::Result<(), Stop> {
        let header: Vec<String> = self.new.lines.iter().map(|line| format!("line_{line}")).collect();
        writeln!(to, "{}", header.join(","))?;
        self.each(|draw| {
            let row: Vec<String> = draw.iter().map(|y| Response::of(*y, self.levels).field()).collect();
            Ok(writeln!(to, "{}", row.join(","))?)
        })
    }
}

impl Serialize for Drawn<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        /// An error of either kind, for `?`.
        enum Either<E> {
            Made(provi_analysis::Error),
            Written(E),
        }
        impl<E> From<provi_analysis::Error> for Either<E> {
            fn from(error: provi_analysis::Error) -> Self {
                Self::Made(error)
            }
        }
        let mut list = to.serialize_seq(Some(self.count as usize))?;
        let write = |draw: &[f64]| {
            let row: Vec<Response> = draw.iter().map(|y| Response::of(*y, self.levels)).collect();
            list.serialize_element(&row).map_err(Either::Written)
        };
        self.each(write).map_err(|error| match error {
            Either::Made(error) => S::Error::custom(error),
            Either::Written(error) => error,
        })?;
        list.end()
    }
}

/// A drawn response: the name of its level, or a number.
#[derive(Serialize)]
#[serde(untagged)]
enum Response<'a> {
    Level(&'a str),
    Number(f64),
}

impl<'a> Response<'a> {
    /// Levels are drawn as their places, from 1.
    fn of(y: f64, levels: &'a [String]) -> Self {
        levels.get((y - 1.0).max(0.0) as usize).map_or(Self::Number(y), |level| Self::Level(level))
    }

    /// As a field of CSV.
    fn field(&self) -> String {
        match self {
            Self::Level(name) => field(name),
            Self::Number(y) => y.to_string(),
        }
    }
}

/// A name in a header, quoted where a comma or a quote would end it.
fn field(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

/// The columns of every model; of an ordered response three more for each level.
fn csv(
    predictions: &[Prediction],
    categories: &[Vec<Level<'_>>],
    errors: Option<&[f64]>,
    lines: &[usize],
) -> String {
    let further = if errors.is_some() { ",mean_error" } else { "" };
    let names = |level: &Level<'_>| {
        let name = |what: &str| format!(",{}", field(&format!("{what}({})", level.level)));
        ["p", "low", "high"].map(name).concat()
    };
    let levels: String = categories.first().into_iter().flatten().map(names).collect();
    let mut text = format!("line,mean,low,high,predictor,predictor_sd{further}{levels}\n");
    for (i, (p, line)) in predictions.iter().zip(lines).enumerate() {
        let error = errors.map_or(String::new(), |errors| format!(",{}", errors[i]));
        let each = |p: &Level<'_>| format!(",{},{},{}", p.probability, p.low, p.high);
        let levels: String = categories.get(i).into_iter().flatten().map(each).collect();
        text.push_str(&format!(
            "{line},{},{},{},{},{}{error}{levels}\n",
            p.mean, p.low, p.high, p.predictor, p.predictor_sd
        ));
    }
    text
}

fn table_of(
    args: &PredictArgs,
    record: &FitFile,
    (predictions, categories): (&[Prediction], &[Vec<Level<'_>>]),
    (errors, measured): (Option<&[f64]>, Option<f64>),
    new: &NewData<'_>,
) -> String {
    let family = new.family;
    let what = match family {
        Family::Poisson => "rate",
        _ if args.time.is_some() || family.has_probabilities() || family.gaps().is_some() => "probability",
        Family::Weibull { .. } | Family::ExponentialTime { .. } => "mean time",
        _ => "mean",
    };
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - args.level)), tail(0.5 * (1.0 + args.level)));
    let names: Vec<&str> = categories.first().into_iter().flatten().map(|level| level.level).collect();
    let mut heading = vec![("line", Side::Right)];
    match names.is_empty() {
        true => {
            heading.push((what, Side::Right));
            heading.extend(errors.map(|_| ("±", Side::Right)));
            heading.extend([(low.as_str(), Side::Right), (high.as_str(), Side::Right)]);
        }
        false => heading.extend(names.iter().map(|name| (*name, Side::Right))),
    }
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let number = |x: f64| if what == "probability" { format!("{x:.4}") } else { plain(x) };
    for (i, (p, line)) in predictions.iter().zip(&new.lines).take(MOST_ROWS).enumerate() {
        let mut row = vec![line.to_string()];
        match categories.get(i) {
            None => {
                row.push(number(p.mean));
                row.extend(errors.map(|errors| bound(errors[i], 2)));
                row.extend([number(p.low), number(p.high)]);
            }
            Some(levels) => row.extend(levels.iter().map(|level| number(level.probability))),
        }
        columns.push(row);
    }
    let mut text = columns.render();
    if !names.is_empty() {
        text.push_str(&wrapped(
            "",
            0,
            "the probability of each level; --csv and --json have their intervals",
        ));
    }
    if predictions.len() > MOST_ROWS {
        text.push_str(&format!(
            "… and {} more; --csv has all\n",
            grouped((predictions.len() - MOST_ROWS) as u64)
        ));
    }
    if new.dropped.rows > 0 {
        text.push_str(&format!("{} row(s) with missing values left out\n", grouped(new.dropped.rows as u64)));
    }
    if !new.new_levels.is_empty() {
        let named: Vec<&str> = new.new_levels.iter().take(5).map(|level| level.level.as_str()).collect();
        let note = format!(
            "groups that the fit has not seen ({}{}) are predicted from the population, with the spread between groups added",
            named.join(", "),
            if new.new_levels.len() > named.len() { ", …" } else { "" }
        );
        text.push_str(&wrapped("", 0, &note));
    }
    let tv = record.certificate.as_ref().map(|c| &c.tv);
    let condition = condition(&record.model).map_or(String::new(), |c| format!(", {c}"));
    let with = |confidence: f64| match confidence < 1.0 {
        true => format!(", with probability {}", (confidence * 1e9).floor() / 1e9),
        false => String::new(),
    };
    let certified = match (what, tv.and_then(|tv| Some((tv.bound()?, tv.confidence()?)))) {
        ("probability", _) if measured.is_some() => {
            format!(
                "certified: the posterior's own probabilities differ from these, before rounding, by at most ±{}{condition}",
                with(measured.unwrap_or(1.0))
            )
        }
        // TV is the largest difference of the means of any function between 0 and 1 [cert-moments], [local-tv].
        ("probability", Some((tv, confidence))) => {
            format!(
                "certified: the posterior's own probabilities differ from these, before rounding, by at most \
                 {}{}{condition}",
                bound(tv.min(1.0), 2),
                with(confidence)
            )
        }
        ("probability", None) => {
            "nothing is certified about these probabilities: the fit has no bound of the total variation"
                .to_owned()
        }
        // A mean is linear in the coefficients, so the certificate of their means covers it [cert-moments], [local-moments].
        ("mean", _) if errors.is_some() => {
            let certain = |c: &Certificate| c.moments.first().and_then(|m| m.mean_error.confidence());
            let confidence = record.certificate.as_ref().and_then(certain).unwrap_or(1.0);
            format!(
                "certified: the posterior's own means differ from these, before rounding, by at most ±{}{condition}",
                with(confidence)
            )
        }
        ("mean", _) => {
            "nothing is certified about these means: the fit has no bound of its moments".to_owned()
        }
        _ => "these are means under the fitted Gaussian; no theorem bounds what they are off by".to_owned(),
    };
    text.push_str(&wrapped("", 0, &certified));
    text
}
