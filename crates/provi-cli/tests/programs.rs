//! Fits that a program made through the library, read by the command.

use crate::common::Bench;
use provi::fit::Watch;
use provi::target::{Closure, Evaluator, Glm, Prior};
use provi::{Design, Seed};
use provi_analysis::options::{ModelOptions, RunOptions};
use provi_analysis::record::about::About;
use provi_analysis::{Analysis, Problem};
use provi_table::{Table, Values};

const X: [f64; 6] = [0.5, -1.5, 2.0, -0.3, 1.0, 0.2];
const Y: [f64; 6] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0];

/// A folder with a fit of matrices, one of a black box, one of a data frame, and the data as a file.
fn bench() -> Bench {
    let bench = Bench::new();
    let rows: Vec<f64> = X.iter().flat_map(|x| [1.0, *x]).collect();
    let glm = Glm::logistic(Design::dense(6, 2, &rows).unwrap(), &Y, Prior::scale(2.5).unwrap()).unwrap();
    let glm = glm.with_names(vec!["(Intercept)".to_owned(), "x".to_owned()]).unwrap();
    let about = About { title: Some("dose and answer".to_owned()), ..About::default() };
    let fit = Problem::matrices(&glm, about).fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    fit.save(&bench.path("matrix.fit"), false).unwrap();

    let target = Closure::new(2, |z: &[f64], gradient: &mut [f64]| {
        (gradient[0], gradient[1]) = (-z[0], -4.0 * z[1]);
        -0.5 * (z[0] * z[0] + 4.0 * z[1] * z[1])
    })
    .unwrap();
    let problem = Problem::black_box(Evaluator::Serial(&target), About::default());
    let fit = problem.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    fit.save(&bench.path("box.fit"), false).unwrap();

    let columns =
        [("x", X), ("y", Y)].map(|(name, values)| (name.to_owned(), Values::Numbers(values.to_vec())));
    let table = Table::from_columns("frame", columns.to_vec()).unwrap();
    let analysis = Analysis::new(table, "y ~ x", &ModelOptions::default()).unwrap();
    let fit = analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap();
    fit.save(&bench.path("frame.fit"), false).unwrap();
    let lines: String = X.iter().zip(Y).map(|(x, y)| format!("{x},{y}\n")).collect();
    bench.write("frame.csv", &format!("x,y\n{lines}"));
    bench
}

#[test]
fn what_a_program_fitted_is_shown_drawn_and_sampled() {
    let bench = bench();
    let said = bench.provi(&["summary", "matrix.fit", "--contrast", "x - (Intercept)"]).exits(0).stdout;
    assert!(
        said.starts_with("model  bernoulli (logistic regression), of matrices\n       dose and answer\n"),
        "{said}"
    );
    assert!(said.contains("x - (Intercept)") && said.contains("Optimum found."), "{said}");
    let said = bench.provi(&["summary", "box.fit"]).exits(0).stdout;
    let (verdict, said) = said.split_once("\n\n").unwrap();
    assert!(verdict.starts_with("trust  good: ") && verdict.contains("not proved"), "{verdict}");
    assert!(said.starts_with("model  black box\n       a log density\n       2 coefficients\n"), "{said}");
    assert!(said.contains("z1") && said.contains("Accuracy not proved ("), "{said}");
    for fit in ["matrix.fit", "box.fit"] {
        bench.provi(&["report", fit]).exits(0);
        let page = std::fs::read_to_string(bench.path(fit).join("report.html")).unwrap();
        assert!(!page.contains("provi fit ") && !page.contains("Do it again"), "no command makes it again");
        let draws = bench.provi(&["sample", fit, "-n", "3", "--seed", "5"]).exits(0).stdout;
        let q = provi_analysis::Fitted::load(&bench.path(fit)).unwrap().sample(3, Seed(5)).unwrap();
        assert_eq!(draws.lines().nth(3), Some(format!("{},{}", q[(2, 0)], q[(2, 1)]).as_str()));
    }
}

#[test]
fn what_needs_a_formula_says_so() {
    let bench = bench();
    let said = bench.provi(&["predict", "matrix.fit", "frame.csv"]).exits(2).stderr;
    assert!(
        said.contains("the fit is of a matrix, not of a formula, so no table can be put into it"),
        "{said}"
    );
    bench.provi(&["sample", "box.fit", "--psis", "--data", "frame.csv"]).exits(2);
    let said = bench.provi(&["certify", "matrix.fit", "frame.csv"]).exits(2).stderr;
    assert!(said.contains("no formula is given"), "{said}");
    // Nobody said what data either is of.
    let said = bench.provi(&["compare", "matrix.fit", "box.fit"]).exits(2).stderr;
    assert!(said.contains("their data's SHA-256"), "{said}");
    bench.provi(&["compare", "matrix.fit", "box.fit", "--force"]).exits(0);
}

#[test]
fn a_fit_of_matrices_is_certified_for_the_formula_that_is_given() {
    // The matrices had this prior; a formula alone would have the default one.
    let words = ["certify", "matrix.fit", "frame.csv", "y ~ x", "--prior-scale", "2.5"];
    let said = bench().provi(&[&words[..], &["--accuracy", "1e-9", "--seed", "1"]].concat()).exits(0);
    assert!(said.stdout.contains("Optimum found."), "{}", said.stdout);
}

#[test]
fn a_fit_of_a_data_frame_is_known_again_in_its_file() {
    let bench = bench();
    let said = bench.provi(&["certify", "frame.fit", "frame.csv", "--seed", "1"]).exits(0).stdout;
    assert!(said.contains("every stored claim is reproduced"), "{said}");
    bench.provi(&["predict", "frame.fit", "frame.csv"]).exits(0);
    bench.write("other.csv", "x,y\n1,0\n2,1\n");
    bench.provi(&["certify", "frame.fit", "other.csv"]).exits(2);
}
