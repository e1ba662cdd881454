//! Gradients against forward-mode dual numbers; mistakes, memory, threads.

mod derivatives;
mod expressions;
mod mistakes;
mod reuse;

use num_dual::Dual64;

use super::{Var, Vector, gradient};

/// Value and gradient by dual numbers, one direction at a time.
fn by_duals(f: impl Fn(&[Dual64]) -> Dual64, z: &[f64]) -> (f64, Vec<f64>) {
    let mut duals: Vec<Dual64> = z.iter().map(|&x| Dual64::new(x, 0.0)).collect();
    let value = f(&duals).re;
    let gradient = (0..z.len())
        .map(|i| {
            duals[i].eps = 1.0;
            let slope = f(&duals).eps;
            duals[i].eps = 0.0;
            slope
        })
        .collect();
    (value, gradient)
}

fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * (1.0 + expected.abs()), "{found} is not {expected}");
}

/// Both methods give the same value and gradient.
fn check(z: &[f64], ours: impl for<'t> Fn(Vector<'t>) -> Var<'t>, duals: impl Fn(&[Dual64]) -> Dual64) {
    let (value, slopes) = gradient(ours, z).unwrap();
    let (expected, expected_slopes) = by_duals(duals, z);
    assert_close(value, expected, 1e-13);
    for (found, expected) in slopes.into_iter().zip(expected_slopes) {
        assert_close(found, expected, 1e-12);
    }
}
