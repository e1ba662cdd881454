//! Rows of a linear-predictor model as a caller has them, checked.

use crate::{
    error::{Error, Result, same_length},
    family::{Family, Kind},
    shape::Shape,
};
pub use provi::device::{
    DeviceFormWeights as FormWeights, DeviceForms as Forms, DeviceMoments as Moments, DeviceRule as Rule,
};

/// Rows: s_n = x_nᵀz + o_n, and −log p(y|z) = Σ_n w_n φ(s_n) up to a constant.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// φ.
    pub family: Family,
    /// d, the length of a row.
    pub columns: usize,
    /// The rows x_n, one after the other.
    pub design: &'a [f64],
    /// y_n.
    pub response: &'a [f64],
    /// w_n ≥ 0; one for every row if there are none.
    pub weights: Option<&'a [f64]>,
    /// o_n; zero if there are none.
    pub offsets: Option<&'a [f64]>,
}

/// A [`Table`] without its design.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// φ.
    pub family: Family,
    /// d, the length of a row.
    pub columns: usize,
    /// y_n.
    pub response: &'a [f64],
    /// w_n ≥ 0; one for every row if there are none.
    pub weights: Option<&'a [f64]>,
    /// o_n; zero if there are none.
    pub offsets: Option<&'a [f64]>,
}

impl<'a> Table<'a> {
    pub(crate) fn header(&self) -> Header<'a> {
        let Table { family, columns, response, weights, offsets, .. } = *self;
        Header { family, columns, response, weights, offsets }
    }
}

impl Header<'_> {
    pub(crate) fn shape(&self) -> Shape {
        Shape { rows: self.response.len(), columns: self.columns }
    }

    /// What [`Table::check`] refuses, the design apart.
    pub(crate) fn check(&self) -> Result<()> {
        let rows = self.response.len();
        if rows == 0 || self.columns == 0 {
            return Err(Error::Shape { what: "rows and columns", found: 0, expected: 1 });
        }
        for (what, values) in [("weights", self.weights), ("offsets", self.offsets)] {
            let Some(values) = values else { continue };
            same_length(what, values.len(), rows)?;
            let least = if what == "weights" { 0.0 } else { f64::MIN };
            if let Some(x) = values.iter().find(|&&x| !(x >= least && x.is_finite())) {
                let needed =
                    if what == "weights" { "a finite number of at least 0" } else { "a finite number" };
                return Err(Error::OutOfRange { what, value: format!("{x}"), needed });
            }
        }
        self.family.check(self.response)
    }

    pub(crate) fn kind(&self) -> Kind {
        let one = |w: &f64| w.to_bits() == 1f64.to_bits();
        self.family.kind(self.weights.is_some_and(|w| !w.iter().all(one)))
    }

    /// Offset, code and weight of row n; of a row beyond the last, those that add nothing.
    pub(crate) fn numbers(&self, kind: Kind, n: usize) -> [f64; 3] {
        let Some(&y) = self.response.get(n) else { return kind.filler() };
        [self.offsets.map_or(0.0, |o| o[n]), self.family.code(y), self.weights.map_or(1.0, |w| w[n])]
    }
}

impl Table<'_> {
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.header().shape()
    }

    /// Refuses lengths that do not fit together and numbers outside their range.
    pub fn check(&self) -> Result<()> {
        let rows = self.response.len();
        if rows == 0 || self.columns == 0 {
            return Err(Error::Shape { what: "rows and columns", found: 0, expected: 1 });
        }
        same_length("design", self.design.len(), rows.saturating_mul(self.columns))?;
        if let Some(x) = self.design.iter().find(|x| !x.is_finite()) {
            return Err(Error::OutOfRange {
                what: "entry of the design",
                value: format!("{x}"),
                needed: "a finite number",
            });
        }
        self.header().check()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.header().kind()
    }

    /// Offset, code and weight of row n; of a row beyond the last, those that add nothing.
    pub(crate) fn numbers(&self, kind: Kind, n: usize) -> [f64; 3] {
        self.header().numbers(kind, n)
    }
}

/// q = N(m, CCᵀ), C lower triangular and packed row by row.
#[derive(Clone, Copy, Debug)]
pub struct Normal<'a> {
    /// m.
    pub mean: &'a [f64],
    /// C.
    pub factor: &'a [f64],
}

impl Normal<'_> {
    pub(crate) fn check(&self, dim: usize) -> Result<()> {
        same_length("mean", self.mean.len(), dim)?;
        same_length("factor", self.factor.len(), dim * (dim + 1) / 2)
    }
}

/// Refuses a stripe of rows that is empty or reaches beyond the last.
pub(crate) fn check_stripe(rows: usize, first: usize, values: &[f64]) -> Result<()> {
    let end = first.saturating_add(values.len());
    if values.is_empty() || end > rows {
        return Err(Error::Shape { what: "rows of a Gram matrix", found: end, expected: rows });
    }
    Ok(())
}

/// Refuses forms whose weights or factor do not fit to a table of so many rows and columns.
pub(crate) fn check_forms(
    (rows, columns): (usize, usize),
    first: usize,
    factor: &[f64],
    values: &FormWeights<'_>,
) -> Result<()> {
    check_stripe(rows, first, values.third)?;
    same_length("factor", factor.len(), columns * (columns + 1) / 2)?;
    let mut all = values.quadratic.iter().chain(&values.quartic);
    all.try_for_each(|one| same_length("weights of a form", one.len(), values.third.len()))
}

pub(crate) fn check_rules(rules: &[Rule<'_>]) -> Result<()> {
    if rules.is_empty() {
        return Err(Error::Shape { what: "quadrature rules", found: 0, expected: 1 });
    }
    rules.iter().try_for_each(|rule| {
        same_length("weights of a quadrature rule", rule.weights.len(), rule.nodes.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let table = Table {
            family: Family::Logistic,
            columns: 2,
            design: &[1.0, 2.0, 3.0, 4.0],
            response: &[0.0, 1.0],
            weights: None,
            offsets: None,
        };
        table.check().unwrap();
        let said = |table: Table<'_>| table.check().unwrap_err().to_string();
        assert!(said(Table { design: &[1.0], ..table }).contains("design: 1 numbers, and 4 are needed"));
        assert!(
            said(Table { design: &[1.0, f64::NAN, 0.0, 0.0], ..table }).contains("entry of the design = NaN")
        );
        assert!(said(Table { weights: Some(&[1.0, -1.0]), ..table }).contains("weights = -1"));
        assert!(said(Table { offsets: Some(&[1.0]), ..table }).contains("offsets: 1 numbers"));
        assert!(
            said(Table { response: &[0.0, 0.5], ..table }).contains("response = 0.5, and 0 or 1 is needed")
        );
        assert!(said(Table { response: &[], design: &[], ..table }).contains("rows and columns"));
        let gamma = Family::Gamma { shape: 0.0 };
        assert!(said(Table { family: gamma, ..table }).contains("parameter of the family = 0"));
    }

    #[test]
    fn weights_of_one_are_no_weights() {
        let table = Table {
            family: Family::Logistic,
            columns: 1,
            design: &[1.0, 2.0],
            response: &[0.0, 1.0],
            weights: Some(&[1.0, 1.0]),
            offsets: None,
        };
        assert_eq!(table.kind(), Kind::Logistic);
        assert_eq!(Table { weights: Some(&[1.0, 2.0]), ..table }.kind(), Kind::LogisticWeighted);
    }
}
