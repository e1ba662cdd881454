//! Runs the real binary in a folder of its own and compares what it says with stored texts.

// Each test crate uses its own part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with the data sets.
pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
}

pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../provi/tests/data");
        for name in ["W1.csv", "W2.csv"] {
            std::fs::copy(data.join(name), dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    /// A copy of the fixtures: `study.csv` and four fits of it.
    pub(crate) fn with_fits() -> Self {
        let bench = Self::new();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        std::fs::copy(fixtures.join("study.csv"), bench.path("study.csv")).unwrap();
        for fit in ["both.fit", "x.fit", "dose.fit", "dose-z.fit"] {
            std::fs::create_dir(bench.path(fit)).unwrap();
            std::fs::copy(fixtures.join(fit).join("fit.json"), bench.path(fit).join("fit.json")).unwrap();
        }
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn provi(&self, args: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_provi"))
            .args(args)
            .current_dir(self.dir.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said::from(output)
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Said {
    /// Asserts the exit status, with all that was said if it is another.
    pub(crate) fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// Compares with `tests/snapshots/NAME.txt`; `PROVI_BLESS=1` rewrites it instead.
pub(crate) fn assert_snapshot(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("PROVI_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "\n{name} differs from {}; PROVI_BLESS=1 rewrites it", path.display());
}
