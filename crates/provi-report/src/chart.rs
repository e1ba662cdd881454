//! Charts: axes, layers of marks, and a legend above them so that it never covers data.

mod axis;
mod clip;
mod draw;
mod layer;
mod legend;

pub use axis::Axis;
pub use layer::{Bar, Point, Span};

use crate::scene::{Dash, Scene};
use layer::{Layer, Look};
use legend::{Legend, ROW};

/// The natural width of a chart in pixels; at half of it, text is still legible.
pub const WIDTH: f64 = 540.0;

/// A chart as data: what to draw, not where. Values that are not finite are left out.
///
/// ```
/// use provi_report::{Axis, Chart, Form};
/// let chart = Chart::new("error against steps", Axis::log("steps"), Axis::log("error, nats"))
///     .line("prox", &[(10.0, 1.0), (100.0, 0.12), (1000.0, 0.011)])
///     .slope("slope −1", (10.0, 1.0), -1.0);
/// assert!(chart.scene().to_svg(Form::Standalone).starts_with("<svg"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    pub(crate) label: String,
    pub(crate) title: Option<String>,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) layers: Vec<Layer>,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Whether its legend is drawn.
    pub(crate) keyed: bool,
    series: usize,
}

impl Chart {
    /// An empty chart; the label describes it to readers who cannot see it.
    pub fn new(label: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            label: label.into(),
            title: None,
            x,
            y,
            layers: Vec::new(),
            width: WIDTH,
            height: 320.0,
            keyed: true,
            series: 0,
        }
    }

    /// A heading inside the drawing.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Another size, in pixels.
    pub fn sized(mut self, width: f64, height: f64) -> Self {
        (self.width, self.height) = (width.clamp(160.0, 4000.0), height.clamp(100.0, 20_000.0));
        self
    }

    /// Gives the next line or points the colour, dash and marker of the n-th series; each new name then counts one
    /// on.
    pub fn series(mut self, n: usize) -> Self {
        self.series = n;
        self
    }

    fn look(&mut self) -> Look {
        let look = Look::of(self.series);
        self.series += 1;
        look
    }

    /// A line through points in order, broken where a value is not finite; an empty name is not in the legend.
    pub fn line(mut self, name: &str, points: &[(f64, f64)]) -> Self {
        let look = self.look();
        self.layers.push(Layer::Line { points: points.to_vec(), closed: false, look, name: name.to_owned() });
        self
    }

    /// A line that keeps each value until the next.
    pub fn steps(self, name: &str, points: &[(f64, f64)]) -> Self {
        let mut corners: Vec<(f64, f64)> = Vec::with_capacity(2 * points.len());
        for &(x, y) in points {
            if let Some(&(_, before)) = corners.last() {
                corners.push((x, before));
            }
            corners.push((x, y));
        }
        self.line(name, &corners)
    }

    /// A shaded band between two curves: (x, low, high).
    pub fn band(mut self, name: &str, edges: &[(f64, f64, f64)]) -> Self {
        let look = self.look();
        self.layers.push(Layer::Band { edges: edges.to_vec(), look, name: name.to_owned() });
        self
    }

    /// Points, with their error bars if they have any.
    pub fn points(mut self, name: &str, points: Vec<Point>) -> Self {
        let look = self.look();
        self.layers.push(Layer::Points { points, look, name: name.to_owned() });
        self
    }

    /// Many small points without hover texts.
    pub fn cloud(mut self, name: &str, points: &[(f64, f64)]) -> Self {
        let look = self.look();
        let (points, titles) = (points.to_vec(), Vec::new());
        self.layers.push(Layer::Cloud { points, titles, look, name: name.to_owned() });
        self
    }

    /// Places that are not seen but say something under the pointer, such as those of a curve.
    pub fn hover(mut self, points: Vec<((f64, f64), String)>) -> Self {
        self.layers.push(Layer::Hover { points });
        self
    }

    /// Small points, each with its hover text.
    pub fn scatter(mut self, name: &str, points: &[((f64, f64), String)]) -> Self {
        let look = self.look();
        let (points, titles) = points.iter().cloned().unzip();
        self.layers.push(Layer::Cloud { points, titles, look, name: name.to_owned() });
        self
    }

    /// A histogram: bars from 0.
    pub fn bars(mut self, name: &str, bars: Vec<Bar>) -> Self {
        let look = self.look();
        self.layers.push(Layer::Bars { bars, look, name: name.to_owned() });
        self
    }

    /// Horizontal intervals, `thickness` pixels thick.
    pub fn spans(mut self, name: &str, thickness: f64, opacity: f64, spans: Vec<Span>) -> Self {
        let look = self.look();
        self.layers.push(Layer::Spans { spans, thickness, opacity, look, name: name.to_owned() });
        self
    }

    /// The set {c + L u: ‖u‖ = radius} for a 2 × 2 covariance [[a, b], [b, c]] = LLᵀ.
    pub fn ellipse(mut self, name: &str, centre: (f64, f64), covariance: [f64; 3], radius: f64) -> Self {
        let look = self.look();
        let points = layer::ellipse(centre, covariance, radius);
        self.layers.push(Layer::Line { points, closed: true, look, name: name.to_owned() });
        self
    }

    /// A dashed line across the chart at a height.
    pub fn level(mut self, name: &str, y: f64) -> Self {
        self.layers.push(Layer::Rule { at: y, upright: false, name: name.to_owned() });
        self
    }

    /// A dashed line from bottom to top.
    pub fn upright(mut self, name: &str, x: f64) -> Self {
        self.layers.push(Layer::Rule { at: x, upright: true, name: name.to_owned() });
        self
    }

    /// A guide y = c·x^power through a point, for two logarithmic axes (a line of that slope on linear ones).
    pub fn slope(mut self, name: &str, through: (f64, f64), power: f64) -> Self {
        self.layers.push(Layer::Slope { through, power, name: name.to_owned() });
        self
    }

    /// The diagonal y = x.
    pub fn diagonal(mut self, name: &str) -> Self {
        let look = Look { dash: Dash::Short, ..Look::guide() };
        self.layers.push(Layer::Diagonal { look, name: name.to_owned() });
        self
    }

    /// A few words beside a point.
    pub fn note(mut self, at: (f64, f64), text: &str) -> Self {
        self.layers.push(Layer::Note { at, text: text.to_owned() });
        self
    }

    /// The last line without dashes.
    pub fn solid(mut self) -> Self {
        if let Some(Layer::Line { look, .. }) = self.layers.last_mut() {
            look.dash = Dash::Solid;
        }
        self
    }

    /// The last line with long dashes.
    pub fn dashed(mut self) -> Self {
        if let Some(Layer::Line { look, .. }) = self.layers.last_mut() {
            look.dash = Dash::Long;
        }
        self
    }

    /// The last line with dots.
    pub fn dotted(mut self) -> Self {
        if let Some(Layer::Line { look, .. }) = self.layers.last_mut() {
            look.dash = Dash::Dotted;
        }
        self
    }

    /// Mutes the last line, as a guide for the eye.
    pub fn muted(mut self) -> Self {
        if let Some(Layer::Line { look, .. }) = self.layers.last_mut() {
            *look = Look::guide();
        }
        self
    }

    /// No legend; several charts can share one [`Chart::key`].
    pub fn without_key(mut self) -> Self {
        self.keyed = false;
        self
    }

    /// The legend alone.
    pub fn key(&self) -> Scene {
        let legend = Legend::new(&self.layers, WIDTH - 16.0);
        let mut scene = Scene::new(WIDTH, ROW * legend.rows as f64 + 8.0, "legend");
        legend.draw(&mut scene, 8.0, 4.0);
        scene
    }

    /// The chart laid out at its own size.
    pub fn scene(&self) -> Scene {
        let mut scene = Scene::new(self.width, self.height, self.label.clone());
        self.draw(&mut scene, 0.0, 0.0);
        scene
    }
}

/// Charts side by side, `columns` to a row. If the first draws no legend of its own, its legend is above all.
pub fn grid(label: &str, charts: &[Chart], columns: usize) -> Scene {
    let columns = columns.clamp(1, charts.len().max(1));
    let cell = charts.iter().fold((0.0f64, 0.0f64), |(w, h), c| (w.max(c.width), h.max(c.height)));
    let rows = charts.len().div_ceil(columns);
    let width = cell.0 * columns as f64;
    let shared =
        charts.first().filter(|first| !first.keyed).map(|first| Legend::new(&first.layers, width - 16.0));
    let top = shared.as_ref().map_or(0.0, |legend| ROW * legend.rows as f64);
    let mut scene = Scene::new(width, top + cell.1 * rows as f64, label);
    if let Some(legend) = shared {
        legend.draw(&mut scene, 8.0, 4.0);
    }
    for (i, chart) in charts.iter().enumerate() {
        chart.draw(&mut scene, cell.0 * (i % columns) as f64, top + cell.1 * (i / columns) as f64);
    }
    scene
}
