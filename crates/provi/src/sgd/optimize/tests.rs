//! Whole runs of toy problems, every outcome of the noise enumerated: expectations are exact, bounds one-sided.

use super::*;
use crate::sgd::average::Average;
use crate::theory::schedule::StepKind;

/// l = ½(w−1)², h = α|w|, g = (w−1)(1 + τξ) + σξ' with ξ, ξ' = ±1 read from the digits of `path`.
fn lasso(path: u64, tau: f64, sigma: f64, alpha: f64) -> impl Problem {
    let gradient = move |w: &[f64], t: u64, g: &mut [f64]| {
        let digit = (path >> (2 * t)) & 3;
        let sign = |bit: u64| if bit == 0 { 1.0 } else { -1.0 };
        g[0] = (w[0] - 1.0) * (1.0 + tau * sign(digit & 1)) + sigma * sign(digit >> 1);
        Ok(())
    };
    let shrink =
        move |w: &mut [f64], gamma: f64| w[0] = w[0].signum() * (w[0].abs() - gamma * alpha).max(0.0);
    Composite { estimator: FnEstimator::new(1, gradient), operator: FnOperator(shrink) }
}

/// f = ½w² over w ≥ ½, with the same kind of noise.
fn half_line(path: u64, tau: f64, sigma: f64) -> impl Problem {
    let gradient = move |w: &[f64], t: u64, g: &mut [f64]| {
        let digit = (path >> (2 * t)) & 3;
        let sign = |bit: u64| if bit == 0 { 1.0 } else { -1.0 };
        g[0] = w[0] * (1.0 + tau * sign(digit & 1)) + sigma * sign(digit >> 1);
        Ok(())
    };
    let clamp = |w: &mut [f64], _gamma: f64| w[0] = w[0].max(0.5);
    Composite { estimator: FnEstimator::new(1, gradient), operator: FnOperator(clamp) }
}

/// The mean of `score(answer)` over all 4^T runs.
fn expect<P: Problem>(
    problem: impl Fn(u64) -> P,
    start: f64,
    schedule: &Schedule,
    average: Average,
    steps: u64,
    score: impl Fn(f64) -> f64,
) -> f64 {
    let runs = 1u64 << (2 * steps);
    let total: f64 = (0..runs)
        .map(|path| {
            let (mut w, mut averager) = ([start], Averager::new(average, 1).unwrap());
            let mut ignore = |_: &Progress<'_>| ControlFlow::Continue(());
            let made =
                minimise(&mut problem(path), &mut w, schedule, &mut averager, steps, &mut ignore).unwrap();
            assert_eq!(made, steps);
            score(averager.finish(&w).unwrap()[0])
        })
        .sum();
    total / runs as f64
}

#[test]
fn prox_bounds_hold_for_a_lasso_over_all_its_runs() {
    let (tau, sigma, alpha, start) = (0.8, 0.3, 0.4, 4.0);
    let optimum = 1.0 - alpha;
    let growth = 2.0 * (1.0 + tau * tau);
    let floor = growth * alpha * alpha + sigma * sigma;
    let plain = QuadraticallyBounded::new(growth, floor, 1.0, 1.0).unwrap();
    // g − l'(w*) = (w−w*) + τ(w−w*)ξ − ταξ + σξ'
    let centred = QuadraticallyBounded::new(
        1.0 + 2.0 * tau * tau,
        2.0 * (tau * alpha).powi(2) + sigma * sigma,
        1.0,
        1.0,
    )
    .unwrap();
    let problem = |path| lasso(path, tau, sigma, alpha);
    let start2 = (start - optimum).powi(2);
    let value = |w: f64| 0.5 * (w - 1.0).powi(2) + alpha * w.abs();
    for steps in [1, 3, 6] {
        for schedule in [
            plain.anytime(StepKind::Prox).unwrap(),
            centred.recursion().unwrap().optimal_schedule(start2).unwrap(),
        ] {
            let truth = expect(problem, start, &schedule, Average::Last, steps, |w| (w - optimum).powi(2));
            let sharp = centred.recursion().unwrap().propagate(&schedule, steps, start2);
            let loose = plain.prox_recursion(alpha * alpha).unwrap().propagate(&schedule, steps, start2);
            assert!(truth <= sharp && sharp <= loose, "{truth} {sharp} {loose}");
        }
        let closed = plain.distance2(StepKind::Prox, alpha * alpha, start2, steps).unwrap();
        let anytime = plain.anytime(StepKind::Prox).unwrap();
        assert!(expect(problem, start, &anytime, Average::Last, steps, |w| (w - optimum).powi(2)) <= closed);
        for gamma in [0.05, 0.3, 1.0] {
            let schedule = Schedule::constant(gamma).unwrap();
            let average = plain.average(StepKind::Prox, gamma).unwrap();
            let gap = expect(problem, start, &schedule, average, steps, |w| value(w) - value(optimum));
            assert!(gap <= plain.gap(StepKind::Prox, start2, gamma, steps).unwrap());
        }
    }
}

#[test]
fn proj_bounds_hold_on_a_half_line_over_all_its_runs() {
    let (tau, sigma, start, optimum) = (0.8, 0.3, 4.0, 0.5);
    let growth = 2.0 * (1.0 + tau * tau);
    let floor = growth * optimum * optimum + sigma * sigma;
    let bounded = QuadraticallyBounded::new(growth, floor, 1.0, 1.0).unwrap();
    let problem = |path| half_line(path, tau, sigma);
    let start2 = (start - optimum).powi(2);
    for steps in [1, 3, 6] {
        let anytime = bounded.anytime(StepKind::Proj).unwrap();
        let truth = expect(problem, start, &anytime, Average::Last, steps, |w| (w - optimum).powi(2));
        let sharp = bounded.recursion().unwrap().propagate(&anytime, steps, start2);
        let closed = bounded.distance2(StepKind::Proj, 0.0, start2, steps).unwrap();
        assert!(truth <= sharp && sharp <= closed);
        for gamma in [0.02, 0.1, 0.5] {
            let schedule = Schedule::constant(gamma).unwrap();
            let average = bounded.average(StepKind::Proj, gamma).unwrap();
            let gap =
                expect(problem, start, &schedule, average, steps, |w| 0.5 * (w * w - optimum * optimum));
            assert!(gap <= bounded.gap(StepKind::Proj, start2, gamma, steps).unwrap());
        }
    }
}

/// E f(w̄_T) − f* for f = ½w² and weights θ^{t+1} on w_0..w_{T−1}: what the theorem averages, not w_1..w_T.
#[test]
fn the_proj_average_is_over_the_points_where_gradients_were_taken() {
    let schedule = Schedule::constant(0.5).unwrap();
    let average = Average::proj(1.0, 0.5).unwrap();
    let found = expect(|path| half_line(path, 0.0, 0.0), 2.0, &schedule, average, 2, |w| w);
    let theta: f64 = 1.0 / 1.25;
    assert!((found - (2.0 + theta * 1.0) / (1.0 + theta)).abs() < 1e-15);
    let average = Average::prox(1.0, 0.5).unwrap();
    let found = expect(|path| half_line(path, 0.0, 0.0), 2.0, &schedule, average, 2, |w| w);
    let theta: f64 = 1.0 / 1.5;
    assert!((found - (1.0 + theta * 0.5) / (1.0 + theta)).abs() < 1e-15);
}

#[test]
fn a_run_that_is_not_finite_stops_with_the_step_that_broke_it() {
    let gradient = |w: &[f64], t: u64, g: &mut [f64]| {
        g[0] = if t == 3 { f64::NAN } else { w[0] };
        Ok(())
    };
    let mut problem =
        Composite { estimator: FnEstimator::new(1, gradient), operator: FnOperator(|_: &mut [f64], _| ()) };
    let (mut w, mut average) = ([1.0], Averager::new(Average::Last, 1).unwrap());
    let schedule = Schedule::constant(0.1).unwrap();
    let stopped =
        minimise(&mut problem, &mut w, &schedule, &mut average, 9, &mut |_| ControlFlow::Continue(()));
    assert_eq!(stopped, Err(Error::Diverged { step: 3, gamma: 0.1 }));
    let gradient = |_: &[f64], _: u64, g: &mut [f64]| {
        g[0] = 1.0;
        Ok(())
    };
    let spoil = |w: &mut [f64], _| w[0] = f64::INFINITY;
    let mut problem = Composite { estimator: FnEstimator::new(1, gradient), operator: FnOperator(spoil) };
    let (mut w, flat) = ([1.0], Schedule::constant(0.1).unwrap());
    let stopped = minimise(&mut problem, &mut w, &flat, &mut average, 1, &mut |_| ControlFlow::Continue(()));
    assert_eq!(stopped, Err(Error::Diverged { step: 0, gamma: 0.1 }));
    let mut uniform = Averager::new(Average::Uniform, 2).unwrap();
    let refused = minimise(&mut problem, &mut w, &flat, &mut uniform, 2, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::Shape { .. })));
}

#[test]
fn a_watcher_can_break_off_and_the_run_can_be_resumed() {
    let schedule = Schedule::optimal(1.0, 2.0, 0.5, 9.0).unwrap();
    let mut go = |_: &Progress<'_>| ControlFlow::Continue(());
    let (mut whole, mut average) = ([3.0], Averager::new(Average::Uniform, 1).unwrap());
    minimise(&mut half_line(0b11_01_10, 0.5, 0.2), &mut whole, &schedule, &mut average, 8, &mut go).unwrap();
    let expected = average.finish(&whole).unwrap();

    let (mut parts, mut average) = ([3.0], Averager::new(Average::Uniform, 1).unwrap());
    let (mut problem, mut gammas) = (half_line(0b11_01_10, 0.5, 0.2), schedule.stepper());
    let mut stop =
        |p: &Progress<'_>| if p.t == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let made = resume(&mut problem, &mut parts, &mut gammas, &mut average, 0..8, &mut stop).unwrap();
    assert_eq!(made, 5);
    resume(&mut problem, &mut parts, &mut gammas, &mut average, made..8, &mut go).unwrap();
    assert_eq!((parts, average.finish(&parts).unwrap()), (whole, expected));
}

#[test]
fn deferred_steps_are_settled_before_anything_reads_them() {
    /// Adds up decrements and applies them only when asked.
    struct Lazy(f64);
    impl Problem for Lazy {
        fn advance(&mut self, _w: &mut [f64], _t: u64, gamma: f64) -> Result<Moved> {
            self.0 += gamma;
            Ok(Moved { distance: gamma, value: None })
        }
        fn settle(&mut self, w: &mut [f64]) -> Result<()> {
            w[0] -= std::mem::take(&mut self.0);
            Ok(())
        }
    }
    let schedule = Schedule::constant(1.0).unwrap();
    for (kind, expected) in [(Average::Last, 6.0), (Average::Uniform, 7.5)] {
        let (mut w, mut average) = ([10.0], Averager::new(kind, 1).unwrap());
        let problem: &mut dyn Problem = &mut Lazy(0.0);
        minimise(problem, &mut w, &schedule, &mut average, 4, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((w[0], average.finish(&w).unwrap()[0]), (6.0, expected));
    }
}
