//! The entries of a pattern in one dimension, row by row.

use crate::base::error::{Error, Result};
use crate::base::linalg::Cholesky;
use crate::base::matrix::{Matrix, packed_index, packed_len};

/// The entries of C that a pattern allows, row by row, the diagonal last in each row. A factor of the pattern is a
/// vector of as many numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entries {
    /// Row i has the entries starts[i]..starts[i+1].
    starts: Vec<usize>,
    columns: Vec<usize>,
}

impl Entries {
    /// `row` appends the columns of row i, in ascending order and i last.
    pub(super) fn new(dim: usize, mut row: impl FnMut(usize, &mut Vec<usize>)) -> Self {
        let (mut starts, mut columns) = (Vec::with_capacity(dim + 1), Vec::new());
        for i in 0..dim {
            starts.push(columns.len());
            row(i, &mut columns);
        }
        starts.push(columns.len());
        Self { starts, columns }
    }

    pub(crate) fn dim(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Where the diagonal entry of row i is.
    pub(crate) fn diagonal(&self, i: usize) -> usize {
        self.starts[i + 1] - 1
    }

    /// The places of row i, and their columns.
    pub(crate) fn row(&self, i: usize) -> (usize, &[usize]) {
        (self.starts[i], &self.columns[self.starts[i]..self.starts[i + 1]])
    }

    /// The rows of every column, in ascending order: S_j, with j first.
    pub(crate) fn rows_of_columns(&self) -> Vec<Vec<usize>> {
        let mut out = vec![Vec::new(); self.dim()];
        for i in 0..self.dim() {
            self.row(i).1.iter().for_each(|&j| out[j].push(i));
        }
        out
    }

    /// The entries of a packed factor that are in the pattern.
    pub(crate) fn gather(&self, packed: &[f64], out: &mut [f64]) {
        for i in 0..self.dim() {
            let (start, columns) = self.row(i);
            for (k, &j) in columns.iter().enumerate() {
                out[start + k] = packed[packed_index(i, j)];
            }
        }
    }

    /// The packed factor with these entries, and zeros elsewhere.
    pub(crate) fn scatter(&self, entries: &[f64]) -> Vec<f64> {
        let mut packed = vec![0.0; packed_len(self.dim())];
        for i in 0..self.dim() {
            let (start, columns) = self.row(i);
            for (k, &j) in columns.iter().enumerate() {
                packed[packed_index(i, j)] = entries[start + k];
            }
        }
        packed
    }

    /// Sets the entries of a packed factor that are not in the pattern to zero.
    pub(crate) fn clear_others(&self, packed: &mut [f64]) {
        let mut kept = vec![0.0; self.len()];
        self.gather(packed, &mut kept);
        packed.copy_from_slice(&self.scatter(&kept));
    }

    /// z = m + Cu.
    pub(crate) fn transport(&self, mean: &[f64], factor: &[f64], u: &[f64], z: &mut [f64]) {
        for i in 0..self.dim() {
            let (start, columns) = self.row(i);
            let values = &factor[start..start + columns.len()];
            z[i] = mean[i] + values.iter().zip(columns).map(|(c, &j)| c * u[j]).sum::<f64>();
        }
    }

    /// C ← C + alpha·(the entries of left uᵀ that are in the pattern).
    pub(crate) fn rank_one(&self, alpha: f64, left: &[f64], u: &[f64], factor: &mut [f64]) {
        for i in 0..self.dim() {
            let (start, columns) = self.row(i);
            let weight = alpha * left[i];
            let values = &mut factor[start..start + columns.len()];
            values.iter_mut().zip(columns).for_each(|(c, &j)| *c += weight * u[j]);
        }
    }

    /// H[S, S] of a symmetric matrix.
    pub(crate) fn block(h: &Matrix, rows: &[usize]) -> Matrix {
        let mut out = Matrix::zeros(rows.len(), rows.len());
        for (a, &i) in rows.iter().enumerate() {
            for (b, &j) in rows.iter().enumerate() {
                out[(a, b)] = h[(i, j)];
            }
        }
        out
    }

    /// The factor of the family that is nearest to N(0, H⁻¹), packed: the minimiser of ½tr(CᵀHC) − log det C. The
    /// objective is a sum over the columns, and with S_j the rows of column j [pattern]
    /// ```text
    /// C[S_j, j] = x/√x_1,   x = H[S_j, S_j]⁻¹e_1
    /// ```
    /// Cost: a factorisation of size |S_j| for each column.
    pub(crate) fn best_factor(&self, h: &Matrix) -> Result<Vec<f64>> {
        let mut packed = vec![0.0; packed_len(self.dim())];
        for (j, rows) in self.rows_of_columns().iter().enumerate() {
            let mut x = vec![0.0; rows.len()];
            x[0] = 1.0;
            Cholesky::new("precision", &Self::block(h, rows))?.solve(&mut x);
            let root = x[0].sqrt();
            if !(root.is_finite() && root > 0.0) {
                return Err(Error::NotPositiveDefinite { what: "precision", dim: self.dim(), pivot: j });
            }
            rows.iter().zip(&x).for_each(|(&i, x)| packed[packed_index(i, j)] = x / root);
        }
        Ok(packed)
    }
}
