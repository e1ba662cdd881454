//! A scene as PNG: shapes by `tiny-skia`, text from the outlines of an embedded font.
//!
//! The font is Roboto Regular, reduced to Latin, Greek, Cyrillic and the signs that plots use; a character that it
//! lacks is drawn as its box for missing characters. The layout does not depend on it.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, Stroke as Pen, StrokeDash,
    Transform,
};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::ink::Ink;
use crate::scene::{Anchor, Mark, Paint, Scene, Shape, Stroke};

/// Roboto Regular 2.138, Apache License 2.0; see `font/README.md`.
const FONT: &[u8] = include_bytes!("../font/Roboto-subset.ttf");
/// The largest side in pixels; larger pictures are refused.
const LARGEST: f64 = 16_384.0;

/// Why a drawing could not be written as PNG.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The picture is too large or empty.
    #[error(
        "a picture of {width} × {height} pixels cannot be drawn; sides from 1 to 16384 can, use a smaller scale"
    )]
    Size {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
    },
    /// The embedded font cannot be read.
    #[error("the embedded font does not read: {0}; the program's file is damaged, install it again")]
    Font(String),
    /// The encoder failed.
    #[error("the picture cannot be encoded: {0}; write an .svg file instead")]
    Encoding(String),
}

impl Scene {
    /// The drawing as the bytes of a PNG file, on white, with `scale` pixels for each of its own (2 is sharp).
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        let (width, height) = ((self.width * scale).ceil(), (self.height * scale).ceil());
        let fits = |side: f64| (1.0..=LARGEST).contains(&side);
        let pixmap =
            if fits(width) && fits(height) { Pixmap::new(width as u32, height as u32) } else { None };
        let mut pixmap = pixmap.ok_or(PngError::Size { width, height })?;
        let face = Face::parse(FONT, 0).map_err(|error| PngError::Font(error.to_string()))?;
        pixmap.fill(colour(Ink::Surface.into()));
        let scale = Transform::from_scale(scale as f32, scale as f32);
        for mark in &self.marks {
            draw(&mut pixmap, mark, &face, scale);
        }
        pixmap.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
    }
}

fn draw(pixmap: &mut Pixmap, mark: &Mark, face: &Face<'_>, scale: Transform) {
    let (path, scale) = match &mark.shape {
        Shape::Text { x, y, size, anchor, bold, text } => {
            let (path, width) = outline(face, text, *size as f32);
            let left = match anchor {
                Anchor::Start => *x as f32,
                Anchor::Middle => *x as f32 - width / 2.0,
                Anchor::End => *x as f32 - width,
            };
            let at = scale.pre_translate(left, *y as f32);
            if let (true, Some(path), Some(fill)) = (*bold, &path, mark.fill) {
                // Only one weight is embedded; a thin outline makes the bold one.
                pen(pixmap, path, Stroke::solid(fill, 0.035 * size), at);
            }
            (path, at)
        }
        shape => (path(shape), scale),
    };
    let Some(path) = path else { return };
    if let Some(fill) = mark.fill {
        pixmap.fill_path(&path, &brush(fill), FillRule::Winding, scale, None);
    }
    if let Some(stroke) = mark.stroke {
        pen(pixmap, &path, stroke, scale);
    }
}

fn pen(pixmap: &mut Pixmap, path: &Path, stroke: Stroke, scale: Transform) {
    let dash = StrokeDash::new(stroke.dash.lengths().to_vec(), 0.0);
    let width = stroke.width as f32;
    let pen = Pen { width, dash, line_cap: LineCap::Butt, line_join: LineJoin::Round, ..Pen::default() };
    pixmap.stroke_path(path, &brush(stroke.paint), &pen, scale, None);
}

fn brush(paint: Paint) -> Brush<'static> {
    let mut brush = Brush { anti_alias: true, ..Brush::default() };
    brush.set_color(colour(paint));
    brush
}

fn colour(paint: Paint) -> Color {
    let [red, green, blue] = paint.ink.rgb();
    Color::from_rgba8(red, green, blue, (paint.opacity.clamp(0.0, 1.0) * 255.0).round() as u8)
}

/// The path of a shape; `None` for a shape without extent.
fn path(shape: &Shape) -> Option<Path> {
    let mut builder = PathBuilder::new();
    match shape {
        Shape::Path { runs, closed } => {
            for run in runs {
                for (i, &(x, y)) in run.iter().enumerate() {
                    let (x, y) = (x as f32, y as f32);
                    if i == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
                }
                if *closed {
                    builder.close();
                }
            }
        }
        Shape::Circle { x, y, radius } => builder.push_circle(*x as f32, *y as f32, *radius as f32),
        Shape::Dots { points, radius } => {
            for &(x, y) in points {
                builder.push_circle(x as f32, y as f32, *radius as f32);
            }
        }
        Shape::Rect { x, y, width, height, round } => {
            rounded(&mut builder, [*x, *y, *width, *height].map(|v| v as f32), *round as f32);
        }
        Shape::Text { .. } => return None,
    }
    builder.finish()
}

fn rounded(builder: &mut PathBuilder, [x, y, width, height]: [f32; 4], round: f32) {
    let r = round.min(width / 2.0).min(height / 2.0).max(0.0);
    let (right, bottom) = (x + width, y + height);
    builder.move_to(x + r, y);
    builder.line_to(right - r, y);
    builder.quad_to(right, y, right, y + r);
    builder.line_to(right, bottom - r);
    builder.quad_to(right, bottom, right - r, bottom);
    builder.line_to(x + r, bottom);
    builder.quad_to(x, bottom, x, bottom - r);
    builder.line_to(x, y + r);
    builder.quad_to(x, y, x + r, y);
    builder.close();
}

/// A line of text from the origin, and its width; no kerning.
fn outline(face: &Face<'_>, text: &str, size: f32) -> (Option<Path>, f32) {
    let unit = size / f32::from(face.units_per_em());
    let mut builder = PathBuilder::new();
    let mut x = 0.0;
    for c in text.chars() {
        let glyph = face.glyph_index(c).unwrap_or(GlyphId(0));
        face.outline_glyph(glyph, &mut Placed { builder: &mut builder, x, unit });
        x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * unit;
    }
    (builder.finish(), x)
}

/// An outline moved to its place and flipped, because fonts count upwards.
struct Placed<'a> {
    builder: &'a mut PathBuilder,
    x: f32,
    unit: f32,
}

impl Placed<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.unit, -y * self.unit)
    }
}

impl OutlineBuilder for Placed<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_shapes_leave_ink() {
        let mut scene = Scene::new(80.0, 30.0, "test");
        scene.push(Mark::text(40.0, 20.0, 14.0, Anchor::Middle, Ink::Text, "−κ ≤ 10⁻³"));
        let bytes = scene.to_png(2.0).unwrap();
        let decoded = Pixmap::decode_png(&bytes).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (160, 60));
        let dark = decoded.pixels().iter().filter(|p| p.red() < 100).count();
        assert!(dark > 100, "{dark} dark pixels");
    }

    #[test]
    fn a_size_out_of_reach_is_an_error() {
        assert!(matches!(Scene::new(1e6, 10.0, "").to_png(2.0), Err(PngError::Size { .. })));
        assert!(matches!(Scene::new(10.0, 10.0, "").to_png(f64::NAN), Err(PngError::Size { .. })));
    }

    #[test]
    fn every_sign_of_the_plots_is_in_the_font() {
        let face = Face::parse(FONT, 0).unwrap();
        let missing: Vec<char> = "0Aaz−≤≥±×√∞≈·–…⁰¹²³⁴⁵⁶⁷⁸⁹⁻κμτσβ₀₁₂é%‹›"
            .chars()
            .filter(|&c| face.glyph_index(c).is_none())
            .collect();
        assert_eq!(missing, Vec::<char>::new());
    }
}
