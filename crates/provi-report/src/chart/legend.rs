//! The legend: one entry per named layer, in rows above the frame.

use super::draw::{TICK, marker};
use super::layer::{Layer, Look};
use crate::ink::Ink;
use crate::scene::{Anchor, Mark, Scene, Shape, Stroke};
use crate::text;

/// Width of the sample before a name, and of the space after it.
const SAMPLE: f64 = 26.0;
const GAP: f64 = 16.0;
/// The height of a row.
pub(crate) const ROW: f64 = 20.0;

/// The named layers with their places: (column offset, row).
pub(crate) struct Legend<'a> {
    entries: Vec<(&'a Layer, String, f64, usize)>,
    pub(crate) rows: usize,
}

impl<'a> Legend<'a> {
    pub(crate) fn new(layers: &'a [Layer], room: f64) -> Self {
        let (mut entries, mut x, mut row) = (Vec::new(), 0.0, 0);
        for layer in layers.iter().filter(|l| !l.name().is_empty()) {
            let shown = text::fitted(layer.name(), TICK, room - SAMPLE - 6.0);
            let width = SAMPLE + 6.0 + text::width(&shown, TICK);
            if x > 0.0 && x + width > room {
                (x, row) = (0.0, row + 1);
            }
            entries.push((layer, shown, x, row));
            x += width + GAP;
        }
        let rows = if entries.is_empty() { 0 } else { row + 1 };
        Self { entries, rows }
    }

    pub(crate) fn draw(&self, scene: &mut Scene, left: f64, top: f64) {
        for (layer, name, x, row) in &self.entries {
            let (x, y) = (left + x, top + ROW * *row as f64 + ROW / 2.0);
            sample(scene, layer, x, y);
            scene.push(Mark::text(x + SAMPLE + 6.0, y + 4.5, TICK, Anchor::Start, Ink::Text, name.clone()));
        }
    }
}

fn sample(scene: &mut Scene, layer: &Layer, x: f64, y: f64) {
    let line = |look: &Look, width: f64| {
        let stroke = Stroke { paint: look.ink.into(), width, dash: look.dash };
        Mark::line((x, y), (x + SAMPLE, y), stroke)
    };
    let block = |height: f64| Shape::Rect { x, y: y - height / 2.0, width: SAMPLE, height, round: 2.0 };
    match layer {
        Layer::Line { look, .. } => scene.push(line(look, 2.0)),
        Layer::Diagonal { look, .. } => scene.push(line(look, 1.5)),
        Layer::Band { look, .. } => scene.push(Mark::filled(block(11.0), look.ink.at(0.25))),
        Layer::Bars { look, .. } => scene.push(Mark::filled(block(11.0), look.ink.at(0.45))),
        Layer::Spans { look, thickness, opacity, .. } => {
            scene.push(Mark::filled(block(thickness.min(11.0)), look.ink.at(*opacity)));
        }
        Layer::Points { points, look, .. } => {
            if points.iter().any(|p| p.error.is_some()) {
                let middle = x + SAMPLE / 2.0;
                scene.push(Mark::line((middle, y - 8.0), (middle, y + 8.0), Stroke::solid(look.ink, 1.5)));
            }
            scene.push(marker(look, x + SAMPLE / 2.0, y, 4.0));
        }
        Layer::Cloud { look, .. } => scene.push(marker(look, x + SAMPLE / 2.0, y, 3.0)),
        Layer::Rule { .. } | Layer::Slope { .. } => scene.push(line(&Look::guide(), 1.5)),
        Layer::Note { .. } | Layer::Hover { .. } => {}
    }
}
