//! The two solvers on the gold workloads, and on larger ones of the same law.

use crate::common::{Gold, gold, normals};
use provi::ascent::{Ascent, Options};
use provi::expectation::neg_elbo;
use provi::solve::{Solver, Stop};
use provi::target::{GaussianTarget, Glm, Prior, Scratch, Target};
use provi::{Design, Matrix, Result, Seed};

/// log p and its gradient, and nothing else.
struct BlackBox<'a>(&'a Glm);

impl Target for BlackBox<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.0.log_density(z, gradient)
    }
    fn log_densities(&self, z: &[f64], p: &mut [f64], g: &mut [f64], scratch: &mut Scratch) -> Result<()> {
        self.0.log_densities(z, p, g, scratch)
    }
}

#[test]
fn the_solver_reaches_every_gold_optimum_and_proves_it() {
    for (name, iterations) in [("W1", 2), ("W2", 20), ("W4", 12)] {
        let Gold { target: model, f_star: optimum, .. } = gold(name);
        let solution = Solver::default().run(&model).unwrap();
        let (gap, bound) = (solution.neg_elbo - optimum, solution.gap.unwrap().value);
        assert_eq!(solution.stop, Stop::Reached, "{name}");
        assert!(gap.abs() <= 1e-8, "{name}: {gap:e}");
        assert!(bound <= 1e-10 && bound >= gap - 1e-9, "{name}: {bound:e} {gap:e}");
        assert!(solution.iterations <= iterations, "{name}: {}", solution.iterations);
        assert!(solution.history.iter().all(|look| look.gap >= look.neg_elbo - optimum - 1e-9), "{name}");
    }
}

/// The worst exact gap over the seeds after so many evaluations, mode and curvature included.
fn worst(name: &str, evaluations: u64, seeds: u64) -> f64 {
    let Gold { target: model, f_star: optimum, .. } = gold(name);
    worst_gap(&model, optimum, evaluations, seeds)
}

fn worst_gap(model: &Glm, optimum: f64, evaluations: u64, seeds: u64) -> f64 {
    let target = BlackBox(model);
    (0..seeds)
        .map(|seed| {
            let mut ascent = Ascent::new(&target, Seed(seed), Options::default()).unwrap();
            ascent.advance(evaluations - ascent.evaluations()).unwrap();
            assert!(ascent.evaluations() <= evaluations);
            neg_elbo(model, &ascent.current()).unwrap() - optimum
        })
        .fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn the_black_box_comes_close_within_its_evaluations() {
    // Measured over many seeds: 3e-6, 0.005 and 0.02 at the most.
    assert!(worst("W1", 200, 5) <= 1e-3);
    assert!(worst("W2", 2000, 5) <= 0.05);
    assert!(worst("W4", 2500, 2) <= 0.2);
}

/// Logistic regression with AR(1) features, ρ = 0.9, N = 20 000, d = 50, prior N(0, I).
fn correlated_logistic() -> Glm {
    let (n, d, rho) = (20_000, 50, 0.9f64);
    let mut x = normals(303, n * d);
    for row in x.chunks_exact_mut(d) {
        for k in 1..d {
            row[k] = rho * row[k - 1] + (1.0 - rho * rho).sqrt() * row[k];
        }
    }
    let (beta, noise) = (normals(304, d), normals(305, 2 * n));
    let labels: Vec<f64> = x
        .chunks_exact(d)
        .zip(noise.chunks_exact(2))
        .map(|(row, noise)| {
            // The angle of two normals is uniform.
            let uniform = 0.5 + noise[1].atan2(noise[0]) / (2.0 * std::f64::consts::PI);
            let s: f64 = row.iter().zip(&beta).map(|(x, b)| x * b).sum();
            f64::from(uniform < 1.0 / (1.0 + (-s).exp()))
        })
        .collect();
    Glm::logistic(Design::from_rows(n, d, x).unwrap(), &labels, Prior::precision(1.0).unwrap()).unwrap()
}

#[test]
fn twenty_thousand_rows_are_solved_and_come_close_as_a_black_box() {
    let model = correlated_logistic();
    let solution = Solver::default().run(&model).unwrap();
    assert_eq!(solution.stop, Stop::Reached);
    assert!(solution.gap.unwrap().value <= 1e-10 && solution.iterations <= 10);
    let gap = worst_gap(&model, solution.neg_elbo, 1000, 1);
    assert!(gap <= 0.01, "{gap}");
}

#[test]
fn a_gaussian_of_five_hundred_dimensions_is_solved() {
    // Condition number 100, eigenvalues spread evenly on the log scale, turned by a reflection I − 2vvᵀ.
    let d = 500;
    let spectrum: Vec<f64> = (0..d).map(|i| 100f64.powf(i as f64 / (d - 1) as f64 - 0.5)).collect();
    let mut v = normals(505, d);
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.iter_mut().for_each(|x| *x /= length);
    let middle: f64 = v.iter().zip(&spectrum).map(|(v, s)| v * v * s).sum();
    let mut precision = Matrix::diagonal(&spectrum);
    for i in 0..d {
        for j in 0..d {
            precision[(i, j)] += v[i] * v[j] * (4.0 * middle - 2.0 * (spectrum[i] + spectrum[j]));
        }
    }
    let target = GaussianTarget::new(&vec![0.0; d], precision).unwrap();
    let solution = Solver::default().run(&target).unwrap();
    assert!(solution.gap.unwrap().value <= 1e-8);
    assert!((solution.neg_elbo + target.log_evidence()).abs() <= 1e-8, "{}", solution.neg_elbo);
}
