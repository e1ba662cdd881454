//! Sources of blocks of rows.

use crate::base::error::Result;
use crate::glm::rows::Rows;

/// A source of blocks of rows: a file that is read again at each pass, shards, or memory.
///
/// Every pass must yield the same rows in the same blocks and the same order; a pass of another length is refused.
/// Blocks are processed one after the other, each by all threads: about ten thousand rows per block keep them busy.
/// One block is in memory at a time. A source without blocks is a process without data.
pub trait Source: Send + Sync {
    /// The number of columns d of every block.
    fn columns(&self) -> usize;

    /// One pass: calls `visit` on each block in turn, and ends at once if it returns an error. Errors of the source
    /// itself are [`crate::Error::Source`].
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
