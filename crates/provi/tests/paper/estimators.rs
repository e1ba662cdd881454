//! §3: the estimators are unbiased, and the check that says so rejects planted bugs.

use crate::common::*;
use provi::draws::{Draws, Purpose, Seed};
use provi::estimator::{Kind, Sampled};
use provi::target::{Evaluator, Family, GaussianTarget};
use provi::{Gaussian, Matrix, Symmetric, Target, Triangular};

const DRAWS: u64 = 20_000;

fn targets() -> Vec<(&'static str, Box<dyn Target>)> {
    let precision = Matrix::new(3, 3, vec![2.0, 0.4, 0.1, 0.4, 1.0, -0.3, 0.1, -0.3, 1.5]).unwrap();
    let regression = |family| regression(family, 61, 3, 1.0, false);
    vec![
        ("gaussian", Box::new(GaussianTarget::new(&[0.5, -1.0, 0.2], precision).unwrap())),
        ("logistic", Box::new(regression(Family::Bernoulli))),
        ("probit", Box::new(regression(Family::Probit))),
        ("poisson", Box::new(regression(Family::Poisson))),
    ]
}

fn place<F: Space>() -> Gaussian<F> {
    let c = [0.2, 0.1, 1.0, -0.1, 0.2, 0.5];
    Gaussian::new(&[0.3, -0.4, 0.2], &c).unwrap()
}

/// The largest number of standard errors by which a mean of draws misses `exact`, over all coordinates.
fn worst_miss(exact: &[f64], mut draw: impl FnMut(u64, &mut [f64])) -> f64 {
    let (mut sum, mut square, mut g) =
        (vec![0.0; exact.len()], vec![0.0; exact.len()], vec![0.0; exact.len()]);
    for t in 0..DRAWS {
        draw(t, &mut g);
        for i in 0..g.len() {
            let x = g[i] - exact[i];
            sum[i] += x;
            square[i] += x * x;
        }
    }
    let n = DRAWS as f64;
    let misses = (0..exact.len()).map(|i| {
        let variance = square[i] / n - (sum[i] / n).powi(2);
        (sum[i] / n).abs() / (variance / n).sqrt().max(1e-12)
    });
    misses.fold(0.0, f64::max)
}

/// The estimators written out plainly, with a bug on request.
fn plain<F: Space>(kind: Kind, bug: Bug, target: &dyn Target, q: &Gaussian<F>, u: &[f64]) -> Vec<f64> {
    let (left, x) = match (kind, bug) {
        (Kind::Entropy | Kind::Stl, Bug::DroppedInverse) => raw_gradient(Kind::Energy, target, q, u),
        (Kind::Score, Bug::DroppedInverse) => {
            let (left, _) = raw_gradient(kind, target, q, u);
            let outer = outer(&left, u);
            (left, outer)
        }
        _ => raw_gradient(kind, target, q, u),
    };
    let factor = if bug == Bug::NotProjected { pack(&x) } else { pack(&F::project(&x)) };
    let sign = if bug == Bug::WrongSign { -1.0 } else { 1.0 };
    left.into_iter().chain(factor).map(|x| sign * x).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// −C⁻ᵀ left out.
    DroppedInverse,
    /// The lower half of πuᵀ taken for its symmetric part.
    NotProjected,
    WrongSign,
}

fn check_kind<F: Space>(kind: Kind) {
    for (name, target) in targets() {
        let q = place::<F>();
        let exact = gradient(target.as_ref(), &q, kind != Kind::Energy);
        let draws = Draws::new(Seed(71), Purpose::Optimise);
        let mut library = Sampled::<F>::new(kind, Evaluator::Serial(target.as_ref()), draws, 1).unwrap();
        let miss = worst_miss(&exact, |t, g| library.gradient(q.parameters(), t, g).unwrap());
        assert!(miss < SIGMAS, "{kind:?} on {name}: off by {miss} standard errors");

        if kind == Kind::Score {
            continue; // Several draws have a baseline, below.
        }
        // Draw by draw the library computes the formula, alone or in a batch.
        let mut u = vec![0.0; 3];
        let mut batch = Sampled::<F>::new(kind, Evaluator::Serial(target.as_ref()), draws, 3).unwrap();
        let (mut g, mut mean) = (vec![0.0; 9], vec![0.0; 9]);
        batch.gradient(q.parameters(), 5, &mut g).unwrap();
        for k in 0..3 {
            draws.fill(5, k, &mut u);
            let one = plain(kind, Bug::None, target.as_ref(), &q, &u);
            mean.iter_mut().zip(&one).for_each(|(m, x)| *m += x / 3.0);
        }
        for (a, b) in g.iter().zip(&mean) {
            assert!((a - b).abs() < 1e-11 * (1.0 + b.abs()), "{kind:?} on {name}: {a} is not {b}");
        }
    }
}

fn check_twins<F: Space>(kind: Kind, bugs: &[Bug]) {
    let target = regression(Family::Bernoulli, 61, 3, 1.0, false);
    let q = place::<F>();
    let exact = gradient(&target, &q, kind != Kind::Energy);
    let draws = Draws::new(Seed(72), Purpose::Optimise);
    for &bug in bugs {
        let mut u = vec![0.0; 3];
        let miss = worst_miss(&exact, |t, g| {
            draws.fill(t, 0, &mut u);
            g.copy_from_slice(&plain(kind, bug, &target, &q, &u));
        });
        assert_eq!(miss < SIGMAS, bug == Bug::None, "{kind:?} with {bug:?}: {miss} standard errors");
    }
}

// 4 kinds × 4 targets × 2 spaces × 9 coordinates at six standard errors: a false alarm in 1.7 million runs.
#[test]
fn estimator_energy_is_unbiased() {
    check_kind::<Triangular>(Kind::Energy);
    check_kind::<Symmetric>(Kind::Energy);
    check_twins::<Triangular>(Kind::Energy, &[Bug::None, Bug::WrongSign]);
    check_twins::<Symmetric>(Kind::Energy, &[Bug::None, Bug::NotProjected, Bug::WrongSign]);
}

#[test]
fn estimator_entropy_is_unbiased() {
    check_kind::<Triangular>(Kind::Entropy);
    check_kind::<Symmetric>(Kind::Entropy);
    check_twins::<Triangular>(Kind::Entropy, &[Bug::None, Bug::DroppedInverse]);
    check_twins::<Symmetric>(Kind::Entropy, &[Bug::None, Bug::DroppedInverse, Bug::NotProjected]);
}

#[test]
fn estimator_stl_is_unbiased() {
    check_kind::<Triangular>(Kind::Stl);
    check_kind::<Symmetric>(Kind::Stl);
    check_twins::<Triangular>(Kind::Stl, &[Bug::None, Bug::DroppedInverse]);
    check_twins::<Symmetric>(Kind::Stl, &[Bug::None, Bug::DroppedInverse, Bug::NotProjected]);
}

#[test]
fn estimator_score_is_unbiased() {
    check_kind::<Triangular>(Kind::Score);
    check_kind::<Symmetric>(Kind::Score);
    check_twins::<Symmetric>(Kind::Score, &[Bug::None, Bug::DroppedInverse, Bug::WrongSign]);
}

/// log p + 1000.
struct Shifted<'a>(&'a dyn Target);

impl Target for Shifted<'_> {
    provi::forward_target!(self => self.0; dim);

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
        Ok(self.0.log_density(z, gradient)? + 1000.0)
    }
}

/// Two draws, each with the other as its baseline: unbiased at six standard errors, 2e-9 for each of 9 coordinates and 4 targets; a constant of
/// log p changes nothing, and for a single draw it does.
#[test]
fn estimator_score_has_a_baseline_that_takes_constants_away() {
    for (name, target) in targets() {
        let q = place::<Triangular>();
        let exact = gradient(target.as_ref(), &q, true);
        let draws = Draws::new(Seed(73), Purpose::Optimise);
        let shifted = Shifted(target.as_ref());
        for batch in [1, 2, 5] {
            let library =
                |target| Sampled::<Triangular>::new(Kind::Score, Evaluator::Serial(target), draws, batch);
            let (mut plain, mut moved) = (library(target.as_ref()).unwrap(), library(&shifted).unwrap());
            let (mut g, mut h) = (vec![0.0; 9], vec![0.0; 9]);
            plain.gradient(q.parameters(), 5, &mut g).unwrap();
            moved.gradient(q.parameters(), 5, &mut h).unwrap();
            let same = g.iter().zip(&h).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs()));
            assert_eq!(same, batch > 1, "{name}, {batch} draws");
            if batch == 2 {
                let miss = worst_miss(&exact, |t, g| plain.gradient(q.parameters(), t, g).unwrap());
                assert!(miss < SIGMAS, "{name}: off by {miss} standard errors");
            }
        }
    }
}

#[test]
fn estimator_exact_is_the_gradient() {
    use provi::optimize::Estimator;
    for (name, target) in targets() {
        let q = place::<Triangular>();
        let mut w = q.parameters().to_vec();
        let mut exact = provi::estimator::Exact::new(target.expectations().unwrap(), 3);
        exact.descend(&mut w, 0, 0.5).unwrap();
        let expected = gradient(target.as_ref(), &q, false);
        for i in 0..9 {
            let g = (q.parameters()[i] - w[i]) / 0.5;
            assert!((g - expected[i]).abs() < 1e-12 * (1.0 + g.abs()), "{name}");
        }
    }
}
