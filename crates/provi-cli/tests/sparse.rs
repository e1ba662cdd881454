//! Thousands of group effects through the real binary: fit, summary, predict, sample, report and certify from a sparse factor.

use crate::common::Bench;
use serde_json::Value;

/// A table of so many groups with two rows each.
fn bench(groups: usize) -> Bench {
    let bench = Bench::new();
    let mut text = "y,x,g\n".to_owned();
    let mut state = 11u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for n in 0..2 * groups {
        let x = 2.0 * uniform() - 1.0;
        let effect = ((n / 2) % 7) as f64 / 3.0 - 1.0;
        let p = 1.0 / (1.0 + (-(x + effect)).exp());
        text.push_str(&format!("{},{x:.4},g{:05}\n", u8::from(uniform() < p), n / 2));
    }
    std::fs::write(bench.path("t.csv"), text).unwrap();
    std::fs::write(bench.path("new.csv"), "x,g\n0.5,g00001\n-0.5,g00007\n").unwrap();
    bench
}

fn json(bench: &Bench, folder: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(bench.path(folder).join("fit.json")).unwrap()).unwrap()
}

#[test]
fn two_thousand_groups_have_a_sparse_factor_by_themselves() {
    let bench = bench(2100);
    let fit = ["fit", "t.csv", "y ~ x + (1 | g)", "--group-scale", "0.8", "--out", "t.fit", "--quiet"];
    let said = bench.provi(&fit).exits(0).stdout;
    assert!(said.contains("[sparse-optimum]"), "{said}");
    assert!(said.contains("2100 effects of groups") || said.contains("2,100 effects of groups"), "{said}");
    let file = json(&bench, "t.fit");
    assert_eq!(file["factor_file"], "factor.sparse");
    assert_eq!(file["model"]["options"]["factor"], "sparse");
    assert!(file["covariance"].is_null() && file["certificate"]["moments"].as_array().unwrap().is_empty());
    assert!(file["certificate"]["gap"]["bound"].as_f64().unwrap() < 1e-7);
    let groups = bench.provi(&["summary", "t.fit", "--groups"]).exits(0).stdout;
    assert!(groups.contains("(1 | g)[g00000]") && groups.contains("of groups more"), "{}", &groups[..400]);
    let all: Value =
        serde_json::from_str(&bench.provi(&["summary", "t.fit", "--json"]).exits(0).stdout).unwrap();
    assert_eq!(all["coefficients"].as_array().unwrap().len(), 2102);
    bench.provi(&["predict", "t.fit", "new.csv"]).exits(0);
    bench.provi(&["predict", "t.fit", "new.csv", "--draws", "3"]).exits(0);
    bench.provi(&["report", "t.fit"]).exits(0);
    let page = std::fs::read_to_string(bench.path("t.fit").join("report.html")).unwrap();
    assert!(page.contains("effects of groups are not on this page"));
    let checked = bench.provi(&["certify", "t.fit", "t.csv", "--seed", "2"]).exits(0).stdout;
    assert!(checked.contains("reproduced"), "{checked}");
    let drawn = bench.provi(&["sample", "t.fit", "-n", "2", "--format", "csv"]).exits(0).stdout;
    assert_eq!(drawn.lines().count(), 3);
    // What needs the whole covariance is refused, with the way out.
    let refused = bench.provi(&["sample", "t.fit", "--exact", "--data", "t.csv", "-n", "2"]).exits(2).stderr;
    assert!(refused.contains("--factor"), "{refused}");
    let planned = [&fit[..5], &["--method", "prox-energy"]].concat();
    assert!(bench.provi(&planned).exits(2).stderr.contains("--factor"));
}

#[test]
fn the_scales_of_a_sparse_factor_are_integrated_over_and_certified() {
    let bench = bench(40);
    let fit = ["fit", "t.csv", "y ~ x + (1 | g)", "--factor", "sparse", "--out", "t.fit", "--quiet"];
    let said = bench.provi(&fit).exits(0).stdout;
    assert!(said.contains("sd(g:(Intercept))"), "{said}");
    let file = json(&bench, "t.fit");
    assert_eq!(file["mixture"]["factor_file"], "mixture.sparse");
    assert!(file["mixture"]["nodes"][0].get("mean").is_none());
    bench.provi(&["summary", "t.fit"]).exits(0);
    bench.provi(&["predict", "t.fit", "new.csv"]).exits(0);
    let checked = bench.provi(&["certify", "t.fit", "t.csv", "--seed", "2"]).exits(0).stdout;
    assert!(checked.contains("reproduced") && !checked.contains("NOT"), "{checked}");
}

/// The rows of more files than memory allows are sorted at each pass.
#[test]
fn rows_that_are_read_again_have_the_answer_of_rows_in_memory() {
    let bench = bench(2100);
    let fit = |out: &str, more: &[&str]| {
        let words = ["fit", "t.csv", "y ~ x + (1 | g)", "--out", out, "--quiet"];
        let said = bench.provi(&[&words[..], more].concat()).exits(0).stdout;
        (json(&bench, out), said)
    };
    let scale = ["--group-scale", "0.8"];
    let (held, _) = fit("held.fit", &scale);
    let (read, said) = fit("read.fit", &[&scale[..], &["--memory", "4MB"]].concat());
    assert!(said.contains("[sparse-optimum]"), "{said}");
    assert_eq!(read["factor_file"], "factor.sparse");
    let number = |file: &Value, key: &str| file[key].as_f64().unwrap();
    assert!((number(&held, "neg_elbo") - number(&read, "neg_elbo")).abs() < 1e-8);
    for (a, b) in held["mean"].as_array().unwrap().iter().zip(read["mean"].as_array().unwrap()) {
        assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-8);
    }
    // The coordinates do not depend on how the rows were cut into blocks, so anybody can check it.
    for more in [&["--memory", "4MB"][..], &[]] {
        let checked =
            bench.provi(&[&["certify", "read.fit", "t.csv", "--seed", "2"], more].concat()).exits(0).stdout;
        assert!(checked.contains("reproduced") && !checked.contains("NOT"), "{checked}");
    }
    bench.provi(&["predict", "read.fit", "new.csv"]).exits(0);
    bench.provi(&["report", "read.fit"]).exits(0);
    let refused =
        bench.provi(&["sample", "read.fit", "--exact", "--data", "t.csv", "-n", "2"]).exits(2).stderr;
    assert!(refused.contains("--factor"), "{refused}");
}
