//! Paths in a run file: written relative to its folder, so that it works from any other folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Standard input, which has no path.
const STDIN: &str = "-";

/// The path that a run file in `folder` means: relative to that folder or, if nothing exists there (as in older and
/// hand-written files), relative to the current folder.
pub(super) fn found(named: &Path, folder: &Path) -> PathBuf {
    if named.is_absolute() || named == Path::new(STDIN) {
        return named.to_owned();
    }
    let beside = folder.join(named);
    if !is_there(&beside) && is_there(named) { named.to_owned() } else { plain(&beside) }
}

/// Without the detours of a joined path: `line.csv` for `x.fit/../line.csv`.
fn plain(path: &Path) -> PathBuf {
    let there = path.parent().zip(path.file_name()).filter(|_| path.is_absolute());
    let plain = match there {
        Some((folder, name)) => folder.canonicalize().map(|folder| folder.join(name)),
        None if is_there(path) => seen_from(path, Path::new(".")),
        None => Ok(path.to_owned()),
    };
    plain.unwrap_or_else(|_| path.to_owned())
}

/// Whether a file or folder exists there, or files that match a pattern.
fn is_there(path: &Path) -> bool {
    let pattern = path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains(['*', '?']));
    let folder =
        path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    path.exists() || pattern && folder.is_some_and(Path::is_dir)
}

/// A path relative to the current folder, rewritten relative to `folder`. An absolute path stays.
pub(super) fn seen_from(named: &Path, folder: &Path) -> io::Result<PathBuf> {
    if named.is_absolute() || named == Path::new(STDIN) {
        return Ok(named.to_owned());
    }
    // Resolve links in the folders, because `..` behind a link means another place; the last name stays as given.
    let (inside, name) = match (named.parent(), named.file_name()) {
        (Some(parent), Some(name)) => (parent, Some(name)),
        _ => (named, None),
    };
    let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
    let (Ok(to), Ok(from)) = (inside.canonicalize(), folder.canonicalize()) else {
        return std::path::absolute(named);
    };
    let to: Vec<Component<'_>> = to.components().collect();
    let from: Vec<Component<'_>> = from.components().collect();
    let common = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = from[common..].iter().map(|_| Component::ParentDir);
    let mut path: PathBuf = up.chain(to[common..].iter().copied()).collect();
    path.extend(name);
    Ok(if path.as_os_str().is_empty() { PathBuf::from(".") } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_from_the_folder_as_it_did_from_here() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(at("project/data")).unwrap();
        std::fs::create_dir_all(at("project/fits/x.fit")).unwrap();
        std::fs::write(at("project/data/t.csv"), "").unwrap();
        // Absolute paths and standard input mean the same everywhere.
        assert_eq!(seen_from(&at("project/data/t.csv"), &at("project")).unwrap(), at("project/data/t.csv"));
        assert_eq!(seen_from(Path::new("-"), &at("project")).unwrap(), Path::new("-"));
        // From this crate's folder, where tests run, to itself and to what is beside it.
        let here = Path::new(".");
        assert_eq!(seen_from(Path::new("Cargo.toml"), here).unwrap(), Path::new("Cargo.toml"));
        assert_eq!(seen_from(Path::new("src/*.rs"), Path::new("tests")).unwrap(), Path::new("../src/*.rs"));
        assert_eq!(seen_from(Path::new("src"), Path::new("src")).unwrap(), Path::new("../src"));
        assert_eq!(seen_from(Path::new("./tests/../src/lib.rs"), here).unwrap(), Path::new("src/lib.rs"));
        for folder in ["src", "tests/common", "."] {
            let written = seen_from(Path::new("src/lib.rs"), Path::new(folder)).unwrap();
            let back = found(&written, Path::new(folder)).canonicalize().unwrap();
            assert_eq!(back, Path::new("src/lib.rs").canonicalize().unwrap(), "{folder}");
        }
    }

    #[test]
    fn what_is_beside_the_file_goes_first_and_what_is_nowhere_is_looked_for_there() {
        assert_eq!(found(Path::new("main.rs"), Path::new("src")), Path::new("src/main.rs"));
        assert_eq!(found(Path::new("../src/main.rs"), Path::new("tests")), Path::new("src/main.rs"));
        assert_eq!(found(Path::new("src/*.rs"), Path::new("tests")), Path::new("src/*.rs"));
        assert_eq!(found(Path::new("nowhere.csv"), Path::new("src")), Path::new("src/nowhere.csv"));
        assert_eq!(found(Path::new("-"), Path::new("src")), Path::new("-"));
    }
}
