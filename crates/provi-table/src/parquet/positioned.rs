//! A file from which several threads read at once, each at its own place.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    sync::Arc,
};

use ::parquet::{
    errors::{ParquetError, Result},
    file::reader::{ChunkReader, Length},
};
use bytes::Bytes;

/// Bytes that are read ahead of a page's header.
const AHEAD: usize = 1 << 10;

/// A file that is read by position. A copy of a file's handle shares its position, so that threads which seek would
/// disturb each other.
#[derive(Debug, Clone)]
pub(super) struct Positioned {
    file: Arc<File>,
    bytes: u64,
}

impl Positioned {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), bytes })
    }
}

/// Reads from a place on.
#[derive(Debug)]
pub(super) struct From {
    file: Arc<File>,
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

impl Length for Positioned {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Positioned {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(AHEAD, From { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A damaged file may state any length.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF(format!(
                "expected {length} bytes at {start}, where the file has {}",
                self.bytes
            )));
        }
        let mut bytes = Vec::with_capacity(length);
        let from = From { file: Arc::clone(&self.file), at: start };
        let read = from.take(length as u64).read_to_end(&mut bytes)?;
        match read == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("expected {length} bytes at {start}, found {read}"))),
        }
    }
}
