//! Files with a formula, read by one process or several.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use provi::stream::{Reduce, Streamed, gather, together};
use provi::target::{Family, Prior};
use provi_table::{
    Budget, Formula, FrameOptions, Learned, Learning, Part, Scan, Shards, Survey, available_memory,
};

use super::blocks::Blocks;
use super::target::ModelTarget;
use crate::error::{Error, Result};

/// Default for the bytes that rows of files may take: 1 GiB.
pub const USUAL_MEMORY: u64 = 1 << 30;

/// A path to files, the memory they may take, and which processes read them.
#[derive(Clone)]
pub(super) struct Files {
    pub(super) path: PathBuf,
    /// Memory in bytes, if somebody stated it.
    pub(super) memory: Option<u64>,
    pub(super) crew: Arc<dyn Reduce>,
}

impl Files {
    /// What the formula needs to know of the files. Each process surveys its own part. A collective call.
    pub(super) fn learn(&self, formula: &Formula, text: &str, options: &FrameOptions) -> Result<Scan> {
        let crew = &*self.crew;
        let (refuse, part) = (|error| Error::table(error, text), self.part());
        let begun = Shards::find(&self.path)
            .map(|shards| shards.with_threads(rayon::current_num_threads()))
            .and_then(|shards| Learning::new(shards, formula, options, self.budget()))
            .map_err(refuse);
        let mut learning = together(crew, begun)?;
        loop {
            let own = together(crew, learning.survey(part).map_err(refuse))?;
            let merged = self.merged(own, text)?;
            match together(crew, learning.take(merged).map_err(refuse))? {
                Learned::Further(next) => learning = next,
                Learned::Done(scan) => return Ok(*scan),
            }
        }
    }

    /// The surveys of all processes, merged in the order of the ranks so that all have the same result.
    fn merged(&self, own: Survey, text: &str) -> Result<Survey> {
        if self.crew.size() == 1 {
            return Ok(own);
        }
        let lost =
            |error: serde_json::Error| Error::from(provi::Error::Reduce { message: error.to_string() });
        let said = gather(&*self.crew, &serde_json::to_vec(&own).map_err(lost)?)?;
        let mut surveys = said.iter().map(|bytes| serde_json::from_slice::<Survey>(bytes).map_err(lost));
        let first = surveys.next().unwrap_or(Ok(own))?;
        surveys.try_fold(first, |sum, survey| sum.merge(survey?).map_err(|error| Error::table(error, text)))
    }

    /// The model of the surveyed files. A collective call, and one pass.
    pub(super) fn target(&self, scan: Scan, family: Family, prior: Prior) -> Result<ModelTarget> {
        let names = scan.names.clone();
        let blocks = Blocks::new(scan, self.part(), family, self.room(names.len()));
        let streamed = Streamed::distributed(family, blocks, prior, Arc::clone(&self.crew))?;
        Ok(ModelTarget::Files(Box::new(streamed.with_names(names)?)))
    }

    fn part(&self) -> Part {
        Part { rank: self.crew.rank(), of: self.crew.size() }
    }

    /// A quarter of the memory is for the blocks that are read. The rest is for what is held besides: a page of
    /// each Parquet column, sums, the program itself. If rows are kept in memory, they may take half of the whole.
    fn budget(&self) -> Budget {
        Budget { bytes: (self.memory.unwrap_or(USUAL_MEMORY) / 4) as usize }
    }

    /// Bytes that rows may take if they are kept between passes. It decides about time alone: blocks are the same.
    fn room(&self, coefficients: usize) -> usize {
        let work = MATRICES * 8 * (coefficients as u64).saturating_pow(2);
        room(self.memory, available_memory().map(|free| free.saturating_sub(work)), self.crew.size())
    }
}

/// Matrices of d² numbers that a fit and its audit may hold: no row takes their place.
const MATRICES: u64 = 50;

/// Half of a stated memory. Otherwise that of the usual one, or a quarter of the free memory, which all processes of a machine share, if that is
/// more.
fn room(stated: Option<u64>, free: Option<u64>, processes: usize) -> usize {
    let usual = stated.unwrap_or(USUAL_MEMORY) / 2;
    let free = free.filter(|_| stated.is_none()).map_or(0, |free| free / 4 / processes.max(1) as u64);
    usize::try_from(usual.max(free)).unwrap_or(usize::MAX)
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files")
            .field("path", &self.path)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_memory_is_a_limit_and_free_memory_counts_without_one() {
        assert_eq!(room(Some(256 << 20), Some(1 << 40), 1), 128 << 20);
        assert_eq!(room(None, Some(64 << 30), 1), 16 << 30);
        assert_eq!(room(None, Some(64 << 30), 8), 2 << 30);
        // Never less than half of what is usual.
        assert_eq!(room(None, Some(1 << 20), 1), (USUAL_MEMORY / 2) as usize);
        assert_eq!(room(None, None, 4), (USUAL_MEMORY / 2) as usize);
    }
}
