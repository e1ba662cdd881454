//! The unproven recipes on tables: how near the optimum they come, stopped, resumed, on threads, on terms, audited.

use crate::common::gold;
use provi::checkpoint::{Checkpoint, Keeper};
use provi::expectation::neg_elbo;
use provi::fit::{Snapshot, Watch};
use provi::solve::Solver;
use provi::subsample::Sampling;
use provi::target::{Evaluator, Glm, Prior, Target};
use provi::{Audit, Design, Error, Gaussian, Method, Planner, Schedule, Seed, Triangular};
use std::ops::ControlFlow;
use std::time::Duration;

/// A logistic table of 200 rows and 4 columns.
fn small() -> Glm {
    let normals =
        |count, seed| Gaussian::<Triangular>::standard(1).sample(count, Seed(seed)).entries().to_vec();
    let design = Design::dense(200, 4, &normals(800, 3)).unwrap();
    let y: Vec<f64> = normals(200, 4).iter().map(|x| f64::from(*x > 0.3)).collect();
    Glm::logistic(design, &y, Prior::scale(2.0).unwrap()).unwrap()
}

#[test]
fn every_recipe_comes_near_the_optimum_of_a_logistic_table() {
    let gold = gold("W2");
    for (name, method) in Method::recipes().filter(|(_, method)| method.walk().is_some()) {
        let plan = Planner::new(method).draws(64).practical(&gold.target, Some(400)).unwrap();
        let fit = plan.run(&gold.target, Seed(1)).unwrap();
        let gap = neg_elbo(&gold.target, &fit.gaussian).unwrap() - gold.f_star;
        // A match seeks another Gaussian, and with more noise.
        let (near, proved) = if name == "batch-and-match" { (0.4, 4.0) } else { (0.01, 0.05) };
        assert!(gap > -1e-8 && gap < near, "{name}: {gap}");
        // The Laplace approximation, where it began, is farther away.
        let still = Schedule::constant(1.0).unwrap();
        let begun = Planner::new(method).with_schedule(&gold.target, still, 0).unwrap();
        let start = begun.run(&gold.target, Seed(1)).unwrap().gaussian;
        let before = neg_elbo(&gold.target, &start).unwrap() - gold.f_star;
        assert!(gap < 0.5 * before, "{name}: {gap} after {before}");
        let audited = Audit::default().run(&gold.target, &fit.gaussian, Seed(1)).unwrap();
        assert!(audited.certificate().proves_gap(proved), "{name}: {gap}");
    }
}

#[test]
fn the_bits_do_not_depend_on_threads_or_stops() {
    let target = small();
    for (name, method) in Method::recipes() {
        let plan = Planner::new(method).draws(9).practical(&target, Some(2_500)).unwrap();
        let whole = plan.run(&target, Seed(2)).unwrap().gaussian;
        assert_eq!(plan.run(Evaluator::Serial(&target), Seed(2)).unwrap().gaussian, whole, "{name}");
        assert_ne!(plan.run(&target, Seed(3)).unwrap().gaussian, whole, "{name}");
        let mut kept = None;
        let mut save = |at: &Checkpoint| kept = Some(at.clone());
        let mut stop = |at: &Snapshot| match at.step > 1_500 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let keeper = Keeper { every: Duration::MAX, save: &mut save };
        let mut watch = Watch { observer: Some(&mut stop), keeper: Some(keeper), ..Watch::default() };
        let stopped = plan.run_with(&target, Seed(2), &mut watch).unwrap();
        assert!(stopped.stopped_early && stopped.promise.value.is_none(), "{name}");
        drop(watch);
        let from = kept.unwrap();
        let mut watch = Watch { from: Some(from), ..Watch::default() };
        assert_eq!(plan.run_with(&target, Seed(2), &mut watch).unwrap().gaussian, whole, "{name}");
    }
}

#[test]
fn a_run_that_is_out_of_time_keeps_a_gaussian() {
    let target = small();
    for (name, method) in Method::recipes() {
        let plan = Planner::new(method).practical(&target, Some(1_000_000_000)).unwrap();
        let mut watch = Watch { time_limit: Some(Duration::from_millis(50)), ..Watch::default() };
        let fit = plan.run_with(&target, Seed(2), &mut watch).unwrap();
        assert!(fit.stopped_early && fit.steps < plan.steps, "{name}");
        assert!(fit.gaussian.log_det().unwrap().is_finite() && fit.neg_elbo.value.is_finite(), "{name}");
    }
}

#[test]
fn recipes_that_need_means_only_take_terms_and_a_match_does_not() {
    let target = small();
    let best = Solver::default().run(&target).unwrap().neg_elbo;
    for (name, method) in Method::recipes() {
        let planner = Planner::new(method).draws(64).subsample(50, Sampling::Uniform);
        match planner.practical(&target, Some(2_000)) {
            Err(Error::NotSubsampled { .. }) => assert_eq!(name, "batch-and-match"),
            plan => {
                let fit = plan.unwrap().run(&target, Seed(1)).unwrap();
                let gap = neg_elbo(&target, &fit.gaussian).unwrap() - best;
                assert!(gap < 0.02, "{name}: {gap}");
            }
        }
    }
}

#[test]
fn a_black_box_needs_no_curvature() {
    let box_of = provi::target::Closure::new(2, |z: &[f64], g: &mut [f64]| {
        (0..2).for_each(|i| g[i] = -z[i] - 0.3 * z[i].powi(3));
        z.iter().map(|z| -0.5 * z * z - 0.075 * z.powi(4)).sum()
    })
    .unwrap();
    assert!(box_of.curvature().unwrap().is_none());
    for (name, method) in Method::recipes().filter(|(_, method)| method.walk().is_some()) {
        // The last of t matches knows about as much as t/d draws.
        let steps = if name == "batch-and-match" { 20_000 } else { 1_000 };
        let plan = Planner::new(method).draws(32).practical(&box_of, Some(steps)).unwrap();
        let fit = plan.run(&box_of, Seed(1)).unwrap();
        // The best Gaussian has s²E(1 + 0.9z²) = 1; a match ends where s²E(z + 0.3z³)² = 1. Both grow with v = s².
        let condition = |v: f64| match name {
            "batch-and-match" => v * (v + 1.8 * v * v + 1.35 * v.powi(3)),
            _ => v * (1.0 + 0.9 * v),
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if condition(middle) < 1.0 { low = middle } else { high = middle }
        }
        for sd in fit.gaussian.standard_deviations() {
            assert!((sd / f64::sqrt(low) - 1.0).abs() < 0.015, "{name}: {sd} {}", low.sqrt());
        }
    }
}
