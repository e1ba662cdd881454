//! Each closed form against the recursion it was derived from, and wrong constants against both.

use super::*;
use crate::theory::Recursion;
use crate::theory::schedule::Schedule;

struct Case {
    mu: f64,
    noise: NoiseBound,
    gradient2: f64,
    start2: f64,
}

impl Case {
    fn sigma2(&self) -> f64 {
        self.noise.floor + self.gradient2
    }

    /// The recursion in the prox proof: 2a, 2σ².
    fn prox(&self) -> Recursion {
        let noise = NoiseBound { growth: 2.0 * self.noise.growth, floor: 2.0 * self.sigma2() };
        Recursion::new(self.mu, noise).unwrap()
    }

    fn proj(&self) -> Recursion {
        Recursion::new(self.mu, self.noise).unwrap()
    }
}

fn cases() -> impl Iterator<Item = Case> {
    let kappas = [0.6, 1.0, 1.99, 2.0, 9.9, 57.3, 400.0];
    kappas.into_iter().flat_map(|kappa| {
        [(0.0, 0.0), (1e-4, 0.0), (0.3, 0.1), (50.0, 20.0)].into_iter().flat_map(move |(b, g)| {
            [0.01, 1.0, 300.0].into_iter().map(move |start2| {
                let mu = 0.7f64;
                let noise = NoiseBound { growth: kappa * mu * mu, floor: b };
                Case { mu, noise, gradient2: g, start2 }
            })
        })
    })
}

const LENGTHS: [u64; 14] = [1, 2, 3, 4, 5, 8, 13, 37, 40, 41, 100, 400, 2000, 10_000];

/// Both sides round upwards, the recursion a little at each step: hence the tolerance.
#[test]
fn constant_steps_dominate_their_recursion() {
    for case in cases() {
        for part in [1.0, 0.6, 0.1] {
            for steps in LENGTHS {
                let gamma = part * strong_limit(StepKind::Prox, case.mu, case.noise.growth).unwrap();
                let schedule = Schedule::constant(gamma).unwrap();
                let bound =
                    prox_strong_constant(case.mu, case.noise, case.gradient2, case.start2, gamma, steps);
                let e = case.prox().propagate(&schedule, steps, case.start2);
                assert!(e <= bound.unwrap() * (1.0 + 1e-9) + 1e-300);
                let gamma = part * strong_limit(StepKind::Proj, case.mu, case.noise.growth).unwrap();
                let schedule = Schedule::constant(gamma).unwrap();
                let bound = proj_strong_constant(case.mu, case.noise, case.start2, gamma, steps).unwrap();
                let e = case.proj().propagate(&schedule, steps, case.start2);
                assert!(e <= bound * (1.0 + 1e-9) + 1e-300);
            }
        }
    }
}

/// At γ = μ/2a the prox recursion contracts by exactly 1 − γμ and its fixed point is exactly 2γσ²/μ.
#[test]
fn the_constant_prox_rate_is_tight_at_its_edge() {
    let noise = NoiseBound { growth: 12.0, floor: 3.0 };
    let case = Case { mu: 0.5, noise, gradient2: 1.0, start2: 7.0 };
    let gamma = 0.5 / 24.0;
    let schedule = Schedule::constant(gamma).unwrap();
    let far = case.prox().propagate(&schedule, 1_000_000, 7.0);
    let bound = prox_strong_constant(0.5, noise, 1.0, 7.0, gamma, 1_000_000).unwrap();
    assert!((far / bound - 1.0).abs() < 1e-9 && far > 0.99 * bound);
    let quiet = Case { noise: NoiseBound { floor: 0.0, ..noise }, gradient2: 0.0, ..case };
    let near = quiet.prox().propagate(&schedule, 50, 7.0);
    let bound = prox_strong_constant(0.5, quiet.noise, 0.0, 7.0, gamma, 50).unwrap();
    assert!((near / bound - 1.0).abs() < 1e-12);
}

#[test]
fn anytime_steps_dominate_their_recursion_at_every_length() {
    for case in cases() {
        let prox = Schedule::anytime(StepKind::Prox, case.mu, case.noise.growth).unwrap();
        let proj = Schedule::anytime(StepKind::Proj, case.mu, case.noise.growth).unwrap();
        let (mut e, mut f) = (case.start2, case.start2);
        for (t, (gamma, delta)) in prox.stepper().zip(proj.stepper()).take(4000).enumerate() {
            e = case.prox().advance(e, gamma);
            f = case.proj().advance(f, delta);
            let steps = t as u64 + 1;
            let bound = prox_strong_anytime(case.mu, case.noise, case.gradient2, case.start2, steps).unwrap();
            assert!(e <= bound, "κ = {}, T = {steps}", case.noise.growth / case.mu.powi(2));
            let bound = proj_strong_anytime(case.mu, case.noise, case.start2, steps).unwrap();
            assert!(f <= bound, "κ = {}, T = {steps}", case.noise.growth / case.mu.powi(2));
        }
    }
}

/// For f = ½μw² and g = μw + τwξ the recursion is an equality, so this refutes the printed constant, not just its proof.
#[test]
fn the_printed_proj_constant_is_refuted() {
    let (kappa, start2, steps) = (100.0, 1.0, 200u64);
    let noise = NoiseBound { growth: kappa, floor: 0.0 };
    let schedule = Schedule::anytime(StepKind::Proj, 1.0, kappa).unwrap();
    let truth = Recursion::new(1.0, noise).unwrap().propagate(&schedule, steps, start2);
    let printed = 32.0 * kappa / (steps * steps) as f64 * start2;
    assert!(truth > 2.0 * printed, "{truth} {printed}");
    assert!(truth <= proj_strong_anytime(1.0, noise, start2, steps).unwrap());
}

/// ⌊a/μ²⌋ = 0 for a < μ², which a bounded domain allows: the start would not count at all.
#[test]
fn the_printed_floor_of_the_ratio_is_refuted() {
    let noise = NoiseBound { growth: 0.9, floor: 0.0 };
    let case = Case { mu: 1.0, noise, gradient2: 0.0, start2: 1.0 };
    let schedule = Schedule::anytime(StepKind::Prox, 1.0, 0.9).unwrap();
    let truth = case.prox().propagate(&schedule, 2, 1.0);
    let printed = 16.0 * f64::floor(0.9).powi(2) / 4.0;
    assert!(truth > printed && truth <= prox_strong_anytime(1.0, noise, 0.0, 1.0, 2).unwrap());
}

#[test]
fn a_noise_term_too_small_by_four_would_show() {
    let noise = NoiseBound { growth: 2.0, floor: 1.0 };
    let case = Case { mu: 1.0, noise, gradient2: 0.5, start2: 0.0 };
    let schedule = Schedule::anytime(StepKind::Prox, 1.0, 2.0).unwrap();
    let e = case.prox().propagate(&schedule, 10_000, 0.0);
    assert!(e > prox_strong_anytime(1.0, noise, 0.5, 0.0, 10_000).unwrap() / 4.0);
    let schedule = Schedule::anytime(StepKind::Proj, 1.0, 2.0).unwrap();
    let e = case.proj().propagate(&schedule, 10_000, 0.0);
    assert!(e > proj_strong_anytime(1.0, noise, 0.0, 10_000).unwrap() / 8.0);
}

#[test]
fn log_over_t_dominates_its_recursion_where_it_may_be_used() {
    let mut used = 0;
    for case in cases() {
        for scale in [1.0 / case.mu, 3.0 / case.mu] {
            for steps in LENGTHS {
                let bound = prox_strong_log(case.mu, case.noise, case.gradient2, case.start2, scale, steps);
                let schedule = Schedule::log_over_t(case.mu, case.noise.growth, scale, steps);
                let Ok(bound) = bound else {
                    assert!(schedule.is_err());
                    continue;
                };
                used += 1;
                let e = case.prox().propagate(&schedule.unwrap(), steps, case.start2);
                assert!(e <= bound * (1.0 + 1e-9) + 1e-300);
            }
        }
    }
    assert!(used > 200);
    assert!(prox_strong_log(1.0, NoiseBound { growth: 2.0, floor: 0.0 }, 0.0, 1.0, 0.5, 100).is_err());
}

#[test]
fn the_convex_rates_dominate_their_general_step_form() {
    for case in cases() {
        for steps in LENGTHS {
            let a = case.noise.growth;
            let gamma = 1.0 / (a * steps as f64).sqrt();
            let smoothness = 0.99 / gamma;
            let general = prox_convex_constant(smoothness, case.noise, case.start2, gamma, steps).unwrap();
            assert!(general <= prox_convex(smoothness, case.noise, case.start2, steps).unwrap());
            assert!(prox_convex(1.01 / gamma, case.noise, case.start2, steps).is_err());
            assert!(prox_convex_constant(1.01 / gamma, case.noise, case.start2, gamma, steps).is_err());
            let gamma = (2.0 / (a * steps as f64)).sqrt();
            let general = proj_convex_constant(case.noise, case.start2, gamma, steps).unwrap();
            assert!(general <= proj_convex(case.noise, case.start2, steps).unwrap());
        }
    }
}

#[test]
fn the_convex_rates_reach_the_classical_one_without_growth() {
    let at = |growth: f64| {
        let noise = NoiseBound { growth, floor: 0.3 };
        let prox = prox_convex_constant(1.0, noise, 5.0, 0.01, 1000).unwrap();
        (prox, proj_convex_constant(noise, 5.0, 0.01, 1000).unwrap())
    };
    let (prox, proj) = at(0.0);
    assert!((prox - (5.0 / 20.0 + 0.003)).abs() < 1e-12 && (proj - (5.0 / 20.0 + 0.0015)).abs() < 1e-12);
    let (small, tiny) = (at(1e-9), at(1e-14));
    assert!((small.0 / prox - 1.0).abs() < 1e-8 && (tiny.1 / proj - 1.0).abs() < 1e-10);
}

#[test]
fn inverses_give_a_length_that_suffices_and_is_not_longer_than_needed() {
    for case in cases().filter(|case| case.start2 >= 1.0) {
        let Case { mu, noise, gradient2, start2 } = case;
        for accuracy in [0.5, 0.01] {
            let t = prox_strong_anytime_steps(mu, noise, gradient2, start2, accuracy).unwrap();
            let bound = |t| prox_strong_anytime(mu, noise, gradient2, start2, t).unwrap();
            assert!(bound(t) <= accuracy && (t == 1 || bound(t - 1) > accuracy * (1.0 - 1e-12)));
            let t = proj_strong_anytime_steps(mu, noise, start2, accuracy).unwrap();
            let bound = |t| proj_strong_anytime(mu, noise, start2, t).unwrap();
            assert!(bound(t) <= accuracy && (t == 1 || bound(t - 1) > accuracy * (1.0 - 1e-12)));
            let t = proj_convex_steps(noise, start2, accuracy).unwrap();
            let bound = |t| proj_convex(noise, start2, t).unwrap();
            assert!(bound(t) <= accuracy && (t == 1 || bound(t - 1) > accuracy * (1.0 - 1e-12)));
            let t = prox_convex_steps(1.0, noise, start2, accuracy).unwrap();
            assert!(prox_convex(1.0, noise, start2, t).unwrap() <= accuracy);
            let t = prox_strong_log_steps(mu, noise, gradient2, start2, 1.0 / mu, accuracy).unwrap();
            let bound = |t| prox_strong_log(mu, noise, gradient2, start2, 1.0 / mu, t);
            assert!(
                bound(t).unwrap() <= accuracy
                    && (t == 3 || bound(t - 1).is_ok_and(|b| b > accuracy) || bound(t - 1).is_err())
            );
            let gamma = 0.5 * strong_limit(StepKind::Prox, mu, noise.growth).unwrap();
            let bound = |t| prox_strong_constant(mu, noise, gradient2, start2, gamma, t).unwrap();
            match prox_strong_constant_steps(mu, noise, gradient2, start2, gamma, accuracy) {
                Ok(t) => assert!(bound(t) <= accuracy && (t == 1 || bound(t - 1) > accuracy * (1.0 - 1e-9))),
                Err(refused) => {
                    assert!(matches!(refused, Error::OutOfReach { .. }));
                    assert!(bound(u64::MAX) >= accuracy * (1.0 - 1e-9));
                }
            }
        }
    }
}

#[test]
fn sticking_the_landing_on_a_gaussian_target_is_linear() {
    let (d, smooth, mu) = (3, 2.0, 1.0);
    let limit = mu / (2.0 * 8.0 * 6.0 * 4.0);
    assert!(proj_stl_gaussian(d, smooth, mu, 1.0, 1.01 * limit, 10).is_err());
    let steps = proj_stl_gaussian_steps(d, smooth, mu, 1.0, limit, 1e-12).unwrap();
    assert!(proj_stl_gaussian(d, smooth, mu, 1.0, limit, steps).unwrap() <= 1e-12);
    assert!((steps as f64 - 1e12f64.ln() * 2.0 / (mu * limit)).abs() < 100.0);
    // With γ = μ/a the recursion gives (1−μ²/a)^T, four times as fast as 1 − μγ/2 at γ = μ/2a.
    let recursion = Recursion::new(mu, noise::stl(d, smooth, 0.0, 0.0).unwrap()).unwrap();
    let sharp = recursion.optimal_after(1.0, steps / 4 + 1);
    assert!(
        sharp <= 1.1e-12 && (sharp / decay(mu * mu / recursion.growth(), steps / 4 + 1) - 1.0).abs() < 1e-9
    );
}

#[test]
fn bounds_fall_with_the_steps_and_grow_with_each_constant() {
    let noise = NoiseBound { growth: 30.0, floor: 2.0 };
    let more = NoiseBound { growth: 33.0, floor: 2.0 };
    let louder = NoiseBound { growth: 30.0, floor: 2.2 };
    type Bound = fn(f64, NoiseBound, f64, f64, u64) -> f64;
    let bounds: [Bound; 6] = [
        |mu, n, g, e, t| prox_strong_constant(mu, n, g, e, 0.01, t).unwrap(),
        |mu, n, g, e, t| prox_strong_anytime(mu, n, g, e, t).unwrap(),
        |mu, n, g, e, t| prox_strong_log(mu, n, g, e, 1.2, t).unwrap(),
        |mu, n, g, e, t| proj_strong_constant(mu, n, e, 0.01, t).unwrap() + g,
        |mu, n, g, e, t| proj_strong_anytime(mu, n, e, t).unwrap() + g,
        |mu, n, g, e, t| prox_convex_constant(1.0 / mu, n, e, 0.01, t).unwrap() + g,
    ];
    for bound in bounds {
        let base = bound(1.0, noise, 1.0, 5.0, 1000);
        assert!(bound(1.0, noise, 1.0, 5.0, 1100) < base);
        assert!(bound(1.0, more, 1.0, 5.0, 1000) >= base);
        assert!(bound(1.0, louder, 1.0, 5.0, 1000) > base);
        assert!(bound(1.0, noise, 1.1, 5.0, 1000) > base);
        assert!(bound(1.0, noise, 1.0, 5.5, 1000) > base);
        assert!(bound(0.9, noise, 1.0, 5.0, 1000) >= base);
    }
}

/// The scale that the ledger states: d = 20, κ = 1, ε = 0.01 relative to ‖w*−w̄‖².
#[test]
fn the_recursion_is_eight_times_cheaper_than_the_closed_form() {
    let (d, distance2, accuracy) = (20, 20.0, 0.2);
    let plain = noise::energy(d, 1.0, distance2).unwrap();
    let closed = prox_strong_anytime_steps(1.0, plain, distance2, distance2, accuracy).unwrap();
    let v_star = noise::v_star_bound(d, 1.0, distance2).unwrap();
    let centred = noise::energy_batch(d, 1.0, 1, v_star).unwrap();
    let recursion = Recursion::new(1.0, centred).unwrap();
    let sharp = recursion.steps_to(distance2, accuracy, u64::MAX).unwrap();
    assert!((35_000..42_000).contains(&closed), "{closed}");
    assert!((4_500..5_200).contains(&sharp), "{sharp}");
}

#[test]
fn the_start_is_never_nearer_than_what_is_known() {
    let e = start_distance2(3.0, 4, 0.25, 0.5).unwrap();
    assert!((e - (3.0f64 + 2.0 + 4.0).powi(2)).abs() < 1e-12);
    assert!(start_distance2(3.0, 4, 0.0, 0.5).is_err());
}
