//! The posterior table, and the table of contrasts.

use provi::certificate::Statement;
use provi_analysis::model::compiled::ConstrainedRecord;
use provi_analysis::number::{bound, probability, share_decimals, to_spread};
use provi_analysis::show::rows::Row;

use super::columns::{Columns, Side};
use super::style;
use super::wrap::wrapped;
use crate::failure::Result;

/// Most rows shown; fit.json has all.
const MOST_ROWS: usize = 100;

/// Name; mean and sd, each with its proved error bound; the central interval; the probability of being positive
/// with its error; and how many digits of mean and sd are proved.
pub(crate) fn posterior(rows: &[Row], level: f64) -> Result<String> {
    let tail = |p: f64| format!("{}%", (p * 1e6).round() / 1e4);
    let (low, high) = (tail(0.5 * (1.0 - level)), tail(0.5 * (1.0 + level)));
    let heading = ["", "mean", "mean ±", "sd", "sd ±", &low, &high, "P(>0)", "P ±", "digits"];
    let side = |i| if i == 0 { Side::Left } else { Side::Right };
    let heading: Vec<_> = heading.iter().enumerate().map(|(i, text)| (*text, side(i))).collect();
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
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
    let mut text = columns.render();
    if rows.len() > shown {
        text.push_str(&format!("… and {} more; --out and --json hold all\n", rows.len() - shown));
    }
    Ok(text)
}

/// The quantities of a Stan model on their own scale, and how they were computed.
pub(crate) fn constrained(record: &ConstrainedRecord) -> String {
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
    let mut text = format!("on the constrained scale\n{}", columns.render());
    if record.names.len() > shown {
        text.push_str(&format!("… and {} more; --out and --json hold all\n", record.names.len() - shown));
    }
    text + &wrapped("", 0, &record.origin())
}

/// The contrasts, under a heading of their own; empty if there are none.
pub(crate) fn contrasts(rows: &[Row], level: f64) -> Result<String> {
    if rows.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("contrasts\n{}", posterior(rows, level)?))
}
