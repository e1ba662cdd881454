//! The two rules against their bounds, on games where nothing is random.

use super::*;
use crate::base::draws::mix;
use crate::sgd::average::Average;
use crate::sgd::optimize::{Composite, FnEstimator, FnOperator, minimise, resume};
use crate::theory::noise::NoiseBound;
use crate::theory::rate;
use crate::theory::schedule::Schedule;
use std::ops::ControlFlow;

fn unit(n: u64) -> f64 {
    (mix(n) >> 11) as f64 / (1u64 << 53) as f64
}

/// Σ⟨g_t, w_t − w⟩/(D√Σg²) on [−1, 1] for the worse of the two ends, with slopes of the given sizes and signs against the walker.
fn regret(sizes: &[f64], signs: impl Fn(usize, f64) -> f64) -> f64 {
    let (mut places, mut slopes) = (Vec::new(), Vec::new());
    let game = |w: &[f64], t: u64, g: &mut [f64]| {
        g[0] = sizes[t as usize] * signs(t as usize, w[0]);
        places.push(w[0]);
        slopes.push(g[0]);
        Ok(())
    };
    let clamp = FnOperator(|w: &mut [f64], _| w[0] = w[0].clamp(-1.0, 1.0));
    let mut problem = Adaptive::new(game, clamp, 1);
    let (mut w, mut last) = ([-1.0], Averager::new(Average::Last, 1).unwrap());
    let schedule = Schedule::adaptive(4.0).unwrap();
    minimise(&mut problem, &mut w, &schedule, &mut last, sizes.len() as u64, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    drop(problem);
    let against = |end: f64| places.iter().zip(&slopes).map(|(w, g)| g * (w - end)).sum::<f64>();
    let length = slopes.iter().map(|g| g * g).sum::<f64>().sqrt();
    against(-1.0).max(against(1.0)) / (2.0 * length)
}

/// No sequence of slopes earns more than √2·D·√Σ‖g‖²; some earn more than 0.7 of it, so that no constant below 1 would do.
#[test]
fn adaptive_steps_lose_at_most_their_bound_against_any_slopes() {
    let mut worst = 0.0f64;
    for game in 0..400u64 {
        let length = 1 + (mix(game) % 60) as usize;
        let growth = 2.0 * unit(game + 1000);
        let sizes: Vec<f64> = (0..length).map(|t| growth.powi(t as i32).clamp(1e-6, 1e6)).collect();
        let switch = unit(game + 2000) * length as f64;
        worst = worst.max(regret(&sizes, |t, _| if (t as f64) < switch { -1.0 } else { 1.0 }));
        worst = worst.max(regret(&sizes, |_, w| if w > 0.0 { 1.0 } else { -1.0 }));
        worst = worst.max(regret(&sizes, |t, _| if unit(game * 977 + t as u64) < 0.5 { 1.0 } else { -1.0 }));
    }
    assert!(worst <= 2f64.sqrt() * (1.0 + 1e-9), "{worst}");
    assert!(worst > 1.0, "{worst}");
}

/// f(w) = E|w − x| with x = ±½ at random on [−1, 1]; means over seeds against the rate with a = 0, b = 1, D = 2.
#[test]
fn the_mean_gap_of_noisy_slopes_is_below_the_rate_and_its_steps_are_the_inverse() {
    let noise = NoiseBound::new(0.0, 1.0).unwrap();
    for steps in [1u64, 10, 100, 1000] {
        let bound = rate::proj_adaptive(0.0, noise, 4.0, steps).unwrap();
        assert!((bound - 2.0 * (2.0 / steps as f64).sqrt()).abs() < 1e-12);
        assert_eq!(rate::proj_adaptive_steps(0.0, noise, 4.0, bound).unwrap(), steps);
        let gap = |seed: u64| {
            let slope = |w: &[f64], t: u64, g: &mut [f64]| {
                let x = if unit(seed * 100_003 + t) < 0.5 { -0.5 } else { 0.5 };
                g[0] = if w[0] > x { 1.0 } else { -1.0 };
                Ok(())
            };
            let clamp = FnOperator(|w: &mut [f64], _| w[0] = w[0].clamp(-1.0, 1.0));
            let mut problem = Adaptive::new(slope, clamp, 1);
            let (mut w, mut mean) = ([-1.0], Averager::new(Average::over_starts(), 1).unwrap());
            let schedule = Schedule::adaptive(4.0).unwrap();
            minimise(&mut problem, &mut w, &schedule, &mut mean, steps, &mut |_| ControlFlow::Continue(()))
                .unwrap();
            (mean.finish(&w).unwrap()[0].abs() - 0.5).max(0.0)
        };
        let mean = (0..50).map(gap).sum::<f64>() / 50.0;
        assert!(mean <= bound, "{steps}: {mean} {bound}");
    }
}

/// The strongly convex form solves S² = 2D²(2aS/μ + bT) for S = T·bound; it is the smaller one from some T on.
#[test]
fn the_self_bounded_rate_solves_its_equation_and_takes_over() {
    let (mu, noise, d2) = (0.5, NoiseBound::new(7.0, 0.3).unwrap(), 2.0);
    let mut took_over = false;
    for steps in [1u64, 10, 1000, 1_000_000] {
        let (bound, t) = (rate::proj_adaptive(mu, noise, d2, steps).unwrap(), steps as f64);
        let plain = (2.0 * d2 * (noise.growth * d2 + noise.floor) / t).sqrt();
        assert!(bound <= plain * (1.0 + 1e-12));
        if bound < 0.999 * plain {
            took_over = true;
            let s = bound * t;
            let right = 2.0 * d2 * (2.0 * noise.growth * s / mu + noise.floor * t);
            assert!((s * s / right - 1.0).abs() < 1e-9);
        }
        let needed = rate::proj_adaptive_steps(mu, noise, d2, bound).unwrap();
        assert!(needed.abs_diff(steps) <= 1 + steps / 1_000_000, "{needed} {steps}");
    }
    assert!(took_over && rate::proj_adaptive(-1.0, noise, d2, 1).is_err());
    assert!(rate::proj_adaptive(0.0, noise, d2, 0).is_err());
}

/// Exact gradients of Huber-like and kinked functions from near and far: the run's own bound holds, and no constant below a
/// quarter of it would do.
#[test]
fn travelled_steps_with_exact_gradients_keep_their_bound() {
    let mut tightest = 0.0f64;
    type Line = fn(f64) -> f64;
    let functions: [(&str, Line, Line); 3] = [
        ("quadratic", |x| 0.5 * x * x, |x| x),
        ("kink", f64::abs, |x| if x > 0.0 { 1.0 } else { -1.0 }),
        ("cosh", |x| x.cosh().ln(), f64::tanh),
    ];
    for (name, f, slope) in functions {
        for start in [0.01, 1.0, 30.0] {
            for first in [1e-4, 1.0] {
                for steps in [1u64, 10, 300, 3000] {
                    let gradient = |w: &[f64], _: u64, g: &mut [f64]| {
                        g[0] = slope(w[0]);
                        Ok(())
                    };
                    let free = FnOperator(|_: &mut [f64], _| {});
                    let mut problem = Adaptive::travelled(gradient, free, &[start]);
                    let (mut w, mut mean) = ([start], Averager::new(Average::Travelled, 1).unwrap());
                    let schedule = Schedule::travelled(first).unwrap();
                    let watch = &mut |_: &crate::sgd::optimize::Progress<'_>| ControlFlow::Continue(());
                    minimise(&mut problem, &mut w, &schedule, &mut mean, steps, watch).unwrap();
                    let gap = f(mean.finish(&w).unwrap()[0]) - f(0.0);
                    let bound = problem.travelled_gap(&w, start).unwrap();
                    assert!(gap <= bound, "{name} {start} {first} {steps}: {gap} {bound}");
                    tightest = tightest.max(gap / bound);
                }
            }
        }
    }
    assert!(tightest > 0.25, "{tightest}");
}

/// The average has the weights r_t², whatever a run is cut into.
#[test]
fn a_run_in_parts_is_the_same_run_and_its_average_has_the_weights_it_says() {
    let gradient = |w: &[f64], t: u64, g: &mut [f64]| {
        g[0] = w[0] - 3.0 + 0.3 * (unit(t) - 0.5);
        g[1] = 4.0 * w[1] + 0.3 * (unit(t + 7) - 0.5);
        Ok(())
    };
    let free = || FnOperator(|_: &mut [f64], _| {});
    let start = [0.5, -1.0];
    for travelled in [false, true] {
        let make = || match travelled {
            false => Adaptive::new(gradient, free(), 2),
            true => Adaptive::travelled(gradient, free(), &start),
        };
        let schedule = match travelled {
            false => Schedule::adaptive(8.0).unwrap(),
            true => Schedule::travelled(0.01).unwrap(),
        };
        let kind = if travelled { Average::Travelled } else { Average::over_starts() };
        let whole = {
            let (mut w, mut mean) = (start, Averager::new(kind, 2).unwrap());
            let (mut at, mut reach) = (vec![start], Vec::new());
            let mut problem = make();
            for t in 0..40 {
                let mut gammas = schedule.stepper_from(t);
                let one = &mut |_: &crate::sgd::optimize::Progress<'_>| ControlFlow::Continue(());
                resume(&mut problem, &mut w, &mut gammas, &mut mean, t..t + 1, one).unwrap();
                reach.push(problem.reach().unwrap_or(1.0));
                at.push(w);
            }
            let answer = mean.finish(&w).unwrap();
            let total: f64 = reach.iter().map(|r| r * r).sum();
            for i in 0..2 {
                let direct = (0..40).map(|t| reach[t].powi(2) * at[t][i]).sum::<f64>() / total;
                assert!((direct - answer[i]).abs() < 1e-12, "{direct} {}", answer[i]);
            }
            (w, answer)
        };
        let (mut w, mut mean, mut memory) = (start, Averager::new(kind, 2).unwrap(), Vec::new());
        for part in [0..13u64, 13..40] {
            let mut problem = make();
            problem.remember(&memory).unwrap();
            let mut gammas = schedule.stepper_from(part.start);
            resume(&mut problem, &mut w, &mut gammas, &mut mean, part, &mut |_| ControlFlow::Continue(()))
                .unwrap();
            memory = problem.memory();
        }
        assert_eq!((w, mean.finish(&w).unwrap()), whole);
        assert!(make().remember(&[-1.0]).is_err() && make().remember(&[1.0; 5]).is_err());
    }
}

#[test]
fn a_rule_runs_only_where_it_is_followed() {
    let slope = |_: &[f64], _: u64, g: &mut [f64]| {
        g[0] = 0.0;
        Ok(())
    };
    let free = || FnOperator(|_: &mut [f64], _| {});
    let (mut w, mut last) = ([1.0], Averager::new(Average::Last, 1).unwrap());
    let watch = &mut |_: &crate::sgd::optimize::Progress<'_>| ControlFlow::Continue(());
    let adaptive = Schedule::adaptive(1.0).unwrap();
    let mut plain = Composite { estimator: FnEstimator::new(1, slope), operator: free() };
    assert!(minimise(&mut plain, &mut w, &adaptive, &mut last, 3, watch).is_err());
    let constant = Schedule::constant(0.1).unwrap();
    let mut own = Adaptive::new(slope, free(), 1);
    assert!(minimise(&mut own, &mut w, &constant, &mut last, 3, watch).is_err());
    // Where every gradient is zero, nothing moves.
    assert_eq!(minimise(&mut own, &mut w, &adaptive, &mut last, 3, watch).unwrap(), 3);
    assert!((w[0] - 1.0).abs() < 1e-300);
    assert!(Schedule::adaptive(0.0).is_err() && Schedule::travelled(f64::NAN).is_err());
}
