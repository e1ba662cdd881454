//! The entries of a prior's precision, for a model that holds them sparsely.

use super::{Precision, Prior, Ties};

impl Prior {
    /// (i, j, value) for i ≥ j, whose sums are the entries of Λ that are not 0.
    pub(crate) fn entries(&self, dim: usize) -> Vec<(usize, usize, f64)> {
        let mut out: Vec<(usize, usize, f64)> = match &self.precision {
            Precision::Scalar(value) => (0..dim).map(|i| (i, i, *value)).collect(),
            Precision::Diagonal(values) => values.iter().enumerate().map(|(i, &x)| (i, i, x)).collect(),
            Precision::Dense { matrix, .. } => (0..dim)
                .flat_map(|i| (0..=i).map(move |j| (i, j, matrix[(i, j)])))
                .filter(|(i, j, x)| i == j || x.abs() > 0.0)
                .collect(),
            Precision::Sparse { rows, .. } => rows
                .iter()
                .enumerate()
                .flat_map(|(i, row)| row.iter().filter(move |(j, _)| *j <= i).map(move |&(j, x)| (i, j, x)))
                .collect(),
            Precision::Centered(centered) => centered.entries().collect(),
        };
        let tied = self.ties.iter().flat_map(Ties::pairs);
        out.extend(tied.map(|&(i, j, x)| (i.max(j), i.min(j), x)));
        out
    }
}
