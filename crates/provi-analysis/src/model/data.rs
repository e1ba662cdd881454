//! The source of the rows: a file, standard input, a table in memory, or files that are read again at each pass.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use provi::stream::{Alone, Reduce};
use provi_table::{Shards, Table, read_file, read_stream};
use sha2::{Digest, Sha256};

use super::files::Files;
use crate::record::fit_file::{hexadecimal, sha256};

/// Rows, their name in messages, and their digest.
#[derive(Debug)]
pub struct Data {
    /// The name in messages.
    pub name: String,
    sha256: OnceLock<String>,
    content: Content,
}

/// Prefix of the digest of a table in memory, which has no bytes of its own: its columns are digested.
const COLUMNS: &str = "columns:";

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    Table(Box<Table>),
    Files(Files),
}

impl Data {
    /// A file; `-` is standard input. The files of a folder or a pattern are not read now but block by block: see
    /// [`Data::files`].
    pub fn read(path: &Path) -> Result<Self, provi_table::Error> {
        if path.is_dir() || (!path.exists() && path.to_string_lossy().contains(['*', '?'])) {
            return Ok(Self::shared(path, None, Arc::new(Alone)));
        }
        let stdin = path.as_os_str() == "-";
        let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
        let bytes = match stdin {
            true => read_stream(std::io::stdin().lock(), &name)?,
            false => read_file(path, &name)?,
        };
        Ok(Self::new(bytes, name))
    }

    /// The bytes of a file.
    pub fn new(bytes: Vec<u8>, name: String) -> Self {
        let sha256 = OnceLock::from(sha256(&bytes));
        Self { name, sha256, content: Content::Bytes(bytes) }
    }

    /// A file, the files of a folder, or those that match a pattern such as `part-*.parquet`, read block by block
    /// in about `memory` bytes.
    pub fn files(path: &Path, memory: u64) -> Self {
        Self::shared(path, Some(memory), Arc::new(Alone))
    }

    /// [`Data::files`] for several processes, each of which reads its share. Every process must make the same
    /// calls. Without a `memory` that somebody stated, blocks are cut as for [`super::USUAL_MEMORY`], and rows are kept between passes
    /// where a quarter of the free memory holds those of all processes.
    pub fn shared(path: &Path, memory: Option<u64>, crew: Arc<dyn Reduce>) -> Self {
        let files = Files { path: path.to_owned(), memory, crew };
        Self { name: path.display().to_string(), sha256: OnceLock::new(), content: Content::Files(files) }
    }

    /// The table. Files are read as a whole for it.
    pub fn table(&self) -> Result<Cow<'_, Table>, provi_table::Error> {
        match &self.content {
            Content::Bytes(bytes) => Table::read(bytes, &self.name).map(Cow::Owned),
            Content::Table(table) => Ok(Cow::Borrowed(table)),
            Content::Files(files) => Table::open(&files.path).map(Cow::Owned),
        }
    }

    /// Whether the rows are read block by block.
    pub fn stays_in_files(&self) -> bool {
        self.as_files().is_some()
    }

    /// The files, if the rows are read block by block.
    pub(super) fn as_files(&self) -> Option<&Files> {
        match &self.content {
            Content::Files(files) => Some(files),
            _ => None,
        }
    }

    /// For a file: its SHA-256, in hexadecimal. For several files: `shards:` and the SHA-256 of their digests. For
    /// a table in memory: `columns:` and the SHA-256 of its contents. Files that have not been read yet are read
    /// for it.
    pub fn sha256(&self) -> Result<&str, provi_table::Error> {
        if let (None, Content::Files(files)) = (self.sha256.get(), &self.content) {
            let shards = Shards::find(&files.path)?.with_threads(rayon::current_num_threads());
            self.is_digested_as(shards.sha256()?);
        }
        Ok(self.sha256.get().map_or("", String::as_str))
    }

    /// Sets the digest that a reading of all files has found.
    pub(super) fn is_digested_as(&self, sha256: String) {
        // If a digest is already set, it is the same: files that change are refused.
        let _ = self.sha256.set(sha256);
    }

    /// Whether a stored digest is that of these rows. A digest of columns is compared with the columns of a file,
    /// so that a fit of a data frame matches the file from which the frame was read.
    pub fn is_the_data_of(&self, stored: &str) -> Result<bool, provi_table::Error> {
        let columns = || self.table().is_ok_and(|table| digest(&table) == stored);
        Ok(stored == self.sha256()? || (stored.starts_with(COLUMNS) && columns()))
    }
}

impl From<Table> for Data {
    fn from(table: Table) -> Self {
        let (name, sha256) = (table.name().to_owned(), OnceLock::from(digest(&table)));
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
        let is = |data: &Data, other: &Data| data.is_the_data_of(other.sha256().unwrap()).unwrap();
        assert!(is(&file, &columns(2.0)));
        assert!(!is(&file, &columns(3.0)));
        assert!(is(&file, &file) && !is(&columns(2.0), &file));
    }
}
