//! The descent among covariances of low rank plus a diagonal, against exact answers.

use super::*;
use crate::auto::Auto;
use crate::base::pattern::Pattern;
use crate::glm::design::Design;
use crate::glm::{Glm, Prior};
use crate::target::{Closure, GaussianTarget};

fn normals(count: usize, key: u64) -> Vec<f64> {
    let mut out = vec![0.0; count];
    provi_kernels::normals(key, 0, 0, &mut out);
    out
}

/// D² + BBᵀ with two columns, and its inverse.
fn covariance(d: usize) -> (Matrix, Matrix) {
    let b = normals(2 * d, 5);
    let mut sigma = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..d {
            sigma[(i, j)] = b[2 * i] * b[2 * j] + 0.7 * b[2 * i + 1] * b[2 * j + 1];
        }
        sigma[(i, i)] += 0.2 + 0.1 * i as f64;
    }
    let precision = Cholesky::new("covariance", &sigma).unwrap().inverse();
    (sigma, precision)
}

fn logistic(rows: usize, d: usize) -> Glm {
    let (mut entries, common) = (normals(rows * d, 33), normals(rows, 34));
    entries.iter_mut().enumerate().for_each(|(k, x)| *x = 0.5 * *x + 0.8 * common[k / d]);
    let y: Vec<f64> = normals(rows, 35).iter().zip(&common).map(|(e, x)| f64::from(e + x > 0.2)).collect();
    Glm::logistic(Design::dense(rows, d, &entries).unwrap(), &y, Prior::scale(1.0).unwrap()).unwrap()
}

fn neg_elbo(target: &Glm, pattern: Pattern) -> f64 {
    let answer = Auto { pattern, ..Auto::default() }.run(target, Seed(0)).unwrap();
    assert!(answer.fit.neg_elbo.exact);
    answer.fit.neg_elbo.value
}

/// Central differences of f in every unknown, with exact expectations and with draws.
#[test]
fn the_gradient_is_that_of_the_objective() {
    let (d, rank) = (4, 2);
    let glm = logistic(30, d);
    let bare = Closure::new(d, |z: &[f64], g: &mut [f64]| glm.log_density(z, g).unwrap()).unwrap();
    let start = near(&covariance(d).1, rank).unwrap();
    let mean = normals(d, 8);
    for target in [Evaluator::from(&glm), Evaluator::from(&bare)] {
        let own = target.target().expectations();
        let objective = Objective::new(target, own, &mean, &start, Seed(3));
        assert_eq!(objective.draws, if own.is_some() { 0 } else { 2 * PAIRS });
        let theta: Vec<f64> =
            objective.start(&start).iter().zip(normals(16, 9)).map(|(x, e)| x + 0.2 * e).collect();
        let (mut gradient, mut other) = (vec![0.0; 16], vec![0.0; 16]);
        objective.log_density(&theta, &mut gradient).unwrap();
        for k in 0..theta.len() {
            let mut at = |step: f64| {
                let mut moved = theta.clone();
                moved[k] += step;
                objective.log_density(&moved, &mut other).unwrap()
            };
            let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
            assert!((slope - gradient[k]).abs() < 1e-6 * (1.0 + slope.abs()), "{k}: {slope} {}", gradient[k]);
        }
        // −f is the negative ELBO of the same Gaussian.
        if let Some(own) = own {
            let (q, mut moments) = (objective.gaussian(&theta).unwrap(), Moments::new(d));
            own.expect(&q, &mut moments).unwrap();
            let f = moments.value - q.entropy().unwrap();
            assert!((f + objective.log_density(&theta, &mut other).unwrap()).abs() < 1e-9);
        }
    }
}

#[test]
fn a_covariance_of_the_family_is_found() {
    let d = 7;
    let (sigma, precision) = covariance(d);
    // KL(N(0, D² + BBᵀ) ‖ N(0, Σ)); the sweeps come near 0, where the diagonal alone does not.
    let kl = |parts: &Parts| {
        let mut own = Matrix::zeros(d, d);
        for i in 0..d {
            (0..d).for_each(|j| own[(i, j)] = dot(parts.columns.row(i), parts.columns.row(j)));
            own[(i, i)] += parts.diagonal[i].powi(2);
        }
        let trace: f64 = (0..d).map(|i| dot(precision.row(i), own.row(i))).sum();
        let log_det = |m: &Matrix| Cholesky::new("covariance", m).unwrap().log_det();
        0.5 * (trace - d as f64 - log_det(&own) + log_det(&sigma))
    };
    let alone = Parts {
        diagonal: (0..d).map(|i| precision[(i, i)].sqrt().recip()).collect(),
        columns: Matrix::zeros(d, 2),
    };
    let near = kl(&near(&precision, 2).unwrap());
    assert!((-1e-9..0.01 * kl(&alone)).contains(&near), "{near} {}", kl(&alone));
    let target = GaussianTarget::new(&normals(d, 6), precision).unwrap();
    let auto = Auto { pattern: Pattern::LowRank(2), ..Auto::default() };
    let answer = auto.run(&target, Seed(0)).unwrap();
    let best = Auto::default().run(&target, Seed(0)).unwrap();
    let above = answer.fit.neg_elbo.value - best.fit.neg_elbo.value;
    assert!((-1e-9..1e-8).contains(&above), "{above}");
}

/// More columns are never worse, none are the mean field, and all but one are every Gaussian.
#[test]
fn the_families_are_nested() {
    let d = 5;
    let glm = logistic(60, d);
    let mut values = vec![neg_elbo(&glm, Pattern::MeanField)];
    values.extend((1..d).map(|k| neg_elbo(&glm, Pattern::LowRank(k))));
    let full = neg_elbo(&glm, Pattern::Full);
    assert!(values.windows(2).all(|pair| pair[1] <= pair[0] + 1e-8), "{values:?}");
    assert!(values[0] - full > 0.3 && values[1] < values[0] - 0.1, "{values:?} {full}");
    assert!((values[d - 1] - full).abs() < 1e-7, "{values:?} {full}");
}

/// A list of draws finds nearly the member that exact expectations find.
#[test]
fn a_black_box_is_near_the_exact_answer() {
    let d = 5;
    let glm = logistic(60, d);
    let exact = neg_elbo(&glm, Pattern::LowRank(1));
    let bare = Closure::new(d, |z: &[f64], g: &mut [f64]| glm.log_density(z, g).unwrap()).unwrap();
    let auto = Auto { pattern: Pattern::LowRank(1), ..Auto::default() };
    let answer = auto.run(&bare, Seed(0)).unwrap();
    assert_eq!(answer.fit.draws_per_step, 2 * PAIRS);
    let mut moments = Moments::new(d);
    glm.expectations().unwrap().expect(&answer.fit.gaussian, &mut moments).unwrap();
    let above = moments.value - answer.fit.gaussian.entropy().unwrap() - exact;
    // Fifteen unknowns that a list of 512 draws determines: about 15/(2·512) nats, and more than ten times that would be
    // a wrong answer.
    assert!((-1e-6..0.15).contains(&above), "{above}");
    // Nothing is claimed about the family.
    assert!(answer.certificate().family.as_ref().unwrap().gap.bound().is_none());
    // What no step keeps is refused.
    let planner = crate::Planner::new(crate::Method::ProxEnergy).pattern(Pattern::LowRank(1));
    assert!(planner.to_steps(&glm, 10).unwrap_err().to_string().contains("auto"));
    let wide = Auto { pattern: Pattern::LowRank(d), ..Auto::default() };
    assert!(wide.run(&glm, Seed(0)).unwrap_err().to_string().contains("5 coordinates"));
}
