//! In which order a card adds, and what it stores: a function of the problem's shape alone.
//!
//! Nothing here depends on the card, so that every card which runs the kernels gives the same bits.

/// Draws of a tile: four warps of 32.
pub const TILE_DRAWS: usize = 128;
/// Rows of a tile: two warps of 32.
pub const TILE_ROWS: usize = 64;
/// Warps that share a tile's rows.
pub(crate) const ROW_WARPS: usize = 2;
/// Warps that share a tile's draws.
pub(crate) const DRAW_WARPS: usize = 4;
/// Tiles after which a thread takes the logarithm of its product of at most 2⁸ for each tile.
pub(crate) const FOLD: usize = 64;
/// Rows of a chunk of sums over rows: gradients and Hessians.
pub(crate) const CHUNK: usize = 4096;
/// Chunks of energies that are enough to fill a card.
const ENOUGH_CHUNKS: usize = 512;
/// The most chunks of energies.
const MOST_CHUNKS: usize = 4096;
/// Rows whose expectations one block adds.
pub(crate) const EXPECT_ROWS: usize = 256;
/// Most draws whose energies one launch takes.
pub(crate) const MOST_DRAWS: usize = 8192;
/// Most draws whose gradients one launch takes.
pub(crate) const MOST_SLOPES: usize = 1024;
/// Most numbers of a table of products that lives for a launch.
pub(crate) const ROOM: usize = 1 << 25;
/// The same for a table of slopes, if one chunk of rows is not larger: 1 GiB.
const SLOPES: usize = 1 << 27;

const STAGE: usize = (TILE_DRAWS + TILE_ROWS) * 20;
/// Bytes of shared memory of the kernels with tiles of draws.
pub(crate) const SHARED: u32 = (8 * 3 * (STAGE + 3 * TILE_ROWS)) as u32;
/// The same for products over rows.
pub(crate) const SHARED_CONTRACT: u32 = 8 * 3 * 2 * 16 * 68;

/// The shape of a table of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Real rows.
    pub rows: usize,
    /// Real columns.
    pub columns: usize,
}

impl Shape {
    /// Columns on the card: whole fours.
    #[must_use]
    pub fn width(self) -> usize {
        self.columns.next_multiple_of(4)
    }

    /// Rows on the card: whole tiles.
    #[must_use]
    pub fn padded_rows(self) -> usize {
        self.rows.next_multiple_of(TILE_ROWS)
    }

    /// Tiles of rows.
    pub(crate) fn tiles(self) -> usize {
        self.padded_rows() / TILE_ROWS
    }

    /// Tiles of a chunk of energies. Long chunks start and end less often, many chunks fill a card and keep chains short:
    /// a power of two that leaves at most 512 chunks, but no more than the 64 of a chunk of rows; whole chunks of rows
    /// where that would make more than 4096. So one kind of chunk divides the other.
    pub(crate) fn chunk_tiles(self) -> usize {
        let whole = CHUNK / TILE_ROWS;
        if self.tiles() > whole * MOST_CHUNKS {
            return self.tiles().div_ceil(MOST_CHUNKS).next_multiple_of(whole);
        }
        self.tiles().div_ceil(ENOUGH_CHUNKS).max(1).next_power_of_two().min(whole)
    }

    /// Chunks of energies.
    pub(crate) fn chunks(self) -> usize {
        self.tiles().div_ceil(self.chunk_tiles())
    }

    /// The longest chain of additions behind an energy: eight rows of every tile of a chunk and its logarithms in a
    /// thread, two steps across lanes, the warps, the chunks.
    #[must_use]
    pub fn value_chain(self) -> usize {
        let tiles = self.chunk_tiles();
        8 * tiles + tiles.div_ceil(FOLD) + 2 + (ROW_WARPS - 1) + (self.chunks() - 1)
    }

    /// The same for an entry of a gradient or of a Hessian: the rows of a chunk, then the chunks.
    #[must_use]
    pub fn row_chain(self) -> usize {
        CHUNK.min(self.padded_rows()) + self.rows.div_ceil(CHUNK)
    }

    /// The same for a Gram matrix with given weights, which is taken in stripes: a product, the chain of a stripe, the stripes.
    #[must_use]
    pub fn gram_chain(self) -> usize {
        1 + self.row_chain() + self.rows.div_ceil(provi::device::STRIPE)
    }

    /// The same for the sum of the expected values: lanes, warps, blocks.
    #[must_use]
    pub fn expect_chain(self) -> usize {
        5 + 7 + self.rows.div_ceil(EXPECT_ROWS)
    }

    /// Bytes of the rows on the card.
    #[must_use]
    pub fn resident_bytes(self) -> u64 {
        8 * (self.padded_rows() as u64) * (self.width() as u64 + 3)
    }

    /// Bytes beside the rows while the energies of `draws` points are taken, their gradients with them if so asked.
    #[must_use]
    pub fn working_bytes(self, draws: usize, gradients: bool) -> u64 {
        let (width, most) = (self.width() as u64, if gradients { MOST_SLOPES } else { MOST_DRAWS });
        let points = draws.next_multiple_of(TILE_DRAWS) as u64 * width;
        let batch = draws.min(most).next_multiple_of(TILE_DRAWS) as u64;
        let slopes = if gradients {
            let (slab, products) = (self.slab_rows(batch as usize), batch * width);
            let at_once = self.chunks_at_once(slab, products as usize) as u64;
            slab as u64 * batch + (at_once + 1) * products
        } else {
            0
        };
        8 * (points + (self.chunks() as u64 + 1) * batch + slopes)
    }

    /// Chunks of `rows` rows whose products, `length` numbers each, are kept at once.
    pub(crate) fn chunks_at_once(self, rows: usize, length: usize) -> usize {
        (ROOM / length.max(1)).clamp(1, rows.div_ceil(CHUNK).max(1))
    }

    /// Rows whose squares, d(d+1)/2 numbers each, are kept at once: whole chunks.
    pub(crate) fn form_rows(self) -> usize {
        let wide = self.columns.saturating_mul(self.columns + 1) / 2;
        (ROOM / wide.max(1) / CHUNK).max(1) * CHUNK
    }

    /// Bytes that [`crate::CardRows::forms`] needs beside the rows.
    #[must_use]
    pub fn form_bytes(self) -> u64 {
        let wide = (self.columns.saturating_mul(self.columns + 1) / 2).next_multiple_of(4);
        let rows = self.form_rows().min(self.rows.next_multiple_of(CHUNK));
        let products = wide.saturating_mul(wide);
        let partial = self.chunks_at_once(rows, products).saturating_mul(products);
        let numbers = rows.saturating_mul(wide + self.width() + 1).saturating_add(products);
        (numbers.saturating_add(partial) as u64).saturating_mul(8)
    }

    /// Rows of a slab whose slopes are kept while their products are taken: whole chunks of energies and of rows, so that a
    /// gradient's bits do not depend on the draws beside it.
    pub(crate) fn slab_rows(self, draws: usize) -> usize {
        let chunk = (self.chunk_tiles() * TILE_ROWS).max(CHUNK);
        let chunks = (SLOPES / (draws * chunk).max(1)).max(1);
        chunks.saturating_mul(chunk).min(self.padded_rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_rows_and_chains_are_short() {
        for rows in [1, 63, 64, 65, 569, 32_768, 32_769, 1_000_000, 10_000_000, 100_000_000] {
            let shape = Shape { rows, columns: 100 };
            assert!(shape.chunks() <= MOST_CHUNKS && shape.chunks() * shape.chunk_tiles() >= shape.tiles());
            assert!((shape.chunks() - 1) * shape.chunk_tiles() < shape.tiles());
            for draws in [128, 1024] {
                let slab = shape.slab_rows(draws);
                let chunk = shape.chunk_tiles() * TILE_ROWS;
                let whole = slab.is_multiple_of(CHUNK) && slab.is_multiple_of(chunk);
                assert!(whole || slab == shape.padded_rows(), "{rows}");
            }
            // Far from the N of a plain sum.
            assert!(rows < 100_000 || shape.value_chain() < rows / 50, "{rows}");
        }
        assert_eq!(Shape { rows: 10_000_000, columns: 100 }.value_chain(), 8 * 64 + 1 + 2 + 1 + 2441);
    }

    #[test]
    fn the_shared_memory_of_a_block_fits_every_card_from_8_0_on() {
        const { assert!(SHARED <= 99 * 1024 && SHARED_CONTRACT <= 99 * 1024) };
    }

    #[test]
    fn the_forecast_counts_rows_and_draws() {
        let shape = Shape { rows: 10_000_000, columns: 100 };
        assert_eq!(shape.resident_bytes(), 8 * 10_000_000 * 103);
        assert!(shape.working_bytes(10_000, false) < 200_000_000);
        assert!(shape.working_bytes(10_000, true) > shape.working_bytes(10_000, false));
    }
}
