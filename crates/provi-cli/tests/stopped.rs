//! Commands that fit nothing end at the first ctrl-C or SIGTERM: status 130, a word, and no half-written file. Programs that a command
//! has started end with it, and a search that is stopped keeps what it has.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Bench, Said};

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

/// An installation of BridgeStan whose compiler writes half a library, and then waits: for ever if it is stubborn.
fn slow_compiler(bench: &Bench, stubborn: bool) {
    std::fs::create_dir_all(bench.path("bridgestan/src")).unwrap();
    bench.write("bridgestan/Makefile", "%_model.so:\n\t@exec sh ./compiler $@\n");
    let at_the_end = match stubborn {
        true => "trap '' TERM INT",
        false => "trap 'echo told > died; exit 1' TERM",
    };
    let compiler = format!(
        "{at_the_end}\necho half > $1\necho half > ${{1%_model.so}}.hpp\necho $$ > started.new\nmv started.new started\n\
         while :; do sleep 0.02; done\n"
    );
    bench.write("bridgestan/compiler", &compiler);
    bench.write("m.stan", "parameters { real x; } model { x ~ std_normal(); }");
}

fn wait_for(path: &Path, child: &mut Child) -> String {
    while !path.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

/// Whether a process is there, and not only waits to be counted.
fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// A signal to the command alone, not to its process group.
#[test]
fn a_compiler_ends_with_the_command_that_started_it() {
    let words = ["fit", "--stan", "m.stan", "--bridgestan", "bridgestan"];
    for (signal, stubborn) in [("-TERM", false), ("-INT", false), ("-TERM", true)] {
        let bench = Bench::new();
        slow_compiler(&bench, stubborn);
        let before = files(bench.dir.path());
        let mut child = start(&bench, &words);
        let compiler = wait_for(&bench.path("bridgestan/started"), &mut child);
        assert!(is_alive(&compiler));
        send(signal, &child);
        let said = ended(child).exits(2);
        assert!(said.stderr.contains("no result to keep"), "{words:?}: {}", said.stderr);
        assert!(!is_alive(&compiler), "{words:?} left its compiler");
        assert_eq!(
            bench.path("bridgestan/died").exists(),
            !stubborn,
            "{words:?}: it is asked before it is killed"
        );
        let mut after = files(bench.dir.path());
        after.retain(|file| !file.ends_with("/started") && !file.ends_with("/died"));
        assert_eq!(after, before, "{words:?}: nothing half written is left");
    }
}

/// A time limit that is over while a compiler runs.
#[test]
fn a_compiler_ends_with_the_time_of_its_command() {
    let bench = Bench::new();
    slow_compiler(&bench, false);
    let words = ["fit", "--stan", "m.stan", "--bridgestan", "bridgestan", "--time-limit", "0.01"];
    let mut child = start(&bench, &words);
    let compiler = wait_for(&bench.path("bridgestan/started"), &mut child);
    let said = ended(child).exits(2);
    assert!(said.stderr.contains("--time-limit 0.01 was over"), "{}", said.stderr);
    assert!(!is_alive(&compiler) && !bench.path("m_model.so").exists());
}

/// Two thousand groups: a solution takes far longer than the second that a search with nothing to keep has after its limit.
#[test]
#[ignore = "slow: two thousand coefficients; fit.rs stops a search on fewer; cargo xtask heavy runs it"]
fn a_search_for_scales_that_is_stopped_before_its_first_solution_keeps_its_guesses() {
    let bench = Bench::new();
    let mut rows = "y,x,g\n".to_owned();
    for n in 0..4000 {
        let (x, g) = (f64::from(n % 7) - 3.0, n % 2000);
        rows += &format!("{},{x},g{g}\n", (n * n + g) % 2);
    }
    bench.write("groups.csv", &rows);
    let words = ["fit", "groups.csv", "y ~ x + (1 | g)", "--time-limit", "0.001", "--audit-draws", "100"];
    for factor in ["dense", "sparse"] {
        let out = format!("{factor}.fit");
        let said = bench.provi(&[&words[..], &["--factor", factor, "--out", &out]].concat()).exits(3);
        let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("stopped before its first solution: they are its first guesses"), "{text}");
        assert!(text.contains("stopped early"), "{text}");
        let path = bench.path(&out).join("fit.json");
        let fit: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(fit["stopped_early"], true);
        // It can be looked at like any other.
        assert!(bench.provi(&["summary", &out]).exits(0).stdout.contains("first guesses"));
    }
}
