//! Where the rows come from: a file or standard input, read once.

use std::io::{ErrorKind, Read};
use std::path::Path;

use provi_table::Table;

use crate::fit_file::sha256;

/// The bytes of a table, their name in messages and their SHA-256.
#[derive(Debug)]
pub struct Data {
    /// As they were read.
    pub bytes: Vec<u8>,
    /// In messages.
    pub name: String,
    /// In hexadecimal.
    pub sha256: String,
}

impl Data {
    /// A file, or standard input for `-`.
    pub fn read(path: &Path) -> Result<Self, provi_table::Error> {
        let stdin = path.as_os_str() == "-";
        let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
        let bytes = if stdin {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(path)
        };
        match bytes {
            Ok(bytes) => Ok(Self::new(bytes, name)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(provi_table::Error::NotFound { path: name })
            }
            Err(error) => Err(provi_table::Error::Unreadable { table: name, reason: error.to_string() }),
        }
    }

    /// Bytes at hand.
    pub fn new(bytes: Vec<u8>, name: String) -> Self {
        let sha256 = sha256(&bytes);
        Self { bytes, name, sha256 }
    }

    /// The table they hold.
    pub fn table(&self) -> Result<Table, provi_table::Error> {
        Table::read(&self.bytes, &self.name)
    }
}
