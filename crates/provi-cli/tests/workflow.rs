//! `provi prior`, `provi calibrate` and `provi location-scale` through the real binary.

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

#[test]
fn a_law_that_is_not_normal_is_sought_and_promised_and_never_certified() {
    let bench = births();
    let model = ["location-scale", DATA, "low ~ lwt", "--seed", "3", "--quiet"];
    let run = |more: &[&str]| bench.provi(&[&model[..], more].concat());
    let said = run(&["--base-law", "student-t:8", "--steps", "500"]).exits(0).stdout;
    narrow(&said);
    assert!(said.contains("no certificate speaks of a q that is no Gaussian"), "{said}");
    let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let laplace = ["--base-law", "laplace", "--distance", "2", "--json"];
    let one = run(&[&laplace[..], &["--threads", "1", "--out", "d.csv", "-n", "7"]].concat()).exits(0).stdout;
    let json = read(&one);
    assert_eq!((&json["schema"], &json["base_law"]), (&"provi-location-scale/1".into(), &"laplace".into()));
    assert!(json["plan_bound"]["value"].as_f64().unwrap() <= 2.0, "{json}");
    let two = read(&run(&[&laplace[..], &["--threads", "2"]].concat()).exits(0).stdout);
    assert_eq!((&json["mean"], &json["factor"]), (&two["mean"], &two["factor"]));
    let drawn = std::fs::read_to_string(bench.path("d.csv")).unwrap();
    assert_eq!((drawn.lines().count(), drawn.lines().next().unwrap()), (8, "(Intercept),lwt"));
    run(&["--base-law", "laplace", "--out", "d.csv"]).exits(2);
    run(&["--base-law", "laplace", "--steps", "5", "--out", "d.csv", "--force"]).exits(0);
    assert!(run(&["--base-law", "student-t:4"]).exits(2).stderr.contains("above 4"));
    assert!(run(&["--base-law", "laplace", "--method", "proj-stl"]).exits(2).stderr.contains("prox-energy"));
    let long = ["--base-law", "logistic", "--steps", "1000000000", "--time-limit", "1", "--json"];
    assert_eq!(read(&run(&long).exits(3).stdout)["stopped_early"], true);
    // No other command takes such a record for a fit.
    std::fs::write(bench.path("q.json"), one).unwrap();
    for command in
        [&["summary", "q.json"][..], &["certify", "q.json", DATA, "low ~ lwt"], &["sample", "q.json"]]
    {
        let said = bench.provi(command).exits(2).stderr;
        assert!(said.contains("base law"), "{command:?}: {said}");
    }
}
