//! The facts that a survey gives.

use super::{
    moments::Moments,
    notes::{ColumnNotes, Notes},
    questions::Questions,
    source::Source,
};
use crate::{
    cells::{Spot, Tally},
    column::{ColumnKind, number_order},
    error::{BadShards, Error, Result, UnfitColumn},
    formula::Expression,
    frame::{Counted, Facts, Inexact, Spread},
};

/// The facts for learning, answered by a survey of all parts.
pub(super) struct Surveyed<'a> {
    pub(super) source: &'a Source,
    pub(super) questions: &'a Questions,
    pub(super) notes: &'a Notes,
    /// Tallies of text files, by column.
    pub(super) tallies: &'a [(String, Tally)],
}

impl Source {
    /// The name of the file of a spot.
    pub(super) fn file(&self, spot: &Spot) -> String {
        self.shards.files.get(spot.shard).map_or_else(String::new, |shard| shard.name().to_owned())
    }
}

impl Surveyed<'_> {
    /// The error for a question that was not asked: a bug in [`Questions`].
    fn unasked(&self, what: &str) -> Error {
        Error::Shards(BadShards::Survey { reason: format!("nobody asked for {what}") })
    }

    fn notes_of(&self, column: &str) -> Option<&ColumnNotes> {
        let place = self.source.columns.iter().position(|(name, _)| name == column)?;
        self.notes.columns.get(place)
    }

    fn found(&self, count: usize, spot: &Spot) -> Option<Inexact> {
        let file = (self.source.shards.files.len() > 1).then(|| self.source.file(spot));
        Some(Inexact { count, file, line: spot.line, found: spot.text.clone() })
    }

    fn moments(&self, x: &Expression) -> Result<Moments> {
        let place = self.questions.numbers.iter().position(|other| other == x);
        let moments = place.and_then(|place| self.notes.numbers.get(place).copied().flatten());
        moments.ok_or_else(|| self.unasked(&x.to_string()))
    }
}

impl Facts for Surveyed<'_> {
    fn table(&self) -> &str {
        self.source.shards.name()
    }

    fn rows(&self) -> usize {
        self.notes.kept
    }

    fn kind(&self, column: &str) -> Option<ColumnKind> {
        self.source.kind(column)
    }

    fn mixed(&self, column: &str) -> Result<Option<Error>> {
        Ok(mixed(self.source, self.tallies, column))
    }

    /// Files do not say.
    fn is_ordered(&self, _: &str) -> bool {
        false
    }

    fn levels(&self, column: &str) -> Result<Vec<String>> {
        let place = self.questions.categories.iter().position(|other| other == column);
        let levels = place.and_then(|place| self.notes.levels.get(place));
        let mut levels: Vec<String> = levels.ok_or_else(|| self.unasked(column))?.iter().cloned().collect();
        if self.kind(column) == Some(ColumnKind::Number) {
            levels.sort_by_cached_key(|level| number_order(level));
        }
        Ok(levels)
    }

    fn combinations(&self, columns: &[String]) -> Result<Vec<Counted>> {
        let place = self.questions.groupings.iter().position(|other| other == columns);
        let found = place.and_then(|place| self.notes.groupings.get(place));
        let found = found.ok_or_else(|| self.unasked(&columns.join(":")))?;
        let mut places = Vec::new();
        for column in columns {
            let levels = self.levels(column)?;
            let own: std::collections::HashMap<String, usize> = levels.into_iter().zip(0..).collect();
            places.push(own);
        }
        let mut counted: Vec<Counted> = found.iter().map(|(level, rows)| (level.clone(), *rows)).collect();
        counted.sort_by_cached_key(|(level, _)| -> Vec<usize> {
            level
                .iter()
                .zip(&places)
                .map(|(name, own)| own.get(name).copied().unwrap_or(usize::MAX))
                .collect()
        });
        Ok(counted)
    }

    fn check(&self, x: &Expression) -> Result<()> {
        self.moments(x).map(|_| ())
    }

    fn constant(&self, x: &Expression) -> Result<Option<f64>> {
        let moments = self.moments(x)?;
        Ok(moments.is_constant().then_some(moments.min))
    }

    fn spread(&self, x: &Expression) -> Result<Spread> {
        Ok(self.moments(x)?.spread())
    }

    fn points(&self, _: &Expression, term: &str) -> Result<Vec<f64>> {
        Err(Error::Column(UnfitColumn::WholeColumn { term: term.to_owned(), span: None }))
    }

    fn inexact(&self, column: &str) -> Option<Inexact> {
        let notes = self.notes_of(column)?;
        self.found(notes.inexact, notes.first_inexact.as_ref()?)
    }

    fn coarse(&self, column: &str) -> Option<Inexact> {
        let notes = self.notes_of(column)?;
        self.found(notes.coarse, notes.first_coarse.as_ref()?)
    }
}

/// The error for a column of text that is mostly numbers; see [`Facts::mixed`].
pub(super) fn mixed(source: &Source, tallies: &[(String, Tally)], column: &str) -> Option<Error> {
    let (_, tally) = tallies.iter().find(|(name, _)| name == column)?;
    let spot = tally.first_text().filter(|_| 2 * tally.numbers >= tally.present())?;
    Some(Error::Column(UnfitColumn::MixedColumn {
        table: source.file(spot),
        column: column.to_owned(),
        line: spot.line,
        found: spot.text.as_str().into(),
        numbers: tally.numbers,
        span: None,
    }))
}
