//! `provi loo`: its words, its files, and its two ways beside each other.

use std::path::Path;

use crate::common::{Bench, assert_snapshot};
use serde_json::Value;

const DATA: &str = "birthwt.csv";

/// A folder with a table of the gallery and two fits of it.
fn births() -> Bench {
    let bench = Bench::new();
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gallery");
    std::fs::copy(gallery.join(DATA), bench.path(DATA)).unwrap();
    for (formula, out) in [("low ~ lwt + smoke + race", "a.fit"), ("low ~ age", "b.fit")] {
        bench.provi(&["fit", DATA, formula, "--out", out, "--quiet"]).exits(0);
    }
    bench
}

fn json(bench: &Bench, args: &[&str]) -> Value {
    serde_json::from_str(&bench.provi(&[&["loo", "--json", "--data", DATA], args].concat()).exits(0).stdout)
        .unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn left_out_rows_are_said_as_stored() {
    let bench = births();
    let stored = |name: &str, args: &[&str]| {
        let said = bench.provi(&[&["loo", "--data", DATA], args].concat()).exits(0).stdout;
        let wide = said.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        assert_snapshot(name, &said);
    };
    stored("loo", &["a.fit", "--rows", "rows.csv"]);
    stored("loo-psis", &["a.fit", "--method", "psis", "--draws", "1000"]);
    stored("loo-compare", &["b.fit", "a.fit"]);
    let rows = std::fs::read_to_string(bench.path("rows.csv")).unwrap();
    let lines: Vec<Vec<&str>> = rows.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 190);
    assert_eq!(lines[0], ["row", "line", "elpd", "lower", "upper", "lpd", "pareto_k", "method", "pit"]);
    for line in &lines[1..] {
        let [elpd, upper, pit] = [2, 4, 8].map(|k| line[k].parse::<f64>().unwrap());
        assert!(elpd < 0.0 && upper > elpd - 0.05 && (0.0..=1.0).contains(&pit), "{line:?}");
        assert!(line[3].is_empty() && line[6].is_empty() && line[7] == "refit");
        assert_eq!(line[0].parse::<usize>().unwrap() + 1, line[1].parse::<usize>().unwrap());
    }
}

#[test]
fn the_two_ways_and_the_bounds_agree() {
    let bench = births();
    let refits = json(&bench, &["a.fit"]);
    let (refits, drawn) = (&refits["models"][0], &json(&bench, &["a.fit", "--method", "psis"])["models"][0]);
    assert_eq!((&refits["method"], &drawn["method"]), (&"refit".into(), &"psis".into()));
    assert_eq!(drawn["draws_of"], "exact");
    let [a, b, waic] =
        [&refits["elpd"], &drawn["elpd"], &drawn["waic"]["elpd"]].map(|found| number(&found["value"]));
    assert!((a - b).abs() < 0.3 && (waic - b).abs() < 0.3, "{a} {b} {waic}");
    assert!(number(&refits["elpd_upper"]) > a - 0.1 && refits["elpd_lower"].is_null());
    assert!(number(&refits["confidence"]) > 0.999);
    // A noise that is integrated over is left without the row too.
    bench
        .provi(&["fit", DATA, "lwt ~ age + smoke", "--family", "gaussian", "--out", "g.fit", "--quiet"])
        .exits(0);
    let of = |method: &str| json(&bench, &["g.fit", "--method", method])["models"][0].clone();
    let (refits, drawn) = (of("refit"), of("psis"));
    assert_eq!(drawn["draws_of"], "mixture");
    let [a, b] = [&refits, &drawn].map(|found| number(&found["elpd"]["value"]));
    assert!((a - b).abs() < 0.3, "{a} {b}");
    let compared = json(&bench, &["a.fit", "b.fit"]);
    let difference = number(&compared["models"][1]["difference"]["value"]);
    let elpd = |k: usize| number(&compared["models"][k]["elpd"]["value"]);
    assert!(difference < 0.0 && (difference - (elpd(1) - elpd(0))).abs() < 1e-9);
}

/// Rows and lines differ where rows were left out; a page has the predictions without each row, and says so.
#[test]
fn lines_of_the_file_a_page_and_a_time_limit() {
    let bench = Bench::new();
    let rows = "1,0.5\n0,-1.5\nNA,2\n0,0.1\n1,-0.4\n0,1\n1,1.5\n0,-0.7\n";
    std::fs::write(bench.path("t.csv"), format!("y,x\n{rows}")).unwrap();
    bench.provi(&["fit", "t.csv", "y ~ x", "--out", "t.fit", "--quiet"]).exits(0);
    let asked = ["loo", "t.fit", "--data", "t.csv"];
    bench.provi(&[&asked[..], &["--rows", "r.csv", "--report", "r.html"]].concat()).exits(0);
    let rows = std::fs::read_to_string(bench.path("r.csv")).unwrap();
    let places: Vec<(&str, &str)> = rows.lines().skip(1).map(|line| line.split_once(',').unwrap()).collect();
    let lines: Vec<&str> = places.iter().map(|(_, rest)| rest.split_once(',').unwrap().0).collect();
    assert_eq!(lines, ["2", "3", "5", "6", "7", "8", "9"]);
    assert_eq!(places[6].0, "7");
    bench.provi(&["report", "t.fit"]).exits(0);
    let [left_out, posterior] =
        ["r.html", "t.fit/report.html"].map(|name| std::fs::read_to_string(bench.path(name)).unwrap());
    let said = "Each row was predicted from all other rows (leave-one-out).";
    assert!(left_out.contains(said) && !posterior.contains(said));
    let said = bench.provi(&[&asked[..], &["--json"]].concat()).exits(0).stdout;
    let found = serde_json::from_str::<Value>(&said).unwrap();
    assert_eq!((&found["models"][0]["unconverged"], &found["models"][0]["lines"][2]), (&0.into(), &5.into()));
    let said = bench.provi(&[&asked[..], &["--certify", "--time-limit", "1e-9"]].concat());
    assert!(said.stdout.is_empty() && !said.stderr.is_empty(), "{}", said.stderr);
    bench.provi(&[&asked[..], &["--time-limit", "0"]].concat()).exits(2);
    bench.provi(&["loo", "t.fit", "t.fit", "--data", "t.csv", "--report", "r.html"]).exits(2);
}

#[test]
fn audited_refits_bound_both_sides() {
    let bench = Bench::new();
    std::fs::write(bench.path("t.csv"), "y,x\n1,0.5\n0,-1.5\n1,2\n0,0.1\n1,-0.4\n0,1\n").unwrap();
    bench.provi(&["fit", "t.csv", "y ~ x", "--out", "t.fit", "--quiet"]).exits(0);
    let said = bench.provi(&["loo", "t.fit", "--data", "t.csv", "--certify", "--json"]).exits(0).stdout;
    let found = &serde_json::from_str::<Value>(&said).unwrap()["models"][0];
    let [low, high] = ["elpd_lower", "elpd_upper"].map(|side| number(&found[side]));
    assert!(low < high && high - low < 1.0, "{low} to {high}");
    assert!((number(&found["confidence"]) - (1.0 - 2e-6)).abs() < 1e-9);
}

#[test]
fn what_cannot_be_left_out_is_refused_in_these_words() {
    let bench = births();
    let refused = |name: &str, args: &[&str]| {
        let said = bench.provi(&[&["loo"], args].concat()).exits(2);
        assert_eq!(said.stdout, "");
        assert_snapshot(name, &said.stderr);
    };
    refused("error-loo-rows", &["a.fit", "b.fit", "--data", DATA, "--rows", "r.csv"]);
    refused("error-loo-certify", &["a.fit", "--data", DATA, "--certify", "--method", "psis"]);
    std::fs::write(bench.path("other.csv"), "low,lwt,smoke,race\n1,100,0,1\n").unwrap();
    let said = bench.provi(&["loo", "a.fit", "--data", "other.csv"]).exits(2).stderr;
    assert!(said.contains("SHA-256") || said.contains("other data"), "{said}");
    bench.provi(&["fit", DATA, "low ~ age", "--memory", "1MiB", "--out", "m.fit", "--quiet"]).exits(0);
    let said = bench.provi(&["loo", "m.fit", "--data", DATA]);
    assert!(said.stderr.contains("in memory") || !said.stdout.is_empty(), "{}", said.stderr);
}

#[test]
fn stores_have_the_log_likelihood_of_every_row() {
    let bench = births();
    assert!(bench.path("a.fit/draws.zarr/log_likelihood/y/zarr.json").exists());
    bench.provi(&["sample", "a.fit", "--exact", "--data", DATA, "-n", "400", "--out", "e.zarr"]).exits(0);
    let bytes = std::fs::read(bench.path("e.zarr/log_likelihood/y/c/0/0/0")).unwrap();
    assert_eq!(bytes.len(), 8 * 400 * 189);
    bench.provi(&["sample", "a.fit", "-n", "400", "--out", "n.zarr"]).exits(0);
    assert!(!bench.path("n.zarr/log_likelihood").exists());
}
