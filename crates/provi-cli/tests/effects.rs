//! `provi effects`: its words, its files, and its averages beside those at the maximum of the likelihood.

use std::path::Path;

use crate::common::{Bench, assert_snapshot};
use serde_json::Value;

fn tests() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A folder with a table of the gallery and a fit of it.
fn fitted(data: &str, formula: &str, options: &[&str]) -> Bench {
    let bench = Bench::new();
    std::fs::copy(tests().join("gallery").join(data), bench.path(data)).unwrap();
    bench.provi(&[&["fit", data, formula, "--out", "a.fit", "--quiet"], options].concat()).exits(0);
    bench
}

fn births() -> Bench {
    fitted("birthwt.csv", "low ~ age + log(lwt) * smoke + race", &[])
}

fn json(bench: &Bench, args: &[&str]) -> Value {
    serde_json::from_str(&bench.provi(&[&["effects", "a.fit", "--json"], args].concat()).exits(0).stdout)
        .unwrap()
}

#[test]
fn effects_are_said_as_stored() {
    let bench = births();
    let stored = |name: &str, args: &[&str]| {
        let said = bench.provi(&[&["effects", "a.fit"], args].concat()).exits(0).stdout;
        let wide = said.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        assert_snapshot(name, &said);
    };
    stored("effects", &[]);
    stored("effects-by", &["lwt", "--by", "race", "--at", "smoke=1", "--points", "3", "--level", "0.9"]);
    stored("effects-data", &["--data", "birthwt.csv"]);
    stored("effects-odds", &["race", "--compare", "odds-ratio"]);
    stored("effects-link", &["age", "lwt", "--kind", "slopes", "--data", "birthwt.csv", "--scale", "link"]);
    stored("effects-exact", &["age", "--data", "birthwt.csv", "--exact", "--draws", "400"]);
}

#[test]
fn what_has_no_answer_is_refused_in_these_words() {
    let bench = births();
    bench.provi(&["effects", "a.fit", "--out", "e.html"]).exits(0);
    let refused = |name: &str, args: &[&str]| {
        let said = bench.provi(&[&["effects", "a.fit"], args].concat()).exits(2);
        assert_eq!(said.stdout, "");
        assert_snapshot(name, &said.stderr);
    };
    refused("error-effects-name", &["lwtt"]);
    refused("error-effects-slope", &["race", "--kind", "slopes"]);
    refused("error-effects-file", &["--out", "effects.pdf"]);
    let bench = Bench::with_fits();
    let said = bench.provi(&["effects", "both.fit"]).exits(2).stderr;
    assert_snapshot("error-effects-ranges", &said);
    // A fit of an earlier version keeps no ranges; with the data it has effects all the same.
    assert!(bench.provi(&["effects", "both.fit", "--data", "study.csv"]).exits(0).stdout.contains("slope"));
}

#[test]
fn files_hold_what_the_screen_does() {
    let bench = births();
    for ending in ["csv", "json", "svg", "png", "html"] {
        let path = format!("e.{ending}");
        let said = bench.provi(&["effects", "a.fit", "--out", &path]).exits(0).stdout;
        assert_eq!(said, format!("written to {path}\n"));
        assert!(std::fs::metadata(bench.path(&path)).unwrap().len() > 500);
    }
    let text = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    let found: Value = serde_json::from_str(&text("e.json")).unwrap();
    assert_eq!(found["schema"], "provi-effects/1");
    let effects = found["effects"].as_array().unwrap();
    let lines: Vec<String> = text("e.csv").lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "variable,kind,value,reference,by,rows,estimate,low,high,error,status,interval");
    // 41 points for each of two numbers, two levels of a number that is 0 or 1, and three of a category.
    assert_eq!((effects.len(), lines.len()), (2 * 41 + 5, 2 * 41 + 6));
    assert_eq!(lines[1], bench.provi(&["effects", "a.fit", "--csv"]).exits(0).stdout.lines().nth(1).unwrap());
    let first: Vec<&str> = lines[1].split(',').collect();
    assert_eq!(effects[0]["estimate"].as_f64(), first[6].parse().ok());
    assert!(text("e.svg").contains("lwt") && text("e.html").contains("Other variables held at"));
    // The report of the fit shows them too.
    bench.provi(&["report", "a.fit"]).exits(0);
    let report = text("a.fit/report.html");
    assert!(report.contains(">Effects</h2>") && report.contains("Other variables held at age = 23.238"));
    assert!(
        bench
            .provi(&["report", "a.fit", "--plot", "effects", "--out", "p.svg"])
            .exits(0)
            .stdout
            .contains("p.svg")
    );
}

/// A posterior mean is not the maximum, and the default prior pulls a little: in 54 to 189 rows, a few tenths of a standard error.
#[test]
fn averages_are_near_those_at_the_maximum_of_the_likelihood() {
    let margins: Value =
        serde_json::from_str(&std::fs::read_to_string(tests().join("margins/margins.json")).unwrap())
            .unwrap();
    let breaks = fitted("warpbreaks.csv", "breaks ~ wool * tension", &["--family", "poisson"]);
    for (bench, name, data) in [(births(), "births", "birthwt.csv"), (breaks, "breaks", "warpbreaks.csv")] {
        let found = json(&bench, &["--data", data]);
        for (what, expected) in margins[name].as_object().unwrap() {
            let (variable, pair) = what.split_once(": ").unwrap_or((what, ""));
            let is = |effect: &&Value| {
                let said = |key: &str| effect[key].as_str().unwrap_or_default().to_owned();
                let own = format!("{} − {}", said("value"), said("reference"));
                effect["variable"] == variable && (pair.is_empty() || own == pair)
            };
            let effect =
                found["effects"].as_array().unwrap().iter().find(is).unwrap_or_else(|| panic!("{what}"));
            let number = |value: &Value| value.as_f64().unwrap();
            let (estimate, se) = (number(&expected["estimate"]), number(&expected["se"]));
            assert!((number(&effect["estimate"]) - estimate).abs() < 0.3 * se, "{what}: {effect} {expected}");
            let width = (number(&effect["high"]) - number(&effect["low"])) / (2.0 * 1.96);
            assert!((width / se - 1.0).abs() < 0.15, "{what}: {width} and {se}");
        }
    }
}
