//! The keys of fit.json, with their types, held to a list: keys are added, never renamed, removed or of another type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use provi::fit::{Snapshot, Watch};
use provi::target::{Closure, Declared, Evaluator};
use provi::{Curvature, Gaussian, Quadratic};
use provi_analysis::model::Data;
use provi_analysis::options::{FamilyName, ModelOptions, RunOptions, StepOptions};
use provi_analysis::record::about::About;
use provi_analysis::record::fit_file::FitFile;
use provi_analysis::record::library::{ConstrainedRecord, LibraryRecord};
use provi_analysis::run::robust::RobustAsked;
use provi_analysis::{Analysis, Problem};
use serde_json::{Value, json};

/// A path such as `model.scales[].name`, with the types that were seen there.
type Schema = BTreeMap<String, BTreeSet<String>>;

fn walk(value: &Value, at: &str, found: &mut Schema) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "table",
    };
    found.entry(at.to_owned()).or_default().insert(kind.to_owned());
    match value {
        Value::Array(all) => all.iter().for_each(|each| walk(each, &format!("{at}[]"), found)),
        Value::Object(all) => all.iter().for_each(|(key, each)| walk(each, &format!("{at}.{key}"), found)),
        _ => {}
    }
}

fn schema_of(files: &[Value]) -> Schema {
    let mut found = Schema::new();
    files.iter().for_each(|file| walk(file, "", &mut found));
    found
}

fn text(schema: &Schema) -> String {
    schema.iter().fold(String::new(), |mut text, (path, kinds)| {
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let _ = writeln!(text, "{}: {}", if path.is_empty() { "." } else { path }, kinds.join(" or "));
        text
    })
}

fn read(text: &str) -> Schema {
    let lines = text.lines().filter_map(|line| line.rsplit_once(": "));
    let kinds = |kinds: &str| kinds.split(" or ").map(str::to_owned).collect();
    lines
        .map(|(path, all)| {
            (path.strip_prefix(".").filter(|p| p.is_empty()).unwrap_or(path).to_owned(), kinds(all))
        })
        .collect()
}

/// What readers of old files would stumble over: keys that are gone, and keys of another type. That a value may be null, or
/// no longer is, depends on the fits.
fn broken(stored: &Schema, found: &Schema) -> Vec<String> {
    let said = |kinds: &BTreeSet<String>| -> BTreeSet<String> {
        kinds.iter().filter(|kind| *kind != "null").cloned().collect()
    };
    let complaint = |(path, was): (&String, &BTreeSet<String>)| match found.get(path) {
        None => Some(format!("{path} is gone")),
        Some(is) if said(was).is_empty() || said(is).is_empty() || said(is) == said(was) => None,
        Some(is) => Some(format!("{path} was {}, and is {}", join(was), join(is))),
    };
    stored.iter().filter_map(complaint).collect()
}

fn join(kinds: &BTreeSet<String>) -> String {
    kinds.iter().cloned().collect::<Vec<_>>().join(" or ")
}

const TABLE: &str = "y,x,z,town,w,t,n,cured\n1,2.4,0.1,Bern,1,1,3,yes\n0,0.7,0.9,Basel,2,1,4,no\n\
    1,2.1,-0.3,Bern,1,2,5,no\n1,1.2,0.4,Chur,1,1,4,yes\n0,1.1,1.7,Basel,1,3,3,no\n0,0.6,-0.8,Chur,2,1,6,yes\n\
    1,,0.2,Chur,1,1,3,yes\n1,1.9,0.6,Basel,1,2,5,no\n0,0.2,1.1,Bern,1,1,4,yes\n";

fn table() -> Data {
    Data::new(TABLE.as_bytes().to_vec(), "table.csv".to_owned())
}

fn analysis(formula: &str, options: &ModelOptions) -> Analysis {
    Analysis::of(table(), formula, options).unwrap()
}

fn fitted(formula: &str, model: &ModelOptions, run: &RunOptions) -> FitFile {
    analysis(formula, model).fit(run, &mut Watch::default()).unwrap().file
}

/// With all that can be asked for beside a fit.
fn asked_beside() -> FitFile {
    let analysis = analysis("y ~ z", &ModelOptions::default());
    let mut fit = analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    fit.file.prior_sensitivity = Some(analysis.sensitivity(&fit).unwrap());
    let asked = RobustAsked { cluster: Some("town".to_owned()), ..RobustAsked::default() };
    fit.file.robust = Some(fit.robust(analysis.model(), analysis.data(), &asked).unwrap());
    fit.file
}

/// A formula with every kind of term, and every option of a model that leaves a trace in the file; a response of text; a prior
/// with a covariance.
fn formula() -> [FitFile; 5] {
    let options: ModelOptions = toml::from_str(
        "family = 'bernoulli'\nprior = ['x=normal(0, 0.5)']\nweights = 'w'\noffset = 'z'\n\
         reference = ['town=Chur']\nmissing = 'drop'\nna = ['none']\n",
    )
    .unwrap();
    let run = RunOptions { contrasts: vec!["x - town[Bern]".to_owned()], ..RunOptions::default() };
    let counts = ModelOptions {
        family: Some(FamilyName::Poisson),
        exposure: Some("t".to_owned()),
        standardize: true,
        prior_scale: Some(1.0),
        ..ModelOptions::default()
    };
    [
        fitted("y ~ x * town", &options, &run),
        fitted(
            "y ~ poly(x, 2) + bs(z, 4) + scale(w) + log(t)",
            &ModelOptions::default(),
            &RunOptions::default(),
        ),
        fitted("n ~ z + factor(w) + I(z^2)", &counts, &RunOptions::default()),
        fitted("cured ~ z", &ModelOptions::default(), &RunOptions::default()),
        Analysis::with_prior(table(), "y ~ z", &ModelOptions::default(), &Gaussian::standard(2))
            .and_then(|analysis| analysis.fit(&RunOptions::default(), &mut Watch::default()))
            .unwrap()
            .file,
    ]
}

/// With groups, and scales that the data choose.
fn hierarchical() -> [FitFile; 4] {
    let gaussian: ModelOptions = toml::from_str("family = 'gaussian'\nscales = 'maximise'").unwrap();
    let given: ModelOptions = toml::from_str("group-scale = ['town=0.5']").unwrap();
    let open: ModelOptions = toml::from_str(
        "family = 'gaussian'\nnoise-sd = 0.5\nscales = 'integrate'\nprior = ['sd(town)=exponential(1)', 'cor(town)=lkj(2)']",
    )
    .unwrap();
    let asked = RunOptions { contrasts: vec!["x".to_owned()], ..RunOptions::default() };
    let integrated = fitted("z ~ x + (x | town)", &open, &asked);
    // What a mixture with a file of its own has besides.
    let mut large = integrated.clone();
    if let Some(mixture) = &mut large.mixture {
        (mixture.factor_file, mixture.factor_sha256) =
            (Some("mixture.f64".to_owned()), Some("00".to_owned()));
        mixture.draws = Some(600);
        mixture.nodes.iter_mut().for_each(|node| node.factor.clear());
    }
    [
        fitted("z ~ x + (1 | town)", &gaussian, &RunOptions::default()),
        fitted("y ~ x + (x | town)", &given, &RunOptions::default()),
        integrated.clone(),
        large,
    ]
}

/// Planned steps: with a promise, on some of the rows with coupled draws, in a family, and stopped at the first look.
fn planned() -> [FitFile; 4] {
    let model = ModelOptions::default();
    let latin = Some(provi::coupling::Coupling::Latin);
    let some = StepOptions { subsample: Some(4), coupling: latin, ..StepOptions::default() };
    let promised = fitted("y ~ z", &model, &RunOptions { distance: Some(0.5), ..RunOptions::default() });
    let subsampled = RunOptions { steps: Some(30), step: some, ..RunOptions::default() };
    let field = StepOptions { family_of_q: Some(provi::Pattern::MeanField), ..StepOptions::default() };
    let family = RunOptions { distance: Some(0.5), step: field, ..RunOptions::default() };
    let mut observer = |_: &Snapshot| ControlFlow::Break(());
    let mut watch = Watch { observer: Some(&mut observer), ..Watch::default() };
    let stopped = analysis("y ~ z", &model);
    let stopped =
        stopped.fit(&RunOptions { steps: Some(5000), ..RunOptions::default() }, &mut watch).unwrap().file;
    assert!(stopped.stopped_early);
    [promised, fitted("y ~ z", &model, &subsampled), fitted("y ~ z", &model, &family), stopped]
}

/// Densities of a program: undeclared, declared, and with what is said of a library, of a Stan model, of a large covariance and of a
/// run that was taken up.
fn densities() -> [FitFile; 3] {
    let target = Closure::new(2, |z: &[f64], gradient: &mut [f64]| {
        let (a, b) = (z[0] - 1.0, z[1] + 0.5 * z[0]);
        (gradient[0], gradient[1]) = (-a - 0.5 * b, -b);
        -0.5 * (a * a + b * b)
    })
    .unwrap();
    let about = About { title: Some("a pair".to_owned()), ..About::default() };
    let fit = |target: &dyn provi::Target| {
        let problem = Problem::black_box(Evaluator::Serial(target), about.clone());
        let options = RunOptions { contrasts: vec!["z0 - z1".to_owned()], ..RunOptions::default() };
        problem.fit(&options, &mut Watch::default()).unwrap().file
    };
    let curvature = Curvature::declared(2, Quadratic::Scalar(0.5), Some(Quadratic::Scalar(2.0))).unwrap();
    let declared = Declared::new(&target).with_curvature(curvature).unwrap();
    let (alone, declared) = (fit(&target), fit(&declared));
    let mut library = alone.clone();
    let (mu, smoothness) = (Some(0.5), Some(2.0));
    library.model.library =
        Some(LibraryRecord { path: "m.so".to_owned(), sha256: "00".to_owned(), mu, smoothness });
    library.constrained = Some(ConstrainedRecord {
        names: vec!["sigma".to_owned()],
        mean: vec![1.0],
        sd: vec![0.5],
        lower: vec![0.0],
        upper: vec![2.0],
        level: 0.95,
        pareto_k: Some(0.25),
        weighted: true,
        draws: 4000,
    });
    (library.covariance, library.plan_bound.taken_up) = (None, Some(7));
    (library.factor_file, library.factor_sha256) = (Some("factor.f64".to_owned()), Some("00".to_owned()));
    [alone, declared, library]
}

fn list() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fit-json-keys.txt")
}

#[test]
fn no_key_of_fit_json_is_renamed_removed_or_of_another_type() {
    let all: Vec<FitFile> = formula()
        .into_iter()
        .chain(hierarchical())
        .chain(planned())
        .chain(densities())
        .chain([asked_beside()])
        .collect();
    let files: Vec<Value> = all.iter().map(|file| serde_json::from_str(&file.to_json()).unwrap()).collect();
    for (file, value) in all.iter().zip(&files) {
        let again: FitFile = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(file).unwrap());
    }
    let found = schema_of(&files);
    let stored = std::fs::read_to_string(list()).unwrap_or_default();
    let complaints = broken(&read(&stored), &found);
    assert!(
        complaints.is_empty(),
        "fit.json is another one than {} says:\n  {}\n\
         Files of old versions must load, and readers rely on every key: keep the name and the type in the types of \
         provi-analysis/src/record/, whatever the library calls it, and add new keys beside the old ones with \
         #[serde(default)]. PROVI_BLESS=1 does not store this; a key that must go needs a new name of the schema and a line taken \
         out by hand.",
        list().display(),
        complaints.join("\n  "),
    );
    if std::env::var_os("PROVI_BLESS").is_some() {
        std::fs::write(list(), text(&found)).unwrap();
        return;
    }
    assert!(
        text(&found) == stored,
        "fit.json has keys that {} does not list, or a value that may be null:\n{}\n\
         If they are meant, say them in docs/guide/output-files.md and run: PROVI_BLESS=1 cargo test --workspace --test all schema::",
        list().display(),
        text(&found)
            .lines()
            .filter(|line| !stored.lines().any(|old| old == *line))
            .collect::<Vec<_>>()
            .join("\n"),
    );
}

/// Every key and value of the one is in the other.
fn assert_kept(old: &Value, new: &Value, at: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old.iter().for_each(|(key, value)| {
            let at = format!("{at}.{key}");
            assert_kept(value, new.get(key).unwrap_or_else(|| panic!("{at} is lost")), &at);
        }),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            old.iter().zip(new).for_each(|(old, new)| assert_kept(old, new, &format!("{at}[]")));
        }
        _ => assert_eq!(old, new, "{at}"),
    }
}

#[test]
fn stored_files_load_and_nothing_of_them_is_lost() {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../provi-cli/tests/fixtures");
    for name in ["both.fit", "dose-z.fit", "dose.fit", "x.fit"] {
        let text = std::fs::read_to_string(fixtures.join(name).join("fit.json")).unwrap();
        let file: FitFile = serde_json::from_str(&text).unwrap();
        let written = serde_json::from_str(&file.to_json()).unwrap();
        assert_kept(&serde_json::from_str(&text).unwrap(), &written, name);
    }
}

#[test]
fn a_changed_key_is_seen() {
    let schema = |value: Value| schema_of(&[value]);
    let stored = schema(json!({"mean": [0.5], "model": {"rows": 3, "noise": null}}));
    assert_eq!(read(&text(&stored)), stored);
    let complaints = |value: Value| broken(&stored, &schema(value)).join("; ");
    assert_eq!(complaints(json!({"mean": [0.5], "model": {"rows": 3, "noise": 0.5, "new": 1}})), "");
    assert_eq!(
        complaints(json!({"means": [0.5], "model": {"rows": 3, "noise": null}})),
        ".mean is gone; .mean[] is gone"
    );
    assert_eq!(
        complaints(json!({"mean": [0.5], "model": {"rows": "3", "noise": null}})),
        ".model.rows was integer, and is string"
    );
    assert_eq!(
        complaints(json!({"mean": 0.5, "model": {"rows": 3, "noise": null}})),
        ".mean was list, and is number; .mean[] is gone"
    );
}
