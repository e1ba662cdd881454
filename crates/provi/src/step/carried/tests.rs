//! Whole runs beside the textbook algorithm: an eigendecomposition and a fresh inverse at every step.

use super::*;
use crate::draws::{Purpose, Seed};
use crate::gaussian::{Factor, Gaussian, Symmetric};
use crate::linalg::{Cholesky, eigen, spectral_map};
use crate::matrix::{pack_lower, unpack_symmetric};
use crate::target::{GaussianTarget, Glm, Prior, Target};
use crate::{Design, Error};

/// The step as it is printed.
fn textbook(target: &dyn Target, draws: &Draws, batch: usize, floor: f64, w: &mut [f64], t: u64, gamma: f64) {
    let d = target.dim();
    let (mean, packed) = w.split_at_mut(d);
    let inverse = Cholesky::new("C", &unpack_symmetric(d, packed)).unwrap().inverse();
    let (mut u, mut z, mut g) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    let (mut new_mean, mut new_factor) = (mean.to_vec(), packed.to_vec());
    for k in 0..batch {
        draws.fill(t, k as u32, &mut u);
        Symmetric::transport(packed, mean, &u, &mut z);
        target.log_density(&z, &mut g).unwrap();
        let a: Vec<f64> = (0..d).map(|i| -g[i] - dot(inverse.row(i), &u)).collect();
        axpy(-gamma / batch as f64, &a, &mut new_mean);
        Symmetric::rank_update(&mut new_factor, -gamma / batch as f64, &a, &u);
    }
    let (values, vectors) = eigen("C", &unpack_symmetric(d, &new_factor)).unwrap();
    mean.copy_from_slice(&new_mean);
    packed.copy_from_slice(&pack_lower(&spectral_map(&values, &vectors, |x| x.max(floor))));
}

/// Eigenvalues from 1 to `condition`, axes at random.
fn gaussian(d: usize, condition: f64) -> GaussianTarget {
    let mut a = Matrix::zeros(d, d);
    provi_kernels::normals(11, 0, 0, a.entries_mut());
    let mut h = Matrix::zeros(d, d);
    crate::linalg::add_gram(a.entries(), d, &mut h);
    let (_, vectors) = eigen("h", &h).unwrap();
    let values: Vec<f64> = (0..d).map(|i| condition.powf(i as f64 / (d - 1) as f64)).collect();
    let mean: Vec<f64> = (0..d).map(|i| (i as f64).sin()).collect();
    GaussianTarget::new(&mean, spectral_map(&values, &vectors, |x| x)).unwrap()
}

fn logistic(d: usize) -> Glm {
    let rows = 2 * d;
    let mut entries = vec![0.0; rows * d];
    provi_kernels::normals(12, 0, 0, &mut entries);
    let labels: Vec<f64> =
        entries.chunks_exact(d).map(|row| f64::from(row[0] + 0.5 * row[1] > 0.0)).collect();
    Glm::logistic(Design::dense(&entries, rows, d).unwrap(), &labels, Prior::scale(1.0).unwrap()).unwrap()
}

/// Runs both, returns the largest difference along the way and the problem.
fn beside<'a>(
    target: &'a (dyn Target + Sync),
    batch: usize,
    smoothness: f64,
    gamma: f64,
    steps: u64,
) -> (f64, ProjStl<'a>) {
    let d = target.dim();
    let draws = Draws::new(Seed(5), Purpose::Optimise);
    let mut problem = ProjStl::new(Evaluator::Serial(target), draws, batch, smoothness).unwrap();
    let mut fast = Gaussian::<Symmetric>::standard(d).parameters().to_vec();
    let (mut slow, mut worst) = (fast.clone(), 0.0f64);
    let floor = 1.0 / smoothness.sqrt();
    for t in 0..steps {
        problem.advance(&mut fast, t, gamma).unwrap();
        textbook(target, &draws, batch, floor, &mut slow, t, gamma);
        worst = fast.iter().zip(&slow).fold(worst, |m, (x, y)| m.max((x - y).abs()));
    }
    (worst, problem)
}

/// 10⁴ steps where the textbook allows it in a test's time, fewer where it does not.
#[test]
fn the_iterates_are_those_of_the_textbook() {
    for (d, steps) in [(20, 10_000), (50, 1500)] {
        let sharp = gaussian(d, 10.0);
        let curved = logistic(d);
        let bound = curved.curvature().unwrap().unwrap().smoothness().unwrap();
        let step = |m: f64| 0.5 / (m * (d + 3) as f64);
        // A larger M only widens the set; a smaller one makes the constraint bite.
        for (target, m, batch, active) in [
            (&sharp as &(dyn Target + Sync), 10.0, 1, true),
            (&sharp, 40.0, 2, false),
            (&curved, 4.0 * bound, 1, false),
            (&curved, 1.1, 2, true),
        ] {
            let gamma = step(if active { m } else { bound.max(10.0) });
            let (worst, problem) = beside(target, batch, m, gamma.min(step(10.0)), steps);
            println!(
                "d {d} M {m} worst {worst:e} {} {}",
                problem.projection().decompositions(),
                problem.refreshes()
            );
            assert!(worst < 1e-9, "d = {d}, M = {m}: {worst:e}");
            assert_eq!(problem.projection().decompositions() > 0, active, "d = {d}, M = {m}");
            assert!(active || problem.refreshes() <= 1 + steps / 10, "{}", problem.refreshes());
        }
    }
}
