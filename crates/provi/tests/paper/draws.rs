//! §3, beyond the paper: control variates, coupled draws, other laws of u.

use crate::common::*;
use provi::coupling::Coupling;
use provi::draws::{Draws, Purpose};
use provi::estimator::{Kind, Sampled};
use provi::plan::Coordinates;
use provi::target::{Evaluator, Family, GaussianTarget};
use provi::theory::noise::{self, Base, NoiseBound};
use provi::{BaseLaw, Gaussian, Matrix, Method, Planner, Seed, Triangular};

fn near(found: NoiseBound, growth: f64, floor: f64) {
    assert!((found.growth - growth).abs() <= 1e-12 * growth, "{found:?}, expected {growth}, {floor}");
    assert!((found.floor - floor).abs() <= 1e-12 * floor, "{found:?}, expected {growth}, {floor}");
}

#[test]
fn noise_controlled() {
    // M² + 2(d+κ)K²/N with K = (M−μ)/2 = 1, and √V* = K√((d+κ)‖w*−w̄‖²) + √d·shift.
    let c = noise::control(3.0, 1.0).unwrap();
    let k = noise::controlled_residual(3.0, 1.0, c).unwrap();
    let v_star = noise::controlled_v_star(2, k, 0.2, 0.0).unwrap();
    assert!((c - 2.0).abs() < 1e-15 && (k - 1.0).abs() < 1e-14 && (v_star - 1.0).abs() < 1e-13);
    near(noise::controlled_energy_batch(2, 3.0, k, 4, v_star).unwrap(), 9.0 + 2.5, 0.5);
    near(noise::controlled_entropy_batch(2, 3.0, k, 4, v_star).unwrap(), 36.0 + 2.5, 0.5);
    // Attained by curvatures M and μ: r = ±K(z − z̄). With the smaller K of another c it would be exceeded.
    let (target, shift) = (gaussian_target(610, &[3.0, 1.0]), [0.3, -0.2]);
    let mode = target.optimum().unwrap().mean().to_vec();
    let mean: Vec<f64> = mode.iter().zip(shift).map(|(z, s)| z + s).collect();
    let q = Gaussian::<Triangular>::new(&mean, &[0.8, -0.3, 0.6]).unwrap();
    let drawn = cubature(2, &THREE_POINTS, |u| {
        let (mut left, mut x) = raw_gradient(Kind::Energy, &target, &q, u);
        let mut z = [0.0; 2];
        q.transport(u, &mut z);
        for i in 0..2 {
            let part = c * (z[i] - mode[i]);
            left[i] -= part;
            (0..2).for_each(|j| x[(i, j)] -= part * u[j]);
        }
        dot(&left, &left) + inner(&x, &x)
    });
    let claim = noise::energy_second_moment(2, k, dot(&shift, &shift), dot(q.factor(), q.factor())).unwrap();
    assert!((drawn / claim - 1.0).abs() < 1e-10, "{drawn} {claim}");
}

#[test]
fn base_law() {
    // d + κ in place of d + 3.
    let laplace = Base::new(2, BaseLaw::Laplace.kurtosis()).unwrap();
    near(noise::energy_batch(laplace, 3.0, 4, 7.0).unwrap(), 0.5 * 9.0 + 2.0 * 8.0 * 9.0 / 4.0, 3.5);
    // Attained by a quadratic: E‖π‖²(1+‖u‖²) = M²((d+κ)‖C‖² + (d+1)‖m−z̄‖²) over three points with the moments of the law.
    for law in [BaseLaw::Gaussian, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform] {
        let kappa = law.kurtosis();
        let rule = [(-kappa.sqrt(), 0.5 / kappa), (0.0, 1.0 - 1.0 / kappa), (kappa.sqrt(), 0.5 / kappa)];
        let target = GaussianTarget::new(&[0.4, -1.0], Matrix::scaled_identity(2, 1.7)).unwrap();
        let q = Gaussian::<Triangular>::new(&[0.9, 0.2], &[1.1, 0.4, 0.7]).unwrap();
        let moment = cubature(2, &rule, |u| {
            let (left, x) = raw_gradient(Kind::Energy, &target, &q, u);
            dot(&left, &left) + inner(&x, &x)
        });
        let (shift2, factor2) = (0.25 + 1.44, dot(q.factor(), q.factor()));
        let claim = 1.7 * 1.7 * ((2.0 + kappa) * factor2 + 3.0 * shift2);
        assert!((moment / claim - 1.0).abs() < 1e-12, "{law}: {moment} {claim}");
    }
}

/// Plans count coupled draws as the ledger says, and a mean of them is unbiased: within six standard errors, 2e-9 for each of the 36 entries.
#[test]
fn noise_coupled() {
    let target = regression(Family::Bernoulli, 620, 3, 2.0, true);
    let d = provi::Target::dim(&target);
    let plan = |coupling, draws| {
        let planner = Planner::new(Method::ProxEnergy).coordinates(Coordinates::Original).draws(draws);
        planner.coupling(coupling).to_steps(&target, 1000).unwrap()
    };
    for (coupling, draws, counted) in [
        (Coupling::Antithetic, 8, 4),
        (Coupling::Antithetic, 9, 4),
        (Coupling::Latin, 8, 7),
        (Coupling::Sobol, 8, 1),
    ] {
        let (coupled, plain) = (plan(coupling, draws), plan(Coupling::Independent, counted));
        assert_eq!(coupled.constants.unwrap().noise, plain.constants.unwrap().noise, "{coupling}");
        assert_eq!(coupled.promise.value, plain.promise.value);
        assert!(coupled.promise.value > plan(Coupling::Independent, draws).promise.value);
    }
    let q = in_set::<Triangular>(621, d, 4.0, 2.0);
    let sampled = |coupling, batch| {
        let draws = Draws::new(Seed(9), Purpose::Optimise).coupled(coupling);
        Sampled::<Triangular>::new(Kind::Energy, Evaluator::Serial(&target), draws, batch)
    };
    let mean = |coupling, count: u64| {
        let (mut estimator, len) = (sampled(coupling, 6).unwrap(), q.parameters().len());
        let (mut sum, mut squares, mut g) = (vec![0.0; len], vec![0.0; len], vec![0.0; len]);
        for t in 0..count {
            estimator.gradient(q.parameters(), t, &mut g).unwrap();
            sum.iter_mut().zip(&g).for_each(|(s, g)| *s += g / count as f64);
            squares.iter_mut().zip(&g).for_each(|(s, g)| *s += g * g / count as f64);
        }
        let errors: Vec<f64> =
            sum.iter().zip(&squares).map(|(m, s)| ((s - m * m).max(0.0) / count as f64).sqrt()).collect();
        (sum, errors)
    };
    let exact = gradient(&target, &q, false);
    for (_, coupling) in Coupling::named() {
        let (found, errors) = mean(coupling, 4000);
        for ((g, e), error) in found.iter().zip(&exact).zip(&errors) {
            assert!((g - e).abs() < 6.0 * error + 1e-9, "{coupling}: {g} ± {error}, exactly {e}");
        }
        // A mean that is off by a twentieth of its size is seen.
        let off =
            found.iter().zip(&exact).zip(&errors).any(|((g, e), error)| (g - 1.05 * e).abs() > 6.0 * error);
        assert!(off, "{coupling}");
    }
    let draws = Draws::new(Seed(9), Purpose::Optimise).coupled(Coupling::Latin);
    let score = Sampled::<Triangular>::new(Kind::Score, Evaluator::Serial(&target), draws, 4);
    assert!(score.unwrap_err().to_string().contains("baseline"));
    assert!(Planner::new(Method::Exact).coupling(Coupling::Latin).to_steps(&target, 5).is_err());
}
