//! Which part of the data, and in how much memory.

use std::ops::Range;

use crate::error::{BadShards, Error, Result};

/// One of several parts of the rows, for one of several processes.
///
/// Part r of n rows in k parts has the rows ⌊nr/k⌋ .. ⌊n(r+1)/k⌋ of all files one below the other: parts differ
/// by one row at most, and every row belongs to exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The number of this part, from 0.
    pub rank: usize,
    /// The number of parts.
    pub of: usize,
}

impl Part {
    /// All rows.
    pub const WHOLE: Self = Self { rank: 0, of: 1 };

    /// Its rows among `total` rows.
    pub fn rows(self, total: usize) -> Range<usize> {
        let of = self.of.max(1) as u128;
        // At most `total`, so the conversion fits.
        let start = |rank: usize| ((rank as u128).min(of) * total as u128 / of) as usize;
        start(self.rank)..start(self.rank.saturating_add(1))
    }
}

/// The most bytes that blocks of rows may take.
///
/// A pass holds three blocks of [`FrameRows`](super::FrameRows), one with the visitor, one ready and one being
/// made, and the cells from which the last is made. Each has as many rows as fit into the budget:
/// ```text
/// rows of a block = min{65536, ⌊bytes / (3·f + t)⌋},    f = 8·(p + Σ_g (2 + q_g) + 5)
/// ```
/// for p population columns and q_g columns of each group term, and t bytes per row for the cells and what is
/// computed from them: 8 for each column used, 72 more for one of text (a text counts as 32 bytes), and so on.
/// While the recipe is learned, blocks hold only cells, and the levels of each category or grouping may take a
/// quarter of the budget.
///
/// Not in the budget: one page of each Parquet column used, as its writer made it (usually 1 MiB, with a dictionary
/// of up to another MiB; [`Scan::page_bytes`](super::Scan::page_bytes) is a bound), about 1 MiB of buffers, and the
/// recipe itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The budget in bytes.
    pub bytes: usize,
}

/// Number of blocks that exist at one time.
pub(super) const BLOCKS: usize = 3;

/// Larger blocks than this save nothing.
const MOST_ROWS: usize = 1 << 16;

/// In smaller blocks than this, the overhead dominates.
const LEAST_ROWS: usize = 16;

impl Budget {
    /// Number of rows of a block if each row takes `bytes_of_row` bytes in all.
    pub(super) fn rows(self, bytes_of_row: usize) -> Result<usize> {
        let rows = self.bytes / bytes_of_row.max(1);
        if rows < LEAST_ROWS {
            let needed = bytes_of_row.saturating_mul(LEAST_ROWS);
            return Err(Error::Shards(BadShards::Budget { bytes: self.bytes, needed }));
        }
        Ok(rows.min(MOST_ROWS))
    }

    /// Bytes that the levels of one category may take.
    pub(super) fn levels(self) -> usize {
        self.bytes / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_every_row_once_and_differ_by_one_at_most() {
        for total in [0, 1, 7, 100, usize::MAX] {
            for of in 1..9 {
                let parts: Vec<Range<usize>> = (0..of).map(|rank| Part { rank, of }.rows(total)).collect();
                assert_eq!((parts[0].start, parts[of - 1].end), (0, total));
                assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
                let lengths = || parts.iter().map(|part| part.len());
                assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_budget_for_less_than_a_few_rows_is_refused_with_what_is_needed() {
        assert_eq!(Budget { bytes: 1600 }.rows(100), Ok(16));
        let error = Budget { bytes: 1599 }.rows(100).unwrap_err();
        assert_eq!(error, Error::Shards(BadShards::Budget { bytes: 1599, needed: 1600 }));
    }
}
