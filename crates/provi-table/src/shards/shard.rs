//! One file of several.

use std::{
    fs::{File, Metadata},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::text::TextHeader;
use crate::{
    column::ColumnKind,
    error::{BadFile, BadShards, Error, Format, Result},
    parquet::Footer,
    read::{GZIP, foreign},
    table::places,
};

/// One file of several, with its state when it was first read.
#[derive(Debug)]
pub(crate) struct Shard {
    path: PathBuf,
    name: String,
    stamp: Stamp,
    pub(crate) contents: Contents,
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) enum Contents {
    Parquet(Footer),
    Text(TextHeader),
}

/// Size and time of the last change.
#[derive(Debug, PartialEq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl Shard {
    /// Reads a file's header or footer.
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => Error::File(BadFile::NotFound { path: name.clone() }),
            _ => Error::File(BadFile::Unreadable { table: name.clone(), reason: error.to_string() }),
        };
        let mut file = File::open(&path).map_err(unreadable)?;
        let stamp = Stamp::of(&file.metadata().map_err(unreadable)?);
        let mut first = [0; 8];
        let mut read = 0;
        while read < first.len() {
            match file.read(&mut first[read..]).map_err(unreadable)? {
                0 => break,
                more => read += more,
            }
        }
        let first = &first[..read];
        if let Some(format) = foreign(first).filter(|format| *format != Format::GzipInGzip) {
            return Err(Error::File(BadFile::ForeignFormat { table: name, format }));
        }
        let contents = if first.starts_with(b"PAR1") {
            Contents::Parquet(Footer::read(file, &name)?)
        } else {
            Contents::Text(TextHeader::read(&path, &name, first.starts_with(GZIP))?)
        };
        let shard = Self { path, name, stamp, contents };
        if shard.names().is_empty() {
            return Err(Error::File(BadFile::EmptyFile { table: shard.name }));
        }
        places(shard.names(), &shard.name)?;
        Ok(shard)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file's name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.stamp.bytes
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.contents, Contents::Text(_))
    }

    /// Names of the columns, in the file's order.
    pub(crate) fn names(&self) -> &[String] {
        match &self.contents {
            Contents::Parquet(footer) => &footer.names,
            Contents::Text(header) => &header.names,
        }
    }

    /// The index of a column in this file.
    pub(crate) fn place(&self, column: &str) -> Option<usize> {
        self.names().iter().position(|name| name == column)
    }

    /// The type that the file declares for a column, if it does.
    pub(crate) fn declared(&self, column: &str) -> Result<Option<ColumnKind>> {
        let (Contents::Parquet(footer), Some(place)) = (&self.contents, self.place(column)) else {
            return Ok(None);
        };
        footer.kinds[place].clone().map_err(|kind| {
            Error::File(BadFile::ParquetType { table: self.name.clone(), column: column.to_owned(), kind })
        })
    }

    /// Opens the file again, if it has not changed.
    pub(crate) fn reopen(&self) -> Result<File> {
        let unreadable = |error: std::io::Error| {
            Error::File(BadFile::Unreadable { table: self.name.clone(), reason: error.to_string() })
        };
        let file = File::open(&self.path).map_err(unreadable)?;
        match Stamp::of(&file.metadata().map_err(unreadable)?) == self.stamp {
            true => Ok(file),
            false => Err(self.changed()),
        }
    }

    pub(crate) fn changed(&self) -> Error {
        Error::Shards(BadShards::Changed { table: self.name.clone() })
    }
}
