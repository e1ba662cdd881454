//! A tiny fit: the same bits for any number of threads, the same numbers on any machine, and honest endings.

use crate::common::regression;
use provi::average::Average;
use provi::checkpoint::{Checkpoint, Keeper};
use provi::estimator::Kind;
use provi::fit::{Snapshot, Watch};
use provi::method::{Guard, Recipe, Space};
use provi::plan::Coordinates;
use provi::target::{Closure, Declared, Evaluator, Family, GaussianTarget};
use provi::{Curvature, Error, Fit, Method, Plan, Planner, Quadratic, Schedule, Seed, Target};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// 19 draws a step: three chunks, the last one short.
fn plan(method: Method, target: &dyn Target) -> Plan {
    plan_of(method, if method == Method::Exact { 1 } else { 19 }, target)
}

fn plan_of(method: Method, draws: usize, target: &dyn Target) -> Plan {
    Planner::new(method).draws(draws).to_steps(target, 50).unwrap()
}

fn bits(fit: &Fit) -> Vec<u64> {
    let trace = fit.trace.iter().map(|s| s.neg_elbo.to_bits());
    fit.gaussian.parameters().iter().map(|x| x.to_bits()).chain(trace).collect()
}

fn unproven() -> Method {
    Method::Unproven(Recipe::new(Kind::Stl, Guard::Projection, Space::Triangular).unwrap())
}

fn methods() -> Vec<Method> {
    Method::named().map(|(_, method)| method).collect()
}

#[test]
fn serial_and_parallel_runs_give_the_same_bits() {
    let target = regression(Family::Bernoulli, 601, 5, 1.0, false);
    for method in methods() {
        let plan = plan(method, &target);
        let parallel = plan.run(&target, Seed(3)).unwrap();
        let serial = plan.run(Evaluator::Serial(&target), Seed(3)).unwrap();
        assert_eq!(bits(&parallel), bits(&serial), "{method}");
    }
}

#[cfg(feature = "parallel")]
#[test]
fn one_two_and_four_threads_give_the_same_bits() {
    let target = regression(Family::Probit, 602, 5, 1.0, true);
    let mut all = methods();
    all.retain(|m| *m != Method::Exact);
    let plans = all.into_iter().map(|method| (method, plan(method, &target)));
    // Blocks of steps, and of one.
    let blocks = [1, 3].map(|draws| (Method::ProxEnergy, plan_of(Method::ProxEnergy, draws, &target)));
    for (method, plan) in plans.chain(blocks) {
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            bits(&pool.install(|| plan.run(&target, Seed(4)).unwrap()))
        };
        let one = fit(1);
        assert_eq!(one, fit(2), "{method}");
        assert_eq!(one, fit(4), "{method}");
    }
}

#[test]
fn a_seed_reproduces_and_another_differs() {
    let target = regression(Family::Bernoulli, 603, 4, 1.0, false);
    for method in methods() {
        let plan = plan(method, &target);
        let fit = |seed| bits(&plan.run(&target, Seed(seed)).unwrap());
        assert_eq!(fit(1), fit(1), "{method}");
        assert_eq!(fit(1) == fit(2), method == Method::Exact, "{method}");
    }
}

/// Normals are the same bits everywhere; fused multiply-adds are not, so the digits are held to 1e-12.
#[test]
fn the_answer_is_the_stored_one() {
    let target = regression(Family::Bernoulli, 604, 2, 1.0, false);
    for (name, draws, expected) in GOLDEN {
        let fit = plan_of(name.parse().unwrap(), draws, &target).run(&target, Seed(2024)).unwrap();
        let found = fit.gaussian.parameters();
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{name}, S = {draws}: {found:?} is not {expected:?}");
        }
    }
}

#[rustfmt::skip]
const GOLDEN: [(&str, usize, [f64; 5]); 6] = [
    ("prox-energy", 1, [-0.22019362977362378, -0.5336392535184239, 0.6474073480287688, 0.1380867827439895, 0.7342545238598968]),
    ("prox-energy", 19, [-0.21491298931516364, -0.5362909469433622, 0.6512644400375487, 0.1409289790093701, 0.746519500997902]),
    ("proj-entropy", 19, [-0.21465743403631715, -0.5371899750731088, 0.652398603165717, 0.1425789866165503, 0.7455908163462668]),
    ("proj-entropy-triangular", 19, [-0.21526551794528984, -0.5361998706710785, 0.6510013830497556, 0.1408264749582119, 0.7460237425513363]),
    ("proj-stl", 19, [-0.22469782032334928, -0.5391426737726117, 0.662040889493069, 0.13390460737479548, 0.7429039316053385]),
    ("exact", 1, [-0.23574101177531182, -0.5581490919500439, 0.6784093278217388, 0.13649486069009695, 0.7540643782072888]),
];

/// A standard normal whose `n`-th evaluation after `countdown.store(n)` answers with `bad`.
fn failing(bad: f64, in_gradient: bool) -> (impl Target + Sync, Arc<AtomicU64>) {
    let countdown = Arc::new(AtomicU64::new(0));
    let left = countdown.clone();
    let density = Closure::new(2, move |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        g[1] = -z[1];
        let now = left.fetch_sub(1, Ordering::SeqCst) == 1;
        if now && in_gradient {
            g[1] = bad;
        }
        if now && !in_gradient { bad } else { -0.5 * (z[0] * z[0] + z[1] * z[1]) }
    })
    .unwrap();
    let one = Quadratic::Scalar(1.0);
    let curvature = Curvature::declared(2, one.clone(), Some(one)).unwrap();
    (Declared::new(density).with_curvature(curvature).unwrap(), countdown)
}

#[test]
fn a_target_that_is_not_finite_is_named_with_step_draw_and_norm() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for in_gradient in [false, true] {
            for method in [Method::ProxEnergy, Method::ProjEntropy, Method::ProjStl, unproven()] {
                let (target, countdown) = failing(bad, in_gradient);
                let planner = Planner::new(method).draws(4).coordinates(Coordinates::Original);
                let plan = planner.with_schedule(&target, Schedule::constant(0.01).unwrap(), 10).unwrap();
                countdown.store(12, Ordering::SeqCst); // four draws a step: step 2, draw 3
                let error = plan.run(Evaluator::Serial(&target), Seed(1)).unwrap_err();
                let Error::TargetNotFinite { quantity, value, step, draw, norm } = error.clone() else {
                    panic!("{method}: {error}");
                };
                assert_eq!((step, draw), (2, 3), "{method}");
                assert_eq!(quantity, if in_gradient { "gradient" } else { "log-density" });
                assert_eq!(value.to_bits(), bad.to_bits());
                assert!(norm > 0.0 && norm < 10.0);
                let text = error.to_string();
                assert!(text.contains("step 2, draw 3, ‖z‖ = "), "{text}");
            }
        }
    }
}

#[test]
fn a_target_s_own_error_is_passed_on() {
    struct Broken;
    impl Target for Broken {
        fn dim(&self) -> usize {
            1
        }
        fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
            gradient[0] = -z[0];
            if z[0].abs() > 1.0 {
                return Err(Error::Target { message: "the solver gave up".into() });
            }
            Ok(-0.5 * z[0] * z[0])
        }
    }
    let plan = Planner::new(unproven_free()).practical(&Broken, Some(400)).unwrap();
    let error = plan.run(&Broken, Seed(1)).unwrap_err();
    assert_eq!(error.to_string(), "the target failed: the solver gave up");
}

fn unproven_free() -> Method {
    Method::Unproven(Recipe::new(Kind::Stl, Guard::Nothing, Space::Triangular).unwrap())
}

fn is_void(fit: &Fit, plan: &Plan) {
    assert!(plan.promise.value.is_some() && plan.promise.reason.is_none());
    assert!(fit.stopped_early && fit.steps < plan.steps);
    assert_eq!(fit.promise.value, None);
    assert!(fit.promise.reason.as_ref().unwrap().contains("stopped early"), "{:?}", fit.promise);
    assert!(fit.neg_elbo.value.is_finite(), "a run cut short is still an answer");
}

#[test]
fn stopping_by_the_observer_voids_the_promise() {
    let target = regression(Family::Bernoulli, 605, 3, 2.0, false);
    for method in methods() {
        let plan = plan(method, &target);
        let mut seen = Vec::new();
        let mut observer = |s: &Snapshot| {
            seen.push(s.step);
            if s.step >= 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut watch = Watch { observer: Some(&mut observer), ..Watch::default() };
        let fit = plan.run_with(&target, Seed(1), &mut watch).unwrap();
        is_void(&fit, &plan);
        assert_eq!((fit.steps, seen.last()), (20, Some(&20)), "{method}");
    }
}

#[test]
fn stopping_by_the_clock_voids_the_promise() {
    let target = regression(Family::Bernoulli, 606, 3, 2.0, false);
    for method in methods() {
        let plan = plan(method, &target);
        let mut watch = Watch { time_limit: Some(Duration::ZERO), ..Watch::default() };
        is_void(&plan.run_with(&target, Seed(1), &mut watch).unwrap(), &plan);
    }
}

/// Every method, and Prox-SGD where its updates are deferred, with an average that is owed some.
#[test]
fn a_run_taken_up_again_goes_on_with_the_same_bits() {
    let small = regression(Family::Bernoulli, 608, 3, 2.0, false);
    let wide = GaussianTarget::new(&[0.5; 130], provi::Matrix::scaled_identity(130, 2.0)).unwrap();
    let planned = methods().into_iter().map(|m| Planner::new(m).to_steps(&small, 2500).unwrap());
    let plans = planned.map(|plan| (plan, &small as &(dyn Target + Sync)));
    let last = Planner::new(Method::ProxEnergy).draws(1).to_steps(&wide, 2500).unwrap();
    let last = last.with_average(Average::Uniform);
    for (plan, target) in plans.chain([(last, &wide as &(dyn Target + Sync))]) {
        let mut kept = Vec::new();
        let mut save = |at: &Checkpoint| kept.push(Checkpoint::from_bytes(&at.to_bytes()).unwrap());
        let mut observer = |s: &Snapshot| {
            if s.step >= 2300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let keeper = Keeper { every: Duration::ZERO, save: &mut save };
        let mut watch = Watch { observer: Some(&mut observer), keeper: Some(keeper), ..Watch::default() };
        assert!(plan.run_with(target, Seed(9), &mut watch).unwrap().stopped_early);
        assert_eq!(kept.iter().map(|c| c.step).collect::<Vec<_>>(), [1030, 2060], "{}", plan.method);
        // To its end, which is no multiple of what lies between two checkpoints: all that is left then is the answer.
        let mut end = None;
        let mut save = |at: &Checkpoint| end = Some(Checkpoint::from_bytes(&at.to_bytes()).unwrap());
        let keeper = Keeper { every: Duration::ZERO, save: &mut save };
        let mut watch = Watch { keeper: Some(keeper), ..Watch::default() };
        let whole = plan.run_with(target, Seed(9), &mut watch).unwrap();
        assert_eq!(end.as_ref().map(|c| c.step), Some(2500), "{}", plan.method);
        for from in kept.into_iter().chain(end) {
            let mut watch = Watch { from: Some(from), ..Watch::default() };
            let resumed = plan.run_with(target, Seed(9), &mut watch).unwrap();
            assert_eq!(bits(&resumed), bits(&whole), "{}", plan.method);
            assert_eq!(resumed.promise.value, plan.promise.value);
            assert_eq!(
                resumed.promise.taken_up.is_some(),
                plan.promise.value.is_some(),
                "it names its witness"
            );
        }
    }
}

#[test]
fn a_checkpoint_of_another_plan_is_refused() {
    let target = regression(Family::Bernoulli, 609, 3, 2.0, false);
    let plan = Planner::new(Method::ProxEnergy).to_steps(&target, 2500).unwrap();
    let wrong = |step: u64, len: usize| {
        let mut from = Checkpoint::at(&provi::Gaussian::standard(3));
        (from.step, from.parameters) = (step, vec![1.0; len]);
        from.memory.clear();
        let mut watch = Watch { from: Some(from), ..Watch::default() };
        plan.run_with(&target, Seed(1), &mut watch).unwrap_err().to_string()
    };
    for message in [wrong(1030, 5), wrong(7, 9), wrong(5150, 9)] {
        assert_eq!(message, "the checkpoint is that of another plan; start the run anew");
    }
}

#[test]
fn a_run_of_the_planned_length_keeps_its_promise_even_when_watched() {
    let target = regression(Family::Bernoulli, 607, 3, 2.0, false);
    let plan = plan(Method::ProxEnergy, &target);
    let mut observer = |s: &Snapshot| {
        if s.step == s.steps { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut watch = Watch {
        observer: Some(&mut observer),
        time_limit: Some(Duration::from_secs(600)),
        ..Watch::default()
    };
    let fit = plan.run_with(&target, Seed(1), &mut watch).unwrap();
    assert!(!fit.stopped_early);
    assert_eq!(fit.promise, plan.promise);
}
