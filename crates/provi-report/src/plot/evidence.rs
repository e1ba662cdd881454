//! The bounds of the log evidence, and its estimate.

use crate::chart::{Axis, Chart, Point, Span, WIDTH};
use crate::fit::FitPage;
use crate::number::{beside, enclosing};
use crate::scene::Scene;

pub(crate) fn scene(page: &FitPage) -> Scene {
    let e = &page.evidence;
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    let proved = finite(e.lower).zip(finite(e.upper)).filter(|(low, high)| low <= high);
    let estimate = e.estimate.filter(|(value, error)| value.is_finite() && error.is_finite());
    let spread = proved.map_or(1.0, |(low, high)| high - low);
    let show = |x: f64| beside(x, spread);
    let mut names = Vec::new();
    let mut rows: Vec<(usize, Span, f64)> = Vec::new();
    if let Some((low, high)) = proved {
        let [least, most] = enclosing(low, high);
        let title = format!("between {least} and {most}");
        rows.push((1, Span { y: names.len() as f64, low, high, title }, 0.35));
        names.push("proved interval".to_owned());
    }
    if let Some((value, error)) = estimate {
        let (low, high) = (value - 1.96 * error, value + 1.96 * error);
        let title = format!("{} ± {}", show(value), beside(error, error));
        rows.push((0, Span { y: names.len() as f64, low, high, title }, 0.8));
        names.push("estimate, 95 %".to_owned());
    }
    let mut points = Vec::new();
    if let Some(elbo) = finite(e.elbo) {
        points.push(Point { x: elbo, y: names.len() as f64, error: None, title: show(elbo) });
        names.push("ELBO".to_owned());
    }
    if names.is_empty() {
        return Scene::message(WIDTH, "nothing is known about the log evidence");
    }
    let height = 60.0 + 30.0 * names.len() as f64;
    let label = "log evidence: proved interval, estimate and ELBO";
    let mut chart =
        Chart::new(label, Axis::linear("log evidence, nats"), Axis::names("", names)).sized(WIDTH, height);
    for (series, span, opacity) in rows {
        let thickness = if series == 1 { 13.0 } else { 4.0 };
        chart = chart.series(series).spans("", thickness, opacity, vec![span]);
    }
    chart.series(0).points("", points).scene()
}
