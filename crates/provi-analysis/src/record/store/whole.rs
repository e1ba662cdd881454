//! Files and folders written completely or not at all: under a temporary name beside their place, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::record::unfinished::Unfinished;

/// Suffix of the names of files that are being written.
pub(super) const TEMPORARY: &str = ".tmp";

/// A file that every Zarr store has.
const ZARR: &str = "zarr.json";

/// Refuses a path that exists, unless `force`, or that cannot be written. A fit is never replaced by something
/// else, and a folder only if it is a Zarr store.
pub fn check_free(path: &Path, force: bool) -> Result<()> {
    if path.exists() && !force {
        return Err(Error::Exists { path: path.to_owned() });
    }
    refuse_fit(path)?;
    if path.is_dir() && !is_replaceable(path) {
        return Err(Error::OtherFolder { path: path.to_owned() });
    }
    let probe = Unfinished::new(temporary(path));
    probe.change(|probe| File::create(probe).map(drop)).map_err(|error| Error::write(path, &error))
}

/// Refuses to overwrite a fit, or a part of one.
pub fn refuse_fit(path: &Path) -> Result<()> {
    let holds_fit = |folder: &Path| folder.join(super::FIT).is_file();
    let name = path.file_name().unwrap_or_default();
    let part = path.parent().is_some_and(holds_fit) && super::WORK.iter().any(|part| name == *part);
    match part || holds_fit(path) || is_fit(path) {
        true => Err(Error::PartOfFit { path: path.to_owned() }),
        false => Ok(()),
    }
}

/// Whether a file is a fit.json, whatever its name.
fn is_fit(path: &Path) -> bool {
    let mut start = [0; 200];
    let read = File::open(path).and_then(|mut file| io::Read::read(&mut file, &mut start)).unwrap_or(0);
    let text = String::from_utf8_lossy(&start[..read]);
    text.trim_start().starts_with('{') && text.contains("\"provi-fit/")
}

/// Whether it is an empty folder or a Zarr store.
fn is_replaceable(path: &Path) -> bool {
    path.join(ZARR).is_file() || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Writes a file through a temporary one.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    write_file_with(path, |to| to.write_all(bytes).map_err(|error| Error::write(path, &error)))
}

/// The same for a function that writes the contents bit by bit. If the function fails, nothing is left behind.
pub fn write_file_with<E>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> std::result::Result<(), E>
where
    E: From<Error>,
{
    let unfinished = Unfinished::new(temporary(path));
    let refuse = |error: io::Error| E::from(Error::write(path, &error));
    let mut file = BufWriter::new(unfinished.change(|new| File::create(new)).map_err(refuse)?);
    fill(&mut file)?;
    let place = || {
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        unfinished.change(|new| fs::rename(new, path))
    };
    place().map_err(refuse)
}

/// Writes the files of one folder: all are on the disk before the first gets its name, in the given order.
pub fn write_files(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    let places: Vec<PathBuf> = files.iter().map(|(name, _)| dir.join(name)).collect();
    let unfinished: Vec<_> = places.iter().map(|path| Unfinished::new(temporary(path))).collect();
    let place = || {
        fs::create_dir_all(dir)?;
        for ((new, path), (_, bytes)) in unfinished.iter().zip(&places).zip(files) {
            fs::create_dir_all(path.parent().unwrap_or(dir))?;
            write(new.change(|new| File::create(new))?, bytes)?;
        }
        unfinished.iter().zip(&places).try_for_each(|(new, path)| new.change(|new| fs::rename(new, path)))
    };
    place().map_err(|error| Error::write(dir, &error))
}

/// Writes a folder with exactly these files, through a temporary one. The old folder is removed once the new one is
/// in its place; if the system cannot exchange two folders, that takes two renames.
pub fn write_folder(path: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    let unfinished = Unfinished::new(temporary(path));
    let fill = || {
        for (name, bytes) in files {
            let file = unfinished.change(|new| {
                let file = new.join(name);
                fs::create_dir_all(file.parent().unwrap_or(new))?;
                File::create(file)
            })?;
            write(file, bytes)?;
        }
        // After an exchange, the temporary name holds the old folder, which is removed.
        unfinished.change(|new| match fs::symlink_metadata(path) {
            Ok(_) => exchange(new, path),
            Err(_) => fs::rename(new, path),
        })
    };
    fill().map_err(|error| Error::write(path, &error))
}

/// Exchanges the names of two files or folders.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        // The file system cannot exchange them.
        Err(_) => turn_about(one, other),
        Ok(()) => Ok(()),
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    turn_about(one, other)
}

/// Exchanges the names by way of a third name.
fn turn_about(one: &Path, other: &Path) -> io::Result<()> {
    let aside = temporary(other);
    fs::rename(other, &aside)?;
    fs::rename(one, other)?;
    fs::rename(&aside, one)
}

/// Removes a file or a folder, if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

fn write(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes).and_then(|()| file.sync_all())
}

/// A hidden name in the same folder, so that a rename stays on one disk; different for every caller.
pub(super) fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}-{count}{TEMPORARY}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_folder_is_replaced_whole_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("draws.zarr");
        let store = |extra: &str| vec![(ZARR.to_owned(), b"{}".to_vec()), (format!("{extra}/c"), vec![1])];
        write_folder(&path, &store("a")).unwrap();
        write_folder(&path, &store("b")).unwrap();
        assert_eq!(names(&path), ["b", ZARR]);
        assert_eq!(names(dir.path()), ["draws.zarr"]);
        turn_about(&path.join("b"), &path.join(ZARR)).unwrap();
        assert!(path.join(ZARR).is_dir() && path.join("b").is_file());
    }

    #[test]
    fn what_cannot_be_made_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.csv");
        fs::write(&path, "old").unwrap();
        let half = |to: &mut dyn Write| {
            to.write_all(b"half").unwrap();
            Err(Error::NoRecipe)
        };
        write_file_with(&path, half).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(dir.path()), ["x.csv"]);
    }

    #[test]
    fn a_fit_is_no_place_for_anything_else() {
        let dir = tempfile::tempdir().unwrap();
        let fit = dir.path().join("x.fit");
        fs::create_dir(&fit).unwrap();
        fs::write(fit.join("fit.json"), "{\n\"schema\": \"provi-fit/1\"}").unwrap();
        fs::write(dir.path().join("copy.json"), "{\n\"schema\": \"provi-fit/1\"}").unwrap();
        fs::create_dir(dir.path().join("notes")).unwrap();
        fs::write(dir.path().join("notes/a.txt"), "").unwrap();
        for taken in ["x.fit", "x.fit/fit.json", "x.fit/run.toml", "copy.json", "notes"] {
            assert!(check_free(&dir.path().join(taken), true).is_err(), "{taken}");
        }
        check_free(&fit.join("mine.csv"), true).unwrap();
        check_free(&fit.join("draws.zarr"), true).unwrap();
    }
}
