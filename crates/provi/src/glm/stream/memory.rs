//! Blocks of rows that are held in memory.

use super::Source;
use crate::base::error::{Error, Result};
use crate::glm::rows::Rows;

/// Blocks held in memory: for data that arrive in pieces, and for shards that fit.
#[derive(Clone, Debug)]
pub struct Memory {
    columns: usize,
    blocks: Vec<Rows>,
}

impl Memory {
    /// Blocks of `columns` columns each. An empty list is a process without data.
    pub fn new(columns: usize, blocks: Vec<Rows>) -> Result<Self> {
        match blocks.iter().map(|block| block.design().columns()).find(|&found| found != columns) {
            Some(found) => Err(Error::Shape { what: "a row of a block", found, expected: columns }),
            None => Ok(Self { columns, blocks }),
        }
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Rows] {
        &self.blocks
    }
}

impl Source for Memory {
    fn columns(&self) -> usize {
        self.columns
    }

    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        self.blocks.iter().try_for_each(visit)
    }
}
