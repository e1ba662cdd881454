//! A small dense matrix, and the packed triangle: the two matrix types of the public interface.

use crate::base::error::{Error, Result};

/// A dense matrix of doubles, stored row by row.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

impl Matrix {
    /// A matrix from its entries, row by row.
    pub fn new(rows: usize, columns: usize, entries: Vec<f64>) -> Result<Self> {
        if Some(entries.len()) != rows.checked_mul(columns) {
            return Err(Error::Shape {
                what: "matrix entries",
                found: entries.len(),
                expected: rows.saturating_mul(columns),
            });
        }
        Ok(Self { rows, columns, entries })
    }

    /// The zero matrix.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, entries: vec![0.0; rows * columns] }
    }

    /// `value` times the identity of size `dim`.
    pub fn scaled_identity(dim: usize, value: f64) -> Self {
        Self::diagonal(&vec![value; dim])
    }

    /// The diagonal matrix with these entries.
    pub fn diagonal(values: &[f64]) -> Self {
        let mut out = Self::zeros(values.len(), values.len());
        for (i, &value) in values.iter().enumerate() {
            out[(i, i)] = value;
        }
        out
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries, row by row, read-only.
    pub fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// All entries, row by row, for writing.
    pub fn entries_mut(&mut self) -> &mut [f64] {
        &mut self.entries
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }

    /// Row `i`, for writing.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.entries[i * self.columns..(i + 1) * self.columns]
    }

    /// self ← self + α·other.
    pub(crate) fn add_scaled(&mut self, alpha: f64, other: &Matrix) {
        debug_assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        provi_kernels::axpy(alpha, &other.entries, &mut self.entries);
    }

    /// The Frobenius norm.
    pub fn frobenius_norm(&self) -> f64 {
        provi_kernels::dot(&self.entries, &self.entries).sqrt()
    }

    /// Refuses a matrix that is not finite, square, of size `dim` and symmetric up to 1e-12 of its largest entry.
    /// Returns the matrix, made exactly symmetric.
    pub(crate) fn checked_symmetric(mut self, what: &'static str, dim: usize) -> Result<Self> {
        for found in [self.rows, self.columns] {
            if found != dim {
                return Err(Error::Shape { what, found, expected: dim });
            }
        }
        check_finite(what, &self.entries)?;
        let tolerance = 1e-12 * self.entries.iter().fold(0.0f64, |a, x| a.max(x.abs()));
        for i in 0..dim {
            for j in 0..i {
                let (lower, upper) = (self[(i, j)], self[(j, i)]);
                if (lower - upper).abs() > tolerance {
                    return Err(Error::NotPositiveDefinite { what, dim, pivot: i });
                }
                let mean = 0.5 * (lower + upper);
                self[(i, j)] = mean;
                self[(j, i)] = mean;
            }
        }
        Ok(self)
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.entries[i * self.columns + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.entries[i * self.columns + j]
    }
}

/// Refuses NaN and infinities. The error names the first one.
pub(crate) fn check_finite(what: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(Error::NotFinite { what, index, value: values[index] }),
        None => Ok(()),
    }
}

/// Number of entries of a packed triangle of size `dim`: d(d+1)/2.
pub fn packed_len(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// Index of (i, j), j ≤ i, in a triangle packed row by row.
pub(crate) fn packed_index(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// The lower half of a square matrix, packed row by row.
pub(crate) fn pack_lower(matrix: &Matrix) -> Vec<f64> {
    (0..matrix.rows()).flat_map(|i| matrix.row(i)[..=i].iter().copied()).collect()
}

/// The lower half of a square matrix, packed row by row into `packed`.
pub(crate) fn pack_lower_into(matrix: &Matrix, packed: &mut [f64]) {
    for i in 0..matrix.rows() {
        packed[packed_index(i, 0)..=packed_index(i, i)].copy_from_slice(&matrix.row(i)[..=i]);
    }
}

/// The square lower triangular matrix of a packed triangle.
pub(crate) fn unpack_lower(dim: usize, packed: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(dim, dim);
    for i in 0..dim {
        out.row_mut(i)[..=i].copy_from_slice(&packed[packed_index(i, 0)..packed_index(i, i) + 1]);
    }
    out
}

/// Calls `f(i, j)` for all j < i < d, tile by tile, so that entries (i, j) and (j, i) of a large matrix both stay in cache.
pub(crate) fn below_diagonal(d: usize, mut f: impl FnMut(usize, usize)) {
    const TILE: usize = 16;
    for top in (0..d).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..(top + TILE).min(d) {
                (left..(left + TILE).min(i)).for_each(|j| f(i, j));
            }
        }
    }
}

/// The full symmetric matrix of its packed lower half, into `out`.
pub(crate) fn unpack_symmetric_into(packed: &[f64], out: &mut Matrix) {
    for i in 0..out.rows() {
        for j in 0..=i {
            let x = packed[packed_index(i, j)];
            out[(i, j)] = x;
            out[(j, i)] = x;
        }
    }
}

/// The full symmetric matrix of its packed lower half.
pub(crate) fn unpack_symmetric(dim: usize, packed: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(dim, dim);
    unpack_symmetric_into(packed, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_row_by_row_and_reversible() {
        let m = Matrix::new(2, 2, vec![1.0, 9.0, 2.0, 3.0]).unwrap();
        assert_eq!(pack_lower(&m), [1.0, 2.0, 3.0]);
        assert_eq!(unpack_lower(2, &[1.0, 2.0, 3.0]).entries(), [1.0, 0.0, 2.0, 3.0]);
        assert_eq!(unpack_symmetric(2, &[1.0, 2.0, 3.0]).entries(), [1.0, 2.0, 2.0, 3.0]);
    }

    #[test]
    fn tiles_below_the_diagonal_cover_it_once() {
        for d in [0, 1, 2, 16, 17, 40] {
            let mut seen = vec![0; d * d];
            below_diagonal(d, |i, j| seen[i * d + j] += 1);
            assert!((0..d * d).all(|k| seen[k] == i32::from(k % d < k / d)), "{d}");
        }
    }

    #[test]
    fn asymmetric_and_non_finite_matrices_are_refused() {
        assert!(Matrix::new(2, 2, vec![1.0, 0.5, 0.0, 1.0]).unwrap().checked_symmetric("prior", 2).is_err());
        assert!(Matrix::new(1, 1, vec![f64::NAN]).unwrap().checked_symmetric("prior", 1).is_err());
        assert!(Matrix::new(2, 2, vec![0.0; 3]).is_err());
    }
}
