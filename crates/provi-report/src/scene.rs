//! The elements of a plot after layout: shapes at positions, in pixels. Writers turn them into files.

use crate::ink::Ink;
use crate::text;

/// A finished drawing. [`crate::svg::Form`] writes it as SVG, `to_png` as PNG.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Width in pixels at its natural size.
    pub width: f64,
    /// Height in pixels at its natural size.
    pub height: f64,
    /// What it shows, for readers who cannot see it.
    pub label: String,
    pub(crate) marks: Vec<Mark>,
}

/// One shape with its colours, and a text that appears under the pointer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) shape: Shape,
    pub(crate) fill: Option<Paint>,
    pub(crate) stroke: Option<Stroke>,
    pub(crate) title: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Polylines that belong together.
    Path {
        runs: Vec<Vec<(f64, f64)>>,
        closed: bool,
    },
    Circle {
        x: f64,
        y: f64,
        radius: f64,
    },
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        round: f64,
    },
    /// Many small discs of one size.
    Dots {
        points: Vec<(f64, f64)>,
        radius: f64,
    },
    /// Text on a base line.
    Text {
        x: f64,
        y: f64,
        size: f64,
        anchor: Anchor,
        bold: bool,
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paint {
    pub(crate) ink: Ink,
    pub(crate) opacity: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) paint: Paint,
    pub(crate) width: f64,
    pub(crate) dash: Dash,
}

/// How a line is dashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dash {
    Solid,
    Long,
    Short,
    Dotted,
}

impl Dash {
    /// Lengths of strokes and gaps.
    pub(crate) fn lengths(self) -> &'static [f32] {
        match self {
            Self::Solid => &[],
            Self::Long => &[9.0, 4.0],
            Self::Short => &[4.0, 3.0],
            Self::Dotted => &[1.5, 3.5],
        }
    }
}

impl From<Ink> for Paint {
    fn from(ink: Ink) -> Self {
        Self { ink, opacity: 1.0 }
    }
}

impl Ink {
    /// The colour, partly transparent.
    pub(crate) fn at(self, opacity: f64) -> Paint {
        Paint { ink: self, opacity }
    }
}

impl Stroke {
    pub(crate) fn solid(paint: impl Into<Paint>, width: f64) -> Self {
        Self { paint: paint.into(), width, dash: Dash::Solid }
    }
}

impl Mark {
    pub(crate) fn filled(shape: Shape, paint: impl Into<Paint>) -> Self {
        Self { shape, fill: Some(paint.into()), stroke: None, title: None }
    }

    pub(crate) fn stroked(shape: Shape, stroke: Stroke) -> Self {
        Self { shape, fill: None, stroke: Some(stroke), title: None }
    }

    pub(crate) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into()).filter(|t: &String| !t.is_empty());
        self
    }

    pub(crate) fn text(x: f64, y: f64, size: f64, anchor: Anchor, ink: Ink, text: impl Into<String>) -> Self {
        Self::filled(Shape::Text { x, y, size, anchor, bold: false, text: text.into() }, ink)
    }

    pub(crate) fn bold(mut self) -> Self {
        if let Shape::Text { bold, .. } = &mut self.shape {
            *bold = true;
        }
        self
    }

    pub(crate) fn line(from: (f64, f64), to: (f64, f64), stroke: Stroke) -> Self {
        Self::stroked(Shape::Path { runs: vec![vec![from, to]], closed: false }, stroke)
    }
}

impl Scene {
    pub(crate) fn new(width: f64, height: f64, label: impl Into<String>) -> Self {
        Self { width, height, label: label.into(), marks: Vec::new() }
    }

    pub(crate) fn push(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// A drawing that says why there is nothing to show.
    pub(crate) fn message(width: f64, text_: &str) -> Self {
        let mut scene = Self::new(width, 60.0, text_);
        let shown = text::fitted(text_, 14.0, width - 20.0);
        scene.push(Mark::text(width / 2.0, 35.0, 14.0, Anchor::Middle, Ink::Muted, shown).titled(text_));
        scene
    }
}
