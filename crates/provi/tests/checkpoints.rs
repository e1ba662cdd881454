//! Checkpoints that are damaged, forged or of another run: refused, or without a claim that the run did not earn.

use provi::average::Average;
use provi::checkpoint::{Checkpoint, Keeper};
use provi::fit::{Snapshot, Watch};
use provi::target::{Glm, Prior};
use provi::{Auto, Design, Error, Fit, Method, Plan, Planner, Result, Seed};
use std::ops::ControlFlow;
use std::time::Duration;

fn logistic(seed: u64, columns: usize) -> Glm {
    let normals = |count, seed| {
        provi::Gaussian::<provi::Triangular>::standard(1).sample(count, Seed(seed)).entries().to_vec()
    };
    let design = Design::dense(60, columns, &normals(60 * columns, seed)).unwrap();
    let y: Vec<f64> = normals(60, seed + 1).iter().map(|x| f64::from(*x > 0.3)).collect();
    Glm::logistic(design, &y, Prior::scale(1.0).unwrap()).unwrap()
}

fn plan(target: &Glm, method: Method, average: Average) -> Plan {
    Planner::new(method).to_steps(target, 5_000).unwrap().with_average(average)
}

/// What a run leaves that is stopped after some steps.
fn kept(plan: &Plan, target: &Glm, seed: Seed) -> Checkpoint {
    let mut kept = None;
    let mut save = |at: &Checkpoint| kept = Some(at.clone());
    let mut stop = |at: &Snapshot| match at.step > 3_000 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let keeper = Keeper { every: Duration::MAX, save: &mut save };
    let mut watch = Watch { observer: Some(&mut stop), keeper: Some(keeper), ..Watch::default() };
    assert!(plan.run_with(target, seed, &mut watch).unwrap().stopped_early);
    drop(watch);
    let kept = kept.unwrap();
    assert!(kept.step > 1_000 && kept.step < 5_000, "{}", kept.step);
    kept
}

/// Through the bytes of a file, as a forger would hand it over: with a checksum that is right.
fn take_up(plan: &Plan, target: &Glm, from: &Checkpoint) -> Result<Fit> {
    let from = Checkpoint::from_bytes(&from.to_bytes())?;
    plan.run_with(target, Seed(1), &mut Watch { from: Some(from), ..Watch::default() })
}

type Forgery = (&'static str, fn(&mut Checkpoint));

#[test]
fn a_changed_checkpoint_of_planned_steps_is_refused() {
    let forgeries: [Forgery; 13] = [
        ("another step", |at| at.step += 1),
        ("all steps", |at| at.step = 5_000),
        ("no steps", |at| at.step = 0),
        ("a whole stretch more", |at| at.step *= 2),
        ("NaN", |at| at.parameters[0] = f64::NAN),
        ("infinite", |at| at.parameters[1] = f64::INFINITY),
        ("no Gaussian", |at| at.parameters[2] = -1.0),
        ("one number too few", |at| at.parameters.truncate(3)),
        ("memory of another solver", |at| at.memory = vec![1.0]),
        ("seconds that is negative or not finite", |at| at.seconds = f64::NAN),
        ("a trace of another plan", |at| at.trace.iter_mut().for_each(|at| at.steps += 1)),
        ("a trace that ends too early", |at| at.trace.truncate(3)),
        ("a trace out of order", |at| at.trace.swap(0, 1)),
    ];
    let target = logistic(1, 2);
    for method in [Method::ProxEnergy, Method::ProjStl] {
        let plan = plan(&target, method, Average::Last);
        let genuine = kept(&plan, &target, Seed(1));
        let resumed = take_up(&plan, &target, &genuine).unwrap();
        assert_eq!(resumed.gaussian, plan.run(&target, Seed(1)).unwrap().gaussian);
        for (what, forge) in &forgeries {
            let mut forged = genuine.clone();
            forge(&mut forged);
            let refused = take_up(&plan, &target, &forged);
            assert!(matches!(refused, Err(Error::Checkpoint { .. })), "{method}, {what}: {refused:?}");
        }
    }
}

#[test]
fn a_changed_average_is_refused() {
    let forgeries: [Forgery; 6] = [
        ("fewer vectors", |at| at.average.count -= 1),
        ("no vector", |at| at.average.count = 0),
        ("a weight above one", |at| at.average.coefficient = 2.0),
        ("a weight that is none", |at| at.average.coefficient = f64::NAN),
        ("NaN", |at| at.average.mean[0] = f64::NAN),
        ("one number too few", |at| at.average.mean.truncate(3)),
    ];
    let target = logistic(1, 2);
    let averages = [Average::Uniform, Average::Polynomial { power: 1.0 }, Average::prox(2.0, 0.1).unwrap()];
    for average in averages.into_iter().chain([Average::proj(2.0, 0.1).unwrap()]) {
        let plan = plan(&target, Method::ProxEnergy, average);
        let genuine = kept(&plan, &target, Seed(1));
        let resumed = take_up(&plan, &target, &genuine).unwrap();
        assert_eq!(resumed.gaussian, plan.run(&target, Seed(1)).unwrap().gaussian, "{average}");
        for (what, forge) in &forgeries {
            let mut forged = genuine.clone();
            forge(&mut forged);
            assert!(take_up(&plan, &target, &forged).is_err(), "{average}, {what}");
        }
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let target = logistic(1, 2);
    let own = plan(&target, Method::ProxEnergy, Average::Last);
    let other_data = logistic(7, 2);
    let others = [
        ("seed", kept(&own, &target, Seed(2))),
        ("data", kept(&plan(&other_data, Method::ProxEnergy, Average::Last), &other_data, Seed(1))),
        ("method", kept(&plan(&target, Method::ProjEntropyTriangular, Average::Last), &target, Seed(1))),
        ("average", kept(&plan(&target, Method::ProxEnergy, Average::Uniform), &target, Seed(1))),
        ("draws", {
            let plan = Planner::new(Method::ProxEnergy).draws(3).to_steps(&target, 5_000).unwrap();
            kept(&plan, &target, Seed(1))
        }),
        ("length", {
            let plan = Planner::new(Method::ProxEnergy).to_steps(&target, 4_900).unwrap();
            kept(&plan, &target, Seed(1))
        }),
    ];
    for (what, other) in others {
        let refused = take_up(&own, &target, &other);
        assert!(matches!(refused, Err(Error::Checkpoint { .. })), "{what}: {refused:?}");
    }
}

/// Whoever forges a checkpoint to the last number gets his Gaussian, and a promise that names its only witness.
#[test]
fn a_promise_says_that_it_rests_on_a_checkpoint() {
    let target = logistic(1, 2);
    let plan = plan(&target, Method::ProxEnergy, Average::Last);
    let whole = plan.run(&target, Seed(1)).unwrap();
    assert!(whole.promise.value.is_some() && whole.promise.taken_up.is_none());
    let genuine = kept(&plan, &target, Seed(1));
    let mut forged = genuine.clone();
    forged.parameters[0] = 50.0;
    for from in [genuine, forged] {
        let fit = take_up(&plan, &target, &from).unwrap();
        assert_eq!((fit.promise.value, fit.promise.taken_up), (whole.promise.value, Some(from.step)));
    }
}

/// The exact solver knows its own place by its ELBO, and everything that is claimed is computed anew.
#[test]
fn a_changed_checkpoint_of_the_exact_solver_is_refused_or_earns_nothing() {
    let auto = Auto::default();
    let kept = |target: &Glm| {
        let mut kept = None;
        let mut save = |at: &Checkpoint| kept = Some(at.clone());
        let mut stop = |at: &Snapshot| match at.step >= 1 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let keeper = Keeper { every: Duration::MAX, save: &mut save };
        let mut watch = Watch { observer: Some(&mut stop), keeper: Some(keeper), ..Watch::default() };
        assert!(auto.run_with(target, Seed(1), &mut watch).unwrap().fit.stopped_early);
        drop(watch);
        kept.unwrap()
    };
    let target = logistic(1, 3);
    let take_up = |from: &Checkpoint| {
        let from = Checkpoint::from_bytes(&from.to_bytes()).unwrap();
        auto.run_with(&target, Seed(1), &mut Watch { from: Some(from), ..Watch::default() })
    };
    let genuine = kept(&target);
    let whole = auto.run(&target, Seed(1)).unwrap();
    assert_eq!(take_up(&genuine).unwrap().fit.gaussian, whole.fit.gaussian);
    let forgeries: [Forgery; 10] = [
        ("another place", |at| at.parameters[0] += 0.5),
        ("another width", |at| at.parameters[3] *= 3.0),
        ("another ELBO", |at| at.trace.last_mut().unwrap().neg_elbo -= 1.0),
        ("another step", |at| at.step += 7),
        ("NaN", |at| at.parameters[1] = f64::NAN),
        ("no Gaussian", |at| at.parameters[3] = -1.0),
        ("one number too few", |at| at.parameters.truncate(3)),
        ("no memory", |at| at.memory.clear()),
        ("a memory that ends the run", |at| at.memory[2] = 5.0),
        ("a bound below zero", |at| at.trace.last_mut().unwrap().gap = Some(-1.0)),
    ];
    for (what, forge) in forgeries {
        let mut forged = genuine.clone();
        forge(&mut forged);
        assert!(take_up(&forged).is_err(), "{what}");
    }
    assert!(take_up(&kept(&logistic(7, 3))).is_err(), "another model");
    assert!(take_up(&kept(&logistic(1, 4))).is_err(), "another dimension");
    // A secant, which is no claim, is the forger's own loss.
    let mut bent = genuine.clone();
    let last = bent.memory.len() - 1;
    bent.memory[last] += 1e3;
    if let Ok(found) = take_up(&bent) {
        let (found, whole) = (found.certificate(), whole.certificate());
        assert!(
            found.gap.bound().unwrap() >= 0.0 && found.kl.bound().unwrap() >= 0.9 * whole.kl.bound().unwrap()
        );
    }
}
