//! Families of q through the real binary: fit, certify, compare, plan, files and refusals.

use std::path::Path;

use crate::common::Bench;
use serde_json::Value;

fn bench() -> Bench {
    let bench = Bench::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/votes.csv");
    std::fs::copy(data, bench.path("votes.csv")).unwrap();
    bench
}

const VOTES: [&str; 4] = ["votes.csv", "dole ~ conservative + decades", "--prior-scale", "1"];

fn fit(bench: &Bench, out: &str, args: &[&str]) -> Value {
    let said = bench.provi(&[&["fit"], &VOTES[..], args, &["--out", out, "--quiet"]].concat()).exits(0);
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path(out).join("fit.json")).unwrap()).unwrap();
    if let Some(family) = file["family_of_q"].as_str() {
        assert!(said.stdout.contains(&format!("within {family}")), "{}", said.stdout);
        assert!(said.stdout.contains("gap to best of family"), "{}", said.stdout);
        for command in ["summary", "report"] {
            let shown = bench.provi(&[command, out]).exits(0).stdout;
            let page = bench.path(out).join("report.html");
            let text = shown + &std::fs::read_to_string(page).unwrap_or_default();
            assert!(text.contains(&format!("within {family}")), "{command}: {text}");
        }
    }
    file
}

#[test]
fn a_mean_field_beside_the_full_gaussian_costs_what_compare_says() {
    let bench = bench();
    let (full, field) = (fit(&bench, "full", &[]), fit(&bench, "field", &["--family-of-q", "meanfield"]));
    assert!(full.get("family_of_q").is_none() && full["certificate"].get("family").is_none());
    assert_eq!(field["family_of_q"], "meanfield");
    let family = &field["certificate"]["family"];
    assert_eq!((&family["name"], &family["gap"]["key"]), (&"meanfield".into(), &"pattern".into()));
    assert!(family["gap"]["bound"].as_f64().unwrap() < 1e-9);
    let off = (0..3).flat_map(|i| (0..3).filter(move |&j| j != i).map(move |j| (i, j)));
    assert!(off.into_iter().all(|(i, j)| field["covariance"][i][j].as_f64() == Some(0.0)));
    let lost = field["neg_elbo"].as_f64().unwrap() - full["neg_elbo"].as_f64().unwrap();
    assert!(lost > 0.01, "{lost}");
    let text = bench.provi(&["compare", "field", "full"]).exits(0).stdout;
    assert!(text.contains("family of q") && text.contains(&format!("{lost:.4} ±")), "{text}");
    let json = bench.provi(&["compare", "field", "full", "--json"]).exits(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let of =
        |name: &str| json["models"].as_array().unwrap().iter().find(|m| m["fit"] == name).unwrap().clone();
    assert_eq!(
        (&of("field")["family_of_q"], &of("full")["family_of_q"]),
        (&"meanfield".into(), &"full".into())
    );
    let below = &of("field")["elbo_below"];
    assert!((below["nats"].as_f64().unwrap() - lost).abs() < 1e-9 && below["exact"] == true, "{below}");
    // Fits of other models have no such difference, and those of one family nothing to show.
    bench.provi(&["fit", "votes.csv", "dole ~ decades", "--out", "small", "--quiet"]).exits(0);
    assert!(!bench.provi(&["compare", "field", "small"]).exits(0).stdout.contains("below the largest"));
    let again = bench.provi(&["compare", "full", "full"]).exits(0).stdout;
    assert!(!again.contains("below the largest"), "{again}");
}

#[test]
fn certify_confirms_a_family_and_refutes_a_forged_one() {
    let bench = bench();
    for family in ["meanfield", "blocks:1,2", "arrow:1", "banded:1"] {
        let out = family.replace([':', ','], "-");
        fit(&bench, &out, &["--family-of-q", family]);
        let said = bench.provi(&["certify", &out, "votes.csv", "--seed", "2"]).exits(0).stdout;
        let claim = format!("gap within {family}, nats");
        let line = said.lines().find(|line| line.starts_with(&claim)).unwrap_or_else(|| panic!("{said}"));
        assert!(line.ends_with("reproduced") && !line.contains("NOT"), "{line}");
    }
    // The best Gaussian of all is not the best mean field: a file that says so is not believed.
    let path = bench.path("full").join("fit.json");
    fit(&bench, "full", &[]);
    let mut file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    file["family_of_q"] = "meanfield".into();
    file["certificate"]["family"] =
        serde_json::json!({"name": "meanfield", "gap": file["certificate"]["gap"]});
    std::fs::write(&path, file.to_string()).unwrap();
    let said = bench.provi(&["certify", "full", "votes.csv", "--seed", "2"]).exits(1);
    assert!(said.stderr.contains("gap within meanfield"), "{}", said.stderr);
}

#[test]
fn plans_and_run_files_know_the_family() {
    let bench = bench();
    let planned = ["--method", "prox-energy", "--family-of-q", "banded:1"];
    let plan = bench.provi(&[&["plan"], &VOTES[..], &planned, &["--steps", "500"]].concat()).exits(0).stdout;
    assert!(
        plan.contains("family of q") && plan.contains("banded:1") && plan.contains("scale of the family"),
        "{plan}"
    );
    let json = bench
        .provi(&[&["plan"], &VOTES[..], &planned, &["--steps", "500", "--json"]].concat())
        .exits(0)
        .stdout;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["family_of_q"], "banded:1");
    let file = fit(&bench, "banded", &[&planned[..], &["--steps", "500", "--audit-draws", "200"]].concat());
    assert_eq!((&file["method"], &file["family_of_q"]), (&"prox-energy".into(), &"banded:1".into()));
    let run = bench.path("banded").join("run.toml");
    assert!(std::fs::read_to_string(&run).unwrap().contains("family-of-q = \"banded:1\""));
    bench.provi(&["fit", "--config", "banded/run.toml", "--out", "again", "--quiet"]).exits(0);
    let again = std::fs::read_to_string(bench.path("again").join("fit.json")).unwrap();
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["mean"], &again["covariance"]), (&file["mean"], &file["covariance"]));
}

#[test]
fn what_no_family_or_method_is_is_refused_with_the_way_out() {
    let bench = bench();
    for (args, words) in [
        (&["--family-of-q", "diagonal"][..], "meanfield"),
        (&["--family-of-q", "blocks:2,2"], "add up"),
        (&["--family-of-q", "blocks:3,0"], "blocks:SIZES"),
        (&["--family-of-q", "arrow:4"], "arrow:3"),
        (&["--family-of-q", "banded:3"], "at most 2 diagonals"),
        (&["--family-of-q", "meanfield", "--method", "proj-stl"], "prox-energy"),
        (
            &["--family-of-q", "meanfield", "--method", "proj-entropy", "--steps", "9"],
            "proj-entropy-triangular",
        ),
    ] {
        let said = bench.provi(&[&["fit"], &VOTES[..], args, &["--quiet"]].concat()).exits(2);
        let text = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{args:?}: {text}");
    }
    let integrated =
        ["fit", "votes.csv", "dole ~ conservative + (1 | decades)", "--family-of-q", "meanfield", "--quiet"];
    let said = bench.provi(&integrated).exits(2).stderr;
    assert!(said.contains("a family of q"), "{said}");
    // A band of no diagonals is the mean field.
    assert_eq!(fit(&bench, "zero", &["--family-of-q", "banded:0"])["family_of_q"], "meanfield");
}
