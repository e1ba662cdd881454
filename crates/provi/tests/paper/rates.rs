//! §5: closed forms dominate the recursion, the recursion dominates what runs do.

use crate::common::*;
use provi::schedule::StepKind;
use provi::target::{Family, Glm};
use provi::theory::noise::{self, NoiseBound};
use provi::theory::{Contraction, Recursion, rate};
use provi::{Average, Gaussian, Schedule, Symmetric, Target, Triangular};

/// A well-conditioned logistic model, its optimum and the constants of the theorems.
struct Setting {
    target: Glm,
    star: Gaussian<Triangular>,
    d: usize,
    convexity: f64,
    smoothness: f64,
    distance2: f64,
}

impl Setting {
    fn new() -> Self {
        let target = regression(Family::Bernoulli, 301, 3, 3.0, false);
        let curvature = target.curvature().unwrap().unwrap();
        let (d, convexity) = (3, curvature.convexity());
        let distance2 = noise::optimum_distance2(d, convexity).unwrap();
        let star = optimum(&target);
        Self { star, d, convexity, smoothness: curvature.smoothness().unwrap(), distance2, target }
    }

    /// The single-draw table, for the closed forms.
    fn table(&self, pairing: Pairing) -> NoiseBound {
        match pairing {
            Pairing::ProxEnergy => noise::energy(self.d, self.smoothness, self.distance2),
            _ => noise::entropy(self.d, self.smoothness, self.smoothness, self.distance2),
        }
        .unwrap()
    }

    /// ‖∇l(w*)‖² ≤ M²‖w*−w̄‖².
    fn gradient2(&self) -> f64 {
        self.smoothness.powi(2) * self.distance2
    }

    fn recursion(&self, pairing: Pairing) -> Recursion {
        let curvature = self.target.curvature().unwrap().unwrap();
        Recursion::new(self.convexity, pairing.method().noise(&curvature, 1).unwrap()).unwrap()
    }

    fn start(&self, pairing: Pairing) -> (Vec<f64>, f64) {
        let start = far_start(self.d, self.convexity);
        let e = pairing.distance2(self.d, &start, &pairing.flat(&self.star));
        (start, e)
    }

    /// measured ≤ recursion ≤ closed form, at every checkpoint.
    fn check(
        &self,
        pairing: Pairing,
        schedule: &Schedule,
        checkpoints: &[u64],
        closed: impl Fn(f64, u64) -> f64,
    ) {
        let (start, e0) = self.start(pairing);
        let run = Run {
            target: &self.target,
            smoothness: self.smoothness,
            start: &start,
            schedule,
            average: Average::Last,
            draws: 1,
            steps: *checkpoints.last().unwrap(),
        };
        let measured = pairing.mean_errors(&run, &pairing.flat(&self.star), 16, checkpoints);
        let recursion = self.recursion(pairing);
        for (&t, measured) in checkpoints.iter().zip(measured) {
            let propagated = recursion.propagate(schedule, t, e0);
            assert!(measured <= propagated, "{pairing:?}, T = {t}: {measured} is above {propagated}");
            let closed = closed(e0, t);
            assert!(propagated <= closed, "{pairing:?}, T = {t}: {propagated} is above {closed}");
        }
    }

    /// The mean of f(w̄_T) − f* over seeds.
    fn mean_gap(&self, pairing: Pairing, schedule: &Schedule, average: Average, steps: u64) -> f64 {
        let (start, _) = self.start(pairing);
        let target = &self.target;
        let run =
            Run { target, smoothness: self.smoothness, start: &start, schedule, average, draws: 1, steps };
        let best = objective(target, &self.star);
        let gaps = (0..8).map(|seed| {
            let w = pairing.run(&run, 40 + seed, &mut |_, _| {});
            let (m, c) = w.split_at(self.d);
            let f = if pairing.is_symmetric() {
                objective(target, &Gaussian::<Symmetric>::new(m, c).unwrap())
            } else {
                objective(target, &Gaussian::<Triangular>::new(m, c).unwrap())
            };
            assert!(f >= best - 1e-9);
            f - best
        });
        gaps.sum::<f64>() / 8.0
    }
}

fn assert_close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
}

const NOISE: NoiseBound = NoiseBound { growth: 10.0, floor: 4.0 };

#[test]
fn recursion() {
    // One step from near and far, every method: E‖w⁺ − w*‖² ≤ (1 − 2γμ + γ²a)e + γ²b, by 2000 draws each, one-sided.
    let setting = Setting::new();
    let curvature = setting.target.curvature().unwrap().unwrap();
    for pairing in Pairing::ALL {
        let star = pairing.flat(&setting.star);
        let far = far_start(setting.d, setting.convexity);
        for draws in [1, 4] {
            let bound = pairing.method().noise(&curvature, draws).unwrap();
            let recursion = Recursion::new(setting.convexity, bound).unwrap();
            for s in [1.0, 0.2, 0.0] {
                let start: Vec<f64> = star.iter().zip(&far).map(|(a, b)| a + s * (b - a)).collect();
                let e = pairing.distance2(setting.d, &start, &star);
                for gamma in [recursion.optimal_gamma(e.max(1e-3)), setting.convexity / bound.growth] {
                    let schedule = Schedule::constant(gamma).unwrap();
                    let run = Run {
                        target: &setting.target,
                        smoothness: setting.smoothness,
                        start: &start,
                        schedule: &schedule,
                        average: Average::Last,
                        draws,
                        steps: 1,
                    };
                    let errors: Vec<f64> = (0..2000)
                        .map(|seed| {
                            let w = pairing.run(&run, seed, &mut |_, _| {});
                            pairing.distance2(setting.d, &w, &star)
                        })
                        .collect();
                    let (mean, error) = mean_and_error(&errors);
                    let allowed = recursion.advance(e, gamma);
                    assert!(mean - SIGMAS * error <= allowed, "{pairing:?}, s = {s}: {mean} > {allowed}");
                }
            }
        }
    }
    // The formula, and its form without noise.
    assert_close(Recursion::new(0.5, NOISE).unwrap().advance(3.0, 0.01), (1.0 - 0.01 + 0.001) * 3.0 + 0.0004);
    assert_close(Contraction::prox(0.5, 2.0).unwrap().advance(3.0, 0.8), 3.0 * 0.36);
    assert_close(Contraction::proj(0.5, 2.0).unwrap().advance(3.0, 0.1), 3.0 * 0.95f64.powi(2));
}

#[test]
fn recursion_without_noise_contracts_exact_steps() {
    use provi::optimize::{Composite, minimise};
    let setting = Setting::new();
    let contraction = Contraction::prox(setting.convexity, setting.smoothness).unwrap();
    let schedule = Schedule::constant(contraction.optimal_gamma()).unwrap();
    let mut w = far_start(setting.d, setting.convexity);
    let mut bound = distance2::<Triangular>(setting.d, &w, setting.star.parameters());
    let estimator = provi::estimator::Exact::new(setting.target.expectations().unwrap(), setting.d);
    let mut problem = Composite { estimator, operator: provi::step::Prox::new(setting.d) };
    let mut last = provi::average::Averager::new(Average::Last, w.len()).unwrap();
    minimise(&mut problem, &mut w, &schedule, &mut last, 60, &mut |p| {
        bound = contraction.advance(bound, p.gamma);
        let e = distance2::<Triangular>(setting.d, p.w, setting.star.parameters());
        assert!(e <= bound + 1e-20, "step {}: {e} is above {bound}", p.t);
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert!(distance2::<Triangular>(setting.d, &w, setting.star.parameters()) < 1e-16);
}

#[test]
fn recursion_starts_from_a_proved_distance_in_its_own_space() {
    use provi::plan::Coordinates;
    let target = regression(Family::Bernoulli, 320, 3, 0.6, false);
    let (star, convexity) = (optimum(&target), target.curvature().unwrap().unwrap().convexity());
    for pairing in Pairing::ALL {
        let planner = provi::Planner::new(pairing.method()).coordinates(Coordinates::Original);
        let plan = planner.to_steps(&target, 1).unwrap();
        let q = provi::mode::laplace(&target, &plan.mode).unwrap().gaussian;
        let start = plan.constants.unwrap().start;
        let truth = pairing.distance2(3, &pairing.flat(&q), &pairing.flat(&star));
        assert!(truth <= start, "{pairing:?}: {truth} is above {start}");
        // [cert-gap]: ‖∇f(w_0)‖²/μ², the gradient taken where the factor lives.
        let slope = if pairing.is_symmetric() {
            square_norm::<Symmetric>(3, &gradient(&target, &Symmetric::of(&q), true))
        } else {
            square_norm::<Triangular>(3, &gradient(&target, &q, true))
        };
        assert!((start * convexity * convexity / slope - 1.0).abs() < 1e-6, "{pairing:?}");
    }
}

#[test]
fn schedule_optimal() {
    let recursion = Recursion::new(0.5, NOISE).unwrap();
    for e in [1e-4, 0.1, 3.0, 1e4] {
        let gamma = recursion.optimal_gamma(e);
        assert_close(gamma, 0.5 * e / (10.0 * e + 4.0));
        assert!(gamma <= 0.5 / 10.0);
        let best = recursion.advance(e, gamma);
        for tilt in [0.2, 0.8, 0.99, 1.01, 1.3, 4.0] {
            assert!(best <= recursion.advance(e, tilt * gamma));
        }
        assert!(best <= recursion.advance(e * 1.01, gamma), "e⁺ increases with e");
    }
    // The schedule walks e along with the steps, and nothing beats it at the end.
    let schedule = recursion.optimal_schedule(7.0).unwrap();
    let mut e = 7.0;
    for gamma in schedule.stepper().take(300) {
        assert_close(gamma, 0.5 * e / (10.0 * e + 4.0));
        e = (1.0 - 2.0 * gamma * 0.5 + gamma * gamma * 10.0) * e + gamma * gamma * 4.0;
    }
    assert!((recursion.propagate(&schedule, 300, 7.0) / e - 1.0).abs() < 1e-10);
    for other in [
        Schedule::anytime(StepKind::Prox, 0.5, 10.0).unwrap(),
        Schedule::constant(0.01).unwrap(),
        Schedule::constant(0.025).unwrap(),
    ] {
        assert!(recursion.propagate(&schedule, 300, 7.0) <= recursion.propagate(&other, 300, 7.0));
    }
    // Runs under it stay below it.
    let setting = Setting::new();
    for pairing in Pairing::ALL {
        let (_, e0) = setting.start(pairing);
        let schedule = setting.recursion(pairing).optimal_schedule(e0).unwrap();
        setting.check(pairing, &schedule, &[10, 100, 1000], |_, _| f64::INFINITY);
    }
}

#[test]
fn rate_prox_strong() {
    let written = rate::prox_strong_constant(0.5, NOISE, 1.0, 3.0, 0.02, 7).unwrap();
    assert_close(written, 0.99f64.powi(7) * 3.0 + 2.0 * 0.02 * 5.0 / 0.5);
    assert!(rate::prox_strong_constant(0.5, NOISE, 1.0, 3.0, 0.026, 7).is_err(), "γ ≤ μ/2a");
    let setting = Setting::new();
    let table = setting.table(Pairing::ProxEnergy);
    for part in [1.0, 0.3] {
        let gamma = part * setting.convexity / (2.0 * table.growth);
        let schedule =
            Schedule::strong_constant(StepKind::Prox, setting.convexity, table.growth, gamma).unwrap();
        setting.check(Pairing::ProxEnergy, &schedule, &[1, 30, 1000], |e0, t| {
            rate::prox_strong_constant(setting.convexity, table, setting.gradient2(), e0, gamma, t).unwrap()
        });
    }
}

#[test]
fn rate_prox_anytime() {
    let written = rate::prox_strong_anytime(0.5, NOISE, 1.0, 3.0, 70).unwrap();
    assert_close(written, 16.0 * 41f64.powi(2) * 3.0 / 4900.0 + 8.0 * 5.0 / (0.25 * 70.0));
    let setting = Setting::new();
    let table = setting.table(Pairing::ProxEnergy);
    let schedule = Schedule::anytime(StepKind::Prox, setting.convexity, table.growth).unwrap();
    setting.check(Pairing::ProxEnergy, &schedule, &[1, 30, 300, 3000], |e0, t| {
        rate::prox_strong_anytime(setting.convexity, table, setting.gradient2(), e0, t).unwrap()
    });
}

#[test]
fn rate_prox_log() {
    let written = rate::prox_strong_log(0.5, NOISE, 1.0, 3.0, 2.0, 1000).unwrap();
    assert_close(written, 3.0 / 1000.0 + 2.0 * 2.0 * 1000f64.ln() * 5.0 / (0.5 * 1000.0));
    let setting = Setting::new();
    let table = setting.table(Pairing::ProxEnergy);
    let (scale, steps) = (1.0 / setting.convexity, 4000);
    let schedule = Schedule::log_over_t(setting.convexity, table.growth, scale, steps).unwrap();
    setting.check(Pairing::ProxEnergy, &schedule, &[steps], |e0, t| {
        rate::prox_strong_log(setting.convexity, table, setting.gradient2(), e0, scale, t).unwrap()
    });
}

#[test]
fn rate_prox_convex() {
    let written = rate::prox_convex(2.0, NOISE, 3.0, 90).unwrap();
    assert_close(written, (2.0 * 10.0 * 3.0 + 4.0) / 900f64.sqrt());
    let gamma: f64 = 0.02;
    let theta = 1.0 / (1.0 + 2.0 * 10.0 * gamma * gamma);
    let general = rate::prox_convex_constant(2.0, NOISE, 3.0, gamma, 90).unwrap();
    assert_close(general, gamma * (10.0 * 3.0 / (1.0 - theta.powi(90)) + 4.0));
    assert!(rate::prox_convex_constant(2.0, NOISE, 3.0, 1.0 / 30.0, 90).unwrap() <= written);
    let setting = Setting::new();
    let pairing = Pairing::ProxEnergy;
    let table = setting.table(pairing);
    for steps in [100, 3000] {
        let schedule = Schedule::convex(StepKind::Prox, table.growth, setting.smoothness, steps).unwrap();
        let average = Average::prox(table.growth, schedule.at(0)).unwrap();
        let bound = rate::prox_convex(setting.smoothness, table, setting.start(pairing).1, steps).unwrap();
        let gap = setting.mean_gap(pairing, &schedule, average, steps);
        assert!(gap <= bound, "T = {steps}: {gap} is above {bound}");
    }
}

#[test]
fn rate_proj_strong() {
    let written = rate::proj_strong_constant(0.5, NOISE, 3.0, 0.02, 7).unwrap();
    assert_close(written, 0.995f64.powi(7) * 3.0 + 2.0 * 0.02 * 4.0 / 0.5);
    let setting = Setting::new();
    for pairing in [Pairing::ProjEntropy, Pairing::ProjEntropyTriangular] {
        let table = setting.table(pairing);
        let gamma = setting.convexity / (2.0 * table.growth);
        let schedule =
            Schedule::strong_constant(StepKind::Proj, setting.convexity, table.growth, gamma).unwrap();
        setting.check(pairing, &schedule, &[1, 30, 1000], |e0, t| {
            rate::proj_strong_constant(setting.convexity, table, e0, gamma, t).unwrap()
        });
    }
}

#[test]
fn rate_proj_anytime() {
    // 16⌈2a/μ²⌉²e_0/T² + 16b/(μ²T); the printed 32a/(μ²T²) would make the first term 0.78 in place of 64.
    let written = rate::proj_strong_anytime(0.5, NoiseBound { growth: 10.01, floor: 4.0 }, 3.0, 70).unwrap();
    assert_close(written, 16.0 * 81f64.powi(2) * 3.0 / 4900.0 + 16.0 * 4.0 / (0.25 * 70.0));
    let setting = Setting::new();
    for pairing in [Pairing::ProjEntropy, Pairing::ProjEntropyTriangular] {
        let table = setting.table(pairing);
        let schedule = Schedule::anytime(StepKind::Proj, setting.convexity, table.growth).unwrap();
        setting.check(pairing, &schedule, &[1, 30, 300, 3000], |e0, t| {
            rate::proj_strong_anytime(setting.convexity, table, e0, t).unwrap()
        });
    }
}

#[test]
fn rate_proj_convex() {
    let written = rate::proj_convex(NOISE, 3.0, 80).unwrap();
    assert_close(written, 0.25f64.sqrt() * 3.0 + 4.0 / 1600f64.sqrt());
    let gamma: f64 = 0.02;
    let theta = 1.0 / (1.0 + 10.0 * gamma * gamma);
    let general = rate::proj_convex_constant(NOISE, 3.0, gamma, 90).unwrap();
    assert_close(general, 0.5 * gamma * (10.0 * 3.0 / (1.0 - theta.powi(90)) + 4.0));
    assert!(rate::proj_convex_constant(NOISE, 3.0, 0.05, 80).unwrap() <= written);
    let setting = Setting::new();
    for pairing in [Pairing::ProjEntropy, Pairing::ProjEntropyTriangular] {
        let table = setting.table(pairing);
        for steps in [100, 3000] {
            let schedule = Schedule::convex(StepKind::Proj, table.growth, setting.smoothness, steps).unwrap();
            let average = Average::proj(table.growth, schedule.at(0)).unwrap();
            let bound = rate::proj_convex(table, setting.start(pairing).1, steps).unwrap();
            let gap = setting.mean_gap(pairing, &schedule, average, steps);
            assert!(gap <= bound, "{pairing:?}, T = {steps}: {gap} is above {bound}");
        }
    }
}

#[test]
fn rate_proj_stl_gaussian() {
    let written = rate::proj_stl_gaussian(2, 3.0, 2.0, 5.0, 0.002, 9).unwrap();
    assert_close(written, (1.0f64 - 0.002).powi(9) * 5.0);
    assert!(rate::proj_stl_gaussian(2, 3.0, 2.0, 5.0, 0.0028, 9).is_err(), "γ ≤ μ/2a, a = 8(d+3)M²");
    let target = gaussian_target(310, &[1.0, 1.4, 2.0]);
    let star = Symmetric::of(&target.optimum().unwrap());
    let growth = 8.0 * 6.0 * 4.0;
    let start = far_start(3, 1.0);
    let e0 = distance2::<Symmetric>(3, &start, star.parameters());
    let recursion = Recursion::new(1.0, noise::stl(3, 2.0, 0.0, 0.0).unwrap()).unwrap();
    for gamma in [0.5 / growth, 1.0 / growth] {
        let schedule = Schedule::constant(gamma).unwrap();
        let checkpoints = [1, 100, 1000, 4000];
        let run = Run {
            target: &target,
            smoothness: 2.0,
            start: &start,
            schedule: &schedule,
            average: Average::Last,
            draws: 1,
            steps: 4000,
        };
        let measured = Pairing::ProjStl.mean_errors(&run, star.parameters(), 16, &checkpoints);
        for (t, measured) in checkpoints.into_iter().zip(measured) {
            let propagated = recursion.propagate(&schedule, t, e0);
            assert!(measured <= propagated, "T = {t}: {measured} is above {propagated}");
            if gamma <= 0.5 / growth {
                assert!(propagated <= rate::proj_stl_gaussian(3, 2.0, 1.0, e0, gamma, t).unwrap());
            } else {
                let linear = (1.0 - 1.0 / growth).powi(t as i32) * e0;
                assert!(propagated <= linear * (1.0 + 1e-9), "γ = μ/a gives (1 − μ²/a)^T e_0");
            }
        }
    }
}

/// √2·D·√(B/T), and the self-bounded form with growth; T is its inverse. Slopes chosen against the steps reach a fixed part of it.
#[test]
fn rate_proj_adaptive() {
    let noise = NoiseBound::new(0.0, 5.0).unwrap();
    let value = rate::proj_adaptive(0.0, noise, 4.0, 100).unwrap();
    assert!((value - (2.0f64 * 4.0 * 5.0 / 100.0).sqrt()).abs() < 1e-12, "{value}");
    let steps = rate::proj_adaptive_steps(0.0, noise, 4.0, value).unwrap();
    assert!(steps == 100 || steps == 101, "{steps}");
    // Slopes of one sign on [0, 1] lose D·Σ… at most √2·D·√(Σg²), and more than a quarter of it on alternating ones of growing length.
    let mut worst: f64 = 0.0;
    for pattern in 0..64u32 {
        let (mut x, mut squares, mut lost) = (0.5f64, 0.0f64, 0.0f64);
        let slope = |t: u32| if pattern >> (t % 6) & 1 == 1 { 1.0 } else { -1.0 };
        let total: f64 = (0..600).map(slope).sum();
        let best = if total > 0.0 { 0.0 } else { 1.0 };
        for t in 0..600 {
            let g = slope(t);
            lost += g * (x - best);
            squares += g * g;
            x = (x - g / (2.0 * squares).sqrt()).clamp(0.0, 1.0);
        }
        let allowed = (2.0 * squares).sqrt();
        assert!(lost <= allowed, "{pattern}: {lost} {allowed}");
        worst = worst.max(lost / allowed);
    }
    assert!(worst > 0.1, "a bound ten times smaller would fail: {worst}");
}

/// On f = |x| from afar, without noise: the run's own bound holds, and a tenth of it does not.
#[test]
fn dowg() {
    use provi::average::Averager;
    use provi::optimize::{Adaptive, FnOperator, Progress, first_reach, minimise};
    let start = [3.0];
    let slope = |w: &[f64], _: u64, g: &mut [f64]| -> provi::Result<()> {
        g[0] = w[0].signum();
        Ok(())
    };
    let mut failed = false;
    for steps in [1u64, 10, 100, 1000] {
        let free = FnOperator(|_: &mut [f64], _: f64| {});
        let mut problem = Adaptive::travelled(slope, free, &start);
        let (mut w, mut mean) = (start, Averager::new(Average::Travelled, 1).unwrap());
        let schedule = Schedule::travelled(first_reach(&start).unwrap()).unwrap();
        let watch = &mut |_: &Progress<'_>| std::ops::ControlFlow::Continue(());
        minimise(&mut problem, &mut w, &schedule, &mut mean, steps, watch).unwrap();
        let gap = mean.finish(&w).unwrap()[0].abs();
        let bound = problem.travelled_gap(&w, 3.0).unwrap();
        assert!(gap <= bound, "{steps}: {gap} {bound}");
        failed |= gap > 0.1 * bound;
    }
    assert!(failed, "a bound ten times smaller would fail");
}
