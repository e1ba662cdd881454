//! `--robust`: beside statsmodels, on the screen, in the file and on the page.

use std::path::Path;

use crate::common::Bench;
use serde_json::Value;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::copy(Path::new(TESTS).join("gallery/birthwt.csv"), bench.path("birthwt.csv")).unwrap();
    bench
}

fn fit(bench: &Bench, formula: &str, options: &[&str]) -> Value {
    let all = [&["fit", "birthwt.csv", formula, "--json", "--quiet"], options].concat();
    serde_json::from_str(&bench.provi(&all).exits(0).stdout).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Standard errors of statsmodels 0.15.0 (`robust/make.py` has their provenance) with a nearly flat prior. The estimate of a logistic model is
/// the Gaussian's mean, which differs from the likelihood's maximum by a part 1/n of its error; that of a linear model is the same.
#[test]
fn sandwiches_are_those_of_statsmodels() {
    let bench = bench();
    let text = std::fs::read_to_string(Path::new(TESTS).join("robust/statsmodels.json")).unwrap();
    let theirs: Value = serde_json::from_str(&text).unwrap();
    let flat = ["--prior-scale", "1000"];
    let linear = ["--family", "gaussian", "--noise-sd", "0.2", "--prior-scale", "1000"];
    let models: [(&str, &str, &[&str], f64); 2] = [
        ("logistic", "low ~ lwt + smoke + ptl", &flat, 0.05),
        ("linear", "log(lwt) ~ smoke + ptl", &linear, 1e-6),
    ];
    for (name, formula, options, tolerance) in models {
        for (kind, robust) in [
            ("hc0", vec!["--robust", "sandwich"]),
            ("cluster", vec!["--robust", "sandwich", "--cluster", "age"]),
        ] {
            let found = fit(&bench, formula, &[options, &robust].concat());
            let found = &found["robust"];
            let (own, other) = (numbers(&found["sd"]), numbers(&theirs[name][kind]));
            for (own, other) in own.iter().zip(&other) {
                assert!((own / other - 1.0).abs() < tolerance, "{name} {kind}: {own} beside {other}");
            }
            // The planted twin: the model's own standard errors are others.
            let naive = numbers(&theirs[name]["model_based"]);
            assert!(
                own.iter()
                    .zip(&naive)
                    .any(|(own, naive)| (own / naive - 1.0).abs() > 2.0 * tolerance.max(0.05))
            );
            assert_eq!(found["clusters"].as_u64().unwrap() == 189, kind == "hc0");
        }
    }
}

#[test]
fn it_stands_beside_the_posterior_and_never_in_its_place() {
    let bench = bench();
    let plain = fit(&bench, "low ~ lwt + smoke", &[]);
    let robust = fit(&bench, "low ~ lwt + smoke", &["--robust", "bootstrap", "--refits", "20"]);
    assert!(plain["robust"].is_null());
    for key in ["mean", "covariance", "posterior", "names"] {
        assert_eq!(plain[key], robust[key], "{key}");
    }
    assert_eq!((&robust["robust"]["refits"], &robust["robust"]["unconverged"]), (&20.into(), &0.into()));
    let said = bench
        .provi(&[
            "fit",
            "birthwt.csv",
            "low ~ lwt + smoke",
            "--robust",
            "sandwich",
            "--prior-sensitivity",
            "--out",
            "r.fit",
            "--quiet",
        ])
        .exits(0)
        .stdout;
    for words in ["not the posterior's", "posterior sd", "sandwich sd", "certificate covers it"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(said.lines().find(|line| line.chars().count() > 80), None);
    bench.provi(&["report", "r.fit"]).exits(0);
    let page = std::fs::read_to_string(bench.path("r.fit/report.html")).unwrap();
    let places = ["If the model is wrong", "Sensitivity to the prior", "What was not proved"]
        .map(|heading| page.find(&format!("\">{heading}</h2>")).unwrap_or_else(|| panic!("{heading}")));
    assert!(places.is_sorted() && page.contains("no certificate covers it"));
}

#[test]
fn clusters_that_are_not_there_are_said() {
    let bench = bench();
    bench.write("gaps.csv", "y,x,g\n1,0.5,a\n0,-1,\n1,2,b\n0,0.1,b\n");
    let run = |options: &[&str]| bench.provi(&[&["fit", "gaps.csv", "y ~ x", "--quiet"], options].concat());
    for (cluster, words) in
        [("nothing", "no column `nothing`"), ("g", "line 3 of gaps.csv has no value of `g`")]
    {
        let said = run(&["--robust", "sandwich", "--cluster", cluster, "--out", "never.fit"]).exits(2).stderr;
        assert!(said.contains(words), "{said}");
        assert!(!bench.path("never.fit").exists(), "refused before the fit");
    }
    run(&["--cluster", "g"]).exits(2);
    run(&["--robust", "hc3"]).exits(2);
}
