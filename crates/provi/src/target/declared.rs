//! A target with properties that its owner declares.

use super::standardized::BoxedTarget;
use super::{Standardized, Target, own};
use crate::base::error::{Error, Result};
use crate::target::curvature::{Curvature, Provenance};

/// Any target, with a curvature and coordinate names that its owner declares.
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
    /// The target, with nothing declared yet.
    pub fn new(inner: T) -> Self {
        Self { inner, curvature: None, names: None }
    }

    /// Declares bounds of ∇²V. Results that rest on them are declared at best, even if another model proved the
    /// same bounds.
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
    crate::forward_target!(self => self.inner;
        dim log_density log_densities log_densities_alone batch hessian expectations finite_sum data_size rejections local_curvature
        rounding);

    fn curvature(&self) -> Result<Option<Curvature>> {
        match &self.curvature {
            Some(curvature) => Ok(Some(curvature.clone())),
            None => self.inner.curvature(),
        }
    }

    fn proves_its_curvature(&self, word: own::Word) -> bool {
        self.curvature.is_none() && self.inner.proves_its_curvature(word)
    }

    fn model_of_its_own(&self, word: own::Word) -> Option<&dyn std::any::Any> {
        self.inner.model_of_its_own(word).filter(|_| self.curvature.is_none())
    }

    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        match &self.curvature {
            Some(curvature) => Ok(Some(curvature.clone())),
            None => self.inner.lower_curvature(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.names.clone().unwrap_or_else(|| self.inner.names())
    }

    /// A declared curvature holds in these coordinates only, so with one there are no standard coordinates.
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        if self.curvature.is_some() {
            return Ok(None);
        }
        match (self.inner.standardized()?, &self.names) {
            (Some(standard), Some(names)) => renamed(standard, names).map(Some),
            (standard, _) => Ok(standard),
        }
    }
}

/// The same target in standard coordinates, with other names for the coordinates.
fn renamed<'a>(standard: Standardized<'a>, names: &[String]) -> Result<Standardized<'a>> {
    Ok(match standard.into_parts() {
        (map, BoxedTarget::Shared(target)) => {
            Standardized::shared(map, Declared::new(target).with_names(names.to_vec())?)
        }
        (map, BoxedTarget::Single(target)) => {
            Standardized::single(map, Declared::new(target).with_names(names.to_vec())?)
        }
    })
}
