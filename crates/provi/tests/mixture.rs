//! Mixtures by boosting: they find the parts of a density that one Gaussian misses, their estimates hold where the answer is known,
//! and what is wrong with a mixture is seen.

use provi::auto::Ending;
use provi::boosting::{Boosted, Boosting, BoostingEnding};
use provi::estimate::Estimates;
use provi::fit::Watch;
use provi::gaussian::Triangular;
use provi::mixture::Mixture;
use provi::stop::Stop;
use provi::target::{Closure, Target};
use provi::trust::{Agreement, Verdict, trust_mixture};
use provi::{Auto, Error, Gaussian, Seed};
use std::f64::consts::PI;
use std::ops::ControlFlow;
use std::time::Duration;

/// A density with its gradient.
type Density = fn(&[f64], &mut [f64]) -> f64;

/// The parts of [`two_modes`]: weight, mean and standard deviation of both coordinates.
const PARTS: [(f64, f64, f64); 2] = [(0.3, -3.0, 1.0), (0.7, 3.0, 0.6)];
/// log p(x) of [`two_modes`].
const EVIDENCE: f64 = 5.0;

/// e⁵ Σ w N(m, s²I) in two dimensions.
fn two_modes(z: &[f64], gradient: &mut [f64]) -> f64 {
    let logs = PARTS.map(|(w, m, s)| {
        let square: f64 = z.iter().map(|x| ((x - m) / s).powi(2)).sum();
        w.ln() - 0.5 * square - 2.0 * s.ln() - (2.0 * PI).ln()
    });
    let top = logs[0].max(logs[1]);
    let sum = top + logs.iter().map(|x| (x - top).exp()).sum::<f64>().ln();
    for (g, x) in gradient.iter_mut().zip(z) {
        let slopes = PARTS.iter().zip(logs).map(|((_, m, s), log)| (log - sum).exp() * (m - x) / (s * s));
        *g = slopes.sum();
    }
    EVIDENCE + sum
}

/// exp(−½((r − 3)/0.3)²) with r = ‖z‖: its mass is 2π·3·0.3·√2π to rounding.
fn ring(z: &[f64], gradient: &mut [f64]) -> f64 {
    let r = z[0].hypot(z[1]).max(f64::MIN_POSITIVE);
    let a = (r - 3.0) / 0.3;
    gradient.iter_mut().zip(z).for_each(|(g, x)| *g = -a / 0.3 * x / r);
    -0.5 * a * a
}

/// z₀ ~ N(0, 1), z₁ ~ N(z₀², ¼), times 2π·½.
fn banana(z: &[f64], gradient: &mut [f64]) -> f64 {
    let b = z[1] - z[0] * z[0];
    gradient[0] = -z[0] + 8.0 * b * z[0];
    gradient[1] = -4.0 * b;
    -0.5 * z[0] * z[0] - 2.0 * b * b
}

/// v ~ N(0, 9), x ~ N(0, eᵛ).
fn funnel(z: &[f64], gradient: &mut [f64]) -> f64 {
    let narrow = (-z[0]).exp();
    gradient[0] = -z[0] / 9.0 + 0.5 * z[1] * z[1] * narrow - 0.5;
    gradient[1] = -z[1] * narrow;
    -z[0] * z[0] / 18.0 - 0.5 * z[1] * z[1] * narrow - 0.5 * z[0] - 0.5 * 9f64.ln() - (2.0 * PI).ln()
}

fn of(density: Density) -> Closure<Density> {
    Closure::new(2, density).unwrap()
}

fn boosted(density: Density) -> Boosted {
    Boosting::default().run(&of(density), Seed(1)).unwrap()
}

fn one_gaussian(density: Density) -> f64 {
    -Auto::default().run(&of(density), Seed(1)).unwrap().fit.neg_elbo.value
}

/// Whether the evidence estimate is off by more than five standard errors; a false alarm of 6e-7.
fn is_off(found: &Estimates, exact: f64) -> bool {
    (found.log_evidence - exact).abs() > 5.0 * found.log_evidence_se + 1e-9
}

#[test]
fn two_modes_have_their_weights_means_and_evidence() {
    let answer = boosted(two_modes);
    let trust = answer.trust.as_ref().unwrap();
    assert_eq!((answer.mixture.len(), answer.ending), (2, BoostingEnding::Settled), "{answer}");
    assert_eq!(trust.verdict, Verdict::Good, "{answer}");
    assert!(!is_off(&trust.estimates, EVIDENCE) && trust.estimates.kl.abs() < 1e-3, "{answer}");
    assert!((answer.elbo - EVIDENCE).abs() < 5.0 * answer.elbo_se + 1e-3, "{answer}");
    // The heavier part comes first.
    let expected = [PARTS[1], PARTS[0]];
    let parts = answer.mixture.weights().iter().zip(answer.mixture.components()).zip(expected);
    for ((weight, q), (w, m, s)) in parts {
        assert!((weight - w).abs() < 0.01, "{answer}");
        for (mean, sd) in q.mean().iter().zip(q.standard_deviations()) {
            assert!((mean - m).abs() < 0.02 * s && (sd / s - 1.0).abs() < 0.02, "{answer}");
        }
    }
    // One Gaussian has one of the parts.
    assert!((answer.elbo - one_gaussian(two_modes) - (1.0 / 0.7f64).ln()).abs() < 0.01, "{answer}");
    let text = answer.to_string();
    assert!(text.contains("unproven") && text.contains("good:") && !text.contains("proved that"), "{text}");
}

#[test]
fn wrong_weights_and_the_density_of_one_component_are_rejected() {
    let target = of(two_modes);
    let right = boosted(two_modes).mixture;
    let judge = |q: &Mixture| trust_mixture(&target, q, Seed(2), Agreement::default()).unwrap();
    assert_eq!(judge(&right).verdict, Verdict::Good);
    // Planted: the weights are not fitted.
    let equal = Mixture::new(&[0.5, 0.5], right.components().to_vec()).unwrap();
    let found = judge(&equal);
    assert!(found.verdict != Verdict::Good && found.witnesses.mean_shift > 0.3, "{found}");
    // Importance weights mend them.
    assert!(!is_off(&found.estimates, EVIDENCE), "{}", found.estimates);
    // Planted: the weights use log q of the draw's own component.
    let draws = right.sample(2_000, Seed(3));
    let ratios = |own: bool| {
        let ratio = |k: usize| {
            let z = draws.row(k);
            let log_p = target.log_density(z, &mut [0.0; 2]).unwrap();
            let parts = right.components().iter().map(|c| c.log_density(z).unwrap());
            log_p - if own { parts.fold(f64::NEG_INFINITY, f64::max) } else { right.log_density(z).unwrap() }
        };
        Estimates::from_log_ratios(&(0..2_000).map(ratio).collect::<Vec<f64>>()).unwrap()
    };
    assert!(!is_off(&ratios(false), EVIDENCE));
    assert!(is_off(&ratios(true), EVIDENCE), "{}", ratios(true));
    // A mixture that misses a part is condemned.
    let half = Mixture::new(&[1.0], vec![right.components()[1].clone()]).unwrap();
    assert_eq!(judge(&half).verdict, Verdict::DoNotUse);
}

#[test]
fn a_ring_is_covered_all_around() {
    let answer = boosted(ring);
    let trust = answer.trust.as_ref().unwrap();
    assert!(answer.mixture.len() >= 5 && answer.elbo > one_gaussian(ring) + 1.4, "{answer}");
    assert!(!is_off(&trust.estimates, (6.0 * PI * 0.3 * (2.0 * PI).sqrt()).ln()), "{answer}");
    assert!(trust.verdict != Verdict::DoNotUse, "{answer}");
    // The mean is 0 and the variance (9 + 3·0.09)/2 by symmetry.
    for (mean, sd) in answer.mixture.mean().iter().zip(answer.mixture.standard_deviations()) {
        assert!(mean.abs() < 0.2 && (sd / 4.635f64.sqrt() - 1.0).abs() < 0.05, "{answer} {mean} {sd}");
    }
    // Each component that is kept has raised the ELBO.
    assert!(answer.rounds.iter().all(|round| !round.kept || round.rise > 2.0 * round.rise_se), "{answer}");
}

#[test]
fn a_banana_and_a_funnel_gain_on_one_gaussian() {
    let answer = boosted(banana);
    let trust = answer.trust.as_ref().unwrap();
    assert!(answer.elbo > one_gaussian(banana) + 0.4, "{answer}");
    assert!(!is_off(&trust.estimates, PI.ln()) && trust.verdict != Verdict::DoNotUse, "{answer}");
    let (mean, sds) = (answer.mixture.mean(), answer.mixture.standard_deviations());
    // E z₁ = 1, and its variance is 2 + ¼.
    assert!(mean[0].abs() < 0.1 && (mean[1] - 1.0).abs() < 0.1, "{answer} {mean:?}");
    assert!((sds[0] - 1.0).abs() < 0.1 && (sds[1] / 1.5 - 1.0).abs() < 0.15, "{answer} {sds:?}");
    let answer = boosted(funnel);
    assert!(answer.elbo > one_gaussian(funnel) + 0.4 && answer.elbo < 3.0 * answer.elbo_se, "{answer}");
    // Its tail has no Gaussian: not good, whatever the components.
    assert!(answer.trust.as_ref().unwrap().verdict != Verdict::Good, "{answer}");
}

#[test]
fn a_gaussian_keeps_one_component_that_of_the_search_alone() {
    let normal: Density = |z, gradient| {
        (gradient[0], gradient[1]) = (-2.0 * (z[0] - 1.0), -(z[1] + 3.0));
        -(z[0] - 1.0).powi(2) - 0.5 * (z[1] + 3.0).powi(2)
    };
    let (answer, alone) = (boosted(normal), Auto::default().run(&of(normal), Seed(1)).unwrap());
    assert_eq!(answer.mixture.components(), [alone.fit.gaussian]);
    assert_eq!(answer.trust.unwrap().verdict, Verdict::Good);
}

#[test]
#[cfg(feature = "parallel")]
fn the_bits_do_not_depend_on_threads_and_do_depend_on_the_seed() {
    let small = Boosting { components: 3, evaluations: Some(40_000), ..Boosting::default() };
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| small.run(&of(banana), Seed(seed)).unwrap());
        (found.mixture, found.elbo.to_bits(), found.trust.unwrap().estimates, found.gradient_evaluations)
    };
    let one = run(1, 4);
    assert_eq!(one, run(3, 4));
    assert_ne!(one.0, run(1, 5).0);
    let target = of(banana);
    let serial = small.run(provi::target::Evaluator::Serial(&target), Seed(4)).unwrap();
    assert_eq!(one.0, serial.mixture);
}

#[test]
fn a_stopped_run_keeps_what_it_has() {
    let target = of(ring);
    let stop = Stop::default();
    stop.ask();
    let mut watch = Watch { stop: Some(&stop), ..Watch::default() };
    let answer = Boosting::default().run_with(&target, Seed(1), &mut watch).unwrap();
    assert!(answer.stopped_early && answer.mixture.len() == 1, "{answer}");
    assert_eq!(answer.beginnings.as_ref().unwrap().ending, Ending::Stopped);
    // Stopped by the observer after the second component: it is kept.
    let mut seen = 0;
    let mut observer = |at: &provi::fit::Snapshot| {
        seen += usize::from(at.step > 25_000);
        if seen > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut watch = Watch { observer: Some(&mut observer), ..Watch::default() };
    let answer = Boosting::default().run_with(&target, Seed(1), &mut watch).unwrap();
    assert!(answer.stopped_early && answer.ending == BoostingEnding::Stopped, "{answer}");
    assert!((2..8).contains(&answer.mixture.len()), "{answer}");
    let mut watch = Watch { time_limit: Some(Duration::ZERO), ..Watch::default() };
    assert!(Boosting::default().run_with(&target, Seed(1), &mut watch).unwrap().stopped_early);
}

#[test]
fn the_cap_of_evaluations_is_kept_and_bad_inputs_are_refused() {
    for cap in [3_000, 12_000, 40_000] {
        let answer =
            Boosting { evaluations: Some(cap), ..Boosting::default() }.run(&of(ring), Seed(1)).unwrap();
        assert!(answer.gradient_evaluations <= cap, "{cap}: {answer}");
        assert_eq!(answer.ending, BoostingEnding::Evaluations, "{answer}");
    }
    for components in [0, 65] {
        let found = Boosting { components, ..Boosting::default() }.run(&of(ring), Seed(1));
        assert!(matches!(found, Err(Error::OutOfRange { what: "number of components", .. })), "{found:?}");
    }
    let start = Some(vec![0.0; 3]);
    let found = Boosting { start, ..Boosting::default() }.run(&of(ring), Seed(1));
    assert!(matches!(found, Err(Error::Shape { what: "start", .. })), "{found:?}");
    let nowhere: Density = |_, gradient| {
        gradient.fill(0.0);
        f64::NAN
    };
    assert!(Boosting::default().run(&of(nowhere), Seed(1)).is_err());
    let wrong = Gaussian::<Triangular>::standard(3);
    let wrong = Mixture::new(&[1.0], vec![wrong]).unwrap();
    assert!(trust_mixture(&of(ring), &wrong, Seed(1), Agreement::default()).is_err());
}
