//! A finite sum as a target.

use crate::base::error::{Error, Result};
use crate::base::scratch::Scratch;
use crate::target::{FiniteSum, Target};

/// The most terms evaluated in one call.
const TERMS_A_CALL: usize = 1 << 16;

/// The target whose density is a [`FiniteSum`]: every term has weight 1. [`super::super::Declared`] adds a declared
/// curvature. Memory: two numbers per term.
#[derive(Clone, Debug)]
pub struct Summed<S> {
    sum: S,
    indices: Vec<usize>,
    ones: Vec<f64>,
}

impl<S: FiniteSum> Summed<S> {
    /// Refuses a sum without terms.
    pub fn new(sum: S) -> Result<Self> {
        if sum.dimension() == 0 {
            return Err(Error::Empty { what: "target (dimension 0)" });
        }
        if sum.terms() == 0 {
            return Err(Error::Empty { what: "finite sum (no terms)" });
        }
        let indices: Vec<usize> = (0..sum.terms()).collect();
        let ones = vec![1.0; indices.len().min(TERMS_A_CALL)];
        Ok(Self { sum, indices, ones })
    }

    /// The finite sum.
    pub fn sum(&self) -> &S {
        &self.sum
    }
}

impl<S: FiniteSum> Target for Summed<S> {
    fn dim(&self) -> usize {
        self.sum.dimension()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        crate::target::batch_of_one(self, z, gradient)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (first, others) = self.indices.split_at(self.ones.len());
        self.sum.weighted_terms(first, &self.ones, points, values, gradients, scratch)?;
        for terms in others.chunks(TERMS_A_CALL) {
            let (own, inner) = scratch.split(values.len() + gradients.len());
            let (more, pulls) = own.split_at_mut(values.len());
            self.sum.weighted_terms(terms, &self.ones[..terms.len()], points, more, pulls, inner)?;
            provi_kernels::axpy(1.0, more, values);
            provi_kernels::axpy(1.0, pulls, gradients);
        }
        self.sum.add_rest(points, values, gradients, scratch)
    }

    /// Each call goes through all the data, so it should have many points.
    fn batch(&self) -> usize {
        64
    }

    fn data_size(&self) -> (usize, usize) {
        (self.sum.terms(), 0)
    }

    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        Some(&self.sum)
    }
}
