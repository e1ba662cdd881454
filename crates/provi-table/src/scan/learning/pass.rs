//! The passes over the rows: facts, and the spread of the design's columns.

use std::thread;

use super::{Asked, Draft, Task, kinds::dealt};
use crate::{
    error::Result,
    frame::{Block, Reading, View},
    hands,
    scan::{
        digest,
        moments::Moments,
        notes::{Notes, Reader},
        part::{BLOCKS, Part},
        prefetch::{Give, prefetched},
        questions::bytes_of_cells,
        survey::Findings,
    },
    table::Table,
};

impl Task {
    /// The notes from the rows of a part, and the digests of the files assigned to it, computed at the same time.
    pub(super) fn notes(&self, asked: &Asked, part: Part) -> Result<Notes> {
        thread::scope(|scope| {
            let digests = scope.spawn(|| self.digests(part));
            let notes = self.facts(asked, part);
            let digests = match digests.join() {
                Ok(digests) => digests,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            Ok(Notes { digests: digests?, ..notes? })
        })
    }

    fn digests(&self, part: Part) -> Result<Vec<(usize, String)>> {
        let dealt = dealt(&self.shards, part.of);
        let own = self.shards.files.iter().enumerate().filter(|(index, _)| dealt[*index] == part.rank);
        let own: Vec<_> = own.collect();
        let digests = hands::each(self.shards.threads, own.into_iter(), |(index, shard)| {
            Ok((index, digest::of_file(shard)?))
        });
        digests.into_iter().collect()
    }

    fn facts(&self, asked: &Asked, part: Part) -> Result<Notes> {
        let Asked { source, formula, questions, .. } = asked;
        let most = questions.rows(source, self.budget)?;
        let reader = Reader {
            questions,
            reading: Reading { formula, options: &self.options, levels: None, categories: Vec::new() },
            most: self.budget.levels(),
            table: source.shards.name(),
            threads: source.shards.threads,
        };
        let mut notes = Notes::new(source.columns.len(), questions);
        let blocks = |give: &mut Give<'_, (usize, Table)>| {
            source.blocks(part, most, &mut |shard, table| give((shard, table)))
        };
        prefetched(blocks, &mut |(shard, table): (usize, Table)| notes.see(shard, &table, &reader))?;
        Ok(notes)
    }

    /// Mean and deviation of every column of the design, before standardization.
    pub(super) fn spreads(&self, draft: &Draft, part: Part) -> Result<Findings> {
        let source = &draft.asked.source;
        let (work, threads) = (draft.recipe.bytes_of_work(), source.shards.threads);
        let most = self.budget.rows(BLOCKS * bytes_of_cells(source) + work)?;
        let none = |block: &Block| vec![None; block.columns.len()];
        let mut blocks: Vec<Vec<Option<Moments>>> = draft.recipe.blocks().map(none).collect();
        let mut rows = 0;
        let give_all = |give: &mut Give<'_, Table>| source.blocks(part, most, &mut |_, table| give(table));
        prefetched(give_all, &mut |table: Table| -> Result<()> {
            let kept = table.complete_rows();
            let view = View { table: &table, rows: &kept };
            rows += kept.len();
            for (all, block) in blocks.iter_mut().zip(draft.recipe.blocks()) {
                let (values, width) = (block.values_by(view, threads)?, block.columns.len());
                let by = if values.len() < hands::WORTH { 1 } else { threads };
                hands::each(by, all.iter_mut().enumerate(), |(place, moments)| {
                    let own = values.iter().skip(place).step_by(width).copied();
                    *moments = Moments::merge(*moments, Moments::of(own));
                });
            }
            Ok(())
        })?;
        Ok(Findings::Spreads { rows, blocks })
    }
}
