//! The design: dense population columns, and for each group term the level of every row.

use serde::{Deserialize, Serialize};

/// What a coefficient is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Role {
    /// The population intercept.
    Intercept,
    /// A column of a population term.
    Population {
        /// Index of the term.
        term: usize,
    },
    /// A column of a group term, for one level.
    Group {
        /// Index of the group term.
        term: usize,
        /// Index of the level.
        level: usize,
        /// Index of the column.
        column: usize,
    },
}

/// The rows of a design.
///
/// Columns are in the order of the coefficients: the population's, then each group term's, level by level. A row
/// has entries only for its own level.
#[derive(Debug, Clone, PartialEq)]
pub struct DesignRows {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns, including those of all group levels.
    pub columns: usize,
    /// Number of population columns; they come first.
    pub population_columns: usize,
    /// The population columns, row by row.
    pub population: Vec<f64>,
    /// The group terms.
    pub groups: Vec<GroupRows>,
}

/// The rows of one group term.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRows {
    /// The term's first column in the design.
    pub first: usize,
    /// Columns of each level: level l has the columns first + l·columns + 0..columns.
    pub columns: usize,
    /// Level of each row; `None` for a level that was not there when the model was fitted.
    pub levels: Vec<Option<usize>>,
    /// What varies by level, row by row.
    pub values: Vec<f64>,
}

/// A design in compressed rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CompressedRows {
    /// Where each row starts, and where the last ends.
    pub starts: Vec<usize>,
    /// Column of each entry, ascending within a row.
    pub columns: Vec<usize>,
    /// The entries; no zeros.
    pub values: Vec<f64>,
}

impl DesignRows {
    /// The population columns of a row.
    pub fn population_row(&self, row: usize) -> &[f64] {
        &self.population[row * self.population_columns..(row + 1) * self.population_columns]
    }

    /// The whole design without its zeros. Cost: one pass.
    pub fn compressed(&self) -> CompressedRows {
        let mut rows = CompressedRows { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        let mut push = |column: usize, value: f64| {
            // A zero of either sign adds nothing.
            if value.abs() > 0.0 {
                rows.columns.push(column);
                rows.values.push(value);
            }
            rows.values.len()
        };
        for row in 0..self.rows {
            let mut end = rows.starts[row];
            for (column, &value) in self.population_row(row).iter().enumerate() {
                end = push(column, value);
            }
            for group in &self.groups {
                let Some(level) = group.levels[row] else { continue };
                let first = group.first + level * group.columns;
                for (column, &value) in group.row(row).iter().enumerate() {
                    end = push(first + column, value);
                }
            }
            rows.starts.push(end);
        }
        rows
    }

    /// η = Xβ for one coefficient vector, in the order of the columns.
    pub fn predictor(&self, coefficients: &[f64]) -> Vec<f64> {
        let sum = |values: &[f64], from: usize| -> f64 {
            values.iter().zip(&coefficients[from..]).map(|(x, b)| x * b).sum()
        };
        let group = |group: &GroupRows, row: usize| match group.levels[row] {
            Some(level) => sum(group.row(row), group.first + level * group.columns),
            None => 0.0,
        };
        let row = |row: usize| {
            self.groups.iter().fold(sum(self.population_row(row), 0), |eta, g| eta + group(g, row))
        };
        (0..self.rows).map(row).collect()
    }
}

impl GroupRows {
    /// What varies by level, in one row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}
