//! The map from standardized columns back to the user's.

use super::recipe::{Block, Recipe};

/// β = A·b, from the coefficients b of standardized columns to those of the original columns:
/// ```text
/// β_j = b_j/s_j,     β_0 = b_0 − Σ_j b_j·m_j/s_j
/// ```
/// and the same for every level of a group term. Xβ is the same linear predictor, up to rounding.
#[derive(Debug, Clone, PartialEq)]
pub struct OriginalScale {
    /// Number of coefficients.
    pub size: usize,
    /// (row, column, value) of A, row by row; the rest is 0.
    pub entries: Vec<(usize, usize, f64)>,
}

impl OriginalScale {
    /// A·b
    pub fn coefficients(&self, standardized: &[f64]) -> Vec<f64> {
        let mut original = vec![0.0; self.size];
        for &(row, column, value) in &self.entries {
            original[row] += value * standardized[column];
        }
        original
    }

    /// A·S·Aᵀ of a row-major covariance S. Cost: the entries times the size.
    pub fn covariance(&self, standardized: &[f64]) -> Vec<f64> {
        let n = self.size;
        let mut half = vec![0.0; n * n];
        for &(row, column, value) in &self.entries {
            for j in 0..n {
                half[row * n + j] += value * standardized[column * n + j];
            }
        }
        let mut original = vec![0.0; n * n];
        for &(row, column, value) in &self.entries {
            for i in 0..n {
                original[i * n + row] += value * half[i * n + column];
            }
        }
        original
    }
}

impl Recipe {
    /// The map back to the user's scale; `None` if no column was standardized.
    pub fn original_scale(&self) -> Option<OriginalScale> {
        let mut entries = Vec::new();
        let mut first = 0;
        let mut changed = self.population.append(&mut entries, first);
        first += self.population.columns.len();
        for group in &self.groups {
            for _ in &group.levels {
                changed |= group.block.append(&mut entries, first);
                first += group.block.columns.len();
            }
        }
        changed.then_some(OriginalScale { size: first, entries })
    }
}

impl Block {
    /// Appends the entries of the block whose coefficients start at `first`. Returns whether any differs from the
    /// identity.
    fn append(&self, entries: &mut Vec<(usize, usize, f64)>, first: usize) -> bool {
        let mut changed = false;
        for (row, column) in self.columns.iter().enumerate() {
            entries.push((first + row, first + row, 1.0 / column.sd));
            changed |= column.mean.abs() > 0.0 || (column.sd - 1.0).abs() > 0.0;
            if column.term.is_none() {
                let shifted = self.columns.iter().enumerate().filter(|(_, other)| other.mean.abs() > 0.0);
                entries.extend(shifted.map(|(j, other)| (first + row, first + j, -other.mean / other.sd)));
            }
        }
        changed
    }
}
