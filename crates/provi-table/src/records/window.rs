//! A stream whose last bytes can be read again.

use std::io::{self, Read};

/// What is appended to every text.
pub(super) const END: &[u8] = b"\nend";

/// A stream, followed by [`END`], that remembers what it returned from some offset on.
///
/// Memory: the bytes since [`forget`](Window::forget) last dropped some. A read beyond `longest` of them fails, so
/// that an open quote does not swallow a file larger than memory.
pub(super) struct Window<R> {
    inner: R,
    /// The bytes returned, from the offset `start` on.
    bytes: Vec<u8>,
    start: u64,
    /// Offset of the stream's end, once it is reached, and how much of [`END`] still follows.
    end: Option<u64>,
    rest: &'static [u8],
    longest: usize,
    full: bool,
}

impl<R: Read> Window<R> {
    pub(super) fn new(inner: R, longest: usize) -> Self {
        Self { inner, bytes: Vec::new(), start: 0, end: None, rest: END, longest, full: false }
    }

    /// Offset of the stream's end, once it has been reached.
    pub(super) fn end(&self) -> Option<u64> {
        self.end
    }

    /// Whether a read has failed because too much is remembered.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Drops what lies before an offset, from time to time.
    pub(super) fn forget(&mut self, before: u64) {
        let gone = self.place(before);
        if gone >= 1 << 16 {
            self.bytes.drain(..gone);
            self.start += gone as u64;
        }
    }

    fn place(&self, offset: u64) -> usize {
        usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.bytes.len())
    }

    pub(super) fn byte(&self, offset: u64) -> Option<u8> {
        self.bytes.get(self.place(offset)).copied()
    }

    pub(super) fn between(&self, from: u64, to: u64) -> &[u8] {
        let to = self.place(to);
        &self.bytes[self.place(from).min(to)..to]
    }

    /// What has been read of the stream itself from an offset on.
    pub(super) fn text_from(&self, offset: u64) -> &[u8] {
        self.between(offset, self.end.unwrap_or(u64::MAX))
    }

    /// Whether only white space follows. If so, reads to the end; what was read is lost.
    pub(super) fn is_blank_from(&mut self, offset: u64) -> bool {
        let blank = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_whitespace);
        if !blank(self.text_from(offset)) {
            return false;
        }
        let mut buffer = [0; 4096];
        while self.end.is_none() {
            match self.inner.read(&mut buffer) {
                Ok(0) => return true,
                Ok(read) if blank(&buffer[..read]) => {}
                _ => return false,
            }
        }
        true
    }
}

impl<R: Read> Read for Window<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.len() > self.longest {
            self.full = true;
            return Err(io::Error::other("the record is too long"));
        }
        let mut read = match self.end {
            None => self.inner.read(buffer)?,
            Some(_) => 0,
        };
        if read == 0 {
            self.end.get_or_insert(self.start + self.bytes.len() as u64);
            read = self.rest.read(buffer)?;
        }
        self.bytes.extend_from_slice(&buffer[..read]);
        Ok(read)
    }
}
