//! Figures as drawings.

use crate::figure::{Axis, Figure, Mark, Panel, Scale};
use provi_report::{Chart, Point, Scene, grid};

/// If there are more points than this, they are drawn small and without hover text.
const MANY: usize = 80;

impl Figure {
    /// All panels in one drawing.
    pub fn scene(&self) -> Scene {
        let (columns, width, height) = match self.panels.len() {
            0 | 1 => (1, 620.0, 420.0),
            2 | 4 => (2, 520.0, 400.0),
            _ => (3, 440.0, 390.0),
        };
        let charts: Vec<Chart> = self.panels.iter().map(|p| p.chart().sized(width, height)).collect();
        grid(&self.caption, &charts, columns)
    }

    /// Each panel as its own drawing, for a page that puts them side by side if there is room.
    pub fn scenes(&self) -> Vec<Scene> {
        // Two side by side fill a column of text at nearly their own size.
        let (width, height) = if self.panels.len() > 1 { (400.0, 340.0) } else { (540.0, 380.0) };
        self.panels.iter().map(|p| p.chart().sized(width, height).scene()).collect()
    }
}

impl Panel {
    fn chart(&self) -> Chart {
        let mut chart =
            Chart::new(self.title.clone(), axis(&self.x), axis(&self.y)).titled(self.title.clone());
        for series in &self.series {
            if !series.band.is_empty() {
                chart = chart.series(series.color).band("", &series.band);
            }
            chart = chart.series(series.color);
            let name = &series.name;
            chart = match series.mark {
                Mark::Measured => chart.line(name, &series.points).solid(),
                Mark::Rival => chart.line(name, &series.points),
                Mark::Bound => chart.line(name, &series.points).dashed(),
                Mark::SecondBound => chart.line(name, &series.points).dotted(),
                Mark::Reference => chart.line(name, &series.points).muted(),
                Mark::Points if series.points.len() > MANY => chart.cloud(name, &series.points),
                Mark::Points => {
                    let points = series.points.iter().map(|&(x, y)| Point { x, y, ..Point::default() });
                    chart.points(name, points.collect())
                }
            };
        }
        chart
    }
}

fn axis(axis: &Axis) -> provi_report::Axis {
    match axis.scale {
        Scale::Linear => provi_report::Axis::linear(&axis.label),
        Scale::Log => provi_report::Axis::log(&axis.label),
    }
}
