//! Estimates in rows: 95 % intervals, and the proved bounds of the exact mean.

use crate::chart::{Axis, Chart, Point, Span, WIDTH};
use crate::fit::{Coefficient, FitPage};
use crate::number::{above, beside};
use crate::scene::Scene;

/// Most rows shown.
pub(crate) const ROWS: usize = 40;
/// If the ratio of the largest value to the median interval's width is above this, a common scale hides most rows.
const COMMON: f64 = 150.0;
/// A row this many times farther out than the median one is named at the edge, not drawn.
const FAR: f64 = 15.0;

/// A coefficient in the units of the axis.
struct Row<'a> {
    coefficient: &'a Coefficient,
    y: f64,
    unit: f64,
}

impl Row<'_> {
    fn scaled(&self, x: f64) -> f64 {
        x / self.unit
    }

    /// Its largest distance from 0.
    fn reach(&self) -> f64 {
        self.scaled(self.coefficient.low.abs().max(self.coefficient.high.abs()))
    }
}

pub(crate) fn scene(page: &FitPage) -> Scene {
    let shown: Vec<&Coefficient> =
        page.clearest(ROWS).into_iter().filter(|c| c.low.is_finite() && c.high.is_finite()).collect();
    if shown.is_empty() {
        return Scene::message(WIDTH, "no coefficient has a finite interval");
    }
    let own = needs_own_scale(&shown);
    let unit = |c: &Coefficient| if own && c.sd > 0.0 { c.sd } else { 1.0 };
    let rows = shown.iter().enumerate().map(|(i, c)| Row { coefficient: c, y: i as f64, unit: unit(c) });
    let rows: Vec<Row<'_>> = rows.collect();
    let axis = Axis::linear(if own { "estimate, in its own posterior sd" } else { "estimate" });
    let names = Axis::names("", shown.iter().map(|c| c.name.clone()).collect());
    let (low, high) = range(&rows);
    let mut chart = Chart::new(label(page, shown.len()), axis.range(low, high), names)
        .sized(WIDTH, 26.0 * shown.len() as f64 + 92.0)
        .upright("", 0.0);
    let errors: Vec<Span> = rows.iter().filter_map(certified).collect();
    if !errors.is_empty() {
        chart = chart.series(1).spans("exact mean, certified", 13.0, 0.35, errors);
    }
    let spans = rows.iter().map(|row| {
        let c = row.coefficient;
        Span { y: row.y, low: row.scaled(c.low), high: row.scaled(c.high), title: hover(c) }
    });
    chart = chart.series(0).spans("95 % interval", 3.0, 1.0, spans.collect());
    let points = rows.iter().map(|row| {
        let c = row.coefficient;
        Point { x: row.scaled(c.mean), y: row.y, error: None, title: hover(c) }
    });
    chart = chart.series(0).points("posterior mean", points.collect());
    for row in &rows {
        let (c, x) = (row.coefficient, row.scaled(row.coefficient.mean));
        if x < low {
            chart = chart.note((low, row.y), &format!("‹ {}", beside(c.mean, c.sd)));
        } else if x > high {
            chart = chart.note((high, row.y), &format!("{} ›", beside(c.mean, c.sd)));
        }
    }
    chart.scene()
}

fn certified(row: &Row<'_>) -> Option<Span> {
    let c = row.coefficient;
    let error = c.mean_error.filter(|e| e.is_finite())?;
    let title = format!("{}: the exact mean is within {} of the estimate", c.name, above(error, 2));
    Some(Span { y: row.y, low: row.scaled(c.mean - error), high: row.scaled(c.mean + error), title })
}

fn hover(c: &Coefficient) -> String {
    let show = |x: f64| beside(x, c.sd);
    format!("{}: {}, 95 % interval {} to {}", c.name, show(c.mean), show(c.low), show(c.high))
}

fn label(page: &FitPage, shown: usize) -> String {
    let which = match page.of_population().len() {
        all if all > shown => format!("the {shown} clearest of {all} coefficients"),
        all => format!("{all} coefficients"),
    };
    format!("forest plot of {which}: posterior means, 95 % intervals and certified errors")
}

fn needs_own_scale(shown: &[&Coefficient]) -> bool {
    let mut widths: Vec<f64> = shown.iter().map(|c| c.high - c.low).filter(|w| *w > 0.0).collect();
    widths.sort_by(f64::total_cmp);
    let largest = shown.iter().map(|c| c.low.abs().max(c.high.abs())).fold(0.0, f64::max);
    let middle = widths.get(widths.len() / 2).copied().unwrap_or(0.0);
    widths.first().is_some_and(|least| largest > COMMON * middle || largest > 20.0 * COMMON * least)
}

/// Room for all intervals except far ones; wide certified bands may double it, and are cut there.
fn range(rows: &[Row<'_>]) -> (f64, f64) {
    let mut reaches: Vec<f64> = rows.iter().map(Row::reach).collect();
    reaches.sort_by(f64::total_cmp);
    let cap = FAR * reaches[reaches.len() / 2];
    let near: Vec<&Row<'_>> = rows.iter().filter(|row| row.reach() <= cap).collect();
    let least = |start: f64, end: &dyn Fn(&Coefficient) -> f64| {
        near.iter()
            .map(|row| row.scaled(end(row.coefficient)))
            .filter(|x| x.is_finite())
            .fold(start, f64::min)
    };
    let low = least(0.0, &|c| c.low);
    let high = -least(0.0, &|c| -c.high);
    let error = |c: &Coefficient| c.mean_error.unwrap_or(0.0);
    let outer_low = least(low, &|c| c.mean - error(c)).max(low - 0.5 * (high - low));
    let outer_high = (-least(-high, &|c| -c.mean - error(c))).min(high + 0.5 * (high - low));
    let spare = 0.03 * (outer_high - outer_low);
    (outer_low - spare, outer_high + spare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::Form;

    fn page(rows: &[(f64, f64)]) -> FitPage {
        let coefficient = |&(mean, sd): &(f64, f64)| Coefficient {
            name: format!("b{mean}"),
            mean,
            sd,
            low: mean - 2.0 * sd,
            high: mean + 2.0 * sd,
            ..Coefficient::default()
        };
        FitPage { coefficients: rows.iter().map(coefficient).collect(), ..FitPage::default() }
    }

    #[test]
    fn coefficients_of_unlike_size_are_drawn_in_their_own_sd() {
        let svg = |rows: &[(f64, f64)]| scene(&page(rows)).to_svg(Form::Inline);
        assert!(!svg(&[(1.0, 0.2), (-0.5, 0.1)]).contains("own posterior sd"));
        assert!(svg(&[(1e4, 2e3), (-0.5, 0.1), (0.2, 0.1)]).contains("own posterior sd"));
    }

    #[test]
    fn a_far_coefficient_is_named_at_the_edge_and_hides_no_other() {
        let svg = scene(&page(&[(-1e9, 1e-3), (1.0, 0.2), (2.0, 0.3), (-0.4, 0.2)])).to_svg(Form::Inline);
        assert!(svg.contains("‹ −1."), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1 + 3, "the legend's, and those in range");
    }
}
