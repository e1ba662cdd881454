//! Parameters that are not free: positive, bounded, ordered, on a simplex, a correlation or covariance matrix.
//!
//! A Gaussian lives on ℝᵈ. A parameter θ of another [`Domain`] is written θ = T(z) with a smooth one-to-one map T from
//! ℝᵈ, and the density of z is the density of θ times the volume that T makes of a unit of z:
//! ```text
//! log p_z(z) = log p_θ(T(z)) + log |det ∂T/∂z|,      ∇ log p_z = (∂T/∂z)ᵀ ∇ log p_θ + ∇ log |det ∂T/∂z|
//! ```
//! [`Constrained`] does this for a target that is written in θ, with every constant, so that the evidence is the evidence of
//! the target as it was written. What is fitted and certified is the law of z; [`Parameters`] carries draws back to θ.

mod domain;
mod parameters;
#[cfg(test)]
mod tests;

pub use domain::Domain;
pub use parameters::{ParameterSummary, Parameters};

use super::{Scratch, Target};
use crate::base::error::{Error, Result};

/// A target on ℝᵈ from one that is written in parameters with domains of their own.
///
/// The inner target takes the numbers of all [`Parameters`], one parameter after the other, and returns its gradient by these
/// numbers as if each were free: a closure, an [`Autodiff`](crate::autodiff::Autodiff) or any other target will do. Matrices are
/// handed over whole, row by row.
///
/// ```
/// use provi::autodiff::Autodiff;
/// use provi::target::{Constrained, Domain, Parameters};
/// use provi::{Auto, Seed};
///
/// // Five measurements with unknown mean and deviation: μ ~ N(0, 10²), σ ~ exponential(1).
/// let y = [1.2, 0.7, 1.9, 1.4, 0.8];
/// let model = Autodiff::new(2, |theta| {
///     let (mu, sigma) = (theta.at(0), theta.at(1));
///     let fit: provi::autodiff::Var<'_> = y.iter().map(|y| -0.5 * ((*y - mu) / sigma).square() - sigma.ln()).sum();
///     fit - 0.005 * mu.square() - sigma
/// });
/// let parameters = Parameters::new([("mu", Domain::real()), ("sigma", Domain::positive())])?;
/// let target = Constrained::new(parameters, model)?;
///
/// let answer = Auto::default().run(&target, Seed(1))?;
/// let draws = target.parameters().of_draws(&answer.fit.gaussian.sample(2000, Seed(2)))?;
/// let [mu, sigma] = &target.parameters().summaries(&draws)?[..] else { unreachable!() };
/// assert_eq!((&*mu.name, &*sigma.name), ("mu", "sigma"));
/// assert!((mu.mean - 1.2).abs() < 0.1 && sigma.interval.0 > 0.0);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Constrained<T> {
    parameters: Parameters,
    inner: T,
}

impl<T: Target> Constrained<T> {
    /// The target in the coordinates of the parameters. `inner` takes [`Parameters::numbers`] numbers.
    pub fn new(parameters: Parameters, inner: T) -> Result<Self> {
        let (found, expected) = (inner.dim(), parameters.numbers());
        if found != expected {
            return Err(Error::Shape { what: "the target that takes the parameters", found, expected });
        }
        Ok(Self { parameters, inner })
    }

    /// The parameters, which carry draws and points from one scale to the other.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

/// What the inner target knows of its own shape (Hessian, curvature, expectations) is about θ, so none of it is handed on.
impl<T: Target> Target for Constrained<T> {
    crate::forward_target!(self => self.inner; batch data_size rejections);

    fn dim(&self) -> usize {
        self.parameters.coordinates()
    }

    fn names(&self) -> Vec<String> {
        self.parameters.coordinate_names()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        super::batch_of_one(self, z, gradient)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (count, numbers) = (values.len(), self.parameters.numbers());
        let (own, inner) = scratch.split(2 * count * numbers + count + self.parameters.working());
        let (theta, own) = own.split_at_mut(count * numbers);
        let (pulled, own) = own.split_at_mut(count * numbers);
        let (volumes, work) = own.split_at_mut(count);
        self.parameters.constrain_all(points, theta, volumes, work);
        self.inner.log_densities(theta, values, pulled, inner)?;
        self.parameters.pull_back_all(points, theta, pulled, gradients, work);
        values.iter_mut().zip(&*volumes).for_each(|(value, volume)| *value += volume);
        Ok(())
    }
}
