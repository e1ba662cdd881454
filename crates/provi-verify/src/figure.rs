//! The contents of a picture before it is drawn: numbers, names and scales.

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances for equal differences.
    Linear,
    /// Equal distances for equal ratios.
    Log,
}

/// An axis: what it measures, in which unit, on which scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The label, with its unit.
    pub label: String,
    /// The scale.
    pub scale: Scale,
}

impl Axis {
    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log }
    }

    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear }
    }
}

/// The meaning of a series, which determines how it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Measured: a solid line.
    Measured,
    /// Measured at scattered positions: points.
    Points,
    /// Measured, on curves that may coincide: each with its own dash.
    Rival,
    /// A proved bound: a dashed line.
    Bound,
    /// A second bound beside the first: a dotted line.
    SecondBound,
    /// A reference slope or level: a thin grey line.
    Reference,
}

/// Points (x, y) with a name, and optionally a band (x, low, high) around them.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The entry of the legend.
    pub name: String,
    /// What it stands for.
    pub mark: Mark,
    /// Index of its colour in the palette; series that belong together share it.
    pub color: usize,
    /// (x, y).
    pub points: Vec<(f64, f64)>,
    /// (x, low, high).
    pub band: Vec<(f64, f64, f64)>,
}

impl Series {
    /// A series without a band.
    pub fn new(name: impl Into<String>, mark: Mark, color: usize, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), mark, color, points, band: Vec::new() }
    }

    /// The same with a band.
    pub fn with_band(mut self, band: Vec<(f64, f64, f64)>) -> Self {
        self.band = band;
        self
    }
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What the panel shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, in this order.
    pub series: Vec<Series>,
}

/// Panels side by side, with one caption.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name of its file, without the ending.
    pub name: String,
    /// What to see in it.
    pub caption: String,
    /// The panels.
    pub panels: Vec<Panel>,
}
