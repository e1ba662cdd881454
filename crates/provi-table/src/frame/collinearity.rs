//! Linear dependence among the population columns.

use serde::Serialize;

use super::{ModelFrame, rows::DesignRows};

/// The result of [`ModelFrame::collinearity`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Collinearity {
    /// The columns that others explain, the most dependent first.
    pub dependences: Vec<Dependence>,
}

/// One column that others explain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependence {
    /// The column.
    pub column: String,
    /// The columns that explain it, with their coefficients: column ≈ Σ coefficient·other.
    pub others: Vec<(String, f64)>,
    /// Length of the unexplained part relative to the column's own (about its mean, if there is an intercept): √(1
    /// − R²). 1/residual² is the variance inflation factor.
    pub residual: f64,
    /// Whether the residual is no larger than rounding.
    pub exact: bool,
}

impl Collinearity {
    /// A column counts as dependent if its residual is at most this: a variance inflation of 10⁴.
    pub const NEAR: f64 = 1e-2;
    /// A column counts as exactly dependent if its residual is at most this.
    pub const EXACT: f64 = 1e-9;
}

impl ModelFrame {
    /// Population columns that are linear combinations of others, exactly or nearly.
    ///
    /// Gram–Schmidt in the order of the columns: if the unexplained part of a column is at most
    /// [`Collinearity::NEAR`] of it, the columns before it explain it, and it is not used to explain others.
    /// Cost: n·p² for n rows and p columns.
    ///
    /// ```
    /// use provi_table::{Formula, FrameOptions, ModelFrame, Table};
    ///
    /// let table = Table::read(b"y,a,b,c\n1,1,2,3\n0,2,7,9\n1,4,1,5\n0,3,3,6\n", "t.csv")?;
    /// let frame = ModelFrame::new(&table, &Formula::parse("y ~ a + b + c")?, &FrameOptions::default())?;
    /// let found = &frame.collinearity().dependences[0]; // c = a + b
    /// assert!(found.exact);
    /// let names: Vec<&str> = found.others.iter().map(|(name, _)| name.as_str()).collect();
    /// assert_eq!((found.column.as_str(), names), ("c", vec!["a", "b"]));
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn collinearity(&self) -> Collinearity {
        Basis::new(&self.design, self.intercept).dependences(&self.names)
    }
}

/// Columns, and the orthonormal ones made from those taken so far.
struct Basis {
    /// The remaining part of each column; each has length at most 1 at first.
    left: Vec<Vec<f64>>,
    /// The original length of each column.
    lengths: Vec<f64>,
    /// Inner products with the orthonormal columns: the coordinates of column j.
    coordinates: Vec<Vec<f64>>,
    /// Index of the column from which each orthonormal one was made.
    taken: Vec<usize>,
}

impl Basis {
    fn new(design: &DesignRows, intercept: bool) -> Self {
        let columns = design.population_columns;
        let column =
            |j: usize| -> Vec<f64> { (0..design.rows).map(|i| design.population_row(i)[j]).collect() };
        let mut left: Vec<Vec<f64>> = (0..columns).map(column).collect();
        let mut lengths: Vec<f64> = left.iter().map(|column| length(column)).collect();
        for (column, length) in left.iter_mut().zip(&lengths) {
            if *length > 0.0 {
                column.iter_mut().for_each(|value| *value /= length);
            }
        }
        let mut basis =
            Self { coordinates: vec![Vec::new(); columns], left, lengths: Vec::new(), taken: Vec::new() };
        if intercept {
            // About their means: an intercept explains a shift, which does no harm.
            basis.take(0);
            for j in 1..columns {
                let centred = length(&basis.left[j]);
                if centred > Collinearity::EXACT {
                    basis.left[j].iter_mut().for_each(|value| *value /= centred);
                    basis.coordinates[j][0] /= centred;
                    lengths[j] *= centred;
                }
            }
        }
        basis.lengths = lengths;
        basis
    }

    /// Makes column `j` the next orthonormal one, and removes its share from the rest. Done twice, so that rounding
    /// leaves the columns orthogonal.
    fn take(&mut self, j: usize) {
        let mut unit = std::mem::take(&mut self.left[j]);
        let size = length(&unit);
        unit.iter_mut().for_each(|value| *value /= size);
        self.coordinates[j].push(size);
        for i in j + 1..self.left.len() {
            let mut share = 0.0;
            for _ in 0..2 {
                let part = inner(&self.left[i], &unit);
                self.left[i].iter_mut().zip(&unit).for_each(|(value, u)| *value -= part * u);
                share += part;
            }
            self.coordinates[i].push(share);
        }
        self.taken.push(j);
    }

    fn dependences(mut self, names: &[String]) -> Collinearity {
        let mut rest = Vec::new();
        for j in self.taken.len()..self.left.len() {
            if length(&self.left[j]) > Collinearity::NEAR {
                self.take(j);
            } else {
                rest.push(j);
            }
        }
        let mut dependences: Vec<Dependence> = rest.iter().map(|&j| self.dependence(j, names)).collect();
        dependences.sort_by(|a, b| a.residual.total_cmp(&b.residual));
        Collinearity { dependences }
    }

    /// Column `j` in terms of those taken: back-substitution in the triangle of their coordinates.
    fn dependence(&self, j: usize, names: &[String]) -> Dependence {
        // Columns taken after it have not changed it: it was found to depend on those before.
        let count = self.coordinates[j].len();
        let mut right = self.coordinates[j].clone();
        let mut scaled = vec![0.0; count];
        for k in (0..count).rev() {
            let own = &self.coordinates[self.taken[k]];
            scaled[k] = right[k] / own[k];
            for (value, above) in right.iter_mut().zip(&own[..k]) {
                *value -= scaled[k] * above;
            }
        }
        let residual = length(&self.left[j]);
        let largest = scaled.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        // A coefficient smaller than the residual's own share means nothing.
        let least = largest * residual.max(1e-6);
        let mut others: Vec<(usize, f64)> = self
            .taken
            .iter()
            .zip(&scaled)
            .filter(|(_, value)| value.abs() > least)
            .map(|(&k, value)| (k, value * self.lengths[j] / self.lengths[k]))
            .collect();
        others.sort_by_key(|(k, _)| *k);
        Dependence {
            column: names[j].clone(),
            others: others.into_iter().map(|(k, value)| (names[k].clone(), value)).collect(),
            residual,
            exact: residual <= Collinearity::EXACT,
        }
    }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// √Σx², scaled so that large values do not overflow.
fn length(values: &[f64]) -> f64 {
    let most = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    if most <= 0.0 {
        return 0.0;
    }
    most * values.iter().map(|value| (value / most) * (value / most)).sum::<f64>().sqrt()
}
