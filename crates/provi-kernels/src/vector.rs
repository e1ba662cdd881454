//! Sums over plain vectors.

use crate::{dispatch::dispatch, lanes::Simd};

/// a · b. Cost: 2d flops.
///
/// # Panics
/// When the lengths differ.
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "dot: lengths of a and b");
    dispatch!(plain::dot, dot_lanes(a: &[f64], b: &[f64]) -> f64)
}

/// y ← y + αx. Cost: 2d flops.
///
/// # Panics
/// When the lengths differ.
pub fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    assert_eq!(x.len(), y.len(), "axpy: lengths of x and y");
    dispatch!(plain::axpy, axpy_lanes(alpha: f64, x: &[f64], y: &mut [f64]));
}

#[inline(always)]
fn dot_lanes<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [simd.splat(0.0); 4];
    for (a, b) in a.iter().zip(b) {
        for i in 0..4 {
            sums[i] = simd.mul_add(simd.load(&a[i]), simd.load(&b[i]), sums[i]);
        }
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        sums[0] = simd.mul_add(simd.load(a), simd.load(b), sums[0]);
    }
    sums[1] = simd.mul_add(simd.load_partial(a_tail), simd.load_partial(b_tail), sums[1]);
    let [a, b, c, d] = simd.sums(sums);
    (a + b) + (c + d)
}

#[inline(always)]
fn axpy_lanes<S: Simd>(simd: S, alpha: f64, x: &[f64], y: &mut [f64]) {
    let ((x, x_tail), (y, y_tail)) = (x.as_chunks::<8>(), y.as_chunks_mut::<8>());
    let alpha = simd.splat(alpha);
    for (x, y) in x.iter().zip(y) {
        let sum = simd.mul_add(alpha, simd.load(x), simd.load(y));
        simd.store(sum, y);
    }
    let sum = simd.mul_add(alpha, simd.load_partial(x_tail), simd.load_partial(y_tail));
    simd.store_partial(sum, y_tail);
}

mod plain {
    pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    pub(super) fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
        for (x, y) in x.iter().zip(y) {
            *y += alpha * x;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::{SIZES, agree, numbers};

    #[test]
    fn dot_and_axpy_agree_with_their_twins() {
        for d in SIZES {
            let (a, b) = (numbers(1, d), numbers(2, d));
            agree(1e-14, || vec![super::dot(&a, &b)]);
            agree(1e-15, || {
                let mut y = b.clone();
                super::axpy(-0.3, &a, &mut y);
                y
            });
        }
    }

    #[test]
    #[should_panic(expected = "lengths of a and b")]
    fn unequal_lengths_are_refused() {
        let _ = super::dot(&[1.0], &[]);
    }
}
