//! Optima computed elsewhere, to twelve digits, against the library's exact expectations.

use crate::common::{gold, gradient, moments, objective};
use provi::{Symmetric, Triangular};

/// f* to 1e-8, and ∇f = 0 to 1e-8 in both factor spaces, at the optimum of `name`.
fn check(name: &str) {
    let gold = gold(name);
    let f = objective(&gold.target, &gold.optimum);
    assert!((f - gold.f_star).abs() <= 1e-8, "{name}: f = {f}, expected {}", gold.f_star);
    let at = moments(&gold.target, &gold.optimum);
    assert!(
        at.value_error < 1e-8 && at.gradient_error < 1e-8,
        "{name}: {:e} {:e}",
        at.value_error,
        at.gradient_error
    );
    let triangular = gradient::<Triangular>(&gold.target, &gold.optimum, true);
    let symmetric = gradient::<Symmetric>(&gold.target, &gold.optimum.to_symmetric().unwrap(), true);
    for (space, g) in [("triangular", triangular), ("symmetric", symmetric)] {
        let norm = crate::common::dot(&g, &g).sqrt();
        assert!(norm < 1e-8, "{name}, {space}: ‖∇f‖ = {norm:e}");
    }
}

#[test]
fn linear_regression_w1() {
    check("W1");
}

#[test]
fn logistic_regression_w2() {
    check("W2");
}

#[test]
fn hierarchical_logistic_regression_w4() {
    check("W4");
}

#[test]
fn the_check_would_notice_a_missing_constant_and_a_shifted_mean() {
    let gold = gold("W1");
    let normaliser = 0.5 * (2.0 * std::f64::consts::PI).ln();
    assert!((objective(&gold.target, &gold.optimum) - normaliser - gold.f_star).abs() > 1e-8);
    let mut mean = gold.optimum.mean().to_vec();
    mean[3] += 1e-10;
    let shifted = provi::Gaussian::<Triangular>::new(&mean, gold.optimum.factor()).unwrap();
    let g = gradient(&gold.target, &shifted, true);
    assert!(crate::common::dot(&g, &g).sqrt() > 1e-8);
}

/// The sparse solver finds the same optimum, and says so: the gap that it proves is above the true one.
#[test]
fn the_sparse_answer_of_w4_is_the_optimum() {
    use provi::sparse::SparseSolver;
    let gold = gold("W4");
    let model = gold.target.sparse().unwrap();
    // θ, and fifty groups of five coefficients that meet nothing but θ.
    assert!(8 * model.fill() < model.dim() * model.dim(), "{}", model.fill());
    let found = SparseSolver { goal: 1e-12, ..SparseSolver::default() }.run(&model).unwrap();
    let gap = found.gap.unwrap();
    assert!(gap.value <= 1e-11, "{gap:?}");
    assert!((found.neg_elbo - gold.f_star).abs() <= 1e-8, "{}", found.neg_elbo);
    let deviations = found.gaussian.standard_deviations().unwrap();
    for (i, sd) in gold.optimum.standard_deviations().iter().enumerate() {
        assert!((found.gaussian.mean()[i] - gold.optimum.mean()[i]).abs() < 1e-6 * sd, "mean {i}");
        assert!((deviations[i] / sd - 1.0).abs() < 1e-6, "sd {i}");
    }
}
