//! Quantities computed from draws: the parameters of a Stan model on their own scale.

use crate::chart::{Axis, Chart};
use crate::number::{beside, grouped};
use crate::page::{Block, Column, Section, Table};

/// Most rows of the table.
const ROWS: usize = 200;
/// Most densities drawn.
const CHARTS: usize = 12;

/// Quantities of a model on their own scale. Estimates from draws: none has a proved error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantities {
    /// The quantities; empty if there are none besides the coefficients.
    pub rows: Vec<Quantity>,
    /// The probability of the intervals.
    pub level: f64,
    /// How the numbers were computed, in a sentence.
    pub origin: String,
    /// Whether they are scales beside the coefficients, rather than what the coordinates stand for.
    pub scales: bool,
}

/// One quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantity {
    /// The name, as in the model.
    pub name: String,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// The ends of its central interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Its density as a curve; empty if it is not drawn.
    pub density: Vec<(f64, f64)>,
    /// The density of its prior on the same stretch; empty if it is not drawn.
    pub prior: Vec<(f64, f64)>,
}

impl Quantities {
    /// The table of quantities; a section without blocks if there are none.
    pub(crate) fn section(&self) -> Section {
        if self.rows.is_empty() {
            return Section::default();
        }
        let end = |p: f64| format!("{} %", (p * 1e6).round() / 1e4);
        let ends = [0.5 * (1.0 - self.level), 0.5 * (1.0 + self.level)].map(end);
        let numbers = ["mean", "sd", &ends[0], &ends[1]].map(Column::numbers);
        let columns = [Column::words("quantity")].into_iter().chain(numbers).collect();
        let row = |q: &Quantity| {
            let numbers = [q.mean, q.sd, q.low, q.high].map(|x| beside(x, q.sd));
            std::iter::once(q.name.clone()).chain(numbers).collect()
        };
        let rows = self.rows.iter().take(ROWS).map(row).collect();
        let mut note = match self.scales {
            true => format!("{}.", self.origin),
            false => format!("From {}.", self.origin),
        };
        if self.rows.len() > ROWS {
            let all = grouped(self.rows.len() as u64);
            note.push_str(&format!(" The first {ROWS} of {all} quantities; the fit's files hold all."));
        }
        let heading = if self.scales { "Scales" } else { "On the scale of the model" }.to_owned();
        let mut blocks = Vec::new();
        let charts = self.charts();
        if let Some(first) = charts.first() {
            let caption = "The posterior density of each, against the prior's.".to_owned();
            let scenes = charts.iter().map(Chart::scene).collect();
            blocks.push(Block::Figure { scenes, key: Some(first.key()), caption });
        }
        blocks.push(Block::Table(Table { columns, rows, note }));
        Section { heading, blocks }
    }

    /// The densities that are known, one small chart each.
    pub(crate) fn charts(&self) -> Vec<Chart> {
        let drawn = self.rows.iter().filter(|q| q.density.len() > 1);
        drawn.take(CHARTS).map(Quantity::chart).collect()
    }
}

impl Quantity {
    fn chart(&self) -> Chart {
        let top = self.density.iter().map(|(_, y)| *y).fold(0.0, f64::max);
        let ends = (self.density[0].0, self.density[self.density.len() - 1].0);
        let (x, y) = (Axis::linear("").range(ends.0, ends.1), Axis::bare("").including(0.0).including(top));
        let area: Vec<(f64, f64, f64)> = self.density.iter().map(|&(x, p)| (x, 0.0, p)).collect();
        let label = format!("posterior and prior density of {}", self.name);
        let chart = Chart::new(label, x, y).titled(&self.name).sized(250.0, 170.0).without_key();
        let chart = chart.series(0).band("", &area).series(0).line("posterior", &self.density);
        match self.prior.is_empty() {
            true => chart,
            false => chart.series(2).line("prior", &self.prior),
        }
    }
}
