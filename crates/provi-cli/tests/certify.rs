//! Certifying fits, one's own and other tools', through the real binary.

use crate::common::{Bench, assert_snapshot};
use serde_json::{Value, json};

const W2: &[&str] = &["W2.csv", "y ~ .", "--family", "bernoulli", "--prior-scale", "1"];
const SMALL: &str = "y,age,dose\n1,0.3,0.5\n0,0.4,1.5\n0,-0.2,2.5\n1,0.5,0.1\n1,-1,1\n";

/// A fit of W2 in `w2/fit.json`, and its content.
fn fitted(bench: &Bench) -> Value {
    let contrast = ["--contrast", "mean_radius - mean_texture"];
    let few = ["--audit-draws", "1000", "--out", "w2", "--quiet"];
    bench.provi(&[&["fit"], W2, &contrast, &few].concat()).exits(0);
    serde_json::from_str(&std::fs::read_to_string(bench.path("w2/fit.json")).unwrap()).unwrap()
}

#[test]
fn a_fit_is_reproduced_from_its_file_and_the_data() {
    let bench = Bench::new();
    fitted(&bench);
    let said = bench.provi(&["certify", "w2", "W2.csv", "--accuracy", "1e-6", "--seed", "1"]).exits(0);
    assert!(said.stdout.contains("every stored claim is reproduced, from fresh draws, --seed 1"));
    assert_eq!(said.stderr, "");
    let said = bench.provi(&["certify", "w2/fit.json", "W2.csv", "--seed", "7", "--json"]).exits(0);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(report["reproduced"], true);
    assert_eq!(report["seed"], 7);
    assert!(report["certificate"]["gap"]["bound"].as_f64().unwrap() <= 1e-8);
    assert!(report["stored"]["gap"]["bound"].is_number() && report["estimates"]["pareto_k"].is_number());
    let said = bench.provi(&["certify", "w2", "W2.csv", "--accuracy", "1e-20", "--seed", "1"]).exits(1);
    assert!(said.stderr.contains("was not proved; proved is"), "{}", said.stderr);
    // What is given on the command line, if the same, does no harm.
    bench.provi(&[&["certify", "w2", "--seed", "1"], W2].concat()).exits(0);
}

#[test]
fn a_check_draws_afresh_says_its_seed_and_is_repeated_by_it() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL);
    bench.write("q.json", r#"{"m": [0.3, 0.2], "L": [0.9, 0.1, 1.1]}"#);
    let certify = ["certify", "q.json", "small.csv", "y ~ age"];
    let run = |more: &[&str]| bench.provi(&[&certify[..], more].concat()).exits(0).stdout;
    let said = [run(&[]), run(&[])];
    let seed = |said: &str| {
        let line = said.lines().find(|line| line.contains("fresh draws")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let seeds = [seed(&said[0]), seed(&said[1])];
    assert_ne!(seeds[0], seeds[1]);
    assert_eq!(run(&["--seed", &seeds[0].to_string()]), said[0]);
    let report: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert!(!seeds.contains(&report["seed"].as_u64().unwrap()));
}

/// A claim divided by a number.
fn divide(claim: &mut Value, by: f64) {
    *claim = json!(claim.as_f64().unwrap() / by);
}

#[test]
#[ignore = "slow: an audit for each of many forgeries; cargo xtask heavy runs it"]
fn a_forged_fit_is_found_out() {
    let bench = Bench::new();
    let model = ["W2.csv", "y ~ mean_radius + mean_texture + mean_smoothness", "--prior-scale", "1"];
    let contrast = ["--contrast", "mean_radius - mean_texture"];
    // A seed whose estimates can be believed: others are no claims.
    bench
        .provi(&[&["fit"], &model[..], &contrast, &["--seed", "3", "--out", "w2", "--quiet"]].concat())
        .exits(0);
    let fit: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("w2/fit.json")).unwrap()).unwrap();
    let forged = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut fit = fit.clone();
        change(&mut fit);
        bench.write("forged.json", &fit.to_string());
        let said = bench.provi(&["certify", "forged.json", "W2.csv", "--seed", "1"]).exits(1);
        assert!(
            said.stderr.contains("not reproduced: ") && said.stderr.contains(what),
            "{what}: {}",
            said.stderr
        );
        assert!(said.stdout.contains("NOT reproduced"), "{}", said.stdout);
    };
    // Audits of this fit differ by up to 1.7, by the route that the pilot chooses: a sixth is none of them.
    forged("gap", &|fit| fit["mean"][3] = json!(fit["mean"][3].as_f64().unwrap() + 0.01));
    forged("gap", &|fit| divide(&mut fit["certificate"]["gap"]["bound"], 6.0));
    forged("gap", &|fit| fit["certificate"]["gap"]["bound"] = json!(-1.0));
    forged("KL", &|fit| divide(&mut fit["certificate"]["kl"]["bound"], 6.0));
    // Draws that nobody made do not excuse a bound that does not come out.
    forged("KL", &|fit| {
        fit["certificate"]["grounds"]["draws"] = json!(1_000_000_000_000_u64);
        divide(&mut fit["certificate"]["kl"]["bound"], 6.0);
    });
    forged("total variation", &|fit| divide(&mut fit["certificate"]["tv"]["bound"], 6.0));
    // A statement cannot be surer than it comes out.
    forged("KL", &|fit| fit["certificate"]["kl"]["confidence"] = json!(1.0));
    forged("KL", &|fit| fit["certificate"]["kl"]["confidence"] = json!(1.0 - 1e-12));
    // A moment of every coefficient, and of no other.
    forged("mean ± of mean_radius", &|fit| {
        divide(&mut fit["certificate"]["moments"][1]["mean_error"]["bound"], 6.0);
    });
    forged("sd ± of mean_smoothness", &|fit| {
        divide(&mut fit["certificate"]["moments"][3]["sd_error"]["bound"], 6.0);
    });
    forged("moments", &|fit| fit["certificate"]["moments"][2]["name"] = json!("another"));
    forged("moments", &|fit| drop(fit["certificate"]["moments"].as_array_mut().unwrap().pop()));
    // The posterior's own moments: none too sure, none beside the truth, none missing.
    let own = "posterior means and sds";
    assert!(fit["posterior"]["mean"].is_array(), "the fit measured them");
    forged(own, &|fit| divide(&mut fit["posterior"]["mean_error"][1], 6.0));
    forged(own, &|fit| divide(&mut fit["posterior"]["sd_error"][3], 6.0));
    forged(own, &|fit| {
        let mean = fit["posterior"]["mean"][2].as_f64().unwrap();
        fit["posterior"]["mean"][2] = json!(mean + 3.0 * fit["posterior"]["mean_error"][2].as_f64().unwrap());
    });
    forged(own, &|fit| drop(fit["posterior"]["sd"].as_array_mut().unwrap().pop()));
    forged(own, &|fit| fit["posterior"]["confidence"] = json!(1.0));
    // Both sides of the evidence, and the ELBO.
    let [lower, upper] =
        ["lower", "upper"].map(|side| fit["certificate"]["evidence"][side].as_f64().unwrap());
    forged("log evidence ≤", &|fit| {
        fit["certificate"]["evidence"]["upper"] = json!(lower + 0.1 * (upper - lower));
    });
    forged("log evidence ≥", &|fit| {
        fit["certificate"]["evidence"]["lower"] = json!(lower + 0.9 * (upper - lower));
    });
    forged("ELBO", &|fit| fit["neg_elbo"] = json!(55.0));
    // What a contrast that somebody thinks of later is bounded by.
    for part in ["global", "local"] {
        if fit["moment_bounds"][part].is_null() {
            continue;
        }
        let metric = |fit: &mut Value, rows: usize, by: f64| {
            let metric = fit["moment_bounds"][part]["metric"].as_array_mut().unwrap();
            metric.iter_mut().rev().take(rows).for_each(|x| divide(x, by));
            // What is outside a ball alone is more than what is measured.
            if part == "local" {
                for key in ["outside", "alpha", "alpha2"] {
                    fit["moment_bounds"][part][key] =
                        if key == "outside" { json!([0.0, 0.0, 0.0]) } else { json!(0.0) };
                }
            }
        };
        // So small that it claims more than what is measured in every direction.
        forged("bounds of contrasts", &|fit| metric(fit, usize::MAX, 1e6));
        // In one direction alone: the last row of the metric.
        forged("bounds of contrasts", &|fit| metric(fit, 4, 1e7));
    }
    for key in ["mean", "sd"] {
        forged("bounds of contrasts", &|fit| divide(&mut fit["moment_bounds"]["every"][key], 6.0));
    }
    // A contrast that was asked for.
    for key in ["mean", "sd"] {
        forged("contrast mean_radius - mean_texture", &|fit| {
            let value = &mut fit["contrasts"][0][key];
            *value = json!(value.as_f64().unwrap() + 0.01);
        });
    }
    forged("contrast", &|fit| divide(&mut fit["contrasts"][0]["mean_error"]["bound"], 6.0));
    forged("contrast", &|fit| {
        let value = fit["contrasts"][0]["positive"]["value"].clone();
        (fit["contrasts"][0]["positive"]["lower"], fit["contrasts"][0]["positive"]["upper"]) =
            (value.clone(), value);
    });
    forged("contrast", &|fit| fit["contrasts"][0]["expression"] = json!("mean_radius"));
    // Estimates, what the file says of its model, and a promise.
    forged("estimated KL", &|fit| fit["estimates"]["kl"] = json!(5.0));
    forged("estimated log evidence", &|fit| fit["estimates"]["log_evidence"] = json!(-40.0));
    forged("rows", &|fit| fit["model"]["rows"] = json!(570));
    forged("prior sds", &|fit| fit["model"]["prior_sd"][0] = json!(2.0));
    forged("checks", &|fit| fit["checks"]["statistics"][0]["observed"] = json!(0.5));
    forged("bound in advance", &|fit| {
        (fit["method"], fit["plan_bound"]["value"]) = (json!("exact"), json!(1e-9));
        (fit["coordinates"], fit["steps"]) = (json!("curvature"), json!(3));
    });
}

#[test]
fn an_estimate_of_its_own_contradicts_a_bound_that_is_too_small() {
    let bench = Bench::new();
    let mut fit = fitted(&bench);
    let estimate = fit["estimates"]["kl"].as_f64().unwrap();
    assert!(estimate > 0.05, "{estimate}");
    fit["certificate"]["kl"]["bound"] = json!(0.5 * estimate);
    bench.write("forged.json", &fit.to_string());
    let said = bench.provi(&["certify", "forged.json", "W2.csv", "--seed", "1"]).exits(1);
    assert!(said.stdout.contains("the estimate contradicts it"), "{}", said.stdout);
}

/// The twin of the forgeries: honest files pass whatever the seed. A bound from draws is five deviations away from being refused,
/// in each of at most three audits: over these twenty checks that happens less often than once in 1e5.
#[test]
fn honest_fits_pass_with_any_seed() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL);
    let model = ["W2.csv", "y ~ mean_radius + mean_texture", "--prior-scale", "1"];
    bench
        .provi(&[&["fit"], &model[..], &["--contrast", "mean_radius", "--out", "w2", "--quiet"]].concat())
        .exits(0);
    bench
        .provi(&["fit", "small.csv", "y ~ age + dose", "--prior-scale", "2", "--out", "fit", "--quiet"])
        .exits(0);
    for seed in 1..=10 {
        let seed = seed.to_string();
        bench.provi(&["certify", "w2", "W2.csv", "--seed", &seed]).exits(0);
        bench.provi(&["certify", "fit", "small.csv", "--seed", &seed]).exits(0);
    }
}

#[test]
fn what_was_sampled_cannot_be_called_certain() {
    let bench = Bench::new();
    let model = ["W2.csv", "y ~ mean_texture", "--family", "probit", "--out", "fit", "--quiet"];
    bench.provi(&[&["fit"], &model[..]].concat()).exits(0);
    bench.provi(&["certify", "fit", "W2.csv", "--seed", "1"]).exits(0);
    // What is known of a probit's best Gaussian is not sampled.
    let path = bench.path("fit/fit.json");
    let mut fit: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let kl = &mut fit["certificate"]["kl"];
    kl["confidence"] = json!(1);
    bench.write("forged.json", &fit.to_string());
    bench.provi(&["certify", "forged.json", "W2.csv", "--seed", "1"]).exits(1);
}

#[test]
fn fewer_draws_than_the_file_had_refute_nothing_and_confirm_nothing() {
    let bench = Bench::new();
    let model = ["W2.csv", "y ~ mean_texture + mean_symmetry", "--out", "fit", "--quiet"];
    bench.provi(&[&["fit"], &model[..]].concat()).exits(0);
    let said = bench.provi(&["certify", "fit", "W2.csv", "--audit-draws", "500", "--seed", "1"]).exits(1);
    assert!(said.stdout.contains("NOT checked: fewer draws"), "{}", said.stdout);
    assert!(!said.stdout.contains("every stored claim is reproduced"), "{}", said.stdout);
}

#[test]
fn a_planned_fit_is_reproduced_too() {
    let bench = Bench::new();
    let planned =
        ["--method", "proj-stl", "--steps", "300", "--audit-draws", "1000", "--out", "w2", "--quiet"];
    bench.provi(&[&["fit"], W2, &planned[..]].concat()).exits(0);
    bench.provi(&["certify", "w2", "W2.csv", "--seed", "1"]).exits(0);
}

#[test]
fn another_tools_gaussian_is_certified_in_any_order() {
    let bench = Bench::new();
    let fit = fitted(&bench);
    let (names, mean) = (fit["names"].as_array().unwrap(), fit["mean"].as_array().unwrap());
    let rows = fit["covariance"].as_array().unwrap();
    let backwards = |list: &Vec<Value>| list.iter().rev().cloned().collect::<Vec<_>>();
    let turned: Vec<_> = backwards(rows).iter().map(|row| backwards(row.as_array().unwrap())).collect();
    let named = json!({"names": backwards(names), "m": backwards(mean), "S": turned});
    let plain = json!({"mean": mean, "cov": rows});
    let gap = |file: &str| {
        let how = ["--seed", "1", "--audit-draws", "1", "--json"];
        let said = bench.provi(&[&["certify", file], W2, &how].concat()).exits(0);
        let report: Value = serde_json::from_str(&said.stdout).unwrap();
        assert!(report["stored"].is_null() && report["reproduced"].is_null());
        report["certificate"]["gap"]["bound"].as_f64().unwrap()
    };
    bench.write("named.json", &named.to_string()).write("plain.json", &plain.to_string());
    assert!(gap("named.json") <= 1e-8 && gap("plain.json") <= 1e-8);

    let mut csv = format!("name,mean,{}\n", texts(names).join(","));
    for i in (0..names.len()).rev() {
        let row: Vec<String> = rows[i].as_array().unwrap().iter().map(Value::to_string).collect();
        csv += &format!("{},{},{}\n", names[i].as_str().unwrap(), mean[i], row.join(","));
    }
    bench.write("fit.csv", &csv);
    assert!(gap("fit.csv") <= 1e-8);
}

fn texts(names: &[Value]) -> Vec<&str> {
    names.iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn a_factor_may_be_full_packed_or_ragged() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL);
    let gap = |text: &str| {
        bench.write("q.json", text);
        let said =
            bench.provi(&["certify", "q.json", "small.csv", "y ~ age", "--seed", "1", "--json"]).exits(0);
        let report: Value = serde_json::from_str(&said.stdout).unwrap();
        report["certificate"]["gap"]["bound"].as_f64().unwrap()
    };
    let packed = gap(r#"{"m": [0.3, 0.2], "L": [0.9, 0.1, 1.1]}"#);
    let same = |text: &str| assert!((gap(text) - packed).abs() <= 1e-9 * packed, "{text}");
    same(r#"{"mean": [0.3, 0.2], "C": [[0.9, 0], [0.1, 1.1]]}"#);
    same(r#"{"mean": [0.3, 0.2], "factor": [[0.9], [0.1, 1.1]], "covariance": null}"#);
    same(r#"{"mean": [0.3, 0.2], "S": [[0.81, 0.09], [0.09, 1.22]]}"#);
    same(r#"{"mean": [0.3, 0.2], "S": [0.81, 0.09, 0.09, 1.22]}"#);
    // A triangular factor in another order than the model's.
    same(
        r#"{"names": ["age", "(Intercept)"], "mean": [0.2, 0.3],
        "L": [1.104536101718726, 0.08148217143826668, 0.8963038858209335]}"#,
    );
}

#[test]
fn other_data_and_other_models_need_force() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL).write("other.csv", &SMALL.replace("0.3", "0.35"));
    bench.provi(&["fit", "small.csv", "y ~ .", "--out", "fit", "--quiet"]).exits(0);
    let said = bench.provi(&["certify", "fit", "other.csv"]).exits(2);
    assert_snapshot("error-certify-data", &said.stderr);
    let said = bench.provi(&["certify", "fit", "other.csv", "--force", "--seed", "1"]).exits(1);
    assert!(said.stderr.contains("not reproduced"), "{}", said.stderr);
    let said = bench.provi(&["certify", "fit", "small.csv", "--prior-scale", "1"]).exits(2);
    assert_snapshot("error-certify-model", &said.stderr);
}

#[test]
fn what_is_no_fit_is_refused_with_its_place() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL);
    let refused = |name: &str, text: &str| {
        bench.write("q", text);
        let said = bench.provi(&["certify", "q", "small.csv", "y ~ age"]).exits(2);
        assert_eq!(said.stdout, "");
        assert_snapshot(&format!("error-certify-{name}"), &said.stderr);
    };
    refused("size", r#"{"mean": [1, 2, 3], "cov": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}"#);
    refused("covariance-size", r#"{"mean": [1, 2], "cov": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}"#);
    refused("ragged", r#"{"mean": [1, 2], "cov": [[1, 0], [0]]}"#);
    refused("indefinite", r#"{"mean": [1, 2], "cov": [[1, 2], [2, 1]]}"#);
    refused("asymmetric", r#"{"mean": [1, 2], "cov": [[1, 0.5], [0, 1]]}"#);
    refused("nan", r#"{"mean": [1, NaN], "cov": [[1, 0], [0, 1]]}"#);
    refused("null", r#"{"mean": [1, null], "cov": [[1, 0], [0, 1]]}"#);
    refused("names", r#"{"names": ["(Intercept)", "aeg"], "mean": [1, 2], "cov": [[1, 0], [0, 1]]}"#);
    refused("twice", r#"{"names": ["age", "age"], "mean": [1, 2], "cov": [[1, 0], [0, 1]]}"#);
    refused("no-mean", r#"{"cov": [[1, 0], [0, 1]]}"#);
    refused("no-spread", r#"{"mean": [1, 2]}"#);
    refused("upper", r#"{"mean": [1, 2], "L": [[1, 0.5], [0, 1]]}"#);
    refused("header", "coefficient,mean,sd\nage,1,2\n");
    refused("csv-nan", "name,mean,(Intercept),age\n(Intercept),1,1,0\nage,nan,0,1\n");
    refused("csv-columns", "name,mean,(Intercept),dose\n(Intercept),1,1,0\nage,1,0,1\n");
    refused("csv-short", "name,mean,(Intercept),age\n(Intercept),1,1,0\nage,1,0\n");
    refused("record", r#"{"schema": "provi-fit/1", "mean": [1, 2]}"#);

    bench.write("q", r#"{"mean": [1, 2], "cov": [[1, 0], [0, 1]]}"#);
    let said = bench.provi(&["certify", "q", "small.csv"]).exits(2);
    assert_snapshot("error-certify-no-formula", &said.stderr);
    let said = bench.provi(&["certify", "nowhere", "small.csv", "y ~ age"]).exits(2);
    assert!(said.stderr.contains("`nowhere` is no fit to certify: it cannot be read"), "{}", said.stderr);
}
