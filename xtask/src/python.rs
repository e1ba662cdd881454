//! The Python package, tested from Python: as the sources and the compiled module beside each other, and as a wheel.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::venv::environment;
use crate::{Outcome, Run, wheel};

const USUAL: &str =
    "import maturin, pytest, numpy, scipy, pandas, polars, pyarrow, arviz, sklearn, matplotlib";

/// What `cargo build` calls the compiled module, and what Python wants it to be called.
const MODULE: (&str, &str) = if cfg!(windows) {
    ("_provi.dll", "_provi.pyd")
} else if cfg!(target_os = "macos") {
    ("lib_provi.dylib", "_provi.abi3.so")
} else {
    ("lib_provi.so", "_provi.abi3.so")
};

/// The package with the libraries everybody has. No wheel: that would compile every dependency once more, with the
/// features of one crate; `check_stan` and `check_adapters` test the wheel.
pub(crate) fn check(run: &Run) -> Outcome {
    check_marked(run, "not slow")
}

/// The same, of the tests marked as slow.
pub(crate) fn check_slow(run: &Run) -> Outcome {
    check_marked(run, "slow")
}

fn check_marked(run: &Run, marks: &str) -> Outcome {
    let Some(python) = usual(run) else { return Ok(()) };
    let package = staged(run)?;
    let tests =
        ["crates/provi-py/tests", "--ignore=crates/provi-py/tests/adapters", GENUINE_IGNORED, "-m", marks];
    run.wait(pytest(run, &python, &tests).env("PYTHONPATH", package))
}

const GENUINE: &str = "crates/provi-py/tests/genuine";
const GENUINE_IGNORED: &str = "--ignore=crates/provi-py/tests/genuine";

/// Tests the package on genuine Stan models, in the folder in which they were compiled.
pub(crate) fn check_stan(run: &Run, models: &Path) -> Outcome {
    let Some(python) = usual(run) else { return Ok(()) };
    install_wheel(run, &python)?;
    let mut command = pytest(run, &python, &[GENUINE]);
    run.wait(command.env("PROVI_STAN_MODELS", models))
}

/// Tests the package with the libraries whose models it accepts, which need an environment of their own; and the same
/// wheel in an environment with nothing else in it.
pub(crate) fn check_adapters(run: &Run) -> Outcome {
    let probe = "import maturin, pytest, jax, numpyro, pymc";
    let Some(python) = packages(run, "python-all", "requirements-all.txt", probe) else { return Ok(()) };
    install_wheel(run, &python)?;
    wheel::try_out(run, &newest(&run.binaries.with_file_name("wheels"))?)?;
    run.wait(&mut pytest(run, &python, &["crates/provi-py/tests/adapters"]))
}

/// The work of installing what `check` needs, to be done beside other work. It says nothing: where it fails, `check`
/// tries again, and says why not.
pub(crate) fn fetch(run: &Run) -> impl FnOnce() + Send + use<> {
    let (dir, requirements) = places(run, "python", "requirements.txt");
    move || _ = environment(&dir, "python3", USUAL, &["--requirement", &requirements], Stdio::null)
}

pub(crate) fn usual(run: &Run) -> Option<PathBuf> {
    packages(run, "python", "requirements.txt", USUAL)
}

/// The interpreter of an environment with the packages of a file; none, and a word why, where they cannot be had.
fn packages(run: &Run, name: &str, requirements: &str, probe: &str) -> Option<PathBuf> {
    let (dir, requirements) = places(run, name, requirements);
    let python = environment(&dir, "python3", probe, &["--requirement", &requirements], Stdio::inherit);
    if python.is_none() {
        println!("   skipped: the packages of {requirements} could not be installed");
    }
    python
}

/// Where an environment is kept, and the file of its packages.
fn places(run: &Run, name: &str, requirements: &str) -> (PathBuf, String) {
    let requirements = run.root.join("crates/provi-py").join(requirements);
    (run.binaries.with_file_name(name), requirements.display().to_string())
}

/// A folder with the package as Python imports it: its sources, and the module that the tests' build has compiled.
pub(crate) fn staged(run: &Run) -> Result<PathBuf, Box<dyn Error>> {
    run.build()?;
    let folder = run.binaries.with_file_name("python").join("package");
    let package = folder.join("provi");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    fs::create_dir_all(&package)?;
    for entry in fs::read_dir(run.root.join("crates/provi-py/python/provi"))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), package.join(entry.file_name()))?;
        }
    }
    fs::copy(run.binaries.join(MODULE.0), package.join(MODULE.1))?;
    Ok(folder)
}

/// Builds the wheel and installs it.
fn install_wheel(run: &Run, python: &Path) -> Outcome {
    let wheels = run.binaries.with_file_name("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    let mut build = Command::new(python);
    build.args(["-m", "maturin", "build", "--profile", "dev", "--quiet", "--skip-auditwheel", "--out"]);
    run.wait(build.arg(&wheels).arg("--interpreter").arg(python).current_dir(&run.root))?;
    let wheel = newest(&wheels)?;
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]);
    run.wait(install.arg("--disable-pip-version-check").arg(wheel))?;
    run.build()
}

/// Tests in Python, from the root, that know where the command is.
fn pytest(run: &Run, python: &Path, tests: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pytest"]).args(tests).env("PROVI_COMMAND", run.binaries.join("provi"));
    command.current_dir(&run.root);
    command
}

/// The wheel in a folder of one.
pub(crate) fn newest(dir: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut wheels = fs::read_dir(dir)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    wheels
        .find(|path| path.extension().is_some_and(|x| x == "whl"))
        .ok_or_else(|| "no wheel was built".into())
}
