//! However much is asked for: a list that is written as it is made, or a refusal with the numbers; never an abort.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::Bench;

/// The first lines of something endless, whose reader then goes away; its status.
fn head(bench: &Bench, words: &[&str], lines: usize) -> (Vec<String>, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_provi"))
        .args(words)
        .current_dir(bench.dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let read: Vec<String> = out.lines().take(lines).map(Result::unwrap).collect();
    (read, child.wait().unwrap().code())
}

#[test]
fn a_thousand_million_draws_are_written_as_they_are_made() {
    let bench = Bench::with_fits();
    for words in [
        &["predict", "both.fit", "study.csv", "--draws", "1000000000"][..],
        &["predict", "both.fit", "study.csv", "--draws", "4294967295", "--csv"],
        &["sample", "both.fit", "-n", "100000000"],
    ] {
        let (read, status) = head(&bench, words, 5);
        assert_eq!((read.len(), status), (5, Some(0)), "{words:?}");
        // The same as of few.
        let few: Vec<&str> =
            words.iter().map(|word| if word.starts_with(char::is_numeric) { "4" } else { word }).collect();
        let few = bench.provi(&few).exits(0).stdout;
        assert_eq!(few.lines().collect::<Vec<_>>(), read, "{words:?}");
    }
    let json = bench.provi(&["predict", "both.fit", "study.csv", "--draws", "3", "--json"]).exits(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["draws"].as_array().unwrap().len(), 3);
    assert!(json["draws"][0].as_array().unwrap().len() == json["lines"].as_array().unwrap().len());
}

#[test]
fn what_must_be_held_whole_is_refused_with_its_size() {
    let bench = Bench::with_fits();
    for words in [
        &["sample", "both.fit", "-n", "100000000", "--out", "d.zarr"][..],
        &["sample", "both.fit", "-n", "100000000", "--format", "json"],
        &["sample", "both.fit", "-n", "100000000", "--psis", "--data", "study.csv"],
    ] {
        // In so little room, so that any machine is too small.
        let text = format!("ulimit -v 4000000; exec {} {}", env!("CARGO_BIN_EXE_provi"), words.join(" "));
        let output = Command::new("sh").args(["-c", &text]).current_dir(bench.dir.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("100000000 draws") && said.contains("available"), "{words:?}: {said}");
    }
}

#[test]
fn more_of_anything_than_a_machine_has_is_refused_or_cut_down() {
    let bench = Bench::new();
    let fit = ["fit", "W2.csv", "y ~ mean_radius", "--quiet", "--time-limit", "0.1"];
    let said = bench.provi(&["fit", "W2.csv", "y ~ mean_radius", "--threads", "10000"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("--threads 10000:") && said.stderr.contains("the answer is the same"),
        "{}",
        said.stderr
    );
    let refused =
        bench.provi(&[&fit[..], &["--method", "proj-stl", "--draws", "4294967295"]].concat()).exits(2);
    assert!(refused.stderr.contains("GB") || refused.stderr.contains("TB"), "{}", refused.stderr);
    for more in [
        &["--audit-draws", "18446744073709551615"][..],
        &["--method", "prox-energy", "--steps", "18446744073709551615"],
        &["--method", "proj-stl", "--steps", "18446744073709551615"],
        &["--method", "exact", "--steps", "18446744073709551615"],
        &["--checkpoint-every", "1e18", "--out", "x.fit"],
    ] {
        let said = bench.provi(&[&fit[..], more].concat());
        assert!((0..=3).contains(&said.status), "{more:?}: {}", said.stderr);
        assert!(!said.stderr.contains("panicked"), "{more:?}: {}", said.stderr);
    }
}
