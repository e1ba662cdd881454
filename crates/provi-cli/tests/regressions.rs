//! Families beyond one log-concave function of one linear predictor, through the real binary.

use crate::common::Bench;
use serde_json::Value;

/// Numbers with an outlier, counts with zeros besides, successes among trials, and levels of text.
const TABLE: &str = "y,x,count,k,n,party,half\n0.1,-1.5,0,4,8,none,0.5\n0.4,-1.2,0,0,12,left,1\n0.9,-0.9,3,5,20,none,2\n0.6,-0.7,0,8,15,right,3\n\
                     1.2,-0.5,0,1,8,left,4\n1.1,-0.4,2,9,12,none,5\n1.5,-0.2,0,3,20,none,6\n1.4,-0.1,1,5,15,right,7\n1.9,0.1,2,3,8,left,8\n\
                     2.2,0.3,0,6,12,right,9\n25,0.4,4,12,20,none,10\n2.4,0.6,3,9,15,right,11\n2.9,0.8,6,3,8,left,12\n3.1,0.9,0,7,12,right,13\n\
                     3.0,1.1,5,19,20,right,14\n3.6,1.3,7,13,15,left,15\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("t.csv", TABLE);
    bench
}

/// Fit, table, summary, predictions, draws, report and certify of each family; nothing is proved but of levels.
#[test]
fn every_family_goes_all_the_way() {
    let bench = bench();
    let cases = [
        ("student", "y ~ x", vec!["sigma", "nu"]),
        ("betabinomial", "k | trials(n) ~ x", vec!["rho"]),
        ("zipoisson", "count ~ x", vec!["zi"]),
        ("multinomial", "party ~ x", vec![]),
    ];
    for (family, formula, parameters) in cases {
        let out = format!("{family}.fit");
        let args = ["fit", "t.csv", formula, "--family", family, "--seed", "1", "--json", "--out", &out];
        let fit = json(&bench.provi(&args).exits(0).stdout);
        assert_eq!(
            (&fit["model"]["family"], &fit["model"]["kind"]),
            (&family.into(), &"formula".into()),
            "{family}"
        );
        let found: Vec<&Value> = fit["constrained"]["names"].as_array().into_iter().flatten().collect();
        assert_eq!(found, parameters, "{family}");
        let proved = !fit["certificate"]["kl"]["bound"].is_null();
        assert_eq!(proved, family == "multinomial");
        assert!(fit["trust"].is_object(), "{family}");
        let said = bench.provi(&["summary", &out]).exits(0).stdout;
        assert_eq!(said.contains("not proved: the likelihood of family"), !proved, "{said}");
        assert!(parameters.iter().all(|name| said.contains(&format!("\n{name}"))), "{said}");
        let predicted = json(&bench.provi(&["predict", &out, "t.csv", "--json"]).exits(0).stdout);
        for row in predicted["predictions"].as_array().unwrap() {
            let [low, mean, high] = ["low", "mean", "high"].map(|key| number(&row[key]));
            assert!(low < mean && mean < high, "{family}: {row}");
        }
        bench.provi(&["predict", &out, "t.csv"]).exits(0);
        let left_out = json(&bench.provi(&["loo", &out, "--data", "t.csv", "--json"]).exits(0).stdout);
        let left_out = &left_out["models"][0];
        assert_eq!((&left_out["method"], &left_out["draws_of"]), (&"psis".into(), &"weighted".into()));
        let [elpd, waic] = [&left_out["elpd"]["value"], &left_out["waic"]["elpd"]["value"]].map(number);
        assert!(elpd < 0.0 && (elpd - waic).abs() < 5.0, "{family}: {elpd} {waic}");
        assert_eq!(left_out["rows"].as_array().unwrap().len(), 16);
        assert_eq!(left_out["lines"][0], 2);
        bench.provi(&["loo", &out, "--data", "t.csv", "--report", "left.html"]).exits(0);
        let page = std::fs::read_to_string(bench.path("left.html")).unwrap();
        assert!(page.contains("predicted from all other rows"), "{family}");
        let drawn = bench.provi(&["predict", &out, "t.csv", "--draws", "3"]).exits(0).stdout;
        assert_eq!(drawn.lines().count(), 4);
        assert_eq!(bench.provi(&["sample", &out, "-n", "2"]).exits(0).stdout.lines().count(), 3);
        let nearer = ["sample", &out, "-n", "5", "--psis", "--data", "t.csv", "--force"];
        assert_eq!(bench.provi(&nearer).exits(0).stdout.lines().count(), 6);
        let store = format!("{family}.zarr");
        bench.provi(&["sample", &out, "-n", "8", "--data", "t.csv", "--out", &store]).exits(0);
        let of_rows = format!("{store}/log_likelihood/y/c/0/0/0");
        let numbers: Vec<f64> = std::fs::read(bench.path(&of_rows))
            .unwrap()
            .as_chunks::<8>()
            .0
            .iter()
            .map(|x| f64::from_le_bytes(*x))
            .collect();
        assert_eq!(numbers.len(), 8 * 16, "{family}");
        assert!(numbers.iter().all(|x| x.is_finite()), "{family}: {numbers:?}");
        assert!(bench.path(&format!("{out}/draws.zarr/log_likelihood/y/zarr.json")).exists(), "{family}");
        bench.provi(&["report", &out]).exits(0);
        let page = std::fs::read_to_string(bench.path(&format!("{out}/report.html"))).unwrap();
        assert!(page.contains(family) && page.contains("Effects"));
        let statistics = fit["checks"]["statistics"].as_array().unwrap();
        let names: Vec<&str> = statistics.iter().map(|s| s["name"].as_str().unwrap()).collect();
        match family {
            "multinomial" => assert_eq!(names, ["share of left", "share of none", "share of right"]),
            "student" => assert_eq!(names, ["mean", "standard deviation", "largest"]),
            _ => assert_eq!(names, ["mean", "standard deviation", "largest", "share of zeros"]),
        }
        assert!(names.iter().all(|name| page.contains(name)), "{family}");
        assert_eq!(page.contains("how often the likeliest level came true"), family == "multinomial");
        let again = bench.provi(&["certify", &out, "t.csv", "--seed", "2"]).exits(0).stdout;
        assert!(again.contains("every stored claim is reproduced"), "{again}");
    }
    let student = json(&bench.provi(&["summary", "student.fit", "--json"]).exits(0).stdout).to_string();
    assert!(student.contains("log(sigma)"), "{student}");
}

/// An outlier moves the line of the gaussian family, and hardly that of the student family; many degrees of freedom are the gaussian family.
#[test]
fn an_outlier_hardly_moves_the_line() {
    let bench = bench();
    let slope = |more: &[&str]| {
        let fit = bench.provi(&[&["fit", "t.csv", "y ~ x", "--json", "--seed", "2"], more].concat()).exits(0);
        let fit = json(&fit.stdout);
        [number(&fit["mean"][1]), number(&fit["covariance"][1][1]).sqrt()]
    };
    let known = ["--noise-sd", "2"];
    let normal = slope(&[&["--family", "gaussian"], &known[..]].concat());
    let far = slope(&[&["--family", "student", "--nu", "1e6"], &known[..]].concat());
    let near = slope(&["--family", "student"]);
    assert!((normal[0] - far[0]).abs() < 0.05 * normal[1], "{normal:?} {far:?}");
    assert!((normal[1] / far[1] - 1.0).abs() < 0.05, "{normal:?} {far:?}");
    assert!((near[0] - 1.13).abs() < 0.1 && near[1] < 0.1, "{near:?}");
    assert!((normal[0] - 1.13).abs() > 0.4, "{normal:?}");
}

/// Levels by name, the base that was asked for, and probabilities that add up to 1.
#[test]
fn levels_have_names_and_a_base() {
    let bench = bench();
    let fit = |formula: &str, out: &str| {
        json(&bench.provi(&["fit", "t.csv", formula, "--json", "--seed", "1", "--out", out]).exits(0).stdout)
    };
    let sorted = fit("multinomial(party) ~ x", "sorted.fit");
    assert_eq!(sorted["names"], json(r#"["none:(Intercept)", "none:x", "right:(Intercept)", "right:x"]"#));
    assert_eq!(sorted["model"]["family_chosen"], true);
    assert_eq!(sorted["certificate"]["gap"]["provenance"], "declared");
    let other = fit("multinomial(party, levels = c('right', 'left', 'none')) ~ x", "other.fit");
    assert_eq!(other["names"], json(r#"["left:(Intercept)", "left:x", "none:(Intercept)", "none:x"]"#));
    // left against right is minus right against left, up to the prior.
    assert!((number(&sorted["mean"][3]) + number(&other["mean"][1])).abs() < 0.15);
    let predicted = json(&bench.provi(&["predict", "other.fit", "t.csv", "--json"]).exits(0).stdout);
    for row in predicted["categories"].as_array().unwrap() {
        let total: f64 = row.as_array().unwrap().iter().map(|level| number(&level["probability"])).sum();
        assert!((total - 1.0).abs() < 1e-9, "{row}");
    }
    let csv = bench.provi(&["predict", "other.fit", "t.csv", "--csv"]).exits(0).stdout;
    assert!(csv.lines().next().unwrap().ends_with(",p(none),low(none),high(none)"), "{csv}");
    let drawn = bench.provi(&["predict", "other.fit", "t.csv", "--draws", "2"]).exits(0).stdout;
    let mut responses = drawn.lines().skip(1).flat_map(|line| line.split(','));
    assert!(responses.all(|level| ["right", "left", "none"].contains(&level)), "{drawn}");
    let drawn =
        json(&bench.provi(&["predict", "other.fit", "t.csv", "--draws", "2", "--json"]).exits(0).stdout);
    let named = |y: &Value| ["right", "left", "none"].contains(&y.as_str().unwrap_or(""));
    assert!(drawn["draws"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap()).all(named));
    let summary = bench.provi(&["summary", "other.fit"]).exits(0).stdout;
    assert!(
        summary.contains("declared curvature is right")
            && !summary.contains("proved to be")
            && !summary.contains("proved within"),
        "{summary}"
    );
    let empty = ["fit", "t.csv", "multinomial(party) ~ 1", "--seed", "1", "--out", "empty.fit", "--quiet"];
    bench.provi(&empty).exits(0);
    let compared = bench.provi(&["compare", "sorted.fit", "empty.fit"]).exits(0).stdout;
    assert!(
        compared.contains("its bounds hold if its constants are right, which are declared"),
        "{compared}"
    );
    assert!(compared.contains("if those constants are right, all bounds hold together"), "{compared}");
    let numbers = fit("multinomial(n) ~ x", "numbers.fit");
    assert_eq!(numbers["names"].as_array().unwrap().len(), 6);
}

/// `nnet::multinom(Sat ~ Infl + Cont, weights = Freq)` of nnet 7.3 on MASS::housing, the base Low; standard errors are about 0.13. The levels of
/// the predictors are compared with High here, with Low there.
#[test]
fn levels_are_those_of_nnet() {
    let bench = Bench::new();
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gallery/housing.csv");
    std::fs::copy(data, bench.path("housing.csv")).unwrap();
    let formula = "multinomial(sat, levels = c('Low', 'Medium', 'High')) ~ infl + cont";
    let args =
        ["fit", "housing.csv", formula, "--weights", "freq", "--prior-scale", "10", "--seed", "3", "--json"];
    let reference = ["--reference", "infl=Low", "--reference", "cont=Low"];
    let fit = json(&bench.provi(&[&args[..], &reference].concat()).exits(0).stdout);
    let expected = [
        ("Medium:(Intercept)", -0.700_004_6),
        ("Medium:infl[Medium]", 0.439_582_0),
        ("Medium:infl[High]", 0.651_712_8),
        ("Medium:cont[High]", 0.312_456_4),
        ("High:(Intercept)", -0.702_968_2),
        ("High:infl[Medium]", 0.747_710_1),
        ("High:infl[High]", 1.597_969_5),
        ("High:cont[High]", 0.360_705_0),
    ];
    let names: Vec<&str> = fit["names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert_eq!(names.len(), expected.len());
    for (name, value) in expected {
        let i = names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name} in {names:?}"));
        let [found, error] = ["mean", "mean_error"].map(|key| number(&fit["posterior"][key][i]));
        assert!(error < 0.02 && (found - value).abs() < 0.02 + error, "{name}: {found} ± {error}, {value}");
    }
}

/// The numbers of effects by a key, in their order.
fn column(effects: &Value, key: &str) -> Vec<f64> {
    effects["effects"].as_array().unwrap().iter().map(|effect| number(&effect[key])).collect()
}

/// Means and slopes against integrals over the stored Gaussian and against predictions; ratios against a closed form. Twins without the share of
/// zeros, or with another slope, are far off.
#[test]
fn effects_are_integrals_over_the_gaussian() {
    let bench = bench();
    let fit = |family: &str, formula: &str| {
        let out = format!("{family}.fit");
        let args = ["fit", "t.csv", formula, "--family", family, "--seed", "1", "--json", "--out", &out];
        json(&bench.provi(&args).exits(0).stdout)
    };
    let effects = |family: &str, more: &[&str]| {
        let fit = format!("{family}.fit");
        let args = [&["effects", fit.as_str(), "x", "--json", "--draws", "40000"], more].concat();
        json(&bench.provi(&args).exits(0).stdout)
    };
    bench.write("two.csv", "x,n\n-0.5,1\n0.7,1\n0.69,1\n0.71,1\n");
    let predicted = |family: &str| {
        let fit = format!("{family}.fit");
        let found = json(&bench.provi(&["predict", &fit, "two.csv", "--json"]).exits(0).stdout);
        let rows = found["predictions"].as_array().unwrap().clone();
        rows.iter().map(|row| ["mean", "low", "high"].map(|key| number(&row[key]))).collect::<Vec<_>>()
    };
    let near = |a: f64, b: f64, room: f64| (a - b).abs() <= room;
    let at = ["--values", "-0.5,0.7"];
    let slope_at = ["--kind", "slopes", "--values", "0.7"];

    // A line: everything is linear in the coefficients.
    let student = fit("student", "y ~ x");
    for (i, row) in predicted("student").iter().take(2).enumerate() {
        for (key, expected) in ["estimate", "low", "high"].iter().zip(row) {
            assert!(near(column(&effects("student", &at), key)[i], *expected, 1e-9), "{key}");
        }
    }
    let over_data = effects("student", &["--data", "t.csv"]);
    assert!(near(column(&over_data, "estimate")[0], number(&student["mean"][1]), 1e-12));
    assert_eq!(over_data["effects"][0]["status"], "estimate");

    // Probabilities of successes, and the slope as a difference of two predictions.
    fit("betabinomial", "k | trials(n) ~ x");
    let found = effects("betabinomial", &at);
    assert_eq!(found["unit"], "probability");
    let rows = predicted("betabinomial");
    for (i, row) in rows.iter().take(2).enumerate() {
        for (key, expected) in ["estimate", "low", "high"].iter().zip(row) {
            assert!(near(column(&found, key)[i], *expected, 1e-9), "{key}");
        }
    }
    let (slope, expected) =
        (column(&effects("betabinomial", &slope_at), "estimate")[0], (rows[3][0] - rows[2][0]) / 0.02);
    assert!(near(slope, expected, 0.02 * expected.abs()), "{slope} {expected}");
    assert!(!near(slope, 1.2 * expected, 0.02 * expected.abs()));

    // E (1 − π)e^η = e^{m + s²/2} E sigmoid(−t), t normal with mean μ + cov(t, η).
    let counts = fit("zipoisson", "count ~ x");
    let mean: Vec<f64> = counts["mean"].as_array().unwrap().iter().map(number).collect();
    let covariance = |i: usize, j: usize| number(&counts["covariance"][i][j]);
    let closed = |x: f64, inflated: bool| {
        let m = mean[0] + mean[1] * x;
        let variance = covariance(0, 0) + 2.0 * x * covariance(0, 1) + x * x * covariance(1, 1);
        let (center, sd) = (mean[2] + covariance(0, 2) + x * covariance(1, 2), covariance(2, 2).sqrt());
        let share = |u: f64| if inflated { 1.0 / (1.0 + (center + sd * u).exp()) } else { 1.0 };
        let weight = |u: f64| (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let sum: f64 = (-400..=400).map(|i| f64::from(i) / 50.0).map(|u| share(u) * weight(u) / 50.0).sum();
        (m + 0.5 * variance).exp() * sum
    };
    let found = effects("zipoisson", &at);
    assert_eq!((&found["unit"], &found["draws"]["law"]), (&"mean count".into(), &"gaussian".into()));
    for (x, estimate) in [-0.5, 0.7].into_iter().zip(column(&found, "estimate")) {
        let expected = closed(x, true);
        assert!(near(estimate, expected, 0.02 * expected), "{estimate} {expected}");
        assert!(!near(estimate, closed(x, false), 0.02 * expected), "without the zeros");
    }
    let slope = column(&effects("zipoisson", &slope_at), "estimate")[0];
    let expected = (closed(0.701, true) - closed(0.699, true)) / 0.002;
    assert!(near(slope, expected, 0.03 * expected.abs()), "{slope} {expected}");
    // The share of zeros is the same on both sides of a ratio.
    let ratio = effects("zipoisson", &["--data", "t.csv", "--compare", "ratio", "--values", "0,2"]);
    assert!(near(column(&ratio, "estimate")[0], (2.0 * mean[1]).exp(), 1e-9));
    let said = bench.provi(&["effects", "zipoisson.fit", "--data", "t.csv"]).exits(0).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("means of draws of the fitted Gaussian; no theorem bounds"), "{said}");
}

/// A probability for each level: they add up to 1, slopes and contrasts to 0; on the link scale the levels behind the first are linear. Two levels
/// are labels.
#[test]
fn effects_of_levels_have_a_row_for_each() {
    let bench = bench();
    let args = ["fit", "t.csv", "multinomial(party) ~ x", "--seed", "1", "--json", "--out", "m.fit"];
    let fit = json(&bench.provi(&args).exits(0).stdout);
    let effects = |fit: &str, more: &[&str]| {
        json(&bench.provi(&[&["effects", fit, "--json", "--draws", "20000"], more].concat()).exits(0).stdout)
    };
    let found = effects("m.fit", &["x", "--values", "-1,0.5"]);
    let levels: Vec<&str> =
        found["effects"].as_array().unwrap().iter().map(|e| e["outcome"].as_str().unwrap()).collect();
    assert_eq!(levels, ["left", "left", "none", "none", "right", "right"]);
    let p = column(&found, "estimate");
    assert!((p[0] + p[2] + p[4] - 1.0).abs() < 1e-12 && (p[1] + p[3] + p[5] - 1.0).abs() < 1e-12, "{p:?}");
    bench.write("new.csv", "x\n-1\n0.5\n");
    let predicted = json(&bench.provi(&["predict", "m.fit", "new.csv", "--json"]).exits(0).stdout);
    for (i, p) in p.iter().enumerate() {
        let expected = number(&predicted["categories"][i % 2][i / 2]["probability"]);
        assert!((p - expected).abs() < 0.02, "{p} {expected}");
    }
    assert!(found["effects"].as_array().unwrap().iter().all(|e| e["status"] == "estimate"));
    for more in [&["--data", "t.csv"][..], &["--data", "t.csv", "--kind", "contrasts"]] {
        let all = column(&effects("m.fit", more), "estimate");
        assert!(all.len() == 3 && all.iter().sum::<f64>().abs() < 1e-12, "{all:?}");
    }
    // Linear: the coefficient of the level, with what is declared about it.
    let link = effects("m.fit", &["--data", "t.csv", "--scale", "link"]);
    assert_eq!(
        (&link["effects"][0]["outcome"], &link["effects"][1]["outcome"]),
        (&"none".into(), &"right".into())
    );
    let slopes = column(&link, "estimate");
    assert!(
        (slopes[0] - number(&fit["mean"][1])).abs() < 1e-12
            && (slopes[1] - number(&fit["mean"][3])).abs() < 1e-12
    );
    assert_eq!(link["effects"][0]["status"], "declared");
    let said = bench.provi(&["effects", "m.fit", "--data", "t.csv", "--scale", "link"]).exits(0).stdout;
    assert!(said.contains("certified if the declared curvature is right"), "{said}");
    let table = bench.provi(&["effects", "m.fit", "--points", "2"]).exits(0).stdout;
    assert!(
        table.lines().any(|line| line.split_whitespace().collect::<Vec<_>>()[..]
            == ["x", "party", "probability", "2.5%", "97.5%"]),
        "{table}"
    );
    let csv = bench.provi(&["effects", "m.fit", "--csv"]).exits(0).stdout;
    assert!(
        csv.lines().next().unwrap().ends_with(",interval,outcome")
            && csv.lines().nth(1).unwrap().ends_with(",left")
    );
    for file in ["m.svg", "m.html"] {
        bench.provi(&["effects", "m.fit", "--out", file]).exits(0);
        let drawn = std::fs::read_to_string(bench.path(file)).unwrap();
        assert!(drawn.contains("party = right"), "{file}");
    }
    // Two levels, and the same rows as labels.
    let mut two = String::from("x,label,word\n");
    for (i, line) in TABLE.lines().skip(1).enumerate() {
        let x = line.split(',').nth(1).unwrap();
        let one = [1, 0, 0, 1, 0, 1, 1, 0][i % 8];
        two.push_str(&format!("{x},{one},{}\n", if one == 1 { "yes" } else { "no" }));
    }
    bench.write("two.csv", &two);
    let prior = ["--prior-scale", "1", "--seed", "1", "--quiet"];
    bench.provi(&[&["fit", "two.csv", "label ~ x", "--out", "labels.fit"], &prior[..]].concat()).exits(0);
    bench
        .provi(&[&["fit", "two.csv", "multinomial(word) ~ x", "--out", "words.fit"], &prior[..]].concat())
        .exits(0);
    let own = column(&effects("labels.fit", &["--data", "two.csv"]), "estimate");
    let two = column(&effects("words.fit", &["--data", "two.csv"]), "estimate");
    assert!((own[0] - two[1]).abs() < 0.02 && (own[0] + two[0]).abs() < 0.02, "{own:?} {two:?}");
}

/// Draws of a multinomial posterior, or near it, rest on a declared curvature.
#[test]
fn levels_have_draws_within_a_total_variation() {
    let bench = bench();
    bench
        .provi(&["fit", "t.csv", "multinomial(party) ~ x", "--seed", "1", "--out", "m.fit", "--quiet"])
        .exits(0);
    let sample =
        ["sample", "m.fit", "--exact", "--data", "t.csv", "--tv", "0.3", "-n", "500", "--format", "json"];
    let said = bench.provi(&sample).exits(0);
    let drawn = json(&said.stdout);
    assert_eq!(drawn["draws"].as_array().unwrap().len(), 500);
    assert!(number(&drawn["tv_bound"]) <= 0.3, "{}", drawn["tv_bound"]);
    assert!(said.stderr.contains("if the declared curvature is right"), "{}", said.stderr);
}

/// What cannot be is refused with a sentence that names it.
#[test]
fn what_is_not_there_is_refused() {
    let bench = bench();
    let student =
        ["fit", "t.csv", "y ~ x", "--family", "student", "--seed", "1", "--out", "s.fit", "--quiet"];
    bench.provi(&student).exits(0);
    let cases: [(&[&str], &str); 21] = [
        (&["fit", "t.csv", "half ~ x", "--family", "zipoisson"], "needs a whole number of at least 0"),
        (&["fit", "t.csv", "k ~ x", "--family", "betabinomial"], "needs the number of trials"),
        (&["fit", "t.csv", "n | trials(k) ~ x", "--family", "betabinomial"], "trials"),
        (&["fit", "t.csv", "k | trials(n) ~ x", "--family", "student"], "the response has trials"),
        (&["fit", "t.csv", "party ~ x", "--family", "student"], "`party`"),
        (&["fit", "t.csv", "log(n) ~ x", "--family", "multinomial"], "needs a column of levels"),
        (&["fit", "t.csv", "multinomial(y) ~ x"], "2 to 11 are possible"),
        (&["fit", "t.csv", "multinomial(party) ~ x", "--family", "ordered"], "not with ordered"),
        (&["fit", "t.csv", "multinomial(party) ~ x", "--offset", "y"], "an offset does not go with"),
        (
            &["fit", "t.csv", "y ~ x", "--family", "gaussian", "--nu", "4"],
            "nu does not go with family gaussian",
        ),
        (&["fit", "t.csv", "y ~ x", "--family", "student", "--nu", "-1"], "degrees of freedom"),
        (
            &["fit", "t.csv", "y ~ x + (1 | party)", "--family", "student"],
            "takes no term such as `(1 | party)`",
        ),
        (&["fit", "t.csv", "y ~ x", "--family", "student", "--memory", "16MiB"], "needs its rows in memory"),
        (
            &["fit", "t.csv", "y ~ x", "--family", "student", "--robust", "sandwich"],
            "a robust spread is not there",
        ),
        (
            &["loo", "s.fit", "--data", "t.csv", "--certify"],
            "leaving out rows by refits is not there for family student",
        ),
        (&["sample", "s.fit", "--exact", "--data", "t.csv"], "not there for family student"),
        (&["effects", "s.fit", "x", "--compare", "ratio"], "those of family student can be negative"),
        (&["effects", "s.fit", "x", "--compare", "odds-ratio"], "which family student has not"),
        (
            &["effects", "s.fit", "x", "--data", "t.csv", "--exact"],
            "what is asked for is not there for family student",
        ),
        (
            &["fit", "t.csv", "multinomial(party) ~ x", "--prior", "none:x=normal(0,1)"],
            "prior 'none:x' is about one level of the response, and all levels share the prior of a column; write 'x'",
        ),
        (&["constants", "t.csv", "multinomial(party) ~ x"], "not there for family multinomial"),
    ];
    for (args, expected) in cases {
        let found = bench.provi(args).exits(2).stderr;
        let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(found.contains(expected), "{args:?}: {found}");
    }
    bench.write("zeros.csv", "y,x\n0,1\n0,2\n0,3\n");
    let zeros = bench.provi(&["fit", "zeros.csv", "y ~ x", "--family", "zipoisson"]).exits(2).stderr;
    assert!(zeros.contains("above 0 in any row"), "{zeros}");
    bench.write("one.csv", "y,x\na,1\na,2\na,3\n");
    let one = bench.provi(&["fit", "one.csv", "multinomial(y) ~ x"]).exits(2).stderr;
    assert!(one.contains("has 1 level(s)"), "{one}");
}
