//! The same posterior in other units, at the command line: `y ~ t --standardize` is `y ~ scale(t)`.

use crate::common::Bench;
use serde_json::Value;

/// Years, seconds since 1970, and numbers far from one, of the same predictor; a response of each family.
fn table() -> String {
    let mut text = "y,k,g,year,unix,nano,giga\n".to_owned();
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..80 {
        let x = ((uniform() + uniform() + uniform() - 1.5) * 128.0).round() / 64.0;
        let (s, noise) = (0.3 + 0.8 * x, 2.0 * uniform() - 1.0);
        let (y, k, g) = (u8::from(s + 2.0 * noise > 0.0), (s + noise).exp().round(), s + 0.5 * noise);
        let (year, unix) = (2000.0 + 8.0 * x, 1.6e9 + 15_625.0 * 64.0 * x);
        text.push_str(&format!("{y},{k},{g},{year},{unix},{:e},{:e}\n", x * 1e-9, x * 1e9));
    }
    text
}

fn certificate(bench: &Bench, args: &[&str]) -> Value {
    let said = bench
        .provi(&[&["fit", "t.csv"], args, &["--json", "--quiet", "--prior-scale", "2"]].concat())
        .exits(0);
    let fit: Value = serde_json::from_str(&said.stdout).unwrap();
    fit["certificate"].clone()
}

#[test]
fn a_standardized_prior_has_the_certificate_of_a_scaled_column() {
    let bench = Bench::new();
    bench.write("t.csv", &table());
    for (response, family) in [("y", "bernoulli"), ("k", "poisson"), ("g", "gaussian")] {
        for column in ["year", "unix", "nano", "giga"] {
            let noise: &[&str] = if family == "gaussian" { &["--noise-sd", "0.5"] } else { &[] };
            let (raw, scaled) = (format!("{response} ~ {column}"), format!("{response} ~ scale({column})"));
            let own = certificate(&bench, &[&[&raw, "--family", family, "--standardize"], noise].concat());
            let other = certificate(&bench, &[&[&scaled, "--family", family], noise].concat());
            let near = |what: &str, place: &[&str], least: f64| {
                let number = |c: &Value| {
                    let found = place.iter().fold(c, |c, key| &c[*key]).as_f64();
                    found.unwrap_or_else(|| panic!("{raw}: no {what} in {c}"))
                };
                let (a, b) = (number(&own), number(&other));
                assert!((a - b).abs() <= 1e-6 * (a.abs() + b.abs()) + least, "{raw}: {what} {a:e} and {b:e}");
            };
            near("KL", &["kl", "bound"], 1e-10);
            near("TV", &["tv", "bound"], 1e-5);
            near("gap", &["gap", "bound"], 1e-10);
            near("evidence", &["evidence", "lower"], 1e-8);
            near("evidence", &["evidence", "upper"], 1e-8);
        }
    }
}
