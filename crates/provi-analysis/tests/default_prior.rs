//! The prior where none is given: scaled by the data, the same from memory and from files, and only for new files.

use provi::fit::Watch;
use provi::target::Prior;
use provi_analysis::model::{Data, Model};
use provi_analysis::options::{DefaultPrior, ModelOptions, RunOptions};
use provi_analysis::record::fit_file::FitFile;
use provi_analysis::{Analysis, Fitted};

/// Fixed numbers that look like noise of sd 1.
fn noise(n: usize) -> f64 {
    let x = ((n as f64 + 1.0) * 12.9898).sin() * 43758.5453;
    3.46 * (x - x.floor() - 0.5)
}

fn data(text: String) -> Data {
    Data::new(text.into_bytes(), "t.csv".to_owned())
}

fn gaussian() -> ModelOptions {
    ModelOptions { family: "gaussian".parse().ok(), ..ModelOptions::default() }
}

fn fit(data: Data, formula: &str, options: &ModelOptions) -> Fitted {
    let analysis = Analysis::of(data, formula, options).unwrap();
    analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap()
}

/// y = 1000 + 500x in units of one's own.
fn line(of_x: f64, of_y: f64) -> String {
    let row = |n: usize| {
        let x = (n as f64) / 10.0;
        format!("{},{}\n", (1000.0 + 500.0 * x + 20.0 * noise(n)) * of_y, x * of_x)
    };
    format!("y,x\n{}", (0..40).map(row).collect::<String>())
}

/// Reaction times of 18 subjects on 10 days, about 251 + 10.5 a day, with sds 25 and 6 between subjects and 25 within.
fn sleep() -> String {
    let mut text = "Reaction,Days,Subject\n".to_owned();
    for subject in 0..18 {
        let (base, slope) = (251.0 + 25.0 * noise(1000 + subject), 10.5 + 6.0 * noise(2000 + subject));
        for day in 0..10 {
            let reaction = base + slope * day as f64 + 25.0 * noise(10 * subject + day);
            text += &format!("{reaction},{day},s{subject}\n");
        }
    }
    text
}

#[test]
fn a_line_far_from_zero_is_found() {
    let fit = fit(data(line(1.0, 1.0)), "y ~ x", &gaussian());
    assert!((fit.file.mean[0] - 1000.0).abs() < 25.0, "{:?}", fit.file.mean);
    assert!((fit.file.mean[1] - 500.0).abs() < 12.0, "{:?}", fit.file.mean);
    assert_eq!(fit.file.conflicts().count(), 0, "{:?}", fit.file.model.warnings);
    assert!(fit.certificate().unwrap().kl.bound().unwrap() < 1e-6);
}

/// What the default was: the certificate holds, and the numbers are nonsense. Now a note says so.
#[test]
fn a_prior_that_keeps_the_line_from_the_data_is_called_out() {
    let narrow = ModelOptions { prior_scale: Some(2.5), ..gaussian() };
    let fit = fit(data(line(1.0, 1.0)), "y ~ x", &narrow);
    assert!(fit.file.mean[0] < 100.0);
    assert!(fit.file.conflicts().count() > 0, "{:?}", fit.file.model.warnings);
}

#[test]
fn reaction_times_are_those_of_a_mixed_model() {
    let fit = fit(data(sleep()), "Reaction ~ Days + (Days || Subject)", &gaussian());
    assert!((fit.file.mean[0] - 251.0).abs() < 20.0, "{:?}", &fit.file.mean[..2]);
    assert!((fit.file.mean[1] - 10.5).abs() < 5.0, "{:?}", &fit.file.mean[..2]);
    for scale in &fit.file.model.scales {
        assert!(scale.sd < 60.0, "{scale:?}");
    }
    assert_eq!(fit.file.conflicts().count(), 0, "{:?}", fit.file.model.warnings);
    // The groups are beside the population's prior, not tied to it: no full matrix.
    let model =
        Model::build(&data(sleep()), "Reaction ~ Days + (Days || Subject)", &gaussian(), None).unwrap();
    let prior = model.target.prior().as_centered().unwrap();
    assert!(prior.at[2..].iter().all(|c| c.abs() <= 0.0) && prior.at.len() == model.dim());
    let narrow = ModelOptions { prior_scale: Some(2.5), ..gaussian() };
    let model = Model::build(&data(sleep()), "Reaction ~ Days + (1 | Subject)", &narrow, None).unwrap();
    let said = model.warnings.iter().any(|w| w.starts_with("prior and data disagree: the sd between groups"));
    assert!(said, "{:?} {:?}", model.warnings, model.scales);
}

#[test]
fn units_change_nothing_but_units() {
    let plain = fit(data(line(1.0, 1.0)), "y ~ x", &gaussian());
    for (of_x, of_y) in [(1024.0, 1.0), (1.0 / 1024.0, 1.0), (1.0, 4096.0), (64.0, 1.0 / 256.0)] {
        let other = fit(data(line(of_x, of_y)), "y ~ x", &gaussian());
        for (i, unit) in [of_y, of_y / of_x].into_iter().enumerate() {
            let (a, b) = (plain.file.mean[i] * unit, other.file.mean[i]);
            assert!((a / b - 1.0).abs() < 1e-6, "{of_x} {of_y}: {a} {b}");
            let (a, b) = (plain.file.model.prior_sd[i] * unit, other.file.model.prior_sd[i]);
            assert!((a / b - 1.0).abs() < 1e-12, "{of_x} {of_y}: {a} {b}");
        }
    }
}

#[test]
fn a_plain_scale_keeps_its_meaning_to_the_bit() {
    let options = ModelOptions { prior_scale: Some(2.5), ..gaussian() };
    let model = Model::build(&data(line(1.0, 1.0)), "y ~ x", &options, None).unwrap();
    assert_eq!(*model.target.prior(), Prior::precisions(&[0.16; 2]).unwrap().with_mean(&[0.0; 2]).unwrap());
    assert_eq!(model.prior_lines(), ["normal(0, 2.5) on every coefficient"]);
    assert_eq!(model.options.default_prior, None);
}

#[test]
fn a_prior_for_some_leaves_the_others_at_the_default() {
    let model = |prior: &[&str]| {
        let prior = prior.iter().map(|text| text.parse().unwrap()).collect();
        Model::build(&data(line(1.0, 1.0)), "y ~ x", &ModelOptions { prior, ..gaussian() }, None).unwrap()
    };
    let default = model(&[]).target.prior().as_centered().unwrap();
    let slope = model(&["x=normal(400, 7)"]).target.prior().as_centered().unwrap();
    assert_eq!(slope.laws[0], default.laws[0]);
    assert!((slope.laws[1].0 - 400.0).abs() < 1e-9 && (slope.laws[1].1 - 7.0).abs() < 1e-12);
    // An intercept of one's own is that at 0.
    let own = model(&["Intercept=normal(900, 50)"]).target.prior().marginals(2).unwrap();
    assert!((own[0].0 - 900.0).abs() < 1e-9 && (own[0].1 - 50.0).abs() < 1e-9);
    assert!((own[1].1 / default.laws[1].1 - 1.0).abs() < 1e-12);
    let lines = model(&["x=normal(400, 7)"]).prior_lines();
    assert!(
        lines[1] == "normal(400, 7) on x" && lines[0].ends_with("at the means of the columns"),
        "{lines:?}"
    );
    // The default is explained where a coefficient has it.
    assert!(lines[2].starts_with("where none was given"));
    let all = model(&["x=normal(400, 7)", "Intercept=normal(900, 50)"]).prior_lines();
    assert_eq!(all, ["normal(900, 50) on (Intercept); normal(400, 7) on x"]);
}

#[test]
fn standardized_priors_are_those_of_standardized_columns() {
    let prior = vec!["x=normal(1, 3)".parse().unwrap(), "Intercept=normal(2, 5)".parse().unwrap()];
    let options = ModelOptions { prior, standardize: true, ..gaussian() };
    let model = Model::build(&data(line(1.0, 1.0)), "y ~ x", &options, None).unwrap();
    let found = model.target.prior().as_centered().unwrap();
    let sd = found.laws[1].1 / 3.0;
    assert!((found.laws[1].0 - sd).abs() < 1e-12, "{found:?}");
    assert!((found.laws[0].0 - 2.0).abs() < 1e-12 && (found.laws[0].1 - 5.0).abs() < 1e-12);
    assert!((found.at[1] - 1.95).abs() < 1e-12);
}

#[test]
fn files_that_name_no_default_mean_the_old_one() {
    let old: ModelOptions = serde_json::from_str("{\"family\": \"gaussian\"}").unwrap();
    assert_eq!(old.clone().as_recorded().prior_scale, Some(2.5));
    let some = ModelOptions { prior: vec!["x=normal(1, 1)".parse().unwrap()], ..old.clone() };
    assert_eq!(some.as_recorded().prior_scale, Some(2.5));
    let all = ModelOptions { prior: vec!["normal(1, 1)".parse().unwrap()], ..old.clone() };
    assert_eq!(all.as_recorded().prior_scale, None);
    let new = ModelOptions { default_prior: Some(DefaultPrior::Data), ..old.clone() };
    assert_eq!(new.clone().as_recorded(), new);
    // A fit of today names it; with the name taken out it is one of before.
    let mut fitted = fit(data(line(1.0, 1.0)), "y ~ x", &gaussian());
    assert_eq!(fitted.file.model.options.default_prior, Some(DefaultPrior::Data));
    let again = fitted.model(&data(line(1.0, 1.0)), false).unwrap();
    assert_eq!(again.options, fitted.file.model.options);
    assert!(again.target.prior().as_centered().is_some());
    let text = fitted.file.to_json();
    assert!(text.contains("\"default-prior\": \"data\""), "{text}");
    fitted.file = serde_json::from_str::<FitFile>(&text).unwrap();
    fitted.file.model.options.default_prior = None;
    let old = fitted.model(&data(line(1.0, 1.0)), false).unwrap();
    assert_eq!(*old.target.prior(), Prior::precisions(&[0.16; 2]).unwrap().with_mean(&[0.0; 2]).unwrap());
}

#[test]
fn files_read_in_blocks_have_the_same_default() {
    let mut text = "y,x,k,n,w,e,g\n".to_owned();
    for n in 0..300 {
        let weight = 0.5 + (n % 3) as f64;
        text += &format!(
            "{},{},{},5,{weight},{},g{}\n",
            3.0 + noise(n),
            1.7e9 + noise(n + 1),
            n % 5,
            1 + n % 7,
            n % 4
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, &text).unwrap();
    let weighted = ModelOptions { weights: Some("w".to_owned()), noise_sd: Some(1.0), ..gaussian() };
    let exposed = ModelOptions {
        family: "poisson".parse().ok(),
        exposure: Some("e".to_owned()),
        group_scale: vec!["0.5".parse().unwrap()],
        ..ModelOptions::default()
    };
    for (formula, options) in
        [("y ~ x", &weighted), ("k | trials(n) ~ x", &ModelOptions::default()), ("k ~ x + (1 | g)", &exposed)]
    {
        let memory = Model::build(&Data::read(&path).unwrap(), formula, options, None).unwrap();
        let blocks = Model::build(&Data::files(&path, 1 << 16), formula, options, None).unwrap();
        let (a, b) =
            (memory.target.prior().as_centered().unwrap(), blocks.target.prior().as_centered().unwrap());
        assert_eq!(a.intercept, b.intercept);
        for (x, y) in a.laws.iter().zip(&b.laws) {
            assert!(
                (x.0 - y.0).abs() <= 1e-10 * x.1 && (x.1 / y.1 - 1.0).abs() < 1e-10,
                "{formula}: {x:?} {y:?}"
            );
        }
        for (x, y) in a.at.iter().zip(&b.at) {
            assert!((x - y).abs() <= 1e-12 * x.abs(), "{formula}: {x} {y}");
        }
    }
}

#[test]
fn a_covariance_is_read_with_means_and_without_and_says_the_whole_prior() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prior.csv");
    let with = |text: &str, prior: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let prior = prior.iter().map(|text| text.parse().unwrap()).collect();
        let options = ModelOptions { prior_covariance: Some(path.clone()), prior, ..gaussian() };
        Model::build(&data(line(1.0, 1.0)), "y ~ x", &options, None)
    };
    let rows = "(Intercept),900,100,1\nx,400,1,25\n";
    let both = with(&format!("name,mean,(Intercept),x\n{rows}"), &[]).unwrap();
    assert!((both.target.prior().marginals(2).unwrap()[1].0 - 400.0).abs() < 1e-9);
    let zero = with("name,(Intercept),x\n(Intercept),100,1\nx,1,25\n", &[]).unwrap();
    let marginals = zero.target.prior().marginals(2).unwrap();
    assert!(marginals[1].0.abs() <= 0.0 && (marginals[1].1 - 5.0).abs() < 1e-9);
    let refused = with(&format!("name,mean,(Intercept),x\n{rows}"), &["x=normal(0, 1)"]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "prior-covariance is the prior of every population coefficient, so prior has no coefficient left"
    );
}

#[test]
fn wider_and_narrower_priors_of_the_default_move_little() {
    let analysis = Analysis::of(data(line(1.0, 1.0)), "y ~ x", &gaussian()).unwrap();
    let fit = analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    let found = analysis.sensitivity(&fit).unwrap();
    for row in &found.rows {
        assert!(row.moves < 0.1 && (row.means[0] - row.means[2]).abs() > 0.0, "{row:?}");
    }
}
