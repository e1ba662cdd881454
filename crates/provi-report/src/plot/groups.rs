//! The effects of groups in the order of their size, one chart for each term and column.

use crate::chart::{Axis, Chart, Point, Span, WIDTH};
use crate::fit::{Coefficient, FitPage, GroupEffects};
use crate::number::beside;

/// Most charts drawn.
const MOST: usize = 6;
/// Most levels in a chart: beyond these, as many from either end.
pub(crate) const LEVELS: usize = 60;

/// Empty space at either end, as a part of the axis.
const MARGIN: f64 = 0.03;

pub(crate) fn charts(page: &FitPage) -> Vec<Chart> {
    page.groups.iter().filter_map(chart).take(MOST).collect()
}

/// `None` if no level has a finite interval.
fn chart(effects: &GroupEffects) -> Option<Chart> {
    let proper = |c: &&Coefficient| [c.mean, c.low, c.high].iter().all(|x| x.is_finite());
    let mut levels: Vec<&Coefficient> = effects.levels.iter().filter(proper).collect();
    levels.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    if levels.len() > LEVELS {
        levels.drain(LEVELS / 2..levels.len() - LEVELS / 2);
    }
    let low = levels.iter().map(|c| c.low).min_by(f64::total_cmp)?;
    let high = levels.iter().map(|c| c.high).max_by(f64::total_cmp)?;
    // A level's own name is what its coefficient has in brackets.
    let own = |c: &&Coefficient| {
        let inside = c.name.strip_prefix(&effects.name).and_then(|x| x.strip_prefix('[')?.strip_suffix(']'));
        inside.unwrap_or(&c.name).to_owned()
    };
    let hover = |c: &Coefficient| {
        let [mean, low, high] = [c.mean, c.low, c.high].map(|x| beside(x, c.sd));
        format!("{}: {mean}, from {low} to {high}", c.name)
    };
    let margin = MARGIN * (high - low);
    let axis = Axis::linear("effect").range(low - margin, high + margin).including(0.0);
    let names = Axis::names("", levels.iter().map(own).collect());
    let spans = levels.iter().enumerate();
    let spans = spans.map(|(i, c)| Span { y: i as f64, low: c.low, high: c.high, title: hover(c) });
    let points = levels.iter().enumerate();
    let points = points.map(|(i, c)| Point { x: c.mean, y: i as f64, error: None, title: hover(c) });
    let chart = Chart::new(format!("effects {}, in the order of their size", effects.name), axis, names)
        .titled(&effects.name)
        .sized(WIDTH, 16.0 * levels.len() as f64 + 110.0)
        .without_key()
        .upright("", 0.0)
        .series(0)
        .spans("95 % interval", 2.5, 1.0, spans.collect());
    Some(chart.series(0).points("posterior mean", points.collect()))
}
