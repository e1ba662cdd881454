//! Whole steps of Proj-SGD beside the textbook's: an eigendecomposition, a rebuild and an inverse a step, without draws and
//! gradient (ours include both), and the two ways to take an STL step beside each other.
//!
//! The least mean over many stretches of a run that has been under way for long, all loops taking turns, so that a busy
//! machine touches them alike; a step that took five times the median was interrupted, and is left out. Exits with 1 if a bar
//! is missed.
//!
//! `proj [seconds per row]`.

#[path = "../reflected.rs"]
mod reflected;

use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use provi::draws::{Draws, Purpose};
use provi::estimator::{Kind, Sampled};
use provi::optimize::{Composite, Moved, Operator, Problem};
use provi::step::{ProjEntropy, ProjStl, ProjSymmetric};
use provi::target::Evaluator;
use provi::{Gaussian, Seed, Symmetric};
use reflected::{Reflected, SMOOTHNESS};
use std::{hint::black_box, time::Instant};

/// A run, some steps at a time.
struct Run<'a> {
    problem: Box<dyn Problem + 'a>,
    /// Asked about C after every step, as if nothing were known of the move.
    check: Option<ProjSymmetric>,
    w: Vec<f64>,
    t: u64,
}

impl<'a> Run<'a> {
    /// Under way for 2000 steps.
    fn new(d: usize, problem: impl Problem + 'a) -> Self {
        let w = Gaussian::<Symmetric>::standard(d).parameters().to_vec();
        let mut run = Self { problem: Box::new(problem), check: None, w, t: 0 };
        run.go(d, 2000);
        run
    }

    fn go(&mut self, d: usize, steps: u64) {
        let gamma = 0.5 / (SMOOTHNESS * (d + 3) as f64);
        for _ in 0..steps {
            self.t += 1;
            self.problem.advance(black_box(&mut self.w), self.t, gamma).unwrap();
            if let Some(check) = &mut self.check {
                check.apply(&mut self.w, gamma, &Moved { distance: f64::MAX, value: None }).unwrap();
            }
        }
    }
}

/// Microseconds a step of each loop, `steps` at a time.
fn least(steps: usize, seconds: f64, loops: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut times = vec![0.0; steps];
    let mut best = vec![f64::INFINITY; loops.len()];
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds {
        for (run, best) in loops.iter_mut().zip(&mut best) {
            for time in &mut times {
                let start = Instant::now();
                run();
                *time = start.elapsed().as_nanos() as f64 / 1e3;
            }
            times.sort_by(f64::total_cmp);
            let kept = &times[..times.partition_point(|x| *x <= 5.0 * times[steps / 2])];
            *best = best.min(kept.iter().sum::<f64>() / kept.len() as f64);
        }
    }
    best
}

/// Whether every bar is met.
fn beside_the_textbook(d: usize, seconds: f64) -> bool {
    let draws = Draws::new(Seed(9), Purpose::Optimise);
    let target = Reflected::new(d);
    let view = Evaluator::Serial(&target);
    // 1/√M below the optimum's λ_min, and at it.
    let (idle, active) = (4.0 * SMOOTHNESS, SMOOTHNESS);
    let stl = |m: f64| Run::new(d, ProjStl::new(view, draws, 1, m).unwrap());
    let entropy = |m: f64| Run::new(d, ProjEntropy::new(view, draws, 1, m).unwrap());
    let mut runs = [stl(idle), stl(idle), stl(active), entropy(idle), entropy(active)];
    runs[1].check = Some(ProjSymmetric::new(d, idle).unwrap());
    // C = QD^{-1/2}Q, the optimum of both.
    let spread = |i: usize| (1.0 + (SMOOTHNESS - 1.0) * i as f64 / (d - 1) as f64).powf(-0.5);
    let reflection =
        Mat::from_fn(d, d, |i, j| f64::from(u8::from(i == j)) - 2.0 * target.axis()[i] * target.axis()[j]);
    let factor = &Mat::from_fn(d, d, |i, j| reflection[(i, j)] * spread(j)) * &reflection;
    let floor = 1.0 / SMOOTHNESS.sqrt();
    let mut naive = || {
        let evd = black_box(&factor).self_adjoint_eigen(faer::Side::Lower).unwrap();
        let scaled = Mat::from_fn(d, d, |i, j| evd.U()[(i, j)] * evd.S()[j].max(floor));
        let projected = &scaled * evd.U().transpose();
        black_box(projected.partial_piv_lu().inverse());
    };
    let [a, b, c, e, f] = &mut runs;
    let mut go = [a, b, c, e, f].map(|run| move || run.go(d, 1));
    let [a, b, c, e, f] = &mut go;
    // The textbook's steps are all alike.
    let textbook = least(1, 0.5 * seconds, &mut [&mut naive])[0];
    let best = least(40, 0.5 * seconds, &mut [a, b, c, e, f]);
    let checked = if d == 200 { 10.0 } else { 0.0 };
    let bars = [
        ("stl idle", 100.0),
        ("stl checked at every step", checked),
        ("stl active", 0.0),
        ("entropy idle", 5.0),
        ("entropy active", 5.0),
    ];
    println!("d = {d}: textbook {textbook:.1} µs");
    let mut met = true;
    for ((name, bar), ours) in bars.into_iter().zip(&best) {
        let ratio = textbook / ours;
        let said = match bar {
            0.0 => String::new(),
            _ => format!(", bar {bar}: {}", if ratio >= bar { "met" } else { "missed" }),
        };
        println!("  {name:<26} {ours:>8.2} µs, ratio {ratio:>6.1}{said}");
        met &= ratio >= bar;
    }
    met
}

fn carried_or_not(d: usize, seconds: f64) {
    let draws = Draws::new(Seed(9), Purpose::Optimise);
    let target = Reflected::new(d);
    let view = Evaluator::Serial(&target);
    let m = 4.0 * SMOOTHNESS;
    for batch in [1, 2, 4, 8, 16, 32] {
        let estimator = Sampled::<Symmetric>::new(Kind::Stl, view, draws, batch).unwrap();
        let mut anew = Run::new(d, Composite { estimator, operator: ProjSymmetric::new(d, m).unwrap() });
        let mut carried = Run::new(d, ProjStl::new(view, draws, batch, m).unwrap());
        let best = least(40, seconds, &mut [&mut || carried.go(d, 1), &mut || anew.go(d, 1)]);
        println!(
            "d = {d:>3}, S = {batch:>2}: carried {:>8.2} µs, anew {:>8.2} µs, ratio {:.2}{}",
            best[0],
            best[1],
            best[1] / best[0],
            if ProjStl::pays(d, batch) { ", carried" } else { "" }
        );
    }
}

fn main() {
    faer::set_global_parallelism(faer::Par::Seq);
    let seconds = std::env::args().find_map(|s| s.parse().ok()).unwrap_or(2.0);
    let met = [50, 200].map(|d| beside_the_textbook(d, 3.0 * seconds));
    for d in [20, 50, 100, 200] {
        carried_or_not(d, seconds);
    }
    std::process::exit(i32::from(met.contains(&false)));
}
