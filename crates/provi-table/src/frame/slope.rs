//! The derivative of a design with respect to one of its columns: exact, term by term.

use super::{
    apply::{NewLevels, exposure_values},
    basis::{Polynomial, Spline},
    options::Missing,
    recipe::{Block, CodedFactor, CodedTerm, Offset, Recipe},
    rows::DesignRows,
    view::{View, complete_rows},
};
use crate::{cells::MissingWords, error::Result, formula::Expression, missing::Retype, table::Table};

/// Derivatives with respect to a column, for the rows of [`Recipe::rows_with`].
#[derive(Debug, Clone, PartialEq)]
pub struct Slopes {
    /// da/dx for each row a of the design.
    pub design: DesignRows,
    /// do/dx for the offset o, if the model has one.
    pub offsets: Option<Vec<f64>>,
}

impl Recipe {
    /// The derivative of the design with respect to a column of numbers, at the rows of a table:
    /// ```text
    /// d(f₁⋯f_k) = Σ_i f_i′·Π_{j≠i} f_j,   categories and comparisons: 0,   x^y, log, poly, bs, s: their own derivatives
    /// ```
    /// The rows are those of [`Recipe::rows_with`]. A slope that is not finite, such as that of `sqrt(x)` at 0, is
    /// refused with its line.
    ///
    /// ```
    /// use provi_table::{Formula, FrameOptions, Missing, ModelFrame, NewLevels, Table};
    ///
    /// let table = Table::read(b"y,x,z\n1,2,5\n0,3,7\n1,5,1\n0,8,2\n", "fit.csv")?;
    /// let formula = Formula::parse("y ~ x * z + I(x^2)")?;
    /// let frame = ModelFrame::new(&table, &formula, &FrameOptions::default())?;
    /// let slopes = frame.recipe().slopes(&table, "x", NewLevels::Refuse, Missing::Error)?;
    /// assert_eq!(frame.names, ["(Intercept)", "x", "z", "I(x^2)", "x:z"]);
    /// assert_eq!(slopes.design.population[..5], [0.0, 1.0, 0.0, 4.0, 5.0]);
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn slopes(
        &self,
        table: &Table,
        column: &str,
        new_levels: NewLevels,
        missing: Missing,
    ) -> Result<Slopes> {
        self.check()?;
        let table = &*table.with_missing(&MissingWords::new(&self.na), Retype::Whole);
        let table = &*table.with_days(&self.dates)?;
        let (rows, _) = complete_rows(table, &self.columns(), missing)?;
        let view = View { table, rows: &rows };
        let (mut design, _) = self.design(view, new_levels)?;
        design.population = self.population.slopes(view, column)?;
        for (rows, group) in design.groups.iter_mut().zip(&self.groups) {
            rows.values = group.block.slopes(view, column)?;
        }
        let mut offsets: Option<Vec<f64>> = None;
        for offset in &self.offsets {
            let own = match offset {
                Offset::Number { x } => view.slopes(x, column)?.1,
                Offset::Exposure { column: name } if name == column => {
                    exposure_values(view, name)?.iter().map(|value| 1.0 / value).collect()
                }
                Offset::Exposure { .. } => vec![0.0; rows.len()],
            };
            match &mut offsets {
                Some(total) => total.iter_mut().zip(own).for_each(|(sum, value)| *sum += value),
                None => offsets = Some(own),
            }
        }
        Ok(Slopes { design, offsets })
    }
}

impl Block {
    /// The derivatives of its columns, row by row.
    fn slopes(&self, view: View<'_>, column: &str) -> Result<Vec<f64>> {
        let (rows, columns) = (view.rows.len(), self.columns.len());
        let mut out = vec![0.0; rows * columns];
        let mut place = usize::from(self.intercept);
        for term in &self.terms {
            let width = term.width();
            if term.factors.iter().any(|factor| factor.depends_on(column)) {
                let factors: Vec<Factor> =
                    term.factors.iter().map(|factor| factor.slopes(view, column)).collect::<Result<_>>()?;
                for (row, out) in out.chunks_mut(columns).enumerate() {
                    product(&factors, row, &mut out[place..place + width]);
                }
            }
            place += width;
        }
        for (place, column) in self.columns.iter().enumerate().filter(|(_, column)| column.is_scaled()) {
            out.iter_mut().skip(place).step_by(columns).for_each(|value| *value /= column.sd);
        }
        Ok(out)
    }
}

impl CodedTerm {
    /// Whether its columns change with a number in that column.
    pub(crate) fn depends_on(&self, column: &str) -> bool {
        self.factors.iter().any(|factor| factor.depends_on(column))
    }
}

/// A factor's columns and their derivatives, row by row.
struct Factor {
    width: usize,
    values: Vec<f64>,
    slopes: Vec<f64>,
}

/// The derivatives of a term's columns in one row; the first factor's columns vary fastest.
fn product(factors: &[Factor], row: usize, out: &mut [f64]) {
    let (mut values, mut slopes) = (vec![1.0], vec![0.0]);
    for factor in factors {
        let own = row * factor.width..(row + 1) * factor.width;
        let pairs = || factor.values[own.clone()].iter().zip(&factor.slopes[own.clone()]);
        let next = pairs()
            .flat_map(|(f, df)| values.iter().zip(&slopes).map(move |(v, dv)| dv * f + v * df))
            .collect();
        values = pairs().flat_map(|(f, _)| values.iter().map(move |v| v * f)).collect();
        slopes = next;
    }
    out.copy_from_slice(&slopes);
}

impl CodedFactor {
    /// The number that it is made of; `None` for a category.
    pub(crate) fn number(&self) -> Option<&Expression> {
        match self {
            Self::Number { x }
            | Self::Scaled { x, .. }
            | Self::Polynomial { x, .. }
            | Self::Spline { x, .. }
            | Self::Smooth { x, .. } => Some(x),
            Self::Category { .. } => None,
        }
    }

    fn depends_on(&self, column: &str) -> bool {
        let mut found = false;
        if let Some(x) = self.number() {
            x.numbers(&mut |name| found |= name == column);
        }
        found
    }

    fn slopes(&self, view: View<'_>, column: &str) -> Result<Factor> {
        let width = self.width();
        let Some(x) = self.number() else {
            // An indicator does not change with a number.
            let block = Block::of(self.clone());
            let values = block.values(view)?;
            return Ok(Factor { width, slopes: vec![0.0; values.len()], values });
        };
        let (points, inner) = view.slopes(x, column)?;
        let (mut values, mut slopes) = (Vec::new(), Vec::new());
        for (&x, &dx) in points.iter().zip(&inner) {
            let first = slopes.len();
            match self {
                Self::Polynomial { basis, .. } => {
                    basis.evaluate(x, &mut values);
                    basis.slopes(x, &mut slopes);
                }
                Self::Spline { basis, .. } => {
                    basis.evaluate(x, &mut values);
                    basis.slopes(x, &mut slopes);
                }
                Self::Smooth { basis, .. } => {
                    basis.evaluate(x, &mut values);
                    basis.slopes(x, &mut slopes);
                }
                Self::Scaled { mean, sd, .. } => {
                    values.push((x - mean) / sd);
                    slopes.push(1.0 / sd);
                }
                Self::Number { .. } | Self::Category { .. } => {
                    values.push(x);
                    slopes.push(1.0);
                }
            }
            slopes[first..].iter_mut().for_each(|slope| *slope *= dx);
        }
        Ok(Factor { width, values, slopes })
    }
}

impl Polynomial {
    /// The derivatives of the columns at x, appended to `row`: those of the recursion, P_{i+1}′ = P_i + (t − c)·P_i′ − ratio·P_{i−1}′.
    fn slopes(&self, x: f64, row: &mut Vec<f64>) {
        let t = (x - self.mean) / self.scale;
        let (mut before, mut last) = ((0.0, 0.0), (1.0, 0.0));
        for (i, centre) in self.centres.iter().enumerate() {
            let ratio = if i == 0 { 0.0 } else { self.norms[i] / self.norms[i - 1] };
            let value = (t - centre) * last.0 - ratio * before.0;
            let slope = last.0 + (t - centre) * last.1 - ratio * before.1;
            row.push(slope / (self.scale * self.norms[i + 1].sqrt()));
            before = std::mem::replace(&mut last, (value, slope));
        }
    }
}

impl Spline {
    /// The derivatives of the columns at x, appended to `row`: B_{i,3}′ = 3·(B_{i,2}/(t_{i+3} − t_i) − B_{i+1,2}/(t_{i+4} − t_{i+1})).
    fn slopes(&self, x: f64, row: &mut Vec<f64>) {
        let mut pairs = [(0.0, 0.0); Self::DEGREE + 1];
        let at = self.interval(x);
        pairs[0] = (1.0, 0.0);
        for degree in 1..=Self::DEGREE {
            let mut carried = (0.0, 0.0);
            for r in 0..degree {
                let (left, right) = (self.knot(at + 1 + r - degree), self.knot(at + 1 + r));
                let share = (pairs[r].0 / (right - left), pairs[r].1 / (right - left));
                pairs[r] = (carried.0 + (right - x) * share.0, carried.1 + (right - x) * share.1 - share.0);
                carried = ((x - left) * share.0, (x - left) * share.1 + share.0);
            }
            pairs[degree] = carried;
        }
        let first = at - Self::DEGREE;
        row.extend((1..=self.count()).map(|i| match i.checked_sub(first) {
            Some(place) if place <= Self::DEGREE => pairs[place].1,
            _ => 0.0,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Formula, FrameOptions, ModelFrame, Values};

    /// Rows in which x is shifted by `by`.
    fn table(by: f64) -> Table {
        let n = 24;
        let at = |i: usize| 0.4 + 0.31 * i as f64 + 0.07 * ((i * i) % 5) as f64;
        let x = (0..n).map(|i| at(i) + by).collect();
        let z = (0..n).map(|i| ((7 * i) % 11) as f64 - 4.0).collect();
        let town = (0..n).map(|i| Some(["Bern", "Basel", "Chur"][i % 3].to_owned())).collect();
        let y = (0..n).map(|i| f64::from(u8::from(i % 4 == 1))).collect();
        let columns = [
            ("y", Values::Numbers(y)),
            ("x", Values::Numbers(x)),
            ("z", Values::Numbers(z)),
            ("town", Values::Text(town)),
        ];
        Table::from_columns("t", columns.map(|(name, values)| (name.to_owned(), values)).to_vec()).unwrap()
    }

    fn recipe(formula: &str) -> Recipe {
        let formula = Formula::parse(formula).unwrap();
        ModelFrame::new(&table(0.0), &formula, &FrameOptions::default()).unwrap().recipe().clone()
    }

    /// Central differences of fourth order: their error is h⁴/30 times the fifth derivative, and that of rounding near ε/h.
    fn differences(recipe: &Recipe) -> (Vec<f64>, Vec<Vec<f64>>, Vec<f64>) {
        let h = 2e-3;
        let at = |k: f64| recipe.rows(&table(k * h), NewLevels::Refuse).unwrap();
        let all = [at(-2.0), at(-1.0), at(1.0), at(2.0)];
        let weigh = |of: &dyn Fn(usize) -> Vec<f64>| -> Vec<f64> {
            let parts = [0, 1, 2, 3].map(of);
            let at =
                |i: usize| (parts[0][i] - 8.0 * parts[1][i] + 8.0 * parts[2][i] - parts[3][i]) / (12.0 * h);
            (0..parts[0].len()).map(at).collect()
        };
        let groups = recipe.groups.len();
        (
            weigh(&|k| all[k].design.population.clone()),
            (0..groups).map(|g| weigh(&|k| all[k].design.groups[g].values.clone())).collect(),
            weigh(&|k| all[k].offsets.clone().unwrap_or_default()),
        )
    }

    #[test]
    fn slopes_are_the_limits_of_differences() {
        for formula in [
            "y ~ x * z * town",
            "y ~ log(x) + sqrt(x):town + I(x^2) + I(z / x) + I(2^x) + I(x^z)",
            "y ~ poly(x, 3) * town + scale(x):z + center(log1p(x))",
            "y ~ bs(x, 3) + bs(x, 5):z",
            "y ~ s(x, k = 4) + z",
            "y ~ s(x, period = 3.1, k = 6) + s(z, k = 4)",
            "y ~ exp(-x) + expm1(x) + log2(x) + log10(x) + abs(x - 3.001) + I(x > 2.001)",
            "y ~ z + offset(log(x)) + offset(x * z) + (1 + x + I(x^2) | town)",
        ] {
            let recipe = recipe(formula);
            let found = recipe.slopes(&table(0.0), "x", NewLevels::Refuse, Missing::Error).unwrap();
            let (population, groups, offsets) = differences(&recipe);
            let near = |found: &[f64], expected: &[f64]| {
                assert_eq!(found.len(), expected.len(), "{formula}");
                for (a, b) in found.iter().zip(expected) {
                    assert!((a - b).abs() <= 2e-7 * (1.0 + b.abs()), "{formula}: {a} and {b}");
                }
            };
            near(&found.design.population, &population);
            near(found.offsets.as_deref().unwrap_or_default(), &offsets);
            groups.iter().zip(&found.design.groups).for_each(|(expected, rows)| near(&rows.values, expected));
        }
    }

    #[test]
    fn what_does_not_change_has_slope_zero_and_an_infinite_slope_is_refused() {
        let flat =
            recipe("y ~ z + town").slopes(&table(0.0), "x", NewLevels::Refuse, Missing::Error).unwrap();
        assert!(flat.design.population.iter().all(|slope| slope.abs() <= 0.0) && flat.offsets.is_none());
        let error =
            recipe("y ~ sqrt(x)").slopes(&table(-0.4), "x", NewLevels::Refuse, Missing::Error).unwrap_err();
        assert!(error.to_string().contains("slope of sqrt(x)"), "{error}");
    }
}
