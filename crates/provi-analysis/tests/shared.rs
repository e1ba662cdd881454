//! What a shell relies on: the same fit from a file and from memory, and fits that can be kept whatever they are of.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use provi::fit::Watch;
use provi::target::{Closure, Declared, Evaluator, Glm, Prior};
use provi::{Audit, Curvature, Design, Gaussian, Quadratic, Seed};
use provi_analysis::model::Data;
use provi_analysis::options::{
    AuditOptions, CompiledOptions, Layer, LibraryOptions, ModelOptions, RunOptions,
};
use provi_analysis::record::about::About;
use provi_analysis::record::fit_file::Kind;
use provi_analysis::run::assessment::Assessment;
use provi_analysis::{Analysis, Error, Fitted, Problem};
use provi_table::{Missing, NewLevels, Table, Values};

const CSV: &str =
    "switch,arsenic,town\n1,2.36,Bern\n0,0.71,Basel\n1,2.07,Bern\n1,1.15,Chur\n0,1.1,Basel\n0,,Chur\n";
const FORMULA: &str = "switch ~ arsenic + town";

/// The same rows as [`CSV`], as a data frame has them.
fn frame() -> Table {
    let towns = ["Bern", "Basel", "Bern", "Chur", "Basel", "Chur"].map(|town| Some(town.to_owned()));
    let columns = vec![
        ("switch".to_owned(), Values::Integers([1, 0, 1, 1, 0, 0].map(Some).to_vec())),
        ("arsenic".to_owned(), Values::Numbers(vec![2.36, 0.71, 2.07, 1.15, 1.1, f64::NAN])),
        ("town".to_owned(), Values::Text(towns.to_vec())),
    ];
    Table::from_columns("wells", columns).unwrap()
}

fn csv() -> Data {
    Data::new(CSV.as_bytes().to_vec(), "wells.csv".to_owned())
}

fn fit(data: Data) -> Fitted {
    let analysis = Analysis::of(data, FORMULA, &ModelOptions::default()).unwrap();
    let options = RunOptions { contrasts: vec!["arsenic - town[Bern]".to_owned()], ..RunOptions::default() };
    analysis.fit(&options, &mut Watch::default()).unwrap()
}

fn dense(fit: &Fitted) -> &Gaussian {
    fit.gaussian.as_dense().unwrap()
}

fn saved(fit: &Fitted, dir: &Path) -> Fitted {
    fit.save(dir, false).unwrap();
    Fitted::load(dir).unwrap()
}

/// A logistic regression of matrices.
fn matrices() -> Fitted {
    let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3]).unwrap();
    let glm = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(2.5).unwrap()).unwrap();
    let glm = glm.with_names(vec!["base".to_owned(), "slope".to_owned()]).unwrap();
    let about = About { title: Some("dose and answer".to_owned()), ..About::default() };
    Problem::matrices(&glm, about).fit(&RunOptions::default(), &mut Watch::default()).unwrap()
}

/// A correlated pair, which nobody declares anything about.
fn black_box() -> Fitted {
    let target = Closure::new(2, |z: &[f64], gradient: &mut [f64]| {
        let (a, b) = (z[0] - 1.0, z[1] + 0.5 * z[0]);
        (gradient[0], gradient[1]) = (-a - 0.5 * b, -b);
        -0.5 * (a * a + b * b)
    })
    .unwrap();
    let options = RunOptions { contrasts: vec!["z0 - z1".to_owned()], ..RunOptions::default() };
    let problem = Problem::black_box(Evaluator::Serial(&target), About::default());
    problem.fit(&options, &mut Watch::default()).unwrap()
}

#[test]
fn a_data_frame_is_fitted_as_the_file_it_was_read_from() {
    let (file, memory) = (fit(csv()), fit(Data::from(frame())));
    assert_eq!(file.gaussian, memory.gaussian);
    let mut record = memory.file.clone();
    (record.seconds, record.phases) = (file.file.seconds, file.file.phases);
    (record.model.data, record.model.data_sha256) =
        (file.file.model.data.clone(), file.file.model.data_sha256.clone());
    // A file counts its lines, a frame its rows.
    record.model.rows_sha256.clone_from(&file.file.model.rows_sha256);
    assert_eq!(record, file.file);
    // And is known again in it.
    memory.model(&csv(), false).unwrap();
    let other = Data::new(CSV.replace("2.36", "2.37").into_bytes(), "wells.csv".to_owned());
    assert!(matches!(memory.model(&other, false), Err(Error::OtherData { .. })));
}

#[test]
fn a_given_order_of_levels_makes_the_first_one_the_reference() {
    let town = Values::Categories {
        codes: [0, 2, 0, 1, 2, 1].map(Some).to_vec(),
        levels: ["Bern", "Chur", "Basel"].map(str::to_owned).to_vec(),
        ordered: false,
    };
    let columns = vec![
        ("switch".to_owned(), Values::Booleans([true, false, true, true, false, false].map(Some).to_vec())),
        ("town".to_owned(), town),
    ];
    let table = Table::from_columns("wells", columns).unwrap();
    let analysis = Analysis::new(table, "switch ~ town", &ModelOptions::default()).unwrap();
    let fit = analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    assert_eq!(fit.names(), ["(Intercept)", "town[Chur]", "town[Basel]"]);
}

#[test]
fn a_fit_that_is_loaded_says_what_the_fresh_one_did() {
    for (fresh, kind) in
        [(fit(csv()), Kind::Formula), (matrices(), Kind::Matrix), (black_box(), Kind::BlackBox)]
    {
        let dir = tempfile::tempdir().unwrap();
        let loaded = saved(&fresh, dir.path());
        assert_eq!(loaded.file, fresh.file);
        assert_eq!(loaded.file.model.kind, kind);
        // A covariance goes through its factor once more on the way back: rounding, no more.
        let near =
            |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + a.abs()));
        assert!(near(dense(&loaded).parameters(), dense(&fresh).parameters()));
        let (before, after) = (fresh.summary(0.9).unwrap(), loaded.summary(0.9).unwrap());
        assert_eq!((&before.certificate, &before.contrasts), (&after.certificate, &after.contrasts));
        assert_eq!(loaded.trace(), fresh.trace());
        assert!(matches!(fresh.save(dir.path(), false), Err(Error::FitExists { .. })));
        fresh.save(dir.path(), true).unwrap();
    }
}

#[test]
fn a_summary_is_plain_data() {
    let summary = matrices().summary(0.95).unwrap();
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<provi_analysis::show::summary::Summary>(&text).unwrap(), summary);
    let row = &summary.coefficients[1];
    assert!(row.name == "slope" && row.interval[0] < row.functional.mean && row.digits[0].is_some());
    assert!(matrices().summary(1.5).is_err());
}

#[test]
fn matrices_are_certified_and_say_what_they_are() {
    let fit = matrices();
    assert!(fit.certificate().unwrap().proves_gap(1e-9));
    assert_eq!(fit.file.model.title(), "dose and answer");
    assert_eq!(fit.file.model.prior, ["normal(0, 2.5) on every coefficient"]);
    assert!(fit.file.checks.is_some() && fit.notes().is_empty());
    let words = fit.certificate_words().unwrap();
    assert!(words.statements.len() == 5 && words.statements[0].value.is_some(), "{words:?}");
    let page = fit.html(0.95, "").unwrap();
    assert!(page.contains("dose and answer") && page.contains("bernoulli"));
}

#[test]
fn the_noise_of_matrices_is_a_condition() {
    let design = Design::dense(3, 1, &[1.0, 1.0, 1.0]).unwrap();
    let glm = Glm::linear(design, &[0.5, 1.5, 1.0], 0.5, Prior::scale(2.5).unwrap()).unwrap();
    let fit =
        Problem::matrices(&glm, About::default()).fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    assert_eq!(fit.notes(), ["for noise sd = 0.5 as given"]);
}

#[test]
fn a_black_box_claims_no_more_than_is_proved() {
    let fit = black_box();
    let certificate = fit.certificate().unwrap();
    assert!(certificate.gap.bound().is_none() && certificate.gap.reason().is_some());
    assert!(fit.file.estimates.as_ref().unwrap().kl.is_some_and(|kl| kl < 0.01));
    let summary = fit.summary(0.95).unwrap();
    assert_eq!(summary.contrasts[0].name, "z0 - z1");
    assert!((summary.coefficients[0].functional.mean - 1.0).abs() < 0.1, "{summary:?}");
    assert!(fit.html(0.95, "").unwrap().contains("black box"));
}

#[test]
fn estimates_cost_nothing_where_the_audit_has_made_their_draws() {
    let calls = AtomicU64::new(0);
    let target = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
        calls.fetch_add(1, Relaxed);
        gradient[0] = -z[0] - 0.2 * z[0].tanh();
        -0.5 * z[0] * z[0] - 0.2 * z[0].cosh().ln()
    })
    .unwrap();
    let curvature = Curvature::declared(1, Quadratic::Scalar(1.0), Some(Quadratic::Scalar(1.2))).unwrap();
    let (target, q) = (Declared::new(target).with_curvature(curvature).unwrap(), Gaussian::standard(1));
    let of = |draws: u64| {
        let audit = Audit { draws, price: 1e-3, ..Audit::default() };
        let audited = audit.run(Evaluator::Serial(&target), &q, Seed(1)).unwrap();
        let before = calls.load(Relaxed);
        let assessment = Assessment::of(&audited, Evaluator::Serial(&target), &q, Seed(1));
        (calls.load(Relaxed) - before, assessment.estimates.unwrap())
    };
    let ((none, own), (all, fresh)) = (of(5_000), of(400));
    // The witnesses of the verdict make the same draws in both.
    assert_eq!((all - none, own.draws, fresh.draws), (4_000, 5_000, 4_000));
    let error = own.log_evidence_se.hypot(fresh.log_evidence_se);
    assert!((own.log_evidence - fresh.log_evidence).abs() < 5.0 * error);
}

#[test]
fn new_rows_of_a_table_and_of_its_design_are_predicted_alike() {
    let fit = fit(Data::from(frame()));
    let new = fit.new_data(&frame(), NewLevels::Refuse, Missing::Drop).unwrap();
    let by_table = new.predict(0.9).unwrap();
    assert_eq!((by_table.len(), new.dropped.rows, &new.lines[..]), (5, 1, &[1, 2, 3, 4, 5][..]));
    assert!(new.probability_error().is_some_and(|tv| tv < 1.0));
    let rows = [2.36, 1.0, 0.0, 0.71, 0.0, 0.0, 2.07, 1.0, 0.0, 1.15, 0.0, 1.0, 1.1, 0.0, 0.0];
    let rows: Vec<f64> = rows.chunks(3).flat_map(|row| [1.0, row[0], row[1], row[2]]).collect();
    let design = fit.new_design(Design::dense(5, 4, &rows).unwrap(), None).unwrap();
    assert_eq!(design.predict(0.9).unwrap(), by_table);
    assert_eq!(design.responses(3, Seed(1)).unwrap(), new.responses(3, Seed(1)).unwrap());
}

#[test]
fn what_needs_a_formula_is_refused_without_one() {
    let fit = matrices();
    let said = fit.new_data(&frame(), NewLevels::Refuse, Missing::Error).unwrap_err().to_string();
    assert_eq!(said, "the fit is of a matrix, not of a formula, so no table can be put into it");
    assert!(matches!(fit.model(&csv(), true), Err(Error::NotOfFormula { .. })));
    let design = || Design::dense(1, 2, &[1.0, 0.2]).unwrap();
    assert!(fit.new_design(design(), None).unwrap().predict(0.95).unwrap()[0].mean < 1.0);
    assert!(matches!(black_box().new_design(design(), None), Err(Error::UnknownModel { .. })));
}

#[test]
fn a_contrast_can_be_asked_for_afterwards() {
    let fit = matrices();
    let row = fit.contrast("slope - base", 0.95).unwrap();
    let covariance = dense(&fit).covariance();
    let variance = covariance[(0, 0)] + covariance[(1, 1)] - 2.0 * covariance[(0, 1)];
    assert!((row.functional.sd - variance.sqrt()).abs() < 1e-12);
    assert!(row.functional.mean_error.bound().is_some());
    assert!(matches!(fit.contrast("slope - dose", 0.95), Err(Error::Contrast { .. })));
}

#[test]
fn draws_are_those_of_the_gaussian() {
    let fit = matrices();
    assert_eq!(fit.sample(7, Seed(3)).unwrap(), fit.gaussian.sample(7, Seed(3)));
    let files = fit.zarr(8, Seed(3)).unwrap();
    assert!(files.iter().any(|(path, _)| path == "posterior/beta/zarr.json"));
}

#[test]
fn an_answer_found_elsewhere_is_kept_with_what_is_proved_about_it() {
    let analysis = Analysis::of(csv(), FORMULA, &ModelOptions::default()).unwrap();
    let ours = analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    let given =
        analysis.problem().certify(&ours.gaussian, &RunOptions::default(), &mut Watch::default()).unwrap();
    assert_eq!(given.certificate().unwrap().gap, ours.certificate().unwrap().gap);
    assert_eq!((given.file.neg_elbo, given.file.method.as_str()), (ours.file.neg_elbo, "given"));
    // A wider one is worse, and said to be.
    let wide: Vec<f64> = dense(&ours).factor().iter().map(|c| 3.0 * c).collect();
    let wide = Gaussian::new(ours.gaussian.mean(), &wide).unwrap().into();
    let given = analysis.problem().certify(&wide, &RunOptions::default(), &mut Watch::default()).unwrap();
    assert!(!given.certificate().unwrap().proves_gap(0.1));
    assert!(given.file.neg_elbo > ours.file.neg_elbo + 1.0);
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(saved(&given, dir.path()).file, given.file);
    let other = Gaussian::standard(2);
    assert!(matches!(
        analysis.problem().certify(&other.into(), &RunOptions::default(), &mut Watch::default()),
        Err(Error::Library(_))
    ));
}

#[test]
fn a_prior_in_memory_is_the_populations() {
    let q = Gaussian::new(&[0.0, 1.0], &[1.0, 0.2, 0.5]).unwrap();
    let of =
        |prior: &Gaussian| Analysis::with_prior(csv(), "switch ~ arsenic", &ModelOptions::default(), prior);
    let fit = of(&q).unwrap().fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    assert_eq!(fit.file.model.prior, ["normal, with a given mean and covariance"]);
    assert!((fit.file.model.prior_mean[1] - 1.0).abs() < 1e-12);
    // The file has it, and makes the same model again.
    let again = fit.model(&csv(), false).unwrap();
    let given =
        Problem::model(&again).certify(&fit.gaussian, &RunOptions::default(), &mut Watch::default()).unwrap();
    assert!(given.certificate().unwrap().proves_gap(1e-9));
    assert!(matches!(of(&Gaussian::standard(3)), Err(Error::Library(provi::Error::Shape { found: 3, .. }))));
}

#[test]
fn analyses_and_fits_go_between_threads() {
    fn goes<T: Send>() {}
    fn check<T: Send + Sync>() {}
    // One thread after the other: a pass over files is not to be interleaved with another.
    goes::<Analysis>();
    check::<Fitted>();
    check::<Error>();
}

#[test]
fn a_kept_fit_is_found_out_again_and_a_false_one_is_caught() {
    let fit = fit(csv());
    let analysis = Analysis::of(Data::from(frame()), FORMULA, &ModelOptions::default()).unwrap();
    let audit = AuditOptions::default();
    let found = analysis.problem().recheck(&fit, &audit, Some(1)).unwrap();
    assert!(found.is_reproduced() && found.claims.len() > 4, "{:?}", found.claims);
    assert_eq!(found.seed, Seed(1));
    // Nobody can know the seed of the next check.
    let fresh = |_| analysis.problem().recheck(&fit, &audit, None).unwrap().seed;
    let [first, second] = [0, 1].map(fresh);
    assert_ne!(first, second);
    // Nobody writes a claim but in a file.
    let mut forged: serde_json::Value = serde_json::from_str(&fit.file.to_json()).unwrap();
    forged["certificate"]["kl"]["bound"] = 1e-9.into();
    let mut better = fit.clone();
    better.file = serde_json::from_value(forged).unwrap();
    assert!(!analysis.problem().recheck(&better, &audit, Some(1)).unwrap().is_reproduced());
    assert!(matches!(
        analysis.problem().recheck(&matrices(), &audit, None),
        Err(Error::OtherCoefficients { .. })
    ));
}

#[test]
fn options_that_speak_for_each_other_are_hidden_together() {
    let path = |name: &str| Some(name.into());
    let below = CompiledOptions {
        library: LibraryOptions {
            stan: path("m.stan"),
            mu: Some(1.0),
            smoothness: Some(4.0),
            bridgestan: path("bs"),
            ..LibraryOptions::default()
        },
        init: path("init.json"),
        ..CompiledOptions::default()
    };
    let above = |library| CompiledOptions { library, ..CompiledOptions::default() }.over(below.clone());
    // A library of the other kind, and a lower bound without an upper one.
    let both = above(LibraryOptions { library: path("d.so"), mu: Some(2.0), ..LibraryOptions::default() });
    assert_eq!((both.library.stan, both.library.library), (None, path("d.so")));
    assert_eq!((both.library.mu, both.library.smoothness), (Some(2.0), None));
    assert_eq!((both.library.bridgestan, both.init), (path("bs"), path("init.json")));
    assert_eq!(above(LibraryOptions::default()), below);
    // A covariance says the whole prior.
    let prior = ModelOptions {
        prior_scale: Some(1.0),
        standardize: true,
        offset: Some("x".to_owned()),
        ..ModelOptions::default()
    };
    let covariance = ModelOptions { prior_covariance: path("cov.csv"), ..ModelOptions::default() };
    let both = covariance.clone().over(prior);
    assert_eq!(both, ModelOptions { offset: Some("x".to_owned()), ..covariance });
}
