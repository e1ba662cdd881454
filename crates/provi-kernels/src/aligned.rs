//! Chunks of eight numbers, aligned to cache lines.

/// Eight numbers of a row, of a column, or of a vector.
pub(crate) type Chunk = [f64; 8];

/// Chunks that start at a cache line.
#[derive(Debug)]
pub(crate) struct Aligned {
    room: Vec<f64>,
    start: usize,
    count: usize,
}

impl Aligned {
    /// `count` chunks of zeros.
    pub(crate) fn zeros(count: usize) -> Self {
        let room = vec![0.0; 8 * count + 8];
        // At most seven numbers are skipped; none on a platform that cannot tell the alignment.
        let start = room.as_ptr().align_offset(64);
        Self { start: if start < 8 { start } else { 0 }, room, count }
    }

    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.room[self.start..].as_chunks().0[..self.count]
    }

    pub(crate) fn chunks_mut(&mut self) -> &mut [Chunk] {
        &mut self.room[self.start..].as_chunks_mut().0[..self.count]
    }
}
