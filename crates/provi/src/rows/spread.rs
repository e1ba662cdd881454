//! Sums over rows of what depends on a row's predictor under q, s_n ~ N(a_nᵀm + o_n, ‖Cᵀa_n‖²).

use super::Rows;
use crate::chunked::{self, Chunks};
use crate::design::BLOCK;
use crate::gaussian::{Gaussian, Triangular};
use crate::target::Scratch;
use provi_kernels::axpy;

/// One row, as a sum sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) weight: f64,
    pub(crate) response: f64,
    /// E s.
    pub(crate) mean: f64,
    /// Var s.
    pub(crate) variance: f64,
}

impl Rows {
    /// Adds `share(row)` to the sums, row by row. Cost: one pass, d² a row for a dense design.
    pub(crate) fn add_over_predictors<const WIDTH: usize>(
        &self,
        q: &Gaussian<Triangular>,
        share: impl Fn(Row) -> [f64; WIDTH] + Sync,
        sums: &mut [f64],
    ) {
        let factor = self.design.factor(q.factor());
        let work = self.design.entries().saturating_mul(self.design.columns() / 2 + 1);
        let chunks = Chunks { len: self.len(), size: 8 * BLOCK, work };
        chunked::reduce(
            chunks,
            (WIDTH, 2 * BLOCK),
            &mut Scratch::default(),
            |range, partial, room| {
                for first in range.clone().step_by(BLOCK) {
                    let rows = first..(first + BLOCK).min(range.end);
                    let (means, variances) = room.split_at_mut(BLOCK);
                    let (means, variances) = (&mut means[..rows.len()], &mut variances[..rows.len()]);
                    self.predictors(rows.clone(), q.mean(), means);
                    self.design.row_variances(rows.clone(), &factor, variances);
                    for (k, n) in rows.enumerate() {
                        let (weight, response) = (self.weights[n], self.response[n]);
                        let row = Row { weight, response, mean: means[k], variance: variances[k] };
                        partial.iter_mut().zip(share(row)).for_each(|(sum, x)| *sum += x);
                    }
                }
            },
            |partial| axpy(1.0, partial, sums),
        );
    }
}
