//! A Prox-SGD step, in blocks and one at a time, beside the machine's own limit: one in-place pass c = a·c + b over the
//! packed triangle.
//!
//! S draws a step, the gradient π = z, which costs nothing; random numbers are made beforehand, for all loops alike. The least
//! of many short runs, all loops taking turns, so that a busy machine touches them alike. Exits with 1 if a bar is missed.
//!
//! `steps [seconds per row] [dimensions]`; `PROVI_INSTRUCTION_SET=avx2` times an instruction set that is not the best one.

use provi_kernels::{instruction_set, normals, prox, triangle, use_instruction_set};
use std::{hint::black_box, time::Instant};

const GAMMA: f64 = 1e-4;

/// Steps that every loop makes at a time.
const STEPS: usize = 16;

/// One problem, and one loop over it.
struct State {
    d: usize,
    batch: usize,
    mean: Vec<f64>,
    packed: Vec<f64>,
    draws: Vec<f64>,
    points: Vec<f64>,
    block: prox::Deferred,
}

impl State {
    /// At most `steps` to a block.
    fn new(d: usize, batch: usize, steps: usize) -> Self {
        let mut packed = vec![0.0; d * (d + 1) / 2];
        (0..d).for_each(|i| packed[i * (i + 3) / 2] = 1.0);
        let mut draws = vec![0.0; STEPS * batch * d];
        for (k, u) in draws.chunks_exact_mut(d).enumerate() {
            normals(7, k as u64, 0, u);
        }
        let mut block = prox::Deferred::new(d, batch, steps.min(prox::Deferred::fitting(d, batch)));
        block.read(&packed);
        Self { d, batch, mean: vec![0.1; d], packed, draws, points: vec![0.0; batch * d], block }
    }

    /// The limit: a pass for each step.
    fn pass(&mut self) {
        let (a, b) = black_box((1.0 - 1e-12, 1e-12));
        for _ in 0..STEPS {
            sweep(black_box(&mut self.packed), a, b);
        }
    }

    fn step_mean(&mut self) {
        let scale = GAMMA / self.batch as f64;
        for z in self.points.chunks_exact(self.d) {
            self.mean.iter_mut().zip(z).for_each(|(m, z)| *m -= scale * z);
        }
    }

    fn blocks(&mut self) {
        let width = self.block.steps() * self.batch * self.d;
        for k in 0..STEPS / self.block.steps() {
            self.block.begin(&self.draws[k * width..][..width]);
            for _ in 0..self.block.steps() {
                self.block.points(&self.mean, &mut self.points);
                self.step_mean();
                self.block.push(GAMMA, &self.points);
            }
        }
    }

    /// Products, updates, prox, as one would write them down.
    fn plain(&mut self) {
        let (d, scale) = (self.d, GAMMA / self.batch as f64);
        for draws in self.draws.chunks_exact(self.batch * d) {
            for (u, z) in draws.chunks_exact(d).zip(self.points.chunks_exact_mut(d)) {
                let mut rest = &self.packed[..];
                for i in 0..d {
                    let (row, after) = rest.split_at(i + 1);
                    rest = after;
                    z[i] = self.mean[i] + row.iter().zip(u).map(|(c, u)| c * u).sum::<f64>();
                }
            }
            for (u, z) in draws.chunks_exact(d).zip(self.points.chunks_exact(d)) {
                let mut rest = &mut self.packed[..];
                for i in 0..d {
                    let (row, after) = std::mem::take(&mut rest).split_at_mut(i + 1);
                    rest = after;
                    let step = scale * z[i];
                    row.iter_mut().zip(u).for_each(|(c, u)| *c -= step * u);
                    self.mean[i] -= step;
                }
            }
            lift(&mut self.packed, self.d);
        }
    }

    /// The same three passes by vectorised kernels.
    fn kernels(&mut self) {
        for k in 0..STEPS {
            let draws = &self.draws[k * self.batch * self.d..][..self.batch * self.d];
            triangle::transport(&self.packed, &self.mean, draws, &mut self.points);
            triangle::rank_update(&mut self.packed, -GAMMA / self.batch as f64, &self.points, draws);
            self.step_mean();
            lift(&mut self.packed, self.d);
        }
    }
}

fn lift(packed: &mut [f64], d: usize) {
    for i in 0..d {
        let c = &mut packed[i * (i + 3) / 2];
        *c = 0.5 * (*c + (*c * *c + 4.0 * GAMMA).sqrt());
    }
}

fn sweep(c: &mut [f64], a: f64, b: f64) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn wide(c: &mut [f64], a: f64, b: f64) {
            c.iter_mut().for_each(|c| *c = c.mul_add(a, b));
        }
        #[target_feature(enable = "avx2,fma")]
        fn narrow(c: &mut [f64], a: f64, b: f64) {
            c.iter_mut().for_each(|c| *c = c.mul_add(a, b));
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature was detected.
            return unsafe { wide(c, a, b) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were detected.
            return unsafe { narrow(c, a, b) };
        }
    }
    c.iter_mut().for_each(|c| *c = *c * a + b);
}

/// Microseconds per step of each loop: the least over turns of about 2 ms each, for `seconds` in all.
fn least(d: usize, batch: usize, seconds: f64) -> [f64; 5] {
    let loops: [fn(&mut State); 5] =
        [State::pass, State::blocks, State::blocks, State::plain, State::kernels];
    let mut states = [1, STEPS, 1, 1, 1].map(|steps| State::new(d, batch, steps));
    let mut best = [f64::INFINITY; 5];
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds {
        for ((run, state), best) in loops.iter().zip(&mut states).zip(&mut best) {
            let turn = Instant::now();
            // Each loop finds its own triangle in the caches as it would alone: the first run is not counted.
            run(state);
            loop {
                let start = Instant::now();
                run(state);
                *best = best.min(start.elapsed().as_nanos() as f64 / 1e3 / STEPS as f64);
                if turn.elapsed().as_secs_f64() > 2e-3 {
                    break;
                }
            }
        }
    }
    best
}

fn main() {
    if let Ok(name) = std::env::var("PROVI_INSTRUCTION_SET") {
        assert!(use_instruction_set(&name), "no instruction set {name} here");
    }
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(2.0);
    println!("instruction set: {}; microseconds per step", instruction_set());
    println!(
        "{:>3} {:>5} {:>10} {:>10} {:>10} {:>11} {:>11} | {:>9} {:>8} {:>10} {:>12}",
        "S",
        "d",
        "pass",
        "ours",
        "one",
        "plain",
        "3 kernels",
        "ours/pass",
        "one/pass",
        "plain/ours",
        "kernels/ours"
    );
    let mut missed = false;
    let only: Vec<usize> = std::env::args().skip(2).filter_map(|s| s.parse().ok()).collect();
    let all = [20, 50, 100, 150, 200, 300, 500, 1000, 2000];
    for batch in [1, 8] {
        for d in all.into_iter().filter(|d| only.is_empty() || only.contains(d)) {
            let [pass, ours, one, plain, kernels] = least(d, batch, seconds);
            println!(
                "{batch:>3} {d:>5} {pass:>10.3} {ours:>10.3} {one:>10.3} {plain:>11.3} {kernels:>11.3} | {:>9.2} {:>8.2} {:>10.2} {:>12.2}",
                ours / pass,
                one / pass,
                plain / ours,
                kernels / ours
            );
            missed |= d >= 200 && batch == 1 && one > 1.3 * pass;
            missed |= d >= 1000 && batch == 1 && ours > if d < 2000 { 0.35 } else { 0.30 } * pass;
            missed |= d >= 50 && plain < 3.0 * ours;
        }
    }
    println!(
        "bars: at S = 1 one/pass ≤ 1.3 from d = 200, ours/pass ≤ 0.35 at 1000, ≤ 0.30 at 2000; plain/ours ≥ 3 from d = 50: {}",
        if missed { "missed" } else { "met" }
    );
    std::process::exit(i32::from(missed));
}
