//! Where blocks of rows come from.

use crate::base::error::Result;
use crate::glm::rows::Rows;

/// Where blocks of rows come from: a file read again at each pass, shards, memory.
///
/// Every pass hands out the same rows in the same blocks and the same order; a pass of another length is refused. Blocks
/// are worked on by all threads, one block after the other: some ten thousand rows keep them busy, and a block is what memory
/// holds at a time. A source of no blocks at all is a process without data.
pub trait Source: Send + Sync {
    /// d: the columns of every block.
    fn columns(&self) -> usize;

    /// One pass: calls `visit` on each block in turn, and ends at once with the error that it returns. What goes wrong in the
    /// source itself is an [`crate::Error::Source`].
    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()>;
}

impl<S: Source + ?Sized> Source for &S {
    fn columns(&self) -> usize {
        (**self).columns()
    }
    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        (**self).each(visit)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn columns(&self) -> usize {
        (**self).columns()
    }
    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        (**self).each(visit)
    }
}
