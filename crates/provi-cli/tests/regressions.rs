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
        let drawn = bench.provi(&["predict", &out, "t.csv", "--draws", "3"]).exits(0).stdout;
        assert_eq!(drawn.lines().count(), 4);
        assert_eq!(bench.provi(&["sample", &out, "-n", "2"]).exits(0).stdout.lines().count(), 3);
        let nearer = ["sample", &out, "-n", "5", "--psis", "--data", "t.csv", "--force"];
        assert_eq!(bench.provi(&nearer).exits(0).stdout.lines().count(), 6);
        let store = format!("{family}.zarr");
        bench.provi(&["sample", &out, "-n", "8", "--data", "t.csv", "--out", &store]).exits(0);
        bench.provi(&["report", &out]).exits(0);
        let page = std::fs::read_to_string(bench.path(&format!("{out}/report.html"))).unwrap();
        assert!(page.contains(family));
        let again = bench.provi(&["certify", &out, "t.csv"]).exits(0).stdout;
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

/// What cannot be is refused with a sentence that names it.
#[test]
fn what_is_not_there_is_refused() {
    let bench = bench();
    let student =
        ["fit", "t.csv", "y ~ x", "--family", "student", "--seed", "1", "--out", "s.fit", "--quiet"];
    bench.provi(&student).exits(0);
    let cases: [(&[&str], &str); 18] = [
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
        (&["loo", "s.fit", "--data", "t.csv"], "not there for family student"),
        (&["sample", "s.fit", "--exact", "--data", "t.csv"], "not there for family student"),
        (&["effects", "s.fit", "x"], "not there for family student"),
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
