//! Foreign code under a memory checker: valgrind, or the address sanitizer if valgrind is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, Run};

/// The tests whose libraries misbehave. They fit nothing, so a checker that takes fifty times as long still takes
/// only seconds.
const TESTS: &str = "hostile";

/// The variable by which the tests pass their own flags to the C compiler, and keep its output apart from the rest.
const FLAGS: &str = "PROVI_FIXTURE_FLAGS";

pub(crate) fn check(run: &Run) -> Outcome {
    if works("valgrind", &["--version"]) {
        println!("   under valgrind");
        let tests = built(run)?;
        // A model that is left open is "definitely lost"; what the test harness keeps until the end is "still
        // reachable".
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite"]);
        command.args(["--errors-for-leak-kinds=definite", "--child-silent-after-fork=yes"]);
        return run.wait(
            command.arg(tests).args(["--test-threads", "1"]).current_dir(run.root.join("crates/provi-ffi")),
        );
    }
    if let Some(library) = sanitizer() {
        println!("   under the address sanitizer of gcc; valgrind is not installed");
        let tests = built(run)?;
        let mut command = Command::new(tests);
        command.args(["--test-threads", "1"]).current_dir(run.root.join("crates/provi-ffi"));
        command
            .env("LD_PRELOAD", library)
            .env(FLAGS, "-fsanitize=address,undefined -fno-sanitize-recover=undefined");
        // The compiler runs under it too, and frees nothing at its end.
        return run.wait(command.env("ASAN_OPTIONS", "detect_leaks=0"));
    }
    println!(
        "   skipped: neither valgrind nor gcc with libasan is installed (on Debian: apt-get install valgrind)"
    );
    Ok(())
}

/// The path of the compiled tests, as cargo reports it.
fn built(run: &Run) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut command = run.command(&["test", "--workspace", "--test", TESTS, "--no-run"]);
    let output = command.stderr(Stdio::piped()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}:\n{said}", output.status).into());
    }
    let path = said.lines().rev().find_map(|line| line.split_once('(')?.1.strip_suffix(')'));
    let path = path.ok_or_else(|| format!("cargo does not say where the tests are:\n{said}"))?;
    Ok(run.root.join(path))
}

/// The library that must be loaded first, if gcc has it.
fn sanitizer() -> Option<PathBuf> {
    let output = Command::new("gcc").arg("-print-file-name=libasan.so").output().ok()?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // Without such a library gcc prints the name back.
    (output.status.success() && Path::new(&path).is_absolute()).then_some(path)
}

fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
