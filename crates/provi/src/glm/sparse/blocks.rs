//! The rows of a sparse model: sorted once and held, or read in blocks and sorted at each pass.

use super::SparseModel;
use super::rows::{self, Sets, SortedRows, View};
use crate::base::error::{Error, Result};
use crate::base::linalg::sparse::Cliques;
use crate::base::stop;
use crate::glm::Family;
use crate::glm::rows::Rows;
use std::collections::HashSet;
use std::sync::Arc;

/// Blocks of rows that are read again at each pass, by one process or several. Calls are collective, and come from one
/// thread.
pub(crate) trait Blocks: Send + Sync {
    /// One pass: `add` adds the share of each block to `len` zeros. Returns the sums over all processes.
    fn sums(&self, family: Family, len: usize, add: &mut dyn FnMut(&Rows, &mut [f64])) -> Result<Vec<f64>>;

    /// Each number becomes its maximum over all processes.
    fn largest(&self, values: &mut [f64]) -> Result<()>;

    /// The messages of all processes, in the order of their ranks.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// The number of processes.
    fn processes(&self) -> usize;
}

/// Where the sorted rows come from.
#[derive(Clone)]
pub(super) enum RowSource {
    Held(Arc<SortedRows>),
    Read { blocks: Arc<dyn Blocks>, view: Arc<View> },
}

impl std::fmt::Debug for RowSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Held(_) => "Held",
            Self::Read { .. } => "Read",
        })
    }
}

impl RowSource {
    /// The number of processes that share the rows.
    pub(super) fn processes(&self) -> usize {
        match self {
            Self::Held(_) => 1,
            Self::Read { blocks, .. } => blocks.processes(),
        }
    }

    /// The largest of each number over all processes.
    pub(super) fn largest(&self, values: &mut [f64]) -> Result<()> {
        match self {
            Self::Held(_) => Ok(()),
            Self::Read { blocks, .. } => blocks.largest(values),
        }
    }
}

impl SparseModel {
    /// One pass: `add` adds the share of each block of sorted rows to `len` zeros. If the work is cut off, `add` may leave
    /// its share unfinished.
    pub(super) fn sums(&self, len: usize, mut add: impl FnMut(&SortedRows, &mut [f64])) -> Result<Vec<f64>> {
        let numbers = match &self.rows {
            RowSource::Held(rows) => {
                let mut numbers = vec![0.0; len];
                add(rows, &mut numbers);
                numbers
            }
            RowSource::Read { blocks, view } => {
                let mut numbers = blocks.sums(self.linear.family, len + 1, &mut |block, numbers| {
                    let (sets, columns) = rows::sort(block, view);
                    let count = columns.len();
                    let sorted = sets.placed(block, view, columns, count, self.structure.places());
                    match (0..count).all(|set| self.structure.holds(sorted.columns(set))) {
                        true => add(&sorted, &mut numbers[..len]),
                        false => numbers[len] += 1.0,
                    }
                })?;
                // On all processes alike.
                if numbers[len] > 0.0 {
                    let message =
                        "columns meet in a row that did not meet in the first pass; were the rows changed?";
                    return Err(Error::Source { message: message.to_owned() });
                }
                numbers.truncate(len);
                numbers
            }
        };
        stop::check()?;
        Ok(numbers)
    }
}

/// The sets of columns that meet in the rows.
pub(super) struct Supports {
    pub(super) columns: Cliques,
    /// For each column, how many roundings a sum over its rows has at most: one for each set of each block, and those
    /// inside a set.
    pub(super) roundings: Vec<usize>,
}

/// Roundings of a sum over a set's rows, beyond its additions.
const MORE: usize = 8;

impl Supports {
    /// Those of rows that are sorted all at once.
    pub(super) fn of(sets: &Sets, columns: Cliques, dim: usize) -> Self {
        let mut roundings = vec![sets.largest() + MORE; dim];
        for set in 0..columns.len() {
            columns.get(set).iter().for_each(|&j| roundings[j as usize] += 1);
        }
        Self { columns, roundings }
    }

    /// Those of all blocks of all processes. Cost: one pass.
    pub(super) fn read(blocks: &dyn Blocks, family: Family, view: &View, dim: usize) -> Result<Self> {
        let (mut own, mut largest) = (Distinct::default(), [0.0f64]);
        let counts = blocks.sums(family, dim, &mut |rows, counts| {
            let (sets, columns) = rows::sort(rows, view);
            largest[0] = largest[0].max(sets.largest() as f64);
            for set in 0..columns.len() {
                columns.get(set).iter().for_each(|&j| counts[j as usize] += 1.0);
                own.insert(columns.get(set));
            }
        })?;
        stop::check()?;
        blocks.largest(&mut largest)?;
        let inside = largest[0] as usize + blocks.processes() + MORE;
        let roundings = counts.iter().map(|&sets| sets as usize + inside).collect();
        if blocks.processes() == 1 {
            return Ok(Self { columns: own.columns, roundings });
        }
        let mut all = Distinct::default();
        for bytes in blocks.gather(&own.to_bytes())? {
            all.insert_bytes(&bytes);
        }
        Ok(Self { columns: all.columns, roundings })
    }
}

/// Different sets of columns, in the order in which they came.
#[derive(Default)]
struct Distinct {
    known: HashSet<Vec<u32>>,
    columns: Cliques,
}

impl Distinct {
    fn insert(&mut self, columns: &[u32]) {
        if !self.known.contains(columns) {
            self.known.insert(columns.to_vec());
            self.columns.push(columns);
        }
    }

    /// Each set as its length and its columns.
    fn to_bytes(&self) -> Vec<u8> {
        let set = |k: usize| {
            let columns = self.columns.get(k);
            std::iter::once(columns.len() as u32).chain(columns.iter().copied())
        };
        (0..self.columns.len()).flat_map(set).flat_map(u32::to_le_bytes).collect()
    }

    fn insert_bytes(&mut self, bytes: &[u8]) {
        let numbers: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|x| u32::from_le_bytes(*x)).collect();
        let mut rest = &numbers[..];
        while let Some((&len, columns)) = rest.split_first() {
            let (set, others) = columns.split_at(columns.len().min(len as usize));
            self.insert(set);
            rest = others;
        }
    }
}
