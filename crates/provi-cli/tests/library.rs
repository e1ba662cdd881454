//! Runs on libraries that are made again, taken up again and certified; `.stan` files that are compiled on the way.

use crate::common::{Bench, assert_snapshot};
use crate::libraries::{bridgestan, example, imitation};
use serde_json::{Value, json};

const DATA: &str = r#"{"x": [-1, 0, 1, 2, 3], "y": [-0.8, 0.3, 0.9, 2.2, 2.9]}"#;
const STAN: [&str; 5] = ["fit", "--stan", "model.so", "--data", "data.json"];

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::copy(bridgestan(""), bench.path("model.so")).unwrap();
    bench.write("data.json", DATA).write("init.json", r#"{"alpha": 0, "beta": 1, "sigma": 0.3}"#);
    bench
}

/// fit.json without what the clock says.
fn read(bench: &Bench, dir: &str) -> Value {
    let text = std::fs::read_to_string(bench.path(dir).join("fit.json")).unwrap();
    let mut fit: Value = serde_json::from_str(&text).unwrap();
    fit.as_object_mut().unwrap().retain(|key, _| key != "seconds" && key != "phases");
    fit
}

/// Digests of files that a compiler made are another machine's.
fn without_digest(text: &str, digest: &str) -> String {
    assert!(text.contains(digest), "{text}");
    text.replace(digest, "DIGEST")
}

#[test]
fn a_run_on_a_library_is_made_again_from_its_file() {
    let bench = bench();
    let options = [
        "--init",
        "init.json",
        "--starts",
        "2",
        "--transformed",
        "--seed",
        "3",
        "--contrast",
        "alpha - beta",
    ];
    let folder = ["--out", "m.fit", "--quiet"];
    bench.provi(&[&STAN[..], &options, &folder].concat()).exits(0);
    let fit = read(&bench, "m.fit");
    let digest = fit["model"]["library"]["sha256"].as_str().unwrap().to_owned();
    let run = std::fs::read_to_string(bench.path("m.fit/run.toml")).unwrap();
    assert_snapshot("run-file-stan", &without_digest(&run, &digest));
    bench.provi(&["fit", "--config", "m.fit/run.toml", "--out", "again.fit", "--quiet"]).exits(0);
    assert_eq!(read(&bench, "again.fit"), fit);
    assert_eq!(std::fs::read_to_string(bench.path("again.fit/run.toml")).unwrap(), run);
    // What the command line says goes first.
    let other = ["fit", "--config", "m.fit/run.toml", "--seed", "4", "--generated", "--json", "--quiet"];
    let other: Value = serde_json::from_str(&bench.provi(&other).exits(0).stdout).unwrap();
    assert_eq!(other["seed"], 4);
    assert_eq!(other["constrained"]["names"][4], "y_next");
    bench.provi(&["report", "m.fit"]).exits(0);
    let page = std::fs::read_to_string(bench.path("m.fit/report.html")).unwrap();
    assert!(page.contains("provi fit --config m.fit/run.toml") && page.contains(&digest));
}

#[test]
fn a_changed_library_and_changed_files_are_refused_unless_they_are_meant() {
    let bench = bench();
    bench.provi(&[&STAN[..], &["--init", "init.json", "--out", "m.fit", "--quiet"]].concat()).exits(0);
    let again = ["fit", "--config", "m.fit/run.toml", "--quiet"];
    let refused = |file: &str, what: &str| {
        let before = std::fs::read(bench.path(file)).unwrap();
        std::fs::write(bench.path(file), [&before[..], b"\n"].concat()).unwrap();
        let said = bench.provi(&again).exits(2).stderr;
        let message = format!("`{file}` is not the expected {what}: its SHA-256 is ");
        assert!(said.contains(&message) && said.contains("--force"), "{said}");
        // Named on the command line, or forced, it is meant.
        bench.provi(&[&again[..], &["--out", "forced.fit", "--force"]].concat()).exits(0);
        std::fs::write(bench.path(file), before).unwrap();
        bench.provi(&again).exits(0);
    };
    refused("data.json", "data file");
    refused("init.json", "file of initial values");
    refused("model.so", "Stan model");
    bench.write("other.json", r#"{"x": [1, 2], "y": [1, 2]}"#);
    bench.provi(&[&again[..], &["--data", "other.json"]].concat()).exits(0);
}

#[test]
fn options_of_tables_and_of_libraries_do_not_mix() {
    let bench = bench();
    bench.provi(&[&STAN[..], &["--out", "m.fit", "--quiet"]].concat()).exits(0);
    bench.write("table.csv", "y,x\n0,1\n1,2\n0,3\n1,3\n");
    bench.provi(&["fit", "table.csv", "y ~ x", "--out", "t.fit", "--quiet"]).exits(0);
    for (args, expected) in [
        (&["--stan", "model.so", "--prior-scale", "2"][..], "--prior-scale goes with a table and a formula"),
        (&["--config", "m.fit/run.toml", "--family", "poisson"], "--family goes with a table and a formula"),
        (&["--config", "m.fit/run.toml", "--prior-sensitivity"], "--prior-sensitivity goes with a table"),
        (&["--config", "m.fit/run.toml", "table.csv", "y ~ x"], "a table goes with a table and a formula"),
        (&["--config", "t.fit/run.toml", "--mu", "1"], "--mu is for a library"),
        (&["--config", "t.fit/run.toml", "--stan", "model.so"], "--stan or --library is for a library"),
    ] {
        let said = bench.provi(&[&["fit", "--quiet"], args].concat()).exits(2).stderr;
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    for (text, expected) in [
        ("seed = 1", "neither a `formula` nor a [compiled] model"),
        ("formula = \"y ~ x\"", "its `formula` has no `data`"),
        ("data = \"a\"\nformula = \"y ~ x\"\n[compiled]\nstan = \"m.so\"", "only one can be fitted"),
        ("[compiled]\nmu = 1", "needs one of `stan` and `library`"),
    ] {
        bench.write("bad.toml", text);
        let said = bench.provi(&["fit", "--config", "bad.toml"]).exits(2).stderr;
        assert!(said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn planned_steps_on_a_library_go_on_where_they_were_stopped() {
    let bench = bench();
    // A logistic regression, whose curvature is at most 1 + tr(XᵀX)/4.
    bench.write("data.json", r#"{"D": 2, "x": [[1, -1], [1, 0], [1, 1], [1, 2]], "y": [0, 1, 0, 1]}"#);
    let planned = ["--mu", "1", "--smoothness", "3.5", "--method", "proj-stl", "--steps", "30000", "--quiet"];
    let planned = [&STAN[..], &planned].concat();
    bench.provi(&[&planned[..], &["--out", "whole.fit"]].concat()).exits(0);
    let said = bench.provi(&[&planned[..], &["--out", "m.fit", "--time-limit", "0.02"]].concat()).exits(3);
    assert!(said.stdout.contains("to go on: provi fit --resume m.fit"), "{}", said.stdout);
    assert!(bench.path("m.fit/checkpoint.bin").exists());
    bench.provi(&["fit", "--resume", "m.fit", "--time-limit", "3600", "--quiet"]).exits(0);
    assert_eq!(read(&bench, "m.fit"), read(&bench, "whole.fit"));
    assert!(!bench.path("m.fit/checkpoint.bin").exists());
    let said = bench.provi(&["fit", "--resume", "m.fit"]).exits(2).stderr;
    assert!(said.contains("its fit is finished"), "{said}");
}

#[test]
fn a_search_by_draws_that_was_stopped_begins_again_and_says_so() {
    let bench = bench();
    bench.provi(&[&STAN[..], &["--out", "whole.fit", "--quiet"]].concat()).exits(0);
    let stopped = ["--out", "m.fit", "--time-limit", "0.000001", "--quiet"];
    let said = bench.provi(&[&STAN[..], &stopped].concat()).exits(3);
    assert!(said.stdout.contains("to begin again: provi fit --resume m.fit"), "{}", said.stdout);
    let said = bench.provi(&["fit", "--resume", "m.fit", "--time-limit", "3600"]).exits(0);
    assert!(said.stderr.contains("no checkpoint was kept") && said.stderr.contains("begins again"));
    assert_eq!(read(&bench, "m.fit"), read(&bench, "whole.fit"));
    let said = bench.provi(&["fit", "--resume", "m.fit"]).exits(2).stderr;
    assert!(said.contains("its fit is finished"), "{said}");
}

/// Draws of the posterior itself rest on the declared curvature, and say so; another library is refused.
#[test]
fn a_density_in_c_has_exact_draws_on_its_owners_word() {
    let Some(path) = example("density.c") else { return };
    let bench = bench();
    std::fs::copy(path, bench.path("density.so")).unwrap();
    bench.provi(&["fit", "--library", "density.so", "--out", "c.fit", "--quiet"]).exits(0);
    let sample = ["sample", "c.fit", "--exact", "--library", "density.so", "-n", "4000", "--format", "json"];
    let said = bench.provi(&sample).exits(0);
    assert!(said.stderr.contains("if the declared curvature is right"), "{}", said.stderr);
    let drawn: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(drawn["law"], "exact");
    // Their means are those of the fit, up to six standard errors and what the certificate leaves.
    let fit = read(&bench, "c.fit");
    let draws = drawn["draws"].as_array().unwrap();
    for i in 0..fit["names"].as_array().unwrap().len() {
        let mean = draws.iter().map(|z| z[i].as_f64().unwrap()).sum::<f64>() / draws.len() as f64;
        let (found, sd) =
            (fit["mean"][i].as_f64().unwrap(), fit["covariance"][i][i].as_f64().unwrap().sqrt());
        let room = 6.0 / (draws.len() as f64).sqrt() * sd
            + fit["certificate"]["moments"][i]["mean_error"]["bound"].as_f64().unwrap();
        assert!((mean - found).abs() < room, "{i}: {mean} {found} {room}");
    }
    assert!(
        drawn["note"].as_str().unwrap().ends_with("if the declared curvature is right"),
        "{}",
        drawn["note"]
    );
    // A fit of something else is not its fit.
    bench.write("t.csv", "y,x\n0.1,1\n0.4,2\n0.2,3\n0.9,4\n");
    bench.provi(&["fit", "t.csv", "y ~ x", "--noise-sd", "1", "--out", "t.fit", "--quiet"]).exits(0);
    let of_table = ["sample", "t.fit", "--exact", "--library", "density.so", "-n", "10"];
    let refused = bench.provi(&of_table).exits(2).stderr;
    assert!(refused.contains("--stan or --library"), "{refused}");
    bench.write("density.so", "another");
    let refused = bench.provi(&sample).exits(2).stderr;
    assert!(refused.contains("density.so"), "{refused}");
    let without = bench.provi(&["sample", "c.fit", "--exact"]).exits(2).stderr;
    assert!(without.contains("--library"), "{without}");
}

#[test]
fn a_gaussian_is_certified_against_a_library_on_its_owners_word() {
    let Some(path) = example("density.c") else { return };
    let bench = bench();
    std::fs::copy(path, bench.path("density.so")).unwrap();
    bench.provi(&["fit", "--library", "density.so", "--out", "c.fit", "--quiet"]).exits(0);
    let said = bench.provi(&["certify", "c.fit", "--library", "density.so", "--seed", "1"]).exits(0).stdout;
    assert!(said.contains("every stored claim is reproduced, from fresh draws, --seed 1"), "{said}");
    // Another tool's: names in any order, and a curvature that is declared here.
    let fit = read(&bench, "c.fit");
    let backwards = |list: &Value| list.as_array().unwrap().iter().rev().cloned().collect::<Vec<_>>();
    let rows: Vec<_> = backwards(&fit["covariance"]).iter().map(backwards).collect();
    let given = json!({"names": backwards(&fit["names"]), "mean": backwards(&fit["mean"]), "cov": rows});
    bench.write("q.json", &given.to_string());
    let args = [
        "certify",
        "q.json",
        "--library",
        "density.so",
        "--mu",
        "0.5",
        "--smoothness",
        "60",
        "--seed",
        "1",
        "--json",
    ];
    let report: Value = serde_json::from_str(&bench.provi(&args).exits(0).stdout).unwrap();
    assert_eq!(report["certificate"]["kl"]["provenance"], "declared", "{report}");
    assert!(report["stored"].is_null() && report["reproduced"].is_null());
    let args =
        ["certify", "q.json", "--library", "density.so", "--mu", "30", "--smoothness", "60", "--seed", "1"];
    let said = bench.provi(&args).exits(0).stdout;
    assert!(said.contains("the declared curvature is wrong"), "{said}");
}

#[test]
fn a_stan_fit_is_certified_by_estimates_alone_and_only_against_its_own_files() {
    let bench = bench();
    bench.provi(&[&STAN[..], &["--out", "m.fit", "--quiet"]].concat()).exits(0);
    let certify = ["certify", "m.fit", "--stan", "model.so", "--data", "data.json", "--seed", "1"];
    let said = bench.provi(&certify).exits(0).stdout;
    for text in ["Stan model regression_model", "no curvature is known", "log evidence", "free(sigma)"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let refused = |args: &[&str], expected: &str| {
        let said = bench.provi(args).exits(2).stderr;
        assert!(said.contains(expected), "{args:?}: {said}");
    };
    bench.write("other.json", r#"{"x": [1, 2, 3], "y": [1, 2, 4]}"#);
    let other = ["certify", "m.fit", "--stan", "model.so", "--data", "other.json", "--seed", "1"];
    refused(&other, "`other.json` is not the expected data file");
    refused(&["certify", "m.fit", "--stan", "model.so"], "the fit was made with --data data.json, not none");
    refused(
        &[&certify[..], &["--mu", "1"]].concat(),
        "made with --mu and --smoothness none and none, not 1 and none",
    );
    refused(&[&certify[..], &["--prior-scale", "1"]].concat(), "--prior-scale goes with a table");
    refused(&["certify", "m.fit"], "required arguments");
    // Meant or not, the claims of the file are about its own data.
    bench.provi(&[&other[..], &["--force"]].concat()).exits(1);
}

#[test]
fn a_stan_file_is_compiled_on_the_way_and_stands_in_the_run_file() {
    let bench = bench();
    let Some(_) = imitation(bench.dir.path()) else { return };
    bench.write("m.stan", "parameters { real alpha; }");
    let args =
        ["fit", "--stan", "m.stan", "--data", "data.json", "--bridgestan", "bridgestan-2.9.0", "--quiet"];
    bench.provi(&[&args[..], &["--out", "m.fit"]].concat()).exits(0);
    bench.provi(&["fit", "--config", "m.fit/run.toml", "--quiet"]).exits(0);
    bench.write("m.stan", "parameters { reel alpha; }");
    let said = bench.provi(&args).exits(2).stderr;
    assert!(
        said.contains("`m.stan` does not compile") && said.contains("Syntax error in 'm.stan'"),
        "{said}"
    );
    let said = bench.provi(&["fit", "--config", "m.fit/run.toml"]).exits(2).stderr;
    assert!(said.contains("`m.stan` is not the expected Stan model"), "{said}");
}
