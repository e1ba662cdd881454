//! Posterior densities compared with the prior's, one small chart for each coefficient.

use crate::chart::{Axis, Chart, Span};
use crate::fit::{Coefficient, FitPage};

/// Most charts drawn.
const MOST: usize = 12;
/// Number of standard deviations to either side.
const REACH: f64 = 4.0;

/// The coefficients farthest from 0 in their own standard deviations.
pub(crate) fn charts(page: &FitPage) -> Vec<Chart> {
    let proper = |c: &&&Coefficient| c.mean.is_finite() && c.sd.is_finite() && c.sd > 0.0;
    page.clearest(MOST).iter().filter(proper).map(|c| chart(c)).collect()
}

fn chart(c: &Coefficient) -> Chart {
    let places = || (0..=120).map(|i| c.mean + c.sd * REACH * (f64::from(i) / 60.0 - 1.0));
    let curve = |mean: f64, sd: f64| -> Vec<(f64, f64)> {
        places().map(|x| (x, (-0.5 * ((x - mean) / sd).powi(2)).exp() / sd)).collect()
    };
    let label = format!("posterior and prior density of {}", c.name);
    let top = 1.0 / c.sd;
    let x = Axis::linear("").range(c.mean - REACH * c.sd, c.mean + REACH * c.sd);
    // The prior may be the narrower one: the axis includes both.
    let y = Axis::bare("").including(0.0).including(top);
    let posterior = curve(c.mean, c.sd);
    let area: Vec<(f64, f64, f64)> = posterior.iter().map(|&(x, p)| (x, 0.0, p)).collect();
    let mut chart = Chart::new(label, x, y).titled(&c.name).sized(250.0, 170.0).without_key();
    chart = chart.series(0).band("", &area).series(0).line("posterior", &posterior);
    if let Some(error) = c.mean_error.filter(|e| e.is_finite()) {
        let span =
            Span { y: top * 0.03, low: c.mean - error, high: c.mean + error, title: "exact mean".to_owned() };
        chart = chart.series(1).spans("exact mean, certified", 7.0, 0.8, vec![span]);
    }
    match (c.prior_mean, c.prior_sd) {
        (Some(mean), Some(sd)) if mean.is_finite() && sd.is_finite() && sd > 0.0 => {
            chart.series(2).line("prior", &curve(mean, sd))
        }
        _ => chart,
    }
}
