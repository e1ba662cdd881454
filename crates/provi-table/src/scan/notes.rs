//! The answers to a formula's questions, collected block by block.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{moments::Moments, questions::Questions};
use crate::{
    cells::Spot,
    column::Cell,
    error::{BadShards, Error, Result},
    frame::{Facts, Reading, View, offsets_of},
    hands,
    table::Table,
};

/// The notes from the rows of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Notes {
    /// Number of rows read, and of those without missing values.
    pub(super) read: usize,
    pub(super) kept: usize,
    /// The first row without missing values.
    pub(super) first: Option<Spot>,
    /// Notes on each column used.
    pub(super) columns: Vec<ColumnNotes>,
    /// Moments of each number.
    pub(super) numbers: Vec<Option<Moments>>,
    /// Levels of each category.
    pub(super) levels: Vec<BTreeSet<String>>,
    /// For each grouping: combinations and their numbers of rows.
    #[serde(with = "pairs")]
    pub(super) groupings: Vec<BTreeMap<Vec<String>, usize>>,
    pub(super) response: Option<Moments>,
    /// Numbers of responses that are −1, 0 and 1.
    pub(super) signs: [usize; 3],
    /// Digests of files, by their index.
    pub(super) digests: Vec<(usize, String)>,
}

/// What is unusual about a column.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct ColumnNotes {
    pub(super) missing: usize,
    pub(super) first_missing: Option<Spot>,
    pub(super) inexact: usize,
    pub(super) first_inexact: Option<Spot>,
    pub(super) coarse: usize,
    pub(super) first_coarse: Option<Spot>,
}

/// What is needed to take notes from a block.
pub(super) struct Reader<'a> {
    pub(super) questions: &'a Questions,
    pub(super) reading: Reading<'a>,
    /// Bytes that the levels of a category may take.
    pub(super) most: usize,
    /// Name of the data.
    pub(super) table: &'a str,
    /// How many threads take notes.
    pub(super) threads: usize,
}

impl Notes {
    /// Notes of no rows.
    pub(super) fn new(columns: usize, questions: &Questions) -> Self {
        Self {
            read: 0,
            kept: 0,
            first: None,
            columns: vec![ColumnNotes::default(); columns],
            numbers: vec![None; questions.numbers.len()],
            levels: vec![BTreeSet::new(); questions.categories.len()],
            groupings: vec![BTreeMap::new(); questions.groupings.len()],
            response: None,
            signs: [0; 3],
            digests: Vec::new(),
        }
    }

    /// Takes notes of a block of the file with index `shard`, whose columns are those used.
    pub(super) fn see(&mut self, shard: usize, table: &Table, reader: &Reader<'_>) -> Result<()> {
        let (questions, formula) = (reader.questions, reader.reading.formula);
        let spot = |cell: &Cell| {
            let (line, text) = table.found(cell);
            Spot { shard, line, text }
        };
        for (place, notes) in self.columns.iter_mut().enumerate() {
            let column = table.column(place);
            notes.missing += column.missing;
            notes.inexact += column.inexact;
            notes.first_missing =
                Spot::earlier(notes.first_missing.take(), column.first_missing.as_ref().map(spot));
            notes.first_inexact =
                Spot::earlier(notes.first_inexact.take(), column.first_inexact.as_ref().map(spot));
            notes.coarse += column.coarse;
            notes.first_coarse =
                Spot::earlier(notes.first_coarse.take(), column.first_coarse.as_ref().map(spot));
        }
        let rows = table.complete_rows();
        let view = View { table, rows: &rows };
        self.read += table.rows();
        self.kept += rows.len();
        if let Some(&row) = rows.first() {
            let line = table.lines()[row];
            self.first = Spot::earlier(self.first.take(), Some(Spot { shard, line, text: String::new() }));
        }
        let numbers = self.numbers.iter_mut().zip(&questions.numbers);
        let threads = if numbers.len() * rows.len() < hands::WORTH { 1 } else { reader.threads };
        let seen = hands::each(threads, numbers, |(moments, x)| {
            let values = view.evaluate(x).map_err(|error| formula.point(error, x))?;
            *moments = Moments::merge(*moments, Moments::of(values.iter().copied()));
            Ok(())
        });
        seen.into_iter().collect::<Result<()>>()?;
        for (levels, column) in self.levels.iter_mut().zip(&questions.categories) {
            let found = view.levels(column).map_err(|error| formula.point_column(error))?;
            levels.extend(found);
            reader.refuse_many(levels.iter().map(|level| level.len() + 48).sum(), column)?;
        }
        for (counts, columns) in self.groupings.iter_mut().zip(&questions.groupings) {
            let found = view.combinations(columns).map_err(|error| formula.point_column(error))?;
            for (level, rows) in found {
                *counts.entry(level).or_default() += rows;
            }
            let bytes = |level: &Vec<String>| level.iter().map(|name| name.len() + 24).sum::<usize>() + 48;
            reader.refuse_many(counts.keys().map(bytes).sum(), &columns.join(":"))?;
        }
        self.see_rows(view, reader)
    }

    /// Notes the response, and checks what may be refused.
    fn see_rows(&mut self, view: View<'_>, reader: &Reader<'_>) -> Result<()> {
        let formula = reader.reading.formula;
        // If it is text, its levels are counted among the groupings; those of ordered categories are known after this pass.
        if !reader.reading.is_text(view) && !formula.is_category() {
            let response = reader.reading.outcomes(view)?.values;
            self.response = Moments::merge(self.response, Moments::of(response.iter().copied()));
            for (count, sign) in self.signs.iter_mut().zip([-1.0, 0.0, 1.0f64]) {
                *count += response.iter().filter(|y| (**y - sign).abs() <= 0.0).count();
            }
        }
        reader.reading.weights(view)?;
        offsets_of(&reader.questions.offsets, view).map_err(|error| formula.point_column(error))?;
        Ok(())
    }

    /// The notes of both parts; `None` if they answer different questions.
    pub(super) fn merge(self, other: Self) -> Option<Self> {
        let alike = self.columns.len() == other.columns.len()
            && self.numbers.len() == other.numbers.len()
            && self.levels.len() == other.levels.len()
            && self.groupings.len() == other.groupings.len();
        if !alike {
            return None;
        }
        let pair = |(one, other): (ColumnNotes, ColumnNotes)| ColumnNotes {
            missing: one.missing + other.missing,
            first_missing: Spot::earlier(one.first_missing, other.first_missing),
            inexact: one.inexact + other.inexact,
            first_inexact: Spot::earlier(one.first_inexact, other.first_inexact),
            coarse: one.coarse + other.coarse,
            first_coarse: Spot::earlier(one.first_coarse, other.first_coarse),
        };
        let mut notes = self;
        notes.read += other.read;
        notes.kept += other.kept;
        notes.first = Spot::earlier(notes.first, other.first);
        notes.columns = notes.columns.into_iter().zip(other.columns).map(pair).collect();
        let numbers = notes.numbers.into_iter().zip(other.numbers);
        notes.numbers = numbers.map(|(one, other)| Moments::merge(one, other)).collect();
        notes.levels.iter_mut().zip(other.levels).for_each(|(one, other)| one.extend(other));
        for (one, other) in notes.groupings.iter_mut().zip(other.groupings) {
            other.into_iter().for_each(|(level, rows)| *one.entry(level).or_default() += rows);
        }
        notes.response = Moments::merge(notes.response, other.response);
        notes.signs.iter_mut().zip(other.signs).for_each(|(one, other)| *one += other);
        notes.digests.extend(other.digests);
        Some(notes)
    }
}

impl Reader<'_> {
    fn refuse_many(&self, bytes: usize, column: &str) -> Result<()> {
        if bytes <= self.most {
            return Ok(());
        }
        let (table, column) = (self.table.to_owned(), column.to_owned());
        Err(Error::Shards(BadShards::Levels { table, column, bytes: self.most }))
    }
}

/// Maps whose keys are lists, stored as lists of pairs: JSON has no such keys.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    type Counts = BTreeMap<Vec<String>, usize>;

    pub(super) fn serialize<S: Serializer>(counts: &[Counts], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(counts.iter().map(|counts| counts.iter().collect::<Vec<_>>()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Counts>, D::Error> {
        let pairs: Vec<Vec<(Vec<String>, usize)>> = Vec::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|pairs| pairs.into_iter().collect()).collect())
    }
}
