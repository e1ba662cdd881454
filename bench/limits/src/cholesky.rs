//! The packed Cholesky factor, its inverse and the inverse of the matrix, beside their multiply-adds at peak and beside faer.

use crate::clock::{Work, least};
use crate::machine;
use crate::table::Row;
use faer::linalg::solvers::DenseSolveCore;
use std::cell::RefCell;
use std::hint::black_box;

/// d³/6 multiply-adds for the factor, as many for its inverse, and twice that for the inverse of the matrix, from the factor.
pub(crate) fn rows(d: usize, seconds: f64) -> Vec<Row> {
    let entry = |i: usize, j: usize| if i == j { 2.0 } else { 0.5 / (d + i + j) as f64 };
    let packed: Vec<f64> = (0..d).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect();
    let square = faer::Mat::<f64>::from_fn(d, d, entry);
    let factored = square.llt(faer::Side::Lower).expect("positive definite");
    let kernel = RefCell::new(provi_kernels::cholesky::Cholesky::new(d));
    kernel.borrow_mut().factor(&packed, 0.0).expect("positive definite");
    let out = RefCell::new(vec![0.0; packed.len()]);
    let mut contenders: Vec<Work<'_>> = vec![
        Box::new(|| _ = black_box(machine::multiply_adds(black_box(0.9), 0.1))),
        Box::new(|| kernel.borrow_mut().factor(black_box(&packed), 0.0).expect("positive definite")),
        Box::new(|| kernel.borrow_mut().write_inverse(&mut out.borrow_mut())),
        Box::new(|| kernel.borrow_mut().invert(&mut out.borrow_mut())),
        Box::new(|| _ = black_box(black_box(&square).llt(faer::Side::Lower).expect("positive definite"))),
        Box::new(|| _ = black_box(black_box(&factored).inverse())),
    ];
    let times = least(seconds, &mut contenders);
    let sixth = (d as f64).powi(3) / 6.0 * times[0] / machine::MULTIPLY_ADDS;
    let peak = |what: &str, time: f64, share: f64| {
        Row::new(format!("{what}, d = {d}"), time, "its multiply-adds at peak", share * sixth)
    };
    let beside =
        |what: &str, time: f64, other: f64| Row::new(format!("{what}, d = {d}"), time, "faer's", other);
    vec![
        peak("Cholesky factor", times[1], 1.0),
        beside("Cholesky factor", times[1], times[4]),
        peak("its inverse", times[2], 1.0),
        peak("inverse from it", times[3], 2.0),
        beside("inverse from it", times[3], times[5]),
    ]
}
