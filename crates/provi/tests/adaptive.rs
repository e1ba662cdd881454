//! Steps that the draws decide, on the factors of a ball [rate-proj-adaptive], [proj-ball], [dowg].

use crate::common::gold;
use provi::average::Averager;
use provi::checkpoint::{Checkpoint, Keeper};
use provi::expectation::neg_elbo;
use provi::fit::{Snapshot, Watch};
use provi::method::Recipe;
use provi::optimize::{Adaptive, Progress, first_reach, minimise};
use provi::pattern::Pattern;
use provi::plan::{Coordinates, Norm};
use provi::step::ProjTriangular;
use provi::subsample::Sampling;
use provi::target::{Closure, Declared, GaussianTarget, Glm, Prior};
use provi::{
    Auto, Average, BaseLaw, Curvature, Design, Gaussian, Matrix, Method, Planner, Quadratic, Result,
    Schedule, Seed, Target, Triangular,
};
use std::ops::ControlFlow;
use std::time::Duration;

const ADAPTIVE: [Method; 2] = [Method::ProjAdaptive, Method::ProjAdaptiveStl];
const DOWG: Method = Method::Unproven(Recipe::Dowg);

fn logistic() -> Glm {
    let entries = [0.5, 1.0, -1.5, 0.3, 0.9, 2.0, -0.7, 0.1, 1.1, -0.6, 0.2, 0.8];
    let labels = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
    Glm::logistic(Design::dense(6, 2, &entries).unwrap(), &labels, Prior::precision(1.0).unwrap()).unwrap()
}

/// A promise is about the mean over all seeds; that of twenty is far below it. The bound falls like 1/√T.
#[test]
fn adaptive_plans_keep_their_promises_about_the_gap() {
    let model = logistic();
    let best = Auto::default().run(&model, Seed(0)).unwrap().fit.neg_elbo.value;
    for method in ADAPTIVE {
        let mut bounds = Vec::new();
        for steps in [100u64, 1600] {
            let plan = Planner::new(method).convex(&model, steps).unwrap();
            assert_eq!((plan.promise.norm, plan.promise.key), (Some(Norm::Gap), Some("rate-proj-adaptive")));
            assert_eq!((plan.average, plan.coordinates()), (Average::over_starts(), Coordinates::Original));
            let gap =
                |seed| neg_elbo(&model, &plan.run(&model, Seed(seed)).unwrap().gaussian).unwrap() - best;
            let mean = (0..20).map(gap).sum::<f64>() / 20.0;
            let bound = plan.promise.value.unwrap();
            assert!(mean > -1e-9 && mean <= bound, "{method} {steps}: {mean} {bound}");
            bounds.push(bound);
        }
        assert!(bounds[1] <= bounds[0] / 4.0 * (1.0 + 1e-9), "{method}: {bounds:?}");
    }
}

/// ½μE‖w̄ − w*‖² ≤ gap: a distance is promised too, in the coordinates of the plan, and its steps are the fewest.
#[test]
fn a_distance_is_reached_in_the_steps_that_are_promised() {
    let model = logistic();
    let star = Auto::default().run(&model, Seed(0)).unwrap().fit.gaussian;
    for method in ADAPTIVE {
        let planner = Planner::new(method).coordinates(Coordinates::Original).draws(4);
        let plan = planner.to_distance(&model, 2.0).unwrap();
        let promised = plan.promise.value.unwrap();
        assert!(promised <= 2.0 && plan.promise.norm == Some(Norm::Original), "{method}: {promised}");
        assert!(
            planner.to_steps(&model, plan.steps - 1).unwrap().promise.value.unwrap() > 2.0 * (1.0 - 1e-9)
        );
        let short = planner.to_steps(&model, 500).unwrap();
        let distance2 = |seed| {
            let q = short.run(&model, Seed(seed)).unwrap().gaussian;
            q.parameters().iter().zip(star.parameters()).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        if method == Method::ProjAdaptive {
            let mean = (0..20).map(distance2).sum::<f64>() / 20.0;
            assert!(mean <= short.promise.value.unwrap(), "{method}: {mean}");
        }
        // Rows and steps of the comparison are those of the plan.
        let rows = planner.compare(&model, 2.0).unwrap();
        let row = rows.iter().find(|row| row.method == method).unwrap();
        assert_eq!(row.steps, Ok(plan.steps));
    }
}

/// V = log cosh z: M = 1, μ = 0. f(m, s) = E log cosh(m + su) − log s − ½(1 + log 2π).
fn flat() -> Declared<impl Target> {
    let wave = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = -z[0].tanh();
        -(z[0].abs() + (-2.0 * z[0].abs()).exp().ln_1p() - 2f64.ln())
    });
    let bounds = Curvature::declared(1, Quadratic::Scalar(0.0), Some(Quadratic::Scalar(1.0))).unwrap();
    Declared::new(wave.unwrap()).with_curvature(bounds).unwrap()
}

fn flat_objective(m: f64, s: f64) -> f64 {
    let weight = |u: f64| (-0.5 * u * u).exp() * 0.02 / (2.0 * std::f64::consts::PI).sqrt();
    let mean: f64 =
        (-600..=600).map(|i| f64::from(i) * 0.02).map(|u| weight(u) * (m + s * u).cosh().ln()).sum();
    mean - s.ln() - 0.5 * (1.0 + (2.0 * std::f64::consts::PI).ln())
}

/// Where nothing bounds ‖w_0 − w*‖ a ball is declared, and the promise is to the best point of that ball, whether w* is in it or not.
#[test]
fn a_declared_ball_is_enough_where_nothing_is_strongly_convex() {
    let target = flat();
    for method in ADAPTIVE {
        let planner = Planner::new(method);
        let missing = planner.convex(&target, 100).unwrap_err().to_string();
        assert!(missing.contains("radius"), "{missing}");
        for (radius, holds) in [(3.0, true), (1.05, false)] {
            let least = (0..=1000)
                .map(|k| 1.0 + (radius - 1.0) * f64::from(k) / 1000.0)
                .map(|s| flat_objective(0.0, s))
                .fold(f64::INFINITY, f64::min);
            let free =
                (1..4000).map(|k| flat_objective(0.0, 0.002 * f64::from(k))).fold(f64::INFINITY, f64::min);
            assert_eq!(least < free + 1e-6, holds);
            let plan = planner.clone().radius(radius).convex(&target, 400).unwrap();
            assert_eq!(plan.promise.norm, Some(Norm::BallGap));
            let gap = |seed| {
                let q = plan.run(&target, Seed(seed)).unwrap().gaussian;
                assert!(q.parameters().iter().map(|x| x * x).sum::<f64>().sqrt() <= radius * (1.0 + 1e-9));
                flat_objective(q.mean()[0], q.factor()[0]) - least
            };
            let mean = (0..20).map(gap).sum::<f64>() / 20.0;
            assert!(mean <= plan.promise.value.unwrap(), "{method} {radius}: {mean}");
        }
        assert!(planner.clone().radius(0.9).convex(&target, 10).is_err());
        // Steps for practice take the ball too.
        let practical =
            planner.radius(3.0).coordinates(Coordinates::Original).practical(&target, Some(50)).unwrap();
        assert_eq!(practical.promise.norm, Some(Norm::BallGap));
    }
}

/// μ = M: one factor is in the ball, and the plan knows it before the first step.
#[test]
fn a_ball_with_one_factor_in_it_is_the_answer() {
    let target = GaussianTarget::new(&[0.4, -1.1], Matrix::scaled_identity(2, 2.5)).unwrap();
    for method in ADAPTIVE {
        let plan = Planner::new(method).coordinates(Coordinates::Original).to_steps(&target, 3).unwrap();
        assert!(plan.promise.value.unwrap() < 1e-5);
        let q = plan.run(&target, Seed(1)).unwrap().gaussian;
        let deviation = 2.5f64.powf(-0.5);
        let star = [0.4, -1.1, deviation, 0.0, deviation];
        assert!(q.parameters().iter().zip(&star).all(|(a, b)| (a - b).abs() < 1e-6), "{q:?}");
    }
}

/// The same bits on any cut of a run; a run that is stopped has no promise.
#[test]
fn adaptive_runs_are_resumed_with_what_their_steps_remember() {
    let model = logistic();
    for method in [ADAPTIVE[0], ADAPTIVE[1], DOWG] {
        let plan = Planner::new(method).draws(2).practical(&model, Some(2_500)).unwrap();
        let whole = plan.run(&model, Seed(2)).unwrap();
        assert!(whole.trace.iter().all(|at| at.gamma > 0.0 && at.gamma.is_finite()));
        let mut kept = None;
        let mut save = |at: &Checkpoint| kept = Some(at.clone());
        let mut stop = |at: &Snapshot| match at.step > 1_500 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let keeper = Keeper { every: Duration::MAX, save: &mut save };
        let mut watch = Watch { observer: Some(&mut stop), keeper: Some(keeper), ..Watch::default() };
        let stopped = plan.run_with(&model, Seed(2), &mut watch).unwrap();
        assert!(stopped.stopped_early && stopped.promise.value.is_none(), "{method}");
        drop(watch);
        let from: Checkpoint = kept.unwrap();
        assert!(!from.memory.is_empty());
        let mut forgetful = from.clone();
        forgetful.memory = vec![1.0; 7];
        let mut watch = Watch { from: Some(forgetful), ..Watch::default() };
        assert!(plan.run_with(&model, Seed(2), &mut watch).is_err(), "{method}");
        let mut watch = Watch { from: Some(from), ..Watch::default() };
        assert_eq!(plan.run_with(&model, Seed(2), &mut watch).unwrap().gaussian, whole.gaussian, "{method}");
    }
}

/// Draws of other laws on a quadratic, whose best (m, C) is that of the posterior.
#[test]
fn promises_hold_for_other_laws() {
    let precision = Matrix::new(2, 2, vec![2.0, 0.3, 0.3, 1.0]).unwrap();
    let target = GaussianTarget::new(&[0.4, -1.1], precision).unwrap();
    let star = target.optimum().unwrap();
    for law in [BaseLaw::Laplace, BaseLaw::Uniform] {
        let planner =
            Planner::new(Method::ProjAdaptive).base_law(law).coordinates(Coordinates::Original).draws(4);
        let plan = planner.to_steps(&target, 1000).unwrap();
        let distance2 = |seed| {
            let fit = plan.run_location_scale(&target, Seed(seed)).unwrap();
            fit.q.parameters().iter().zip(star.parameters()).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let mean = (0..20).map(distance2).sum::<f64>() / 20.0;
        assert!(mean <= plan.promise.value.unwrap(), "{law}: {mean}");
    }
}

#[test]
fn every_route_without_a_theorem_is_refused_and_another_average_promises_nothing() {
    let model = logistic();
    for method in ADAPTIVE {
        let planner = Planner::new(method);
        let refused = |plan: Result<provi::Plan>| plan.unwrap_err().to_string();
        let family = planner.clone().pattern(Pattern::MeanField).convex(&model, 10);
        assert!(refused(family).contains("full factor"));
        let terms = planner.clone().subsample(2, Sampling::Uniform).convex(&model, 10);
        assert!(refused(terms).contains("noise on a ball"));
        let own = planner.with_schedule(&model, Schedule::constant(0.1).unwrap(), 10);
        assert!(refused(own).contains("the draws decide"));
        let plan = planner.to_steps(&model, 10).unwrap();
        assert!(plan.clone().with_average(Average::over_starts()).promise.value.is_some());
        assert!(plan.with_average(Average::Last).promise.value.is_none());
    }
    let stuck = Planner::new(Method::ProjAdaptiveStl).base_law(BaseLaw::Laplace);
    assert!(stuck.convex(&model, 10).is_err());
    let adaptive = Schedule::adaptive(1.0).unwrap();
    assert!(Planner::new(Method::ProxEnergy).with_schedule(&model, adaptive, 10).is_err());
}

#[test]
fn dowg_comes_near_the_optimum_and_promises_nothing() {
    let gold = gold("W2");
    let plan = Planner::new(DOWG).draws(64).practical(&gold.target, Some(400)).unwrap();
    assert!(plan.promise.value.is_none() && plan.promise.reason.as_ref().unwrap().contains("unproven"));
    let fit = plan.run(&gold.target, Seed(1)).unwrap();
    let gap = neg_elbo(&gold.target, &fit.gaussian).unwrap() - gold.f_star;
    let start =
        Planner::new(DOWG).practical(&gold.target, Some(0)).unwrap().run(&gold.target, Seed(1)).unwrap();
    let before = neg_elbo(&gold.target, &start.gaussian).unwrap() - gold.f_star;
    assert!(gap > -1e-8 && gap < 0.5 * before, "{gap} after {before}");
    // It projects, so it needs M.
    let black = Closure::new(1, |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        -0.5 * z[0] * z[0]
    });
    let refused = Planner::new(DOWG).practical(&black.unwrap(), Some(10)).unwrap_err().to_string();
    assert!(refused.contains("smoothness"), "{refused}");
}

/// With exact gradients of f the run proves its own gap [dowg], from a start that is far away.
#[test]
fn dowg_without_noise_keeps_its_bound() {
    let model = logistic();
    let certified = Auto::default().run(&model, Seed(0)).unwrap().fit;
    let (best, star) = (certified.neg_elbo.value, certified.gaussian);
    let smoothness = model.curvature().unwrap().unwrap().smoothness().unwrap();
    let start = [3.0, -2.0, 2.0, 0.5, 1.5];
    let apart = start.iter().zip(star.parameters()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let mut gaps = Vec::new();
    for steps in [20u64, 200, 1000] {
        let gradient = |w: &[f64], _: u64, g: &mut [f64]| -> Result<()> {
            let q = Gaussian::<Triangular>::new(&w[..2], &w[2..])?;
            g.copy_from_slice(&provi_testkit::space::gradient(&model, &q, true)?);
            Ok(())
        };
        let guard = ProjTriangular::new(2, smoothness).unwrap();
        let mut problem = Adaptive::travelled(gradient, guard, &start);
        let (mut w, mut mean) = (start, Averager::new(Average::Travelled, 5).unwrap());
        let schedule = Schedule::travelled(first_reach(&start).unwrap()).unwrap();
        let watch = &mut |_: &Progress<'_>| ControlFlow::Continue(());
        minimise(&mut problem, &mut w, &schedule, &mut mean, steps, watch).unwrap();
        let answer = mean.finish(&w).unwrap();
        let q = Gaussian::<Triangular>::new(&answer[..2], &answer[2..]).unwrap();
        let gap = neg_elbo(&model, &q).unwrap() - best;
        let bound = problem.travelled_gap(&w, apart).unwrap();
        assert!(gap <= bound, "{steps}: {gap} {bound}");
        gaps.push((gap, bound));
    }
    assert!(gaps[2].0 < 0.01 && gaps[2].1 < 0.5 * gaps[1].1, "{gaps:?}");
}
