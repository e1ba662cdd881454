use super::*;
use crate::base::matrix::Matrix;
use crate::glm::design::Design;
use crate::glm::{Family, Glm, Prior};
use crate::target::curvature::Curvature;
use crate::target::{Closure, GaussianTarget};

fn go_on(_: &Look, _: &State<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn model(family: Family, rows: usize, d: usize) -> Glm {
    let mut entries = vec![0.0; rows * d];
    provi_kernels::normals(21, 0, 0, &mut entries);
    let y: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(entries[n * d] + 0.3 > 0.0))).collect();
    Glm::new(family, Design::dense(rows, d, &entries).unwrap(), &y, Prior::scale(2.0).unwrap()).unwrap()
}

#[test]
fn every_family_reaches_the_goal_from_laplace_and_from_bad_starts() {
    for family in [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson] {
        let target = model(family, 60, 5);
        let solution = Solver::default().run(&target).unwrap();
        // Probit's ε is a checked error, which ends its bound earlier.
        let probit = family == Family::Probit;
        assert!(probit || solution.stop == Stop::Reached, "{family:?} {solution:?}");
        assert!(
            solution.gap.unwrap().value <= if probit { 1e-6 } else { 1e-10 },
            "{family:?} {:?}",
            solution.gap
        );
        assert!(solution.iterations <= 25, "{family:?}: {}", solution.iterations);
        for (shift, scale) in [(6.0, 0.01), (-6.0, 0.5), (0.0, 20.0)] {
            let mut start = Gaussian::standard(5);
            start.parameters_mut()[..5].fill(shift);
            start.parameters_mut()[5..].iter_mut().for_each(|x| *x *= scale);
            let Ok(far) = Solver::default().run_from(&target, &start, &mut go_on) else {
                // exp(20²·‖a‖²/2) overflows: there is no f to start from.
                assert!(family == Family::Poisson && scale > 1.0);
                continue;
            };
            assert!((far.neg_elbo - solution.neg_elbo).abs() < 1e-7, "{family:?} {shift} {:?}", far.stop);
        }
    }
}

#[test]
fn the_bound_covers_the_gap_along_the_way() {
    let target = model(Family::Bernoulli, 40, 4);
    let optimum = Solver { goal: 1e-14, ..Solver::default() }.run(&target).unwrap().neg_elbo;
    let start = Gaussian::standard(4);
    let solution = Solver::default().run_from(&target, &start, &mut go_on).unwrap();
    assert!(solution.history.iter().all(|look| look.gap >= look.neg_elbo - optimum - 1e-11));
    assert!(solution.history.windows(2).all(|w| w[1].neg_elbo <= w[0].neg_elbo + 1e-11));
}

#[test]
fn a_gaussian_target_takes_one_step() {
    let precision = Matrix::new(2, 2, vec![2.0, 0.7, 0.7, 1.0]).unwrap();
    let target = GaussianTarget::new(&[3.0, -1.0], precision).unwrap();
    let solution = Solver::default().run_from(&target, &Gaussian::standard(2), &mut go_on).unwrap();
    assert_eq!((solution.iterations, solution.stop), (1, Stop::Reached));
    for (a, b) in solution.gaussian.parameters().iter().zip(target.optimum().unwrap().parameters()) {
        assert!((a - b).abs() < 1e-13);
    }
    assert!((solution.neg_elbo + target.log_evidence()).abs() < 1e-12);
}

#[test]
fn one_observation_in_one_dimension_and_separable_data() {
    let one = |y: f64| {
        let design = Design::dense(1, 1, &[1.5]).unwrap();
        Glm::logistic(design, &[y], Prior::scale(3.0).unwrap()).unwrap()
    };
    let (up, down) = (Solver::default().run(&one(1.0)).unwrap(), Solver::default().run(&one(0.0)).unwrap());
    assert!((up.gaussian.mean()[0] + down.gaussian.mean()[0]).abs() < 1e-6);
    assert!(up.gap.unwrap().value <= 1e-10);

    let x: Vec<f64> = (0..30).map(|n| f64::from(n) - 14.5).collect();
    let y: Vec<f64> = x.iter().map(|x| f64::from(u8::from(*x > 0.0))).collect();
    let wide = Glm::logistic(Design::dense(30, 1, &x).unwrap(), &y, Prior::scale(5.0).unwrap()).unwrap();
    let solution = Solver::default().run(&wide).unwrap();
    assert_eq!(solution.stop, Stop::Reached);
    assert!(solution.gaussian.mean()[0] > 3.0 && solution.iterations < 30, "{solution:?}");
}

#[test]
fn an_unreachable_goal_stalls_and_a_watcher_interrupts() {
    let target = model(Family::Bernoulli, 60, 5);
    let solution = Solver { goal: 0.0, ..Solver::default() }.run(&target).unwrap();
    assert_eq!(solution.stop, Stop::Stalled);
    assert!(solution.gap.unwrap().value < 1e-15 && solution.iterations < 60);
    let stopped = Solver::default()
        .run_with(&target, &mut |look, _| match look.iteration {
            2.. => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .unwrap();
    assert_eq!((stopped.stop, stopped.iterations, stopped.history.len()), (Stop::Interrupted, 2, 3));
    let short = Solver { iterations: 1, ..Solver::default() }.run(&target).unwrap();
    assert_eq!((short.stop, short.iterations), (Stop::Exhausted, 1));
}

#[test]
fn a_target_without_expectations_is_refused_and_a_declared_bound_keeps_its_name() {
    let blind = Closure::new(1, |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        -0.5 * z[0] * z[0]
    })
    .unwrap();
    assert!(Solver::default().run(&blind).is_err());
    let curvature = Curvature::declared(5, crate::Quadratic::Scalar(0.2), None).unwrap();
    let declared =
        crate::target::Declared::new(model(Family::Bernoulli, 60, 5)).with_curvature(curvature).unwrap();
    let solution = Solver::default().run(&declared).unwrap();
    assert_eq!(solution.gap.unwrap().provenance, Provenance::Declared);
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let target = model(Family::Bernoulli, 5000, 3);
    let here = Solver::default().run(&target).unwrap().gaussian;
    #[cfg(feature = "parallel")]
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| Solver::default().run(&target).unwrap().gaussian), here);
    }
    assert_eq!(here.dim(), 3);
}

#[test]
fn the_convexity_read_off_a_residual_is_below_the_least_eigenvalue() {
    // On the line H = 1 + e at C = 1 has the residual |e|: with less than its size the bound would pass H.
    for e in [-0.3, -0.1, -1e-3, 0.0, 0.2] {
        let q = Gaussian::<Triangular>::new(&[0.0], &[1.0]).unwrap();
        let found = convexity_at(&q, f64::abs(e)).unwrap();
        assert!(found <= 1.0 + e && found > 0.5 * (1.0 + e), "{e}: {found}");
    }
    // In the plane the residual is what tril(HC) leaves of diag(1/C_ii).
    for (a, b, c) in [(1.0, 0.05, 1.0), (4.0, 0.3, 0.9), (0.5, -0.1, 2.0)] {
        let packed = [1.0 / f64::sqrt(a), 0.0, 1.0 / f64::sqrt(c)];
        let q = Gaussian::<Triangular>::new(&[0.0, 0.0], &packed).unwrap();
        let least = 0.5 * (a + c) - f64::hypot(0.5 * (a - c), b);
        let found = convexity_at(&q, (b * packed[0]).abs()).unwrap();
        assert!(found <= least && found > 0.1 * least, "{a} {b} {c}: {found} {least}");
    }
    let q = Gaussian::<Triangular>::new(&[0.0], &[1.0]).unwrap();
    assert!(convexity_at(&q, 0.9).is_none());
}

#[test]
fn a_run_taken_up_anywhere_goes_on_to_the_same_bits() {
    let target = model(Family::Bernoulli, 40, 4);
    let mut places = Vec::new();
    let whole = Solver::default()
        .run_with(&target, &mut |look, state| {
            places.push((look.iteration, state.gaussian.clone(), state.memory()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(places.len() > 3);
    for (made, q, memory) in &places {
        let rest = Solver::default().take_up(&target, q, memory, &mut go_on).unwrap();
        assert_eq!(rest.gaussian, whole.gaussian, "from {made}");
        assert_eq!(made + rest.iterations, whole.iterations);
    }
    // Without its memory it goes another way.
    let (_, q, _) = &places[places.len() - 2];
    let rest = Solver::default().run_from(&target, q, &mut go_on).unwrap();
    assert_ne!(rest.gaussian, whole.gaussian);
}
