//! `provi fit --stan` and `--library`, on the fixture with BridgeStan's symbols and the examples of provi.h.

use crate::common::Bench;
use crate::libraries::{bridgestan, example};

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::copy(bridgestan(""), bench.path("model.so")).unwrap();
    bench.write("data.json", r#"{"x": [-1, 0, 1, 2, 3], "y": [-0.8, 0.3, 0.9, 2.2, 2.9]}"#);
    bench
}

/// A model that fails on its own scale, after the fit: the answer is printed and written all the same.
#[test]
fn a_failure_on_the_constrained_scale_costs_no_answer() {
    let Some(library) = crate::libraries::hostile("hostile_stan.c", "") else { return };
    let bench = Bench::new();
    std::fs::copy(library, bench.path("hostile.so")).unwrap();
    bench.write("data.json", "mute constrain");
    let words = ["fit", "--stan", "hostile.so", "--data", "data.json", "--quiet", "--out", "m.fit"];
    let said = bench.provi(&words).exits(2);
    assert!(said.stdout.contains("run    auto"), "{}", said.stdout);
    assert!(said.stderr.contains("error code -1"), "{}", said.stderr);
    let file = std::fs::read_to_string(bench.path("m.fit/fit.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert!(file["constrained"].is_null() && file["mean"].is_array());
}

#[test]
fn a_stan_model_is_fitted_on_both_scales_and_leaves_its_files() {
    let bench = bench();
    bench.write("init.json", r#"{"alpha": 0, "beta": 1, "sigma": 0.3}"#);
    let said = bench
        .provi(&[
            "fit",
            "--stan",
            "model.so",
            "--data",
            "data.json",
            "--init",
            "init.json",
            "--transformed",
            "--generated",
            "--starts",
            "2",
            "--quiet",
            "--out",
            "m.fit",
        ])
        .exits(0)
        .stdout;
    for text in
        ["Stan model regression_model", "on the constrained scale", "free(sigma)", "variance", "y_next"]
    {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert!(said.contains("2 starts") && said.contains("about the unconstrained parameters"), "{said}");
    let file: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("m.fit/fit.json")).unwrap()).unwrap();
    assert_eq!(file["model"]["kind"], "stan");
    assert_eq!(
        file["constrained"]["names"],
        serde_json::json!(["alpha", "beta", "sigma", "variance", "y_next"])
    );
    assert!(file["certificate"]["gap"]["bound"].is_null());
    for path in [
        "posterior/sigma/zarr.json",
        "posterior/variance/zarr.json",
        "unconstrained_posterior/beta/zarr.json",
    ] {
        assert!(bench.path("m.fit/draws.zarr").join(path).exists(), "{path}");
    }
    // Out of the folder again, the same.
    let again = bench.provi(&["summary", "m.fit"]).exits(0).stdout;
    assert!(again.contains("on the constrained scale") && again.contains("free(sigma)"), "{again}");
    bench.provi(&["report", "m.fit"]).exits(0);
    let page = std::fs::read_to_string(bench.path("m.fit/report.html")).unwrap();
    for text in ["On the scale of the model", ">y_next</th>", "Unconstrained coordinates"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn failures_of_a_library_are_said_and_a_crash_is_survived() {
    let bench = bench();
    let fit = |args: &[&str]| bench.provi(&[&["fit", "--quiet"], args].concat()).exits(2).stderr;
    bench.write("crash.json", r#"{"x": [1, 2], "y": [1, 2], "mode": "segfault"}"#);
    bench.write("always.json", r#"{"x": [1, 2], "y": [1, 2], "mode": "always"}"#);
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (args, expected) in [
        (&["--stan", "model.so"][..], "refused the data: variable does not exist"),
        (&["--stan", "model.so", "--data", "crash.json"], "crashed while evaluating the density (signal 11"),
        (&["--stan", "model.so", "--data", "always.json"], "lower bound must be below upper bound"),
        (&["--stan", "model.so", "--data", "none.json"], "no file `none.json`"),
        (&["--stan", "none.so"], "no file `none.so`"),
        (&["--library", "model.so"], "has no symbol `provi_abi_version`"),
        (&["--stan", "model.so", "--library", "model.so"], "cannot be used with"),
        (&["--data", "data.json"], "required arguments"),
    ] {
        let said = flat(fit(args));
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    bench.write("m.stan", "");
    let said = bench.provi(&["fit", "--stan", "m.stan", "--bridgestan", "nowhere"]).exits(2).stderr;
    assert!(flat(said).contains("make -C $BRIDGESTAN STAN_THREADS=true"));
}

#[test]
fn a_density_in_c_is_fitted_and_certified_on_its_word() {
    let Some(path) = example("density.c") else { return };
    let bench = bench();
    std::fs::copy(path, bench.path("density.so")).unwrap();
    let said = bench.provi(&["fit", "--library", "density.so", "--quiet"]).exits(0).stdout;
    assert!(said.contains("left") && said.contains("declared"), "{said}");
    // A curvature of the command line goes first; one that is wrong is noticed.
    let args = ["fit", "--library", "density.so", "--mu", "3", "--smoothness", "4", "--quiet"];
    let said = bench.provi(&args).exits(0).stdout;
    assert!(said.contains("the declared curvature is wrong"), "{said}");
}
