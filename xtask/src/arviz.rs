//! Draws of real fits, opened by the real ArviZ.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use crate::venv::environment;
use crate::{Outcome, Run};

/// Names that cannot be folders, letters outside ASCII, and brackets.
const AWKWARD: &str =
    "y,dose/kg,größe,a b\n1,0.9,-0.3,2.1\n0,-0.7,0.4,1.4\n1,0.2,0.8,1.9\n0,-1.1,-0.9,0.6\n1,1.4,0.1,2.8\n";

/// Fits two small tables and opens their draws, once for each Python that can have ArviZ.
pub(crate) fn check(run: &Run) -> Outcome {
    run.build()?;
    let dir = run.binaries.with_file_name("arviz");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("awkward.csv"), AWKWARD)?;
    let fixtures = run.root.join("crates/provi-cli/tests/fixtures");
    let fits = [
        (fixtures.join("study.csv"), "y ~ x + z", "study.fit"),
        (dir.join("awkward.csv"), "y ~ .", "awkward.fit"),
    ];
    for (data, formula, name) in &fits {
        let mut provi = Command::new(run.binaries.join("provi"));
        provi.arg("fit").arg(data).arg(formula).arg("--out").arg(dir.join(name)).args(["--force", "--quiet"]);
        run.wait(provi.stdout(Stdio::null()))?;
        // The same exact draws, weighed by provi and, from a store, by ArviZ.
        let fit = dir.join(name);
        let mut provi = Command::new(run.binaries.join("provi"));
        provi.arg("sample").arg(&fit).arg("--exact").arg("--data").arg(data).arg("--force");
        run.wait(provi.arg("--out").arg(dir.join(format!("{name}-exact.zarr"))).stdout(Stdio::null()))?;
        let mut provi = Command::new(run.binaries.join("provi"));
        provi.arg("loo").arg(&fit).arg("--data").arg(data).args(["--method", "psis", "--json"]);
        run.wait(provi.stdout(fs::File::create(dir.join(format!("{name}-loo.json")))?))?;
    }
    let mut checked = 0;
    for (python, version) in pythons() {
        let Some(python) = environment(
            &dir.join(&version),
            &python,
            "import arviz, zarr",
            &["arviz", "zarr"],
            Stdio::inherit,
        ) else {
            println!("   skipped: no ArviZ could be installed for Python {version}");
            continue;
        };
        for (_, _, name) in &fits {
            let script = run.root.join("crates/provi-cli/tests/arviz_check.py");
            run.wait(Command::new(&python).arg(script).arg(dir.join(name)))?;
        }
        checked += 1;
    }
    if checked == 0 {
        println!("   skipped: no Python with ArviZ; the bytes are still tested by `cargo test -p provi-cli`");
    }
    Ok(())
}

/// Interpreters that run, each version once, with their version.
fn pythons() -> Vec<(String, String)> {
    let named = env::var("PROVI_PYTHONS").unwrap_or_default();
    let usual = ["python3", "python3.12", "python3.13", "python3.14"].map(str::to_owned);
    let mut found: Vec<(String, String)> = Vec::new();
    for python in named.split_whitespace().map(str::to_owned).chain(usual) {
        let script =
            "import sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 10))";
        let Ok(output) = Command::new(&python).args(["-c", script]).output() else { continue };
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && found.iter().all(|(_, other)| *other != version) {
            found.push((python, version));
        }
    }
    found
}
