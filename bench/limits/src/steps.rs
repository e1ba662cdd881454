//! Whole steps beside what bounds them: a pass over the factor, or the matrix work that a step cannot do without.
//!
//! Gradients here cost O(d); each step makes its own draws.

use crate::clock::{Work, least};
use crate::machine;
use crate::reflected::{Reflected, SMOOTHNESS};
use crate::table::Row;
use provi::draws::{Draws, Purpose};
use provi::optimize::Problem;
use provi::step::{FusedProx, ProjEntropy, ProjStl};
use provi::target::Evaluator;
use provi::{Gaussian, Seed, Symmetric, Triangular};
use std::hint::black_box;

/// Steps per timed call: a block of a deferred step.
const STEPS: u64 = 16;

/// A call of [`STEPS`] steps of a problem that has been under way for a while.
fn walk<'a>(mut problem: impl Problem + 'a, mut w: Vec<f64>, gamma: f64, warm: u64) -> Work<'a> {
    let mut t = 0;
    let mut go = move |steps: u64| {
        for _ in 0..steps {
            problem.advance(black_box(&mut w), t, gamma).expect("a finite step");
            t += 1;
        }
    };
    go(warm);
    Box::new(move || go(STEPS))
}

/// Standard normal draws, beside a read-write pass over as many numbers.
pub(crate) fn normals(seconds: f64) -> Row {
    let (mut x, mut y) = (vec![0.0; 1024], vec![0.5; 1024]);
    let mut contenders: Vec<Work<'_>> = vec![
        Box::new(|| provi_kernels::normals(black_box(7), 1, 0, &mut x)),
        Box::new(|| machine::sweep(black_box(&mut y), 1.0 - 1e-12, 1e-12)),
    ];
    let times = least(seconds, &mut contenders);
    Row::new("1024 normal draws", times[0], "one read-write pass over them", times[1])
}

/// Prox-SGD with one draw a step, in one pass and deferred, beside c ← ac + b over the packed triangle.
///
/// These are whole steps, with draw and gradient. The program `steps` times them without, and has the bars.
pub(crate) fn prox(d: usize, seconds: f64) -> [Row; 2] {
    let (target, draws) = (Reflected::new(d), Draws::new(Seed(1), Purpose::Optimise));
    let view = Evaluator::Serial(&target);
    let start = || Gaussian::<Triangular>::standard(d).parameters().to_vec();
    let mut packed = vec![0.5; d * (d + 1) / 2];
    let fused = FusedProx::with_block(view, draws, 1, 1).expect("d > 0");
    let deferred = FusedProx::new(view, draws, 1).expect("d > 0");
    let mut contenders: Vec<Work<'_>> = vec![
        Box::new(|| machine::sweep(black_box(&mut packed), 1.0 - 1e-12, 1e-12)),
        walk(fused, start(), 1e-4, 0),
        walk(deferred, start(), 1e-4, 0),
    ];
    let times = least(seconds, &mut contenders);
    let row = |name: &str, time: f64| {
        Row::new(
            format!("prox step, {name}, d = {d}"),
            time / STEPS as f64,
            "one read-write pass over C",
            times[0],
        )
    };
    [row("one pass", times[1]), row("deferred", times[2])]
}

/// Proj-SGD with STL, the constraint idle or active, and with the entropy's gradient.
pub(crate) fn proj(d: usize, seconds: f64) -> Vec<Row> {
    let (target, draws) = (Reflected::new(d), Draws::new(Seed(9), Purpose::Optimise));
    let view = Evaluator::Serial(&target);
    let start = || Gaussian::<Symmetric>::standard(d).parameters().to_vec();
    let gamma = 0.5 / (SMOOTHNESS * (d + 3) as f64);
    let stl = |m| ProjStl::new(view, draws, 1, m).expect("M > 0");
    let mut packed = vec![0.5; d * (d + 1) / 2];
    let factor = faer::Mat::<f64>::from_fn(d, d, |i, j| if i == j { 2.0 } else { 0.5 / (d + i + j) as f64 });
    let mut contenders: Vec<Work<'_>> = vec![
        Box::new(|| machine::sweep(black_box(&mut packed), 1.0 - 1e-12, 1e-12)),
        Box::new(|| _ = black_box(black_box(&factor).llt(faer::Side::Lower).expect("positive definite"))),
        walk(stl(4.0 * SMOOTHNESS), start(), gamma, 2000),
        walk(stl(SMOOTHNESS), start(), gamma, 2000),
        walk(ProjEntropy::new(view, draws, 1, 4.0 * SMOOTHNESS).expect("M > 0"), start(), gamma, 500),
    ];
    let times = least(seconds, &mut contenders);
    let per_step = |i: usize| times[i] / STEPS as f64;
    vec![
        Row::new(
            format!("proj-stl step, idle, d = {d}"),
            per_step(2),
            "read-write pass over C and C⁻¹",
            2.0 * times[0],
        ),
        Row::new(
            format!("proj-stl step, active, d = {d}"),
            per_step(3),
            "one Cholesky factorisation",
            times[1],
        ),
        Row::new(
            format!("proj-entropy step, idle, d = {d}"),
            per_step(4),
            "one Cholesky factorisation",
            times[1],
        ),
    ]
}
