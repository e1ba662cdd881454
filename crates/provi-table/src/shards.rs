//! Several files that together hold one table.

mod pattern;
mod shard;
mod text;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

pub(crate) use shard::{Contents, Shard};
pub(crate) use text::Mark;

use crate::{
    column::ColumnKind,
    error::{BadFile, BadShards, Error, Result, ShardTrait, UnfitColumn},
    hands,
    nearest::nearest,
    scan::digest,
    table::places,
};

/// Several files that together hold one table, one below the other, to be read block by block.
///
/// All of them are Parquet, or all of them text (CSV, TSV, in gzip or not), with columns of the same names in any
/// order. Only their headers and footers are read here, no rows.
///
/// ```no_run
/// use provi_table::{Budget, Formula, FrameOptions, Scan, Shards};
///
/// let shards = Shards::find("clinics/part-*.parquet")?;
/// let formula = Formula::parse("cured ~ dose + (1 | clinic)")?;
/// let scan = Scan::learn(shards, &formula, &FrameOptions::default(), Budget { bytes: 64 << 20 })?;
/// println!("{} rows, {} coefficients", scan.rows, scan.names.len());
/// # Ok::<(), provi_table::Error>(())
/// ```
#[derive(Debug)]
pub struct Shards {
    name: String,
    names: Vec<String>,
    pub(crate) files: Vec<Shard>,
    /// How many threads read them.
    pub(crate) threads: usize,
}

impl Shards {
    /// The files at a path: one file; those of a folder; or those that match a pattern with `*` and `?` in the last
    /// part of the path. They are in the order of their names.
    ///
    /// In a folder, files ending in .parquet, .csv, .tsv or .txt are taken, also with .gz at the end. Names that
    /// start with `.` or `_` are skipped, in a folder and by a pattern that does not itself start with it.
    pub fn find(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let paths = listed(path)?;
        let files: Vec<Shard> = paths.into_iter().map(Shard::open).collect::<Result<_>>()?;
        let Some(first) = files.first() else {
            return Err(Error::Shards(BadShards::None { path: name, directory: path.is_dir() }));
        };
        for other in &files[1..] {
            refuse_difference(first, other)?;
        }
        let names = first.names().to_vec();
        let shards = Self { name, names, files, threads: hands::all() };
        shards.refuse_mixed_kinds()?;
        Ok(shards)
    }

    /// Lets at most this many threads read them; without it, one for each core. What is read is the same for any number.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// What the table is called in messages: the path as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the columns, in the order of the first file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The files, in order.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.files.iter().map(Shard::path)
    }

    /// For one file: its SHA-256, in hexadecimal. For several: `shards:` and the SHA-256 of their digests, in
    /// order, whatever the files are called. Cost: one reading of all files.
    pub fn sha256(&self) -> Result<String> {
        let digests = hands::each(self.threads, self.files.iter(), digest::of_file);
        Ok(digest::of_all(&digests.into_iter().collect::<Result<Vec<String>>>()?))
    }

    /// Whether it is text, whose columns have no declared types.
    pub(crate) fn is_text(&self) -> bool {
        self.files.iter().all(Shard::is_text)
    }

    /// The type that the footers of Parquet files declare for a column, which must exist.
    pub(crate) fn declared(&self, column: &str) -> Result<ColumnKind> {
        for shard in &self.files {
            if let Some(kind) = shard.declared(column)? {
                return Ok(kind);
            }
        }
        Ok(ColumnKind::Missing)
    }

    /// Refuses a column that does not exist.
    pub(crate) fn check_column(&self, column: &str) -> Result<()> {
        if self.names.iter().any(|name| name == column) {
            return Ok(());
        }
        Err(Error::Column(UnfitColumn::UnknownColumn {
            table: self.name.clone(),
            column: column.to_owned(),
            nearest: nearest(column, self.names.iter().map(String::as_str)).map(Into::into),
            available: self.names.clone().into(),
            span: None,
        }))
    }

    /// Refuses files that declare different types for a column.
    fn refuse_mixed_kinds(&self) -> Result<()> {
        let mut seen: HashMap<&str, (&Shard, ColumnKind)> = HashMap::new();
        for shard in &self.files {
            for name in shard.names() {
                // A type that provi does not read is refused once the column is used.
                let Ok(Some(kind)) = shard.declared(name) else { continue };
                let (first, expected) = *seen.entry(name).or_insert((shard, kind));
                if kind != expected {
                    return Err(Error::Shards(BadShards::Mixed {
                        table: shard.name().to_owned(),
                        found: ShardTrait::Kind { column: name.clone(), kind },
                        first: first.name().to_owned(),
                        expected: ShardTrait::Kind { column: name.clone(), kind: expected },
                    }));
                }
            }
        }
        Ok(())
    }
}

/// The paths that a path or pattern stands for, in the order of their names.
fn listed(path: &Path) -> Result<Vec<PathBuf>> {
    let pattern = path.file_name().and_then(|name| name.to_str()).filter(|_| !path.exists());
    let pattern = pattern.filter(|name| name.contains(['*', '?']));
    let (folder, fits): (&Path, &dyn Fn(&str) -> bool) = match (&pattern, path.is_dir()) {
        (Some(pattern), _) => (
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
            &|name| pattern::fits(pattern, name) && (!is_hidden(name) || is_hidden(pattern)),
        ),
        (None, true) => (path, &|name| is_table(name) && !is_hidden(name)),
        (None, false) => return Ok(vec![path.to_owned()]),
    };
    let unreadable = |error: std::io::Error| {
        Error::File(BadFile::Unreadable { table: folder.display().to_string(), reason: error.to_string() })
    };
    if !folder.is_dir() {
        return Err(Error::File(BadFile::NotFound { path: folder.display().to_string() }));
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = match folder == Path::new(".") {
            true => PathBuf::from(entry.file_name()),
            false => entry.path(),
        };
        if entry.file_name().to_str().is_some_and(fits) && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Whether a name marks something that is not data, such as `_SUCCESS` and `.crc` files.
fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

fn is_table(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    [".parquet", ".csv", ".tsv", ".txt"].iter().any(|end| plain.ends_with(end))
}

fn refuse_difference(first: &Shard, other: &Shard) -> Result<()> {
    let refuse = |found, expected| {
        Err(Error::Shards(BadShards::Mixed {
            table: other.name().to_owned(),
            found,
            first: first.name().to_owned(),
            expected,
        }))
    };
    let format = |shard: &Shard| if shard.is_text() { ShardTrait::Text } else { ShardTrait::Parquet };
    if first.is_text() != other.is_text() {
        return refuse(format(other), format(first));
    }
    // Repeated names are refused file by file.
    let (expected, found) = (places(first.names(), first.name())?, places(other.names(), other.name())?);
    if let Some(name) = first.names().iter().find(|name| !found.contains_key(*name)) {
        return refuse(ShardTrait::NoColumn(name.clone()), ShardTrait::Column(name.clone()));
    }
    match other.names().iter().find(|name| !expected.contains_key(*name)) {
        Some(name) => refuse(ShardTrait::Column(name.clone()), ShardTrait::NoColumn(name.clone())),
        None => Ok(()),
    }
}
