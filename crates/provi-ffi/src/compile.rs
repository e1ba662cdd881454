//! Compiles a `.stan` file to a library, if BridgeStan is installed.

use crate::children::{self, Made};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::sync::atomic::{AtomicU32, Ordering};

/// What to do if no BridgeStan is found.
pub const INSTRUCTION: &str = "download a release of https://github.com/roualdes/bridgestan, set BRIDGESTAN to its folder and run this \
     again; or compile it yourself with `make -C $BRIDGESTAN STAN_THREADS=true /full/path/to/NAME_model.so` and give \
     that file instead";

/// Most lines of a compiler's output that are passed on.
const LINES: usize = 30;

/// Whether a path names Stan code rather than a library.
pub fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("stan"))
}

/// The folder of an installed BridgeStan: `given`, else `BRIDGESTAN`, else the newest in `~/.bridgestan`, where its
/// other interfaces put it.
///
/// The error says where it was looked for.
pub fn installation(given: Option<&Path>) -> std::result::Result<PathBuf, String> {
    let is_one = |path: &Path| path.join("Makefile").is_file() && path.join("src").is_dir();
    let from_environment = || std::env::var_os("BRIDGESTAN").filter(|x| !x.is_empty()).map(PathBuf::from);
    if let Some(path) = given.map(Path::to_path_buf).or_else(from_environment) {
        let missing = || format!("`{}` holds no Makefile with a folder src beside it", path.display());
        return if is_one(&path) { Ok(path) } else { Err(missing()) };
    }
    let home = std::env::home_dir().unwrap_or_default().join(".bridgestan");
    let folders = std::fs::read_dir(&home).into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = folders.filter(|path| is_one(path)).max_by_key(|path| version(path));
    newest.ok_or_else(|| format!("BRIDGESTAN is not set, and `{}` holds none", home.display()))
}

/// The version numbers in `bridgestan-2.9.0`.
fn version(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

/// The library of a `.stan` file, compiled by BridgeStan's own Makefile for use by several threads: `NAME_model.so`
/// beside it. A library that is newer than its source is not compiled again.
///
/// Make ends a name at a space. A folder with a space is passed to it under another name; a file with one is
/// refused.
pub fn compile(model: &Path, bridgestan: Option<&Path>) -> Result<PathBuf> {
    let source = model.canonicalize().map_err(|_| Error::NotFound { path: model.into() })?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if !is_plain(&stem) {
        return Err(Error::UnfitName { model: model.into() });
    }
    let name = format!("{stem}_model.so");
    let library = source.with_file_name(&name);
    let installation =
        installation(bridgestan).map_err(|looked| Error::NoCompiler { model: model.into(), looked })?;
    let alias = Alias::new(source.parent().unwrap_or(&source))
        .map_err(|error| Error::Unreadable { path: model.into(), reason: error.to_string() })?;
    let mut make = Command::new("make");
    make.arg("-C").arg(&installation).arg("STAN_THREADS=true").arg(alias.path.join(&name));
    let shown = format!("{make:?}").replace('"', "");
    let failed = |output| Error::Compilation { model: model.into(), command: shown.clone(), output };
    make.stdout(Stdio::piped()).stderr(Stdio::piped());
    // The files that BridgeStan's rules leave beside the model.
    let beside = [name, format!("{stem}.hpp"), format!("{stem}.o")];
    let mut makes: Vec<Made> = beside.map(|name| Made::at(source.with_file_name(name))).into();
    if alias.is_link {
        makes.push(Made::here(alias.path.clone()));
    }
    let output = children::run(&mut make, None, &makes).map_err(|reason| failed(reason.to_string()))?;
    if !output.status.success() || !library.is_file() {
        // Half a library that is newer than its source would be taken for a complete one.
        makes.iter().for_each(Made::abandon);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        return Err(failed(lines[lines.len().saturating_sub(LINES)..].join("\n")));
    }
    Ok(library)
}

/// Whether make reads a name as it is.
fn is_plain(name: &str) -> bool {
    !name.chars().any(|c| c.is_whitespace() || "%$#:;=|&*?[]\\'\"()<>".contains(c))
}

/// A name of a folder that make can read: its own, or that of a link, which is removed when no longer needed.
struct Alias {
    path: PathBuf,
    is_link: bool,
}

impl Alias {
    fn new(folder: &Path) -> std::io::Result<Self> {
        #[cfg(unix)]
        if !is_plain(&folder.to_string_lossy()) {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("provi-ffi-{}-{count}", std::process::id()));
            std::os::unix::fs::symlink(folder, &path)?;
            return Ok(Self { path, is_link: true });
        }
        Ok(Self { path: folder.into(), is_link: false })
    }
}

impl Drop for Alias {
    fn drop(&mut self) {
        if self.is_link {
            // A leftover link would do no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
