//! How draws of a Gaussian are stretched.

use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::packed_index;
use provi_kernels::{axpy, dot};

/// In this few dimensions draws are stretched in every direction too.
pub(super) const ISOTROPIC: usize = 6;

/// How draws are stretched: in every direction, or along the direction in which one coordinate changes most.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) factor: f64,
    pub(super) along: Option<usize>,
}

impl Stretch {
    /// Stretches u.
    pub(super) fn apply(self, q: &Gaussian<Triangular>, u: &mut [f64]) {
        match self.along {
            None => u.iter_mut().for_each(|x| *x *= self.factor),
            Some(i) => {
                let v = direction(q, i);
                axpy((self.factor - 1.0) * dot(u, &v), &v, u);
            }
        }
    }

    /// By how much the stretch lowers the log density at its draws: the logarithm of its determinant.
    pub(super) fn log_volume(self, d: usize) -> f64 {
        if self.along.is_none() { d as f64 * self.factor.ln() } else { self.factor.ln() }
    }
}

/// Row i of C, normalised.
fn direction(q: &Gaussian<Triangular>, i: usize) -> Vec<f64> {
    let mut v = vec![0.0; q.dim()];
    let row = packed_index(i, 0);
    v[..=i].copy_from_slice(&q.factor()[row..=row + i]);
    let length = norm(&v);
    v.iter_mut().for_each(|x| *x /= length);
    v
}
