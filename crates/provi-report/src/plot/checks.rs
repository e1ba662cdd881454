//! Checks of the model against the data: predictive histograms, calibration, residuals.

use crate::chart::{Axis, Bar, Chart, Point, WIDTH};
use crate::fit::{CalibrationBin, Check, FitPage, PredictiveBin};
use crate::number::{fixed, grouped, significant};

/// Most points of a residual plot; if there are more, every n-th is drawn.
const MOST: usize = 3000;

/// One chart for each check that is drawn rather than tabulated.
pub(crate) fn check_charts(page: &FitPage) -> Vec<Chart> {
    page.checks.iter().filter_map(check_chart).collect()
}

/// The chart of one check; `None` for statistics, which are a table.
pub(crate) fn check_chart(check: &Check) -> Option<Chart> {
    match check {
        Check::Predictive { axis, bins, rooted } => Some(predictive(axis, bins, *rooted)),
        Check::Calibration { bins } => Some(calibration(bins)),
        Check::Residuals { kind, axis, points } => Some(residuals(kind, axis, points)),
        Check::Statistics { .. } => None,
    }
}

fn predictive(axis: &str, bins: &[PredictiveBin], rooted: bool) -> Chart {
    let height = |count: f64| if rooted { count.max(0.0).sqrt() } else { count };
    let y = Axis::linear(if rooted { "rows (square root)" } else { "rows" }).including(0.0);
    let bars = bins.iter().map(|b| {
        let title = format!(
            "{} to {}: {} observed, {} to {} replicated",
            significant(b.low, 3),
            significant(b.high, 3),
            significant(b.observed, 3),
            significant(b.replicated[0], 3),
            significant(b.replicated[2], 3)
        );
        Bar { low: b.low, high: b.high, height: height(b.observed), title }
    });
    let replicated = bins.iter().map(|b| {
        let [low, middle, high] = b.replicated.map(height);
        let title = format!("replicated: median {}", significant(b.replicated[1], 3));
        Point { x: 0.5 * (b.low + b.high), y: middle, error: Some((low, high)), title }
    });
    let label = format!("posterior predictive check of {axis}");
    Chart::new(label, Axis::linear(axis), y)
        .sized(WIDTH, 280.0)
        .series(6)
        .bars("observed", bars.collect())
        .series(0)
        .points("replicated, median and 95 %", replicated.collect())
}

fn calibration(bins: &[CalibrationBin]) -> Chart {
    let points = bins.iter().map(|b| {
        let title = format!(
            "predicted {}, observed {} ({} to {}) in {} rows",
            fixed(b.predicted, 3),
            fixed(b.observed, 3),
            fixed(b.interval.0, 3),
            fixed(b.interval.1, 3),
            grouped(b.rows)
        );
        Point { x: b.predicted, y: b.observed, error: Some(b.interval), title }
    });
    let axis = |label| Axis::linear(label).range(-0.03, 1.03);
    Chart::new(
        "calibration: observed frequency against predicted probability",
        axis("predicted probability"),
        axis("observed frequency"),
    )
    .sized(WIDTH, 360.0)
    .diagonal("perfect calibration")
    .series(0)
    .points("observed, 95 % interval", points.collect())
}

fn residuals(kind: &str, axis: &str, points: &[(f64, f64)]) -> Chart {
    let every = points.len().div_ceil(MOST).max(1);
    let shown: Vec<(f64, f64)> = points.iter().step_by(every).copied().collect();
    let label = match every {
        1 => format!("{kind} against {axis}"),
        n => format!("{kind} against {axis}, one row in {n}"),
    };
    Chart::new(label, Axis::linear(axis), Axis::linear(kind).including(-2.2).including(2.2))
        .sized(WIDTH, 300.0)
        .level("", 0.0)
        .level("±2", 2.0)
        .level("", -2.0)
        .series(0)
        .cloud(if every == 1 { "a row each" } else { "some of the rows" }, &shown)
}
