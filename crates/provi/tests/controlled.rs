//! Draws that are controlled by a quadratic [noise-controlled].

use provi::draws::{Draws, Purpose};
use provi::estimator::{Control, Kind, Sampled};
use provi::pattern::Pattern;
use provi::plan::Coordinates;
use provi::subsample::Sampling;
use provi::target::{Closure, Declared, Evaluator, GaussianTarget, Glm, Prior, Target};
use provi::{
    Auto, BaseLaw, Curvature, Design, Gaussian, Matrix, Method, Planner, Quadratic, Result, Seed, Symmetric,
    Triangular,
};

const CONTROLLED: [(Method, Method); 2] =
    [(Method::ProxControlled, Method::ProxEnergy), (Method::ProjControlled, Method::ProjEntropyTriangular)];

fn logistic() -> Glm {
    let entries = [0.5, 1.0, -1.5, 0.3, 0.9, 2.0, -0.7, 0.1, 1.1, -0.6, 0.2, 0.8];
    let labels = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
    Glm::logistic(Design::dense(6, 2, &entries).unwrap(), &labels, Prior::precision(1.0).unwrap()).unwrap()
}

fn draws(seed: u64) -> Draws {
    Draws::new(Seed(seed), Purpose::Optimise)
}

/// The mean over `count` draws of each entry of g, and its standard error.
fn mean(mut estimator: Sampled<'_, Triangular>, w: &[f64], count: u64) -> Result<Vec<(f64, f64)>> {
    let (mut sum, mut squares, mut g) = (vec![0.0; w.len()], vec![0.0; w.len()], vec![0.0; w.len()]);
    for t in 0..count {
        estimator.gradient(w, t, &mut g)?;
        sum.iter_mut().zip(&g).for_each(|(s, g)| *s += g);
        squares.iter_mut().zip(&g).for_each(|(s, g)| *s += g * g);
    }
    let n = count as f64;
    let each = |(s, q): (&f64, &f64)| (s / n, ((q / n - (s / n).powi(2)) / n).sqrt());
    Ok(sum.iter().zip(&squares).map(each).collect())
}

/// For V = ½c‖z − z̄‖² nothing is left to draw: g is ∇l, or ∇f, whatever u, on either space of factors.
#[test]
fn nothing_is_drawn_for_an_isotropic_quadratic() {
    let (c, mode) = (1.7, [0.4, -1.1]);
    let target = GaussianTarget::new(&mode, Matrix::scaled_identity(2, c)).unwrap();
    let control = || Control { curvature: c, centre: mode.to_vec() };
    let w = [0.9, 0.2, 1.3, -0.4, 0.6];
    let exact = [c * (0.9 - 0.4), c * (0.2 + 1.1), c * 1.3, c * -0.4, c * 0.6];
    let mut g = [0.0; 5];
    let mut energy = Sampled::<Triangular>::new(Kind::Energy, Evaluator::Serial(&target), draws(1), 3)
        .unwrap()
        .controlled(control())
        .unwrap();
    for t in 0..5 {
        energy.gradient(&w, t, &mut g).unwrap();
        assert!(g.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-13), "{g:?}");
    }
    let mut entropy = Sampled::<Triangular>::new(Kind::Entropy, Evaluator::Serial(&target), draws(1), 3)
        .unwrap()
        .controlled(control())
        .unwrap();
    entropy.gradient(&w, 0, &mut g).unwrap();
    let with_entropy = [exact[0], exact[1], exact[2] - 1.0 / 1.3, exact[3], exact[4] - 1.0 / 0.6];
    assert!(g.iter().zip(&with_entropy).all(|(a, b)| (a - b).abs() < 1e-13), "{g:?}");
    let mut symmetric = Sampled::<Symmetric>::new(Kind::Energy, Evaluator::Serial(&target), draws(1), 3)
        .unwrap()
        .controlled(control())
        .unwrap();
    symmetric.gradient(&w, 0, &mut g).unwrap();
    assert!(g.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-13), "{g:?}");
}

/// Level: six standard errors for each of five entries, 1e-8. The twin has half of the exact part.
#[test]
fn controlled_draws_are_unbiased_and_their_plans_keep_their_promises() {
    let model = logistic();
    let w = [0.3, -0.8, 0.9, 0.2, 0.6];
    let control = Control { curvature: 1.4, centre: vec![0.5, 0.1] };
    let q = Gaussian::<Triangular>::new(&w[..2], &w[2..]).unwrap();
    let exact = provi_testkit::space::gradient(&model, &q, false).unwrap();
    let estimator = Sampled::new(Kind::Energy, Evaluator::Serial(&model), draws(7), 1)
        .unwrap()
        .controlled(control.clone())
        .unwrap();
    let found = mean(estimator, &w, 20_000).unwrap();
    for ((value, error), exact) in found.iter().zip(&exact) {
        assert!((value - exact).abs() < 6.0 * error, "{value} ± {error} and {exact}");
    }
    let part = [0.3 - 0.5, -0.8 - 0.1, 0.9, 0.2, 0.6].map(|x| 0.5 * control.curvature * x);
    let wrong = (0..5).filter(|i| (found[*i].0 - part[*i] - exact[*i]).abs() > 6.0 * found[*i].1).count();
    assert!(wrong >= 4, "half of the exact part is missed in {wrong} entries");

    let star = Auto::default().run(&model, Seed(0)).unwrap().fit.gaussian;
    for (method, plain) in CONTROLLED {
        let planner = |method| Planner::new(method).coordinates(Coordinates::Original).draws(4);
        let plan = planner(method).to_distance(&model, 0.01).unwrap();
        let without = planner(plain).to_distance(&model, 0.01).unwrap();
        assert!(4 * plan.steps <= without.steps, "{method}: {} and {}", plan.steps, without.steps);
        let promised = plan.promise.value.unwrap();
        let distance2 = |seed| {
            let fit = plan.run(&model, Seed(seed)).unwrap();
            let pairs = fit.gaussian.parameters().iter().zip(star.parameters());
            pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let mean = (0..20).map(distance2).sum::<f64>() / 20.0;
        assert!(mean <= promised && promised <= 0.01, "{method}: {mean} {promised}");
    }
}

/// The usual coordinates, whitened by H_lo, and another law of the draws on a quadratic, whose best (m, C) is that of the posterior. A promise is about the
/// mean over all seeds; that of twenty is far below it.
#[test]
fn promises_hold_in_whitened_coordinates_and_for_other_laws() {
    let model = logistic();
    let plan = Planner::new(Method::ProxControlled).draws(4).to_distance(&model, 0.01).unwrap();
    assert_eq!(plan.coordinates(), Coordinates::Curvature);
    let star = Auto::default().run(&model, Seed(0)).unwrap().fit.gaussian;
    let lower = model.curvature().unwrap().unwrap().lower().to_matrix(2);
    let mean = (0..20)
        .map(|seed| {
            let q = plan.run(&model, Seed(seed)).unwrap().gaussian;
            let apart: Vec<f64> = q.parameters().iter().zip(star.parameters()).map(|(a, b)| a - b).collect();
            // m and the two columns of C, each in the norm of H_lo.
            let columns = [[apart[0], apart[1]], [apart[2], apart[3]], [0.0, apart[4]]];
            let square = |v: &[f64; 2]| {
                let row = |i: usize| v[0] * lower[(i, 0)] + v[1] * lower[(i, 1)];
                v[0] * row(0) + v[1] * row(1)
            };
            columns.iter().map(square).sum::<f64>()
        })
        .sum::<f64>()
        / 20.0;
    assert!(mean <= plan.promise.value.unwrap(), "{mean}");

    let target =
        GaussianTarget::new(&[0.4, -1.1], Matrix::new(2, 2, vec![3.0, 0.5, 0.5, 1.0]).unwrap()).unwrap();
    let star = target.optimum().unwrap();
    for (method, _) in CONTROLLED {
        let planner =
            Planner::new(method).base_law(BaseLaw::Laplace).coordinates(Coordinates::Original).draws(8);
        let plan = planner.to_distance(&target, 0.02).unwrap();
        let distance2 = |seed| {
            let fit = plan.run_location_scale(&target, Seed(seed)).unwrap();
            fit.q.parameters().iter().zip(star.parameters()).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let mean = (0..20).map(distance2).sum::<f64>() / 20.0;
        assert!(mean <= plan.promise.value.unwrap(), "{method}: {mean}");
    }
}

/// N(0, I) under a declared M = 40: steps for practice are controlled by the curvature at the mode, and converge; with (M + μ)/2 they
/// would move away.
#[test]
fn steps_for_practice_do_not_follow_a_loose_bound() {
    let normal = Closure::new(3, |z: &[f64], gradient: &mut [f64]| {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    });
    let bounds = Curvature::declared(3, Quadratic::Scalar(0.5), Some(Quadratic::Scalar(40.0))).unwrap();
    let target = Declared::new(normal.unwrap()).with_curvature(bounds).unwrap();
    for (method, _) in CONTROLLED {
        let plan = Planner::new(method).practical(&target, Some(2000)).unwrap();
        let q = plan.run(&target, Seed(1)).unwrap().gaussian;
        let best = Gaussian::<Triangular>::standard(3);
        assert!(
            q.parameters().iter().zip(best.parameters()).all(|(a, b)| (a - b).abs() < 1e-6),
            "{method}: {q:?}"
        );
    }
}

/// μ = M: nothing is drawn, so a plan needs a few dozen steps where the noise of plain draws needs millions.
#[test]
fn a_quadratic_converges_linearly() {
    let quadratic = Closure::new(2, |z: &[f64], gradient: &mut [f64]| {
        let apart = [z[0] - 0.4, z[1] + 1.1];
        gradient.iter_mut().zip(apart).for_each(|(g, x)| *g = -2.5 * x);
        -1.25 * apart.iter().map(|x| x * x).sum::<f64>()
    });
    let bounds = Curvature::declared(2, Quadratic::Scalar(2.5), Some(Quadratic::Scalar(2.5))).unwrap();
    let target = Declared::new(quadratic.unwrap()).with_curvature(bounds).unwrap();
    let deviation = 2.5f64.powf(-0.5);
    let star = [0.4, -1.1, deviation, 0.0, deviation];
    for (method, plain) in CONTROLLED {
        let planner = |method| Planner::new(method).coordinates(Coordinates::Original);
        let plan = planner(method).to_distance(&target, 1e-6).unwrap();
        let without = planner(plain).to_distance(&target, 1e-6).unwrap();
        assert!(plan.steps < 200 && without.steps > 1_000_000, "{method}: {} {}", plan.steps, without.steps);
        let found = plan.run(&target, Seed(3)).unwrap().gaussian;
        assert!(found.parameters().iter().zip(&star).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?}");
    }
}

#[test]
fn every_route_without_a_theorem_is_refused() {
    let model = logistic();
    for (method, _) in CONTROLLED {
        let planner = Planner::new(method);
        let refused = |plan: Result<provi::Plan>| plan.unwrap_err().to_string();
        assert!(
            refused(planner.clone().pattern(Pattern::MeanField).to_distance(&model, 0.1))
                .contains("full triangle")
        );
        let terms = planner.clone().subsample(2, Sampling::Uniform).to_distance(&model, 0.1);
        assert!(refused(terms).contains("controls the sum of all terms"));
        assert!(refused(planner.convex(&model, 100)).contains("recursion only"));
    }
    let target = Evaluator::Serial(&model);
    let control = Control { curvature: 1.0, centre: vec![0.0; 2] };
    for kind in [Kind::Stl, Kind::Score] {
        assert!(
            Sampled::<Triangular>::new(kind, target, draws(1), 1)
                .unwrap()
                .controlled(control.clone())
                .is_err()
        );
    }
    let narrow = Control { curvature: 1.0, centre: vec![0.0] };
    assert!(
        Sampled::<Triangular>::new(Kind::Energy, target, draws(1), 1).unwrap().controlled(narrow).is_err()
    );
}

/// Declared curvature gives controlled plans too, and they say so.
#[test]
fn a_declared_curvature_is_enough() {
    let wave = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = -z[0] - 0.1 * z[0].sin();
        -0.5 * z[0] * z[0] + 0.1 * z[0].cos()
    });
    let bounds = Curvature::declared(1, Quadratic::Scalar(0.9), Some(Quadratic::Scalar(1.1))).unwrap();
    let target = Declared::new(wave.unwrap()).with_curvature(bounds).unwrap();
    let steps = |method| Planner::new(method).to_distance(&target, 1e-3).unwrap().steps;
    // K/M = 1/11: the floor falls more than a hundredfold.
    assert!(50 * steps(Method::ProxControlled) < steps(Method::ProxEnergy));
}
