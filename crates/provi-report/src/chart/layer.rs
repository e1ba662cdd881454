//! What can be drawn on a chart, in the units of the data.

use crate::ink::Ink;
use crate::scene::Dash;

/// A point, with an error bar if it has one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// The ends of its vertical error bar.
    pub error: Option<(f64, f64)>,
    /// Hover text.
    pub title: String,
}

/// A bar of a histogram, from `base` to `height`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Left edge.
    pub low: f64,
    /// Right edge.
    pub high: f64,
    /// Where it begins: usually 0.
    pub base: f64,
    /// Where it ends.
    pub height: f64,
    /// Hover text.
    pub title: String,
}

/// A horizontal interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Vertical position, or the row on an axis of names.
    pub y: f64,
    /// Left end.
    pub low: f64,
    /// Right end.
    pub high: f64,
    /// Hover text.
    pub title: String,
}

/// Colour, dash and marker of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    pub(crate) ink: Ink,
    pub(crate) dash: Dash,
    pub(crate) marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Disc,
    Square,
    Diamond,
    Triangle,
}

impl Look {
    pub(crate) fn of(series: usize) -> Self {
        let dash = [Dash::Solid, Dash::Long, Dash::Short, Dash::Dotted][series % 4];
        let marker = [Marker::Disc, Marker::Square, Marker::Diamond, Marker::Triangle][series % 4];
        Self { ink: Ink::Series(series), dash, marker }
    }

    pub(crate) fn guide() -> Self {
        Self { ink: Ink::Muted, dash: Dash::Short, marker: Marker::Disc }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Layer {
    Line {
        points: Vec<(f64, f64)>,
        closed: bool,
        look: Look,
        name: String,
    },
    Band {
        edges: Vec<(f64, f64, f64)>,
        look: Look,
        name: String,
    },
    Points {
        points: Vec<Point>,
        look: Look,
        name: String,
    },
    /// With hover texts, one for each point; or without any.
    Cloud {
        points: Vec<(f64, f64)>,
        titles: Vec<String>,
        look: Look,
        name: String,
    },
    Bars {
        bars: Vec<Bar>,
        look: Look,
        name: String,
    },
    Spans {
        spans: Vec<Span>,
        thickness: f64,
        opacity: f64,
        look: Look,
        name: String,
    },
    Rule {
        at: f64,
        upright: bool,
        name: String,
    },
    Slope {
        through: (f64, f64),
        power: f64,
        name: String,
    },
    Diagonal {
        look: Look,
        name: String,
    },
    Note {
        at: (f64, f64),
        text: String,
    },
    /// Places that are not seen but say something under the pointer.
    Hover {
        points: Vec<((f64, f64), String)>,
    },
}

impl Layer {
    /// Every pair of values that the axes must include; NaN if a layer needs none.
    pub(crate) fn extent(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line { points, .. } | Self::Cloud { points, .. } => points.clone(),
            Self::Band { edges, .. } => {
                edges.iter().flat_map(|&(x, low, high)| [(x, low), (x, high)]).collect()
            }
            Self::Points { points, .. } => points
                .iter()
                .flat_map(|p| {
                    let (low, high) = p.error.unwrap_or((p.y, p.y));
                    [(p.x, p.y), (p.x, low), (p.x, high)]
                })
                .collect(),
            Self::Bars { bars, .. } => {
                bars.iter().flat_map(|b| [(b.low, b.base), (b.high, b.height)]).collect()
            }
            Self::Spans { spans, .. } => spans.iter().flat_map(|s| [(s.low, s.y), (s.high, s.y)]).collect(),
            Self::Rule { at, upright: true, .. } => vec![(*at, f64::NAN)],
            Self::Rule { at, upright: false, .. } => vec![(f64::NAN, *at)],
            Self::Slope { .. } | Self::Diagonal { .. } | Self::Note { .. } | Self::Hover { .. } => Vec::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Line { name, .. }
            | Self::Band { name, .. }
            | Self::Points { name, .. }
            | Self::Cloud { name, .. }
            | Self::Bars { name, .. }
            | Self::Spans { name, .. }
            | Self::Rule { name, .. }
            | Self::Slope { name, .. }
            | Self::Diagonal { name, .. } => name,
            Self::Note { .. } | Self::Hover { .. } => "",
        }
    }
}

/// The outline {c + Lu}, as 96 points; empty if the matrix is not a covariance.
pub(crate) fn ellipse(centre: (f64, f64), [a, b, c]: [f64; 3], radius: f64) -> Vec<(f64, f64)> {
    let (first, schur) = (a.sqrt(), (c - b * b / a).max(0.0).sqrt());
    if !(first > 0.0 && first.is_finite() && b.is_finite() && schur.is_finite()) {
        return Vec::new();
    }
    let turn = |i: i32| std::f64::consts::TAU * f64::from(i) / 96.0;
    let at =
        |u: f64, v: f64| (centre.0 + radius * first * u, centre.1 + radius * (b / first * u + schur * v));
    (0..=96).map(|i| at(turn(i).cos(), turn(i).sin())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipse_has_its_mahalanobis_radius() {
        let [a, b, c] = [4.0, -1.5, 1.0];
        let determinant = a * c - b * b;
        for (x, y) in ellipse((1.0, 2.0), [a, b, c], 2.45) {
            let (x, y) = (x - 1.0, y - 2.0);
            let squared = (c * x * x - 2.0 * b * x * y + a * y * y) / determinant;
            assert!((squared.sqrt() - 2.45).abs() < 1e-9);
        }
        assert!(ellipse((0.0, 0.0), [0.0, 0.0, 1.0], 1.0).is_empty());
        assert!(ellipse((0.0, 0.0), [f64::NAN, 0.0, 1.0], 1.0).is_empty());
    }
}
