//! The folder of a fit: one writer, whole or not at all, replaced only when that is asked for; and a run file that works
//! from anywhere.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Bench, Said, assert_snapshot};
use serde_json::Value;

const LONG: [&str; 8] =
    ["fit", "W2.csv", "y ~ .", "--method", "prox-energy", "--steps", "5000000", "--checkpoint-every"];

fn start(bench: &Bench, words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_provi"))
        .args(words)
        .current_dir(bench.dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// In another folder than the bench's.
fn provi_in(dir: &Path, words: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_provi"))
        .args(words)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Said::from(output)
}

fn wait_for(path: &Path, child: &mut Child) {
    while !path.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before {} was there", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fit_of(bench: &Bench, dir: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(bench.path(dir).join("fit.json")).unwrap()).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut all: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    all.sort();
    all
}

#[test]
fn a_folder_takes_one_run_at_a_time_and_no_lock_outlives_its_process() {
    let bench = Bench::new();
    let mut first = start(&bench, &[&LONG[..], &["0.01", "--out", "x.fit"]].concat());
    wait_for(&bench.path("x.fit/checkpoint.bin"), &mut first);
    let small = ["fit", "W1.csv", "y ~ .", "--family", "gaussian", "--quiet", "--out", "x.fit"];
    for words in [&small[..], &[&small[..], &["--force"]].concat(), &["fit", "--resume", "x.fit", "--quiet"]]
    {
        let said = bench.provi(words).exits(2).stderr;
        let other = format!("`x.fit` is being written to by another run, process {}", first.id());
        assert!(said.contains(&other) && said.contains("wait until it has ended"), "{said}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let said = bench.provi(&small).exits(2).stderr;
    assert_snapshot("error-run-exists", &said);
    bench.provi(&[&small[..], &["--force"]].concat()).exits(0);
    assert_eq!(names(&bench.path("x.fit")), ["draws.zarr", "fit.json", "log.txt", "run.toml"]);
    assert_eq!(fit_of(&bench, "x.fit")["model"]["data"], "W1.csv");
}

#[test]
fn of_two_processes_with_one_folder_one_writes_and_the_other_is_refused() {
    let bench = Bench::new();
    for round in 0..5 {
        let out = format!("{round}.fit");
        let run = |seed: &'static str| {
            start(
                &bench,
                &["fit", "W1.csv", "y ~ .", "--family", "gaussian", "--seed", seed, "--quiet", "--out", &out],
            )
        };
        let both = [run("1"), run("2")].map(|child| Said::from(child.wait_with_output().unwrap()));
        let mut statuses = both.each_ref().map(|said| said.status);
        statuses.sort_unstable();
        let said = both.each_ref().map(|said| said.stderr.clone()).concat();
        assert_eq!(statuses, [0, 2], "{said}");
        let seed = if both[0].status == 0 { 1 } else { 2 };
        assert_eq!(fit_of(&bench, &out)["seed"], seed);
        let run = fs::read_to_string(bench.path(&out).join("run.toml")).unwrap();
        assert!(run.contains(&format!("seed = {seed}\n")), "{run}");
        // Refused as one that is at work, or, if it came later, as one that is there.
        assert!(said.contains("another run") || said.contains("holds a fit already"), "{said}");
    }
}

#[test]
#[ignore = "slow: two hundred thousand steps, twice; killed.rs has shorter runs; cargo xtask heavy runs it"]
fn a_run_over_a_finished_fit_that_is_killed_leaves_that_fit_and_can_go_on() {
    let bench = Bench::new();
    bench.provi(&["fit", "W1.csv", "y ~ .", "--family", "gaussian", "--quiet", "--out", "x.fit"]).exits(0);
    bench.provi(&["report", "x.fit"]).exits(0);
    let read = |name: &str| fs::read(bench.path("x.fit").join(name)).unwrap();
    let files = ["fit.json", "run.toml", "log.txt", "draws.zarr/zarr.json", "report.html"];
    let before = files.map(read);
    let steps =
        ["fit", "W2.csv", "y ~ .", "--method", "prox-energy", "--steps", "200000", "--audit-draws", "200"];
    let words =
        [&steps[..], &["--quiet", "--checkpoint-every", "0.01", "--out", "x.fit", "--force"]].concat();
    for _ in 0..2 {
        let mut run = start(&bench, &words);
        wait_for(&bench.path("x.fit/unfinished/checkpoint.bin"), &mut run);
        run.kill().unwrap();
        run.wait().unwrap();
        assert_eq!(files.map(read), before);
        bench.provi(&["summary", "x.fit"]).exits(0);
    }
    bench.provi(&[&steps[..], &["--quiet", "--out", "whole.fit"]].concat()).exits(0);
    bench.provi(&["fit", "--resume", "x.fit", "--quiet"]).exits(0);
    assert_eq!(fit_of(&bench, "x.fit")["mean"], fit_of(&bench, "whole.fit")["mean"]);
    assert_eq!(names(&bench.path("x.fit")), ["draws.zarr", "fit.json", "log.txt", "run.toml"]);
    bench.provi(&["fit", "--config", "x.fit/run.toml", "--quiet"]).exits(0);
}

#[test]
fn nothing_else_is_written_over_a_fit() {
    let bench = Bench::with_fits();
    let before = fs::read(bench.path("x.fit/fit.json")).unwrap();
    bench.write("notes.txt", "mine");
    fs::create_dir(bench.path("folder")).unwrap();
    bench.write("folder/a.txt", "mine");
    for words in [
        &["sample", "both.fit", "--out", "x.fit/fit.json", "--force"][..],
        &["sample", "both.fit", "--out", "x.fit", "--format", "zarr", "--force"],
        &["sample", "both.fit", "--out", "folder", "--format", "zarr", "--force"],
        &["sample", "both.fit", "--out", "notes.txt"],
        &["report", "both.fit", "--out", "x.fit/fit.json"],
        &["report", "both.fit", "--out", "x.fit/run.toml"],
        &["verify", "prox-h", "--quick", "--quiet", "--out", "x.fit"],
    ] {
        let said = bench.provi(words).exits(2);
        assert!(said.stderr.contains("choose another --out"), "{words:?}: {}", said.stderr);
    }
    assert_eq!(fs::read(bench.path("x.fit/fit.json")).unwrap(), before);
    assert_eq!(names(&bench.path("x.fit")), ["fit.json"]);
    assert_eq!(fs::read_to_string(bench.path("notes.txt")).unwrap(), "mine");
    assert_eq!(names(&bench.path("folder")), ["a.txt"]);
    bench.provi(&["sample", "both.fit", "-n", "10", "--out", "d.zarr"]).exits(0);
    bench.provi(&["sample", "both.fit", "-n", "20", "--out", "d.zarr", "--force"]).exits(0);
}

#[test]
fn a_folder_for_a_fit_that_never_began_is_not_left() {
    let bench = Bench::new();
    bench.provi(&["fit", "W1.csv", "y ~ nothing", "--out", "x.fit"]).exits(2);
    bench.provi(&["fit", "nowhere.csv", "y ~ x", "--out", "y.fit"]).exits(2);
    assert!(!bench.path("x.fit").exists() && !bench.path("y.fit").exists());
}

#[test]
fn a_run_file_works_from_any_folder() {
    let bench = Bench::new();
    for dir in ["data", "fits", "elsewhere/deep"] {
        fs::create_dir_all(bench.path(dir)).unwrap();
    }
    fs::rename(bench.path("W1.csv"), bench.path("data/t.csv")).unwrap();
    bench
        .provi(&["fit", "data/t.csv", "y ~ .", "--family", "gaussian", "--quiet", "--out", "fits/x.fit"])
        .exits(0);
    let run = fs::read_to_string(bench.path("fits/x.fit/run.toml")).unwrap();
    assert!(run.contains("data = \"../../data/t.csv\"\n"), "{run}");
    // Another table of that name where the command runs is not meant.
    bench.write("elsewhere/t.csv", "y,x\n1,2\n0,1\n");
    let config = bench.path("fits/x.fit/run.toml");
    for from in ["", "elsewhere", "elsewhere/deep", "fits/x.fit", "data"] {
        let words = ["fit", "--config", config.to_str().unwrap(), "--json", "--quiet"];
        let said = provi_in(&bench.path(from), &words).exits(0);
        let again: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(again["mean"], fit_of(&bench, "fits/x.fit")["mean"], "{from}");
    }
    provi_in(
        &bench.path("elsewhere"),
        &["fit", "--config", "../fits/x.fit/run.toml", "--out", "y.fit", "--quiet"],
    )
    .exits(0);
    let run = fs::read_to_string(bench.path("elsewhere/y.fit/run.toml")).unwrap();
    assert!(run.contains("data = \"../../data/t.csv\"\n"), "{run}");
    // The project moves as a whole.
    fs::create_dir(bench.path("moved")).unwrap();
    for dir in ["data", "fits"] {
        fs::rename(bench.path(dir), bench.path("moved").join(dir)).unwrap();
    }
    bench.provi(&["fit", "--config", "moved/fits/x.fit/run.toml", "--quiet"]).exits(0);
    // A file of before, whose path is meant from where the command ran.
    let old = run.replace("../../data/t.csv", "data/t.csv");
    bench.write("elsewhere/y.fit/run.toml", &old);
    provi_in(&bench.path("moved"), &["fit", "--config", "../elsewhere/y.fit/run.toml", "--quiet"]).exits(0);
    let said = bench.provi(&["fit", "--config", "elsewhere/y.fit/run.toml", "--quiet"]).exits(2).stderr;
    assert!(said.contains("elsewhere/y.fit/data/t.csv"), "{said}");
}

#[test]
fn a_run_file_knows_the_other_files_of_a_model_from_any_folder() {
    let bench = Bench::new();
    bench.write("t.csv", "y,x\n0,1.5\n1,-0.3\n1,0.25\n0,0.5\n1,1\n");
    bench.write("prior.csv", "name,(Intercept),x\n(Intercept),4,0.1\nx,0.1,1\n");
    let model = ["fit", "t.csv", "y ~ x", "--prior-covariance", "prior.csv", "--quiet"];
    bench.provi(&[&model[..], &["--out", "x.fit"]].concat()).exits(0);
    let run = fs::read_to_string(bench.path("x.fit/run.toml")).unwrap();
    assert!(run.contains("prior-covariance = \"../prior.csv\"\n"), "{run}");
    let away = tempfile::tempdir().unwrap();
    let config = bench.path("x.fit/run.toml");
    provi_in(away.path(), &["fit", "--config", config.to_str().unwrap(), "--quiet"]).exits(0);
    let dir = bench.path("x.fit");
    bench.provi(
        &[
            &model[..],
            &["--method", "prox-energy", "--steps", "100000", "--time-limit", "0.002", "--out", "y.fit"],
        ]
        .concat(),
    );
    let resumed = provi_in(
        away.path(),
        &["fit", "--resume", bench.path("y.fit").to_str().unwrap(), "--quiet", "--time-limit", "600"],
    );
    assert!(resumed.status == 0 || resumed.stderr.contains("its fit is finished"), "{}", resumed.stderr);
    assert!(dir.exists());
}
