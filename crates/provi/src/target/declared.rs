//! A target with what its owner knows about it.

use super::{FiniteSum, LocalCurvature, Rejections, Rounding, Target, own};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::scratch::Scratch;
use crate::target::curvature::{Curvature, Provenance};
use crate::target::expectations::Expectations;

/// Any target, with a curvature on its owner's word and names of its owner's choice.
///
/// ```
/// use provi::{Curvature, Quadratic, target::{Closure, Declared, Target}};
///
/// let quartic = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
///     gradient[0] = -z[0] - 0.1 * z[0].sin();
///     -0.5 * z[0] * z[0] + 0.1 * z[0].cos()
/// })?;
/// let curvature = Curvature::declared(1, Quadratic::Scalar(0.9), Some(Quadratic::Scalar(1.1)))?;
/// let target = Declared::new(quartic).with_curvature(curvature)?.with_names(vec!["angle".into()])?;
/// assert_eq!(target.names(), ["angle"]);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Declared<T> {
    inner: T,
    curvature: Option<Curvature>,
    names: Option<Vec<String>>,
}

impl<T: Target> Declared<T> {
    /// The target as it is.
    pub fn new(inner: T) -> Self {
        Self { inner, curvature: None, names: None }
    }

    /// Declares bounds of ∇²V. What rests on them is declared at best, even where another model proved the same bounds of its own.
    pub fn with_curvature(mut self, curvature: Curvature) -> Result<Self> {
        if curvature.dim() != self.inner.dim() {
            return Err(Error::Shape {
                what: "curvature",
                found: curvature.dim(),
                expected: self.inner.dim(),
            });
        }
        self.curvature = Some(curvature.at_best(Provenance::Declared));
        Ok(self)
    }

    /// Names the coordinates.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.inner.dim() {
            return Err(Error::Shape { what: "names", found: names.len(), expected: self.inner.dim() });
        }
        self.names = Some(names);
        Ok(self)
    }
}

impl<T: Target> Target for Declared<T> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.inner.log_density(z, gradient)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.inner.log_densities(points, values, gradients, scratch)
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }

    fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
        self.inner.hessian(z, out)
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        match &self.curvature {
            Some(curvature) => Ok(Some(curvature.clone())),
            None => self.inner.curvature(),
        }
    }

    fn proves_its_curvature(&self, word: own::Word) -> bool {
        self.curvature.is_none() && self.inner.proves_its_curvature(word)
    }

    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        match &self.curvature {
            Some(curvature) => Ok(Some(curvature.clone())),
            None => self.inner.lower_curvature(),
        }
    }

    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        self.inner.finite_sum()
    }

    fn data_size(&self) -> (usize, usize) {
        self.inner.data_size()
    }

    fn rejections(&self) -> Rejections {
        self.inner.rejections()
    }

    fn names(&self) -> Vec<String> {
        self.names.clone().unwrap_or_else(|| self.inner.names())
    }

    fn expectations(&self) -> Option<&dyn Expectations> {
        self.inner.expectations()
    }

    fn local_curvature<'s>(
        &'s self,
        q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        self.inner.local_curvature(q)
    }

    fn rounding(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        self.inner.rounding(q, radii)
    }
}
