//! A q with a sparse factor, and the same with a dense one: the same answer, files that come back, claims that are checked.

use std::path::Path;

use provi::Seed;
use provi::fit::Watch;
use provi::sparse::NormalLaw;
use provi_analysis::model::Data;
use provi_analysis::options::{AuditOptions, FactorName, ModelOptions, RunOptions, StepOptions};
use provi_analysis::{Analysis, Error, Fitted};
use provi_table::{Missing, NewLevels, Table, Values};

const FORMULA: &str = "y ~ x + (1 | g)";

/// Sixty rows of ten groups.
fn data() -> Data {
    let mut text = "y,x,g\n".to_owned();
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for n in 0..60 {
        let (x, g) = (3.0 * uniform() - 1.0, n % 10);
        let p = 1.0 / (1.0 + (-(0.8 * x + (f64::from(g) - 4.5) / 4.0)).exp());
        text.push_str(&format!("{},{x:.4},g{g}\n", u8::from(uniform() < p)));
    }
    Data::new(text.into_bytes(), "groups.csv".to_owned())
}

fn model(factor: FactorName, scale: Option<&str>) -> ModelOptions {
    ModelOptions {
        factor: Some(factor),
        group_scale: scale.map(|scale| scale.parse().unwrap()).into_iter().collect(),
        ..ModelOptions::default()
    }
}

fn fit(factor: FactorName, scale: Option<&str>) -> Fitted {
    let analysis = Analysis::of(data(), FORMULA, &model(factor, scale)).unwrap();
    let options = RunOptions { contrasts: vec!["x - 2*(Intercept)".to_owned()], ..RunOptions::default() };
    analysis.fit(&options, &mut Watch::default()).unwrap()
}

fn saved(fit: &Fitted, dir: &Path) -> Fitted {
    fit.save(dir, false).unwrap();
    Fitted::load(dir).unwrap()
}

fn near(a: &[f64], b: &[f64], room: f64) {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() <= room, "{a} {b}"));
}

fn new_rows() -> Table {
    let groups = ["g1", "g7", "new"].map(|g| Some(g.to_owned()));
    let columns = vec![
        ("x".to_owned(), Values::Numbers(vec![0.3, -1.0, 2.0])),
        ("g".to_owned(), Values::Text(groups.to_vec())),
    ];
    Table::from_columns("new", columns).unwrap()
}

#[test]
fn a_sparse_factor_gives_the_dense_answer_and_comes_back_from_its_file() {
    let (dense, sparse) = (fit(FactorName::Dense, Some("0.8")), fit(FactorName::Sparse, Some("0.8")));
    assert!(dense.gaussian.as_sparse().is_none() && sparse.gaussian.as_sparse().is_some());
    let ([mean, sd], [other_mean, other_sd]) = (dense.moments().unwrap(), sparse.moments().unwrap());
    near(&mean, &other_mean, 1e-5);
    near(&sd, &other_sd, 1e-5);
    assert!((dense.file.neg_elbo - sparse.file.neg_elbo).abs() < 1e-8);
    let certificate = sparse.certificate().unwrap();
    assert_eq!(certificate.gap.key(), Some("sparse-optimum"));
    assert!(certificate.gap.bound().unwrap() < 1e-9 && certificate.kl.bound().is_none());
    assert!((certificate.evidence.lower().unwrap() + sparse.file.neg_elbo).abs() < 1e-8);
    near(
        &[dense.file.contrasts[0].functional.mean, dense.file.contrasts[0].functional.sd],
        &[sparse.file.contrasts[0].functional.mean, sparse.file.contrasts[0].functional.sd],
        1e-5,
    );
    let dir = tempfile::tempdir().unwrap();
    let loaded = saved(&sparse, dir.path());
    assert_eq!(loaded.file.factor_file.as_deref(), Some("factor.sparse"));
    assert!(loaded.file.covariance.is_none());
    assert_eq!(loaded.gaussian, sparse.gaussian);
    assert_eq!(loaded.file.mean, sparse.file.mean);
    assert_eq!(loaded.file.certificate, sparse.file.certificate);
    // Predictions, draws, the table and the page are made from it.
    let predicted = |fit: &Fitted| {
        let new = fit.new_data(&new_rows(), NewLevels::Population, Missing::Error).unwrap();
        new.predict(0.9).unwrap().iter().flat_map(|at| [at.mean, at.low, at.high]).collect::<Vec<f64>>()
    };
    near(&predicted(&dense), &predicted(&loaded), 1e-5);
    assert_eq!(loaded.sample(3, Seed(1)).unwrap().columns(), 12);
    let table = loaded.summary(0.95).unwrap();
    assert_eq!(table.coefficients.len(), 12);
    near(&[table.coefficients[4].functional.sd], &[loaded.gaussian.deviation(4)], 1e-12);
    assert!(loaded.html(0.95, "").unwrap().contains("sparse-optimum"));
    assert!(!loaded.zarr(8, Seed(1)).unwrap().is_empty());
    let dense_again = loaded.dense("a test").unwrap();
    near(&dense_again.standard_deviations(), &other_sd, 1e-8);
    // A factor that was changed is refused by its digest.
    let path = dir.path().join("factor.sparse");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let said = Fitted::load(dir.path()).unwrap_err().to_string();
    assert!(said.contains("factor.sparse"), "{said}");
}

#[test]
fn the_claims_of_a_sparse_fit_are_checked_without_draws() {
    let mut fit = fit(FactorName::Sparse, Some("0.8"));
    let model = fit.model(&data(), false).unwrap();
    assert!(model.target.sparse().is_some(), "the file says how q is held");
    let problem = || provi_analysis::Problem::model(&model);
    let found = problem().recheck(&fit, &AuditOptions::default(), None).unwrap();
    assert!(found.is_reproduced(), "{:?}", found.claims);
    // A moved mean, a better ELBO, a smaller gap: each is found out.
    let spoil: [fn(&mut Fitted); 4] = [
        |fit| fit.file.mean[0] += 1e-6,
        |fit| fit.file.neg_elbo -= 1e-3,
        |fit| fit.file.model.rows += 1,
        |fit| fit.file.contrasts[0].functional.mean += 1e-3,
    ];
    for change in spoil {
        let mut wrong = fit.clone();
        change(&mut wrong);
        let found = problem().recheck(&wrong, &AuditOptions::default(), None).unwrap();
        assert!(!found.is_reproduced(), "{:?}", found.claims);
    }
    // A Gaussian that is not the best one does not have the stored gap.
    let other = at_another_scale();
    fit.gaussian = other.gaussian;
    assert!(!problem().recheck(&fit, &AuditOptions::default(), None).unwrap().is_reproduced());
    let certify = |q| problem().certify(q, &RunOptions::default(), &mut Watch::default());
    match certify(&fit.gaussian) {
        Ok(given) => assert!(given.certificate().unwrap().gap.bound().unwrap() > 1e-3),
        // Other scales may have other units.
        Err(error) => assert!(matches!(error, Error::OtherFactor), "{error}"),
    }
    let dense = fit.dense("a test").unwrap().into_owned().into();
    assert!(matches!(certify(&dense), Err(Error::OtherFactor)));
}

/// The fit at another scale of the groups.
fn at_another_scale() -> Fitted {
    let analysis = Analysis::of(data(), FORMULA, &model(FactorName::Sparse, Some("0.4"))).unwrap();
    analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap()
}

#[test]
fn scales_are_integrated_over_the_sparse_solver_and_kept_in_one_file() {
    let (dense, sparse) = (fit(FactorName::Dense, None), fit(FactorName::Sparse, None));
    let (a, b) = (dense.mixture.as_ref().unwrap(), sparse.mixture.as_ref().unwrap());
    // The dense one adds an estimate of the KL at each value of the scale; of so small a model it changes little.
    let spread = a.scale_sd(0).unwrap();
    assert!((a.scale_mean(0).unwrap() - b.scale_mean(0).unwrap()).abs() < 0.2 * spread);
    let ([mean, sd], [other_mean, _]) = (dense.moments().unwrap(), sparse.moments().unwrap());
    mean.iter().zip(&other_mean).zip(&sd).for_each(|((a, b), sd)| assert!((a - b).abs() < 0.1 * sd));
    let dir = tempfile::tempdir().unwrap();
    let loaded = saved(&sparse, dir.path());
    assert!(dir.path().join("mixture.sparse").exists());
    assert_eq!(loaded.mixture, sparse.mixture);
    assert_eq!(loaded.moments().unwrap(), sparse.moments().unwrap());
    let new = loaded.new_data(&new_rows(), NewLevels::Population, Missing::Error).unwrap();
    assert!(new.predict(0.9).unwrap().iter().all(|at| at.low < at.mean && at.mean < at.high));
    assert_eq!(loaded.draw_part(0..5, Seed(2)).unwrap().columns(), 13);
    let model = loaded.model(&data(), false).unwrap();
    let problem = provi_analysis::Problem::model(&model);
    let found = problem.recheck(&loaded, &AuditOptions::default(), None).unwrap();
    assert!(found.is_reproduced(), "{:?}", found.claims);
    let mut wrong = loaded.clone();
    wrong.file.mean[1] += 0.01;
    assert!(!problem.recheck(&wrong, &AuditOptions::default(), None).unwrap().is_reproduced());
}

#[test]
fn what_needs_a_dense_factor_says_so() {
    let analysis = Analysis::of(data(), FORMULA, &model(FactorName::Sparse, Some("0.8"))).unwrap();
    let step = StepOptions { family_of_q: Some("meanfield".parse().unwrap()), ..StepOptions::default() };
    let options = RunOptions { step, ..RunOptions::default() };
    let said = analysis.fit(&options, &mut Watch::default()).unwrap_err();
    assert!(matches!(said, Error::SparseFactor { .. }), "{said}");
    assert!(said.to_string().contains("--factor"), "{said}");
    // Without groups a sparse factor is one front, and no mistake.
    let alone = Analysis::of(data(), "y ~ x", &model(FactorName::Sparse, None)).unwrap();
    let found = alone.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    assert!(found.gaussian.as_sparse().is_some());
}
