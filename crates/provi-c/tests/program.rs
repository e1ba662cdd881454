//! A C program that calls every function, beside the Rust library on the same data.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use provi::certificate::Statement;
use provi::fit::Watch;
use provi::target::{DataPrior, Glm, Prior};
use provi::{Design, Matrix, Seed, Target};
use provi_analysis::model::Data;
use provi_analysis::options::{AuditOptions, FactorName, FamilyName, ModelOptions, RunOptions};
use provi_analysis::record::about::About;
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::show::rows;
use provi_analysis::show::summary::SummaryRow;
use provi_analysis::{Analysis, Fitted, Problem};
use provi_table::{Missing, NewLevels, Table, Values};

use crate::compiler::{Link, built, of_crate, run, said};

const ROWS: usize = 60;
const DRAWS: usize = 5;

/// What the C program printed, by the first word of its lines; nothing where no C compiler is installed.
fn heard() -> Option<&'static HashMap<String, String>> {
    static HEARD: OnceLock<Option<HashMap<String, String>>> = OnceLock::new();
    let listen = || {
        let folder = tempfile::tempdir().unwrap();
        let program = built(&of_crate("tests/program.c"), folder.path(), Link::Shared)?;
        let text = said(run(&program).arg(folder.path().join("fit")));
        assert!(text.ends_with("end\n"), "{text}");
        let line = |line: &str| {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            (name.to_owned(), rest.to_owned())
        };
        Some(text.lines().map(line).collect())
    };
    HEARD.get_or_init(listen).as_ref()
}

fn numbers(heard: &HashMap<String, String>, name: &str) -> Vec<f64> {
    let line = heard.get(name).unwrap_or_else(|| panic!("no line {name}"));
    line.split(' ').map(|word| word.parse().unwrap_or_else(|_| panic!("{name}: {word}"))).collect()
}

/// Bits are compared, and a NaN is a NaN.
fn same(heard: &HashMap<String, String>, name: &str, expected: &[f64]) {
    let found = numbers(heard, name);
    let bits = |values: &[f64]| -> Vec<u64> {
        values.iter().map(|x| if x.is_nan() { f64::NAN } else { *x }.to_bits()).collect()
    };
    assert_eq!(bits(&found), bits(expected), "{name}: {found:?}, expected {expected:?}");
}

fn near(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= within, "{found:?}, expected {expected:?}");
    }
}

/// The columns x, w and y of `program.c`.
fn columns() -> [Vec<f64>; 3] {
    let of = |one: fn(usize) -> f64| (0..ROWS).map(one).collect();
    let y = |i| f64::from(u8::from(i * 3 % 7 < 3 || i % 11 == 4));
    [of(|i| (i * 7 % 11) as f64 / 4.0), of(|i| (i * 5 % 13) as f64 / 8.0 - 0.5), of(y)]
}

/// The columns of the formula alone: others have no say.
fn table() -> Table {
    let [x, w, y] = columns();
    let y = Values::Integers(y.iter().map(|y| Some(*y as i64)).collect());
    let columns = [("x", Values::Numbers(x)), ("w", Values::Numbers(w)), ("y", y)];
    Table::from_columns("table", columns.map(|(name, values)| (name.to_owned(), values)).to_vec()).unwrap()
}

fn run_options(seed: Option<u64>, draws: u64) -> RunOptions {
    let audit = AuditOptions { audit_draws: Some(draws), ..AuditOptions::default() };
    RunOptions { audit, seed, ..RunOptions::default() }
}

/// What `show` prints of an answer in `program.c`.
fn shown(heard: &HashMap<String, String>, name: &str, fit: &Fitted) {
    same(heard, &format!("{name}.mean"), fit.gaussian.mean());
    let certificate = fit.certificate().unwrap();
    let measured = fit.file.posterior.as_ref();
    for (i, (label, row)) in rows::coefficients(fit, certificate).all().unwrap().iter().enumerate() {
        assert_eq!(heard[&format!("{name}.names")].split(' ').nth(i), Some(label.as_str()));
        let [mean, sd] = rows::moments(row, measured, i);
        let (positive, positive_error) = rows::positive(row, measured, i);
        let [low, high] = row.interval(0.9).unwrap();
        let pairs =
            [mean.0, mean.1.unwrap(), sd.0, sd.1.unwrap(), low, high, positive, positive_error.unwrap()];
        let row: Vec<f64> = pairs.into_iter().chain([1.0]).collect();
        same(heard, &format!("{name}.row{i}"), &row);
    }
    let evidence = &certificate.evidence;
    same(heard, &format!("{name}.evidence"), &[evidence.lower().unwrap(), evidence.upper().unwrap()]);
    same(heard, &format!("{name}.elbo"), &[-fit.file.neg_elbo, fit.file.neg_elbo_error]);
    let bounds = [&certificate.kl, &certificate.gap, &certificate.tv].map(|s| s.bound().unwrap());
    let bounds: Vec<f64> = bounds.into_iter().chain([1.0, 0.0]).collect();
    same(heard, &format!("{name}.bounds"), &bounds);
}

#[test]
fn a_formula_has_the_numbers_of_the_rust_library() {
    let Some(heard) = heard() else { return };
    let family = Some(FamilyName::Bernoulli);
    let options = ModelOptions { family, prior_scale: Some(2.5), ..ModelOptions::default() };
    let analysis = Analysis::of(Data::from(table()), "y ~ x + w", &options).unwrap();
    let fit = analysis.fit(&run_options(Some(3), 3000), &mut Watch::default()).unwrap();
    shown(heard, "formula", &fit);
    let q = fit.dense("q").unwrap();
    same(heard, "formula.covariance", q.covariance().entries());
    same(heard, "formula.sample", fit.sample(DRAWS, Seed(9)).unwrap().entries());
    let mut draws = PosteriorDraws::new(analysis.model(), &q, None, Seed(9)).unwrap();
    let exact: Matrix = draws.draw(DRAWS).unwrap();
    same(heard, "formula.exact", exact.entries());
    same(heard, "formula.tv", &[draws.law().total_variation(None).unwrap()]);
    let part = fit.sample(DRAWS, Seed(9)).unwrap();
    same(heard, "formula.part", &part.entries()[2 * 3..]);
    let contrast = fit.contrast("x - 2*w", 0.9).unwrap();
    same(heard, "contrast", &of_contrast(&contrast, 1.0));
    same(heard, "lower", &[fit.certificate().unwrap().evidence.lower().unwrap()]);
    assert_eq!(heard["notes"], "1");
    let new_rows = table();
    let new = fit.new_data(&new_rows, NewLevels::Refuse, Missing::Error).unwrap();
    let found = new.predict(0.8).unwrap();
    same(heard, "formula.predicted", &found.iter().map(|p| p.mean).collect::<Vec<_>>());
    same(heard, "formula.low", &found.iter().map(|p| p.low).collect::<Vec<_>>());
    same(heard, "formula.high", &found.iter().map(|p| p.high).collect::<Vec<_>>());
    same(heard, "formula.error", &[new.probability_error().unwrap(); ROWS]);
    let found = new.observations(0.8).unwrap();
    same(heard, "observed.sd", &found.iter().map(|y| y.sd).collect::<Vec<_>>());
    same(heard, "observed.low", &found.iter().map(|y| y.low).collect::<Vec<_>>());
    same(heard, "observed.high", &found.iter().map(|y| y.high).collect::<Vec<_>>());
    // A file holds the covariance in decimals: its factor differs in the last bits.
    shown(heard, "loaded", &fit);
    near(&numbers(heard, "loaded.exact"), exact.entries(), 1e-12);
    assert_eq!(heard["json"], "1");
}

/// A contrast as `provi_coefficient` has it.
fn of_contrast(found: &SummaryRow, grounds: f64) -> [f64; 9] {
    let row = &found.functional;
    let or_nan = |error: &Statement| error.bound().unwrap_or(f64::NAN);
    let errors = [&row.mean_error, &row.sd_error, &row.positive.error].map(or_nan);
    let [low, high] = found.interval;
    [row.mean, errors[0], row.sd, errors[1], low, high, row.positive.value, errors[2], grounds]
}

/// With sparse factors the fit keeps the Gaussian of its heaviest node, which is not the answer.
#[test]
fn the_covariance_is_that_of_the_mixture() {
    let Some(heard) = heard() else { return };
    let [x, w, _] = columns();
    let towns = ["north", "east", "south"];
    let town = Values::Text((0..ROWS).map(|i| Some(towns[i * 5 % 3].to_owned())).collect());
    let columns = [("x", Values::Numbers(x)), ("w", Values::Numbers(w)), ("town", town)];
    let columns = columns.map(|(name, values)| (name.to_owned(), values)).to_vec();
    let table = Table::from_columns("table", columns).unwrap();
    let family = Some(FamilyName::Gaussian);
    let options = ModelOptions { family, factor: Some(FactorName::Sparse), ..ModelOptions::default() };
    let analysis = Analysis::of(Data::from(table), "w ~ x + (1 | town)", &options).unwrap();
    let fit = analysis.fit(&run_options(Some(3), 1), &mut Watch::default()).unwrap();
    let mixture = fit.mixture.as_ref().unwrap();
    assert!(fit.gaussian.as_sparse().is_some());
    let covariance = mixture.covariance().unwrap();
    same(heard, "sparse.mean", &mixture.mean());
    same(heard, "sparse.covariance", covariance.entries());
    let sds: Vec<f64> = (0..5).map(|i| covariance[(i, i)].sqrt()).collect();
    near(&sds, &mixture.standard_deviations(), 1e-12);
    // The heaviest node's is another one.
    let heaviest = fit.dense("q").unwrap().covariance();
    assert!((heaviest[(0, 0)] - covariance[(0, 0)]).abs() > 1e-6, "{heaviest:?} {covariance:?}");
    let contrast = fit.contrast("2*x", 0.9).unwrap();
    let grounds = if contrast.functional.mean_error.bound().is_some() { 3.0 } else { 0.0 };
    same(heard, "sparse.contrast", &of_contrast(&contrast, grounds));
}

#[test]
fn a_design_has_the_numbers_of_the_rust_library() {
    let Some(heard) = heard() else { return };
    let [x, w, y] = columns();
    let entries: Vec<f64> = (0..ROWS).flat_map(|i| [1.0, x[i], w[i]]).collect();
    let design = || Design::from_rows(ROWS, 3, entries.clone()).unwrap();
    let names = ["one", "x", "w"].map(str::to_owned).to_vec();
    let model = Glm::logistic(design(), &y, Prior::default()).unwrap().with_names(names).unwrap();
    let default = DataPrior::new(&model.summary(), model.family(), model.dim()).prior().unwrap();
    let model = model.with_prior(default).unwrap();
    let problem = Problem::matrices(&model, About::default());
    let fit = problem.fit(&run_options(None, 3000), &mut Watch::default()).unwrap();
    shown(heard, "design", &fit);
    let q = fit.dense("q").unwrap();
    let exact = PosteriorDraws::of_target(&model, &q, None, Seed(4)).unwrap().draw(DRAWS).unwrap();
    same(heard, "design.exact", exact.entries());
    let new = fit.new_design(design(), None).unwrap();
    let found = new.predict(0.95).unwrap();
    same(heard, "design.predicted", &found.iter().map(|p| p.mean).collect::<Vec<_>>());
    assert_eq!(heard["noise"], "1 x1", "an unknown noise is summed over");
}

#[test]
fn times_after_which_an_event_comes_have_probabilities() {
    let Some(heard) = heard() else { return };
    let [x, _, y] = columns();
    let waited: Vec<f64> = x.iter().map(|x| x + 0.5).collect();
    let y = Values::Integers(y.iter().map(|y| Some(*y as i64)).collect());
    let columns = [("x", Values::Numbers(x)), ("waited", Values::Numbers(waited)), ("y", y)];
    let columns = columns.map(|(name, values)| (name.to_owned(), values)).to_vec();
    let table = Table::from_columns("table", columns).unwrap();
    let options = ModelOptions { family: Some(FamilyName::Exponential), ..ModelOptions::default() };
    let analysis = Analysis::of(Data::from(table.clone()), "surv(waited, y) ~ x", &options).unwrap();
    let fit = analysis.fit(&run_options(None, 1000), &mut Watch::default()).unwrap();
    let new = fit.new_data(&table, NewLevels::Refuse, Missing::Error).unwrap();
    let found = new.survival(1.5, 0.9).unwrap();
    same(heard, "survival", &found.iter().map(|p| p.mean).collect::<Vec<_>>());
    same(heard, "survival.error", &[new.tv_bound().unwrap(); ROWS]);
}

#[test]
fn a_gaussian_of_c_is_found_exactly() {
    let Some(heard) = heard() else { return };
    for name in ["density", "undeclared"] {
        near(&numbers(heard, &format!("{name}.mean")), &[1.0, -2.0], 1e-9);
        near(&numbers(heard, &format!("{name}.covariance")), &[0.25, 0.0, 0.0, 4.0], 1e-9);
        near(&numbers(heard, &format!("{name}.elbo"))[..1], &[0.0], 1e-9);
    }
    assert_eq!((&*heard["density.names"], &*heard["undeclared.names"]), ("left right", "z0 z1"));
    let evidence = numbers(heard, "density.evidence");
    assert!(evidence[0] <= 0.0 && evidence[1] >= 0.0 && evidence[1] - evidence[0] < 0.1, "{evidence:?}");
    let [row, nothing] = ["density.row0", "undeclared.row0"].map(|name| numbers(heard, name));
    assert!((row[0] - 1.0).abs() <= row[1] && (row[2] - 0.5).abs() <= row[3], "{row:?}");
    near(&[row[8], nothing[8]], &[2.0, 0.0], 0.0);
    assert!([1, 3, 7].iter().all(|&error| nothing[error].is_nan()), "{nothing:?}");
    assert_eq!(heard["undeclared.evidence"], "-inf inf");
    assert_eq!(heard["undeclared.bounds"], "inf inf 1 0 0");
}

#[test]
fn a_fit_that_is_told_to_stop_keeps_what_it_has() {
    let Some(heard) = heard() else { return };
    let (stopped, added) = heard["stopped"].split_once(' ').unwrap();
    let added: u32 = added.parse().unwrap();
    assert!(stopped == "1" && added >= 2 && added.is_multiple_of(2), "told {added} with user data of 2");
    assert!(heard["density.stopped"].starts_with('1') && heard["calls"] == "1", "{heard:?}");
}

#[test]
fn draws_that_are_told_to_stop_are_kept() {
    let Some(heard) = heard() else { return };
    assert_eq!((&*heard["drawn"], &*heard["drawn.kept"], &*heard["drawn.of"]), ("1 1", "1 1", "1"));
    assert_eq!(heard["limited"], "1");
    assert_eq!(
        (&*heard["density.exact"], &*heard["density.same"], &*heard["density.halted"]),
        ("200 1", "1", "1 1")
    );
}

/// Means and squares are within five of their standard deviations.
#[test]
fn a_density_of_c_has_exact_draws() {
    let Some(heard) = heard() else { return };
    let drawn = numbers(heard, "density.drawn");
    let of = |i: usize| drawn.iter().skip(i).step_by(2);
    for (i, [mean, sd]) in [[1.0, 0.5], [-2.0, 2.0]].into_iter().enumerate() {
        let found = of(i).sum::<f64>() / 200.0;
        assert!((found - mean).abs() < 5.0 * sd / 200f64.sqrt(), "{found}");
        let square = of(i).map(|x| (x - mean).powi(2)).sum::<f64>() / 200.0 / (sd * sd);
        assert!((square - 1.0).abs() < 0.5, "{square}");
    }
    let tv = numbers(heard, "density.tv")[0];
    assert!((0.0..1e-5).contains(&tv), "{tv}");
}

#[test]
fn every_error_names_the_thing_and_the_way_out() {
    let Some(heard) = heard() else { return };
    let expected = [
        ("exists", "holds a fit already; name another folder, or give force = 1 to replace it"),
        ("no_table", "exact draws of a formula need the rows that it was fitted to; give their table"),
        ("index", "there is no coefficient 3: there are 3, counted from 0"),
        ("level", "there is no level 0: there are 0"),
        ("no_levels", "has no levels; ask provi_answer_predict"),
        ("mean_length", "out has the length 2; it must be 3"),
        ("mean_null", "out is NULL; give an array for the results"),
        ("draws_length", "out has the length 5; it must be 15"),
        ("predict_length", "an array of results has the length 3; it must be 60"),
        ("observed", "an array of results has the length 3; it must be 60"),
        ("part", "have numbers above 2^64 - 1; begin earlier, or take fewer"),
        ("part_length", "out has the length 8; it must be 9"),
        ("many_draws", "out has 9223372036854775807 × 3 entries, more than memory has addresses"),
        ("stopped_draws", "of 2000000 draws; give `made`, and those that there are are kept"),
        ("contrast", "`ww`"),
        ("contrast_null", "out is NULL; give an array for the results"),
        ("twice", "the option seed is there twice at line 1 column 22; leave one of the two out"),
        ("no_curvature", "give the options convexity, above 0, and smoothness"),
        ("exact_failing", "the density returned 7"),
        ("one_thread", "threads = 2, and one thread alone calls a density that is not thread-safe"),
        ("many", "must be between 1 and 16777216"),
        ("probability", "1.8"),
        ("exact_option", "there is no option `seed`; the options are tv, device, threads, time_limit"),
        ("nan", "column `broken` of `the table` has 1 missing value(s), the first `null` on line 4"),
        ("column", "no column `xx` in `the table`; did you mean `x`?"),
        ("formula", "expected a column name"),
        ("option", "there is no option `prior_scales`; did you mean `prior_scale`?"),
        ("json", "the options are not JSON: "),
        ("device", "device cuda:77 cannot be used: "),
        ("gpu", "`gpu` is not a device; use auto, cpu or cuda:0"),
        ("null_table", "table is NULL; give a handle"),
        ("null_formula", "formula is NULL; give a text"),
        ("utf8", "formula is not UTF-8: byte 6"),
        ("length", "column `short` has 3 values, and the columns before it have 60; give it 60"),
        ("null_values", "values is NULL; give an array"),
        ("null_name", "name is NULL; give a text"),
        ("code", "column `codes`: row 1 has the level 2 of 2; count from 0"),
        ("load", "`no such folder` holds no fit"),
        ("null_answer", "answer is NULL"),
        ("empty", "no columns; at least one is needed"),
        ("integrated", "needs scales that are known"),
        ("time", "time"),
        ("levels", "3 levels; ask provi_answer_predict_levels"),
        ("columns", "a row of the design has the length 2; it must be 3"),
        ("stray_table", "exact draws of a design take no table: give NULL"),
        ("not_of_formula", "not of a formula, so no table can be put into it"),
        ("family", "give the option family: gaussian, bernoulli"),
        ("response", "response 1.75 at row 1 is not 0 or 1"),
        ("design_nan", "the design holds NaN at row 1, column 1"),
        ("design_null", "design is NULL; give an array"),
        ("huge", "design has 9223372036854775807 × 3 entries, more than memory has addresses"),
        ("null_text", "names is NULL; give a text for each entry"),
        ("density_exact", "a C function is not kept: give it to provi_answer_sample_exact_density"),
        ("failing", "the density returned 7"),
        ("null_density", "density is NULL; give a function"),
        ("dim", "dim = 0; must be between 1 and 16777216"),
        ("convexity", "smoothness is declared without convexity"),
        ("start", "start has length 1, expected 2"),
    ];
    for (name, words) in expected {
        let said = &heard[&format!("error.{name}")];
        assert!(said.contains(words), "{name}: {said}");
    }
    let all = heard.keys().filter(|name| name.starts_with("error.")).count();
    assert_eq!(all, expected.len(), "an error that nothing is expected of");
}

#[test]
fn texts_and_levels_come_back() {
    let Some(heard) = heard() else { return };
    assert_eq!(heard["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(heard["devices"], provi_gpu::survey());
    assert_eq!((&*heard["silence"], &*heard["summary"]), ("[]", "1"));
    assert_eq!(heard["levels"], "low middle high");
    near(&numbers(heard, "levels.sum"), &[1.0], 1e-9);
}

fn example(link: Link) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&of_crate("examples/fit.c"), folder.path(), link) else { return };
    let text = said(&mut run(&program));
    for words in
        ["bernoulli: switch ~ arsenic + dist", "P(>0)", "log evidence", "proved within", "exact draws"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let refused = run(&program).arg("cuda:99").output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.status.code() == Some(1) && message.contains("device cuda:99 cannot be used"),
        "{message}"
    );
}

#[test]
fn the_example_runs_with_the_shared_library() {
    example(Link::Shared);
}

#[test]
fn the_example_runs_with_the_static_library() {
    example(Link::Static);
}

/// The program of docs/c.md.
#[test]
fn the_documented_program_runs() {
    let page = std::fs::read_to_string(of_crate("../../docs/c.md")).unwrap();
    let block = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("page.c");
    std::fs::write(&source, block).unwrap();
    let Some(program) = built(&source, folder.path(), Link::Shared) else { return };
    let text = said(&mut run(&program));
    assert!(text.contains("bernoulli: ill ~ dose") && text.contains("proved within"), "{text}");
}

/// A table of a file, with the numbers of the same table in memory.
#[test]
fn a_file_is_a_table() {
    const SOURCE: &str = r#"
#include "provi_fit.h"
#include <stdio.h>
int main(int count, char **words) {
    double mean[2];
    size_t rows = 0;
    provi_table *table = provi_table_read(words[count - 1]);
    provi_answer *answer = provi_fit_formula(table, "y ~ x", "{\"noise_sd\": 1, \"audit_draws\": 1}", NULL, NULL);
    if (answer == NULL || provi_answer_mean(answer, mean, 2) || provi_table_rows(table, &rows)) return 1;
    printf("%zu %.17g %.17g\n", rows, mean[0], mean[1]);
    if (provi_table_numbers(table, "z", mean, 2) == 0) return 1;
    printf("%s\n", provi_last_error());
    provi_answer_free(answer);
    provi_table_free(table);
    return 0;
}
"#;
    let folder = tempfile::tempdir().unwrap();
    let (source, data) = (folder.path().join("file.c"), folder.path().join("rows.csv"));
    std::fs::write(&source, SOURCE).unwrap();
    std::fs::write(&data, "x,y\n0,1.5\n1,2\n2,3.5\n").unwrap();
    let Some(program) = built(&source, folder.path(), Link::Shared) else { return };
    let text = said(run(&program).arg(&data));
    let options = ModelOptions { noise_sd: Some(1.0), ..ModelOptions::default() };
    let fit = Analysis::read(Path::new(&data), "y ~ x", &options).unwrap();
    let fit = fit.fit(&run_options(None, 1), &mut Watch::default()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let found: Vec<f64> = lines[0].split(' ').map(|word| word.parse().unwrap()).collect();
    near(&found, &[3.0, fit.gaussian.mean()[0], fit.gaussian.mean()[1]], 0.0);
    assert!(lines[1].ends_with("takes no further columns; make one with provi_table_new"), "{text}");
}
