//! Virtual environments, kept under the target directory from one run to the next.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The interpreter of an environment.
pub(crate) fn interpreter(dir: &Path) -> PathBuf {
    dir.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// An environment in which `probe` (a line of Python) works, made by `python` and filled by pip with `packages`,
/// which are pip's own arguments; what goes wrong is said to `stderr`. `None` if packages are not available.
pub(crate) fn environment(
    dir: &Path,
    python: &str,
    probe: &str,
    packages: &[&str],
    stderr: fn() -> Stdio,
) -> Option<PathBuf> {
    let inside = interpreter(dir);
    let succeeds = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let ready = || succeeds(Command::new(&inside).args(["-c", probe]).stderr(Stdio::null()));
    if inside.exists() && ready() {
        return Some(inside);
    }
    // Python compiles what it imports, and keeps that: to compile all of it here would take longer than the rest.
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"];
    let made = succeeds(Command::new(python).args(["-m", "venv"]).arg(dir).stderr(stderr()))
        && succeeds(Command::new(&inside).args(install).args(packages).stderr(stderr()))
        && ready();
    made.then_some(inside)
}
