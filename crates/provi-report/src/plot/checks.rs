//! Checks of the model against the data: predictive histograms, calibration, residuals.

use crate::chart::{Axis, Bar, Chart, Point, WIDTH};
use crate::fit::{CalibrationBin, Check, FitPage, PitFacts, PredictiveBin};
use crate::number::{fixed, grouped, significant};

/// Most points of a residual plot; if there are more, every n-th is drawn.
const MOST: usize = 3000;
/// Most points that say what they are.
const TOLD: usize = 600;

/// One chart for each check that is drawn rather than tabulated.
pub(crate) fn check_charts(page: &FitPage) -> Vec<Chart> {
    page.checks.iter().filter_map(|check| views(check).into_iter().next()).map(|(_, chart)| chart).collect()
}

/// The charts of one check by name, the first one first; none for statistics, which are a table.
pub(crate) fn views(check: &Check) -> Vec<(&'static str, Chart)> {
    match check {
        Check::Predictive { axis, bins, rooted: true } => {
            vec![("hanging", hanging(axis, bins)), ("standing", predictive(axis, bins, true))]
        }
        Check::Predictive { axis, bins, rooted: false } => vec![("histogram", predictive(axis, bins, false))],
        Check::Calibration { bins, likeliest, .. } => vec![("calibration", calibration(bins, *likeliest))],
        Check::Residuals { kind, axis, points } => vec![("residuals", residuals(kind, axis, points))],
        Check::Pit(facts) => pit(facts),
        Check::Statistics { .. } => Vec::new(),
    }
}

/// Bars hang from the root of the expected count; their feet should be near 0.
fn hanging(axis: &str, bins: &[PredictiveBin]) -> Chart {
    let root = |count: f64| count.max(0.0).sqrt();
    let bars = bins.iter().map(|b| Bar {
        low: b.low,
        high: b.high,
        base: root(b.replicated[1]),
        height: root(b.replicated[1]) - root(b.observed),
        title: said(b),
    });
    let feet = bins.iter().map(|b| {
        let [low, middle, high] = b.replicated.map(root);
        let title = format!(
            "replicated: from {} to {} rows",
            significant(b.replicated[0], 3),
            significant(b.replicated[2], 3)
        );
        Point { x: 0.5 * (b.low + b.high), y: 0.0, error: Some((middle - high, middle - low)), title }
    });
    let line: Vec<(f64, f64)> =
        bins.iter().map(|b| (0.5 * (b.low + b.high), root(b.replicated[1]))).collect();
    Chart::new(
        format!("hanging rootogram of {axis}"),
        Axis::linear(axis),
        Axis::linear("rows (square root)").including(0.0),
    )
    .sized(WIDTH, 300.0)
    .level("", 0.0)
    .series(6)
    .bars("observed, hung from the median", bars.collect())
    .series(1)
    .line("median of replicated data", &line)
    .solid()
    .series(0)
    .points("where 95 % of replicated feet are", feet.collect())
}

/// Shares less their places, the histogram, and quantile residuals.
fn pit(facts: &PitFacts) -> Vec<(&'static str, Chart)> {
    let level = format!("{} % of uniform samples stay inside", significant(100.0 * facts.level, 2));
    let ends = [[0.0; 4], [1.0, 1.0, 1.0, 1.0]];
    let mut band: Vec<[f64; 4]> = facts.band.clone();
    if !band.is_empty() {
        band.insert(0, ends[0]);
        band.push(ends[1]);
    }
    let edges: Vec<(f64, f64, f64)> =
        band.iter().map(|[at, _, low, high]| (*at, low - at, high - at)).collect();
    let line: Vec<(f64, f64)> = band.iter().map(|[at, share, ..]| (*at, share - at)).collect();
    let points = facts.band.iter().map(|[at, share, low, high]| {
        let title = format!(
            "{} of the values are up to {}; the band is {} to {}",
            fixed(*share, 3),
            fixed(*at, 2),
            fixed(*low, 3),
            fixed(*high, 3)
        );
        ((*at, share - at), title)
    });
    let ecdf = Chart::new(
        "distribution function of the probability integral transforms, less the uniform one",
        Axis::linear("place of the response in its predictive distribution").range(0.0, 1.0),
        Axis::linear("share of rows up to there, less the uniform share"),
    )
    .sized(WIDTH, 280.0)
    .level("", 0.0)
    .series(0)
    .band(&level, &edges)
    .series(1)
    .line("rows", &line)
    .solid()
    .hover(points.collect());
    let bars = facts.bins.iter().map(|b| Bar {
        low: b.low,
        high: b.high,
        height: b.observed,
        title: format!(
            "{} to {}: {} rows; {} to {} are usual",
            fixed(b.low, 1),
            fixed(b.high, 1),
            significant(b.observed, 4),
            significant(b.replicated[0], 4),
            significant(b.replicated[2], 4)
        ),
        ..Bar::default()
    });
    let usual: Vec<(f64, f64, f64)> = facts
        .bins
        .iter()
        .flat_map(|b| [(b.low, b.replicated[0], b.replicated[2]), (b.high, b.replicated[0], b.replicated[2])])
        .collect();
    let histogram = Chart::new(
        "histogram of the probability integral transforms",
        Axis::linear("place of the response in its predictive distribution").range(0.0, 1.0),
        Axis::linear("rows").including(0.0),
    )
    .sized(WIDTH, 280.0)
    .series(6)
    .bars("rows", bars.collect())
    .series(0)
    .band(&level, &usual);
    let mut out = vec![("distribution", ecdf), ("histogram", histogram)];
    if !facts.quantiles.is_empty() {
        out.insert(0, ("quantiles", quantiles(facts, &level)));
    }
    out
}

/// Quantile residuals beside normal quantiles.
fn quantiles(facts: &PitFacts, level: &str) -> Chart {
    let all: Vec<((f64, f64), String)> = facts
        .quantiles
        .iter()
        .map(|(x, y, row)| {
            (
                (*x, *y),
                format!(
                    "row {} of those used: residual {}, normal quantile {}",
                    grouped(*row),
                    fixed(*y, 2),
                    fixed(*x, 2)
                ),
            )
        })
        .collect();
    let chart = Chart::new(
        "quantile residuals against normal quantiles",
        Axis::linear("normal quantile of the rank"),
        Axis::linear("quantile residual"),
    )
    .sized(WIDTH, 340.0)
    .diagonal("")
    .series(6)
    .line(level, &facts.quantile_band[0])
    .solid()
    .series(6)
    .line("", &facts.quantile_band[1])
    .solid()
    .series(0);
    told(chart, "a row each", &all)
}

/// Points that say what they are, if they are not too many for a page.
fn told(chart: Chart, name: &str, points: &[((f64, f64), String)]) -> Chart {
    match points.len() <= TOLD {
        true => chart.scatter(name, points),
        false => chart.cloud(name, &points.iter().map(|p| p.0).collect::<Vec<_>>()),
    }
}

fn said(b: &PredictiveBin) -> String {
    format!(
        "{} to {}: {} observed, {} to {} replicated",
        significant(b.low, 3),
        significant(b.high, 3),
        significant(b.observed, 3),
        significant(b.replicated[0], 3),
        significant(b.replicated[2], 3)
    )
}

fn predictive(axis: &str, bins: &[PredictiveBin], rooted: bool) -> Chart {
    let height = |count: f64| if rooted { count.max(0.0).sqrt() } else { count };
    let y = Axis::linear(if rooted { "rows (square root)" } else { "rows" }).including(0.0);
    let bars = bins.iter().map(|b| Bar {
        low: b.low,
        high: b.high,
        height: height(b.observed),
        title: said(b),
        ..Bar::default()
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

fn calibration(bins: &[CalibrationBin], likeliest: bool) -> Chart {
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
        match likeliest {
            true => "calibration: how often the likeliest level came true, against its predicted probability",
            false => "calibration: observed frequency against predicted probability",
        },
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
    let title = |(n, &(x, y)): (usize, &(f64, f64))| {
        let text = format!(
            "row {} of those used: {kind} {} at {}",
            grouped(n as u64 + 1),
            fixed(y, 2),
            significant(x, 3)
        );
        ((x, y), text)
    };
    let shown: Vec<((f64, f64), String)> = points.iter().enumerate().step_by(every).map(title).collect();
    let label = match every {
        1 => format!("{kind} against {axis}"),
        n => format!("{kind} against {axis}, one row in {n}"),
    };
    let chart = Chart::new(label, Axis::linear(axis), Axis::linear(kind).including(-2.2).including(2.2))
        .sized(WIDTH, 300.0)
        .level("", 0.0)
        .level("±2", 2.0)
        .level("", -2.0)
        .series(0);
    told(chart, if every == 1 { "a row each" } else { "some of the rows" }, &shown)
}
