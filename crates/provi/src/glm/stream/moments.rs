//! Results of a streamed model for a Gaussian: expectations under it, and curvature around it.

use super::pass::{OWN, Sums};
use super::{Reduce, Source, Streamed};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::glm::Family;
use crate::glm::expectation::{TAIL_SUMS, sums};
use crate::glm::linear::local::LocalModel;
use crate::target::Taylor;
use crate::target::expectations::{Expectations, Moments};

impl<S: Source, R: Reduce> Expectations for Streamed<S, R> {
    fn expect(&self, q: &Gaussian<Triangular>, out: &mut Moments) -> Result<()> {
        self.linear.check_dim(q)?;
        let (d, chains) = (q.dim(), self.survey.chains);
        let mut numbers = [vec![0.0; OWN], sums(d)].concat();
        out.hessian = Matrix::zeros(d, d);
        let total = Sums { numbers: &mut numbers, matrices: std::slice::from_mut(&mut out.hessian) };
        self.pass(total, |block, total| {
            let Sums { numbers, matrices } = total;
            block.add_expectations(self.linear.family, q, chains, &mut numbers[OWN..], &mut matrices[0]);
        })?;
        out.hessian.add_scaled(1.0, &self.linear.precision());
        self.linear.conclude_moments(q, &numbers[OWN..], chains, out)
    }

    fn has_constant_hessian(&self) -> bool {
        matches!(self.linear.family, Family::Gaussian { .. })
    }

    fn tail_integral(&self, q: &Gaussian<Triangular>, radius: f64) -> Result<Option<f64>> {
        if !self.linear.family.has_tail() {
            return Ok(None);
        }
        let sums: [f64; TAIL_SUMS] =
            self.over_blocks(|rows, sums| rows.add_rate_tail(self.linear.family, q, radius, sums))?;
        self.linear.rate_tail(q, radius, self.rows(), sums).map(Some)
    }
}

impl<S: Source, R: Reduce> LocalModel for Streamed<S, R> {
    fn gram_terms(&self) -> usize {
        self.survey.chains.grams
    }

    fn terms(&self) -> usize {
        self.rows()
    }

    fn local_grams(
        &self,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        sizes: &mut [f64],
        grams: &mut [Matrix],
    ) -> Result<()> {
        let mut numbers = vec![0.0; OWN + sizes.len()];
        self.pass(Sums { numbers: &mut numbers, matrices: grams }, |rows, sums| {
            let Sums { numbers, matrices } = sums;
            rows.add_local_grams(self.linear.family, q, radii, &mut numbers[OWN..], matrices);
        })?;
        sizes.copy_from_slice(&numbers[OWN..]);
        let precision = self.linear.precision();
        grams.iter_mut().for_each(|gram| gram.add_scaled(1.0, &precision));
        Ok(())
    }

    /// Cost: one pass.
    fn taylor(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Taylor>> {
        let Some(layout) = self.linear.taylor_layout(radii.len(), self.rows()) else { return Ok(None) };
        let mut numbers = vec![0.0; OWN + layout.width()];
        let total = self.rows();
        self.pass(Sums { numbers: &mut numbers, matrices: &mut [] }, |rows, sums| {
            rows.add_taylor(self.linear.family, q, radii, total, layout, &mut sums.numbers[OWN..]);
        })?;
        self.linear.conclude_taylor(q, radii, layout, &numbers[OWN..]).map(Some)
    }
}
