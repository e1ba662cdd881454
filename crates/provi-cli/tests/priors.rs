//! The default prior through the real binary: what is printed, and which files keep another.

use crate::common::Bench;
use serde_json::Value;

/// y = 1000 + 500x, in 20 rows.
fn bench() -> Bench {
    let bench = Bench::new();
    let noise = |n: u32| f64::from((n * 7919) % 41) - 20.0;
    let row = |n: u32| format!("{},{}\n", 1000.0 + 50.0 * f64::from(n) + noise(n), f64::from(n) / 10.0);
    bench.write("line.csv", &format!("y,x\n{}", (0..20).map(row).collect::<String>()));
    bench
}

const LINE: &[&str] = &["line.csv", "y ~ x", "--family", "gaussian"];

fn said(bench: &Bench, args: &[&str]) -> String {
    bench.provi(&[&["fit"], args, &["--quiet"]].concat()).exits(0).stdout
}

fn prior_sd(bench: &Bench, args: &[&str]) -> Vec<f64> {
    let text = bench.provi(&[&["fit"], args, &["--quiet", "--json"]].concat()).exits(0).stdout;
    let fit: Value = serde_json::from_str(&text).unwrap();
    fit["model"]["prior_sd"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn the_default_is_printed_in_full_and_finds_the_line() {
    let text = said(&bench(), LINE);
    assert!(text.contains("prior  normal(1473"), "{text}");
    assert!(text.contains("on (Intercept) + 0.95*x, the intercept at the"), "{text}");
    assert!(text.contains(") on x\n"), "{text}");
    assert!(text.contains("about the computation, given this model and prior"), "{text}");
    assert!(!text.contains("disagree"), "{text}");
}

#[test]
fn a_prior_in_conflict_is_called_out_above_the_table() {
    let text = said(&bench(), &[LINE, &["--prior-scale", "2.5"]].concat());
    let (note, table) = (text.find("prior and data disagree"), text.find("mean     ±"));
    assert!(note.is_some() && note < table, "{text}");
}

#[test]
fn run_files_keep_the_prior_they_were_made_with() {
    let bench = bench();
    let plain = prior_sd(&bench, LINE);
    assert!(plain[1] > 1000.0);
    said(&bench, &[LINE, &["--out", "new.fit"]].concat());
    let run = std::fs::read_to_string(bench.path("new.fit/run.toml")).unwrap();
    assert!(run.contains("default-prior = \"data\""), "{run}");
    let again = |name: &str, text: &str| {
        bench.write(name, text);
        prior_sd(&bench, &["--config", name])
    };
    assert_eq!(again("new.fit/new.toml", &run), plain);
    // One of before the name, and one that was written by hand.
    let old = run.replace("default-prior = \"data\"\n", "");
    assert_eq!(again("new.fit/old.toml", &old), [2.5, 2.5]);
    let hand = "data = \"line.csv\"\nformula = \"y ~ x\"\n\n[model]\nfamily = \"gaussian\"\n";
    assert_eq!(again("hand.toml", hand), plain);
}

#[test]
fn fits_keep_the_prior_they_were_made_with() {
    let bench = bench();
    said(&bench, &[LINE, &["--out", "new.fit"]].concat());
    bench.provi(&["certify", "new.fit", "line.csv", "--seed", "1"]).exits(0);
    said(&bench, &[LINE, &["--prior-scale", "2.5", "--out", "old.fit"]].concat());
    let path = bench.path("old.fit/fit.json");
    let mut fit: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    // A file of before the key, whose default was this scale.
    let options = fit["model"]["options"].as_object_mut().unwrap();
    assert!(options.remove("prior-scale").is_some() && !options.contains_key("default-prior"));
    std::fs::write(&path, fit.to_string()).unwrap();
    bench.provi(&["certify", "old.fit", "line.csv", "--seed", "1"]).exits(0);
}

#[test]
fn a_covariance_beside_a_prior_is_refused() {
    let bench = bench();
    bench.write("prior.csv", "name,mean,(Intercept),x\n(Intercept),900,100,1\nx,400,1,25\n");
    let beside = |option: &[&str]| {
        bench.provi(&[&["fit"], LINE, &["--prior-covariance", "prior.csv"], option].concat()).exits(2).stderr
    };
    assert!(beside(&["--prior", "x=normal(0, 1)"]).contains("--prior <SPEC>"));
    assert!(beside(&["--prior-scale", "1"]).contains("--prior-scale <SD>"));
    // From a run file, the library refuses.
    bench.write(
        "both.toml",
        "data = \"line.csv\"\nformula = \"y ~ x\"\n\n[model]\nfamily = \"gaussian\"\nprior-covariance = \"prior.csv\"\n\
         prior = [\"x=normal(0, 1)\"]\n",
    );
    let said = bench.provi(&["fit", "--config", "both.toml"]).exits(2).stderr;
    assert!(said.contains("has no coefficient left"), "{said}");
}

#[test]
fn a_fit_is_the_prior_of_the_next_one() {
    let bench = bench();
    let text = std::fs::read_to_string(bench.path("line.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let part = |lines: &[&str]| format!("y,x\n{}\n", lines.join("\n"));
    bench.write("first.csv", &part(&lines[1..11]));
    bench.write("second.csv", &part(&lines[11..]));
    let model = |data| [data, "y ~ x", "--family", "gaussian", "--noise-sd", "10"];
    let wide = ["--prior", "normal(0, 1e4)"];
    said(&bench, &[&model("first.csv")[..], &wide, &["--out", "first.fit"]].concat());
    let text = said(
        &bench,
        &[&model("second.csv")[..], &["--prior-from", "first.fit", "--out", "second.fit"]].concat(),
    );
    assert!(text.contains("prior  normal, the Gaussian q of the fit first.fit (y ~ x; 10 rows)"), "{text}");
    assert!(text.contains("KL(q‖posterior) ≤"), "{text}");
    assert!(text.contains("every statement below is about the posterior under this"), "{text}");
    said(&bench, &[&model("line.csv")[..], &wide, &["--out", "whole.fit"]].concat());
    let mean = |name: &str| -> Vec<f64> {
        let text = std::fs::read_to_string(bench.path(&format!("{name}/fit.json"))).unwrap();
        let fit: Value = serde_json::from_str(&text).unwrap();
        fit["mean"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    for (a, b) in mean("second.fit").iter().zip(mean("whole.fit")) {
        assert!((a - b).abs() < 1e-7 * b.abs(), "{a} {b}");
    }
    // The record is enough to make the model again; the run file names the earlier fit.
    let run = std::fs::read_to_string(bench.path("second.fit/run.toml")).unwrap();
    assert!(run.contains("prior-from = \"../first.fit\"\n"), "{run}");
    said(&bench, &["--config", "second.fit/run.toml", "--out", "again.fit"]);
    assert_eq!(mean("again.fit"), mean("second.fit"));
    std::fs::remove_dir_all(bench.path("first.fit")).unwrap();
    bench.provi(&["certify", "second.fit", "second.csv", "--seed", "1"]).exits(0);
    let refused = bench.provi(
        &[&["fit"], &model("line.csv")[..], &["--prior-from", "whole.fit", "--prior-scale", "1"]].concat(),
    );
    assert!(refused.exits(2).stderr.contains("cannot be used with"));
    let refused = bench
        .provi(&["fit", "line.csv", "x ~ y", "--family", "gaussian", "--prior-from", "whole.fit"])
        .exits(2);
    assert!(refused.stderr.contains("coefficients of one say nothing about the other"), "{}", refused.stderr);
}
