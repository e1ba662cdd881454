//! The exact expectations of a model in memory.

use super::Glm;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::glm::Family;
use crate::glm::expectation::{TAIL_SUMS, sums};
use crate::target::expectations::{Expectations, Moments};

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

    fn tail_integral(&self, q: &Gaussian<Triangular>, radius: f64) -> Result<Option<f64>> {
        if self.linear.family != Family::Poisson {
            return Ok(None);
        }
        let mut sums = [0.0; TAIL_SUMS];
        self.rows.add_poisson_tail(q, radius, &mut sums);
        self.linear.poisson_tail(q, radius, self.rows.len(), sums).map(Some)
    }
}
