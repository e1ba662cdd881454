//! Sums over rows of functions of a row's predictor under q, s_n ~ N(a_nᵀm + o_n, ‖Cᵀa_n‖²).

use super::{Lever, Rows};
use crate::base::chunked::{self, Chunks};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::scratch::Scratch;
use crate::glm::design::BLOCK;
use crate::target::rounding::deviations;
use provi_kernels::axpy;

/// What a sum needs of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) weight: f64,
    pub(crate) response: f64,
    /// E s.
    pub(crate) mean: f64,
    /// Var s.
    pub(crate) variance: f64,
    /// Bound of the rounding error of the mean, and of the deviation.
    pub(crate) off: f64,
    /// How it depends on the noise.
    pub(crate) lever: Lever,
}

impl Rows {
    /// Adds `share(row)` to the sums, row by row. Cost: one pass; d² per row for a dense design.
    pub(crate) fn add_over_predictors<const WIDTH: usize>(
        &self,
        q: &Gaussian<Triangular>,
        share: impl Fn(Row) -> [f64; WIDTH] + Sync,
        sums: &mut [f64],
    ) {
        let factor = self.design.factor(q.factor());
        let scales: Vec<f64> = deviations(q).iter().zip(q.mean()).map(|(sd, m)| sd + m.abs()).collect();
        let unit = (q.dim() as f64 + 4.0) * f64::EPSILON;
        let work = self.design.entries().saturating_mul(self.design.columns() / 2 + 1);
        let chunks = Chunks { len: self.len(), size: 8 * BLOCK, work };
        chunked::reduce(
            chunks,
            (WIDTH, 4 * BLOCK),
            &mut Scratch::default(),
            |range, partial, room| {
                for first in range.clone().step_by(BLOCK) {
                    let rows = first..(first + BLOCK).min(range.end);
                    let mut parts = room.chunks_exact_mut(BLOCK).map(|part| &mut part[..rows.len()]);
                    let [means, variances, squares, sizes] =
                        std::array::from_fn(|_| parts.next().unwrap_or_default());
                    self.predictors(rows.clone(), q.mean(), means);
                    self.design.row_variances(rows.clone(), &factor, variances);
                    self.design.row_sizes(rows.clone(), &scales, squares, sizes);
                    for (k, n) in rows.enumerate() {
                        let (weight, response) = (self.weights[n], self.response[n]);
                        let offset = self.offset_size(n);
                        let off = unit * (sizes[k] + offset);
                        let (mean, variance, lever) = (means[k], variances[k], self.lever(n));
                        let row = Row { weight, response, mean, variance, off, lever };
                        partial.iter_mut().zip(share(row)).for_each(|(sum, x)| *sum += x);
                    }
                }
            },
            |partial| axpy(1.0, partial, sums),
        );
    }
}
