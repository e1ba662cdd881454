//! Runs that are stopped anywhere: every loop answers between two evaluations, and what there is is kept.

use provi::average::Average;
use provi::checkpoint::{Checkpoint, Keeper};
use provi::fit::{Snapshot, Watch};
use provi::solve::Solver;
use provi::stop::{Signal, Stop};
use provi::target::{Closure, Evaluator, Glm, Prior, Target};
use provi::{Audit, Auto, Curvature, Design, Error, Matrix, Method, Planner, Quadratic, Result, Seed};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn normals(count: usize, seed: u64) -> Vec<f64> {
    provi::Gaussian::<provi::Triangular>::standard(1).sample(count, Seed(seed)).entries().to_vec()
}

fn logistic(rows: usize, columns: usize) -> Glm {
    let design = Design::dense(rows, columns, &normals(rows * columns, 3)).unwrap();
    let y: Vec<f64> = normals(rows, 4).iter().map(|x| f64::from(*x > 0.3)).collect();
    Glm::logistic(design, &y, Prior::scale(2.0).unwrap()).unwrap()
}

/// A quartic with a declared curvature that counts its evaluations and does something at one of them.
struct Counted<F: Fn(u64) -> f64 + Sync> {
    calls: AtomicU64,
    at: F,
}

impl<F: Fn(u64) -> f64 + Sync> Counted<F> {
    fn new(at: F) -> Self {
        Self { calls: AtomicU64::new(0), at }
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl<F: Fn(u64) -> f64 + Sync> Target for Counted<F> {
    fn dim(&self) -> usize {
        3
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let more = (self.at)(self.calls.fetch_add(1, Ordering::Relaxed) + 1);
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z - 0.1 * z.sin());
        Ok(more - z.iter().map(|z| 0.5 * z * z + 0.1 * (1.0 - z.cos())).sum::<f64>())
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        Curvature::declared(3, Quadratic::Scalar(0.9), Some(Quadratic::Scalar(1.1))).map(Some)
    }
}

#[test]
fn one_audit_draw_that_is_not_finite_does_not_cost_the_answer() {
    let whole = Auto { evaluations: Some(600), ..Auto::default() };
    let target = Counted::new(|_| 0.0);
    let answer = whole.run(&target, Seed(1)).unwrap();
    assert!(answer.certificate().kl.bound().is_some());
    // The same target, of which one later draw is not a number: one of the last 1000, which measure the ELBO, or of the audit.
    let last = target.calls();
    let run_broken_at = |bad: u64| {
        let broken = Counted::new(|call| if call == bad { f64::NAN } else { 0.0 });
        let kept = whole.run(Evaluator::Serial(&broken), Seed(1)).unwrap();
        assert_eq!(kept.fit.gaussian, answer.fit.gaussian);
        assert!(kept.fit.neg_elbo.value.is_finite(), "{:?}", kept.fit.neg_elbo);
        kept
    };
    assert_eq!(run_broken_at(last - 100).certificate().kl, answer.certificate().kl);
    let kept = run_broken_at(last - 1_100);
    let certificate = kept.certificate();
    assert!(certificate.kl.bound().is_none() && certificate.gap.bound().is_none());
    let said = certificate.kl.reason().unwrap_or_default();
    assert!(said.contains("the audit failed") && said.contains("log-density is NaN"), "{said}");
    // A δ that is none is refused before the work.
    let audit = Audit { failure_probability: 2.0, ..Audit::default() };
    let untouched = Counted::new(|_| 0.0);
    assert!(Auto { audit, ..Auto::default() }.run(&untouched, Seed(1)).is_err());
    assert_eq!(untouched.calls(), 0);
}

#[test]
fn a_stop_without_patience_ends_every_loop_between_two_evaluations() {
    let auto = Auto {
        evaluations: Some(2_000),
        audit: Audit { draws: 2_000, ..Audit::default() },
        ..Auto::default()
    };
    let target = Counted::new(|_| 0.0);
    auto.run(Evaluator::Serial(&target), Seed(1)).unwrap();
    let all = target.calls();
    assert!(all > 4_000, "{all}");
    // Anywhere: in the search for the mode, in its Hessian, in the steps, in the measurement of the ELBO, in the audit. After the
    // evaluation that asks, at most a few draws for the ELBO follow.
    for when in [1, 2, 5, 9, 12, 20, 60, 500, 1_500, 2_100, 2_500, 3_200, 3_700, all - 300] {
        let stop = Stop::default();
        let asking = Counted::new(|call| {
            if call == when {
                stop.ask();
            }
            0.0
        });
        let mut watch = Watch { stop: Some(&stop), patience: Some(Duration::ZERO), ..Watch::default() };
        let outcome = auto.run_with(Evaluator::Serial(&asking), Seed(1), &mut watch);
        let after = asking.calls() - when;
        assert!(after <= 16, "{after} evaluations after number {when} asked for the end: {outcome:?}");
        match outcome {
            Ok(found) => assert!(found.fit.gaussian.parameters().iter().all(|x| x.is_finite())),
            Err(error) => assert!(matches!(error, Error::Stopped { .. }), "{when}: {error}"),
        }
    }
}

#[test]
fn a_stop_in_the_steps_keeps_them_and_one_in_the_audit_keeps_the_finished_search() {
    let auto = Auto {
        evaluations: Some(2_000),
        audit: Audit { draws: 2_000, ..Audit::default() },
        ..Auto::default()
    };
    let (stop, steps) = (Stop::default(), Counted::new(|_| 0.0));
    let mut early = |at: &Snapshot| {
        if at.step > 800 {
            stop.ask();
        }
        ControlFlow::Continue(())
    };
    let mut watch = Watch {
        observer: Some(&mut early),
        stop: Some(&stop),
        patience: Some(Duration::MAX),
        ..Watch::default()
    };
    let cut = auto.run_with(Evaluator::Serial(&steps), Seed(1), &mut watch).unwrap();
    assert!(cut.fit.stopped_early && cut.fit.steps > 0 && cut.fit.gradient_evaluations < 2_000);
    assert!(cut.certificate().kl.bound().is_some(), "an answer that was stopped is audited all the same");
    let stop = Stop::default();
    let mut late = |made: u64, _| {
        if made > 0 {
            stop.ask();
        }
        ControlFlow::Continue(())
    };
    let mut watch = Watch {
        audit: Some(&mut late),
        stop: Some(&stop),
        patience: Some(Duration::MAX),
        ..Watch::default()
    };
    let finished = auto.run_with(Evaluator::Serial(&steps), Seed(1), &mut watch).unwrap();
    assert!(!finished.fit.stopped_early && finished.certificate().grounds.draws < 2_000);
}

#[test]
fn without_patience_a_model_in_memory_has_nothing_and_with_it_its_laplace_approximation() {
    let target = logistic(300, 5);
    let stop = Stop::default();
    stop.ask();
    let run = |patience| {
        let mut watch = Watch { stop: Some(&stop), patience: Some(patience), ..Watch::default() };
        Auto::default().run_with(&target, Seed(1), &mut watch)
    };
    let nothing = run(Duration::ZERO).unwrap_err();
    assert_eq!(nothing, Error::Stopped { during: "the search for the mode" });
    let said = nothing.to_string();
    assert!(
        said.contains("stopped during the search for the mode") && said.contains("allow more time"),
        "{said}"
    );
    let found = run(Duration::MAX).unwrap();
    assert!(found.fit.stopped_early && found.fit.steps == 0);
    // A clock that is over is the same as a flag.
    let mut late =
        Watch { time_limit: Some(Duration::ZERO), patience: Some(Duration::MAX), ..Watch::default() };
    let late = Auto::default().run_with(&target, Seed(1), &mut late).unwrap();
    assert_eq!(late.fit.gaussian, found.fit.gaussian);
}

/// A model that notes where its Hessian is asked for; the given one asks for the end.
struct Asking<'a> {
    model: Glm,
    hessians: Mutex<Vec<Vec<f64>>>,
    when: usize,
    stop: &'a Stop,
}

impl Target for Asking<'_> {
    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.model.log_density(z, gradient)
    }

    fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
        let mut hessians = self.hessians.lock().unwrap();
        hessians.push(z.to_vec());
        if hessians.len() == self.when {
            self.stop.ask();
        }
        self.model.hessian(z, out)
    }

    fn expectations(&self) -> Option<&dyn provi::expectation::Expectations> {
        self.model.expectations()
    }
}

/// The second Hessian is cut off: what is kept has the curvature of the first one, at the point that the second was for.
#[test]
fn a_hessian_that_is_cut_off_leaves_the_one_before_it() {
    let stop = Stop::default();
    let target = Asking { model: logistic(400, 6), hessians: Mutex::default(), when: 2, stop: &stop };
    let mut kept = None;
    let mut save = |at: &Checkpoint| kept = Some(at.clone());
    let keeper = Keeper { every: Duration::MAX, save: &mut save };
    let mut watch =
        Watch { stop: Some(&stop), patience: Some(Duration::ZERO), keeper: Some(keeper), ..Watch::default() };
    let cut = Auto::default().run_with(Evaluator::Serial(&target), Seed(1), &mut watch).unwrap();
    drop(watch);
    assert!(cut.fit.stopped_early && cut.fit.steps == 0);
    let hessians = target.hessians.into_inner().unwrap();
    assert_eq!(hessians.len(), 2, "no Hessian is begun after the stop");
    let q = &cut.fit.gaussian;
    assert_eq!(q.mean(), hessians[1]);
    let mut curvature = Matrix::zeros(6, 6);
    target.model.hessian(&hessians[0], &mut curvature).unwrap();
    let covariance = q.covariance();
    for (i, j) in (0..6).flat_map(|i| (0..6).map(move |j| (i, j))) {
        let product: f64 = (0..6).map(|k| -curvature[(i, k)] * covariance[(k, j)]).sum();
        assert!((product - f64::from(u8::from(i == j))).abs() < 1e-9, "H Σ = I fails at {i}, {j}: {product}");
    }
    // The same is in the checkpoint, so that it can go on; nothing is proved that nobody had time to prove.
    assert_eq!(kept.unwrap().parameters, q.parameters());
    assert!(cut.certificate().kl.bound().is_none());
}

#[test]
fn a_signal_that_nobody_raises_changes_no_bit() {
    let target = logistic(300, 5);
    let plain = Auto::default().run(&target, Seed(1)).unwrap();
    let stop = Stop::default();
    let mut watch =
        Watch { stop: Some(&stop), time_limit: Some(Duration::from_secs(86_400)), ..Watch::default() };
    let watched = Auto::default().run_with(&target, Seed(1), &mut watch).unwrap();
    assert_eq!(watched.fit.gaussian, plain.fit.gaussian);
    assert_eq!(watched.certificate(), plain.certificate());
    let solved = Signal::on(&stop).cover(|| Solver::default().run(&target)).unwrap();
    assert_eq!(solved.gaussian, Solver::default().run(&target).unwrap().gaussian);
    let boxed = Counted::new(|_| 0.0);
    let auto = Auto { evaluations: Some(1_000), ..Auto::default() };
    let plain = auto.run(&boxed, Seed(2)).unwrap();
    let mut watch = Watch { stop: Some(&stop), ..Watch::default() };
    assert_eq!(auto.run_with(&boxed, Seed(2), &mut watch).unwrap().fit.gaussian, plain.fit.gaussian);
}

/// A step of eight draws is dropped wherever among them the stop comes: what is left has the bits of a run that was stopped
/// between two steps.
#[test]
fn a_planned_step_is_stopped_between_two_calls() {
    const DRAWS: u64 = 8;
    let averages = [Average::Last, Average::Uniform, Average::Polynomial { power: 2.0 }];
    let methods = [Method::ProxEnergy, Method::ProjEntropy, Method::ProjEntropyTriangular, Method::ProjStl];
    for (method, average) in methods.into_iter().flat_map(|m| averages.map(|a| (m, a))) {
        let plain = Counted::new(|_| 0.0);
        let plan = Planner::new(method).draws(DRAWS as usize).to_steps(&plain, 200).unwrap();
        let plan = plan.with_average(average);
        let between = |made: u64| {
            let mut end = |at: &Snapshot| match at.step == made {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            let mut watch = Watch { observer: Some(&mut end), ..Watch::default() };
            plan.run_with(Evaluator::Serial(&plain), Seed(1), &mut watch).unwrap()
        };
        for when in [1, 2, 8, 9, 12, 16, 17, 83, 88] {
            let stop = Stop::default();
            let asking = Counted::new(|call| {
                if call == when {
                    stop.ask();
                }
                0.0
            });
            let mut watch = Watch { stop: Some(&stop), patience: Some(Duration::ZERO), ..Watch::default() };
            let fit = plan.run_with(Evaluator::Serial(&asking), Seed(1), &mut watch).unwrap();
            assert!(fit.stopped_early, "{method} {when}");
            assert_eq!(fit.steps, (when - 1) / DRAWS, "{method} {when}");
            // The ELBO takes two draws, however little time there is.
            assert_eq!(asking.calls(), when + 2, "{method}: no call of the steps after the one that asked");
            if fit.steps > 0 {
                assert_eq!(fit.gaussian, between(fit.steps).gaussian, "{method}, {average} {when}");
            }
        }
    }
}

#[test]
fn a_climb_that_is_cut_off_keeps_its_best_point() {
    let auto = Auto { evaluations: Some(2_000), ..Auto::default() };
    // Far from the mode, so that the climb takes some steps.
    let auto = Auto { start: Some(vec![9.0, -7.0, 5.0]), ..auto };
    let squares = |z: &[f64]| z.iter().map(|z| z * z).sum::<f64>();
    let mut kept = 0;
    for when in 1..40 {
        let stop = Stop::default();
        let asking = Counted::new(|call| {
            if call == when {
                stop.ask();
            }
            0.0
        });
        let mut watch = Watch { stop: Some(&stop), patience: Some(Duration::ZERO), ..Watch::default() };
        match auto.run_with(Evaluator::Serial(&asking), Seed(1), &mut watch) {
            Ok(found) => {
                kept += 1;
                assert!(found.fit.stopped_early, "{when}");
                assert!(
                    squares(found.fit.gaussian.mean()) < 155.0,
                    "{when}: {:?}",
                    found.fit.gaussian.mean()
                );
            }
            // The checks of the gradient, and the climb before it has moved.
            Err(error) => {
                assert!(kept == 0 && matches!(error, Error::Stopped { .. }), "{when}: {error}");
                let said = error.to_string();
                assert!(
                    said.contains("stopped during the search for") && said.contains("allow more time"),
                    "{said}"
                );
            }
        }
    }
    assert!(kept > 20, "{kept}");
}

#[test]
fn slow_planned_steps_look_at_the_flag_after_each_of_them() {
    let stop = Stop::default();
    let when = AtomicU64::new(u64::MAX);
    let slow = Counted::new(|call| {
        std::thread::sleep(Duration::from_millis(25));
        if call == when.load(Ordering::Relaxed) {
            stop.ask();
        }
        0.0
    });
    let plan = Planner::new(Method::ProxEnergy).draws(1).to_steps(&slow, 1_000).unwrap();
    when.store(slow.calls() + 3, Ordering::Relaxed);
    let mut watch = Watch { stop: Some(&stop), patience: Some(Duration::ZERO), ..Watch::default() };
    let fit = plan.run_with(Evaluator::Serial(&slow), Seed(1), &mut watch).unwrap();
    assert!(fit.stopped_early && fit.steps <= 4, "{} steps", fit.steps);
}

/// δ is divided among the starts, and among the looks of each: over all of them it adds up to at most δ.
#[test]
fn several_starts_with_an_accuracy_share_delta() {
    let target = Counted::new(|_| 0.0);
    let audit = Audit { draws: 600, ..Audit::default() };
    // Too much to ask for: every look fails, and the last one is reported.
    let asked =
        |starts| Auto { accuracy: Some(1e-300), evaluations: Some(5_000), audit, starts, ..Auto::default() };
    let one = asked(1).run(&target, Seed(5)).unwrap();
    let three = asked(3).run(&target, Seed(5)).unwrap();
    assert_eq!(three.search.starts.len(), 3);
    let again = |searches, found: &provi::auto::Certified| {
        // Looks after 2000 and 4000 evaluations, and the last one.
        let audit = Audit { look: 3, searches, ..audit };
        audit.run(&target, &found.fit.gaussian, Seed(5)).unwrap().certificate().kl.clone()
    };
    assert_eq!(one.certificate().kl, again(1, &one));
    assert_eq!(three.certificate().kl, again(3, &three));
    assert!(again(3, &three).bound() > again(1, &three).bound(), "a smaller share proves less");
    assert_eq!(three.certificate().kl.confidence(), Some(1.0 - 1e-6));
    // Without an accuracy nothing is looked at on the way, and the only look has all of δ.
    let plain = Auto { evaluations: Some(5_000), audit, starts: 3, ..Auto::default() };
    let plain = plain.run(&target, Seed(5)).unwrap();
    let only = audit.run(&target, &plain.fit.gaussian, Seed(5)).unwrap();
    assert_eq!(plain.certificate().kl, only.certificate().kl);
}

#[test]
fn a_closure_in_its_own_words_is_stopped_between_two_calls() {
    let (stop, calls) = (Stop::default(), AtomicU64::new(0));
    let target = Closure::new(2, |z: &[f64], g: &mut [f64]| {
        calls.fetch_add(1, Ordering::Relaxed);
        stop.ask();
        g.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    })
    .unwrap();
    let mut watch = Watch { stop: Some(&stop), patience: Some(Duration::ZERO), ..Watch::default() };
    let outcome = Auto::default().run_with(&target, Seed(1), &mut watch);
    assert!(matches!(outcome, Err(Error::Stopped { .. })), "{outcome:?}");
    assert!(calls.load(Ordering::Relaxed) <= 2, "{calls:?}");
}
