//! The exact expectations of a model in memory, and its sparse form.

use super::Glm;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::glm::Family;
use crate::glm::expectation::{TAIL_SUMS, sums};
use crate::glm::sparse::{SparseForm, SparseModel, SparseSolver};
use crate::target::Target;
use crate::target::expectations::{Expectations, Moments};
use crate::target::solution::Stop;

/// The least number of coefficients for which a sparse factor is tried; for fewer, the full one takes milliseconds.
const SPARSE_FROM: usize = 100;
/// How many times smaller than d² the sparse factor has to be.
const MUCH_SMALLER: usize = 8;

impl Expectations for Glm {
    fn expect(&self, q: &Gaussian<Triangular>, out: &mut Moments) -> Result<()> {
        self.linear.check_dim(q)?;
        let (mut sums, chains) = (sums(q.dim()), self.rows.chains());
        out.hessian = self.linear.precision();
        self.rows.add_expectations(self.linear.family, q, chains, &mut sums, &mut out.hessian);
        self.linear.conclude_moments(q, &sums, chains, out)
    }

    fn has_constant_hessian(&self) -> bool {
        matches!(self.linear.family, Family::Gaussian { .. })
    }

    /// By a device, or by the sparse factor of the precision if that is much smaller than the full one.
    fn near_optimum(&self, goal: f64) -> Result<Option<Gaussian<Triangular>>> {
        if let Some(found) = self.near_optimum_aside(goal)? {
            return Ok(Some(found));
        }
        if self.dim() < SPARSE_FROM || !self.design().is_sparse() {
            return Ok(None);
        }
        match self.solved_sparsely(goal) {
            // Whoever asked starts where it would have started, or stops.
            Err(Error::NotPositiveDefinite { .. } | Error::NotFinite { .. } | Error::Stopped { .. }) => {
                Ok(None)
            }
            found => found,
        }
    }

    fn tail_integral(&self, q: &Gaussian<Triangular>, radius: f64) -> Result<Option<f64>> {
        if !self.linear.family.has_tail() {
            return Ok(None);
        }
        let mut sums = [0.0; TAIL_SUMS];
        self.rows.add_rate_tail(self.linear.family, q, radius, &mut sums);
        self.linear.rate_tail(q, radius, self.rows.len(), sums).map(Some)
    }
}

impl Glm {
    /// The best Gaussian by its sparse factor; `None` if the factor is not small or the search does not end.
    fn solved_sparsely(&self, goal: f64) -> Result<Option<Gaussian<Triangular>>> {
        let largest = self.dim().saturating_mul(self.dim()) / MUCH_SMALLER;
        let Some(model) = self.sparse_within(largest)? else { return Ok(None) };
        let solution = SparseSolver { goal, ..SparseSolver::default() }.run(&model)?;
        match solution.stop {
            Stop::Reached | Stop::Stalled => solution.gaussian.to_dense().map(Some),
            Stop::Interrupted | Stop::Exhausted => Ok(None),
        }
    }
}

impl SparseForm for Glm {
    fn sparse_within(&self, largest: usize) -> Result<Option<SparseModel>> {
        SparseModel::within(&self.linear, &self.rows, largest)
    }

    fn sparse_again(&self, before: &SparseModel) -> Result<SparseModel> {
        let family = self.linear.family;
        // The sorted rows hold offsets or weights that depend on the noise of such a family.
        if family.is_recoded() && family != before.linear.family {
            return self.sparse();
        }
        before.under(&self.linear)?.map_or_else(|| self.sparse(), Ok)
    }
}
