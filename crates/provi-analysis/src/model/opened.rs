//! Data to which a formula has been applied: a frame of rows in memory, or a scan of files.

use provi::target::{Family, Glm, Prior};
use provi_table::{
    CodedColumn, Dropped, Formula, FrameOptions, GroupTerm, ModelFrame, Recipe, Scan, Variable,
};

use super::data::Data;
use super::target::ModelTarget;
use super::warnings::{notable, warnings};
use crate::error::{Error, Result};
use crate::model::memory::ModelSize;
use crate::record::fit_file::sha256;

/// A frame of rows in memory, or a scan of files.
pub(super) enum Opened {
    Frame(Box<ModelFrame>),
    Scan(Box<Scan>),
}

/// What a model needs to know of the data.
pub(super) struct Head<'a> {
    pub(super) names: &'a [String],
    pub(super) population: usize,
    pub(super) groups: &'a [GroupTerm],
    pub(super) response_name: &'a str,
    pub(super) has_trials: bool,
    /// The levels of an ordered response; none for others.
    pub(super) categories: &'a [String],
    /// Whether the response is a time to an event.
    pub(super) has_events: bool,
    /// Whether some times may lie in intervals.
    pub(super) has_intervals: bool,
    /// The mean of the response.
    pub(super) mean: f64,
    /// Whether the response has only the values 0 and 1, or only −1 and 1.
    pub(super) is_binary: bool,
    /// The standard deviation of the response; 1 if it does not vary.
    pub(super) deviation: f64,
    pub(super) rows: usize,
    /// Numbers that the design holds.
    pub(super) stored: usize,
}

impl Head<'_> {
    /// The sizes that a fit of it has.
    pub(super) fn size(&self) -> ModelSize {
        let largest = self.groups.iter().max_by_key(|group| group.levels.len() * group.columns.len());
        ModelSize {
            coefficients: self.names.len(),
            rows: self.rows,
            stored: self.stored,
            group: largest.map(|group| (group.text.clone(), group.levels.len())),
        }
    }
}

/// What a reader needs to know of the data.
pub(super) struct Facts {
    pub(super) formula: String,
    pub(super) success: Option<String>,
    pub(super) categories: Vec<String>,
    pub(super) rows: usize,
    pub(super) dropped: Dropped,
    /// A digest of the rows used, if some rows of a table in memory were left out; empty otherwise.
    pub(super) rows_sha256: String,
    pub(super) warnings: Vec<String>,
    pub(super) groups: Vec<GroupTerm>,
    pub(super) recipe: Recipe,
    /// Ranges and levels of the columns; empty for files that are read block by block.
    pub(super) variables: Vec<Variable>,
    /// The line of the file that each row comes from; empty for files that are read block by block.
    pub(super) lines: Vec<usize>,
}

impl Opened {
    /// Applies the formula to the data.
    pub(super) fn new(data: &Data, formula: &Formula, text: &str, options: &FrameOptions) -> Result<Self> {
        let refuse = |error| Error::table(error, text);
        if let Some(files) = data.as_files() {
            let scan = files.learn(formula, text, options)?;
            data.is_digested_as(scan.sha256.clone());
            return Ok(Self::Scan(Box::new(scan)));
        }
        let table = data.table().map_err(refuse)?;
        Ok(Self::Frame(Box::new(ModelFrame::new(&table, formula, options).map_err(refuse)?)))
    }

    /// The population's columns, with the means and deviations by which they were standardized, if they were.
    pub(super) fn columns(&self) -> &[CodedColumn] {
        let recipe = match self {
            Self::Frame(frame) => frame.recipe(),
            Self::Scan(scan) => scan.recipe(),
        };
        &recipe.population.columns
    }

    pub(super) fn head(&self) -> Head<'_> {
        match self {
            Self::Frame(frame) => Head {
                names: &frame.names,
                population: frame.design.population_columns,
                groups: &frame.groups,
                response_name: &frame.response_name,
                has_trials: frame.trials.is_some(),
                categories: &frame.categories,
                has_events: frame.spans.is_some(),
                has_intervals: frame.spans.as_ref().is_some_and(|spans| spans.iter().any(is_interval)),
                mean: frame.response.iter().sum::<f64>() / frame.rows.max(1) as f64,
                is_binary: is_binary(&frame.response),
                deviation: deviation(&frame.response),
                rows: frame.rows,
                stored: frame.design.population.len()
                    + frame.design.groups.iter().map(|group| 2 * group.values.len()).sum::<usize>(),
            },
            Self::Scan(scan) => Head {
                names: &scan.names,
                population: scan.recipe().population.columns.len(),
                groups: &scan.groups,
                response_name: &scan.response_name,
                has_trials: scan.has_trials,
                categories: &scan.categories,
                has_events: scan.has_events,
                has_intervals: scan.has_intervals,
                mean: scan.response.mean,
                is_binary: {
                    let other = scan.response.zeros.max(scan.response.minus_ones);
                    other + scan.response.ones == scan.rows
                },
                deviation: if scan.response.sd > 0.0 { scan.response.sd } else { 1.0 },
                rows: scan.rows,
                // Its rows are read again at each pass.
                stored: 0,
            },
        }
    }

    pub(super) fn facts(&self) -> Result<Facts> {
        let success = |levels: &Option<[String; 2]>| levels.as_ref().map(|[_, success]| success.clone());
        Ok(match self {
            Self::Frame(frame) => Facts {
                formula: frame.formula.clone(),
                success: success(&frame.response_levels),
                categories: frame.categories.clone(),
                rows: frame.rows,
                dropped: frame.dropped.clone(),
                rows_sha256: rows_sha256(frame),
                warnings: warnings(frame)?,
                groups: frame.groups.clone(),
                recipe: frame.recipe().clone(),
                variables: frame.variables.clone(),
                lines: (0..frame.rows).filter_map(|row| frame.line_of_row(row)).collect(),
            },
            Self::Scan(scan) => Facts {
                formula: scan.formula.clone(),
                success: success(&scan.response_levels),
                categories: scan.categories.clone(),
                rows: scan.rows,
                dropped: scan.dropped.clone(),
                rows_sha256: String::new(),
                warnings: notable(&scan.warnings),
                groups: scan.groups.clone(),
                recipe: scan.recipe().clone(),
                variables: Vec::new(),
                lines: Vec::new(),
            },
        })
    }

    /// The model, conditional on the scales in family and prior.
    pub(super) fn target(self, data: &Data, family: Family, prior: Prior) -> Result<ModelTarget> {
        let frame = match (self, data.as_files()) {
            (Self::Scan(scan), Some(files)) => return files.target(*scan, family, prior),
            (Self::Scan(_), None) => return Err(provi::Error::Empty { what: "data (no files)" }.into()),
            (Self::Frame(frame), _) => frame,
        };
        let at_line = |error| match error {
            provi::Error::Response { family, row, value, needed } => Error::Response {
                column: frame.response_name.clone(),
                line: frame.line_of_row(row).unwrap_or(row),
                table: data.name.clone(),
                value,
                needed,
                family,
            },
            other => Error::Library(other),
        };
        let design = super::design::design(&frame.design)?;
        let target = match (&frame.trials, &frame.spans) {
            (Some(trials), _) => Glm::successes(family, design, &frame.response, trials, prior),
            (None, Some(spans)) => Glm::times(family, design, &super::design::times(spans), prior),
            (None, None) => Glm::new(family, design, &frame.response, prior),
        };
        let mut target = target.map_err(at_line)?.with_names(frame.names.clone())?;
        if let Some(weights) = &frame.weights {
            target = target.with_weights(weights)?;
        }
        if let Some(offsets) = &frame.offsets {
            target = target.with_offsets(offsets)?;
        }
        Ok(ModelTarget::Memory(Box::new(target)))
    }
}

/// Whether an event is known to lie between two times, and not only at one or after one.
fn is_interval([_, from, to]: &[f64; 3]) -> bool {
    from < to && to.is_finite()
}

/// A digest of the lines used; empty if all rows are used.
pub(super) fn rows_sha256(frame: &ModelFrame) -> String {
    if frame.dropped.rows == 0 {
        return String::new();
    }
    let lines = (0..frame.rows).filter_map(|row| frame.line_of_row(row));
    sha256(&lines.flat_map(|line| (line as u64).to_le_bytes()).collect::<Vec<u8>>())
}

/// Whether there are only the values 0 and 1, or only −1 and 1.
fn is_binary(response: &[f64]) -> bool {
    let all = |low: f64| response.iter().all(|&y| y.total_cmp(&low).is_eq() || y.total_cmp(&1.0).is_eq());
    all(0.0) || all(-1.0)
}

/// The standard deviation of some numbers; 1 if they do not vary.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
    if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 }
}
