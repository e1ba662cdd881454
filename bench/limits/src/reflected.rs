//! A target whose gradient costs next to nothing, for timing steps.

use provi::{Result, Target};
use provi_kernels::{axpy, dot};

/// log p = −½ zᵀQDQz, D from 1 to 10, Q a reflection: O(d) to evaluate, with axes like no others.
pub(crate) struct Reflected {
    axis: Vec<f64>,
}

/// M.
pub(crate) const SMOOTHNESS: f64 = 10.0;

impl Reflected {
    pub(crate) fn new(d: usize) -> Self {
        let mut axis = vec![0.0; d];
        provi_kernels::normals(8, 0, 0, &mut axis);
        let size = dot(&axis, &axis).sqrt();
        axis.iter_mut().for_each(|x| *x /= size);
        Self { axis }
    }

    /// The unit vector a of Q = I − 2aaᵀ.
    #[allow(dead_code, reason = "one program of two looks at it")]
    pub(crate) fn axis(&self) -> &[f64] {
        &self.axis
    }
}

impl Target for Reflected {
    fn dim(&self) -> usize {
        self.axis.len()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let last = (z.len() - 1) as f64;
        gradient.copy_from_slice(z);
        axpy(-2.0 * dot(&self.axis, z), &self.axis, gradient);
        gradient.iter_mut().enumerate().for_each(|(i, x)| *x *= -1.0 - (SMOOTHNESS - 1.0) * i as f64 / last);
        let along = dot(&self.axis, gradient);
        axpy(-2.0 * along, &self.axis, gradient);
        Ok(0.5 * dot(z, gradient))
    }
}
