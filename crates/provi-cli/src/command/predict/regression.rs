//! Predictions of families beyond one log-concave function of one linear predictor.

use std::io::Write;

use provi::Seed;
use provi::predict::Prediction;
use provi::target::Likelihood;
use provi_analysis::Fitted;
use provi_analysis::error::BadRegression;
use provi_analysis::model::Data;
use provi_analysis::number::{grouped, plain};
use provi_analysis::options::MissingName;
use provi_analysis::record::fit_file::write_json;
use provi_analysis::run::regression::RegressionRows;
use provi_table::Missing;

use super::{Level, MOST_ROWS, PredictArgs, Report, Response, csv};
use crate::command::Outcome;
use crate::failure::{Failure, Result};
use crate::output::columns::{Columns, Side};
use crate::output::flow::{self, Stop};
use crate::output::style;
use crate::output::wrap::wrapped;

pub(super) fn execute(args: &PredictArgs, fit: &Fitted) -> Result<Outcome> {
    let record = &fit.file;
    let asked = [
        (args.time.is_some(), "a probability after a time"),
        (args.exact, "a draw of the posterior itself"),
        (args.data.is_some(), "a measured error of a prediction"),
    ];
    let family = record.likelihood().map_or("", Likelihood::name);
    if let Some((_, what)) = asked.into_iter().find(|(asked, _)| *asked) {
        let error = BadRegression::NotThere { what: what.to_owned(), family };
        return Err(provi_analysis::Error::from(error).into());
    }
    let refuse = |error| Failure::table(error, &record.model.formula);
    let data = Data::read(&args.new).map_err(refuse)?;
    let table = data.table().map_err(refuse)?;
    let missing = match args.missing {
        Some(MissingName::Drop) => Missing::Drop,
        Some(MissingName::Error) | None => Missing::Error,
    };
    let new = fit.regression_rows(&table, missing, args.draws.is_some())?;
    if let (Some(count), false) = (args.draws, args.json) {
        let levels = &record.model.categories;
        return flow::to_stdout(|to| write_draws(&new, levels, count, Seed(args.seed), to));
    }
    let found = new.predict(args.level)?;
    let first: Vec<Prediction> = found.iter().filter_map(|row| row.first().copied()).collect();
    let categories = levels(&found, &record.model.categories);
    if args.json {
        let draws = args.draws.map(|count| -> Result<Vec<Vec<Response>>> {
            let drawn = new.responses_part(0..u64::from(count), Seed(args.seed))?;
            let row =
                |k: usize| drawn.row(k).iter().map(|y| Response::of(*y, &record.model.categories)).collect();
            Ok((0..drawn.rows()).map(row).collect())
        });
        let draws = draws.transpose()?;
        let report = Report {
            schema: "provi-predictions/1",
            level: args.level,
            // Probabilities are averages over draws, whose own error no bound counts.
            tv_bound: None,
            mean_errors: None,
            lines: &new.lines,
            predictions: &first,
            categories,
            law: draws.as_ref().map(|_| "gaussian"),
            draws,
        };
        return flow::to_stdout(|to| Ok(write_json(to, &report)?));
    }
    Ok(Outcome::said(match args.csv {
        true => csv(&first, &categories, None, &new.lines),
        false => table_of(args, fit, &first, &categories, &new),
    }))
}

/// The probabilities of levels at each row; empty for other responses.
fn levels<'a>(found: &[Vec<Prediction>], names: &'a [String]) -> Vec<Vec<Level<'a>>> {
    let one = |(p, level): (&Prediction, &'a String)| Level {
        level: level.as_str(),
        probability: p.mean,
        low: p.low,
        high: p.high,
    };
    let several = found.iter().filter(|row| row.len() > 1);
    several.map(|row| row.iter().zip(names).map(one).collect()).collect()
}

fn write_draws(
    new: &RegressionRows<'_>,
    levels: &[String],
    count: u32,
    seed: Seed,
    to: &mut dyn Write,
) -> std::result::Result<(), Stop> {
    let header: Vec<String> = new.lines.iter().map(|line| format!("line_{line}")).collect();
    writeln!(to, "{}", header.join(","))?;
    let (count, part) = (u64::from(count), new.part_of_draws());
    for first in (0..count).step_by(part as usize) {
        let drawn = new.responses_part(first..(first + part).min(count), seed)?;
        for k in 0..drawn.rows() {
            let row: Vec<String> = drawn.row(k).iter().map(|y| Response::of(*y, levels).field()).collect();
            writeln!(to, "{}", row.join(","))?;
        }
    }
    Ok(())
}

fn table_of(
    args: &PredictArgs,
    fit: &Fitted,
    predictions: &[Prediction],
    categories: &[Vec<Level<'_>>],
    new: &RegressionRows<'_>,
) -> String {
    let what = match new.likelihood {
        Likelihood::BetaBinomial | Likelihood::Multinomial { .. } => "probability",
        // There is no mean.
        Likelihood::Student { degrees: Some(nu), .. } if nu <= 1.0 => "centre",
        _ => "mean",
    };
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - args.level)), tail(0.5 * (1.0 + args.level)));
    let mut heading = vec![("line", Side::Right)];
    match categories.first() {
        None => heading.extend([what, &low, &high].map(|name| (name, Side::Right))),
        Some(levels) => heading.extend(levels.iter().map(|level| (level.level, Side::Right))),
    }
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let number = |x: f64| if what == "probability" { format!("{x:.4}") } else { plain(x) };
    for (i, (p, line)) in predictions.iter().zip(&new.lines).take(MOST_ROWS).enumerate() {
        let mut row = vec![line.to_string()];
        match categories.get(i) {
            None => row.extend([p.mean, p.low, p.high].map(number)),
            Some(levels) => row.extend(levels.iter().map(|level| number(level.probability))),
        }
        columns.push(row);
    }
    let mut text = columns.render();
    if !categories.is_empty() {
        let note = "the probability of each level; --csv and --json have their intervals";
        text.push_str(&wrapped("", 0, note));
    }
    if predictions.len() > MOST_ROWS {
        let more = grouped((predictions.len() - MOST_ROWS) as u64);
        text.push_str(&format!("… and {more} more; --csv has all\n"));
    }
    if new.dropped.rows > 0 {
        text.push_str(&format!("{} row(s) with missing values left out\n", grouped(new.dropped.rows as u64)));
    }
    let tv = fit.certificate().and_then(|c| Some((c.tv.bound()?, c.tv.confidence()?)));
    let under = match new.likelihood {
        Likelihood::Multinomial { .. } | Likelihood::ZeroInflatedPoisson => {
            "these are means under the fitted Gaussian, averages over 4000 of its draws"
        }
        _ => "these are means under the fitted Gaussian",
    };
    let said = match tv {
        _ if !new.likelihood.is_log_concave() => format!(
            "{under}; nothing is proved about them, as the likelihood of family {} is not log-concave",
            new.likelihood.name()
        ),
        Some((tv, _)) => format!(
            "{under}; the posterior's own probabilities differ from the Gaussian's by at most {}, as the fit's certificate says",
            provi_analysis::number::bound(tv.min(1.0), 2)
        ),
        None => format!("{under}; how far the posterior's own are is not proved"),
    };
    text.push_str(&wrapped("", 0, &said));
    text
}
