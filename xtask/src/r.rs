//! The R package: `R CMD build` and `R CMD check`, which compile it, run its tests, its examples and its vignette.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, Run, python};

/// What the tests and the vignette use, by the names of R.
const PACKAGES: [&str; 18] = [
    "MASS",
    "survival",
    "nlme",
    "lme4",
    "testthat",
    "jsonlite",
    "tibble",
    "posterior",
    "loo",
    "rstantools",
    "generics",
    "emmeans",
    "coda",
    "bayesplot",
    "knitr",
    "rmarkdown",
    "splines",
    "stats",
];

/// The same by those of Debian; `splines` and `stats` come with R.
const DEBIAN: [&str; 18] = [
    "r-base-core",
    "r-cran-mass",
    "r-cran-survival",
    "r-cran-nlme",
    "r-cran-lme4",
    "r-cran-testthat",
    "r-cran-jsonlite",
    "r-cran-tibble",
    "r-cran-posterior",
    "r-cran-loo",
    "r-cran-rstantools",
    "r-cran-generics",
    "r-cran-emmeans",
    "r-cran-coda",
    "r-cran-bayesplot",
    "r-cran-knitr",
    "r-cran-rmarkdown",
    "pandoc",
];

/// Builds the package and checks it. A warning of `R CMD check` is an error here; notes are not.
pub(crate) fn check(run: &Run) -> Outcome {
    install(run)?;
    // The command and the Python package, whose numbers the tests compare with: `staged` builds both.
    let interpreter = python::usual(run);
    let package = python::staged(run)?;
    let target = run.binaries.parent().ok_or("the target directory has no parent")?;
    let folder = target.join("r");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let r = |arguments: &[&str]| {
        let mut command = Command::new("R");
        command.arg("CMD").args(arguments).current_dir(&folder);
        command.env("PROVI_SOURCE", &run.root).env("PROVI_PROFILE", "dev").env("CARGO_TARGET_DIR", target);
        command.env("PROVI_COMMAND", run.binaries.join("provi")).env("NOT_CRAN", "true");
        if let Some(interpreter) = &interpreter {
            command.env("PROVI_PYTHON", interpreter).env("PYTHONPATH", &package);
        }
        command
    };
    run.wait(r(&["build"]).arg(run.root.join("r")))?;
    let built = package_in(&folder)?;
    // `build` has run the vignette.
    let checked = run.wait(r(&["check", "--no-manual", "--no-build-vignettes"]).arg(&built));
    if std::env::var_os("PROVI_BLESS").is_some() {
        return bless(
            &folder.join("provi.Rcheck/tests/testthat/_snaps"),
            &run.root.join("r/tests/testthat/_snaps"),
        );
    }
    checked?;
    let log = folder.join("provi.Rcheck/00check.log");
    let status = fs::read_to_string(&log)?;
    let status = status.lines().rev().find(|line| line.starts_with("Status:")).unwrap_or_default().to_owned();
    match status.contains("WARNING") || status.contains("ERROR") || status.is_empty() {
        true => Err(format!("R CMD check says `{status}`; {} has the details", log.display()).into()),
        false => Ok(()),
    }
}

/// Stores what the tests printed instead of their snapshots: `NAME.new.md` beside `NAME.md`. The next check says whether that was all.
fn bless(found: &Path, stored: &Path) -> Outcome {
    for entry in fs::read_dir(found)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(stem) = name.strip_suffix(".new.md") {
            println!("   blessed {stem}.md");
            fs::copy(&path, stored.join(format!("{stem}.md")))?;
        }
    }
    Ok(())
}

/// Installs R and the packages by apt where they are missing and that is possible; otherwise names them.
fn install(run: &Run) -> Outcome {
    if is_there() {
        return Ok(());
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        run.wait(&mut command)
    };
    let by_apt = || {
        apt(&["update", "-qq"])?;
        apt(&[&["install", "-y", "-qq", "--no-install-recommends"], &DEBIAN[..]].concat())
    };
    match by_apt() {
        Ok(()) if is_there() => Ok(()),
        _ => Err(format!(
            "R or packages of it are missing, and apt-get could not install them; on Debian, as root: apt-get install {}; elsewhere \
             install R 4.2 or later and its packages {}",
            DEBIAN.join(" "),
            PACKAGES.join(", ")
        )
        .into()),
    }
}

fn is_there() -> bool {
    let packages = PACKAGES.map(|name| format!("'{name}'")).join(", ");
    let script = format!(
        "stopifnot(vapply(c({packages}), requireNamespace, NA, quietly = TRUE), rmarkdown::pandoc_available())"
    );
    let mut probe = Command::new("Rscript");
    probe.args(["-e", &script]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// The package that `R CMD build` has left in a folder.
fn package_in(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut files = fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    files
        .find(|path| path.extension().is_some_and(|x| x == "gz"))
        .ok_or_else(|| "R CMD build has made no package".into())
}
