//! Commands that fit nothing end at the first ctrl-C or SIGTERM: status 130, a word, and no half-written file.
#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Bench, Said};

/// The command, with a standard input that never ends.
fn start(bench: &Bench, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_provi"));
    command.args(words).current_dir(bench.dir.path()).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the process has a handler for SIGINT; false if it ended before.
fn is_watched(child: &mut Child) -> bool {
    const SIGINT: u64 = 1 << (2 - 1);
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        if caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & SIGINT > 0) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Its input stays open, so that only the signal ends it.
fn ended(mut child: Child) -> Said {
    let input = child.stdin.take();
    let said = Said::from(child.wait_with_output().unwrap());
    drop(input);
    said
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path).into_iter().collect::<Vec<_>>(),
            false => vec![path.display().to_string()],
        })
        .collect()
}

fn stops(bench: &Bench, signal: &str, words: &[&str]) {
    let before = files(bench.dir.path());
    let mut child = start(bench, words);
    if !is_watched(&mut child) {
        panic!("{words:?} ended by itself: {}", ended(child).stderr);
    }
    send(signal, &child);
    let said = ended(child).exits(130);
    assert!(said.stdout.is_empty() && said.stderr.contains("stopped"), "{words:?}: {}", said.stderr);
    assert!(!said.stderr.contains("panicked"), "{words:?}: {}", said.stderr);
    assert_eq!(files(bench.dir.path()), before, "{words:?}");
}

#[test]
fn commands_that_wait_for_data_end_at_the_first_signal() {
    let bench = Bench::with_fits();
    // Nobody writes to it: whoever opens it waits.
    assert!(Command::new("mkfifo").arg(bench.path("endless")).status().unwrap().success());
    let model = ["-", "y ~ x"];
    let waiting: [&[&str]; 11] = [
        &["inspect", "-"],
        &["constants", model[0], model[1]],
        &["plan", model[0], model[1], "--steps", "10"],
        &["predict", "both.fit", "-"],
        &["certify", "both.fit", "-"],
        &["certify", "endless", "study.csv"],
        &["summary", "endless"],
        &["compare", "both.fit", "endless"],
        &["report", "endless", "--out", "page.html"],
        &["sample", "endless", "--out", "draws.zarr"],
        &["sample", "both.fit", "--psis", "--data", "endless", "--out", "draws.csv"],
    ];
    for (k, words) in waiting.into_iter().enumerate() {
        stops(&bench, if k % 2 == 0 { "-INT" } else { "-TERM" }, words);
    }
}

#[test]
fn commands_that_compute_end_at_the_first_signal() {
    let bench = Bench::with_fits();
    stops(&bench, "-INT", &["verify", "--all", "--quiet", "--out", "evidence"]);
    stops(&bench, "-TERM", &["certify", "both.fit", "study.csv", "--audit-draws", "50000000"]);
    stops(&bench, "-INT", &["sample", "both.fit", "-n", "5000000", "--out", "draws.csv"]);
}

/// A signal while a file is being written: it is whole or it is not there, and neither is a temporary one.
#[test]
fn a_file_under_way_goes_with_its_command() {
    let bench = Bench::with_fits();
    let before = files(bench.dir.path());
    let mut child = start(&bench, &["sample", "both.fit", "-n", "1000000", "--out", "draws.csv"]);
    while files(bench.dir.path()) == before && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Sent even if the command has just ended by itself.
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let said = ended(child);
    let mut after = files(bench.dir.path());
    match said.status {
        130 => assert_eq!(after, before),
        _ => {
            // The file was quicker than the signal.
            assert_eq!(said.exits(0).stdout, "written to draws.csv\n");
            let written = bench.path("draws.csv");
            assert!(after.remove(&written.display().to_string()) && after == before);
            assert_eq!(std::fs::read_to_string(written).unwrap().lines().count(), 1_000_001);
        }
    }
}

/// The demo is a fit, and ends as one.
#[test]
fn a_stopped_demo_has_the_status_of_a_stopped_fit() {
    let bench = Bench::new();
    let mut child = start(&bench, &["demo"]);
    if is_watched(&mut child) {
        send("-INT", &child);
    }
    let said = ended(child);
    let expected = if said.stdout.contains("stopped early") { 3 } else { 0 };
    assert!(said.exits(expected).stdout.contains("Wisconsin"));
}
