//! Where the rows come from: a file, standard input or a table in memory.

use std::borrow::Cow;
use std::io::{ErrorKind, Read};
use std::path::Path;

use provi_table::Table;
use sha2::{Digest, Sha256};

use crate::fit_file::{hexadecimal, sha256};

/// Rows, their name in messages and a digest of them.
#[derive(Debug)]
pub struct Data {
    /// In messages.
    pub name: String,
    /// Of a file: its SHA-256, in hexadecimal. Of a table in memory: `columns:` and that of its contents.
    pub sha256: String,
    content: Content,
}

/// Before the digest of a table in memory, which has no bytes of its own: what is digested are its columns.
const COLUMNS: &str = "columns:";

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    Table(Box<Table>),
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

    /// The bytes of a file.
    pub fn new(bytes: Vec<u8>, name: String) -> Self {
        let sha256 = sha256(&bytes);
        Self { name, sha256, content: Content::Bytes(bytes) }
    }

    /// The table they hold.
    pub fn table(&self) -> Result<Cow<'_, Table>, provi_table::Error> {
        match &self.content {
            Content::Bytes(bytes) => Table::read(bytes, &self.name).map(Cow::Owned),
            Content::Table(table) => Ok(Cow::Borrowed(table)),
        }
    }

    /// Whether a stored digest is that of these rows. One of columns is held against the columns of a file, so that what a
    /// data frame was fitted to can be found again in the file it was read from.
    pub fn is_the_data_of(&self, stored: &str) -> bool {
        let columns = || self.table().is_ok_and(|table| digest(&table) == stored);
        stored == self.sha256 || (stored.starts_with(COLUMNS) && columns())
    }
}

impl From<Table> for Data {
    fn from(table: Table) -> Self {
        let (name, sha256) = (table.name().to_owned(), digest(&table));
        Self { name, sha256, content: Content::Table(Box::new(table)) }
    }
}

fn digest(table: &Table) -> String {
    let mut state = Sha256::new();
    table.digest_into(|bytes| state.update(bytes));
    format!("{COLUMNS}{}", hexadecimal(&state.finalize()))
}

#[cfg(test)]
mod tests {
    use provi_table::Values;

    use super::*;

    #[test]
    fn a_file_has_the_digest_of_the_columns_that_were_read_from_it() {
        let file = Data::new(b"x,t\n1,a\n2,b\n".to_vec(), "t.csv".to_owned());
        let columns = |x: f64| {
            let text = Values::Text(vec![Some("a".to_owned()), Some("b".to_owned())]);
            let columns = vec![("x".to_owned(), Values::Numbers(vec![1.0, x])), ("t".to_owned(), text)];
            Data::from(Table::from_columns("frame", columns).unwrap())
        };
        assert!(file.is_the_data_of(&columns(2.0).sha256));
        assert!(!file.is_the_data_of(&columns(3.0).sha256));
        assert!(file.is_the_data_of(&file.sha256) && !columns(2.0).is_the_data_of(&file.sha256));
    }
}
