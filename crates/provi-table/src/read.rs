//! From bytes to a table, in any format.

use std::{
    io::{ErrorKind, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;

use crate::{
    error::{BadFile, Error, Format, Result},
    parquet,
    room::{read_file, read_stream, room_for_bytes},
    table::Table,
};

impl Table {
    /// Reads a file: CSV, TSV or Parquet, plain or in gzip; `name` is for messages.
    ///
    /// The first bytes determine the format, not the name. See [`from_csv_bytes`](Table::from_csv_bytes) for text.
    /// In a Parquet file, flat columns of numbers, booleans, text and dates are read; other columns are refused by
    /// name.
    pub fn read(bytes: &[u8], name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        if bytes.starts_with(GZIP) {
            let bytes = unzipped(bytes, &name)?;
            return Self::read_plain(&bytes, name);
        }
        Self::read_plain(bytes, name)
    }

    fn read_plain(bytes: &[u8], name: String) -> Result<Self> {
        match foreign(bytes) {
            Some(format) => Err(Error::File(BadFile::ForeignFormat { table: name, format })),
            None if bytes.starts_with(b"PAR1") => parquet::read(bytes, name),
            None => Self::from_csv_bytes(bytes, name),
        }
    }

    /// Reads the file at a path; see [`read`](Table::read).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        Self::read(&read_file(path, &name)?, name)
    }

    /// Reads a stream, such as standard input, to its end; see [`read`](Table::read). A stream that does not end is
    /// refused.
    pub fn read_from(reader: impl Read, name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        Self::read(&read_stream(reader, &name)?, name)
    }
}

/// How a gzip file starts.
pub(crate) const GZIP: &[u8] = b"\x1F\x8B";

/// A format that cannot be read, recognised by the first bytes of a file that is not gzip.
pub(crate) fn foreign(bytes: &[u8]) -> Option<Format> {
    let starts = |with: &[u8]| bytes.starts_with(with);
    match () {
        () if starts(GZIP) => Some(Format::GzipInGzip),
        () if starts(b"PK\x03\x04") => Some(Format::Zip),
        () if starts(b"\xFF\xFE") || starts(b"\xFE\xFF") => Some(Format::Utf16),
        () if starts(b"ARROW1") => Some(Format::Arrow),
        () => None,
    }
}

fn unzipped(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    let most = room_for_bytes();
    match MultiGzDecoder::new(bytes).take(most.saturating_add(1)).read_to_end(&mut plain) {
        Ok(read) if read as u64 > most => Err(Error::File(BadFile::Endless { table: name.to_owned(), most })),
        Ok(_) => Ok(plain),
        Err(error) => Err(Error::File(BadFile::Damaged {
            table: name.to_owned(),
            format: "gzip",
            cut: error.kind() == ErrorKind::UnexpectedEof,
            reason: error.to_string(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn zipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_told_by_its_first_bytes() {
        let table = Table::read(&zipped(b"x\ty\n1\t2\n"), "t.csv").unwrap();
        assert_eq!((table.names(), table.rows()), (&["x".to_owned(), "y".to_owned()][..], 1));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Table::open("no/such/file.csv").unwrap_err();
        assert_eq!(error, Error::File(BadFile::NotFound { path: "no/such/file.csv".into() }));
        assert!(matches!(Table::open("."), Err(Error::File(BadFile::Unreadable { .. }))));
    }

    #[test]
    fn a_stream_reads_like_its_bytes() {
        let table = Table::read_from("x\n1\n".as_bytes(), "stdin").unwrap();
        assert_eq!((table.name(), table.rows()), ("stdin", 1));
    }
}
