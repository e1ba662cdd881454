//! A table in several files, through the real binary: the answer of one file, and the words where it goes wrong.

use crate::common::{Bench, assert_snapshot};
use serde_json::Value;

const FORMULA: &str = "y ~ mean_radius + mean_texture";

/// W2 in a folder of two files, with a file beside them that is none of the table's.
fn bench() -> Bench {
    let bench = Bench::new();
    let text = std::fs::read_to_string(bench.path("W2.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    std::fs::create_dir(bench.path("w2")).unwrap();
    for (name, rows) in [("w2/a.csv", &rows[..200]), ("w2/b.csv", &rows[200..])] {
        bench.write(name, &format!("{header}\n{}\n", rows.join("\n")));
    }
    bench.write("w2/_SUCCESS", "");
    bench
}

fn fit(bench: &Bench, words: &[&str]) -> Value {
    serde_json::from_str(&bench.provi(&[&["fit"], words, &["--json", "--quiet"]].concat()).exits(0).stdout)
        .unwrap()
}

fn agree(one: &Value, other: &Value) {
    let mean = |fit: &Value| -> Vec<f64> {
        fit["mean"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    for (a, b) in mean(one).iter().zip(mean(other)) {
        assert!((a - b).abs() < 1e-10, "{a} and {b}");
    }
    assert_eq!(one["model"]["rows"], other["model"]["rows"]);
}

#[test]
fn a_folder_a_pattern_and_a_memory_give_the_answer_of_the_table() {
    let bench = bench();
    let whole = fit(&bench, &["W2.csv", FORMULA]);
    agree(&whole, &fit(&bench, &["w2", FORMULA]));
    agree(&whole, &fit(&bench, &["w2/*.csv", FORMULA, "--memory", "1MiB"]));
    let limited = fit(&bench, &["W2.csv", FORMULA, "--memory", "1MiB"]);
    agree(&whole, &limited);
    assert_eq!(limited["model"]["data_sha256"], whole["model"]["data_sha256"]);
}

#[test]
fn a_fit_of_files_is_kept_certified_and_taken_from_its_run_file() {
    let bench = bench();
    bench.provi(&["fit", "w2", FORMULA, "--memory", "2MiB", "--out", "w2.fit", "--quiet"]).exits(0);
    bench.provi(&["certify", "w2.fit", "w2", "--memory", "1MiB", "--seed", "1"]).exits(0);
    bench.provi(&["report", "w2.fit"]).exits(0);
    bench.provi(&["predict", "w2.fit", "W2.csv"]).exits(0);
    let again = fit(&bench, &["--config", "w2.fit/run.toml"]);
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("w2.fit/fit.json")).unwrap()).unwrap();
    assert_eq!(again["mean"], kept["mean"], "the same memory gives the same bits");

    let changed = std::fs::read_to_string(bench.path("w2/b.csv")).unwrap().replacen("1.0", "1.1", 1);
    bench.write("w2/b.csv", &changed);
    assert!(bench.provi(&["fit", "--config", "w2.fit/run.toml"]).exits(2).stderr.contains("SHA-256"));
    assert!(bench.provi(&["certify", "w2.fit", "w2"]).exits(2).stderr.contains("shards:"));
}

#[test]
fn what_cannot_be_read_in_blocks_is_said() {
    let bench = bench();
    std::fs::create_dir(bench.path("empty")).unwrap();
    let refused = |name: &str, words: &[&str]| {
        assert_snapshot(name, &bench.provi(&[&["fit"], words].concat()).exits(2).stderr);
    };
    refused("error-no-files", &["empty", FORMULA]);
    refused("error-whole-column", &["w2", "y ~ poly(mean_radius, 2)"]);
    refused("error-small-memory", &["w2", FORMULA, "--memory", "3kB"]);
    bench.write("w2/c.csv", "y,mean_radius\n1,0.5\n");
    refused("error-other-columns", &["w2", FORMULA]);
    // Where no program for several processes is beside it or on the path.
    let alone = bench.dir.path().join("provi");
    std::fs::copy(env!("CARGO_BIN_EXE_provi"), &alone).unwrap();
    let said = std::process::Command::new(&alone)
        .args(["fit", "w2", FORMULA, "--distributed"])
        .env("PATH", "")
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert_snapshot("error-no-processes", &String::from_utf8_lossy(&said.stderr));
}
