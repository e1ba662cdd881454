//! A target from a Rust function that computes value and gradient.

use super::Target;
use crate::base::error::{Error, Result};

/// A log density given as a function `(z, gradient) ↦ log p(z, x)`. [`super::Declared`] adds a declared curvature
/// and names.
///
/// ```
/// use provi::target::{Closure, Target};
///
/// let target = Closure::new(2, |z: &[f64], gradient: &mut [f64]| {
///     gradient[0] = -z[0];
///     gradient[1] = -4.0 * z[1];
///     -0.5 * (z[0] * z[0] + 4.0 * z[1] * z[1])
/// })?;
/// let mut gradient = [0.0; 2];
/// assert_eq!(target.log_density(&[1.0, 1.0], &mut gradient)?, -2.5);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Closure<F> {
    dim: usize,
    function: F,
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Closure<F> {
    /// A target of dimension `dim`.
    pub fn new(dim: usize, function: F) -> Result<Self> {
        if dim == 0 {
            return Err(Error::Empty { what: "target (dimension 0)" });
        }
        Ok(Self { dim, function })
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Target for Closure<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        Ok((self.function)(z, gradient))
    }
}
