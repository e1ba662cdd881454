//! ∇l itself, for targets whose Gaussian expectations are one-dimensional integrals.

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::stop;
use crate::sgd::optimize::{Estimator, Moved};
use crate::target::expectations::{Expectations, Moments};

/// The exact gradient of the free energy on 𝒯ᵈ: an estimator without noise, for the proximal step.
pub struct Exact<'a> {
    target: &'a dyn Expectations,
    q: Gaussian<Triangular>,
    moments: Moments,
    gradient: Vec<f64>,
}

impl std::fmt::Debug for Exact<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exact").field("dim", &self.q.dim()).finish_non_exhaustive()
    }
}

impl<'a> Exact<'a> {
    /// The gradient of l for a target of dimension `dim`.
    pub fn new(target: &'a dyn Expectations, dim: usize) -> Self {
        let q = Gaussian::standard(dim);
        let gradient = vec![0.0; q.parameters().len()];
        Self { target, q, moments: Moments::new(dim), gradient }
    }
}

impl Estimator for Exact<'_> {
    fn descend(&mut self, w: &mut [f64], _t: u64, gamma: f64) -> Result<Moved> {
        self.q.parameters_mut().copy_from_slice(w);
        stop::evaluation(|| self.target.expect(&self.q, &mut self.moments))?;
        self.moments.free_energy_gradient(&self.q, &mut self.gradient);
        provi_kernels::axpy(-gamma, &self.gradient, w);
        Ok(Moved { distance: gamma * norm(&self.gradient) * (1.0 + 1e-12), value: Some(self.moments.value) })
    }
}
