//! What goes wrong is said with its values and the way out, and the exit status is right.

use crate::common::{Bench, assert_snapshot};

const SMALL: &str = "y,age,dose\n1,31,0.5\n0,45,1.5\n0,28,2.5\n1,52,0.1\n";
const COUNTS: &str = "visits,age\n3,1\n1,0\n0,-1\n7,2\n";

/// The command fails with status 2, says nothing on standard output, and this on standard error.
fn refused(name: &str, args: &[&str]) {
    let bench = Bench::new();
    bench
        .write("small.csv", SMALL)
        .write("counts.csv", COUNTS)
        .write("cut.csv", "y,age,dose\n1,31,0.5\n0,45")
        .write("label.csv", "y,age\n1,31\n0,45\n\n2,28\n")
        .write("constant.csv", "y,age\n1,31\n0,31\n");
    let said = bench.provi(args).exits(2);
    assert_eq!(said.stdout, "");
    assert_snapshot(name, &said.stderr);
}

#[test]
fn an_unknown_column_is_pointed_at() {
    refused("error-unknown-column", &["fit", "small.csv", "y ~ dose + aeg"]);
}

#[test]
fn a_typo_in_the_formula_is_pointed_at() {
    refused("error-formula-typo", &["fit", "small.csv", "y ~ age + + dose"]);
}

#[test]
fn a_formula_that_ends_too_soon_is_pointed_at() {
    refused("error-formula-end", &["fit", "small.csv", "y ~ age +"]);
}

#[test]
fn a_bad_label_is_found_on_its_line() {
    refused("error-label", &["fit", "label.csv", "y ~ age", "--family", "bernoulli"]);
}

#[test]
fn a_response_that_is_no_label_needs_a_family() {
    refused("error-no-family", &["fit", "label.csv", "y ~ age"]);
}

#[test]
fn a_file_cut_off_is_refused() {
    refused("error-cut-off", &["fit", "cut.csv", "y ~ age"]);
}

#[test]
fn a_missing_file_is_named() {
    refused("error-missing-file", &["fit", "nowhere.csv", "y ~ age"]);
}

#[test]
fn a_constant_column_is_refused() {
    refused("error-constant-column", &["fit", "constant.csv", "y ~ age"]);
}

#[test]
fn poisson_has_no_proved_method_and_says_the_way_out() {
    let model = ["fit", "counts.csv", "visits ~ age", "--family", "poisson"];
    refused("error-poisson-method", &[&model[..], &["--method", "prox-energy"]].concat());
    refused("error-poisson-distance", &[&model[..], &["--distance", "0.1"]].concat());
}

#[test]
fn noise_is_positive_and_only_where_it_belongs() {
    refused("error-noise-negative", &["fit", "small.csv", "dose ~ age", "--noise-sd", "-1"]);
    refused("error-noise-stray", &["fit", "small.csv", "y ~ age", "--family", "probit", "--noise-sd", "1"]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    refused("error-prior-scale", &["fit", "small.csv", "y ~ age", "--prior-scale", "0"]);
    refused("error-distance", &["fit", "small.csv", "y ~ age", "--distance", "nan"]);
    refused("error-accuracy", &["fit", "small.csv", "y ~ age", "--accuracy", "-1"]);
    refused("error-failure-probability", &["fit", "small.csv", "y ~ age", "--failure-probability", "2"]);
    refused("error-time-limit", &["fit", "small.csv", "y ~ age", "--time-limit", "-3"]);
}

#[test]
fn a_run_beyond_its_budget_of_memory_is_refused() {
    for (name, method) in [("error-memory-budget", "auto"), ("error-memory-budget-planned", "prox-energy")] {
        refused(name, &["fit", "small.csv", "y ~ age", "--method", method, "--memory-budget", "1kB"]);
    }
}

#[test]
fn words_that_name_nothing_are_usage_errors() {
    refused("error-method", &["fit", "small.csv", "y ~ age", "--method", "adam"]);
    refused("error-coordinates", &["plan", "small.csv", "y ~ age", "--steps", "9", "--coordinates", "polar"]);
    refused("error-no-goal", &["plan", "small.csv", "y ~ age"]);
}

#[test]
fn auto_makes_no_planned_steps() {
    refused("error-auto-steps", &["fit", "small.csv", "y ~ age", "--method", "auto", "--steps", "9"]);
}

#[test]
fn a_subsample_goes_with_planned_steps_that_have_a_bound_for_it() {
    let fit = |name: &str, options: &[&str]| {
        refused(name, &[&["fit", "small.csv", "y ~ age"], options].concat());
    };
    fit("error-subsample-auto", &["--method", "auto", "--subsample", "2"]);
    fit("error-subsample-stl", &["--method", "proj-stl", "--subsample", "2"]);
    fit("error-subsample-large", &["--method", "prox-energy", "--subsample", "5"]);
    fit("error-subsample-law", &["--method", "prox-energy", "--sampling", "importance"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_work() {
    refused("error-unwritable", &["fit", "small.csv", "y ~ age", "--out", "small.csv/fit"]);
}

#[test]
fn an_accuracy_out_of_reach_is_not_a_failure_but_not_proved() {
    let bench = Bench::new();
    let model = ["W2.csv", "y ~ .", "--distance", "1e-9", "--method", "prox-energy"];
    for command in ["plan", "fit"] {
        let said = bench.provi(&[&[command], &model[..]].concat()).exits(1);
        assert!(said.stderr.contains("no plan to E‖w−w*‖² ≤ 1.000e-9"), "{}", said.stderr);
    }
}
