//! Times to an event and counts whose rates vary, through the real binary.

use crate::common::Bench;
use serde_json::Value;

const TIMES: &str = "t,e,dose\n9,0,-1.2\n6.5,1,-0.7\n7,0,-0.5\n4,1,-0.1\n3.2,1,0\n5.5,0,0.2\n2.2,1,0.4\n3,1,0.8\n1.4,1,0.9\n\
                     2.6,0,1.3\n0.9,1,1.6\n0.7,1,2.1\n";
const COUNTS: &str =
    "y,dose\n0,-1.2\n3,-0.7\n0,-0.5\n1,-0.1\n9,0\n0,0.2\n2,0.4\n14,0.8\n1,0.9\n6,1.3\n25,1.6\n4,2.1\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Given, maximised, integrated over; predictions, effects, the report and draws follow, and certify confirms the fit.
#[test]
fn times_to_an_event_go_all_the_way() {
    let bench = Bench::new();
    bench.write("times.csv", TIMES);
    let formula = "surv(t, e) ~ dose";
    let fit = |more: &[&str]| {
        json(&bench.provi(&[&["fit", "times.csv", formula, "--json"], more].concat()).exits(0).stdout)
    };
    let given = fit(&["--noise-sd", "0.5", "--family", "weibull"]);
    assert_eq!(given["model"]["time_unit"].as_f64(), Some(3.8));
    assert!(number(&given["certificate"]["kl"]["bound"]) < 0.2, "{}", given["certificate"]["kl"]);
    let best = fit(&["--scales", "maximise"]);
    assert_eq!(
        (&best["model"]["family"], &best["model"]["family_chosen"]),
        (&"weibull".into(), &true.into())
    );
    let sigma = number(&best["model"]["noise_sd"]);
    assert!((0.2..0.8).contains(&sigma), "{sigma}");
    let open = fit(&["--out", "times.fit"]);
    assert_eq!(open["model"]["scales"][0]["prior"], "half_t(3, 1)");
    let said = bench.provi(&["summary", "times.fit"]).exits(0).stdout;
    assert!(said.contains("weibull (log hazard, unit of time 3.8), as the response is a time"), "{said}");
    let said = bench.provi(&["predict", "times.fit", "times.csv", "--json"]).exits(0).stdout;
    let rows = json(&said)["predictions"].as_array().unwrap().clone();
    // Larger doses, larger hazards, shorter times.
    assert!(number(&rows[0]["mean"]) > 2.0 * number(&rows[11]["mean"]), "{rows:?}");
    for row in &rows {
        assert!(number(&row["low"]) < number(&row["mean"]) && number(&row["mean"]) < number(&row["high"]));
    }
    let said = bench.provi(&["effects", "times.fit", "dose", "--values", "0,1", "--json"]).exits(0).stdout;
    assert!(said.contains("mean time"), "{said}");
    bench.provi(&["predict", "times.fit", "times.csv", "--draws", "3"]).exits(0);
    let mut last = 1.0;
    for time in ["1", "4", "12"] {
        let said =
            bench.provi(&["predict", "times.fit", "times.csv", "--time", time, "--json"]).exits(0).stdout;
        let row = &json(&said)["predictions"][3];
        let [low, mean, high] = ["low", "mean", "high"].map(|key| number(&row[key]));
        assert!(0.0 <= low && low < mean && mean < high && high <= 1.0 && mean < last, "{row}");
        last = mean;
    }
    bench.provi(&["report", "times.fit"]).exits(0);
    let page = std::fs::read_to_string(bench.path("times.fit/report.html")).unwrap();
    assert!(page.contains("Weibull distributions of one shape") && page.contains("martingale residual"));
    bench
        .provi(&["fit", "times.csv", formula, "--noise-sd", "0.5", "--out", "given.fit", "--quiet"])
        .exits(0);
    bench.provi(&["certify", "given.fit", "times.csv", "--seed", "2"]).exits(0);
    let said = bench.provi(&["predict", "given.fit", "times.csv", "--time", "4"]).exits(0).stdout;
    assert!(said.contains("probability") && said.contains("certified: the posterior's own"), "{said}");
    let said = bench.provi(&["predict", "given.fit", "times.csv", "--time", "-4"]).exits(2).stderr;
    assert!(said.contains("time"), "{said}");
    let said =
        bench.provi(&["fit", "times.csv", formula, "--family", "exponential", "--json"]).exits(0).stdout;
    let plain = fit(&["--family", "weibull", "--noise-sd", "1"]);
    for i in 0..2 {
        let off = number(&json(&said)["mean"][i]) - number(&plain["mean"][i]);
        assert!(off.abs() < 1e-7, "{off}");
    }
}

/// The unit of the table does not matter: in minutes, everything but the unit is the same.
#[test]
fn hours_and_minutes_are_the_same() {
    let bench = Bench::new();
    bench.write("hours.csv", TIMES);
    let minutes: String = TIMES
        .lines()
        .enumerate()
        .map(|(i, line)| match (i, line.split_once(',')) {
            (0, _) | (_, None) => format!("{line}\n"),
            (_, Some((t, rest))) => format!("{},{rest}\n", 100.0 * t.parse::<f64>().unwrap()),
        })
        .collect();
    bench.write("minutes.csv", &minutes);
    let [a, b] = ["hours.csv", "minutes.csv"].map(|table| {
        json(&bench.provi(&["fit", table, "surv(t, e) ~ dose", "--seed", "1", "--json"]).exits(0).stdout)
    });
    for i in 0..2 {
        assert!((number(&a["mean"][i]) - number(&b["mean"][i])).abs() < 1e-9);
    }
    assert!((number(&b["model"]["time_unit"]) / number(&a["model"]["time_unit"]) - 100.0).abs() < 1e-9);
}

#[test]
fn counts_whose_rates_vary_go_all_the_way() {
    let bench = Bench::new();
    bench.write("counts.csv", COUNTS);
    let model = ["fit", "counts.csv", "y ~ dose", "--family", "negbinomial", "--json"];
    let fit = |more: &[&str]| json(&bench.provi(&[&model[..], more].concat()).exits(0).stdout);
    let given = fit(&["--noise-sd", "0.9"]);
    assert!(number(&given["certificate"]["kl"]["bound"]) < 0.2, "{}", given["certificate"]["kl"]);
    let sigma = number(&fit(&["--scales", "maximise"])["model"]["noise_sd"]);
    assert!((0.5..1.6).contains(&sigma), "{sigma}");
    fit(&["--out", "counts.fit"]);
    bench.provi(&["predict", "counts.fit", "counts.csv"]).exits(0);
    bench.provi(&["effects", "counts.fit", "dose"]).exits(0);
    bench.provi(&["predict", "counts.fit", "counts.csv", "--draws", "3"]).exits(0);
    bench.provi(&["report", "counts.fit"]).exits(0);
    let page = std::fs::read_to_string(bench.path("counts.fit/report.html")).unwrap();
    assert!(page.contains("their rates have gamma distributions"));
    let more = ["--noise-sd", "0.9", "--out", "given.fit"];
    fit(&more);
    bench.provi(&["certify", "given.fit", "counts.csv", "--seed", "2"]).exits(0);
    // It has an upper curvature, so a plan knows it.
    bench
        .provi(&["constants", "counts.csv", "y ~ dose", "--family", "negbinomial", "--noise-sd", "0.9"])
        .exits(0);
}

#[test]
fn refusals_name_the_column_the_line_and_the_way_out() {
    let bench = Bench::new();
    bench.write("bad.csv", "t,e,y,x\n2,1,1,0\n0,0,2,1\n3,1,1.5,2\n");
    bench.write("codes.csv", "t,e,x\n2,1,0\n3,2,1\n");
    bench.write("good.csv", "t,e,x\n2,1,0\n3,0,1\n");
    let refused = |args: &[&str], words: &[&str]| {
        let said = bench.provi(args).exits(2).stderr;
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(flat.contains(word), "{word}: {said}");
        }
    };
    refused(&["fit", "bad.csv", "surv(t, e) ~ x"], &["column `t`", "line 3", "a time above 0"]);
    refused(
        &["fit", "codes.csv", "surv(t, e) ~ x"],
        &["column `e`", "line 3", "0 where the row was censored"],
    );
    refused(
        &["fit", "good.csv", "surv(t, e) ~ x", "--family", "poisson"],
        &["a time to an event", "weibull or exponential"],
    );
    refused(
        &["fit", "bad.csv", "y ~ x", "--family", "negbinomial"],
        &["column `y`", "line 4", "a whole number"],
    );
    refused(&["fit", "bad.csv", "t ~ x", "--family", "weibull"], &["column `t`", "line 3", "a time above 0"]);
    refused(&["fit", "codes.csv", "surv(t) ~ x"], &["the column of events"]);
}
