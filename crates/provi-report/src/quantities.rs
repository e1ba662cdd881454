//! Quantities that draws were carried to: the parameters of a Stan model on their own scale.

use crate::number::{beside, grouped};
use crate::page::{Block, Column, Section, Table};

/// Rows of the table.
const ROWS: usize = 200;

/// Quantities of a model on their own scale. Estimates from draws: none has a proved error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantities {
    /// One by one; none where the coefficients are on the model's own scale.
    pub rows: Vec<Quantity>,
    /// The probability of the intervals.
    pub level: f64,
    /// Where the numbers come from, in a sentence.
    pub origin: String,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantity {
    /// As in the model.
    pub name: String,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// The ends of its central interval.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

impl Quantities {
    /// Their table; a section without blocks where there are none.
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
        let mut note = format!("From {}.", self.origin);
        if self.rows.len() > ROWS {
            let all = grouped(self.rows.len() as u64);
            note.push_str(&format!(" The first {ROWS} of {all} quantities; the fit's files hold all."));
        }
        let heading = "On the scale of the model".to_owned();
        Section { heading, blocks: vec![Block::Table(Table { columns, rows, note })] }
    }
}
