//! Runs the real binary in a folder of its own and compares what it says with stored texts.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with the data sets.
pub struct Bench {
    pub dir: tempfile::TempDir,
}

pub struct Said {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../provi/tests/data");
        for name in ["W1.csv", "W2.csv"] {
            std::fs::copy(data.join(name), dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    pub fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn provi(&self, args: &[&str]) -> Said {
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
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// Compares with `tests/snapshots/NAME.txt`; `PROVI_BLESS=1` rewrites it instead.
pub fn assert_snapshot(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("PROVI_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "\n{name} differs from {}; PROVI_BLESS=1 rewrites it", path.display());
}
