//! The posterior table.

use provi::Fit;

use super::columns::{Columns, Side};
use super::number::decimals;
use super::style;

/// The 97.5% quantile of the standard normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// Rows shown before the rest is left to fit.json.
const MOST_ROWS: usize = 100;

/// Name, mean, standard deviation and central 95% interval of each coefficient.
pub(crate) fn posterior(fit: &Fit) -> String {
    let mean = fit.gaussian.mean();
    let sd = fit.gaussian.standard_deviations();
    let heading = ["", "mean", "sd", "2.5%", "97.5%"];
    let side = |i| if i == 0 { Side::Left } else { Side::Right };
    let heading: Vec<_> = heading.iter().enumerate().map(|(i, text)| (*text, side(i))).collect();
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let shown = fit.names.len().min(MOST_ROWS);
    let places = sd.iter().take(shown).copied().reduce(f64::min).map_or(3, decimals);
    for ((name, &mean), &sd) in fit.names.iter().zip(mean).zip(&sd).take(shown) {
        let number = |x: f64| format!("{x:.places$}");
        let (low, high) = (mean - NORMAL_975 * sd, mean + NORMAL_975 * sd);
        columns.push(vec![name.clone(), number(mean), number(sd), number(low), number(high)]);
    }
    let mut text = columns.render();
    if fit.names.len() > shown {
        text.push_str(&format!("… and {} more; --out and --json hold all\n", fit.names.len() - shown));
    }
    text
}
