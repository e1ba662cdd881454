//! `provi prior` and `provi calibrate` through the real binary.

use std::path::Path;

use crate::common::{Bench, assert_snapshot};
use serde_json::Value;

const DATA: &str = "birthwt.csv";

fn births() -> Bench {
    let bench = Bench::new();
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gallery");
    std::fs::copy(gallery.join(DATA), bench.path(DATA)).unwrap();
    bench
}

fn narrow(text: &str) {
    assert_eq!(text.lines().find(|line| line.chars().count() > 90), None);
}

#[test]
fn what_the_prior_expects_is_said_and_drawn() {
    let bench = births();
    let said =
        bench.provi(&["prior", DATA, "low ~ lwt + smoke", "-n", "200", "--out", "p.html"]).exits(0).stdout;
    narrow(&said);
    assert!(said.contains("share of ones") && said.contains("no warnings"), "{said}");
    assert_snapshot("prior", &said);
    let page = std::fs::read_to_string(bench.path("p.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("provi prior birthwt.csv"), "no plot");
    let wide = ["prior", DATA, "low ~ lwt", "--prior-scale", "10", "--json", "-n", "50"];
    let json = bench.provi(&wide).exits(0).stdout;
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["schema"], &report["kind"]), (&"provi-prior/1".into(), &"binary".into()));
    assert!(report["warnings"][0].as_str().unwrap().contains("nearly certain"), "{report}");
    assert_eq!(bench.provi(&wide).exits(0).stdout, json);
    bench.provi(&["prior", DATA, "low ~ lwt", "-n", "1"]).exits(2);
}

#[test]
fn calibration_is_said_and_drawn_and_the_same_for_any_number_of_threads() {
    let bench = births();
    let model = ["calibrate", DATA, "low ~ lwt", "--simulations", "20", "--seed", "3", "--quiet"];
    let said = bench.provi(&[&model[..], &["--out", "r.html"]].concat()).exits(0).stdout;
    narrow(&said);
    assert!(said.contains("no sign of a wrong posterior"), "{said}");
    assert!(said.contains("draws of the posterior itself"), "{said}");
    assert_snapshot("calibrate", &said);
    assert!(std::fs::read_to_string(bench.path("r.html")).unwrap().contains("ECDF of ranks"));
    let json =
        |threads| bench.provi(&[&model[..], &["--json", "--threads", threads]].concat()).exits(0).stdout;
    assert_eq!(json("1"), json("2"));
    let report: Value = serde_json::from_str(&json("1")).unwrap();
    assert_eq!((&report["schema"], &report["uniform"]), (&"provi-calibrate/1".into(), &true.into()));
    assert_eq!(report["quantities"][1]["ranks"].as_array().unwrap().len(), 20);
    let long = ["calibrate", DATA, "low ~ lwt", "--simulations", "1000000", "--time-limit", "2", "--quiet"];
    let stopped = bench.provi(&long).exits(3).stdout;
    assert!(stopped.contains("stopped after"), "{stopped}");
    bench.provi(&["calibrate", DATA, "low ~ lwt", "--level", "2"]).exits(2);
}
