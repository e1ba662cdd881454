//! The automatic path, as its users meet it: models with proofs, black boxes on their owner's word, and targets
//! about which nothing can be proved.

use provi::checkpoint::{Checkpoint, Keeper};
use provi::estimate::{Estimates, estimate};
use provi::evidence::LogBayesFactor;
use provi::fit::{Snapshot, Watch};
use provi::stop::Stop;
use provi::target::{Closure, Declared, Evaluator, GaussianTarget, Glm, Prior};
use provi::trust::{Verdict, trust};
use provi::{
    Audit, Auto, Certificate, Curvature, Design, Error, Gaussian, Matrix, Method, Planner, Provenance,
    Quadratic, Seed, Target, Triangular,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn rows(count: usize, columns: usize, seed: u64) -> Vec<f64> {
    let standard = provi::Gaussian::<provi::Triangular>::standard(columns);
    standard.sample(count, Seed(seed)).entries().to_vec()
}

fn logistic(count: usize, columns: usize) -> Glm {
    let x = rows(count, columns, 3);
    let noise = rows(count, 1, 4);
    let labels: Vec<f64> =
        (0..count).map(|n| f64::from(x[n * columns] - 0.5 * x[n * columns + 1] + noise[n] > 0.0)).collect();
    Glm::logistic(Design::dense(count, columns, &x).unwrap(), &labels, Prior::scale(2.5).unwrap()).unwrap()
}

#[test]
fn a_model_with_exact_expectations_is_solved_and_certified() {
    let model = logistic(600, 4);
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    let certificate = answer.certificate();
    assert!(certificate.proves_gap(1e-9), "{certificate}");
    assert_eq!(certificate.gap.confidence(), Some(1.0));
    assert!(certificate.kl.bound().unwrap() < 0.1, "{certificate}");
    assert_eq!(certificate.kl.provenance(), Some(Provenance::Proved));
    let (lower, upper) = (certificate.evidence.lower().unwrap(), certificate.evidence.upper().unwrap());
    // KL is bounded from both sides, and the evidence with it.
    assert!(upper - lower < 0.5 * certificate.kl.bound().unwrap(), "{certificate}");
    // The importance-sampled evidence, which proves nothing, lies inside.
    let estimates = estimate(&model, &answer.fit.gaussian, Seed(2), 4000).unwrap();
    let slack = 5.0 * estimates.log_evidence_se;
    assert!(estimates.log_evidence > lower - slack && estimates.log_evidence < upper + slack);
    assert_eq!((answer.fit.method.as_str(), answer.fit.draws_per_step), ("auto", 0));
}

#[test]
fn one_observation_far_from_its_prior_is_found() {
    // z ~ N(10, 5²), y | z ~ N(z, √(25/4)²) with y = 7.5: precision 1/25 + 4/25, mean (10 + 4·7.5)/5 = 8.
    let design = Design::dense(1, 1, &[1.0]).unwrap();
    let prior = Prior::scale(5.0).unwrap().with_mean(&[10.0]).unwrap();
    let model = Glm::linear(design, &[7.5], 2.5, prior).unwrap();
    let answer = Auto::default().run(&model, Seed(0)).unwrap();
    assert!((answer.fit.gaussian.mean()[0] - 8.0).abs() < 1e-10);
    assert!((answer.fit.gaussian.standard_deviations()[0] - 5f64.sqrt()).abs() < 1e-10);
    assert!(answer.certificate().kl.bound().unwrap() < 1e-6);
    let black_box = Closure::new(1, |z: &[f64], g: &mut [f64]| model.log_density(z, g).unwrap()).unwrap();
    let sampled = Auto { evaluations: Some(500), ..Auto::default() }.run(&black_box, Seed(1)).unwrap();
    assert!((sampled.fit.gaussian.mean()[0] - 8.0).abs() < 1e-6);
}

#[test]
fn a_seven_point_regression_has_the_right_slope() {
    // y falls with x; the intercept is far from zero, which misleads short fixed-step runs.
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let y = [99.0, 98.2, 96.9, 96.1, 94.8, 94.2, 93.0];
    let entries: Vec<f64> = x.iter().flat_map(|&x| [1.0, x]).collect();
    let model =
        Glm::linear(Design::dense(7, 2, &entries).unwrap(), &y, 1.0, Prior::scale(100.0).unwrap()).unwrap();
    let answer = Auto::default().run(&model, Seed(0)).unwrap();
    // (XᵀX + 1e-4·I)z = Xᵀy by Cramer's rule: Σx = 28, Σx² = 140.
    let (sum, product) = (y.iter().sum::<f64>(), x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>());
    let (a, d) = (7.0 + 1e-4, 140.0 + 1e-4);
    let slope = (a * product - 28.0 * sum) / (a * d - 28.0 * 28.0);
    assert!(slope < -1.0 && (answer.fit.gaussian.mean()[1] - slope).abs() < 1e-8);
    let certificate = answer.certificate();
    assert!(certificate.proves_gap(1e-8) && certificate.kl.bound().unwrap() < 1e-6, "{certificate}");
    // The sign is not only right but certified.
    assert!(answer.fit.gaussian.mean()[1] + certificate.moments[1].mean_error.bound().unwrap() < 0.0);
    let black_box = Closure::new(2, |z: &[f64], g: &mut [f64]| model.log_density(z, g).unwrap()).unwrap();
    let sampled = Auto { evaluations: Some(500), ..Auto::default() }.run(&black_box, Seed(1)).unwrap();
    assert!((sampled.fit.gaussian.mean()[1] - slope).abs() < 1e-5);
}

#[test]
fn a_look_among_several_claims_the_whole_failure_probability() {
    let model = logistic(300, 2);
    let q = Auto::default().run(&model, Seed(1)).unwrap().fit.gaussian;
    let at = |look: u32, seed: u64| {
        // So few that all of them are used, and that confidence is much of the bound: each look has draws of its own.
        let audit = provi::Audit { look, draws: 5, ..Default::default() };
        audit.run(&model, &q, Seed(seed)).unwrap().certificate().kl.clone()
    };
    // The third look spends δ/12, so its bound is wider; what was selected among looks still fails with δ.
    assert_eq!(at(3, 2).confidence(), at(0, 2).confidence());
    let mean = |look: u32| (0..20).map(|seed| at(look, seed).bound().unwrap()).sum::<f64>() / 20.0;
    let ratio = mean(3) / mean(0);
    assert!((1.02..1.3).contains(&ratio), "{ratio}");
}

#[test]
fn an_audits_own_draws_give_the_estimates_beside_it() {
    let model = logistic(300, 2);
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    let q = &answer.fit.gaussian;
    let audit = |draws, target| provi::Audit { draws, ..Default::default() }.run(target, q, Seed(2)).unwrap();
    let ratios = |draws| audit(draws, Evaluator::Parallel(&model)).log_ratios().to_vec();
    // All draws of q itself, in their order.
    let kept = ratios(5_000);
    assert_eq!(kept.len(), 4_000);
    assert_eq!(ratios(1_500), kept[..1_500]);
    let (own, exact) = (Estimates::from_log_ratios(&kept).unwrap(), -answer.fit.neg_elbo.value);
    assert!((own.elbo - exact).abs() < 5.0 * own.elbo_se, "{own} {exact}");
    // A wrong sign of ½‖u‖², which is d nats on average, would not pass.
    assert!(own.elbo_se < 0.1);
    let fresh = estimate(&model, q, Seed(3), 5_000).unwrap();
    let error = own.log_evidence_se.hypot(fresh.log_evidence_se);
    assert!((own.log_evidence - fresh.log_evidence).abs() < 5.0 * error, "{own} {fresh}");

    // Where q is the posterior every ratio is the evidence, with all constants.
    let target = GaussianTarget::new(&[1.0, -2.0], Matrix::scaled_identity(2, 4.0)).unwrap();
    let target = target.constant(-3.0).unwrap();
    let (optimum, audit) = (target.optimum().unwrap(), provi::Audit::default());
    let found = audit.run(&target, &optimum, Seed(1)).unwrap();
    assert!(!found.log_ratios().is_empty());
    assert!(found.log_ratios().iter().all(|r| (r - target.log_evidence()).abs() < 1e-12));
}

#[test]
fn what_rests_on_probit_expectations_is_proved() {
    let x = rows(400, 2, 21);
    let labels: Vec<f64> = (0..400).map(|n| f64::from(x[2 * n] + 0.7 * x[(2 * n + 5) % 800] > 0.0)).collect();
    let model = Glm::probit(Design::dense(400, 2, &x).unwrap(), &labels, Prior::scale(1.0).unwrap()).unwrap();
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    assert!(answer.fit.neg_elbo.exact);
    let certificate = answer.certificate();
    assert!(
        certificate.gap.confidence().unwrap() >= 1.0 && certificate.gap.bound().unwrap() < 1e-8,
        "{certificate}"
    );
    assert_eq!(certificate.kl.provenance(), Some(Provenance::Proved));
    assert!(
        certificate.kl.key() == Some("psi-kl") && certificate.kl.bound().unwrap() < 0.05,
        "{certificate}"
    );
    let plan = provi::Planner::new(provi::Method::Exact).to_steps(&model, 50).unwrap();
    assert_eq!(plan.promise.provenance, Some(Provenance::Proved));
}

fn declared(model: &Glm, lower: f64, upper: f64) -> Declared<impl Target + Sync + '_> {
    let black_box =
        Closure::new(model.dim(), |z: &[f64], g: &mut [f64]| model.log_density(z, g).unwrap()).unwrap();
    let curvature =
        Curvature::declared(model.dim(), Quadratic::Scalar(lower), Some(Quadratic::Scalar(upper))).unwrap();
    Declared::new(black_box).with_curvature(curvature).unwrap()
}

#[test]
fn a_black_box_with_declared_curvature_stops_when_its_accuracy_is_proved() {
    // A strong prior keeps the declared bounds close: μ = 4, M = 4 + ¼λ_max(AᵀA).
    let x = rows(40, 2, 9);
    let labels: Vec<f64> = (0..40).map(|n| f64::from(n % 2 == 0)).collect();
    let prior = Prior::precision(4.0).unwrap();
    let model = Glm::logistic(Design::dense(40, 2, &x).unwrap(), &labels, prior).unwrap();
    let smoothness = model.curvature().unwrap().unwrap().smoothness().unwrap();
    let target = declared(&model, 4.0, smoothness);
    let auto = Auto { accuracy: Some(0.05), ..Auto::default() };
    let answer = auto.run(&target, Seed(5)).unwrap();
    let certificate = answer.certificate();
    assert!(certificate.proves_gap(0.05), "{certificate}");
    assert_eq!(certificate.gap.provenance(), Some(Provenance::Declared));
    assert!(certificate.gap.confidence().unwrap() < 1.0);
    assert!(answer.fit.gradient_evaluations < 20_000, "stopped at the first success");
    assert!(answer.fit.method == "auto" && answer.fit.draws_per_step > 0);
    // An audit that was kept for what it proved lends its draws to no estimate; one that was not chosen does.
    assert!(answer.audited.log_ratios().is_empty());
    assert!(!Auto::default().run(&target, Seed(5)).unwrap().audited.log_ratios().is_empty());
    // Nothing was claimed that the model itself contradicts.
    let truth = Auto::default().run(&model, Seed(5)).unwrap();
    let gap = provi::expectation::neg_elbo(&model, &answer.fit.gaussian).unwrap() - truth.fit.neg_elbo.value;
    assert!(gap <= certificate.gap.bound().unwrap());
}

#[test]
fn a_declared_curvature_that_the_run_contradicts_is_revoked() {
    let x = rows(40, 2, 9);
    let labels: Vec<f64> = (0..40).map(|n| f64::from(n % 2 == 0)).collect();
    let model =
        Glm::logistic(Design::dense(40, 2, &x).unwrap(), &labels, Prior::precision(4.0).unwrap()).unwrap();
    for (lower, upper) in [(4.0, 4.5), (30.0, 40.0)] {
        let answer = Auto::default().run(&declared(&model, lower, upper), Seed(5)).unwrap();
        let certificate = answer.certificate();
        assert!(certificate.gap.bound().is_none() && certificate.kl.bound().is_none());
        assert!(
            certificate.gap.reason().as_ref().unwrap().contains("declared curvature is wrong"),
            "{certificate}"
        );
        assert!(answer.audited.functional(&[1.0, 0.0]).unwrap()[0].bound().is_none());
    }
}

#[test]
fn a_wrong_gradient_is_refused_before_the_run() {
    let wrong = Closure::new(2, |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        g[1] = z[1];
        -0.5 * (z[0] * z[0] + z[1] * z[1])
    })
    .unwrap();
    let error = Auto::default().run(&wrong, Seed(0)).unwrap_err();
    assert!(matches!(error, Error::WrongGradient { .. }), "{error}");
}

/// Two well separated Gaussians: a Gaussian can hold one of them.
fn bimodal(c: f64) -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Sync> {
    Closure::new(2, move |z: &[f64], g: &mut [f64]| {
        let log = |c: f64| -0.5 * ((z[0] - c).powi(2) + z[1] * z[1]);
        let (a, b) = (log(c), log(-c));
        let top = a.max(b);
        let (wa, wb) = ((a - top).exp(), (b - top).exp());
        g[0] = -(wa * (z[0] - c) + wb * (z[0] + c)) / (wa + wb);
        g[1] = -z[1];
        top + (0.5 * (wa + wb)).ln() - (2.0 * std::f64::consts::PI).ln()
    })
    .unwrap()
}

/// Neal's funnel: the scale of the others depends on the first coordinate.
fn funnel() -> Closure<impl Fn(&[f64], &mut [f64]) -> f64 + Sync> {
    Closure::new(4, |z: &[f64], g: &mut [f64]| {
        let scale = (-z[0]).exp();
        let square: f64 = z[1..].iter().map(|x| x * x).sum();
        g[0] = -z[0] / 9.0 + 0.5 * scale * square - 1.5;
        for i in 1..4 {
            g[i] = -z[i] * scale;
        }
        -z[0] * z[0] / 18.0 - 0.5 * scale * square - 1.5 * z[0]
    })
    .unwrap()
}

#[test]
fn targets_that_are_not_log_concave_finish_without_a_proof_and_the_verdict_warns() {
    let auto = Auto { evaluations: Some(6_000), ..Auto::default() };
    let start = Auto { start: Some(vec![3.0, 0.5]), ..auto.clone() };
    let two = bimodal(2.5);
    let answer = start.run(&two, Seed(3)).unwrap();
    assert!(answer.certificate().kl.bound().is_none());
    assert!(answer.certificate().to_string().contains("not known to be convex"));
    let found = trust(&two, &answer.fit.gaussian, Seed(4), answer.search.agreement()).unwrap();
    assert_ne!(found.verdict, Verdict::Good, "{found}");

    let funnel = funnel();
    let answer = auto.run(&funnel, Seed(3)).unwrap();
    assert!(answer.certificate().gap.bound().is_none());
    let found = trust(&funnel, &answer.fit.gaussian, Seed(4), answer.search.agreement()).unwrap();
    assert_eq!(found.verdict, Verdict::DoNotUse, "{found}");
}

#[test]
fn a_run_that_is_stopped_is_a_result_and_the_same_bits_come_from_any_thread_count() {
    let two = bimodal(4.0);
    let auto = Auto { evaluations: Some(4_000), start: Some(vec![3.0, 0.5]), ..Auto::default() };
    let mut seen = 0;
    let mut observer = |_: &Snapshot| {
        seen += 1;
        if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut watch = Watch { observer: Some(&mut observer), ..Watch::default() };
    let stopped = auto.run_with(&two, Seed(3), &mut watch).unwrap();
    assert!(stopped.fit.stopped_early && stopped.fit.gradient_evaluations < 4_000);

    let serial = auto.run(Evaluator::Serial(&two), Seed(3)).unwrap();
    #[cfg(feature = "parallel")]
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let parallel = pool.install(|| auto.run(&two, Seed(3)).unwrap());
        assert_eq!(parallel.fit.gaussian.parameters(), serial.fit.gaussian.parameters());
    }
    assert!(!serial.fit.stopped_early);
}

/// A model that keeps its expectations to itself.
struct Opaque(Glm);

impl Target for Opaque {
    provi::forward_target!(self => self.0; dim log_density log_densities curvature local_curvature rounding);
}

/// Certificates of an audit that is told to end once it has made so many draws.
fn ended(audit: Audit, target: &(dyn Target + Sync), q: &Gaussian<Triangular>, most: u64) -> Certificate {
    let mut seen = Vec::new();
    let mut ask = |made: u64, wanted: u64| {
        seen.push(made);
        assert!(made < wanted);
        if made < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut watch = Watch { audit: Some(&mut ask), ..Watch::default() };
    let certificate = audit.run_with(target, q, Seed(3), &mut watch).unwrap().certificate().clone();
    assert!(seen.is_sorted() && seen[0] == 0);
    certificate
}

/// W2 is nearly separable: the route by the mass of p ended among its ascents, the last of its draws.
#[test]
fn a_route_with_ascents_that_is_stopped_pays_nothing_for_it() {
    let target = crate::common::gold("W2").target;
    let q = provi::solve::Solver::default().run(&target).unwrap().gaussian;
    let audit = Audit { draws: 3_000, ..Audit::default() };
    let whole = ended(audit, &target, &q, u64::MAX);
    let late = ended(audit, &target, &q, whole.grounds.draws + whole.grounds.mass_draws.unwrap() * 9 / 10);
    assert_eq!((whole.kl.key(), late.kl.key()), (Some("sharp-kl"), Some("sharp-kl")));
    assert!(late.grounds.mass_draws < whole.grounds.mass_draws, "{late}");
    assert!(whole.kl.bound().unwrap() < late.kl.bound().unwrap(), "{late}");
    assert_eq!(late.kl.confidence(), whole.kl.confidence());
    let none = ended(audit, &target, &q, 0);
    assert!(
        none.kl.bound().is_none() && none.to_string().contains("stopped before its first draws"),
        "{none}"
    );
    assert!(none.evidence.upper().is_none() && none.moments.iter().all(|m| m.mean_error.bound().is_none()));
}

#[test]
fn an_audit_that_is_stopped_certifies_by_the_draws_it_made() {
    let target = logistic(800, 4);
    let audit = Audit { price: 0.01, ..Audit::default() };
    let q = Auto::default().run(&target, Seed(3)).unwrap().fit.gaussian;
    let run = |most: u64| ended(audit, &target, &q, most);
    let (whole, part, none) = (run(u64::MAX), run(1), run(0));
    assert_eq!(&whole, audit.run(&target, &q, Seed(3)).unwrap().certificate());
    let bound = |c: &Certificate| c.kl.bound().unwrap();
    assert!(0 < part.grounds.draws && part.grounds.draws < whole.grounds.draws);
    assert!(bound(&whole) < bound(&part), "{part}\n{whole}");
    // The sharp route ended half way pays nothing for it and proves less.
    let late = run(whole.grounds.draws + whole.grounds.mass_draws.unwrap() / 2);
    assert_eq!((whole.kl.key(), late.kl.key()), (Some("psi-kl"), Some("psi-kl")));
    assert!(bound(&whole) < bound(&late) && late.grounds.mass_draws < whole.grounds.mass_draws, "{late}");
    assert_eq!(late.kl.confidence(), whole.kl.confidence());
    // The gap comes from an exact gradient, and the envelope alone bounds KL without a draw.
    assert_eq!(none.grounds.draws, 0);
    assert_eq!(none.gap, whole.gap);
    assert!(bound(&late) < bound(&none), "{none}");
    assert!(none.evidence.lower().unwrap() <= whole.evidence.lower().unwrap());
}

#[test]
fn an_end_pays_for_every_place_where_it_might_have_come() {
    let (target, audit) = (logistic(600, 4), Audit { draws: 2_000, price: 0.01, ..Audit::default() });
    let q = Auto::default().run(&target, Seed(3)).unwrap().fit.gaussian;
    let target = Opaque(target);
    let part = ended(audit, &target, &q, 1_024);
    // 2000 draws are four batches: as if so many draws had been asked for with a quarter of δ.
    let asked = Audit { draws: 1_024, failure_probability: 0.25e-6, ..audit };
    let asked = asked.run(&target, &q, Seed(3)).unwrap();
    assert_eq!(part.grounds.draws, 1_024);
    assert_eq!(part.tv.bound(), asked.certificate().tv.bound());
    assert_eq!(part.tv.confidence(), Some(1.0 - 2e-6));
}

#[test]
fn a_run_that_was_told_to_end_is_audited_all_the_same() {
    let (target, flag) = (logistic(60, 4), Stop::default());
    flag.ask();
    let mut watch = Watch { stop: Some(&flag), ..Watch::default() };
    let stopped = Auto::default().run_with(&target, Seed(3), &mut watch).unwrap();
    assert!(stopped.fit.stopped_early && stopped.certificate().kl.bound().is_some());
    // A flag that is raised during the audit ends the audit.
    flag.store(false, Ordering::Relaxed);
    let mut raise = |made: u64, _| {
        flag.store(made > 0, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let auto = Auto { audit: Audit { price: 0.01, ..Audit::default() }, ..Auto::default() };
    let mut watch = Watch { stop: Some(&flag), audit: Some(&mut raise), ..Watch::default() };
    let answer = auto.run_with(&target, Seed(3), &mut watch).unwrap();
    assert!(!answer.fit.stopped_early && flag.load(Ordering::Relaxed));
    let whole = auto.run(&target, Seed(3)).unwrap().certificate().grounds.draws;
    assert!(answer.certificate().grounds.draws < whole);
}

#[test]
fn a_gaussian_target_is_certified_to_rounding() {
    let precision = Matrix::new(2, 2, vec![2.0, 0.7, 0.7, 1.0]).unwrap();
    let target = GaussianTarget::new(&[3.0, -1.0], precision).unwrap();
    let answer = Auto::default().run(&target, Seed(0)).unwrap();
    let certificate = answer.certificate();
    assert!(certificate.kl.bound().unwrap() < 1e-12, "{certificate}");
    assert!(
        certificate.evidence.lower().unwrap() <= 0.0 + 1e-12
            && certificate.evidence.upper().unwrap() >= -1e-12
    );
}

#[test]
fn an_automatic_run_is_taken_up_where_it_was_put_aside() {
    let target = logistic(60, 4);
    let auto = Auto::default();
    let mut kept = None;
    let mut save = |at: &Checkpoint| kept = Some(at.clone());
    let mut observer = |s: &Snapshot| {
        if s.step >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let keeper = Keeper { every: Duration::from_secs(3600), save: &mut save };
    let mut watch = Watch { observer: Some(&mut observer), keeper: Some(keeper), ..Watch::default() };
    let stopped = auto.run_with(&target, Seed(3), &mut watch).unwrap();
    assert!(stopped.fit.stopped_early && kept.as_ref().is_some_and(|at| at.step == 3));
    let mut watch = Watch { from: kept, ..Watch::default() };
    let resumed = auto.run_with(&target, Seed(3), &mut watch).unwrap();
    assert!(!resumed.fit.stopped_early && resumed.certificate().proves_gap(1e-9));
    let steps: Vec<u64> = resumed.fit.trace.iter().map(|s| s.step).collect();
    assert!(steps.windows(2).all(|pair| pair[0] < pair[1]) && steps.contains(&3), "{steps:?}");
}

#[test]
fn every_way_to_hand_a_target_over_gives_the_same_bits() {
    let model = logistic(60, 3);
    let reference = &model;
    let boxed: Box<dyn Target + Sync> = Box::new(model.clone());
    let alone: Box<dyn Target> = Box::new(model.clone());
    let shared: Arc<dyn Target + Send + Sync> = Arc::new(model.clone());
    let ways: [Evaluator<'_>; 8] = [
        (&model).into(),
        (&reference).into(),
        (&model as &dyn Target).into(),
        Evaluator::Serial(&model),
        (&boxed).into(),
        (&*alone).into(),
        (&shared).into(),
        (&*shared).into(),
    ];
    let plan = Planner::new(Method::ProxEnergy).to_steps(&model, 40).unwrap();
    let [answer, fit] =
        [Auto::default().run(&model, Seed(3)).unwrap().fit, plan.run(&model, Seed(3)).unwrap()];
    for (k, way) in ways.into_iter().enumerate() {
        // One thread for what came without `Sync`, as many as there are for the rest.
        assert_eq!(matches!(way, Evaluator::Serial(_)), [2, 3, 5].contains(&k), "{k}");
        assert_eq!(Auto::default().run(way, Seed(3)).unwrap().fit.gaussian, answer.gaussian, "{k}");
        assert_eq!(plan.run_with(way, Seed(3), &mut Watch::default()).unwrap().gaussian, fit.gaussian, "{k}");
    }
}

#[test]
fn an_answer_prints_itself_and_what_is_proved() {
    let model = logistic(60, 3);
    let answer = Auto::default().run(&model, Seed(3)).unwrap();
    assert_eq!(answer.to_string(), format!("{}\n\n{}", answer.fit, answer.certificate()));
    assert_eq!(answer.audited.to_string(), answer.certificate().to_string());
    let functional = answer.functional(&[1.0, 0.0, -1.0]).unwrap();
    let errors = answer.audited.functional(&[1.0, 0.0, -1.0]).unwrap();
    assert_eq!([&functional.mean_error, &functional.sd_error], [&errors[0], &errors[1]]);
    let text = functional.to_string();
    assert!(text.lines().count() == 3 && text.contains("P(> 0)") && text.contains("between"), "{text}");
    let gaussian = answer.fit.gaussian.to_string();
    assert!(gaussian.lines().count() == 4 && gaussian.contains("\nz0"), "{gaussian}");
    let curvature = model.curvature().unwrap().unwrap().to_string();
    assert!(curvature.contains(" ≤ ∇²V ≤ ") && curvature.ends_with("(proved)"), "{curvature}");
    assert!(answer.fit.neg_elbo.to_string().contains("exact to"));
    let evidence = &answer.certificate().evidence;
    assert!(evidence.to_string().starts_with("between "), "{evidence}");
    let same = LogBayesFactor::new(evidence, evidence).to_string();
    assert!(same.starts_with("between -") && same.ends_with(" nats"), "{same}");
}
