//! The solver within a family: its metric and its model, column by column \[pattern\].

use super::Point;
use crate::base::error::Result;
use crate::base::linalg::Cholesky;
use crate::base::matrix::packed_index;
use crate::base::pattern::Entries;

/// The rows of every column of the family, and the entries that it has.
pub(super) struct Family<'a> {
    pub(super) entries: &'a Entries,
    columns: Vec<Vec<usize>>,
}

impl<'a> Family<'a> {
    pub(super) fn new(entries: &'a Entries) -> Self {
        Self { entries, columns: entries.rows_of_columns() }
    }

    /// g ← Bg with B the inverse Hessian of the model in (m, the entries), where H = E∇²V and S_j are the rows of
    /// column j:
    /// ```text
    /// (H⁻¹g_m,   (H[S_j, S_j] + e_1e_1ᵀ/C_jj²)⁻¹ g_C[S_j, j])
    /// ```
    /// An error if H is not positive definite at working precision.
    pub(super) fn natural(&self, now: &Point, g: &mut [f64]) -> Result<()> {
        let (d, h, factor) = (now.q.dim(), &now.moments.hessian, now.q.factor());
        let (mean, triangle) = g.split_at_mut(d);
        Cholesky::new("E∇²V", h)?.solve(mean);
        for (j, rows) in self.columns.iter().enumerate() {
            let mut block = Entries::block(h, rows);
            block[(0, 0)] += factor[packed_index(j, j)].powi(-2);
            let mut x: Vec<f64> = rows.iter().map(|&i| triangle[packed_index(i, j)]).collect();
            Cholesky::new("E∇²V", &block)?.solve(&mut x);
            rows.iter().zip(&x).for_each(|(&i, x)| triangle[packed_index(i, j)] = *x);
        }
        Ok(())
    }

    /// (−H⁻¹E∇V, C' − C) with C' the minimiser of ½tr(C'ᵀHC') − log det C' in the family.
    pub(super) fn model_minimiser(&self, now: &Point) -> Result<Vec<f64>> {
        let mut direction = now.moments.gradient.clone();
        Cholesky::new("E∇²V", &now.moments.hessian)?.solve(&mut direction);
        direction.iter_mut().for_each(|x| *x = -*x);
        let factor = self.entries.best_factor(&now.moments.hessian)?;
        direction.extend(factor.iter().zip(now.q.factor()).map(|(a, b)| a - b));
        Ok(direction)
    }
}
