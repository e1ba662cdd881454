//! A wheel that pip installs without compiling, made for this platform and tried out in an environment of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::venv::interpreter;
use crate::{Outcome, Run, python};

/// What the wheel must do where nothing but numpy is installed: be imported from there, fit and prove.
const FIT: &str = "\
import sys, provi
assert provi.__file__.startswith(sys.prefix), provi.__file__
fit = provi.logistic([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).fit()
assert fit.certificate.proves_gap(1e-6), fit.certificate
print(fit)";

/// Builds `dist/provi-….whl` in the release profile, says how long it took, and tries it out.
pub(crate) fn make(run: &Run) -> Outcome {
    let Some(python) = python::usual(run) else { return Err("no wheel without maturin".into()) };
    let folder = run.root.join("dist");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    println!("   compiling in the release profile: some minutes the first time; cargo says what it compiles");
    let begin = Instant::now();
    let mut build = Command::new(&python);
    build.args(["-m", "maturin", "build", "--release", "--skip-auditwheel", "--out"]).arg(&folder);
    run.wait(build.arg("--interpreter").arg(&python).current_dir(&run.root))?;
    let wheel = python::newest(&folder)?;
    let size = fs::metadata(&wheel)?.len() as f64 / 1e6;
    println!("   {} ({size:.1} MB) after {:.0} s", wheel.display(), begin.elapsed().as_secs_f64());
    try_out(run, &wheel)?;
    println!("   install it with: python3 -m pip install {}", wheel.display());
    Ok(())
}

/// Installs a wheel in a fresh environment, where nothing may be compiled, and fits a model there.
pub(crate) fn try_out(run: &Run, wheel: &Path) -> Outcome {
    let name = wheel.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // One file for every Python from the oldest on.
    if !name.contains("-abi3-") {
        return Err(format!("{name} is a wheel for one version of Python alone").into());
    }
    let dir = run.binaries.with_file_name("wheel-alone");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    run.wait(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
    let alone = interpreter(&dir);
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
    let numpy = Command::new(&alone).args(pip).arg("numpy").stderr(Stdio::null()).status()?;
    if !numpy.success() {
        println!("   not tried out: numpy could not be installed");
        return Ok(());
    }
    // No path to a compiler, in case one is wanted all the same.
    run.wait(Command::new(&alone).args(pip).arg("--no-index").arg(wheel).env("PATH", ""))?;
    // Away from the root, whose folders Python would import from.
    run.wait(Command::new(&alone).args(["-c", FIT]).current_dir(&dir).env_remove("PYTHONPATH"))?;
    println!("   {name}: installed without compiling, imported, and fitted a model");
    Ok(())
}
