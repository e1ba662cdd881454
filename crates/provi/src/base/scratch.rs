//! Working memory that grows on first use and is then reused.

/// Working memory for a batch evaluation. It grows on first use and is reused between steps.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    buffer: Vec<f64>,
    indices: Vec<usize>,
    inner: Option<Box<Scratch>>,
}

impl Scratch {
    /// A buffer of `len` numbers with unspecified contents. It starts on a cache line.
    pub fn floats(&mut self, len: usize) -> &mut [f64] {
        aligned(&mut self.buffer, len)
    }

    /// As [`Scratch::split`], with a buffer of indices besides.
    pub(crate) fn terms(&mut self, terms: usize, len: usize) -> (&mut [usize], &mut [f64], &mut Scratch) {
        if self.indices.len() < terms {
            self.indices.resize(terms, 0);
        }
        let floats = aligned(&mut self.buffer, len);
        (&mut self.indices[..terms], floats, self.inner.get_or_insert_default())
    }

    /// As [`Scratch::floats`], with a second scratch for a target inside this one.
    pub fn split(&mut self, len: usize) -> (&mut [f64], &mut Scratch) {
        (aligned(&mut self.buffer, len), self.inner.get_or_insert_default())
    }
}

fn aligned(buffer: &mut Vec<f64>, len: usize) -> &mut [f64] {
    if buffer.len() < len + 7 {
        // Zeroed pages are first touched by the thread that uses them.
        *buffer = vec![0.0; len + 7];
    }
    // At most seven numbers are skipped; none on a platform that cannot tell the alignment.
    let start = buffer.as_ptr().align_offset(64);
    &mut buffer[if start < 8 { start } else { 0 }..][..len]
}
