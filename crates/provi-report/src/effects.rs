//! Effects of variables as plain data, and their section of a page.

use crate::chart::Chart;
use crate::page::{Block, Section};
use crate::plot::effect_charts;

/// What a model says about one variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectChart {
    /// The variable.
    pub title: String,
    /// What is on the axis of responses.
    pub unit: String,
    /// The words for the intervals, for the legend.
    pub interval: String,
    /// The value that means no effect, if there is one.
    pub nothing: Option<f64>,
    /// One series, or one for each value of a second variable.
    pub series: Vec<EffectSeries>,
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectSeries {
    /// The value of the second variable; empty if there is none.
    pub name: String,
    /// The points, in order.
    pub points: Vec<EffectPoint>,
}

/// A response with its interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectPoint {
    /// The variable's number.
    pub x: f64,
    /// Its level, or the words for a contrast; empty for a number.
    pub label: String,
    /// The estimate.
    pub y: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// A proved bound of the estimate's error, if there is one.
    pub error: Option<f64>,
}

/// Effects of the variables of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectsFacts {
    /// One for each variable; empty if there are none.
    pub charts: Vec<EffectChart>,
    /// What they are, what is held where, and what is proved, in sentences.
    pub notes: Vec<String>,
}

impl EffectChart {
    /// Whether the variable is a number: a curve can be drawn.
    pub(crate) fn over_numbers(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).all(|p| p.label.is_empty())
    }

    /// The labels of all points, each once, in order.
    pub(crate) fn labels(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for p in self.series.iter().flat_map(|series| &series.points) {
            if !out.contains(&p.label) {
                out.push(p.label.clone());
            }
        }
        out
    }
}

impl EffectsFacts {
    /// The charts, for a file of their own.
    pub fn charts(&self) -> Vec<Chart> {
        effect_charts(&self.charts)
    }

    /// The section of a page; without blocks if nothing is shown.
    pub fn section(&self) -> Section {
        let charts = self.charts();
        let Some(first) = charts.first() else { return Section::default() };
        let key = self.charts.first().filter(|chart| chart.series.len() == 1).map(|_| first.key());
        let scenes = charts.iter().map(Chart::scene).collect();
        let mut caption = self.notes.join(" ");
        if charts.len() < self.charts.len() {
            caption.push_str(&format!(" The first {} of {} variables.", charts.len(), self.charts.len()));
        }
        Section { heading: "Effects".to_owned(), blocks: vec![Block::Figure { scenes, key, caption }] }
    }
}
