//! A fit as the prior of the next one.

use std::path::{Path, PathBuf};

use provi::fit::Watch;
use provi_analysis::model::Data;
use provi_analysis::options::{ModelOptions, RunOptions};
use provi_analysis::{Analysis, Fitted};

/// Rows of a table with the columns y, x, z, town, b (0 or 1), n and t; a fixed rule gives the numbers.
fn rows(range: std::ops::Range<u32>, towns: &[&str]) -> String {
    let row = |n: u32| {
        let noise = |k: u32| f64::from((n * 7919 + k * 104_729) % 997) / 997.0 - 0.5;
        let (x, z) = (0.3 * f64::from(n % 11) + noise(1), 5.0 + 2.0 * noise(2));
        let town = towns[n as usize % towns.len()];
        let y = 1.0 + 0.5 * x - 0.2 * z + 0.6 * noise(3) + if town == "Bern" { 0.3 } else { 0.0 };
        let b = u32::from(y + noise(4) > 0.9);
        let count = (3.0 + y + noise(5)).abs().round();
        let time = (0.4 * x + noise(6)).exp() * 40.0;
        format!("{y},{x},{z},{town},{b},{count},{time}\n")
    };
    range.map(row).collect()
}

fn table(range: std::ops::Range<u32>) -> Data {
    towns(range, &["Basel", "Bern"])
}

fn towns(range: std::ops::Range<u32>, towns: &[&str]) -> Data {
    Data::new(format!("y,x,z,town,b,n,t\n{}", rows(range, towns)).into_bytes(), "t.csv".to_owned())
}

fn linear() -> ModelOptions {
    ModelOptions { family: "gaussian".parse().ok(), noise_sd: Some(0.5), ..ModelOptions::default() }
}

fn wide() -> ModelOptions {
    ModelOptions { prior: vec!["normal(0, 3)".parse().unwrap()], ..linear() }
}

fn fit(data: Data, formula: &str, options: &ModelOptions) -> Fitted {
    Analysis::of(data, formula, options).unwrap().fit(&RunOptions::default(), &mut Watch::default()).unwrap()
}

/// A fit in a folder.
fn kept(dir: &Path, data: Data, formula: &str, options: &ModelOptions) -> PathBuf {
    let at = dir.join(format!("{}.fit", dir.read_dir().unwrap().count()));
    fit(data, formula, options).save(&at, false).unwrap();
    at
}

fn after(path: &Path, options: ModelOptions) -> ModelOptions {
    ModelOptions { prior_from: Some(path.to_owned()), ..options }
}

fn refused(data: Data, formula: &str, options: &ModelOptions) -> String {
    Analysis::of(data, formula, options).err().map_or("accepted".to_owned(), |error| error.to_string())
}

/// The largest differences of means and of covariances, in units of the second one's sds.
fn distance(a: &Fitted, b: &Fitted) -> f64 {
    let (p, q) = (a.dense("a test").unwrap(), b.dense("a test").unwrap());
    let (own, other) = (p.covariance(), q.covariance());
    let sd = |i: usize| other[(i, i)].sqrt();
    let mut most = 0.0f64;
    for i in 0..q.dim() {
        most = most.max((p.mean()[i] - q.mean()[i]).abs() / sd(i));
        for j in 0..q.dim() {
            most = most.max((own[(i, j)] - other[(i, j)]).abs() / (sd(i) * sd(j)));
        }
    }
    most
}

#[test]
fn half_after_half_is_the_whole_for_a_linear_model_with_known_noise() {
    let dir = tempfile::tempdir().unwrap();
    let formula = "y ~ x * town + z";
    let first = kept(dir.path(), table(0..40), formula, &wide());
    let second = fit(table(40..90), formula, &after(&first, linear()));
    let whole = fit(table(0..90), formula, &wide());
    assert!(distance(&second, &whole) < 1e-9, "{}", distance(&second, &whole));
    // The halves alone are elsewhere, so that the equality means something.
    let alone = fit(table(40..90), formula, &wide());
    assert!(distance(&alone, &whole) > 0.1, "{}", distance(&alone, &whole));
    // The evidence of the whole is that of the first times that of the second given the first.
    let evidence = |fitted: &Fitted| -fitted.file.neg_elbo;
    let parts = evidence(&fit(table(0..40), formula, &wide())) + evidence(&second);
    assert!((parts - evidence(&whole)).abs() < 1e-7, "{parts} {}", evidence(&whole));
}

#[test]
fn columns_keep_the_constants_of_the_first_data() {
    let dir = tempfile::tempdir().unwrap();
    let first = kept(dir.path(), table(0..40), "y ~ scale(x) + poly(z, 2)", &wide());
    let second = fit(table(40..90), "y ~ scale(x) + poly(z, 2)", &after(&first, linear()));
    let old = Fitted::load(&first).unwrap().file.model.recipe.unwrap();
    assert_eq!(second.file.model.recipe.as_ref().unwrap().population, old.population);
    // The same by hand: with those constants in the formula, the whole table at once.
    let first = kept(dir.path(), table(0..40), "y ~ scale(x)", &wide());
    let second = fit(table(40..90), "y ~ scale(x)", &after(&first, linear()));
    let recipe = Fitted::load(&first).unwrap().file.model.recipe.unwrap();
    let provi_table::CodedFactor::Scaled { mean, sd, .. } = &recipe.population.terms[0].factors[0] else {
        panic!("scale(x) is scaled")
    };
    let whole = fit(table(0..90), &format!("y ~ I((x - {mean}) / {sd})"), &wide());
    assert!(distance(&second, &whole) < 1e-9, "{}", distance(&second, &whole));
    // Made again from its record alone, it is the same model.
    std::fs::remove_dir_all(&first).unwrap();
    let again = second.model(&table(40..90), false).unwrap();
    assert_eq!(again.recipe, *second.file.model.recipe.as_ref().unwrap());
    assert_eq!(again.prior_lines(), second.file.model.prior);
    let z = second.file.mean.clone();
    let mut pull = vec![0.0; z.len()];
    let at = again.target.target().log_density(&z, &mut pull);
    assert!(pull.iter().all(|slope| slope.abs() < 1e-6), "{pull:?} at {at:?}");
}

#[test]
fn what_the_prior_is_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let options = ModelOptions::default();
    let first = kept(dir.path(), table(0..40), "b ~ x + town", &options);
    let second = fit(table(40..90), "b ~ x + town", &after(&first, options.clone()));
    let lines = second.file.model.prior.join("\n");
    assert!(lines.contains("(b ~ x + town; 40 rows), on (Intercept), x, town[Bern]"), "{lines}");
    assert!(lines.contains("KL(q‖posterior) ≤") && lines.contains("total variation ≤"), "{lines}");
    assert!(lines.contains("about the posterior under this prior"), "{lines}");
    assert!(!lines.contains("not in") && !lines.contains("groups"), "{lines}");
    let from = second.file.model.prior_from.as_ref().unwrap();
    let sha256 = provi_analysis::record::fit_file::sha256(&std::fs::read(first.join("fit.json")).unwrap());
    assert_eq!(from.sha256, sha256);
    assert!(second.certificate().unwrap().kl.bound().is_some());
    // Its own data once more would count twice.
    let twice = fit(table(0..40), "b ~ x + town", &after(&first, options));
    assert!(twice.file.model.warnings.iter().any(|warning| warning.contains("they count twice")));
}

#[test]
fn columns_that_the_fit_has_not_have_priors_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let first = kept(dir.path(), table(0..40), "y ~ x + town", &wide());
    let more = || towns(40..90, &["Basel", "Bern", "Genf"]);
    let second = fit(more(), "y ~ x + z + town", &after(&first, linear()));
    let from = second.file.model.prior_from.as_ref().unwrap();
    assert_eq!(from.columns, ["(Intercept)", "x", "town[Bern]"]);
    assert_eq!(from.left_out, [""; 0]);
    assert_eq!(from.new.len(), 2);
    assert!(from.new[0].ends_with("on z from the mean of its column"), "{:?}", from.new);
    assert!(from.new[1].ends_with("on town[Genf]"), "{:?}", from.new);
    // z may begin anywhere.
    let shifted = fit(more(), "y ~ x + I(z - 100) + town", &after(&first, linear()));
    assert!((shifted.file.neg_elbo - second.file.neg_elbo).abs() < 1e-6);
    // A prior of a new column may be given.
    let own = ModelOptions { prior: vec!["z=normal(1, 2)".parse().unwrap()], ..linear() };
    let own = fit(more(), "y ~ x + z + town", &after(&first, own));
    assert!(own.file.model.prior_from.unwrap().new[0].starts_with("normal(1, 2) on z"));
    // A level that is gone is integrated out; a term that is gone, or that shares a column, would change what the others mean.
    let three = kept(dir.path(), more(), "y ~ x + town", &wide());
    let fewer = fit(table(0..40), "y ~ x + town", &after(&three, linear()));
    assert_eq!(fewer.file.model.prior_from.as_ref().unwrap().left_out, ["town[Genf]"]);
    let said = refused(more(), "y ~ town", &after(&first, linear()));
    assert!(said.contains("has the term `x`, which this formula has not"), "{said}");
    let said = refused(more(), "y ~ x + town + x:z", &after(&first, linear()));
    assert!(said.contains("no term `x:z`, which shares `x`"), "{said}");
}

#[test]
fn a_mixture_over_scales_gives_its_mean_and_covariance() {
    let dir = tempfile::tempdir().unwrap();
    let options = ModelOptions { family: "gaussian".parse().ok(), ..ModelOptions::default() };
    let first = kept(dir.path(), table(0..40), "y ~ x + (1 | town)", &options);
    let old = Fitted::load(&first).unwrap();
    let second = fit(table(40..90), "y ~ x + (1 | town)", &after(&first, options));
    let model = &second.file.model;
    assert!(model.prior_from.as_ref().unwrap().mixture);
    let lines = model.prior.join("\n");
    assert!(
        lines.contains("without a proved distance") && lines.contains("keep their own priors"),
        "{lines}"
    );
    let covariance = model.prior_covariance.as_ref().unwrap();
    assert_eq!(covariance.len(), 2);
    let expected = old.file.covariance.as_ref().unwrap();
    for i in 0..2 {
        assert!((model.prior_mean[i] - old.file.mean[i]).abs() < 1e-12);
        for j in 0..2 {
            assert!((covariance[i][j] - expected[i][j]).abs() < 1e-12);
        }
    }
    // With a link that is not the identity, group effects change what a coefficient means.
    let plain = kept(dir.path(), table(0..40), "b ~ x", &ModelOptions::default());
    let grouped =
        Analysis::of(table(40..90), "b ~ x + (1 | town)", &after(&plain, ModelOptions::default())).unwrap();
    assert!(
        grouped.model().warnings.iter().any(|said| said.contains("not those of the average over groups"))
    );
    // The scales have priors of their own, and are integrated over.
    assert!(second.mixture.is_some() && model.scales.iter().all(|scale| scale.prior.is_some()));
}

#[test]
fn times_keep_the_unit_on_which_the_intercept_depends() {
    let dir = tempfile::tempdir().unwrap();
    let options = ModelOptions { family: "exponential".parse().ok(), ..ModelOptions::default() };
    let first = kept(dir.path(), table(0..40), "surv(t, b) ~ x", &options);
    let unit = Fitted::load(&first).unwrap().file.model.time_unit;
    let longer: String = rows(40..90, &["Basel"])
        .lines()
        .map(|line| {
            let (rest, time) = line.rsplit_once(',').unwrap();
            format!("{rest},{}\n", 30.0 * time.parse::<f64>().unwrap())
        })
        .collect();
    let longer = || Data::new(format!("y,x,z,town,b,n,t\n{longer}").into_bytes(), "t.csv".to_owned());
    let own = fit(longer(), "surv(t, b) ~ x", &options).file.model.time_unit;
    let second = fit(longer(), "surv(t, b) ~ x", &after(&first, options));
    assert!(own != unit && second.file.model.time_unit == unit, "{own:?} {unit:?}");
    assert_eq!(second.model(&longer(), false).unwrap().family.time_unit(), unit);
}

#[test]
fn a_fit_of_another_meaning_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let counts = ModelOptions { family: "poisson".parse().ok(), ..ModelOptions::default() };
    let first = kept(dir.path(), table(0..40), "y ~ x + town", &wide());
    let refuse =
        |formula: &str, options: ModelOptions| refused(table(40..90), formula, &after(&first, options));
    let said = refuse("z ~ x + town", linear());
    assert!(said.contains("about the response `y`, and this model about `z`"), "{said}");
    assert!(refuse("y ~ 0 + x", linear()).contains("it has an intercept"), "intercept");
    let other = ModelOptions { reference: vec!["town=Bern".parse().unwrap()], ..linear() };
    let said = refuse("y ~ town", other);
    assert!(
        said.contains("`town` against the level `Basel` in it, `town` against the level `Bern`"),
        "{said}"
    );
    let said = refuse("y ~ x", ModelOptions { offset: Some("z".to_owned()), ..linear() });
    assert!(said.contains("nothing in it and offset(z) here"), "{said}");
    let said = refuse("y ~ x", ModelOptions { standardize: true, ..linear() });
    assert!(said.contains("standardize"), "{said}");
    let said = refuse("y ~ x", wide());
    assert!(said.contains("prior 'normal(0, 3)' is about `(Intercept)`"), "{said}");
    let said = refuse("y ~ x", ModelOptions { prior_scale: Some(2.0), ..linear() });
    assert!(said.contains("leave one of the two out"), "{said}");
    let binary = kept(dir.path(), table(0..40), "b ~ x", &ModelOptions::default());
    let probit = ModelOptions { family: "probit".parse().ok(), ..ModelOptions::default() };
    let said = refused(table(40..90), "b ~ x", &after(&binary, probit));
    assert!(said.contains("the logit of a probability (family bernoulli)"), "{said}");
    // Counts with and without varying rates have the same log mean.
    let poisson = kept(dir.path(), table(0..40), "n ~ x", &counts);
    let varying =
        ModelOptions { family: "negbinomial".parse().ok(), noise_sd: Some(0.5), ..ModelOptions::default() };
    assert!(Analysis::of(table(40..90), "n ~ x", &after(&poisson, varying)).is_ok());
    let alone = kept(dir.path(), table(0..40), "y ~ 0 + x", &wide());
    let said = refused(table(40..90), "y ~ 0 + z", &after(&alone, linear()));
    assert!(said.contains("none of its columns is in this model"), "{said}");
    let said = refused(table(40..90), "y ~ x", &after(&dir.path().join("nowhere"), linear()));
    assert!(said.contains("cannot be read"), "{said}");
    let csv = dir.path().join("prior.csv");
    std::fs::write(&csv, "name,mean,(Intercept),x\n(Intercept),0,1,0\nx,0,0,1\n").unwrap();
    let said = refused(table(40..90), "y ~ x", &after(&csv, linear()));
    assert!(said.contains("prior-covariance"), "{said}");
}
