//! Effects of variables, one small chart each: curves with bands over numbers, points with bars over levels.

use crate::chart::{Axis, Chart, Point, Span};
use crate::effects::{EffectChart, EffectPoint, EffectSeries};
use crate::number::{beside, significant};

/// Most charts drawn.
const MOST: usize = 12;
/// Most levels in a chart, summed over its series.
const LEVELS: usize = 40;
/// The size of a chart; one that stands alone is larger.
const SMALL: (f64, f64) = (270.0, 210.0);
const ALONE: (f64, f64) = (540.0, 340.0);

/// One chart for each variable that has a finite point.
pub(crate) fn charts(all: &[EffectChart]) -> Vec<Chart> {
    let proper = |chart: &&EffectChart| chart.series.iter().any(|series| series.points.iter().any(is_finite));
    let shown: Vec<&EffectChart> = all.iter().filter(proper).take(MOST).collect();
    let size = if shown.len() == 1 { ALONE } else { SMALL };
    shown.into_iter().map(|effects| chart(effects, size)).collect()
}

fn is_finite(p: &EffectPoint) -> bool {
    [p.y, p.low, p.high].iter().all(|x| x.is_finite())
}

fn chart(effects: &EffectChart, size: (f64, f64)) -> Chart {
    let label = format!("{} by {}", effects.unit, effects.title);
    let split = effects.series.len() > 1;
    let mut chart = match effects.over_numbers() {
        true => over_numbers(effects, &label, size),
        false => over_levels(effects, &label, size),
    };
    chart = chart.titled(&effects.title);
    if split { chart } else { chart.without_key() }
}

fn hover(effects: &EffectChart, series: &EffectSeries, p: &EffectPoint) -> String {
    let spread = 0.25 * (p.high - p.low);
    let [y, low, high] = [p.y, p.low, p.high].map(|x| beside(x, spread));
    let at = if p.label.is_empty() { significant(p.x, 4) } else { p.label.clone() };
    let by = if series.name.is_empty() { String::new() } else { format!(", {}", series.name) };
    format!("{} {at}{by}: {y}, from {low} to {high}", effects.title)
}

fn over_numbers(effects: &EffectChart, label: &str, (width, height): (f64, f64)) -> Chart {
    let mut chart = Chart::new(label, Axis::linear(""), Axis::linear(&effects.unit)).sized(width, height);
    if let Some(level) = effects.nothing {
        chart = chart.level("", level);
    }
    for (i, series) in effects.series.iter().enumerate() {
        let points: Vec<&EffectPoint> = series.points.iter().filter(|p| is_finite(p)).collect();
        let band: Vec<(f64, f64, f64)> = points.iter().map(|p| (p.x, p.low, p.high)).collect();
        let line: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.y)).collect();
        let name = if series.name.is_empty() { "mean" } else { &series.name };
        let interval = if series.name.is_empty() { effects.interval.as_str() } else { "" };
        chart = chart.series(i).band(interval, &band).series(i).line(name, &line).solid();
        chart = chart.hover(points.iter().map(|p| ((p.x, p.y), hover(effects, series, p))).collect());
        if points.len() == 1 {
            let all = points.iter().map(|p| Point {
                x: p.x,
                y: p.y,
                error: Some((p.low, p.high)),
                title: hover(effects, series, p),
            });
            chart = chart.series(i).points("", all.collect());
        }
    }
    chart
}

fn over_levels(effects: &EffectChart, label: &str, (width, height): (f64, f64)) -> Chart {
    let names: Vec<String> = effects.labels().into_iter().take(LEVELS).collect();
    let rows = names.len() as f64;
    let place = |p: &EffectPoint| names.iter().position(|name| *name == p.label).map(|row| row as f64);
    let count = effects.series.len() as f64;
    // Series are drawn beside each other within the row of their level.
    let beside = |i: usize| 0.7 * ((i as f64 + 0.5) / count - 0.5);
    let tall = height.max(rows * (16.0 + 9.0 * (count - 1.0)) + 92.0);
    let mut chart =
        Chart::new(label, Axis::linear(&effects.unit), Axis::names("", names.clone())).sized(width, tall);
    if let Some(level) = effects.nothing {
        chart = chart.upright("", level);
    }
    for (i, series) in effects.series.iter().enumerate() {
        let shown: Vec<(&EffectPoint, f64)> = series
            .points
            .iter()
            .filter(|p| is_finite(p))
            .filter_map(|p| Some((p, place(p)? + beside(i))))
            .collect();
        let spans = shown.iter().map(|(p, y)| Span {
            y: *y,
            low: p.low,
            high: p.high,
            title: hover(effects, series, p),
        });
        let points =
            shown.iter().map(|(p, y)| Point { x: p.y, y: *y, error: None, title: hover(effects, series, p) });
        let name = if series.name.is_empty() { "mean" } else { &series.name };
        let interval = if series.name.is_empty() { effects.interval.as_str() } else { "" };
        chart = chart.series(i).spans(interval, 3.0, 1.0, spans.collect());
        chart = chart.series(i).points(name, points.collect());
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::Form;

    fn point(x: f64, label: &str, y: f64) -> EffectPoint {
        EffectPoint { x, label: label.to_owned(), y, low: y - 0.1, high: y + 0.1, error: None }
    }

    fn of(title: &str, points: Vec<EffectPoint>) -> EffectChart {
        let series = vec![EffectSeries { name: String::new(), points }];
        EffectChart {
            title: title.to_owned(),
            unit: "probability".to_owned(),
            series,
            ..EffectChart::default()
        }
    }

    #[test]
    fn numbers_are_curves_and_levels_are_points() {
        let curve = of("age", (0..5).map(|i| point(f64::from(i), "", 0.1 * f64::from(i))).collect());
        let levels = of("town", vec![point(0.0, "Bern", 0.3), point(1.0, "Basel", 0.4)]);
        let drawn = charts(&[curve.clone(), levels]);
        let svg = |chart: &Chart| chart.scene().to_svg(Form::Inline);
        assert_eq!(drawn.len(), 2);
        // A curve has no marks, but says its values under the pointer.
        assert_eq!(svg(&drawn[0]).matches("fill-opacity=\"0\"><title>age ").count(), 5);
        assert!(svg(&drawn[0]).matches("<circle").count() == 5 && svg(&drawn[1]).contains("Basel"));
        assert_eq!(svg(&drawn[1]).matches("<circle").count(), 2);
        assert!(charts(&[of("none", vec![point(f64::NAN, "", f64::NAN)])]).is_empty());
        let alone = charts(&[curve]);
        assert!(alone[0].scene().width > 2.0 * 200.0);
    }
}
