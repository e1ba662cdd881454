//! The posterior table.

use provi::certificate::Statement;
use provi::{Certificate, Gaussian};

use super::columns::{Columns, Side};
use super::number::{bound, decimals};
use super::style;

/// The 97.5% quantile of the standard normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// Rows shown before the rest is left to fit.json.
const MOST_ROWS: usize = 100;

/// Name, mean and standard deviation, each with what it is proved to be off by at most, and the central 95%
/// interval of each coefficient.
pub(crate) fn posterior(q: &Gaussian, certificate: &Certificate) -> String {
    let heading = ["", "mean", "mean ±", "sd", "sd ±", "2.5%", "97.5%"];
    let side = |i| if i == 0 { Side::Left } else { Side::Right };
    let heading: Vec<_> = heading.iter().enumerate().map(|(i, text)| (*text, side(i))).collect();
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let (moments, sd) = (&certificate.moments, q.standard_deviations());
    let shown = moments.len().min(MOST_ROWS);
    let places = sd.iter().take(shown).copied().reduce(f64::min).map_or(3, decimals);
    for ((moment, &mean), &sd) in moments.iter().zip(q.mean()).zip(&sd).take(shown) {
        let number = |x: f64| format!("{x:.places$}");
        let error = |s: &Statement| s.bound.map_or("–".to_owned(), |x| bound(x, 2));
        columns.push(vec![
            moment.name.clone(),
            number(mean),
            error(&moment.mean_error),
            number(sd),
            error(&moment.sd_error),
            number(mean - NORMAL_975 * sd),
            number(mean + NORMAL_975 * sd),
        ]);
    }
    let mut text = columns.render();
    if moments.len() > shown {
        text.push_str(&format!("… and {} more; --out and --json hold all\n", moments.len() - shown));
    }
    text
}
