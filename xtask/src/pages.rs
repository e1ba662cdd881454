//! Report pages of real fits, and the sample pages, checked in a headless browser.

use std::fs;
use std::process::{Command, Stdio};

use crate::{Outcome, Run};

/// One fit of each kind of response, with groups and without.
const FITS: [(&str, &str, &[&str]); 4] = [
    ("weather", "wet ~ warmth + wind + (1 | month)", &[]),
    ("visits", "visits ~ log_coinsurance + diseases", &["--family", "poisson"]),
    ("penguins", "bill_depth_mm ~ species * sex + bill_length_mm", &["--family", "gaussian"]),
    ("rain", "wet | trials(days) ~ warmth", &[]),
];

pub(crate) fn check(run: &Run) -> Outcome {
    run.build()?;
    let dir = run.binaries.with_file_name("pages");
    fs::create_dir_all(&dir)?;
    let script = run.root.join("scripts/check_pages.py");
    let look = || {
        let mut command = Command::new("python3");
        command.arg(&script).arg("--install").current_dir(&run.root);
        command
    };
    run.wait(&mut look())?;
    let mut pages = look();
    for (name, formula, options) in FITS {
        let data = run.root.join("crates/provi-cli/tests/reference").join(format!("{name}.csv"));
        let folder = dir.join(format!("{name}.fit"));
        let provi = || Command::new(run.binaries.join("provi"));
        let mut fit = provi();
        fit.arg("fit").arg(data).arg(formula).args(options).arg("--out").arg(&folder);
        run.wait(fit.args(["--force", "--quiet"]).stdout(Stdio::null()))?;
        run.wait(provi().arg("report").arg(&folder).stdout(Stdio::null()))?;
        pages.arg(folder.join("report.html"));
    }
    run.wait(&mut pages)
}
