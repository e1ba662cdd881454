//! Mixed models whose scales are integrated over, beside posteriors that were computed without provi (`mixed/README.md`).

use std::path::Path;

use crate::common::Bench;
use serde_json::Value;

/// What may be off: a mean, and an end of a 95 % interval, in posterior standard deviations; a standard deviation as a part of itself.
const MEAN: f64 = 0.1;
const SD: f64 = 0.05;
const END: f64 = 0.15;
/// The same for gaussian models, which are exact given their scales.
const EXACT_MEAN: f64 = 0.01;
const EXACT_SD: f64 = 0.02;
const EXACT_END: f64 = 0.06;

/// A file of the references, or of the gallery.
fn stored(name: &str) -> std::path::PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let own = tests.join("mixed").join(name);
    if own.exists() { own } else { tests.join("gallery").join(name) }
}

fn references() -> Vec<Value> {
    let text = std::fs::read_to_string(stored("references.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Mean, sd and ends by name: of the coefficients from `summary`, of the scales from fit.json.
fn rows(bench: &Bench, out: &str) -> Vec<(String, [f64; 4])> {
    let said = bench.provi(&["summary", out, "--groups", "--json"]).exits(0).stdout;
    let summary: Value = serde_json::from_str(&said).unwrap();
    let fit: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path(&format!("{out}/fit.json"))).unwrap())
            .unwrap();
    let all = [&summary["coefficients"], &fit["mixture"]["scales"]];
    // Scales that are known have no rows.
    let lists = all.iter().filter_map(|list| list.as_array());
    let row = |row: &Value| {
        let [mean, sd] = ["mean", "sd"].map(|key| number(&row[key]));
        let [low, high] = match row["interval"].as_array() {
            Some(ends) => [&ends[0], &ends[1]],
            None => [&row["lower"], &row["upper"]],
        };
        (row["name"].as_str().unwrap().to_owned(), [mean, sd, number(low), number(high)])
    };
    lists.flatten().map(row).collect()
}

/// The largest distances of means, sds and ends from the reference.
fn distances(reference: &Value, found: &[(String, [f64; 4])]) -> [f64; 3] {
    let mut worst = [0f64; 3];
    for (name, expected) in reference["quantities"].as_object().unwrap() {
        let (_, own) =
            found.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no {name} in {found:?}"));
        let [mean, sd, low, high] = ["mean", "sd", "q025", "q975"].map(|key| number(&expected[key]));
        let off = [
            (own[0] - mean).abs() / sd,
            (own[1] / sd - 1.0).abs(),
            ((own[2] - low).abs() / sd).max((own[3] - high).abs() / sd),
        ];
        worst = std::array::from_fn(|i| worst[i].max(off[i]));
    }
    worst
}

/// The rows of the reference's model with these options.
fn fit(bench: &Bench, reference: &Value, options: &[String]) -> Vec<(String, [f64; 4])> {
    let text = |key: &str| reference[key].as_str().unwrap().to_owned();
    std::fs::copy(stored(&text("data")), bench.path(&text("data"))).unwrap();
    let model = ["fit".to_owned(), text("data"), text("formula"), "--family".to_owned(), text("family")];
    let out = ["--quiet", "--force", "--out", "it.fit"].map(str::to_owned);
    let args = [&model[..], options, &out[..]].concat();
    bench.provi(&args.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    rows(bench, "it.fit")
}

fn options(reference: &Value) -> Vec<String> {
    reference["options"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn means_deviations_and_ends_are_those_of_the_references() {
    let bench = Bench::new();
    let references = references();
    assert_eq!(references.len(), 9);
    for reference in &references {
        let [mean, sd, end] = distances(reference, &fit(&bench, reference, &options(reference)));
        let limits = match reference["family"].as_str() {
            Some("gaussian") => [EXACT_MEAN, EXACT_SD, EXACT_END],
            _ => [MEAN, SD, END],
        };
        let name = &reference["name"];
        assert!(
            mean < limits[0] && sd < limits[1] && end < limits[2],
            "{name}: means {mean}, sds {sd}, ends {end}"
        );
    }
}

/// Scales that are maximised over leave their uncertainty out: the references notice.
#[test]
fn scales_that_count_as_known_would_be_noticed() {
    let bench = Bench::new();
    let mut reference = references().into_iter().find(|reference| reference["name"] == "unbalanced").unwrap();
    reference["quantities"]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !name.starts_with("sd(") && name != "sigma");
    // Without the priors of the scales.
    let given = options(&reference);
    let of_scale = |words: &&[String]| !words[1].starts_with("sd(") && !words[1].starts_with("sigma");
    let kept: Vec<String> = given.chunks(2).filter(of_scale).flatten().cloned().collect();
    let maximised = kept.iter().map(|word| word.replace("integrate", "maximise")).collect::<Vec<_>>();
    let [_, sd, end] = distances(&reference, &fit(&bench, &reference, &maximised));
    assert!(sd > 3.0 * EXACT_SD && end > 3.0 * EXACT_END, "{sd} {end}");
}
