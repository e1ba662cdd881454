//! The same path as the plain loop, in blocks of any shape.

use super::*;
use crate::base::draws::{Purpose, Seed};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::packed_index;
use crate::sgd::average::Average;
use crate::sgd::estimator::{Kind, Sampled};
use crate::sgd::optimize::{Composite, minimise, resume};
use crate::sgd::step::Prox;
use crate::target::Target;
use crate::target::evaluate::Evaluator;
use crate::theory::schedule::{Schedule, StepKind};
use std::ops::ControlFlow;

/// V = Σ λ_i(½z_i² + log cosh z_i) + a coupling of neighbours; the evaluation `bad` gives NaN.
struct Chain {
    dim: usize,
    bad: std::cell::Cell<u64>,
}

impl Chain {
    fn new(dim: usize) -> Self {
        Self { dim, bad: std::cell::Cell::new(u64::MAX) }
    }
}

impl Target for Chain {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut value = 0.0;
        for i in 0..self.dim {
            let scale = 1.0 + (i % 3) as f64;
            let before = if i > 0 { z[i - 1] } else { 0.0 };
            gradient[i] = -scale * (z[i] - 0.3 + z[i].tanh());
            value -= scale * (0.5 * (z[i] - 0.3).powi(2) + z[i].cosh().ln()) + 0.25 * (z[i] - before).powi(2);
            gradient[i] -= 0.5 * (z[i] - before);
            if i > 0 {
                gradient[i - 1] += 0.5 * (z[i] - before);
            }
        }
        let left = self.bad.get();
        self.bad.set(left.wrapping_sub(1));
        Ok(if left == 0 { f64::NAN } else { value })
    }
}

const SEED: Seed = Seed(11);

fn draws() -> Draws {
    Draws::new(SEED, Purpose::Optimise)
}

/// Where `steps` steps lead, last iterate and average, and the squared distances moved.
fn run(problem: &mut dyn Problem, d: usize, schedule: &Schedule, kind: Average, steps: u64) -> Vec<f64> {
    let mut w = Gaussian::<Triangular>::standard(d).parameters().to_vec();
    let mut average = Averager::new(kind, w.len()).unwrap();
    let mut trail = Vec::new();
    let made = minimise(problem, &mut w, schedule, &mut average, steps, &mut |p| {
        // Mean and diagonal are up to date at every step.
        trail.push(p.w[p.t as usize % d]);
        trail.push(p.w[d + packed_index(d - 1, d - 1)]);
        trail.push(p.moved.distance);
        trail.push(p.moved.value.unwrap());
        ControlFlow::Continue(())
    });
    assert_eq!(made.unwrap(), steps);
    [average.finish(&w).unwrap(), w, trail].concat()
}

fn textbook<'a>(target: &'a Chain, batch: usize) -> impl Problem + 'a {
    let sampled =
        Sampled::<Triangular>::new(Kind::Energy, Evaluator::Serial(target), draws(), batch).unwrap();
    Composite { estimator: sampled, operator: Prox::new(target.dim) }
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |worst, (a, b)| f64::max(worst, (a - b).abs() / (1.0 + b.abs())))
}

/// Draws a step, and steps a block: alone, a block of eight draws, of sixteen, of a step that has more.
const SHAPES: [(usize, usize); 7] = [(1, 1), (1, 8), (1, 16), (2, 4), (3, 5), (8, 1), (19, 1)];

fn agrees(d: usize, (batch, block): (usize, usize), schedule: &Schedule, kind: Average, steps: u64) {
    let target = Chain::new(d);
    let expected = run(&mut textbook(&target, batch), d, schedule, kind, steps);
    let mut fused = FusedProx::with_block(Evaluator::Serial(&target), draws(), batch, block).unwrap();
    let found = run(&mut fused, d, schedule, kind, steps);
    let gap = farthest(&found, &expected);
    assert!(gap <= 1e-12, "d = {d}, S = {batch}, {block} steps a block, {schedule:?}, {kind}: {gap:e}");
    assert_eq!(fused.evaluations(), batch as u64 * steps);
}

fn schedules(d: usize, steps: u64) -> Vec<Schedule> {
    let growth = 100.0 * (d + 3) as f64;
    vec![
        Schedule::constant(0.05 / (d + 3) as f64).unwrap(),
        Schedule::anytime(StepKind::Prox, 1.0, growth).unwrap(),
        Schedule::LogOverT { scale: 1.0 / (d + 3) as f64, steps },
        Schedule::Convex { kind: StepKind::Prox, growth: 100.0 * growth, steps },
        Schedule::Optimal { convexity: 1.0, growth, floor: growth, start: d as f64 },
        Schedule::Custom((1..50).map(|t| 0.1 / (d + 3) as f64 / f64::from(t)).collect()),
        Schedule::Practical { start: 0.05 / (d + 3) as f64, hold: 30, scale: 50.0 },
    ]
}

#[test]
fn a_thousand_steps_are_those_of_the_textbook() {
    for d in [1, 2, 7, 20, 61, 100, 203] {
        let all = schedules(d, 1000);
        for shape in SHAPES {
            agrees(d, shape, &all[0], Average::Last, if d > 100 && shape.0 > 3 { 100 } else { 1000 });
        }
        for schedule in &all[1..] {
            agrees(d, (1, 8), schedule, Average::Last, if d > 100 { 250 } else { 1000 });
        }
    }
}

#[test]
fn averages_are_exact_under_deferral() {
    let kinds = [
        Average::Uniform,
        Average::Polynomial { power: 3.0 },
        Average::Discounted { discount: 0.97, includes_start: true },
        Average::Discounted { discount: 0.999, includes_start: false },
    ];
    for d in [1, 7, 20, 61] {
        for kind in kinds {
            for shape in SHAPES {
                for steps in [1, 2, 7, 8, 9, 16, 17, 50] {
                    agrees(d, shape, &schedules(d, steps)[0], kind, steps);
                }
            }
        }
    }
}

#[test]
fn a_run_in_pieces_is_the_run_in_one() {
    let (d, schedule) = (23, schedules(23, 90)[0].clone());
    for kind in [Average::Last, Average::Polynomial { power: 1.0 }] {
        for (batch, block) in SHAPES {
            let target = Chain::new(d);
            let expected = run(&mut textbook(&target, batch), d, &schedule, kind, 90);
            let mut fused = FusedProx::with_block(Evaluator::Serial(&target), draws(), batch, block).unwrap();
            let mut w = Gaussian::<Triangular>::standard(d).parameters().to_vec();
            let mut average = Averager::new(kind, w.len()).unwrap();
            let mut gammas = schedule.stepper();
            for steps in [0..1, 1..17, 17..40, 40..40, 40..90] {
                let mut go_on = |_: &crate::sgd::optimize::Progress<'_>| ControlFlow::Continue(());
                resume(&mut fused, &mut w, &mut gammas, &mut average, steps, &mut go_on).unwrap();
            }
            let found = [average.finish(&w).unwrap(), w].concat();
            assert!(farthest(&found, &expected[..found.len()]) <= 1e-12, "{kind}, S = {batch}, {block}");
        }
    }
}

#[test]
fn a_target_that_is_not_finite_is_named_as_in_the_plain_loop() {
    let schedule = Schedule::constant(0.01).unwrap();
    let fails = |problem: &mut dyn Problem, target: &Chain| {
        target.bad.set(21);
        let mut w = Gaussian::<Triangular>::standard(5).parameters().to_vec();
        let mut last = Averager::new(Average::Last, w.len()).unwrap();
        minimise(problem, &mut w, &schedule, &mut last, 50, &mut |_| ControlFlow::Continue(())).unwrap_err()
    };
    let target = Chain::new(5);
    for (batch, block) in SHAPES {
        let plain = fails(&mut textbook(&target, batch), &target);
        let mut fused = FusedProx::with_block(Evaluator::Serial(&target), draws(), batch, block).unwrap();
        let error = fails(&mut fused, &target);
        let Error::TargetNotFinite { quantity, step, draw, norm, .. } = error else { panic!("{error}") };
        let Error::TargetNotFinite { norm: expected, .. } = plain else { panic!("{plain}") };
        assert_eq!((quantity, step, draw), ("log-density", 21 / batch as u64, 21 % batch));
        assert!((norm - expected).abs() < 1e-12);
    }
}

#[test]
fn a_step_or_a_block_of_nothing_is_refused() {
    let target = Chain::new(5);
    let new = |batch, block| FusedProx::with_block(Evaluator::Serial(&target), draws(), batch, block);
    assert!(new(0, 1).is_err() && new(1, 0).is_err() && new(1, 1).is_ok());
}
