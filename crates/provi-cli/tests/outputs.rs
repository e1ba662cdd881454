//! What a finished fit is good for: summary, draws, comparison, explanations, through the real binary.
//!
//! The fits are fixtures, so that the words can be compared; they also show that files of this version are read by later
//! ones.

use crate::common::{Bench, assert_snapshot};
use serde_json::Value;

/// The command fails with status 2, says nothing on standard output, and this on standard error.
fn refused(bench: &Bench, name: &str, args: &[&str]) {
    let said = bench.provi(args).exits(2);
    assert_eq!(said.stdout, "");
    assert_snapshot(name, &said.stderr);
}

#[test]
fn a_summary_is_what_the_fit_said() {
    let bench = Bench::with_fits();
    let model = ["fit", "study.csv", "y ~ x + z", "--prior-scale", "1", "--contrast", "x - z"];
    let fresh = bench.provi(&[&model[..], &["--out", "again.fit", "--quiet"]].concat()).exits(0).stdout;
    let stored = bench.provi(&["summary", "again.fit"]).exits(0).stdout;
    assert_eq!(fresh, format!("{stored}\nwritten to again.fit/fit.json\n"));
    assert_snapshot("summary", &bench.provi(&["summary", "both.fit"]).exits(0).stdout);
}

#[test]
fn contrasts_levels_and_plots_are_as_stored() {
    let bench = Bench::with_fits();
    let stored = |name: &str, args: &[&str]| assert_snapshot(name, &bench.provi(args).exits(0).stdout);
    let contrasts = ["--contrast", "0.5*(x + z) - (Intercept)", "--contrast", "-z"];
    stored("summary-contrasts", &[&["summary", "both.fit", "--level", "0.8"], &contrasts[..]].concat());
    stored("summary-plot", &["summary", "both.fit", "--plot"]);
    let json =
        bench.provi(&["summary", "dose.fit/fit.json", "--json", "--contrast", "x - z"]).exits(0).stdout;
    let report: Value = serde_json::from_str(&json).unwrap();
    let x = &report["coefficients"][1];
    assert_eq!(x["name"], "x");
    assert!(x["interval"][0].as_f64().unwrap() < x["mean"].as_f64().unwrap());
    assert!(x["digits"][0].as_u64().unwrap() >= 10 && x["positive"]["lower"].as_f64().unwrap() > 0.999);
    let contrast = &report["contrasts"][0];
    let difference = x["mean"].as_f64().unwrap() - report["coefficients"][2]["mean"].as_f64().unwrap();
    assert!((contrast["mean"].as_f64().unwrap() - difference).abs() < 1e-12);
    assert!(contrast["mean_error"]["bound"].as_f64().unwrap() < 1e-9);
}

#[test]
fn a_contrast_asked_for_later_has_the_errors_of_one_asked_for_at_once() {
    let bench = Bench::with_fits();
    let model = ["fit", "study.csv", "y ~ x + z", "--prior-scale", "1", "--quiet"];
    bench.provi(&[&model[..], &["--contrast", "x - 2*z", "--out", "now"]].concat()).exits(0);
    bench.provi(&[&model[..], &["--out", "later"]].concat()).exits(0);
    let contrast = |args: &[&str]| {
        let said = bench.provi(&[&["summary"], args, &["--json"]].concat()).exits(0).stdout;
        serde_json::from_str::<Value>(&said).unwrap()["contrasts"][0].clone()
    };
    let (now, later) = (contrast(&["now"]), contrast(&["later", "--contrast", "x - 2*z"]));
    for key in ["mean_error", "sd_error"] {
        let bound = |c: &Value| c[key]["bound"].as_f64().unwrap();
        assert!((bound(&now) / bound(&later) - 1.0).abs() < 1e-9, "{now} {later}");
    }
    // Beyond what the file keeps the bounds are missing, and the reason is said.
    let mut file: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("later/fit.json")).unwrap()).unwrap();
    file["moment_bounds"] = Value::Null;
    std::fs::write(bench.path("later/fit.json"), file.to_string()).unwrap();
    let without = contrast(&["later", "--contrast", "x - 2*z"]);
    assert!(without["mean_error"]["bound"].is_null() && without["positive"]["error"]["bound"].is_number());
    assert!(without["mean_error"]["reason"].as_str().unwrap().contains("name the contrast in `provi fit`"));
}

#[test]
fn mistakes_in_a_contrast_are_pointed_at() {
    let bench = Bench::with_fits();
    refused(&bench, "error-contrast-name", &["summary", "both.fit", "--contrast", "x - zz"]);
    refused(&bench, "error-contrast-end", &["summary", "both.fit", "--contrast", "x -"]);
    refused(&bench, "error-contrast-product", &["summary", "both.fit", "--contrast", "x*z - x"]);
    refused(&bench, "error-contrast-constant", &["fit", "study.csv", "y ~ x", "--contrast", "x - 1"]);
    refused(&bench, "error-contrast-zero", &["summary", "both.fit", "--contrast", "x - x"]);
}

#[test]
fn what_is_no_fit_is_refused() {
    let bench = Bench::with_fits();
    bench.write("q.json", r#"{"mean": [1, 2], "cov": [[1, 0], [0, 1]]}"#);
    refused(&bench, "error-summary-missing", &["summary", "nowhere.fit"]);
    refused(&bench, "error-summary-foreign", &["summary", "q.json"]);
    refused(&bench, "error-summary-level", &["summary", "both.fit", "--level", "95"]);
}

#[test]
fn draws_are_repeatable_and_the_same_in_every_format() {
    let bench = Bench::with_fits();
    let csv = bench.provi(&["sample", "both.fit", "-n", "6", "--seed", "3"]).exits(0).stdout;
    assert_eq!(csv, bench.provi(&["sample", "both.fit", "-n", "6", "--seed", "3"]).exits(0).stdout);
    assert_ne!(csv, bench.provi(&["sample", "both.fit", "-n", "6", "--seed", "4"]).exits(0).stdout);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("(Intercept),x,z"));
    let draws: Vec<f64> = lines.flat_map(|line| line.split(',').map(|x| x.parse().unwrap())).collect();
    assert_eq!(draws.len(), 18);

    let json = ["sample", "both.fit", "-n", "6", "--seed", "3", "--data", "study.csv", "--out", "draws.json"];
    bench.provi(&json).exits(0);
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("draws.json")).unwrap()).unwrap();
    let numbers =
        |value: &Value| value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(report["draws"].as_array().unwrap().iter().flat_map(numbers).collect::<Vec<_>>(), draws);
    assert_eq!(numbers(&report["lp"]).len(), 6);

    bench.provi(&["sample", "both.fit", "-n", "6", "--seed", "3", "--out", "draws.zarr"]).exits(0);
    let bytes = std::fs::read(bench.path("draws.zarr/posterior/beta/c/0/0/0")).unwrap();
    let stored: Vec<f64> = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(stored, draws);
}

#[test]
fn a_zarr_store_has_exactly_these_files_and_metadata() {
    let bench = Bench::with_fits();
    bench.provi(&["sample", "both.fit", "-n", "8", "--out", "draws.zarr"]).exits(0);
    let root = bench.path("draws.zarr");
    let mut found = Vec::new();
    files(&root, &mut found);
    found.sort();
    let mut listing = String::new();
    for path in &found {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        listing.push_str(&format!("{name} {}\n", std::fs::metadata(path).unwrap().len()));
    }
    for name in ["posterior/beta", "posterior/coefficient", "posterior/chain"] {
        let text = std::fs::read_to_string(root.join(name).join("zarr.json")).unwrap();
        listing.push_str(&format!("\n{name}/zarr.json\n{text}\n"));
    }
    assert_snapshot("zarr", &listing);
    // Labels: how many, then each with its length.
    let labels = std::fs::read(root.join("posterior/coefficient/c/0")).unwrap();
    assert_eq!(labels, b"\x03\0\0\0\x0b\0\0\0(Intercept)\x01\0\0\0x\x01\0\0\0z");
    let chain = std::fs::read(root.join("posterior/chain/c/0")).unwrap();
    assert_eq!(chain, [0i64, 1, 2, 3].map(i64::to_le_bytes).concat());
    // Every node's metadata stands in the root again, and the certificate is among the attributes.
    let read = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(root.join(name)).unwrap()).unwrap()
    };
    let metadata = &read("zarr.json")["consolidated_metadata"]["metadata"];
    let nodes = found.iter().filter(|path| path.ends_with("zarr.json")).count();
    assert_eq!(metadata.as_object().unwrap().len() + 1, nodes);
    for (name, node) in metadata.as_object().unwrap() {
        assert_eq!(*node, read(&format!("{name}/zarr.json")), "{name}");
    }
    let attributes = &read("posterior/zarr.json")["attributes"];
    let certificate: Value = serde_json::from_str(attributes["provi_certificate"].as_str().unwrap()).unwrap();
    assert_eq!(certificate["kl"]["bound"], attributes["provi_kl_bound"]);
}

fn files(dir: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn a_fit_leaves_draws_with_their_weights() {
    let bench = Bench::with_fits();
    bench.provi(&["fit", "study.csv", "y ~ x", "--out", "fit", "--quiet"]).exits(0);
    let size = |name: &str| std::fs::metadata(bench.path("fit/draws.zarr").join(name)).unwrap().len();
    assert_eq!(size("posterior/beta/c/0/0/0"), 8 * 4 * 500 * 2);
    assert_eq!(size("sample_stats/log_weight/c/0/0"), 8 * 4 * 500);
    // Another fit replaces them whole.
    std::fs::write(bench.path("fit/draws.zarr/stray"), "").unwrap();
    bench.provi(&["fit", "study.csv", "y ~ x", "--out", "fit", "--quiet", "--force"]).exits(0);
    assert!(!bench.path("fit/draws.zarr/stray").exists());
}

#[test]
fn resampled_draws_need_the_data_and_a_light_tail() {
    let bench = Bench::with_fits();
    let psis = ["--psis", "--data", "study.csv", "-n", "50"];
    let sample = |fit: &'static str, more: &[&'static str]| [&["sample", fit], &psis[..], more].concat();
    // A Gaussian posterior has equal weights.
    let said = bench.provi(&sample("dose.fit", &["--format", "json"])).exits(0).stdout;
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["psis"], true);
    assert_eq!(report["draws"].as_array().unwrap().len(), 50);
    // A k̂ above 0.7, but the weights keep most draws: the tail has little weight.
    let said = bench.provi(&sample("both.fit", &[])).exits(0);
    assert_eq!(said.stdout.lines().count(), 51);
    // No count at all under a wide prior: the posterior falls off slowly on one side, and few draws carry the weight.
    bench.write("none.csv", "y,x\n0,-2\n0,-1\n0,-0.5\n0,0.5\n0,1\n0,2\n");
    let fit = ["fit", "none.csv", "y ~ x", "--family", "poisson", "--prior-scale", "30", "--out", "none.fit"];
    bench.provi(&[&fit[..], &["--audit-draws", "1000"]].concat()).exits(0);
    let heavy = ["sample", "none.fit", "--psis", "--data", "none.csv", "-n", "50"];
    let said = bench.provi(&heavy).exits(2).stderr;
    assert!(said.contains("above 0.7") && said.contains("of 4000 draws of q"), "{said}");
    assert_eq!(bench.provi(&[&heavy[..], &["--force"]].concat()).exits(0).stdout.lines().count(), 51);
    refused(&bench, "error-sample-no-data", &["sample", "both.fit", "--psis"]);
    bench.write("other.csv", "y,x,z\n1,2,3\n0,1,1\n");
    refused(&bench, "error-sample-other-data", &["sample", "both.fit", "--psis", "--data", "other.csv"]);
}

#[test]
fn exact_draws_say_what_they_are() {
    let bench = Bench::with_fits();
    let exact = ["--exact", "--data", "study.csv", "-n", "300"];
    let sample = |fit: &'static str, more: &[&'static str]| [&["sample", fit], &exact[..], more].concat();
    let once = bench.provi(&sample("both.fit", &["--seed", "4"])).exits(0).stdout;
    assert_eq!(once.lines().count(), 301);
    assert_eq!(once, bench.provi(&sample("both.fit", &["--seed", "4"])).exits(0).stdout);
    assert_ne!(once, bench.provi(&sample("both.fit", &["--seed", "5"])).exits(0).stdout);
    let said = bench.provi(&sample("both.fit", &["--seed", "4", "--format", "json"])).exits(0).stdout;
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&report["law"], &report["psis"]), (&"exact".into(), &false.into()));
    assert!(report["tv_bound"].as_f64().unwrap() < 1e-6, "{}", report["tv_bound"]);
    // The same draws in every format.
    let first = once.lines().nth(1).unwrap().split(',').next().unwrap().parse::<f64>().unwrap();
    assert_eq!(report["draws"][0][0].as_f64().unwrap().to_bits(), first.to_bits());
    bench.provi(&sample("both.fit", &["--out", "exact.zarr"])).exits(0);
    let attributes = |store: &str| {
        let text = std::fs::read_to_string(bench.path(store).join("posterior/zarr.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["attributes"].clone()
    };
    assert_eq!(attributes("exact.zarr")["provi_draws"], "exact");
    assert!(attributes("exact.zarr")["provi_draws_tv"].as_f64().unwrap() < 1e-6);
    bench.provi(&["sample", "both.fit", "-n", "8", "--out", "plain.zarr"]).exits(0);
    let plain = attributes("plain.zarr");
    assert_eq!(
        (&plain["provi_draws"], &plain["provi_draws_tv"]),
        (&"gaussian".into(), &plain["provi_tv_bound"])
    );
    for (wrong, word) in [
        (&["sample", "both.fit", "--exact"][..], "--data"),
        (&["sample", "both.fit", "--tv", "0.1"][..], "--exact"),
        (&["sample", "both.fit", "--exact", "--psis", "--data", "study.csv"][..], "--psis"),
    ] {
        let said = bench.provi(wrong).exits(2).stderr;
        assert!(said.contains(word), "{said}");
    }
}

/// Many coefficients with few rows each: exact draws cost too much, and draws within a proved total variation do not.
#[test]
fn where_exact_draws_cost_too_much_a_proved_total_variation_is_had() {
    let bench = Bench::with_fits();
    let (rows, columns) = (400, 40);
    let mut state = 1u64;
    // A sum of four uniforms, spread like a normal.
    let mut noise = || {
        let uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        3f64.sqrt() * std::iter::repeat_with(uniform).take(4).sum::<f64>()
    };
    let mut text = (0..columns).map(|j| format!("x{j},")).collect::<String>() + "y\n";
    for _ in 0..rows {
        let x: Vec<f64> = (0..columns).map(|_| noise()).collect();
        let s = x[..5].iter().sum::<f64>() + 1.8 * noise();
        text += &x.iter().map(|x| format!("{x:.4},")).collect::<String>();
        text += if s > 0.0 { "1\n" } else { "0\n" };
    }
    bench.write("hard.csv", &text);
    bench.provi(&["fit", "hard.csv", "y ~ .", "--audit-draws", "1", "--out", "hard.fit", "--quiet"]).exits(0);
    let exact = ["sample", "hard.fit", "--exact", "--data", "hard.csv", "-n", "100", "--format", "json"];
    let said = bench.provi(&exact).exits(2).stderr;
    assert!(said.contains("an exact draw would take up to"), "{said}");
    let said = bench.provi(&[&exact[..], &["--tv", "1e-9"]].concat()).exits(2).stderr;
    assert!(said.contains("no draws within 0.000000001 of the posterior"), "{said}");
    let near = bench.provi(&[&exact[..], &["--tv", "0.5"]].concat()).exits(0);
    let report: Value = serde_json::from_str(&near.stdout).unwrap();
    let bound = report["tv_bound"].as_f64().unwrap();
    assert_eq!((&report["law"], report["draws"].as_array().unwrap().len()), (&"tv".into(), 100));
    assert!(bound > 0.0 && bound <= 0.5, "{bound}");
    assert!(near.stderr.contains("of the posterior in total variation, with probability"), "{}", near.stderr);
}

/// Far more draws than the time allows: those that there are are written, and it is said.
#[test]
fn exact_draws_end_with_the_time_limit_and_keep_what_there_is() {
    let bench = Bench::with_fits();
    let said = bench
        .provi(&[
            "sample",
            "both.fit",
            "--exact",
            "--data",
            "study.csv",
            "-n",
            "100000000",
            "--time-limit",
            "1",
            "--out",
            "some.csv",
        ])
        .exits(3);
    assert!(
        said.stderr.contains("stopped: ") && said.stderr.contains(" of 100,000,000 draws"),
        "{}",
        said.stderr
    );
    let text = std::fs::read_to_string(bench.path("some.csv")).unwrap();
    let made: usize = said
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("stopped: "))
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .replace(',', "")
        .parse()
        .unwrap();
    assert_eq!(text.lines().count(), made + 1);
}

/// The coefficients behind draws of responses may be those of the posterior itself.
#[test]
fn responses_are_drawn_from_the_posterior_itself() {
    let bench = Bench::with_fits();
    let drawn = |more: &[&'static str]| {
        let words =
            [&["predict", "both.fit", "study.csv", "--draws", "40", "--seed", "3"][..], more].concat();
        bench.provi(&words).exits(0).stdout
    };
    let exact = ["--exact", "--data", "study.csv"];
    let once = drawn(&exact);
    assert_eq!(once, drawn(&exact));
    assert_ne!(once, drawn(&[]));
    assert_eq!(once.lines().count(), 41);
    let report = |more: &[&'static str]| {
        serde_json::from_str::<Value>(&drawn(&[more, &["--json"]].concat())).unwrap()["law"].clone()
    };
    assert_eq!((report(&exact), report(&[])), ("exact".into(), "gaussian".into()));
    // So may those behind the checks of the report.
    let page = |more: &[&'static str], name: &'static str| {
        bench.provi(&[&["report", "both.fit", "--out", name], more].concat()).exits(0);
        std::fs::read_to_string(bench.path(name)).unwrap()
    };
    let (own, posterior) = (page(&[], "own.html"), page(&exact, "exact.html"));
    let said = "coefficients drawn from the posterior itself, by rejection";
    assert!(posterior.contains(said) && !own.contains(said));
    assert_eq!(posterior, page(&exact, "again.html"));
    bench.provi(&["report", "both.fit", "--exact"]).exits(2);
    for wrong in [&["--exact"][..], &["--draws", "3", "--exact"], &["--exact", "--data", "study.csv"]] {
        bench.provi(&[&["predict", "both.fit", "study.csv"], wrong].concat()).exits(2);
    }
}

#[test]
fn draws_are_never_left_half_written() {
    let bench = Bench::with_fits();
    bench.write("taken.csv", "something\n");
    refused(&bench, "error-sample-taken", &["sample", "both.fit", "--out", "taken.csv"]);
    bench.provi(&["sample", "both.fit", "-n", "2", "--out", "taken.csv", "--force"]).exits(0);
    refused(&bench, "error-sample-zarr", &["sample", "both.fit", "--format", "zarr"]);
    refused(&bench, "error-sample-unwritable", &["sample", "both.fit", "--out", "study.csv/draws.zarr"]);
    refused(&bench, "error-sample-number", &["sample", "both.fit", "-n", "0"]);
    let left: Vec<_> = std::fs::read_dir(bench.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    // A device on which every write fails for want of space.
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let bench = Bench::with_fits();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_provi"))
        .args(["sample", "both.fit"])
        .current_dir(bench.dir.path())
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("cannot print the result: No space left on device"), "{stderr}");
}

#[test]
fn models_are_told_apart_where_the_bounds_allow_it() {
    let bench = Bench::with_fits();
    assert_snapshot("compare", &bench.provi(&["compare", "x.fit", "both.fit"]).exits(0).stdout);
    assert_snapshot("compare-noise", &bench.provi(&["compare", "dose-z.fit", "dose.fit"]).exits(0).stdout);
    // The same model twice cannot be told apart.
    let said = bench.provi(&["compare", "x.fit", "x.fit/fit.json", "--json"]).exits(0).stdout;
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["models"][1]["decided"], false);
    assert!(report["models"][1]["log_bayes_factor"]["lower"].as_f64().unwrap() < 0.0);
    assert!((1.0 - report["confidence"].as_f64().unwrap() - 2e-6).abs() < 1e-12, "union bound");
    let said = bench.provi(&["compare", "x.fit", "both.fit", "--json"]).exits(0).stdout;
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["models"][0]["fit"], "both.fit");
    assert_eq!(
        (&report["models"][1]["decided"], &report["models"][1]["strength"]),
        (&Value::Bool(true), &"slight".into())
    );
}

#[test]
fn models_of_other_data_are_not_compared() {
    let bench = Bench::with_fits();
    refused(&bench, "error-compare-response", &["compare", "x.fit", "dose.fit"]);
    let said = bench.provi(&["compare", "x.fit", "dose.fit", "--force"]).exits(0).stdout;
    assert!(said.contains("a density and another a probability"), "{said}");
    let path = bench.path("x.fit/fit.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    file["model"]["data_sha256"] = "0000".into();
    std::fs::write(&path, file.to_string()).unwrap();
    let said = bench.provi(&["compare", "both.fit", "x.fit"]).exits(2);
    assert!(said.stderr.contains("differ in their data's SHA-256"), "{}", said.stderr);
    bench.provi(&["compare", "both.fit"]).exits(2);
}

#[test]
fn words_are_explained_and_slips_are_guessed() {
    let bench = Bench::new();
    assert_snapshot("explain", &bench.provi(&["explain"]).exits(0).stdout);
    assert_snapshot("explain-gap", &bench.provi(&["explain", "gap"]).exits(0).stdout);
    refused(&bench, "error-explain", &["explain", "certificat"]);
}

#[test]
fn shells_and_manuals_are_served() {
    let bench = Bench::new();
    for (shell, word) in [("bash", "_provi()"), ("zsh", "#compdef provi"), ("fish", "complete -c provi")] {
        let script = bench.provi(&["completions", shell]).exits(0).stdout;
        assert!(script.contains(word) && script.contains("summary"), "{shell}");
    }
    assert!(bench.provi(&["man"]).exits(0).stdout.contains(".TH provi 1"));
    bench.provi(&["man", "--out", "man/man1"]).exits(0);
    let page = std::fs::read_to_string(bench.path("man/man1/provi-fit.1")).unwrap();
    assert!(page.contains("provi\\-fit") && page.contains("\\-\\-contrast"), "{page}");
}
