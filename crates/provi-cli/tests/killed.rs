//! Runs that are killed, not asked: what is in their folder is whole, and they go on to the same answer.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::Bench;
use serde_json::Value;

/// 0..1, scattered: the k-th multiple of the golden section.
fn moment(k: u64) -> f64 {
    (k as f64 * 0.618_033_988_749_895).fract()
}

/// Everything but how long it took, and that the bound of a plan names the checkpoint it rests on.
fn answer(bench: &Bench, folder: &str) -> Value {
    let text = std::fs::read_to_string(bench.path(folder).join("fit.json")).unwrap();
    let mut fit: Value = serde_json::from_str(&text).unwrap();
    (fit["seconds"], fit["phases"]) = (Value::Null, Value::Null);
    fit["plan_bound"]["taken_up"].take();
    fit
}

/// Kills a fit many times, at moments between its start and about its end, and takes it up each time.
fn survives(kills: u64, words: &[&str]) {
    let bench = Bench::new();
    let begin = [&["fit"], words, &["--quiet", "--checkpoint-every", "0.01", "--out"]].concat();
    let started = std::time::Instant::now();
    bench.provi(&[&begin[..], &["whole.fit"]].concat()).exits(0);
    let whole = started.elapsed();
    let (mut resumed, mut finished) = (0, 0);
    for kill in 0..kills {
        let begun = bench.path("cut.fit/run.toml").exists() && !bench.path("cut.fit/fit.json").exists();
        let _ = (!begun).then(|| std::fs::remove_dir_all(bench.path("cut.fit")));
        let words = if begun {
            vec!["fit", "--resume", "cut.fit", "--quiet"]
        } else {
            [&begin[..], &["cut.fit"]].concat()
        };
        resumed += u64::from(begun);
        let mut child = Command::new(env!("CARGO_BIN_EXE_provi"))
            .args(&words)
            .current_dir(bench.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Every other one at any moment, as early as that may be; the rest once the run is on its way.
        while kill % 2 == 1 && !bench.path("cut.fit/run.toml").exists() && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(whole.min(Duration::from_millis(400)).mul_f64(moment(kill)));
        child.kill().unwrap();
        child.wait().unwrap();
        finished += u64::from(bench.path("cut.fit/fit.json").exists());
    }
    assert!(resumed > kills / 5, "only {resumed} of {kills} runs were taken up; {finished} finished");
    if !bench.path("cut.fit/fit.json").exists() {
        bench.provi(&["fit", "--resume", "cut.fit", "--quiet"]).exits(0);
    }
    assert_eq!(answer(&bench, "cut.fit"), answer(&bench, "whole.fit"));
    let left = std::fs::read_dir(bench.path("cut.fit")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| name != "checkpoint.bin" && !name.ends_with(".tmp")), "{left:?}");
}

/// A checkpoint that is cut short, changed, or out of another folder: refused, and nothing is written.
#[test]
fn a_checkpoint_that_is_not_the_runs_own_is_refused() {
    let bench = Bench::new();
    let stopped = |folder: &str, seed: &str| {
        let words = ["--method", "prox-energy", "--steps", "200000000", "--audit-draws", "200", "--quiet"];
        let stop = ["--time-limit", "0.3", "--seed", seed, "--out", folder];
        bench.provi(&[&["fit", "W2.csv", "y ~ ."], &words[..], &stop].concat()).exits(3);
        std::fs::read(bench.path(folder).join("checkpoint.bin")).unwrap()
    };
    let (own, other) = (stopped("own.fit", "0"), stopped("other.fit", "1"));
    let fit = std::fs::read(bench.path("own.fit/fit.json")).unwrap();
    let mut changed = own.clone();
    changed[20] ^= 1;
    let not_its_own: [(&str, &[u8]); 5] = [
        ("cut short", &own[..own.len() / 2]),
        ("its checksum does not agree", &changed),
        ("does not begin with the bytes of a checkpoint", b"what is this"),
        ("does not begin with the bytes of a checkpoint", b""),
        ("that of another run", &other),
    ];
    for (said, bytes) in not_its_own {
        std::fs::write(bench.path("own.fit/checkpoint.bin"), bytes).unwrap();
        let refused = bench.provi(&["fit", "--resume", "own.fit", "--quiet"]).exits(2);
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
        assert_eq!(std::fs::read(bench.path("own.fit/fit.json")).unwrap(), fit, "{said}");
    }
    std::fs::write(bench.path("own.fit/checkpoint.bin"), &own).unwrap();
    bench.provi(&["fit", "--resume", "own.fit", "--quiet"]).exits(3);
}

#[test]
#[ignore = "slow: fifty runs; the exact solver is killed less often beside it; cargo xtask heavy runs it"]
fn planned_steps_survive_fifty_kills() {
    survives(50, &["W2.csv", "y ~ .", "--method", "prox-energy", "--steps", "20000", "--audit-draws", "200"]);
}

#[test]
#[ignore = "slow: fifty runs; a quarter of them beside it; cargo xtask heavy runs it"]
fn the_exact_solver_survives_fifty_kills() {
    survives(50, &["W2.csv", "y ~ .", "--audit-draws", "2000"]);
}

#[test]
fn the_exact_solver_survives_twelve_kills() {
    survives(12, &["W2.csv", "y ~ .", "--audit-draws", "2000"]);
}
