//! The layout of a chart: margins as wide as their contents need, then frame, grid, layers, legend.

use super::Chart;
use super::axis::{Kind, Scale};
use super::clip::Frame;
use super::layer::{Layer, Look, Marker};
use super::legend::{Legend, ROW};
use crate::ink::Ink;
use crate::number::power_of_ten;
use crate::scene::{Anchor, Dash, Mark, Scene, Shape, Stroke};
use crate::text;
use crate::ticks::Ticks;

/// Sizes of text, in pixels.
pub(crate) const TITLE: f64 = 15.0;
pub(crate) const TICK: f64 = 13.0;
/// The largest width of row names, as a share of the chart.
const NAMES: f64 = 0.36;
/// Margin at the outer edge.
const EDGE: f64 = 8.0;

/// The two scales and the frame they span.
struct Places {
    frame: Frame,
    x: Scale,
    y: Scale,
}

impl Places {
    fn of(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }
}

impl Chart {
    /// Draws into a scene, with the upper left corner at (left, top).
    pub(crate) fn draw(&self, scene: &mut Scene, left: f64, top: f64) {
        let extent: Vec<(f64, f64)> = self.layers.iter().flat_map(Layer::extent).collect();
        let range_x = self.x.settle(extent.iter().map(|p| p.0));
        let range_y = self.y.settle(extent.iter().map(|p| p.1));
        let legend = Legend::new(if self.keyed { &self.layers } else { &[] }, self.width - 2.0 * EDGE);
        let mut above = top + EDGE;
        if let Some(title) = &self.title {
            let shown = text::fitted(title, TITLE * 1.08, self.width - 2.0 * EDGE);
            above += TITLE;
            let mark = Mark::text(left + EDGE, above, TITLE, Anchor::Start, Ink::Text, shown).bold();
            scene.push(mark.titled(title.clone()));
            above += 8.0;
        }
        legend.draw(scene, left + EDGE, above);
        above += ROW * legend.rows as f64;
        let ticks_x = self.x.ticks(range_x, 0.8 * self.width);
        let label_x = with_factor(&self.x.label, &ticks_x);
        let below = 22.0 + if label_x.is_empty() { 0.0 } else { 20.0 } + EDGE / 2.0;
        let ticks_y = self.y.ticks(range_y, self.height - (above - top) - below);
        let label_y = with_factor(&self.y.label, &ticks_y);
        if !label_y.is_empty() {
            above += 16.0;
            let shown = text::fitted(&label_y, TICK, self.width - 2.0 * EDGE);
            scene.push(
                Mark::text(left + EDGE, above - 1.0, TICK, Anchor::Start, Ink::Muted, shown).titled(label_y),
            );
        }
        above += 10.0;
        let names = match &self.y.kind {
            Kind::Names(names) => {
                let room = NAMES * self.width;
                names.iter().map(|name| text::fitted(name, TICK, room)).collect()
            }
            _ => Vec::new(),
        };
        let widest = names.iter().chain(&ticks_y.labels).map(|l| text::width(l, TICK)).fold(0.0, f64::max);
        let frame = Frame {
            left: left + EDGE + widest + if widest > 0.0 { 8.0 } else { 0.0 },
            right: left + self.width - EDGE - 10.0,
            top: above,
            bottom: (top + self.height - below).max(above + 10.0),
        };
        let names_y = matches!(self.y.kind, Kind::Names(_));
        let (from, to) = if names_y { (frame.top, frame.bottom) } else { (frame.bottom, frame.top) };
        let places = Places {
            frame,
            x: Scale::new(&self.x, range_x, frame.left, frame.right),
            y: Scale::new(&self.y, range_y, from, to),
        };
        grid_x(scene, &places, &ticks_x, &label_x);
        self.grid_y(scene, &places, &ticks_y, &names);
        for layer in &self.layers {
            draw_layer(scene, layer, &places);
        }
    }

    fn grid_y(&self, scene: &mut Scene, places: &Places, ticks: &Ticks, names: &[String]) {
        let frame = places.frame;
        for (value, label) in ticks.values.iter().zip(&ticks.labels) {
            let y = places.y.place(*value);
            scene.push(Mark::line((frame.left, y), (frame.right, y), Stroke::solid(Ink::Grid, 1.0)));
            scene.push(Mark::text(frame.left - 7.0, y + 4.5, TICK, Anchor::End, Ink::Muted, label.clone()));
        }
        if let Kind::Names(full) = &self.y.kind {
            for (i, (shown, full)) in names.iter().zip(full).enumerate() {
                let y = places.y.place(i as f64);
                scene.push(
                    Mark::text(frame.left - 8.0, y + 4.5, TICK, Anchor::End, Ink::Text, shown.clone())
                        .titled(if shown == full { String::new() } else { full.clone() }),
                );
            }
        }
    }
}

fn grid_x(scene: &mut Scene, places: &Places, ticks: &Ticks, label: &str) {
    let frame = places.frame;
    let (edge, axis) = (frame.right + 10.0, Stroke::solid(Ink::Axis, 1.0));
    scene.push(Mark::line((frame.left, frame.bottom), (frame.right, frame.bottom), axis));
    // If labels would touch, only every second, third, … is drawn.
    let widest = ticks.labels.iter().map(|l| text::width(l, TICK)).fold(0.0, f64::max) + 8.0;
    let gaps = ticks.values.windows(2).map(|w| (places.x.place(w[1]) - places.x.place(w[0])).abs());
    let narrowest = gaps.fold(f64::INFINITY, f64::min);
    let every = ((widest / narrowest).ceil() as usize).max(1);
    let mut taken = f64::NEG_INFINITY;
    for (i, (value, label)) in ticks.values.iter().zip(&ticks.labels).enumerate() {
        let x = places.x.place(*value);
        scene.push(Mark::line((x, frame.top), (x, frame.bottom), Stroke::solid(Ink::Grid, 1.0)));
        scene.push(Mark::line((x, frame.bottom), (x, frame.bottom + 4.0), axis));
        let half = text::width(label, TICK) / 2.0;
        let x = x.clamp(frame.left - EDGE + half, (edge - half).max(frame.left - EDGE + half));
        // At the edges labels move inwards, where the last one may already be.
        if i % every == 0 && x - half > taken {
            scene.push(Mark::text(x, frame.bottom + 18.0, TICK, Anchor::Middle, Ink::Muted, label.clone()));
            taken = x + half + 4.0;
        }
    }
    if !label.is_empty() {
        let shown = text::fitted(label, TICK, edge - frame.left);
        let middle = ((frame.left + frame.right) / 2.0).min(edge - text::width(&shown, TICK) / 2.0);
        let y = frame.bottom + 38.0;
        scene.push(Mark::text(middle, y, TICK, Anchor::Middle, Ink::Muted, shown).titled(label));
    }
}

/// "nats (×10⁻⁷)".
fn with_factor(label: &str, ticks: &Ticks) -> String {
    match ticks.factor {
        Some(factor) => format!("{label} (×{})", power_of_ten(factor)).trim_start().to_owned(),
        None => label.to_owned(),
    }
}

fn draw_layer(scene: &mut Scene, layer: &Layer, places: &Places) {
    let frame = places.frame;
    match layer {
        Layer::Line { points, closed, look, .. } => {
            let runs = frame.polyline(points.iter().map(|&p| places.of(p)));
            if *closed && runs.len() == 1 {
                scene.push(Mark::filled(Shape::Path { runs: runs.clone(), closed: true }, look.ink.at(0.12)));
            }
            let stroke = Stroke { paint: look.ink.into(), width: 2.0, dash: look.dash };
            if !runs.is_empty() {
                scene.push(Mark::stroked(Shape::Path { runs, closed: false }, stroke));
            }
        }
        Layer::Band { edges, look, .. } => band(scene, edges, look, places),
        Layer::Points { points, look, .. } => {
            for point in points {
                let (x, y) = places.of((point.x, point.y));
                if let Some((low, high)) = point.error.filter(|_| x.is_finite()) {
                    let ends = [places.y.place(low), places.y.place(high)];
                    if ends.iter().all(|y| y.is_finite()) && (frame.left..=frame.right).contains(&x) {
                        let [from, to] = ends.map(|y| frame.clamp_y(y));
                        let stroke = Stroke::solid(look.ink, 1.5);
                        scene.push(Mark::line((x, from), (x, to), stroke).titled(point.title.clone()));
                    }
                }
                if frame.holds((x, y)) {
                    scene.push(marker(look, x, y, 4.0).titled(point.title.clone()));
                }
            }
        }
        Layer::Cloud { points, titles, look, .. } if titles.len() == points.len() => {
            for (&point, title) in points.iter().zip(titles) {
                let (x, y) = places.of(point);
                if frame.holds((x, y)) {
                    let shape = Shape::Circle { x, y, radius: 2.4 };
                    scene.push(Mark::filled(shape, look.ink.at(0.5)).titled(title.clone()));
                }
            }
        }
        Layer::Cloud { points, look, .. } => {
            let points: Vec<_> = points.iter().map(|&p| places.of(p)).filter(|&p| frame.holds(p)).collect();
            if !points.is_empty() {
                scene.push(Mark::filled(Shape::Dots { points, radius: 2.2 }, look.ink.at(0.5)));
            }
        }
        Layer::Bars { bars, look, .. } => {
            for bar in bars {
                let (left, right) = (places.x.place(bar.low), places.x.place(bar.high));
                let (top, bottom) = (places.y.place(bar.height), places.y.place(bar.base));
                if [left, right, top, bottom].iter().all(|v| v.is_finite()) {
                    let (left, right) = (frame.clamp_x(left), frame.clamp_x(right));
                    let (top, bottom) = (frame.clamp_y(top.min(bottom)), frame.clamp_y(bottom.max(top)));
                    // A small gap between neighbours.
                    let width = (right - left - 1.0).max(0.5).min(frame.right - left);
                    let shape = Shape::Rect { x: left, y: top, width, height: bottom - top, round: 0.0 };
                    scene.push(Mark::filled(shape, look.ink.at(0.45)).titled(bar.title.clone()));
                }
            }
        }
        Layer::Spans { spans, thickness, opacity, look, .. } => {
            for span in spans {
                let (left, right) = (places.x.place(span.low), places.x.place(span.high));
                let y = places.y.place(span.y);
                let seen =
                    left <= frame.right && right >= frame.left && (frame.top..=frame.bottom).contains(&y);
                if !seen {
                    continue;
                }
                let (left, right) = (frame.clamp_x(left), frame.clamp_x(right));
                let round = (thickness / 2.0).min(3.0);
                // An interval of zero width is still drawn.
                let width = (right - left).max(1.0);
                let shape = Shape::Rect { x: left, y: y - thickness / 2.0, width, height: *thickness, round };
                scene.push(Mark::filled(shape, look.ink.at(*opacity)).titled(span.title.clone()));
            }
        }
        Layer::Rule { at, upright, .. } => {
            let stroke = Stroke { paint: Ink::Muted.into(), width: 1.5, dash: Dash::Short };
            let (x, y) = places.of((*at, *at));
            if *upright && x >= frame.left && x <= frame.right {
                scene.push(Mark::line((x, frame.top), (x, frame.bottom), stroke));
            } else if !*upright && y >= frame.top && y <= frame.bottom {
                scene.push(Mark::line((frame.left, y), (frame.right, y), stroke));
            }
        }
        Layer::Slope { through, power, .. } => {
            let both = places.x.is_log() && places.y.is_log();
            let at = |x: f64| {
                let y = if both {
                    through.1 * (x / through.0).powf(*power)
                } else {
                    through.1 + power * (x - through.0)
                };
                (x, y)
            };
            let (low, high) = places.x.range();
            guide(scene, &Look::guide(), places, [at(low), at(high)]);
        }
        Layer::Diagonal { look, .. } => {
            let (low, high) = places.x.range();
            guide(scene, look, places, [(low, low), (high, high)]);
        }
        Layer::Hover { points } => {
            for (point, title) in points {
                let (x, y) = places.of(*point);
                if frame.holds((x, y)) {
                    let shape = Shape::Circle { x, y, radius: 5.0 };
                    scene.push(Mark::filled(shape, Ink::Text.at(0.0)).titled(title.clone()));
                }
            }
        }
        Layer::Note { at, text } => {
            let (x, y) = places.of(*at);
            if frame.holds((x, y)) {
                let shown = text::fitted(text, TICK, frame.right - frame.left);
                let width = text::width(&shown, TICK);
                let x = (x + 6.0).min(frame.right - width).max(frame.left);
                let y = (y - 6.0).max(frame.top + TICK);
                scene.push(Mark::text(x, y, TICK, Anchor::Start, Ink::Text, shown));
            }
        }
    }
}

fn guide(scene: &mut Scene, look: &Look, places: &Places, ends: [(f64, f64); 2]) {
    let runs = places.frame.polyline(ends.into_iter().map(|p| places.of(p)));
    if !runs.is_empty() {
        let stroke = Stroke { paint: look.ink.into(), width: 1.5, dash: look.dash };
        scene.push(Mark::stroked(Shape::Path { runs, closed: false }, stroke));
    }
}

fn band(scene: &mut Scene, edges: &[(f64, f64, f64)], look: &Look, places: &Places) {
    let frame = places.frame;
    let inside = edges.iter().filter_map(|&(x, low, high)| {
        let (x, low, high) = (places.x.place(x), places.y.place(low), places.y.place(high));
        let fits = low.is_finite() && high.is_finite() && x >= frame.left && x <= frame.right;
        fits.then(|| (x, frame.clamp_y(low), frame.clamp_y(high)))
    });
    let inside: Vec<_> = inside.collect();
    let there = inside.iter().map(|&(x, _, high)| (x, high));
    let back = inside.iter().rev().map(|&(x, low, _)| (x, low));
    let outline: Vec<_> = there.chain(back).collect();
    if outline.len() >= 4 {
        scene.push(Mark::filled(Shape::Path { runs: vec![outline], closed: true }, look.ink.at(0.22)));
    }
}

/// A series' marker around a point.
pub(crate) fn marker(look: &Look, x: f64, y: f64, radius: f64) -> Mark {
    let corners = |points: &[(f64, f64)]| {
        let run = points.iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect();
        Shape::Path { runs: vec![run], closed: true }
    };
    let shape = match look.marker {
        Marker::Disc => Shape::Circle { x, y, radius },
        Marker::Square => corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Marker::Diamond => corners(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        Marker::Triangle => corners(&[(0.0, -1.2), (1.2, 0.95), (-1.2, 0.95)]),
    };
    Mark { stroke: Some(Stroke::solid(Ink::Surface, 1.0)), ..Mark::filled(shape, look.ink) }
}
