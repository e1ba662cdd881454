//! The posterior table, and the table of contrasts.

use provi::certificate::Statement;
use provi::functional::PosteriorMoments;
use provi_analysis::model::compiled::ConstrainedRecord;
use provi_analysis::number::{bound, decimals, probability, share_decimals, to_spread, within};
use provi_analysis::record::mixture::ScaleSummary;
use provi_analysis::show::rows::{Row, moments, positive, rest_on_a_word};
use provi_analysis::show::words::INTEGRATED;

use super::columns::{Columns, Side};
use super::style;
use super::wrap::wrapped;
use crate::failure::Result;

/// Most rows shown; fit.json has all.
const MOST_ROWS: usize = 100;
/// A bound of an error that is larger than this many deviations is not shown.
const USELESS: f64 = 100.0;
/// A bound of the error of a probability up to which it is worth a word.
const USEFUL: f64 = 0.2;

/// Name; mean and sd, each with its proved error bound; the central interval and the probability of being positive.
/// Mean and sd are the posterior's own if they were measured, q's otherwise; a line below the table says which.
pub(crate) fn posterior(rows: &[Row], level: f64, measured: Option<&PosteriorMoments>) -> Result<String> {
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - level)), tail(0.5 * (1.0 + level)));
    let mut columns = with_heading(&["", "mean", "±", "sd", "±", &low, &high, "P(>0)"]);
    let shown = rows.len().min(MOST_ROWS);
    let shared = share_decimals(rows[..shown].iter().map(|(_, f)| f.sd));
    let (mut any, mut furthest) = (false, 0.0f64);
    for (i, (name, f)) in rows[..shown].iter().enumerate() {
        let number = |x: f64| shared.map_or_else(|| to_spread(x, f.sd), |places| format!("{x:.places$}"));
        let [mean, sd] = moments(f, measured, i);
        let pair = |(value, error): (f64, Option<f64>)| match error {
            // A bound that says nothing.
            Some(error) if error > USELESS * f.sd => [number(value), "–".to_owned()],
            Some(error) if shared.is_some() || decimals(f.sd) <= 6 => {
                within(value, error, shared.unwrap_or_else(|| decimals(f.sd)))
            }
            Some(error) => [number(value), bound(error + 5e-3 * f.sd, 2)],
            None => [number(value), "–".to_owned()],
        };
        any |= mean.1.is_some();
        let ([mean, mean_off], [sd, sd_off]) = (pair(mean), pair(sd));
        let [low, high] = f.interval(level)?;
        let (chance, off) = positive(f, measured.filter(|_| !f.is_mixed()), i);
        // Three decimals are shown.
        furthest = furthest.max(off.unwrap_or(f64::INFINITY) + 5e-4);
        let positive = probability(chance);
        columns.push(vec![name.clone(), mean, mean_off, sd, sd_off, number(low), number(high), positive]);
    }
    let mixed = rows.iter().any(|(_, f)| f.is_mixed());
    let weighed = rows.iter().any(|(_, f)| f.is_weighed());
    let declared = rest_on_a_word(rows, measured);
    let within = if declared { "within ± if the declared curvature is right" } else { "proved within ±" };
    let about = match (measured.is_some(), any) {
        (true, _) if weighed => {
            "mean, sd: the posterior's, within ± as far as the sum over the scales goes; interval: of weighted draws of the mixture, an estimate; \
             P(>0): the mixture's"
        }
        (false, true) if weighed => {
            "mean, sd, interval: of weighted draws of the mixture, an estimate; the posterior's mean and sd are within ±, as far as the sum \
             over the scales goes; P(>0): the mixture's"
        }
        (false, false) if weighed => {
            "mean, sd, interval: of weighted draws of the mixture, an estimate; how far the posterior's are is not known; P(>0): the mixture's"
        }
        (true, _) if mixed => {
            "mean, sd: the posterior's, within ± as far as the sum over the scales goes; interval, P(>0): the mixture's"
        }
        (false, true) if mixed => "all are the mixture's; the posterior's mean and sd are within ±",
        (false, false) if mixed => "all are the mixture's; how far the posterior's are is not known",
        (true, _) if furthest <= USEFUL => &format!(
            "mean, sd: the posterior's, {within}; P(>0) too, within {}; interval: the Gaussian's",
            bound(furthest, 2)
        ),
        (true, _) => &format!("mean, sd: the posterior's, {within}; interval, P(>0): the Gaussian's"),
        (false, true) if declared => {
            "all are the Gaussian's; if the declared curvature is right, the posterior's mean and sd are within ±"
        }
        (false, true) => "all are the Gaussian's; the posterior's mean and sd are proved to be within ±",
        (false, false) => "all are the Gaussian's; how far the posterior's are is not proved",
    };
    Ok(columns.render() + &more(rows.len() - shown) + &wrapped("", 0, about))
}

fn with_heading(heading: &[&str]) -> Columns {
    let side = |i| if i == 0 { Side::Left } else { Side::Right };
    let heading: Vec<_> = heading.iter().enumerate().map(|(i, text)| (*text, side(i))).collect();
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    columns
}

fn more(hidden: usize) -> String {
    if hidden == 0 { String::new() } else { format!("… and {hidden} more; --out and --json hold all\n") }
}

/// All columns about q: mean and sd with their errors, the central interval, the probability of being positive with
/// its error, and how many digits of mean and sd are proved.
pub(crate) fn wide(rows: &[Row], level: f64) -> Result<String> {
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - level)), tail(0.5 * (1.0 + level)));
    let mut columns =
        with_heading(&["", "mean", "mean ±", "sd", "sd ±", &low, &high, "P(>0)", "P ±", "digits"]);
    let shown = rows.len().min(MOST_ROWS);
    let shared = share_decimals(rows[..shown].iter().map(|(_, f)| f.sd));
    for (name, f) in &rows[..shown] {
        let number = |x: f64| shared.map_or_else(|| to_spread(x, f.sd), |places| format!("{x:.places$}"));
        let error = |s: &Statement| s.bound().map_or("–".to_owned(), |x| bound(x, 2));
        let [low, high] = f.interval(level)?;
        let digits = f.digits().map(|d| d.map_or("–".to_owned(), |d| d.to_string()));
        columns.push(vec![
            name.clone(),
            number(f.mean),
            error(&f.mean_error),
            number(f.sd),
            error(&f.sd_error),
            number(low),
            number(high),
            probability(f.positive.value),
            error(&f.positive.error),
            digits.join("/"),
        ]);
    }
    Ok(columns.render() + &more(rows.len() - shown))
}

/// The quantities of a Stan model on their own scale, or the further parameters of a formula's family, and how they were computed.
pub(crate) fn constrained(record: &ConstrainedRecord, of_formula: bool) -> String {
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - record.level)), tail(0.5 * (1.0 + record.level)));
    let right = |text| (text, Side::Right);
    let mut columns =
        Columns::new(&[("", Side::Left), right("mean"), right("sd"), right(&low), right(&high)]);
    columns.bold_heading(style::bold());
    let shown = record.names.len().min(MOST_ROWS);
    for k in 0..shown {
        let numbers = [record.mean[k], record.sd[k], record.lower[k], record.upper[k]];
        let numbers = numbers.map(|x| to_spread(x, record.sd[k]));
        columns.push(std::iter::once(record.names[k].clone()).chain(numbers).collect());
    }
    let heading = if of_formula { "parameters on their own scale" } else { "on the constrained scale" };
    let text = format!("{heading}\n{}", columns.render());
    text + &more(record.names.len() - shown) + &wrapped("", 0, &record.origin())
}

/// The scales that are integrated over; empty if there are none.
pub(crate) fn scales(rows: &[ScaleSummary], level: f64) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - level)), tail(0.5 * (1.0 + level)));
    let mut columns = with_heading(&["", "mean", "sd", &low, "median", &high]);
    for row in rows.iter().take(MOST_ROWS) {
        let numbers = [row.mean, row.sd, row.lower, row.median, row.upper].map(|x| to_spread(x, row.sd));
        columns.push(std::iter::once(row.name.clone()).chain(numbers).collect());
    }
    columns.render() + &more(rows.len().saturating_sub(MOST_ROWS)) + &wrapped("", 0, INTEGRATED)
}

/// The contrasts, under a heading of their own; empty if there are none.
pub(crate) fn contrasts(rows: &[Row], level: f64) -> Result<String> {
    if rows.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("contrasts\n{}", wide(rows, level)?))
}
