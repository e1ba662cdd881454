//! Some columns of some files, block by block.

use std::{ops::ControlFlow, sync::Arc};

use crate::{
    cells::{CellKind, MissingWords},
    column::ColumnKind,
    days::DateColumn,
    error::Result,
    missing::Retype,
    parquet,
    shards::{Contents, Mark, Shard, Shards},
    table::Table,
};

use super::part::Part;

/// What is needed to read the columns used, again and again.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) shards: Arc<Shards>,
    /// The columns used, and their types in the data as a whole.
    pub(super) columns: Vec<(String, CellKind)>,
    /// Number of rows of each file.
    pub(super) rows: Vec<usize>,
    /// For each text file: positions from which reading can start.
    pub(super) marks: Vec<Vec<Mark>>,
    /// What means "no value" besides the usual words.
    pub(super) words: MissingWords,
    /// The columns of dates that count as numbers.
    pub(super) dates: Vec<DateColumn>,
    /// The columns of intervals.
    pub(super) open_ends: Option<[String; 2]>,
}

/// Receives a block: the file's index, and some of its rows.
pub(super) type Take<'a> = dyn FnMut(usize, Table) -> Result<ControlFlow<()>> + 'a;

impl Source {
    /// Number of rows of all files.
    pub(super) fn total(&self) -> usize {
        self.rows.iter().sum()
    }

    /// The most bytes that pages of the columns used can take in addition to the blocks: those of their largest
    /// chunks.
    pub(super) fn page_bytes(&self) -> usize {
        let of_shard = |shard: &Shard| match &shard.contents {
            Contents::Parquet(footer) => {
                let places = self.columns.iter().filter_map(|(name, _)| shard.place(name));
                places.map(|place| footer.chunks[place]).fold(0, usize::saturating_add)
            }
            Contents::Text(_) => 0,
        };
        self.shards.files.iter().map(of_shard).max().unwrap_or(0)
    }

    pub(super) fn kind(&self, column: &str) -> Option<ColumnKind> {
        self.columns.iter().find(|(name, _)| name == column).map(|(_, kind)| kind.kind)
    }

    /// A block as the formula needs it. The reader of text files already knows their missing values.
    fn prepared(&self, table: Table) -> Result<Table> {
        let table = match self.shards.is_text() {
            true => table,
            false => table.with_missing(&self.words, Retype::Block).into_owned(),
        };
        let ends = self.open_ends.as_ref().map(|names| names.each_ref().map(String::as_str));
        Ok(table.with_open_ends(ends).with_days(&self.dates)?.into_owned())
    }

    /// Passes the rows of a part to `take`, in order, at most `most` at a time, until it breaks off.
    pub(super) fn blocks(&self, part: Part, most: usize, take: &mut Take<'_>) -> Result<()> {
        let part = part.rows(self.total());
        let mut first = 0;
        for (index, shard) in self.shards.files.iter().enumerate() {
            let rows = self.rows[index];
            let (from, to) = (part.start.max(first), part.end.min(first + rows));
            let own = from.saturating_sub(first)..to.saturating_sub(first);
            first += rows;
            if from >= to {
                continue;
            }
            let mut take = |table: Table| take(index, self.prepared(table)?);
            let flow = match &shard.contents {
                Contents::Text(header) => {
                    let marks = &self.marks[index];
                    header.blocks(shard, &self.columns, marks, &self.words, own, most, &mut take)?
                }
                Contents::Parquet(footer) => {
                    let place = |(name, kind): &(String, CellKind)| Some((shard.place(name)?, kind.kind));
                    let columns: Vec<(usize, ColumnKind)> = self.columns.iter().filter_map(place).collect();
                    let (file, threads) = (shard.reopen()?, self.shards.threads);
                    parquet::blocks(file, shard.name(), footer, &columns, own, most, threads, &mut take)?
                }
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}
