//! The Python package: built as a wheel, installed, and tested from Python.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::venv::environment;
use crate::{Outcome, Run};

const USUAL: &str =
    "import maturin, pytest, numpy, scipy, pandas, polars, pyarrow, arviz, sklearn, matplotlib";

/// Tests the package with the usual libraries.
pub(crate) fn check(run: &Run) -> Outcome {
    let tests = ["crates/provi-py/tests", "--ignore=crates/provi-py/tests/adapters", GENUINE_IGNORED];
    test(run, "python", "requirements.txt", USUAL, &tests, None)
}

const GENUINE: &str = "crates/provi-py/tests/genuine";
const GENUINE_IGNORED: &str = "--ignore=crates/provi-py/tests/genuine";

/// Tests the package on genuine Stan models, in the folder in which they were compiled.
pub(crate) fn check_stan(run: &Run, models: &Path) -> Outcome {
    test(run, "python", "requirements.txt", USUAL, &[GENUINE], Some(("PROVI_STAN_MODELS", models)))
}

/// Tests the package with the libraries whose models it accepts, which need an environment of their own.
pub(crate) fn check_adapters(run: &Run) -> Outcome {
    if !run.root.join("crates/provi-py/tests/adapters").exists() {
        println!("   nothing to test yet");
        return Ok(());
    }
    let probe = "import maturin, pytest, jax, numpyro, pymc";
    test(run, "python-all", "requirements-all.txt", probe, &["crates/provi-py/tests/adapters"], None)
}

/// Builds and installs the package in an environment of that name, and runs tests there with an environment
/// variable set.
fn test(
    run: &Run,
    name: &str,
    requirements: &str,
    probe: &str,
    tests: &[&str],
    variable: Option<(&str, &Path)>,
) -> Outcome {
    let dir = run.binaries.with_file_name(name);
    let requirements = run.root.join("crates/provi-py").join(requirements);
    let packages = ["--requirement", &requirements.display().to_string()];
    let Some(python) = environment(&dir, "python3", probe, &packages) else {
        println!("   skipped: the packages of {} could not be installed", requirements.display());
        return Ok(());
    };
    let wheels = dir.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    // The dev profile and the same target directory, so that nothing is compiled again.
    let mut build = Command::new(&python);
    build.args(["-m", "maturin", "build", "--profile", "dev", "--quiet", "--skip-auditwheel", "--out"]);
    run.wait(build.arg(&wheels).arg("--interpreter").arg(&python).current_dir(&run.root))?;
    let wheel = newest(&wheels)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]);
    run.wait(install.arg("--disable-pip-version-check").arg(wheel))?;
    run.cargo(&["build", "--package", "provi-cli"])?;
    let mut pytest = Command::new(&python);
    pytest.args(["-m", "pytest"]).args(tests).env("PROVI_COMMAND", run.binaries.join("provi"));
    pytest.envs(variable);
    run.wait(pytest.current_dir(&run.root))
}

/// The only wheel in a folder.
fn newest(dir: &Path) -> Result<std::path::PathBuf, Box<dyn std::error::Error>> {
    let mut wheels = fs::read_dir(dir)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    wheels
        .find(|path| path.extension().is_some_and(|x| x == "whl"))
        .ok_or_else(|| "no wheel was built".into())
}
