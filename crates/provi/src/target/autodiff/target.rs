//! A target from a plain Rust function, differentiated automatically.

use super::{Autodiff, Var, Vector};
use crate::base::error::Result;
use crate::target::Target;

/// A target from log p as a plain function; the tape computes the gradient.
///
/// ```
/// use provi::{Target, autodiff::{Autodiff, Matrix}};
///
/// let (x, y) = (Matrix::new(3, 2, [1.0, 0.5, 1.0, -1.5, 1.0, 2.0])?, [1.0, 0.0, 1.0]);
/// let target = Autodiff::new(2, |z| {
///     let eta = x.matvec(z);
///     (eta * &y).sum() - eta.softplus().sum() - 0.5 * z.dot(z)
/// });
/// let mut gradient = [0.0; 2];
/// let value = target.log_density(&[0.0, 0.0], &mut gradient)?;
/// assert!((value - 3.0 * 0.5f64.ln()).abs() < 1e-15 && (gradient[0] - 0.5).abs() < 1e-15);
/// # Ok::<(), provi::Error>(())
/// ```
impl<F> Target for Autodiff<F>
where
    F: for<'t> Fn(Vector<'t>) -> Var<'t>,
{
    fn dim(&self) -> usize {
        Autodiff::dim(self)
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.value_and_gradient(z, gradient)
    }
}
