//! What each kernel costs on this machine: the best of many short runs, one thread.
//!
//! `PROVI_INSTRUCTION_SET=avx2` times an instruction set that is not the best one.

use provi_kernels::{
    design, expectation, instruction_set, link, normals, symmetric, triangle, use_instruction_set,
};
use std::{hint::black_box, time::Instant};

/// The shortest of many runs, in nanoseconds.
fn best(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let until = Instant::now() + std::time::Duration::from_millis(300);
    while Instant::now() < until {
        let start = Instant::now();
        for _ in 0..4 {
            run();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 4.0);
    }
    best
}

fn numbers(count: usize) -> Vec<f64> {
    let mut x = vec![0.0; count];
    normals(1, 2, 3, &mut x);
    x
}

fn main() {
    if let Ok(name) = std::env::var("PROVI_INSTRUCTION_SET") {
        assert!(use_instruction_set(&name), "no instruction set {name} here");
    }
    println!("instruction set: {}", instruction_set());
    let mut x = numbers(1024);
    println!("normals           {:8.2} ns each", best(|| normals(black_box(7), 1, 0, &mut x)) / 1024.0);

    let (mut p, mut q) = (x.clone(), x.clone());
    println!("exp               {:8.2} ns each", best(|| link::exp(black_box(&x), &mut p)) / 1024.0);
    println!(
        "logistic          {:8.2} ns each",
        best(|| link::logistic(black_box(&x), &mut p, &mut q)) / 1024.0
    );
    let (sigma, nodes, weights, mut r) = (vec![0.7; 1024], numbers(20), vec![0.05; 20], x.clone());
    let time =
        best(|| expectation::logistic(black_box(&x), &sigma, &nodes, &weights, &mut p, &mut q, &mut r));
    println!("expectation       {:8.2} ns per node", time / 1024.0 / 20.0);

    for (d, samples) in [(20, 1), (100, 1), (200, 1), (100, 10), (200, 10), (1000, 1)] {
        let (mut c, mean) = (vec![0.01; d * (d + 1) / 2], numbers(d));
        let (left, right, mut out) = (numbers(samples * d), numbers(samples * d), numbers(samples * d));
        let show =
            |name: &str, time: f64| println!("{name:<24} d={d:<4} S={samples:<2} {:9.3} us", time / 1e3);
        show("triangle::transport", best(|| triangle::transport(black_box(&c), &mean, &left, &mut out)));
        show("triangle::pull_back", best(|| triangle::pull_back(black_box(&c), &left, &mut out)));
        show("triangle::rank_update", best(|| triangle::rank_update(black_box(&mut c), 1e-9, &left, &right)));
        show("symmetric::transport", best(|| symmetric::transport(black_box(&c), &mean, &left, &mut out)));
        show(
            "symmetric::rank_update",
            best(|| symmetric::rank_update(black_box(&mut c), 1e-9, &left, &right)),
        );
        // 1 on the diagonal and 0 elsewhere: solving over and over leaves b as it is.
        c.fill(0.0);
        (0..d).for_each(|i| c[i * (i + 3) / 2] = 1.0);
        let mut b = mean.clone();
        show("triangle::solve", best(|| triangle::solve(black_box(&c), &mut b)));
        show("triangle::solve_transposed", best(|| triangle::solve_transposed(black_box(&c), &mut b)));
    }

    let (count, d) = (20_000, 50);
    let rows = numbers(count * d);
    for samples in [1, 10] {
        let (points, mut eta, mut out) =
            (numbers(samples * d), vec![0.0; count * samples], vec![0.0; samples * d]);
        let sweep = best(|| {
            for (rows, eta) in rows.chunks(128 * d).zip(eta.chunks_mut(128 * samples)) {
                design::predict(black_box(rows), d, &points, eta);
                design::pull_back(rows, d, eta, &mut out);
            }
        });
        let predict = best(|| design::predict(black_box(&rows), d, &points, &mut eta));
        let pull_back = best(|| design::pull_back(black_box(&rows), d, &eta, &mut out));
        println!(
            "design N={count} d={d} S={samples:<2} one sweep {:.0} us, predict {:.0} us, pull_back {:.0} us",
            sweep / 1e3,
            predict / 1e3,
            pull_back / 1e3
        );
    }
}
