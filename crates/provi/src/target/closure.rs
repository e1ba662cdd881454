//! A target from a Rust function that computes value and gradient.

use super::Target;
use crate::curvature::Curvature;
use crate::error::{Error, Result};

/// A log density given as a function `(z, gradient) ↦ log p(z, x)`.
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
    curvature: Option<Curvature>,
    names: Option<Vec<String>>,
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Closure<F> {
    /// A target of dimension `dim`.
    pub fn new(dim: usize, function: F) -> Result<Self> {
        if dim == 0 {
            return Err(Error::Empty { what: "target (dimension 0)" });
        }
        Ok(Self { dim, function, curvature: None, names: None })
    }

    /// Declares bounds of ∇²V; proofs that rest on them say "declared".
    pub fn with_curvature(mut self, curvature: Curvature) -> Result<Self> {
        if curvature.dim() != self.dim {
            return Err(Error::Shape { what: "curvature", found: curvature.dim(), expected: self.dim });
        }
        self.curvature = Some(curvature);
        Ok(self)
    }

    /// Names the coordinates.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.dim {
            return Err(Error::Shape { what: "names", found: names.len(), expected: self.dim });
        }
        self.names = Some(names);
        Ok(self)
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Target for Closure<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        Ok((self.function)(z, gradient))
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        Ok(self.curvature.clone())
    }

    fn names(&self) -> Vec<String> {
        self.names.clone().unwrap_or_else(|| (0..self.dim).map(|i| format!("z{i}")).collect())
    }
}
