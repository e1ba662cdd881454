//! What models and fits are asked beside the fit itself: predictions, contrasts, comparisons, plans and reports, through the
//! real binary.

use crate::common::Bench;
use serde_json::Value;

/// Successes of five trials or more a row, two periods.
const HERDS: &str = "herd,incidence,size,failures,period\na,2,14,12,1\nb,3,12,9,2\na,4,9,5,1\nb,0,5,5,2\n\
                     c,3,22,19,1\nc,1,18,17,2\nd,8,16,8,1\nd,0,16,16,2\n";

/// Three towns, a number, weights and an exposure, with a gap in `u` and another in `v`.
const TOWNS: &str = "y,x,town,w,e,k,u,v\n3.1,1,Bern,1,2,3,1,1\n2.9,2,Basel,2,1,1,NA,2\n4.2,3,Chur,1,3,4,3,3\n\
                     5.1,4,Bern,2,2,2,4,NA\n5.8,5,Basel,1,4,6,5,5\n7.2,6,Chur,3,2,2,7,6\n8.1,7,Bern,1,5,7,6,7\n\
                     8.8,8,Basel,1,1,1,8,9\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What is asked of the table and of the KL is proved with more draws, or refused with the reason; the table says whose numbers it has.
#[test]
fn an_accuracy_of_the_table_or_of_the_kl_is_proved_or_missed_with_a_reason() {
    let bench = Bench::new();
    bench.write("herds.csv", HERDS);
    let fit = |more: &[&str]| {
        let words =
            ["fit", "herds.csv", "incidence | trials(size) ~ period", "--prior-scale", "2.5", "--json"];
        bench.provi(&[&words[..], &["--quiet", "--audit-draws", "4000"], more].concat())
    };
    let usual = json(&fit(&[]).exits(0).stdout);
    let worst = |fit: &Value| {
        let list = |key: &str| fit["posterior"][key].as_array().unwrap().clone();
        let errors = list("mean_error").into_iter().chain(list("sd_error"));
        let sds = list("sd").into_iter().cycle();
        errors.zip(sds).map(|(e, sd)| e.as_f64().unwrap() / sd.as_f64().unwrap()).fold(0.0, f64::max)
    };
    let wanted = 0.6 * worst(&usual);
    let finer = json(&fit(&["--table-accuracy", &wanted.to_string()]).exits(0).stdout);
    assert!(worst(&finer) <= wanted, "{} of {wanted}", worst(&finer));
    // Nothing proves less than the KL itself.
    let missed = fit(&["--kl", "1e-9"]).exits(1);
    assert!(missed.stderr.contains("a KL of at most 1.0000e-9 nats was not proved"), "{}", missed.stderr);
    let missed = fit(&["--table-accuracy", "1e-9", "--time-limit", "0.5"]);
    missed.exits(1);
    for (option, value) in [("--kl", "0"), ("--kl", "-1"), ("--table-accuracy", "nan")] {
        assert!(
            fit(&[option, value]).exits(2).stderr.contains("is not a finite number above 0"),
            "{option} {value}"
        );
    }
}

#[test]
fn draws_of_a_binomial_model_count_the_successes_of_each_row() {
    let bench = Bench::new();
    bench.write("herds.csv", HERDS);
    for (out, response) in [("t", "incidence | trials(size)"), ("c", "cbind(incidence, failures)")] {
        let formula = format!("{response} ~ period");
        bench.provi(&["fit", "herds.csv", &formula, "--out", out, "--quiet"]).exits(0);
        let predict = |more: &[&str]| bench.provi(&[&["predict", out, "herds.csv"], more].concat());
        let said = predict(&["--draws", "400", "--seed", "3", "--json"]).exits(0).stdout;
        let report = json(&said);
        let draws = report["draws"].as_array().unwrap();
        for (row, size) in [14.0, 12.0, 9.0, 5.0, 22.0, 18.0, 16.0, 16.0].into_iter().enumerate() {
            let values: Vec<f64> = draws.iter().map(|draw| draw[row].as_f64().unwrap()).collect();
            assert!(values.iter().all(|k| *k >= 0.0 && *k <= size && k.fract() == 0.0));
            let mean = values.iter().sum::<f64>() / 400.0;
            let expected = size * report["predictions"][row]["mean"].as_f64().unwrap();
            // Counts of at most 22 trials and a posterior of a few tenths on the logit: the sd of a mean of 400 is below 0.3.
            // Six of those fail by chance once in 5e8; draws of single trials are off by more from six trials on.
            assert!((mean - expected).abs() < 1.8, "row {row}: {mean} beside {expected}");
        }
        let most = draws.iter().map(|draw| draw[4].as_f64().unwrap()).fold(0.0, f64::max);
        assert!(most > 1.0, "22 trials give more than one success");
    }
    // The means need no trials; the draws do.
    bench.write("new.csv", "period\n1\n2\n");
    bench.provi(&["predict", "t", "new.csv"]).exits(0);
    let said = bench.provi(&["predict", "t", "new.csv", "--draws", "5"]).exits(2);
    assert!(
        said.stderr.contains("no column `size`") && said.stderr.contains("trials of each row"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_means_of_a_gaussian_model_have_their_certified_error() {
    let bench = Bench::new();
    bench.write("towns.csv", TOWNS);
    let model = [
        "fit",
        "towns.csv",
        "y ~ x + town",
        "--family",
        "gaussian",
        "--noise-sd",
        "0.4",
        "--prior-scale",
        "5",
    ];
    bench.provi(&[&model[..], &["--out", "g", "--quiet"]].concat()).exits(0);
    let said = bench.provi(&["predict", "g", "towns.csv"]).exits(0).stdout;
    assert!(
        said.lines().next().unwrap().contains('±') && said.contains("certified: the posterior's own means"),
        "{said}"
    );
    let report = json(&bench.provi(&["predict", "g", "towns.csv", "--json"]).exits(0).stdout);
    let errors = report["mean_errors"].as_array().unwrap();
    assert!(errors.len() == 8 && errors.iter().all(|e| (0.0..1e-6).contains(&e.as_f64().unwrap())));
    let csv = bench.provi(&["predict", "g", "towns.csv", "--csv"]).exits(0).stdout;
    assert!(csv.starts_with("line,mean,low,high,predictor,predictor_sd,mean_error\n"));
    // The same number as the contrast of that row.
    let contrast = ["summary", "g", "--json", "--contrast", "(Intercept) + x + town[Bern]"];
    let found = json(&bench.provi(&contrast).exits(0).stdout);
    let [own, row] = [&found["contrasts"][0]["mean_error"]["bound"], &errors[0]].map(|x| x.as_f64().unwrap());
    assert!(row <= own * (1.0 + 1e-9), "{row} {own}");
}

/// With the data of the fit each probability has an error of its own, far below the total variation; without it, all have that.
#[test]
fn probabilities_are_measured_with_the_data_of_the_fit() {
    let bench = Bench::with_fits();
    let predict = |more: &[&str]| {
        json(&bench.provi(&[&["predict", "both.fit", "study.csv", "--json"], more].concat()).exits(0).stdout)
    };
    let (plain, measured) = (predict(&[]), predict(&["--data", "study.csv"]));
    assert!(plain["mean_errors"].is_null());
    assert_eq!(plain["predictions"], measured["predictions"]);
    let tv = plain["tv_bound"].as_f64().unwrap();
    let errors = measured["mean_errors"].as_array().unwrap();
    assert_eq!(errors.len(), plain["predictions"].as_array().unwrap().len());
    assert!(errors.iter().all(|e| (0.0..0.5 * tv).contains(&e.as_f64().unwrap())), "{tv} {errors:?}");
    assert_eq!(measured, predict(&["--data", "study.csv"]));
    let table = bench.provi(&["predict", "both.fit", "study.csv", "--data", "study.csv"]).exits(0).stdout;
    assert!(table.lines().next().unwrap().contains('±') && table.contains("by at most ±"), "{table}");
    let formula =
        json(&std::fs::read_to_string(bench.path("both.fit/fit.json")).unwrap())["model"]["formula"].clone();
    bench.provi(&["fit", "study.csv", formula.as_str().unwrap(), "--out", "now", "--quiet"]).exits(0);
    let file = json(&std::fs::read_to_string(bench.path("now/fit.json")).unwrap());
    let own = |key: &str| file["posterior"][key].as_array().unwrap().len();
    assert_eq!([own("positive"), own("positive_error")], [own("mean"); 2]);
}

#[test]
fn a_contrast_with_the_reference_level_says_which_it_is() {
    let bench = Bench::new();
    bench.write("towns.csv", TOWNS);
    let model = ["fit", "towns.csv", "y ~ x + town", "--family", "gaussian", "--noise-sd", "1"];
    bench.provi(&[&model[..], &["--out", "g", "--quiet"]].concat()).exits(0);
    for contrast in ["town[Basel] - town[Bern]", "x - town[Basel]", "2*town[Basel]"] {
        let said = bench.provi(&["summary", "g", "--contrast", contrast]).exits(2).stderr;
        assert!(said.contains("`Basel` is the reference level of `town`"), "{said}");
        assert!(said.contains("`town[Bern]`, `town[Chur]`"), "{said}");
    }
    let said = bench.provi(&[&model[..], &["--contrast", "town[Basel]"]].concat()).exits(2).stderr;
    assert!(said.contains("is the reference level of `town`"), "{said}");
    let said = bench.provi(&["summary", "g", "--contrast", "town[Zug]"]).exits(2).stderr;
    assert!(
        said.contains("`town[Zug]` is not a coefficient")
            && said.contains("the coefficients are `(Intercept)`"),
        "{said}"
    );
}

#[test]
fn weights_and_exposure_are_in_the_header_the_file_the_report_and_the_run() {
    let bench = Bench::new();
    bench.write("towns.csv", TOWNS);
    let model = ["fit", "towns.csv", "k ~ x", "--family", "poisson", "--weights", "w", "--exposure", "e"];
    let said = bench.provi(&[&model[..], &["--out", "p", "--quiet"]].concat()).exits(0).stdout;
    for out in [said, bench.provi(&["summary", "p"]).exits(0).stdout] {
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("weights `w`: each row's") && flat.contains("exposure `e`, its logarithm"),
            "{out}"
        );
    }
    let fit = json(&std::fs::read_to_string(bench.path("p/fit.json")).unwrap());
    assert_eq!((fit["model"]["weights"].as_str(), fit["model"]["exposure"].as_str()), (Some("w"), Some("e")));
    let run = std::fs::read_to_string(bench.path("p/run.toml")).unwrap();
    assert!(run.contains("weights = \"w\"") && run.contains("exposure = \"e\""), "{run}");
    bench.provi(&["report", "p"]).exits(0);
    let page = std::fs::read_to_string(bench.path("p/report.html")).unwrap();
    assert!(page.contains("weights `w`") && page.contains("exposure `e`"));
}

#[test]
fn the_same_offset_twice_is_refused() {
    let bench = Bench::new();
    bench.write("towns.csv", TOWNS);
    let refused = |formula: &str, more: &[&str]| {
        let model = ["fit", "towns.csv", formula, "--family", "poisson", "--quiet"];
        let said = bench.provi(&[&model[..], more].concat()).exits(2);
        assert!(
            said.stderr.contains("twice") && said.stderr.contains("leave one of them out"),
            "{}",
            said.stderr
        );
    };
    refused("k ~ x + offset(log(e))", &["--exposure", "e"]);
    refused("k ~ x + offset(e)", &["--offset", "e"]);
    let model = ["fit", "towns.csv", "k ~ x + offset(log(e))", "--family", "poisson", "--quiet"];
    bench.provi(&model).exits(0);
    bench.provi(&[&model[..], &["--offset", "w"]].concat()).exits(0);
}

#[test]
fn other_weights_and_other_rows_are_not_compared() {
    let bench = Bench::new();
    bench.write("towns.csv", TOWNS);
    let fit = |formula: &str, out: &str, more: &[&str]| {
        let model =
            ["fit", "towns.csv", formula, "--family", "gaussian", "--noise-sd", "1", "--out", out, "--quiet"];
        bench.provi(&[&model[..], more].concat()).exits(0);
    };
    fit("y ~ x", "plain", &[]);
    fit("y ~ 1", "small", &[]);
    fit("y ~ x", "weighted", &["--weights", "w"]);
    fit("y ~ u", "u", &[]);
    fit("y ~ v", "v", &[]);
    fit("y ~ u + x", "ux", &[]);
    bench.provi(&["compare", "plain", "small"]).exits(0);
    bench.provi(&["compare", "u", "ux"]).exits(0);
    let refused = |pair: [&str; 2], what: &str| {
        let said = bench.provi(&["compare", pair[0], pair[1]]).exits(2).stderr;
        assert!(said.contains(what), "{said}");
        bench.provi(&["compare", pair[0], pair[1], "--force"]).exits(0);
    };
    refused(["plain", "weighted"], "differ in weights (none, w)");
    // Seven rows each, and not the same ones.
    refused(["u", "v"], "the rows they leave out");
}

#[test]
fn plans_and_constants_are_printed_as_json_too() {
    let bench = Bench::new();
    let model = ["W2.csv", "y ~ mean_texture + mean_symmetry", "--prior-scale", "1"];
    let plan = json(
        &bench.provi(&[&["plan"], &model[..], &["--distance", "0.01", "--json"]].concat()).exits(0).stdout,
    );
    assert_eq!(
        (plan["schema"].as_str(), plan["distance_proved"].as_bool()),
        (Some("provi-plan/1"), Some(true))
    );
    assert!(plan["bound"]["value"].as_f64().unwrap() <= 0.01 && plan["steps"].as_u64().unwrap() > 0);
    assert_eq!(plan["compared"].as_array().unwrap().len(), 9);
    let steps =
        json(&bench.provi(&[&["plan"], &model[..], &["--steps", "50", "--json"]].concat()).exits(0).stdout);
    assert!(steps["distance"].is_null() && steps["steps"] == 50);
    let constants = json(&bench.provi(&[&["constants"], &model[..], &["--json"]].concat()).exits(0).stdout);
    assert_eq!(constants["schema"], "provi-constants/1");
    let condition = |of: &str| constants[of]["condition"].as_f64().unwrap();
    assert!(
        condition("whitened") <= condition("original") * (1.0 + 1e-9)
            && constants["rows"].as_u64().unwrap() > 100
    );
}

#[test]
fn a_plan_keeps_the_distance_it_was_asked_for_or_says_why_not() {
    let bench = Bench::new();
    // Quadrature and rounding leave an error that the promise must carry.
    let model = ["W2.csv", "y ~ mean_texture + mean_symmetry", "--family", "probit", "--prior-scale", "1"];
    for distance in ["0.01", "1e-4"] {
        let said = bench.provi(&[&["plan"], &model[..], &["--distance", distance, "--json"]].concat());
        match said.status {
            0 => assert!(json(&said.stdout)["bound"]["value"].as_f64().unwrap() <= distance.parse().unwrap()),
            1 => assert!(
                said.stderr.contains("no plan to") || said.stderr.contains("was not proved"),
                "{}",
                said.stderr
            ),
            other => panic!("status {other}: {}", said.stderr),
        }
    }
    let said = bench.provi(&[&["plan"], &model[..], &["--distance", "1e-60"]].concat()).exits(1);
    assert!(said.stderr.contains("no plan to"), "{}", said.stderr);
}

#[test]
fn the_report_says_the_steps_and_the_evidence_of_the_terminal() {
    let bench = Bench::new();
    let model = ["W2.csv", "y ~ mean_texture + mean_symmetry", "--prior-scale", "1"];
    bench.provi(&[&["fit"], &model[..], &["--out", "r", "--quiet"]].concat()).exits(0);
    let fit = json(&std::fs::read_to_string(bench.path("r/fit.json")).unwrap());
    bench.provi(&["report", "r"]).exits(0);
    let page = std::fs::read_to_string(bench.path("r/report.html")).unwrap();
    let steps = fit["steps"].as_u64().unwrap();
    assert!(page.contains(&format!("<figcaption>{steps} step")), "{steps} steps");
    let row = page.split("<dt>proved interval</dt><dd>").nth(1).unwrap().split(" nats").next().unwrap();
    let ends: Vec<f64> =
        row.split(" to ").map(|x| x.replace('−', "-").replace(',', "").parse().unwrap()).collect();
    let evidence = &fit["certificate"]["evidence"];
    let [lower, upper] = ["lower", "upper"].map(|side| evidence[side].as_f64().unwrap());
    assert!(ends[0] <= lower && ends[1] >= upper, "{row} beside {lower} to {upper}");
}
