//! The default prior: weakly informative on the scale of the data.

use super::Prior;
use crate::base::error::Result;
use crate::glm::Family;
use crate::glm::rows::DataSummary;

/// Normal distributions whose scales come from the data, as in rstanarm:
/// ```text
/// z_j ~ N(0, (2.5 s/sd(x_j))²),   Σ_j x̄_j z_j ~ N(m, (2.5 s)²),   all independent
/// ```
/// for slopes j and the intercept, a column of ones with x̄ = 1; the intercept's prior is therefore at the means of
/// the columns. s is the standard deviation of a gaussian response, and 1 for the other families; m is the link of
/// the mean response. See [`DataSummary`] for both. Without an intercept nothing is centred, and every coefficient
/// is a slope. If a column or a response does not vary, its standard deviation is taken as 1.
///
/// Units do not matter: x or a gaussian y in other units gives the same posterior in those units.
///
/// ```
/// use provi::{Design, target::{DataPrior, Family, Glm, Prior}};
///
/// let design = Design::dense(3, 2, &[1.0, 1.0, 1.0, 3.0, 1.0, 5.0])?;
/// let model = Glm::linear(design, &[1000.0, 2000.0, 3000.0], 1.0, Prior::default())?;
/// let default = DataPrior::new(&model.summary(), model.family(), 2);
/// assert_eq!((default.intercept, default.at), (Some(0), vec![1.0, 3.0]));
/// assert_eq!(default.laws[0].0, 2000.0);                     // the response at the mean of x
/// assert!((default.laws[1].1 - 2.5 * 500.0).abs() < 1e-9);   // 2.5 sd(y)/sd(x)
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DataPrior {
    /// Mean and standard deviation of each slope z_j; at the intercept, those of Σ_j x̄_j z_j.
    pub laws: Vec<(f64, f64)>,
    /// Index of the intercept, if its prior is at the means of the columns.
    pub intercept: Option<usize>,
    /// The column means x̄; unused without an intercept.
    pub at: Vec<f64>,
}

impl DataPrior {
    /// The prior of the first columns.
    pub fn new(data: &DataSummary, family: Family, first: usize) -> Self {
        let (intercept, spread) = (data.intercept(first), Prior::SCALE * data.spread(family));
        let columns = (0..first).filter_map(|j| data.column(j));
        let mut out = Self { laws: Vec::with_capacity(first), intercept, at: Vec::with_capacity(first) };
        for (j, column) in columns.enumerate() {
            out.at.push(column.mean);
            out.laws.push(match intercept {
                Some(intercept) if intercept == j => (data.location(family), spread),
                _ => (0.0, spread / column.sd),
            });
        }
        out
    }

    /// Sets the (mean, sd) of one coefficient. If it is the intercept, they are then its own and not those at the
    /// means.
    pub fn set(&mut self, j: usize, law: (f64, f64)) {
        self.laws[j] = law;
        if self.intercept == Some(j) {
            self.intercept = None;
        }
    }

    /// Adds a coefficient that is independent of the others.
    pub fn push(&mut self, law: (f64, f64)) {
        self.laws.push(law);
        self.at.push(0.0);
    }

    /// The prior of all coefficients.
    pub fn prior(&self) -> Result<Prior> {
        match self.intercept {
            Some(intercept) => Prior::centered(&self.laws, intercept, &self.at),
            None => {
                let (means, sds): (Vec<f64>, Vec<f64>) = self.laws.iter().copied().unzip();
                Prior::scales(&sds)?.with_mean(&means)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::glm::rows::Rows;

    fn rows(entries: &[f64], columns: usize, y: &[f64]) -> DataSummary {
        let design = Design::dense(y.len(), columns, entries).unwrap();
        Rows::new(Family::Poisson, design, y).unwrap().summary()
    }

    #[test]
    fn without_an_intercept_nothing_is_centred() {
        let found = DataPrior::new(&rows(&[1.0, 3.0], 1, &[2.0, 5.0]), Family::Poisson, 1);
        assert_eq!(found.laws, [(0.0, 2.5)]);
        assert_eq!(found.intercept, None);
        assert_eq!(found.prior().unwrap(), Prior::scales(&[2.5]).unwrap().with_mean(&[0.0]).unwrap());
    }

    #[test]
    fn the_intercept_is_a_column_that_does_not_vary_and_a_second_one_is_a_slope() {
        let data = rows(&[1.0, 2.0, 0.5, 3.0, 2.0, 0.5], 3, &[2.0, 5.0]);
        let found = DataPrior::new(&data, Family::Poisson, 3);
        assert_eq!(found.intercept, Some(1));
        assert_eq!(found.at, [2.0, 2.0, 0.5]);
        let expected = [(0.0, 2.5), (3.75f64.ln(), 2.5), (0.0, 2.5)];
        for (a, b) in found.laws.iter().zip(expected) {
            assert!((a.0 - b.0).abs() < 1e-14 && (a.1 - b.1).abs() < 1e-14, "{a:?} {b:?}");
        }
        // 2 z_0 + 2 z_1 + ½ z_2 has the mean log 3.75.
        let marginals = found.prior().unwrap().marginals(3).unwrap();
        assert!((marginals[1].0 - 0.5 * 3.75f64.ln()).abs() < 1e-15);
        let sd = 2.5 * (1.0f64 + 4.0 + 0.25).sqrt() / 2.0;
        assert!((marginals[1].1 - sd).abs() < 1e-14);
    }

    #[test]
    fn a_law_of_ones_own_leaves_the_others() {
        let mut found = DataPrior::new(&rows(&[1.0, 2.0, 1.0, 4.0], 2, &[2.0, 5.0]), Family::Poisson, 2);
        found.set(1, (5.0, 0.1));
        found.push((0.0, 3.0));
        let marginals = found.prior().unwrap().marginals(3).unwrap();
        assert!((marginals[0].0 - (3.75f64.ln() - 15.0)).abs() < 1e-14);
        assert!((marginals[1].1 - 0.1).abs() < 1e-15 && (marginals[2].1 - 3.0).abs() < 1e-15);
        found.set(0, (1.0, 2.0));
        let marginals = found.prior().unwrap().marginals(3).unwrap();
        assert!((marginals[0].0 - 1.0).abs() < 1e-15 && (marginals[0].1 - 2.0).abs() < 1e-15);
    }
}
