//! Scales that are integrated over, from the fit to everything that reads it, through the real binary.

use crate::common::Bench;
use serde_json::Value;

const Y: [f64; 8] = [3.1, 2.4, 4.6, 3.9, 5.2, 2.2, 3.3, 4.1];

/// Four clinics of five rows each.
const CLINICS: &str = "y,x,clinic\n4.1,0.1,a\n3.6,0.9,a\n4.4,-0.3,a\n3.9,0.4,a\n4.9,1.7,a\n6.2,-0.8,b\n5.7,0.2,b\n6.8,0.6,b\n7.1,1.1,b\n\
                       5.9,-0.4,b\n2.2,0.5,c\n3.1,1.3,c\n2.9,0.7,c\n1.8,-1.1,c\n2.5,0.0,c\n4.8,0.3,d\n5.4,0.8,d\n4.1,-0.9,d\n5.0,0.2,d\n5.6,1.5,d\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// y ~ 1 with β ~ N(0, 2²) and σ ~ half_normal(1.5). Given σ, everything about β is a formula; σ by a fine sum.
#[test]
fn one_noise_is_integrated_as_a_fine_sum_says() {
    let bench = Bench::new();
    bench.write("y.csv", &Y.iter().fold("y\n".to_owned(), |text, y| format!("{text}{y}\n")));
    let words = ["fit", "y.csv", "y ~ 1", "--family", "gaussian", "--scales", "integrate", "--out", "f"];
    let priors = ["--prior", "normal(0, 2)", "--prior", "sigma=half_normal(1.5)", "--quiet"];
    bench.provi(&[&words[..], &priors].concat()).exits(0);
    let found = json(&bench.provi(&["summary", "f", "--json"]).exits(0).stdout);

    let (n, sum) = (Y.len() as f64, Y.iter().sum::<f64>());
    let squares: f64 = Y.iter().map(|y| y * y).sum();
    let step = 1e-3;
    let (mut logs, mut rows) = (Vec::new(), Vec::new());
    for i in 0..8000 {
        let eta = -4.0 + step * f64::from(i);
        let s: f64 = eta.exp();
        // β | σ is normal; the evidence by completing the square.
        let precision = n / (s * s) + 0.25;
        let mean = sum / (s * s) / precision;
        let log = -0.5 * n * (2.0 * std::f64::consts::PI).ln()
            - n * eta
            - 2f64.ln()
            - 0.5 * precision.ln()
            - 0.5 * squares / (s * s)
            + 0.5 * precision * mean * mean;
        let prior = 0.5 * (2.0 / std::f64::consts::PI).ln() - 1.5f64.ln() - 0.5 * (s / 1.5).powi(2) + eta;
        logs.push(log + prior);
        rows.push((s, mean, 1.0 / precision));
    }
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logs.iter().map(|log| (log - top).exp()).sum();
    let of = |f: &dyn Fn(&(f64, f64, f64)) -> f64| -> f64 {
        rows.iter().zip(&logs).map(|(row, log)| (log - top).exp() / total * f(row)).sum()
    };
    let beta = of(&|row| row.1);
    let sd = of(&|row| row.2 + (row.1 - beta).powi(2)).sqrt();
    let sigma = of(&|row| row.0);
    let sigma_sd = of(&|row| (row.0 - sigma).powi(2)).sqrt();
    let row = &found["coefficients"][0];
    assert!((number(&row["mean"]) - beta).abs() < 1e-3 * sd, "{row} {beta}");
    assert!((number(&row["sd"]) / sd - 1.0).abs() < 1e-3, "{row} {sd}");
    // The interval holds what it says: tails are those of the mixture, not of one Gaussian.
    let below = |x: f64| of(&|row| 0.5 * libm::erfc((row.1 - x) / (2.0 * row.2).sqrt()));
    let [low, high] = [0, 1].map(|k| below(number(&row["interval"][k])));
    assert!((low - 0.025).abs() < 1e-3 && (high - 0.975).abs() < 1e-3, "{low} {high}");
    let scale = &found["scales"][0];
    assert_eq!(scale["name"], "sigma");
    assert!((number(&scale["mean"]) - sigma).abs() < 1e-2 * sigma_sd, "{scale} {sigma}");
    assert!((number(&scale["sd"]) / sigma_sd - 1.0).abs() < 1e-2, "{scale} {sigma_sd}");
    for (key, level) in [("lower", 0.025), ("upper", 0.975)] {
        let mut sum = 0.0;
        let exact = rows.iter().zip(&logs).find(|(_, log)| {
            sum += (*log - top).exp() / total;
            sum >= level
        });
        let off = (number(&scale[key]) - exact.unwrap().0.0).abs();
        assert!(off < 0.1 * sigma_sd, "{key}: {off} of {sigma_sd}");
    }
    let evidence = top + total.ln() + f64::ln(step);
    let stated = &found["certificate"]["evidence"];
    assert!(
        number(&stated["lower"]) <= evidence + 1e-6 && evidence <= number(&stated["upper"]) + 1e-6,
        "{stated} {evidence}"
    );
    assert!(number(&stated["upper"]) - number(&stated["lower"]) < 0.01, "{stated}");
    assert_eq!(found["certificate"]["kl"]["provenance"], "estimated");
    assert!(found["certificate"]["gap"]["bound"].is_null(), "{}", found["certificate"]["gap"]);
}

#[test]
fn a_mixture_is_summarised_drawn_predicted_certified_and_compared() {
    let bench = Bench::new();
    bench.write("clinics.csv", CLINICS);
    let fit = |out: &str, formula: &str, more: &[&str]| {
        let words = ["fit", "clinics.csv", formula, "--family", "gaussian", "--quiet", "--out", out];
        bench.provi(&[&words[..], more].concat())
    };
    let priors = ["--scales", "integrate", "--prior", "sd(clinic)=half_t(3, 2)", "--contrast", "x"];
    let table = fit("f", "y ~ x + (1 | clinic)", &priors).exits(0).stdout;
    for said in ["sd(clinic:(Intercept))", "sigma", "integrated over", "the mixture's", "scale-mixture"] {
        assert!(table.contains(said), "{said}: {table}");
    }
    let (file, again) =
        (bench.path("f/fit.json"), std::fs::read_to_string(bench.path("f/fit.json")).unwrap());
    let stored = json(&again);
    assert_eq!(stored["model"]["options"]["scales"], "integrate");
    let weights: f64 =
        stored["mixture"]["nodes"].as_array().unwrap().iter().map(|node| number(&node["weight"])).sum();
    assert!((weights - 1.0).abs() < 1e-9, "{weights}");
    // Maximising leaves the uncertainty of the scales out.
    fit("m", "y ~ x + (1 | clinic)", &["--scales", "maximise"]).exits(0);
    let sd = |out: &str| {
        let found = json(&bench.provi(&["summary", out, "--json"]).exits(0).stdout);
        number(&found["coefficients"][0]["sd"])
    };
    assert!(sd("f") > 1.05 * sd("m"), "{} {}", sd("f"), sd("m"));
    // Draws have their scales, each its own.
    let drawn = bench.provi(&["sample", "f", "-n", "50", "--seed", "3"]).exits(0).stdout;
    let (head, first) = (drawn.lines().next().unwrap(), drawn.lines().nth(1).unwrap());
    assert!(head.ends_with("sd(clinic:(Intercept)),sigma"), "{head}");
    assert_eq!(head.split(',').count(), first.split(',').count());
    bench.provi(&["sample", "f", "-n", "8", "--out", "d.zarr"]).exits(0);
    assert!(
        bench.path("d.zarr/posterior/sigma/zarr.json").exists()
            && bench.path("d.zarr/posterior/sd/zarr.json").exists()
    );
    let law = json(&bench.provi(&["sample", "f", "-n", "8", "--format", "json"]).exits(0).stdout);
    assert_eq!((law["law"].as_str(), law["scales"]["names"][1].as_str()), (Some("mixture"), Some("sigma")));
    // A clinic that was not seen is less certain than one that was.
    bench.write("new.csv", "x,clinic\n0.5,a\n0.5,zz\n");
    let words = ["predict", "f", "new.csv", "--new-levels", "population", "--json"];
    let predicted = json(&bench.provi(&words).exits(0).stdout);
    let width = |k: usize| {
        let row = &predicted["predictions"][k];
        number(&row["high"]) - number(&row["low"])
    };
    assert!(width(1) > 2.0 * width(0), "{predicted}");
    bench.provi(&[&words[..], &["--draws", "5"]].concat()).exits(0);
    bench.provi(&["report", "f", "--out", "f.html"]).exits(0);
    let page = std::fs::read_to_string(bench.path("f.html")).unwrap();
    assert!(page.contains("sd(clinic:(Intercept))") && !page.contains("not proved: not proved"));
    // Fresh draws confirm it; a weight that somebody moved is found.
    let judged = bench.provi(&["certify", "f", "clinics.csv", "--seed", "5"]).exits(0).stdout;
    assert!(judged.contains("weights of the scales") && !judged.contains("NOT"), "{judged}");
    let mut forged = stored.clone();
    let nodes = forged["mixture"]["nodes"].as_array_mut().unwrap();
    let (a, b) = (number(&nodes[0]["weight"]), number(&nodes[1]["weight"]));
    (nodes[0]["weight"], nodes[1]["weight"]) = (Value::from(a + 0.5 * b), Value::from(0.5 * b));
    std::fs::write(&file, forged.to_string()).unwrap();
    let judged = bench.provi(&["certify", "f", "clinics.csv", "--seed", "5"]).exits(1).stdout;
    assert!(judged.contains("NOT reproduced"), "{judged}");
    std::fs::write(&file, again).unwrap();
    // Evidence with and without the groups.
    fit("n", "y ~ x", &["--scales", "integrate"]).exits(0);
    let compared = bench.provi(&["compare", "f", "n"]).exits(0).stdout;
    assert!(compared.contains('f') && compared.contains('n'), "{compared}");
}

#[test]
fn correlated_effects_have_rows_draws_predictions_and_a_certificate() {
    let bench = Bench::new();
    bench.write("clinics.csv", CLINICS);
    let fit = |out: &str, formula: &str, more: &[&str]| {
        let words = ["fit", "clinics.csv", formula, "--family", "gaussian", "--quiet", "--out", out];
        bench.provi(&[&words[..], more].concat())
    };
    let label = "cor(clinic:(Intercept),clinic:x)";
    let table = fit("f", "y ~ x + (x | clinic)", &["--prior", "cor(clinic)=lkj(2)"]).exits(0).stdout;
    assert!(table.contains(label) && table.contains("cor(clinic) ~ lkj(2), integrated over"), "{table}");
    assert!(!table.contains("independent a priori"), "{table}");
    let stored = json(&std::fs::read_to_string(bench.path("f/fit.json")).unwrap());
    assert_eq!(stored["model"]["correlations"][0]["scales"][1], "clinic:x");
    assert_eq!(stored["mixture"]["scales"][3]["name"], label);
    let drawn = bench.provi(&["sample", "f", "-n", "50", "--seed", "3"]).exits(0).stdout;
    assert!(drawn.lines().next().unwrap().ends_with(&format!("\"{label}\"")), "{drawn}");
    for line in drawn.lines().skip(1) {
        let correlation: f64 = line.rsplit(',').next().unwrap().parse().unwrap();
        assert!(correlation.abs() < 1.0, "{line}");
    }
    bench.provi(&["sample", "f", "-n", "8", "--out", "d.zarr"]).exits(0);
    assert!(bench.path("d.zarr/posterior/cor/zarr.json").exists());
    let judged = bench.provi(&["certify", "f", "clinics.csv", "--seed", "5"]).exits(0).stdout;
    assert!(judged.contains("prior masses of the scales") && !judged.contains("NOT"), "{judged}");
    // A new clinic has the covariance of the effects: var = τ₀² + 2ρτ₀τ₁x + τ₁²x² on top of the population's.
    bench.write("new.csv", "x,clinic\n-2,zz\n2,zz\n");
    let words = ["predict", "f", "new.csv", "--new-levels", "population", "--json"];
    let predicted = json(&bench.provi(&words).exits(0).stdout);
    assert_eq!(predicted["predictions"].as_array().unwrap().len(), 2);
    // Independent by `||`, by given deviations, and where there are more than three; the last says so.
    let apart = fit("g", "y ~ x + (x || clinic)", &[]).exits(0).stdout;
    let given = fit("h", "y ~ x + (x | clinic)", &["--group-scale", "clinic=1"]).exits(0).stdout;
    assert!(!apart.contains("cor(") && !given.contains("cor("), "{apart} {given}");
    assert!(given.contains("independent a priori"), "{given}");
    let many = fit("i", "y ~ x + (x + I(x^2) + I(x^3) | clinic)", &["--time-limit", "30"]).stdout;
    assert!(many.contains("independent a priori"), "{many}");
    let stray = fit("k", "y ~ x + (1 | clinic)", &["--prior", "cor(clinic)=lkj(2)"]).exits(2).stderr;
    assert!(stray.contains("fits no correlations of this model"), "{stray}");
}

#[test]
fn what_cannot_be_integrated_is_refused_with_a_way_out() {
    let bench = Bench::new();
    bench.write("clinics.csv", CLINICS);
    let refused = |more: &[&str]| {
        let words = ["fit", "clinics.csv", "y ~ x + (1 | clinic)", "--family", "gaussian", "--quiet"];
        bench.provi(&[&words[..], more].concat()).exits(2).stderr
    };
    let integrate = |more: &[&str]| refused(&[&["--scales", "integrate"], more].concat());
    assert!(
        integrate(&["--prior", "sd(town)=exponential(1)"])
            .contains("its scales are sigma, sd(clinic:(Intercept))")
    );
    assert!(
        integrate(&["--prior", "sigma=half_t(3, 1)", "--noise-sd", "1"]).contains("leave one of the two out")
    );
    assert!(integrate(&["--method", "prox-energy"]).contains("needs scales that are known"));
    assert!(integrate(&["--accuracy", "1e-6"]).contains("`scales` = maximise"));
    assert!(integrate(&["--prior", "sd(clinic)=cauchy(1)"]).contains("a prior of a scale reads"));
    assert!(
        refused(&["--prior", "sigma=half_t(3, 1)", "--scales", "maximise"]).contains("`scales` = integrate")
    );
    bench
        .provi(&[
            "fit",
            "clinics.csv",
            "y ~ x",
            "--family",
            "gaussian",
            "--scales",
            "integrate",
            "--quiet",
            "--out",
            "f",
        ])
        .exits(0);
    let exact = ["sample", "f", "--exact", "--data", "clinics.csv"];
    assert!(bench.provi(&exact).exits(2).stderr.contains("integrated over"));
}
