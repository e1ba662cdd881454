//! One block of a scan, and the memory of its rows.

use super::{Scan, notes::Notes, questions::Questions};
use crate::{
    error::Result,
    frame::{CodedFactor, DesignRows, NewLevels, Reading, Recipe, Spans, View},
    table::Table,
};

/// Some rows of a scan: the part of a [`ModelFrame`](crate::ModelFrame) that depends on rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameRows {
    /// The design.
    pub design: DesignRows,
    /// The response, one number per row; with trials, the successes.
    pub response: Vec<f64>,
    /// The number of trials of each row, for a binomial response.
    pub trials: Option<Vec<f64>>,
    /// For a response of times: what is known of each.
    pub spans: Option<Spans>,
    /// The weight of each row.
    pub weights: Option<Vec<f64>>,
    /// What is added to the linear predictor of each row.
    pub offsets: Option<Vec<f64>>,
    /// Line of the file from which each row comes, from 1; in a Parquet file, its row.
    pub lines: Vec<usize>,
    /// The file from which they all come.
    pub file: String,
}

/// Summary statistics of a response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResponseSummary {
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation, with n − 1; 0 for a single row.
    pub sd: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Number of rows in which it is 0.
    pub zeros: usize,
    /// Number of rows in which it is 1.
    pub ones: usize,
    /// Number of rows in which it is −1.
    pub minus_ones: usize,
}

impl ResponseSummary {
    /// From the notes of all rows; `levels` are those of a response of text.
    pub(super) fn of(notes: &Notes, questions: &Questions, levels: Option<&[String; 2]>) -> Self {
        if let Some([_, success]) = levels {
            let ones = questions.groupings.first().and_then(|_| notes.groupings.first());
            let ones =
                ones.and_then(|counts| counts.get(std::slice::from_ref(success))).copied().unwrap_or(0);
            let (n, zeros) = (notes.kept as f64, notes.kept - ones);
            let mean = ones as f64 / n;
            let sd = (mean * zeros as f64 / (n - 1.0).max(1.0)).sqrt();
            return Self { mean, sd, min: 0.0, max: 1.0, zeros, ones, minus_ones: 0 };
        }
        let [minus_ones, zeros, ones] = notes.signs;
        let Some(moments) = notes.response else {
            return Self { mean: 0.0, sd: 0.0, min: 0.0, max: 0.0, zeros, ones, minus_ones };
        };
        let spread = moments.spread();
        Self { mean: spread.mean, sd: spread.sd, min: moments.min, max: moments.max, zeros, ones, minus_ones }
    }
}

impl Scan {
    /// The frame of a block of cells; `None` if every row has a missing value.
    pub(super) fn frame_rows(&self, table: &Table) -> Result<Option<FrameRows>> {
        let rows = table.complete_rows();
        if rows.is_empty() {
            return Ok(None);
        }
        let view = View { table, rows: &rows };
        let (levels, categories) = (self.response_levels.clone(), self.categories.clone());
        let reading = Reading { formula: &self.parsed, options: &self.options, levels, categories };
        let outcomes = reading.outcomes(view)?;
        let (design, _) = self.recipe.design_by(view, NewLevels::Refuse, self.source.shards.threads)?;
        Ok(Some(FrameRows {
            design,
            response: outcomes.values,
            trials: outcomes.trials,
            spans: outcomes.spans,
            weights: reading.weights(view)?,
            offsets: self.recipe.offsets(view).map_err(|error| self.parsed.point_column(error))?,
            lines: view.lines(),
            file: table.name().to_owned(),
        }))
    }
}

impl Recipe {
    /// Bytes of one row of [`FrameRows`]; a time to an event has two numbers more.
    pub(super) fn bytes_of_rows(&self, times: bool) -> usize {
        let groups = self.groups.iter().map(|group| 2 + group.block.columns.len());
        let others = if times { 7 } else { 5 };
        8 * (self.population.columns.len() + groups.sum::<usize>() + others)
    }

    /// Bytes of one row while it is computed, in addition to its cells and itself.
    pub(super) fn bytes_of_work(&self) -> usize {
        let factor = |factor: &CodedFactor| match factor {
            CodedFactor::Category { .. } => 40,
            _ => 8,
        };
        let factors = self.blocks().flat_map(|block| &block.terms).flat_map(|term| &term.factors);
        let groups = self.groups.iter().map(|group| 64 + 32 * group.factors.len());
        let columns = self.blocks().map(|block| 8 * block.columns.len()).max().unwrap_or(0);
        factors.map(factor).sum::<usize>() + groups.sum::<usize>() + columns + 64
    }
}
