//! Ordered responses through the real binary.

use crate::common::Bench;
use serde_json::Value;

/// Levels in the order none, mild, severe; of text, so that their order must be said.
const PAIN: &str = "pain,dose,grade\nnone,-1.2,1\nnone,-0.7,1\nmild,-0.5,2\nsevere,-0.1,5\nnone,0,1\nmild,0.2,2\nsevere,0.4,5\nmild,0.8,2\n\
                    mild,0.9,2\nsevere,1.3,5\nmild,1.6,2\nsevere,2.1,5\n";
const TEXT: &str = "ordered(pain, levels = c('none', 'mild', 'severe')) ~ dose";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Given, maximised, integrated over; predictions, effects, draws, the report and cross-validation follow, and certify confirms the fit.
#[test]
fn an_ordered_response_goes_all_the_way() {
    let bench = Bench::new();
    bench.write("pain.csv", PAIN);
    let fit = |formula: &str, more: &[&str]| {
        json(&bench.provi(&[&["fit", "pain.csv", formula, "--json"], more].concat()).exits(0).stdout)
    };
    let given = fit(TEXT, &["--gaps", "1.5", "--out", "given.fit"]);
    assert_eq!(given["model"]["categories"], json(r#"["none", "mild", "severe"]"#));
    assert_eq!(
        (&given["model"]["family"], &given["model"]["family_chosen"]),
        (&"ordered".into(), &true.into())
    );
    assert!(number(&given["certificate"]["kl"]["bound"]) < 0.1, "{}", given["certificate"]["kl"]);
    assert_eq!(given["certificate"]["gap"]["provenance"], "proved");
    // Numbers have an order of their own, and files are read block by block with the same answer.
    let best = fit("ordered(grade) ~ dose", &["--scales", "maximise"]);
    let streamed = fit("ordered(grade) ~ dose", &["--scales", "maximise", "--memory", "16MiB"]);
    for other in [&streamed, &fit(TEXT, &["--scales", "maximise"])] {
        assert!((number(&best["neg_elbo"]) - number(&other["neg_elbo"])).abs() < 1e-7);
        let [a, b] = [&best, other].map(|fit| number(&fit["model"]["scales"][0]["sd"]));
        assert!((a - b).abs() < 1e-4 * a, "{a} {b}");
    }
    assert_eq!(best["model"]["scales"][0]["name"], "gap(2)");
    let open = fit(TEXT, &["--out", "open.fit"]);
    assert_eq!(open["model"]["scales"][0]["prior"], "half_t(3, 2.5)");
    let said = bench.provi(&["summary", "open.fit"]).exits(0).stdout;
    assert!(said.contains("levels none < mild < severe") && said.contains("gap(mild)"), "{said}");
    for out in ["given.fit", "open.fit"] {
        bench.provi(&["certify", out, "pain.csv", "--seed", "2"]).exits(0);
        let predicted = json(&bench.provi(&["predict", out, "pain.csv", "--json"]).exits(0).stdout);
        for (row, mean) in predicted["categories"]
            .as_array()
            .unwrap()
            .iter()
            .zip(predicted["predictions"].as_array().unwrap())
        {
            let p: Vec<f64> =
                row.as_array().unwrap().iter().map(|level| number(&level["probability"])).collect();
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!((p[0] + 2.0 * p[1] + 3.0 * p[2] - number(&mean["mean"])).abs() < 1e-9);
            let inside = |level: &Value| {
                let [low, p, high] = ["low", "probability", "high"].map(|key| number(&level[key]));
                low < p && p < high
            };
            assert!(row.as_array().unwrap().iter().all(inside), "{row}");
        }
        let csv = bench.provi(&["predict", out, "pain.csv", "--csv"]).exits(0).stdout;
        assert!(csv.lines().next().unwrap().ends_with(",p(severe),low(severe),high(severe)"), "{csv}");
        let table = bench.provi(&["predict", out, "pain.csv"]).exits(0).stdout;
        assert!(table.starts_with("line    none    mild  severe"), "{table}");
        let draws = bench.provi(&["predict", out, "pain.csv", "--draws", "5"]).exits(0).stdout;
        assert!(
            draws
                .lines()
                .skip(1)
                .all(|line| line.split(',').all(|y| ["none", "mild", "severe"].contains(&y))),
            "{draws}"
        );
        let effects = bench.provi(&["effects", out, "--csv"]).exits(0).stdout;
        assert!(effects.lines().count() > 3, "{effects}");
        let loo = json(&bench.provi(&["loo", out, "--data", "pain.csv", "--json"]).exits(0).stdout);
        assert!(number(&loo["models"][0]["elpd"]["value"]) < 0.0, "{loo}");
        bench.provi(&["report", out]).exits(0);
        let page = std::fs::read_to_string(bench.path(out).join("report.html")).unwrap();
        assert!(page.contains("proportional odds") && page.contains("none, mild, severe"));
    }
    let exact =
        bench.provi(&["sample", "given.fit", "--exact", "--data", "pain.csv", "-n", "20"]).exits(0).stdout;
    assert_eq!(exact.lines().count(), 21);
    let mixed = bench.provi(&["sample", "open.fit", "-n", "3"]).exits(0).stdout;
    assert!(mixed.starts_with("(Intercept),dose,gap(mild)"), "{mixed}");
}

#[test]
fn what_has_no_order_is_refused_with_the_way_out() {
    let bench = Bench::new();
    bench.write("pain.csv", PAIN);
    for (words, said) in [
        (&["ordered(pain) ~ dose"][..], "write ordered(pain, levels = c(..))"),
        (&["pain ~ dose"], "ordered(..) with levels in an order, or multinomial(..) without one"),
        (
            &["ordered(pain, levels = c('none', 'mild')) ~ dose"],
            "the level `severe`, which is not among its listed levels",
        ),
        (&["ordered(pain, levels = c('none', 'mild', 'severe', 'worst')) ~ dose"], "has the level `worst`"),
        (&["ordered(dose) ~ grade"], "has 12 level(s); 2 to 11 are possible"),
        (&["grade ~ dose", "--family", "ordered"], "write ordered(grade) for numbers"),
        (&[TEXT, "--family", "poisson"], "goes with family ordered, not with poisson"),
        (&[TEXT, "--gaps", "1,2"], "2 gap(s) are given, and 3 levels have 1"),
        (&[TEXT, "--gaps", "-1"], "gap between cut points"),
        (&[TEXT, "--noise-sd", "1"], "not with ordered"),
        (
            &["grade ~ dose", "--family", "poisson", "--gaps", "1"],
            "gaps go with family ordered, not with poisson",
        ),
        (&[TEXT, "--prior", "gap(worst)=exponential(1)"], "gap(mild)"),
        (&[TEXT, "--gaps", "1", "--prior", "gap=exponential(1)"], "gap(mild)"),
    ] {
        let run = bench.provi(&[&["fit", "pain.csv"], words].concat()).exits(2);
        assert!(run.stderr.contains(said), "{words:?}: {}", run.stderr);
    }
}

/// Two levels are a binary response, however far away a row is: what is proved of both is the same.
#[test]
fn two_levels_are_a_binary_response_however_large_an_offset() {
    let bench = Bench::new();
    let rows: String = (0..40)
        .map(|n| format!("{},{},{}\n", u8::from((n * 7) % 5 < 2), 0.1 * f64::from(n) - 2.0, 0))
        .collect();
    bench.write("far.csv", &format!("y,x,o\n{rows}1,0.5,2000000\n0,0.3,-3000000\n"));
    let fit = |formula: &str| {
        let words = ["fit", "far.csv", formula, "--prior", "normal(0, 2)", "--json", "--quiet"];
        json(&bench.provi(&words).exits(0).stdout)
    };
    let (ordered, binary) = (fit("ordered(y) ~ x + offset(o)"), fit("y ~ x + offset(o)"));
    assert!((number(&ordered["neg_elbo"]) - number(&binary["neg_elbo"])).abs() < 1e-9);
    for fit in [&ordered, &binary] {
        let evidence = &fit["certificate"]["evidence"];
        let [low, high] = ["lower", "upper"].map(|key| number(&evidence[key]));
        let elbo = -number(&fit["neg_elbo"]);
        assert!(low <= high && elbo <= high && high - elbo < 0.1, "{elbo} {evidence}");
    }
}

#[test]
fn an_earlier_fit_with_other_levels_is_no_prior() {
    let bench = Bench::new();
    bench.write("pain.csv", PAIN);
    bench.write("more.csv", &PAIN.replace("severe", "worse"));
    let other = TEXT.replace("severe", "worse");
    bench.provi(&["fit", "pain.csv", "ordered(grade) ~ dose", "--out", "first.fit", "--quiet"]).exits(0);
    bench.write("few.csv", &PAIN.replace(",1\n", ",2\n"));
    let words = ["fit", "few.csv", "ordered(grade) ~ dose", "--prior-from", "first.fit"];
    let said = bench.provi(&words).exits(2).stderr;
    assert!(said.contains("levels 1 < 2 < 5, this one has 2 < 5"), "{said}");
    bench.provi(&["fit", "more.csv", &other, "--quiet"]).exits(0);
    let again = ["fit", "pain.csv", "ordered(grade) ~ dose", "--prior-from", "first.fit", "--quiet"];
    bench.provi(&again).exits(0);
}

/// `gap` alone is a column if the prior is normal, and a grouping may be called like a gap.
#[test]
fn a_column_called_gap_keeps_its_prior() {
    let bench = Bench::new();
    bench.write("pain.csv", &PAIN.replace("dose", "gap").replace("grade", "gap(mm)"));
    let words = ["fit", "pain.csv", "`gap(mm)` ~ gap", "--family", "poisson", "--prior", "gap=normal(0, 1)"];
    let said = bench.provi(&[&words[..], &["--quiet"]].concat()).exits(0).stdout;
    assert!(said.contains("normal(0, 1) on gap"), "{said}");
    let words = ["fit", "pain.csv", "gap ~ 1 + (1 | `gap(mm)`)", "--family", "gaussian", "--noise-sd", "1"];
    let said = bench.provi(&[&words[..], &["--quiet"]].concat()).exits(0).stdout;
    assert!(said.contains("sd(gap(mm):(Intercept))"), "{said}");
}
