//! A Prox-SGD step beside the machine's own limit: one in-place pass c = a·c + b over the packed triangle.
//!
//! One draw a step, the gradient π = z, which costs nothing; random numbers are made beforehand. The least of many
//! short runs, all loops taking turns, so that a busy machine touches them alike. Exits with 1 if a bar is missed.
//!
//! `limits [seconds per dimension] [dimensions]`

use provi_kernels::{instruction_set, normals, prox, triangle};
use std::{hint::black_box, time::Instant};

const GAMMA: f64 = 1e-4;

/// One problem, and one loop over it.
struct State {
    d: usize,
    mean: Vec<f64>,
    packed: Vec<f64>,
    diagonal: Vec<f64>,
    draws: Vec<f64>,
    point: Vec<f64>,
    left: Vec<f64>,
    deferred: prox::Deferred,
}

impl State {
    fn new(d: usize) -> Self {
        let mut packed = vec![0.0; d * (d + 1) / 2];
        (0..d).for_each(|i| packed[i * (i + 3) / 2] = 1.0);
        let mut draws = vec![0.0; prox::BLOCK * d];
        for (k, u) in draws.chunks_exact_mut(d).enumerate() {
            normals(7, k as u64, 0, u);
        }
        Self {
            d,
            mean: vec![0.1; d],
            packed,
            diagonal: vec![1.0; d],
            draws,
            point: vec![0.0; d],
            left: vec![0.0; d],
            deferred: prox::Deferred::new(d),
        }
    }

    /// The limit: BLOCK passes.
    fn pass(&mut self) {
        let (a, b) = black_box((1.0 - 1e-12, 1e-12));
        for _ in 0..prox::BLOCK {
            sweep(black_box(&mut self.packed), a, b);
        }
    }

    fn fused(&mut self) {
        let d = self.d;
        for k in 0..prox::BLOCK {
            let (last, u) = ((k + prox::BLOCK - 1) % prox::BLOCK * d, &self.draws[k * d..][..d]);
            let right = &self.draws[last..][..d];
            prox::step(&mut self.packed, &self.mean, &self.diagonal, &self.left, right, u, &mut self.point);
            for ((m, left), z) in self.mean.iter_mut().zip(&mut self.left).zip(&self.point) {
                *m -= GAMMA * z;
                *left = -GAMMA * z;
            }
            prox::lift(&mut self.packed, &mut self.diagonal, GAMMA, &self.point, u);
        }
    }

    fn deferred(&mut self) {
        let d = self.d;
        self.deferred.begin(&mut self.packed, &self.draws);
        for u in self.draws.chunks_exact(d) {
            self.deferred.point(&self.mean, &self.diagonal, &mut self.point);
            self.mean.iter_mut().zip(&self.point).for_each(|(m, z)| *m -= GAMMA * z);
            self.deferred.push(GAMMA, &self.point);
            prox::lift(&mut self.packed, &mut self.diagonal, GAMMA, &self.point, u);
        }
    }

    /// Product, update, prox, as one would write them down.
    fn plain(&mut self) {
        let d = self.d;
        for u in self.draws.chunks_exact(d) {
            let mut rest = &self.packed[..];
            for i in 0..d {
                let (row, after) = rest.split_at(i + 1);
                rest = after;
                self.point[i] = self.mean[i] + row.iter().zip(u).map(|(c, u)| c * u).sum::<f64>();
            }
            let mut rest = &mut self.packed[..];
            for i in 0..d {
                let (row, after) = std::mem::take(&mut rest).split_at_mut(i + 1);
                rest = after;
                let step = GAMMA * self.point[i];
                row.iter_mut().zip(u).for_each(|(c, u)| *c -= step * u);
                self.mean[i] -= step;
            }
            for i in 0..d {
                let c = &mut self.packed[i * (i + 3) / 2];
                *c = 0.5 * (*c + (*c * *c + 4.0 * GAMMA).sqrt());
            }
        }
    }

    /// The same three passes by vectorised kernels.
    fn kernels(&mut self) {
        let d = self.d;
        for u in self.draws.chunks_exact(d) {
            triangle::transport(&self.packed, &self.mean, u, &mut self.point);
            triangle::rank_update(&mut self.packed, -GAMMA, &self.point, u);
            self.mean.iter_mut().zip(&self.point).for_each(|(m, z)| *m -= GAMMA * z);
            for i in 0..d {
                let c = &mut self.packed[i * (i + 3) / 2];
                *c = 0.5 * (*c + (*c * *c + 4.0 * GAMMA).sqrt());
            }
        }
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
fn least(d: usize, seconds: f64) -> [f64; 5] {
    let loops: [fn(&mut State); 5] =
        [State::pass, State::fused, State::deferred, State::plain, State::kernels];
    let mut states: Vec<State> = loops.iter().map(|_| State::new(d)).collect();
    let mut best = [f64::INFINITY; 5];
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds {
        for ((run, state), best) in loops.iter().zip(&mut states).zip(&mut best) {
            let turn = Instant::now();
            // Each loop finds its own triangle in the caches as it would alone: the first block is not counted.
            run(state);
            loop {
                let start = Instant::now();
                run(state);
                *best = best.min(start.elapsed().as_nanos() as f64 / 1e3 / prox::BLOCK as f64);
                if turn.elapsed().as_secs_f64() > 2e-3 {
                    break;
                }
            }
        }
    }
    best
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(2.0);
    println!("instruction set: {}; microseconds per step, K = {}", instruction_set(), prox::BLOCK);
    println!(
        "{:>5} {:>9} {:>9} {:>9} {:>10} {:>10} | {:>10} {:>13} {:>10} {:>12}",
        "d",
        "pass",
        "fused",
        "deferred",
        "plain",
        "3 kernels",
        "fused/pass",
        "deferred/pass",
        "plain/best",
        "kernels/best"
    );
    let mut missed = false;
    let only: Vec<usize> = std::env::args().skip(2).filter_map(|s| s.parse().ok()).collect();
    let all = [20, 50, 100, 150, 200, 300, 500, 1000, 2000];
    for d in all.into_iter().filter(|d| only.is_empty() || only.contains(d)) {
        let [pass, fused, deferred, plain, kernels] = least(d, seconds);
        let best = fused.min(deferred);
        println!(
            "{d:>5} {pass:>9.3} {fused:>9.3} {deferred:>9.3} {plain:>10.3} {kernels:>10.3} | {:>10.2} {:>13.2} {:>10.1} {:>12.1}",
            fused / pass,
            deferred / pass,
            plain / best,
            kernels / best
        );
        missed |= d >= 200 && fused > 1.3 * pass;
        missed |= d >= 1000 && deferred > if d < 2000 { 0.35 } else { 0.30 } * pass;
        missed |= d >= 50 && plain < 3.0 * best;
    }
    println!(
        "bars: fused/pass ≤ 1.3 from d = 200; deferred/pass ≤ 0.35 at d = 1000, ≤ 0.30 at 2000; plain/best ≥ 3 from d = 50: {}",
        if missed { "missed" } else { "met" }
    );
    std::process::exit(i32::from(missed));
}
