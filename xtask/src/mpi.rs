//! Several processes: lints and tests of `provi-mpi`, if MPI is installed or can be installed.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Outcome, Run};

/// The names of MPI with its headers, and of what its bindings need, on Debian and similar systems.
const PACKAGES: [&str; 4] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev", "clang"];

pub(crate) fn check(run: &Run) -> Outcome {
    if let Err(missing) = complete() {
        println!("   {missing} is not there; trying to install {}", PACKAGES.join(", "));
        install();
    }
    if let Err(missing) = complete() {
        println!(
            "   skipped: {missing} is missing, and could not be installed. Install an MPI with its headers and libclang \
             (on Debian: apt-get install {}), and run `cargo xtask mpi`",
            PACKAGES.join(" ")
        );
        return Ok(());
    }
    // The whole workspace with one more feature, so that what `cargo test` has built can be used.
    let feature = ["--workspace", "--features", "provi-mpi/mpi"];
    let lint = ["--lib", "--bins", "--test", "ranks", "--test", "ended", "--", "-D", "warnings"];
    run.cargo(&[&["clippy"], &feature[..], &lint].concat())?;
    run.cargo(&[&["test"], &feature[..], &["--test", "ranks", "--test", "ended"]].concat())
}

/// Everything that building and starting needs, or the first thing that is missing.
fn complete() -> Result<(), &'static str> {
    let works = |program: &str| {
        let quiet =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    };
    for program in ["mpicc", "mpirun", "clang"] {
        if !works(program) {
            return Err(program);
        }
    }
    Ok(())
}

fn install() {
    if !Path::new("/usr/bin/apt-get").exists() {
        return;
    }
    // Whether it worked is found by looking again; without the rights to install, apt itself says so.
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        let _ = command.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()).status();
    };
    apt(&["update", "-q"]);
    apt(&[&["install", "-y", "-q"], &PACKAGES[..]].concat());
}
