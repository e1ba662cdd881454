//! Correlations as a lower triangle of coloured squares, with numbers where there is room.

use crate::chart::WIDTH;
use crate::fit::FitPage;
use crate::ink::Ink;
use crate::number::fixed;
use crate::scene::{Anchor, Mark, Scene, Shape, Stroke};
use crate::text;

/// Most coefficients shown.
const MOST: usize = 20;
const SIZE: f64 = 13.0;
/// Margin at the outer edge.
const EDGE: f64 = 8.0;

pub(crate) fn scene(page: &FitPage) -> Scene {
    let shown = chosen(page);
    if shown.len() < 2 {
        return Scene::message(WIDTH, "no pair of coefficients with a known correlation");
    }
    let n = shown.len();
    let names: Vec<String> =
        shown.iter().map(|&i| text::fitted(&page.coefficients[i].name, SIZE, 0.3 * WIDTH)).collect();
    // A name is at the end of its row and the head of its column; the cells are as large as the names allow.
    let room = |row: usize| (WIDTH - 2.0 * EDGE - 6.0 - text::width(&names[row], SIZE)) / row.max(1) as f64;
    let cell = (0..n).map(room).fold(46.0, f64::min);
    let top = 40.0;
    let which = if n < page.coefficients.len() {
        format!("the {n} most correlated of {} coefficients", page.coefficients.len())
    } else {
        format!("{n} coefficients")
    };
    let height = top + cell * n as f64 + EDGE;
    let mut scene = Scene::new(WIDTH, height, format!("posterior correlations of {which}"));
    key(&mut scene, EDGE, 10.0);
    for (row, &i) in shown.iter().enumerate() {
        let y = top + cell * row as f64;
        for (column, &j) in shown[..row].iter().enumerate() {
            square(&mut scene, page, (i, j), (EDGE + cell * column as f64, y), cell);
        }
        let x = EDGE + cell * row as f64 + if row == 0 { 0.0 } else { 6.0 };
        let name = Mark::text(x, y + cell / 2.0 + 4.0, SIZE, Anchor::Start, Ink::Text, names[row].clone());
        scene.push(name.titled(&page.coefficients[i].name));
    }
    scene
}

/// The coefficients with the strongest correlations, in the order of the model.
fn chosen(page: &FitPage) -> Vec<usize> {
    let d = page.coefficients.len();
    if d <= MOST {
        let any = page.correlation_of(0, 0).is_some() || !page.strongest_pairs(1).is_empty();
        return if any { (0..d).collect() } else { Vec::new() };
    }
    let mut shown: Vec<usize> = Vec::new();
    for (i, j, _) in page.strongest_pairs(MOST * 4) {
        for k in [i, j] {
            if shown.len() < MOST && !shown.contains(&k) {
                shown.push(k);
            }
        }
    }
    shown.sort_unstable();
    shown
}

fn square(scene: &mut Scene, page: &FitPage, (i, j): (usize, usize), (x, y): (f64, f64), cell: f64) {
    let names = [i, j].map(|k| page.coefficients[k].name.as_str());
    let side = cell - 1.5;
    let shape = Shape::Rect { x, y, width: side, height: side, round: (cell / 12.0).min(3.0) };
    let Some(r) = page.correlation_of(i, j) else {
        let title = format!("{} and {}: unknown", names[0], names[1]);
        scene.push(Mark::stroked(shape, Stroke::solid(Ink::Grid, 1.0)).titled(title));
        return;
    };
    let mut mark = Mark::filled(shape, colour(r).at(strength(r)));
    mark.stroke = Some(Stroke::solid(Ink::Grid, 0.8));
    scene.push(mark.titled(format!("{} and {}: {}", names[0], names[1], fixed(r, 3))));
    if cell >= 41.0 {
        // The background colour on a full square, the text colour on a pale one.
        let ink = if strength(r) > 0.6 { Ink::Surface } else { Ink::Text };
        let size = 12.5;
        let (x, y) = (x + side / 2.0, y + side / 2.0 + size * 0.35);
        scene.push(Mark::text(x, y, size, Anchor::Middle, ink, fixed(r, 2)));
    }
}

fn colour(r: f64) -> Ink {
    Ink::Series(if r < 0.0 { 1 } else { 0 })
}

fn strength(r: f64) -> f64 {
    r.abs().clamp(0.0, 1.0)
}

/// The scale from −1 to 1.
fn key(scene: &mut Scene, left: f64, top: f64) {
    scene.push(Mark::text(left, top + 12.0, SIZE, Anchor::Start, Ink::Muted, "−1"));
    for k in 0..21 {
        let r = f64::from(k - 10) / 10.0;
        let shape =
            Shape::Rect { x: left + 24.0 + 9.0 * f64::from(k), y: top, width: 9.0, height: 14.0, round: 0.0 };
        scene.push(Mark::filled(shape, colour(r).at(strength(r))));
    }
    scene.push(Mark::text(
        left + 24.0 + 9.0 * 21.0 + 8.0,
        top + 12.0,
        SIZE,
        Anchor::Start,
        Ink::Muted,
        "1  correlation",
    ));
    let shape = Shape::Rect { x: left + 24.0, y: top, width: 189.0, height: 14.0, round: 0.0 };
    scene.push(Mark::stroked(shape, Stroke::solid(Ink::Axis, 0.8)));
}
