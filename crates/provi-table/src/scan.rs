//! A formula applied to tables that do not fit into memory.

pub(crate) mod digest;
mod frame_rows;
mod learning;
mod moments;
mod notes;
mod part;
mod prefetch;
mod questions;
mod source;
mod survey;
mod surveyed;

use std::ops::ControlFlow;

pub use frame_rows::{FrameRows, ResponseSummary};
pub use learning::{Learned, Learning};
pub use part::{Budget, Part};
pub use survey::Survey;

use crate::{
    error::{Error, Result},
    formula::Formula,
    frame::{Dropped, FrameOptions, GroupTerm, Head, OriginalScale, Recipe, Role, Warning},
    shards::Shards,
};
use notes::Notes;
use part::BLOCKS;
use prefetch::{Give, prefetched};
use questions::{Questions, bytes_of_cells};
use source::Source;

/// A formula applied to files that are read block by block: like a [`ModelFrame`](crate::ModelFrame), without the
/// rows.
///
/// Its recipe is that of the frame of all files one below the other, with means and deviations up to rounding. Its
/// rows come from [`each`](Scan::each), as often as needed. Invariant: a file that changes between two passes is
/// refused by name.
#[derive(Debug)]
pub struct Scan {
    /// Names of all coefficients: the population's, then the groups'.
    pub names: Vec<String>,
    /// What each coefficient is.
    pub roles: Vec<Role>,
    /// The population terms in canonical text, without the intercept.
    pub terms: Vec<String>,
    /// The group terms.
    pub groups: Vec<GroupTerm>,
    /// Number of rows used.
    pub rows: usize,
    /// The response's name.
    pub response_name: String,
    /// For a response of text: the levels that count as 0 and 1.
    pub response_levels: Option<[String; 2]>,
    /// For an ordered response: its levels from the lowest, which is 1, to the highest; otherwise none.
    pub categories: Vec<String>,
    /// Summary statistics of the response.
    pub response: ResponseSummary,
    /// Whether the response counts successes among trials.
    pub has_trials: bool,
    /// Whether the response is a time to an event.
    pub has_events: bool,
    /// Whether they may lie in intervals.
    pub has_intervals: bool,
    /// Whether each row has a weight.
    pub has_weights: bool,
    /// Whether something is added to the linear predictor.
    pub has_offsets: bool,
    /// Whether the first column is the intercept.
    pub intercept: bool,
    /// The formula in canonical text, with `.` expanded.
    pub formula: String,
    /// Rows left out because of missing values.
    pub dropped: Dropped,
    /// Warnings that do not stop the fit.
    pub warnings: Vec<Warning>,
    /// For one file: its SHA-256, in hexadecimal. For several: `shards:` and the SHA-256 of their digests.
    pub sha256: String,
    recipe: Recipe,
    source: Source,
    parsed: Formula,
    options: FrameOptions,
    block_rows: usize,
}

/// The parts from which a scan is made.
struct Parts<'a> {
    head: Head,
    recipe: Recipe,
    levels: Option<[String; 2]>,
    categories: Vec<String>,
    dropped: Dropped,
    notes: &'a Notes,
    questions: &'a Questions,
    source: Source,
    formula: Formula,
    options: FrameOptions,
    budget: Budget,
}

impl Scan {
    /// Learns the recipe of a formula from files, in one process; see [`Learning`] for several.
    ///
    /// A scan is refused for the same reasons as a frame in memory; errors name the file besides the line. The
    /// terms `poly(..)` and `bs(..)` are refused too: they need all values of a column at once. Cost: one pass over
    /// the columns used, one more for text files, one more to standardize, and one reading of the files for their
    /// digest, at the same time.
    pub fn learn(shards: Shards, formula: &Formula, options: &FrameOptions, budget: Budget) -> Result<Self> {
        let mut learning = Learning::new(shards, formula, options, budget)?;
        loop {
            let survey = learning.survey(Part::WHOLE)?;
            match learning.take(survey)? {
                Learned::Further(next) => learning = next,
                Learned::Done(scan) => return Ok(*scan),
            }
        }
    }

    fn new(parts: Parts<'_>) -> Result<Self> {
        let Parts {
            head,
            recipe,
            levels,
            categories,
            dropped,
            notes,
            questions,
            source,
            formula,
            options,
            budget,
        } = parts;
        let digests: Vec<String> = notes.digests.iter().map(|(_, digest)| digest.clone()).collect();
        let response = ResponseSummary::of(notes, questions, levels.as_ref());
        let bytes = BLOCKS * recipe.bytes_of_rows(formula.has_events())
            + bytes_of_cells(&source)
            + recipe.bytes_of_work();
        let block_rows = budget.rows(bytes)?;
        Ok(Self {
            names: recipe.names.clone(),
            roles: head.roles,
            terms: head.terms,
            groups: head.groups,
            rows: notes.kept,
            response_name: formula.response_name(),
            response_levels: levels,
            categories,
            response,
            has_trials: formula.has_trials(),
            has_events: formula.has_events(),
            has_intervals: formula.open_ends().is_some(),
            has_weights: options.weights.is_some(),
            has_offsets: !recipe.offsets.is_empty(),
            intercept: formula.intercept,
            formula: recipe.formula.clone(),
            dropped,
            warnings: head.warnings,
            sha256: digest::of_all(&digests),
            recipe,
            source,
            parsed: formula,
            options,
            block_rows,
        })
    }

    /// Visits the rows of a part, block by block, in the order of the files.
    ///
    /// Another thread reads and makes the next block while the visitor works on the last. It has ended when this
    /// function returns; an error of the visitor ends it early. Memory: see [`Budget`].
    pub fn each<E: From<Error>>(
        &self,
        part: Part,
        visit: &mut dyn FnMut(FrameRows) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let make = |give: &mut Give<'_, FrameRows>| {
            self.source.blocks(part, self.block_rows, &mut |_, table| match self.frame_rows(&table)? {
                Some(rows) => give(rows),
                None => Ok(ControlFlow::Continue(())),
            })
        };
        prefetched(make, visit)
    }

    /// How the design is made, to make it again for new data.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The map back from standardized columns; `None` if no column was standardized.
    pub fn original_scale(&self) -> Option<OriginalScale> {
        self.recipe.original_scale()
    }

    /// The files.
    pub fn shards(&self) -> &Shards {
        &self.source.shards
    }

    /// The most bytes that pages of Parquet columns can take in addition to the budget: a column is read page by
    /// page, and a page is never larger than what a row group holds of its column. With the usual pages of 1 MiB it
    /// is far less.
    pub fn page_bytes(&self) -> usize {
        self.source.page_bytes()
    }

    /// The most rows of a block.
    pub fn block_rows(&self) -> usize {
        self.block_rows
    }
}
