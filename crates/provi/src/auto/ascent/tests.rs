use super::*;
use crate::auto::solve::Solver;
use crate::glm::design::Design;
use crate::glm::{Glm, Prior};
use crate::target::expectations::neg_elbo;
use crate::target::{Closure, Target};

/// log p and its gradient of another target, and nothing else.
struct Blind<'a>(&'a Glm);

impl Target for Blind<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.0.log_density(z, gradient)
    }
}

fn gap(model: &Glm, budget: u64, options: Options) -> f64 {
    let best = Solver::default().run(model).unwrap().neg_elbo;
    let blind = Blind(model);
    let mut ascent = Ascent::new(Evaluator::Serial(&blind), Seed(3), options).unwrap();
    ascent.advance(budget).unwrap();
    neg_elbo(model, &ascent.current()).unwrap() - best
}

fn run<F: Fn(&[f64], &mut [f64]) -> f64>(dim: usize, f: F, budget: u64) -> Result<Gaussian<Triangular>> {
    let target = Closure::new(dim, f)?;
    let mut ascent = Ascent::new(Evaluator::Serial(&target), Seed(5), Options::default())?;
    ascent.advance(budget)?;
    let q = ascent.current();
    assert!(q.parameters().iter().all(|x| x.is_finite()));
    Ok(q)
}

#[test]
fn small_models_come_within_a_hundredth_of_a_nat() {
    let mut entries = vec![0.0; 120];
    provi_kernels::normals(2, 0, 0, &mut entries);
    let design = Design::dense(40, 3, &entries).unwrap();
    let y: Vec<f64> = (0..40).map(|n| f64::from(n % 3)).collect();
    let labels: Vec<f64> = (0..40).map(|n| f64::from(n % 2)).collect();
    let prior = || Prior::scale(3.0).unwrap();
    let poisson = Glm::poisson(design.clone(), &y, prior()).unwrap();
    assert!(gap(&poisson, 1000, Options::default()) < 1e-2);
    let far = Options { start: vec![-15.0, 10.0, 8.0], ..Options::default() };
    assert!(gap(&poisson, 1000, far) < 1e-2);
    assert!(gap(&Glm::logistic(design.clone(), &labels, prior()).unwrap(), 1000, Options::default()) < 1e-2);
    assert!(gap(&Glm::probit(design, &labels, prior()).unwrap(), 1000, Options::default()) < 1e-2);
    // One observation, one dimension; separable data.
    let one = Glm::logistic(Design::dense(1, 1, &[2.0]).unwrap(), &[1.0], prior()).unwrap();
    assert!(gap(&one, 1000, Options::default()) < 1e-2);
    let x: Vec<f64> = (0..30).map(|n| f64::from(n) - 14.5).collect();
    let y: Vec<f64> = x.iter().map(|x| f64::from(u8::from(*x > 0.0))).collect();
    let separable = Glm::logistic(Design::dense(30, 1, &x).unwrap(), &y, Prior::scale(5.0).unwrap()).unwrap();
    // A wall at the origin with a long slope behind it: far from Gaussian.
    assert!(gap(&separable, 4000, Options::default()) < 0.2);
}

#[test]
fn a_gaussian_is_found_to_rounding_at_any_scale() {
    for scale in [1e-6, 1.0, 1e6] {
        let q = run(
            2,
            |z, g| {
                let (a, b) = (z[0] / scale - 3.0, z[1] / scale + 1.0 - z[0] / scale);
                g[0] = (-a + b) / scale;
                g[1] = -b / scale;
                -0.5 * (a * a + b * b)
            },
            2000,
        )
        .unwrap();
        // z₀ = 3 + a, z₁ = 2 + a + b: the factor is [1 0; 1 1].
        let expected = [3.0, 2.0, 1.0, 1.0, 1.0];
        for (x, y) in q.parameters().iter().zip(expected) {
            assert!((x / scale - y).abs() < 1e-6, "{scale}: {q:?}");
        }
    }
}

#[test]
fn awkward_targets_finish() {
    // A mixture of two normals; the start is the saddle between them, where the Hessian is indefinite.
    let mixture = |z: &[f64], g: &mut [f64]| {
        let (a, b) = ((z[0] - 3.0).powi(2) / 2.0, (z[0] + 3.0).powi(2) / 2.0);
        let weight = 1.0 / (1.0 + (a - b).exp());
        g[0] = -weight * (z[0] - 3.0) - (1.0 - weight) * (z[0] + 3.0);
        g[1] = -z[1];
        (-a).max(-b) + (-(a - b).abs()).exp().ln_1p() - 0.5 * z[1] * z[1]
    };
    run(2, mixture, 2000).unwrap();
    // Neal's funnel: its mode lies in the neck, far from where the mass is.
    let funnel = |z: &[f64], g: &mut [f64]| {
        let precision = (-z[0]).exp();
        let square: f64 = z[1..].iter().map(|x| x * x).sum();
        g[0] = -z[0] / 9.0 - 2.0 + 0.5 * precision * square;
        (1..5).for_each(|i| g[i] = -precision * z[i]);
        -z[0] * z[0] / 18.0 - 2.0 * z[0] - 0.5 * precision * square
    };
    run(5, funnel, 5000).unwrap();
    // Heavy tails: not log-concave.
    let student = |z: &[f64], g: &mut [f64]| {
        g[0] = -3.0 * z[0] / (2.0 + z[0] * z[0]);
        -1.5 * (2.0 + z[0] * z[0]).ln()
    };
    run(1, student, 2000).unwrap();
}

#[test]
fn a_target_that_ends_somewhere_makes_the_steps_retreat() {
    // N(0, 1), but only on |z| < 2.5: one draw in eighty lies beyond, and is answered by halving.
    let target = Closure::new(1, |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        if z[0].abs() < 2.5 { -0.5 * z[0] * z[0] } else { f64::NAN }
    })
    .unwrap();
    let mut ascent = Ascent::new(Evaluator::Serial(&target), Seed(5), Options::default()).unwrap();
    ascent.advance(5000).unwrap();
    assert!(ascent.halvings() > 0 && ascent.current().factor()[0] < 1.5);
    // Finite at one point only.
    let nowhere =
        Closure::new(1, |z: &[f64], _: &mut [f64]| if z[0].abs() > 0.0 { f64::NAN } else { 0.0 }).unwrap();
    assert!(Ascent::new(Evaluator::Serial(&nowhere), Seed(5), Options::default()).is_err());
    for options in [
        Options { power: f64::NAN, ..Options::default() },
        Options { mode_accuracy: 0.0, ..Options::default() },
        Options { start: vec![0.0; 2], ..Options::default() },
    ] {
        assert!(Ascent::new(Evaluator::Serial(&target), Seed(5), options).is_err());
    }
}

#[test]
fn budgets_are_kept_and_the_bits_do_not_depend_on_threads() {
    let target = Closure::new(3, |z: &[f64], g: &mut [f64]| {
        (0..3).for_each(|i| g[i] = -z[i] - 0.1 * z[i].powi(3));
        z.iter().map(|z| -0.5 * z * z - 0.025 * z.powi(4)).sum()
    })
    .unwrap();
    let run = |view: Evaluator<'_>| {
        let mut ascent = Ascent::new(view, Seed(5), Options::default()).unwrap();
        for budget in [0, 1, 7, 100, 333] {
            let before = ascent.evaluations();
            ascent.advance(budget).unwrap();
            let spent = ascent.evaluations() - before;
            assert!(spent <= budget && spent + 2 > budget);
        }
        ascent.current()
    };
    let serial = run(Evaluator::Serial(&target));
    assert_eq!(run((&target).into()), serial);
    #[cfg(feature = "parallel")]
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| run((&target).into())), serial);
    }
}

#[test]
fn orthogonal_draws_keep_their_lengths() {
    let mut block = vec![0.0; 12];
    provi_kernels::normals(1, 0, 0, &mut block);
    let lengths: Vec<f64> = block.chunks_exact(4).map(norm).collect();
    orthogonalise(&mut block, 4);
    for i in 0..3 {
        assert!((norm(&block[4 * i..4 * i + 4]) - lengths[i]).abs() < 1e-14);
        (0..i).for_each(|j| assert!(dot(&block[4 * i..4 * i + 4], &block[4 * j..4 * j + 4]).abs() < 1e-13));
    }
}
