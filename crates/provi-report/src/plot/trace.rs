//! The run: −ELBO step by step, and below it the proved bound of the remaining gain.

use crate::chart::{Axis, Chart, WIDTH, grid};
use crate::fit::FitPage;
use crate::scene::Scene;

/// If the ratio of the first to the last gain is above this, −ELBO is drawn as its distance from the best, on a
/// logarithmic axis.
const DECADES: f64 = 200.0;
/// Most points drawn: more than one per pixel only costs bytes.
const MOST: usize = 1200;

pub(crate) fn scene(page: &FitPage) -> Scene {
    let values = thinned(page.trace.iter().map(|t| (t.step as f64, t.value)).collect());
    let gaps = page.trace.iter().filter_map(|t| Some((t.step as f64, t.gap_bound.filter(|g| *g > 0.0)?)));
    let gaps = thinned(gaps.collect());
    let mut charts = Vec::new();
    if values.len() > 1 {
        charts.push(objective(&values));
    }
    if gaps.len() > 1 {
        let label = "proved bound of the distance to the best Gaussian, by step";
        let y = Axis::log("distance to the best Gaussian, proved to be at most this, nats");
        let chart = Chart::new(label, Axis::linear("steps"), y).sized(WIDTH, 220.0);
        charts.push(chart.series(1).steps("", &gaps).solid());
    }
    if charts.is_empty() {
        return Scene::message(WIDTH, "this fit holds no trace of its run");
    }
    grid("the run: negative ELBO, and the proved distance to the best Gaussian, by step", &charts, 1)
}

fn objective(values: &[(f64, f64)]) -> Chart {
    let label = "negative ELBO by step";
    let best = values.iter().map(|v| v.1).filter(|v| v.is_finite()).fold(f64::INFINITY, f64::min);
    let gains: Vec<(f64, f64)> = values.iter().map(|&(t, v)| (t, v - best)).filter(|v| v.1 > 0.0).collect();
    let least = gains.iter().map(|v| v.1).fold(f64::INFINITY, f64::min);
    let most = gains.iter().map(|v| v.1).fold(0.0, f64::max);
    if gains.len() > 2 && most.is_finite() && most / least > DECADES {
        let y = Axis::log("−ELBO above the best seen, nats");
        Chart::new(label, Axis::linear("steps"), y).sized(WIDTH, 220.0).line("", &gains)
    } else {
        let y = Axis::linear("−ELBO, nats");
        Chart::new(label, Axis::linear("steps"), y).sized(WIDTH, 220.0).line("", values)
    }
}

/// Every n-th point, and the last.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(MOST).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.into_iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last);
    kept.map(|(_, p)| p).collect()
}
