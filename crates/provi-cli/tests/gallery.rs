//! The analyses of the gallery beside what R's glm, lmer and glmer say, by `gallery/gallery.R`, and survreg and glm.nb, by
//! `gallery/families.R`, which has polr too.

use std::path::Path;

use crate::common::Bench;
use serde_json::Value;

/// A model, how far its means may be from R's estimates in standard errors, and its scales by the ratio to R's.
struct Model {
    name: &'static str,
    means: f64,
    scales: f64,
}

/// A posterior mean is not the maximum of the likelihood, and the default prior pulls a little. With 50 to 200 rows, both come to
/// a few tenths of a standard error in a logistic regression and less for counts. A scale maximises the ELBO, in
/// which the population's coefficients are integrated out: of a gaussian model, that is REML; elsewhere, Laplace's
/// approximation in `glmer` stands against the ELBO. The intercept of quine-negbinomial: its posterior mean is 0.098 standard errors
/// from `glm.nb` by weighted draws, at the sigma of `glm.nb`.
const MODELS: &[Model] = &[
    Model { name: "birthwt", means: 0.3, scales: 0.0 },
    Model { name: "quine", means: 0.1, scales: 0.0 },
    Model { name: "cbpp", means: 0.3, scales: 0.15 },
    Model { name: "sleepstudy", means: 0.1, scales: 0.03 },
    Model { name: "epil", means: 0.3, scales: 0.1 },
    Model { name: "insurance", means: 0.1, scales: 0.0 },
    Model { name: "warpbreaks", means: 0.1, scales: 0.0 },
    Model { name: "lung-weibull", means: 0.1, scales: 0.03 },
    Model { name: "lung-exponential", means: 0.1, scales: 0.0 },
    Model { name: "visits-weibull", means: 0.1, scales: 0.03 },
    Model { name: "heart-exponential", means: 0.15, scales: 0.0 },
    Model { name: "heart-weibull", means: 0.15, scales: 0.03 },
    Model { name: "quine-negbinomial", means: 0.15, scales: 0.05 },
    Model { name: "housing-ordered", means: 0.05, scales: 0.01 },
];

fn gallery(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gallery").join(name)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The answer of R, and provi's with the default prior and the scales of the largest ELBO.
fn both(name: &str) -> (Value, Value) {
    let reference: Value =
        serde_json::from_str(&std::fs::read_to_string(gallery(&format!("{name}.json"))).unwrap()).unwrap();
    let bench = Bench::new();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let data = text(&reference["data"]);
    std::fs::copy(gallery(&data), bench.path(&data)).unwrap();
    let mut args = vec!["fit".to_owned(), data, text(&reference["formula"])];
    args.extend(["--family".to_owned(), text(&reference["family"])]);
    args.extend(reference["options"].as_array().unwrap().iter().map(text));
    // R maximises over the scales.
    args.extend(["--scales", "maximise", "--json", "--quiet"].map(str::to_owned));
    let said = bench.provi(&args.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    (reference, serde_json::from_str(&said.stdout).unwrap())
}

/// By coefficient: provi's mean less R's estimate, in R's standard errors.
fn distances(reference: &Value, fit: &Value) -> Vec<(String, f64)> {
    let names = fit["names"].as_array().unwrap();
    let distance = |expected: &Value| {
        let name = expected["name"].as_str().unwrap();
        let i = names.iter().position(|n| n == name).unwrap_or_else(|| panic!("no {name} in {names:?}"));
        let off = number(&fit["mean"][i]) - number(&expected["estimate"]);
        (name.to_owned(), off / number(&expected["standard_error"]))
    };
    reference["coefficients"].as_array().unwrap().iter().map(distance).collect()
}

#[test]
fn the_analyses_of_the_gallery_agree_with_r() {
    for model in MODELS {
        let (reference, fit) = both(model.name);
        for (name, off) in distances(&reference, &fit) {
            assert!(off.abs() <= model.means, "{}: {name} is {off} standard errors off", model.name);
        }
        let Some(scales) = reference["scales"].as_array() else { continue };
        for expected in scales {
            let name = expected["name"].as_str().unwrap();
            let found = fit["model"]["scales"].as_array().unwrap().iter().find(|scale| scale["name"] == name);
            let found = number(&found.unwrap_or_else(|| panic!("no scale {name}"))["sd"]);
            let like = if expected["reml"].is_number() { &expected["reml"] } else { &expected["ml"] };
            let ratio = found / number(like);
            assert!((ratio - 1.0).abs() <= model.scales, "{}: {name} is {found}, R has {like}", model.name);
        }
    }
}

/// The means of q are the posterior's within what is certified, and weighted draws by other code (`gallery/posterior.py`) know the
/// posterior's. False alarms: 5 standard errors for each of seven means, below 1e-5.
#[test]
fn posterior_means_of_counts_are_those_of_weighted_draws() {
    let text = std::fs::read_to_string(gallery("quine-negbinomial.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let bench = Bench::new();
    std::fs::copy(gallery("quine.csv"), bench.path("quine.csv")).unwrap();
    let noise = number(&reference["posterior"]["noise_sd"]).to_string();
    let formula = reference["formula"].as_str().unwrap();
    let words = ["fit", "quine.csv", formula, "--family", "negbinomial", "--prior-scale", "100"];
    let said = bench.provi(&[&words[..], &["--noise-sd", &noise, "--json", "--quiet"]].concat()).exits(0);
    let fit: Value = serde_json::from_str(&said.stdout).unwrap();
    let names: Vec<&str> =
        fit["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for (k, one) in reference["coefficients"].as_array().unwrap().iter().enumerate() {
        let i = names.iter().position(|name| *name == one["name"].as_str().unwrap()).unwrap();
        let [mean, error] = ["mean", "error"].map(|key| number(&reference["posterior"][key][k]));
        let bound = number(&fit["certificate"]["moments"][i]["mean_error"]["bound"]);
        let off = (number(&fit["mean"][i]) - mean).abs();
        assert!(off <= bound + 5.0 * error, "{}: {off} beyond {bound} and {error}", names[i]);
        // Narrow enough to notice the difference between a posterior's mean and its mode.
        assert!(bound < 0.05 * number(&one["standard_error"]));
    }
}

#[test]
fn an_answer_a_standard_error_off_would_be_noticed() {
    let (mut reference, fit) = both("warpbreaks");
    let wool = &mut reference["coefficients"][1];
    wool["estimate"] = (number(&wool["estimate"]) + number(&wool["standard_error"])).into();
    let (name, off) = distances(&reference, &fit).swap_remove(1);
    assert!(name == "wool[B]" && off.abs() > 0.5, "{name} {off}");
}
