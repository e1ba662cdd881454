//! Fits, plans and constants through the real binary.

use crate::common::{Bench, assert_snapshot};
use serde_json::Value;

const W1: &[&str] = &["W1.csv", "y ~ 0 + .", "--family", "gaussian", "--noise-sd", "1", "--prior-scale", "1"];
const W2: &[&str] = &["W2.csv", "y ~ .", "--family", "bernoulli", "--prior-scale", "1"];

const KEYS: &[&str] = &[
    "schema",
    "model",
    "names",
    "mean",
    "covariance",
    "factor_file",
    "factor_sha256",
    "neg_elbo",
    "neg_elbo_error",
    "neg_elbo_exact",
    "method",
    "steps",
    "draws_per_step",
    "gradient_evaluations",
    "seed",
    "seconds",
    "phases",
    "plan_bound",
    "trace",
    "certificate",
    "estimates",
    "moment_bounds",
    "contrasts",
];
const MODEL_KEYS: &[&str] = &["family", "formula", "prior", "noise_sd", "rows", "data_sha256"];
const BOUND_KEYS: &[&str] = &["value", "key", "norm", "constants", "provenance", "reason"];

const CERTIFICATE_KEYS: &[&str] = &["gap", "kl", "tv", "evidence", "moments", "grounds"];
const STATEMENT_KEYS: &[&str] = &["bound", "confidence", "key", "provenance", "reason"];
const EVIDENCE_KEYS: &[&str] = &["lower", "upper", "confidence", "key", "provenance", "reason"];
const ESTIMATE_KEYS: &[&str] = &[
    "kl",
    "kl_standard_error",
    "log_evidence",
    "standard_error",
    "elbo",
    "elbo_standard_error",
    "pareto_k",
    "draws",
];

fn command<'a>(name: &'a str, model: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    [&[name], model, options].concat()
}

fn parse(text: &str) -> Value {
    let fit: Value = serde_json::from_str(text).unwrap();
    let c = &fit["certificate"];
    let objects = [
        (&fit, KEYS),
        (&fit["model"], MODEL_KEYS),
        (&fit["plan_bound"], BOUND_KEYS),
        (c, CERTIFICATE_KEYS),
        (&c["evidence"], EVIDENCE_KEYS),
        (&fit["estimates"], ESTIMATE_KEYS),
    ];
    for (value, keys) in objects {
        for key in keys {
            assert!(value.get(key).is_some(), "no key `{key}`");
        }
    }
    let moments = c["moments"].as_array().unwrap();
    assert_eq!(fit["names"].as_array().unwrap().len(), moments.len());
    for (moment, name) in moments.iter().zip(fit["names"].as_array().unwrap()) {
        assert_eq!(&moment["name"], name);
        ["mean_error", "sd_error"].into_iter().for_each(|key| statement(&moment[key]));
    }
    ["gap", "kl", "tv"].into_iter().for_each(|key| statement(&c[key]));
    let e = &c["evidence"];
    assert!(e["lower"].is_number() && e["upper"].is_number() || e["reason"].is_string(), "{e}");
    assert!(c["grounds"]["failure_probability"].is_number() && c["grounds"]["draws"].is_u64());
    assert!(fit["estimates"]["draws"].is_u64() && fit["estimates"]["log_evidence"].is_number());
    let dim = fit["names"].as_array().unwrap().len();
    assert_eq!(fit["mean"].as_array().unwrap().len(), dim);
    let covariance = fit["covariance"].as_array().unwrap();
    assert!(covariance.len() == dim && covariance.iter().all(|row| row.as_array().unwrap().len() == dim));
    fit
}

/// A bound with its confidence, key and provenance, or a reason why there is none.
fn statement(s: &Value) {
    assert!(STATEMENT_KEYS.iter().all(|key| s.get(key).is_some()), "{s}");
    if s["bound"].is_null() {
        assert!(s["reason"].is_string(), "{s}");
    } else {
        let confidence = s["confidence"].as_f64().unwrap();
        assert!(s["bound"].as_f64().unwrap() >= 0.0 && confidence > 0.9 && confidence <= 1.0, "{s}");
        assert!(s["key"].is_string() && s["provenance"] == "proved", "{s}");
    }
}

#[test]
fn the_demo_ends_with_a_good_certificate_and_the_next_step() {
    let said = Bench::new().provi(&["demo"]).exits(0);
    assert!(
        said.stdout.contains("texture      -1.217  0.001  0.128  0.001  -1.466  -0.968"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("Within 0.00302 nats of"), "{}", said.stdout);
    assert!(said.stdout.contains("estimate, not proved"), "{}", said.stdout);
    assert!(said.stdout.lines().last().unwrap().starts_with("next: provi fit"), "{}", said.stdout);
    assert!(!said.stdout.contains('\x1b') && !said.stderr.contains('\x1b'), "plain when not on a terminal");
}

#[test]
fn auto_is_the_default_and_proves_the_gap() {
    let bench = Bench::new();
    for (model, kl) in [(W1, 1e-6), (W2, f64::INFINITY)] {
        let said = bench.provi(&command("fit", model, &["--json", "--quiet", "--accuracy", "1e-6"])).exits(0);
        assert_eq!(said.stderr, "");
        let fit = parse(&said.stdout);
        assert_eq!(fit["method"], "auto");
        assert!(fit["certificate"]["gap"]["bound"].as_f64().unwrap() <= 1e-8);
        assert_eq!(fit["certificate"]["gap"]["confidence"], 1.0);
        assert!(fit["certificate"]["kl"]["bound"].as_f64().unwrap() <= kl);
        let e = &fit["certificate"]["evidence"];
        let estimate = fit["estimates"]["log_evidence"].as_f64().unwrap();
        let (low, high) = (e["lower"].as_f64().unwrap(), e["upper"].as_f64().unwrap());
        assert!(low - 1e-6 <= estimate && estimate <= high + 1e-6, "{e} {estimate}");
    }
}

#[test]
fn a_small_gap_does_not_pass_for_a_good_posterior() {
    let said = Bench::new().provi(&command("fit", W2, &["--quiet", "--audit-draws", "60"])).exits(0);
    assert!(said.stdout.contains("Optimum found. Accuracy not proved (KL ≤ "), "{}", said.stdout);
    assert!(said.stdout.contains("proved within ±") && said.stdout.contains("Pareto k̂"), "{}", said.stdout);
}

#[test]
fn an_accuracy_that_is_not_proved_is_reported() {
    let bench = Bench::new();
    let options = ["--method", "prox-energy", "--steps", "50", "--accuracy", "1e-12", "--quiet"];
    let said = bench.provi(&command("fit", W2, &options)).exits(1);
    assert!(
        said.stderr.starts_with("a gap of at most 1e-12 nats was not proved; proved is "),
        "{}",
        said.stderr
    );
    assert!(said.stdout.contains("certificate") && said.stdout.contains("bound  none in advance"));
    // A gap without noise; the rest of the certificate is sampled, at another risk and with fewer draws.
    let probit = ["W2.csv", "y ~ mean_texture", "--family", "probit", "--json", "--quiet"];
    let options = ["--accuracy", "1e-12", "--failure-probability", "0.01", "--audit-draws", "1500"];
    let fit = parse(&bench.provi(&command("fit", &probit, &options)).exits(0).stdout);
    assert!(fit["certificate"]["gap"]["bound"].as_f64().unwrap() <= 1e-12);
    assert_eq!(fit["certificate"]["gap"]["provenance"], "proved");
    assert_eq!(fit["certificate"]["grounds"]["failure_probability"], 0.01);
    assert!(fit["certificate"]["grounds"]["draws"].as_u64().unwrap() <= 1500);
    assert_eq!(fit["certificate"]["kl"]["confidence"], 0.99);
}

#[test]
fn linear_regression_reaches_the_closed_form_optimum() {
    let bench = Bench::new();
    let said = bench.provi(&command("fit", W1, &["--steps", "200", "--out", "fits/w1"])).exits(0);
    assert!(said.stdout.contains("normal(0, 1) on every coefficient"), "{}", said.stdout);
    let fit = parse(&std::fs::read_to_string(bench.path("fits/w1/fit.json")).unwrap());
    assert_eq!(fit["schema"], "provi-fit/1");
    assert_eq!(fit["model"]["noise_sd"], 1.0);
    assert_eq!(fit["model"]["rows"], 1000);
    assert_eq!(fit["steps"], 200);
    let optimum = include_str!("../../provi/tests/data/W1.optimum.json");
    let optimum: Value = serde_json::from_str(optimum).unwrap();
    let gap = fit["neg_elbo"].as_f64().unwrap() - optimum["f_star"].as_f64().unwrap();
    assert!((-1e-8..0.5).contains(&gap), "{gap}");
}

#[test]
fn logistic_regression_comes_near_the_known_optimum() {
    let bench = Bench::new();
    let said = bench.provi(&command("fit", W2, &["--steps", "500", "--json", "--quiet"])).exits(0);
    assert_eq!(said.stderr, "");
    let fit = parse(&said.stdout);
    assert_eq!(fit["names"][0], "(Intercept)");
    assert!(fit["model"]["formula"].as_str().unwrap().starts_with("y ~ mean_radius + mean_texture +"));
    let optimum: Value =
        serde_json::from_str(include_str!("../../provi/tests/data/W2.optimum.json")).unwrap();
    let gap = fit["neg_elbo"].as_f64().unwrap() - optimum["f_star"].as_f64().unwrap();
    assert!((-1e-8..0.5).contains(&gap), "{gap}");
}

#[test]
fn a_proved_distance_is_kept_or_reported() {
    let bench = Bench::new();
    bench.write("small.csv", "y,x\n1,0.5\n0,-0.2\n1,1.5\n0,-1\n1,0.1\n");
    let options = ["--prior-scale", "1", "--distance", "0.01", "--json"];
    let fit = parse(&bench.provi(&command("fit", &["small.csv", "y ~ x"], &options)).exits(0).stdout);
    assert!(fit["plan_bound"]["value"].as_f64().unwrap() <= 0.01);
    assert_eq!(fit["plan_bound"]["key"], "recursion");
    assert_eq!(fit["plan_bound"]["norm"], "lower-curvature");
    assert_eq!(fit["plan_bound"]["provenance"], "proved");

    let cut = command("fit", W2, &["--distance", "0.01", "--method", "prox-energy", "--time-limit", "0.05"]);
    let said = bench.provi(&cut).exits(1);
    assert!(said.stdout.contains("stopped early") && said.stderr.contains("not proved"), "{}", said.stdout);
}

/// Every status but 130 and 2, which have tests of their own, by the same model.
#[test]
fn the_status_says_how_a_fit_ended() {
    let bench = Bench::new();
    let steps = ["--method", "prox-energy", "--steps", "20000000", "--audit-draws", "1000", "--quiet"];
    let fit = |options: &[&'static str]| bench.provi(&command("fit", W2, options));
    // 0: finished, whatever the clock says about it.
    fit(&["--time-limit", "3600", "--audit-draws", "1000", "--quiet"]).exits(0);
    // 1: what was asked for is missing, with or without a stop.
    fit(&["--accuracy", "1e-30", "--audit-draws", "1000", "--quiet"]).exits(1);
    let cut = fit(&[&steps[..], &["--time-limit", "0.001", "--accuracy", "1e-30"]].concat()).exits(1);
    assert!(cut.stdout.contains("stopped early"), "{}", cut.stdout);
    // 3: stopped, and nothing was asked for that is missing.
    let cut = fit(&[&steps[..], &["--time-limit", "0.001"]].concat()).exits(3);
    assert!(cut.stdout.contains("stopped early"), "{}", cut.stdout);
    assert!(cut.stdout.contains("fit ") && cut.stdout.contains(" s, audit "), "{}", cut.stdout);
    let help = bench.provi(&["--help"]).exits(0).stdout;
    for status in ["0 finished", "1 something", "2 failed", "3 stopped early", "130 aborted"] {
        assert!(help.contains(status), "{help}");
    }
}

#[test]
fn a_model_with_scales_to_choose_ends_with_the_best_so_far() {
    let bench = Bench::new();
    let mut rows = "y,x,g\n".to_owned();
    for n in 0..60 {
        let (x, g) = (f64::from(n % 7) - 3.0, n % 6);
        rows += &format!("{},{x},g{g}\n", 1.0 + 0.5 * x + f64::from(g) - f64::from(n % 5) / 5.0);
    }
    bench.write("groups.csv", &rows);
    let fit = |limit: &'static str| {
        let options = ["--family", "gaussian", "--time-limit", limit, "--audit-draws", "1000", "--quiet"];
        bench.provi(&command("fit", &["groups.csv", "y ~ x + (1 | g)"], &options))
    };
    let whole = fit("3600").exits(0).stdout;
    assert!(whole.contains("values of the scales") && whole.contains("sd(g:(Intercept))"), "{whole}");
    // The clock is over before anything is solved: the integration has a second's patience, the proofs at its nodes none.
    let cut = fit("0.000001").exits(3).stdout;
    assert!(cut.contains("stopped early") && cut.contains("values of the scales were audited"), "{cut}");
    assert!(cut.contains("sd(g:(Intercept))"), "{cut}");
}

/// A file may not grow beyond some kilobytes, as on a full disk: the answer is printed, and what went wrong.
#[cfg(unix)]
#[test]
fn a_full_disk_costs_no_answer() {
    let bench = Bench::new();
    let run = |script: &str| {
        let out = std::process::Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_provi")])
            .current_dir(bench.dir.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let limited =
        "trap '' XFSZ; ulimit -f 4; exec \"$0\" fit W2.csv 'y ~ .' --audit-draws 1000 --quiet --out full.fit";
    let (status, table, said) = run(limited);
    assert_eq!(status, Some(2), "{said}");
    assert!(table.contains("run    auto") && !table.contains("written to"), "{table}");
    assert!(said.contains("full.fit") && said.contains("--out"), "{said}");
    assert!(!bench.path("full.fit/fit.json").exists());
    let (status, json, said) = run(&format!("{limited} --json"));
    assert_eq!(status, Some(2), "{said}");
    assert_eq!(parse(&json)["stopped_early"], false);
    // Standard output that takes nothing is a failure too, and the fit is in its folder.
    if std::path::Path::new("/dev/full").exists() {
        let (status, _, said) =
            run("exec \"$0\" fit W2.csv 'y ~ .' --audit-draws 1000 --quiet --out kept.fit > /dev/full");
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("cannot print") && bench.path("kept.fit/fit.json").exists(), "{said}");
    }
}

/// The answer is larger than a pipe holds and nobody reads it: after the first signal the run cannot end, however quick it is,
/// until the second one aborts it.
#[cfg(unix)]
#[test]
fn a_second_ctrl_c_aborts() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    const COLUMNS: usize = 120;
    let bench = Bench::new();
    let mut rows = (0..COLUMNS).map(|j| format!("x{j},")).collect::<String>() + "y\n";
    for n in 0..40 {
        let cell = |j: usize| ((n * n * (j + 3) + 7 * n) % 211) as f64 / 100.0 - 1.0;
        (0..COLUMNS).for_each(|j| rows += &format!("{},", cell(j)));
        rows += &format!("{}\n", n % 2);
    }
    bench.write("wide.csv", &rows);
    for (first, second) in [("-INT", "-INT"), ("-INT", "-TERM"), ("-TERM", "-INT")] {
        let words = ["--method", "prox-energy", "--steps", "500000000", "--audit-draws", "1000", "--json"];
        let mut child = Command::new(env!("CARGO_BIN_EXE_provi"))
            .args(command("fit", &["wide.csv", "y ~ ."], &words))
            .current_dir(bench.dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut wait_for = |word: &str| {
            let mut line = String::new();
            while !line.contains(word) {
                line.clear();
                assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before it said `{word}`");
            }
        };
        let send =
            |signal: &str| Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        wait_for("fitting");
        assert!(send(first).success());
        wait_for("ending with what there is");
        assert!(send(second).success());
        let status = child.wait().unwrap().code();
        assert_eq!(status, Some(130), "{first} {second}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_fit_with_what_it_has() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let bench = Bench::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_provi"))
        .args(command("fit", W2, &["--steps", "5000000", "--json"]))
        .current_dir(bench.dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap(); // the announcement: from here on the signal is handled
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{line}");
    let fit = parse(&text);
    assert_eq!(fit["stopped_early"], true);
    assert!(fit["plan_bound"]["value"].is_null());
}

#[test]
fn a_fit_is_never_replaced_by_accident() {
    let bench = Bench::new();
    let fit = |options: &[&'static str]| {
        bench.provi(&command("fit", W1, &[&["--steps", "5", "--out", "w1"], options].concat()))
    };
    fit(&[]).exits(0);
    let first = std::fs::read(bench.path("w1/fit.json")).unwrap();
    assert_snapshot("error-fit-exists", &fit(&["--seed", "1"]).exits(2).stderr);
    assert_eq!(std::fs::read(bench.path("w1/fit.json")).unwrap(), first);
    fit(&["--seed", "1", "--force"]).exits(0);
    assert_ne!(std::fs::read(bench.path("w1/fit.json")).unwrap(), first);
    assert_eq!(
        std::fs::read_dir(bench.path("w1")).unwrap().count(),
        4,
        "fit, draws, options and log: no temporary file"
    );
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let bench = Bench::new();
    let fit = |threads| {
        let options =
            ["--steps", "40", "--draws", "32", "--audit-draws", "1000", "--json", "--threads", threads];
        let mut fit = parse(&bench.provi(&command("fit", W2, &options)).exits(0).stdout);
        (fit["seconds"], fit["phases"]) = (Value::Null, Value::Null);
        fit
    };
    assert_eq!(fit("1"), fit("2"));
}

#[test]
fn poisson_regression_needs_no_smoothness() {
    let bench = Bench::new();
    bench.write("counts.csv", "visits,age\n3,1\n1,0\n0,-1\n7,2\n");
    let model = ["counts.csv", "visits ~ age", "--family", "poisson"];
    let fit = parse(&bench.provi(&command("fit", &model, &["--accuracy", "1e-8", "--json"])).exits(0).stdout);
    assert!(fit["plan_bound"]["value"].is_null() && fit["plan_bound"]["reason"].is_string());
    assert_eq!(fit["method"], "auto");
    assert!(fit["certificate"]["kl"]["bound"].as_f64().unwrap() < 3.0);
    assert_snapshot("constants-poisson", &bench.provi(&command("constants", &model, &[])).exits(0).stdout);
}

/// Given, of the largest ELBO, integrated over; a response of 0 is named with its line; predictions and checks follow.
#[test]
fn positive_numbers_have_a_relative_noise() {
    let bench = Bench::new();
    bench.write("costs.csv", "cost,age\n1.2,1\n0.7,0\n0.4,-1\n4.4,2\n1.9,1\n0.9,-1\n2.1,0\n3.0,2\n");
    let model = ["costs.csv", "cost ~ age", "--family", "gamma"];
    let run = |more: &[&str]| parse(&bench.provi(&command("fit", &model, more)).exits(0).stdout);
    let given = run(&["--noise-sd", "0.4", "--accuracy", "1e-8", "--json"]);
    assert!(given["certificate"]["kl"]["bound"].as_f64().unwrap() < 0.1, "{}", given["certificate"]);
    assert_eq!(given["model"]["noise_sd"].as_f64(), Some(0.4));
    let best = run(&["--scales", "maximise", "--json"]);
    let sigma = best["model"]["noise_sd"].as_f64().unwrap();
    assert!((0.2..0.7).contains(&sigma), "{sigma}");
    let said = bench.provi(&command("fit", &model, &["--json", "--out", "costs.fit"])).exits(0).stdout;
    let open: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(open["model"]["scales"][0]["prior"], "half_t(3, 1)");
    let mean = open["model"]["noise_sd"].as_f64().unwrap();
    assert!(mean > sigma, "{mean} {sigma}");
    let said = bench.provi(&["predict", "costs.fit", "costs.csv"]).exits(0).stdout;
    assert!(said.contains("mean") && !said.contains("probability"), "{said}");
    bench.provi(&["report", "costs.fit"]).exits(0);
    let page = std::fs::read_to_string(bench.path("costs.fit/report.html")).unwrap();
    assert!(page.contains("gamma distributions of one shape"));
    let exponential = ["costs.csv", "cost ~ age", "--family", "exponential"];
    let said = bench.provi(&command("fit", &exponential, &["--noise-sd", "2"])).exits(2).stderr;
    assert!(
        said.contains("noise-sd 2 goes with the gaussian, gamma, weibull and negbinomial family"),
        "{said}"
    );
    bench.provi(&command("fit", &exponential, &["--quiet"])).exits(0);
    bench.write("zero.csv", "cost,age\n1.2,1\n0,0\n0.4,-1\n");
    let said = bench.provi(&["fit", "zero.csv", "cost ~ age", "--family", "gamma"]).exits(2).stderr;
    assert!(said.contains("line 3") && said.contains("a number above 0"), "{said}");
}

/// Labels and successes among trials; a log link is refused with the reason, also in a run file.
#[test]
fn the_complementary_log_log_link_is_for_labels_and_for_trials() {
    let bench = Bench::new();
    bench.write("events.csv", "y,k,n,x\n1,2,3,1\n0,0,4,0\n0,1,2,-1\n1,3,3,2\n1,1,5,0.5\n0,0,2,-2\n");
    for formula in ["y ~ x", "k | trials(n) ~ x"] {
        let model = ["events.csv", formula, "--family", "cloglog", "--out", "e.fit"];
        let said = bench.provi(&command("fit", &model, &["--force"])).exits(0).stdout;
        assert!(said.contains("cloglog (complementary log-log link)"), "{said}");
        let fit: Value =
            serde_json::from_str(&std::fs::read_to_string(bench.path("e.fit/fit.json")).unwrap()).unwrap();
        assert!(fit["certificate"]["kl"]["bound"].as_f64().unwrap() < 1.0, "{}", fit["certificate"]["kl"]);
        let said = bench.provi(&["predict", "e.fit", "events.csv"]).exits(0).stdout;
        assert!(said.contains("probability"), "{said}");
        let run = std::fs::read_to_string(bench.path("e.fit/run.toml")).unwrap();
        bench.write("log.toml", &run.replace("\"cloglog\"", "\"log-binomial\""));
        let said = bench.provi(&["fit", "--config", "log.toml"]).exits(2).stderr;
        assert!(said.contains("infinitely far"), "{said}");
    }
}

#[test]
fn data_may_come_from_standard_input() {
    let bench = Bench::new();
    let said = bench.provi(&["fit", "-", "y ~ x"]).exits(2);
    assert_snapshot("error-empty-input", &said.stderr);
}

#[test]
fn constants_and_plans_are_as_stored() {
    let bench = Bench::new();
    bench.write("small.csv", "y,x\n1,0.5\n0,-0.2\n1,1.5\n0,-1\n1,0.1\n");
    let model = ["small.csv", "y ~ x", "--prior-scale", "1"];
    let stored = |name: &str, args: Vec<&str>| assert_snapshot(name, &bench.provi(&args).exits(0).stdout);
    stored("constants", command("constants", &model, &[]));
    stored("plan-distance", command("plan", &model, &["--distance", "0.01"]));
    stored("plan-steps", command("plan", &model, &["--steps", "1000", "--method", "prox-energy"]));
}
