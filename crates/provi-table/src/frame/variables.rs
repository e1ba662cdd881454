//! The columns that a design is made of: their ranges, means and levels, for whoever asks what the model says of them.

use serde::{Deserialize, Serialize};

use super::{
    basis::{mean, standard_deviation},
    options::Missing,
    recipe::{CodedFactor, Offset, Recipe},
    view::{View, complete_rows},
};
use crate::{
    cells::MissingWords, column::ColumnKind, columns::Values, error::Result, missing::Retype, table::Table,
};

/// What is known of a column in the rows used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Of numbers, and of dates as days since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<NumberFacts>,
    /// Of categories, and of numbers that are only 0 or 1: the level of the most rows; among equals, the first in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common: Option<String>,
    /// Of the same: their levels, in order; empty if there are more than [`Variable::MOST_LEVELS`], and for a column that only
    /// groups, whose levels are in the recipe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

/// The range of a column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NumberFacts {
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation, with n − 1.
    pub sd: f64,
    /// The largest.
    pub max: f64,
}

impl Variable {
    /// Most levels that are listed.
    pub const MOST_LEVELS: usize = 200;
}

impl Recipe {
    /// The columns of the model in the rows of a table.
    ///
    /// ```
    /// use provi_table::{Formula, FrameOptions, Missing, ModelFrame, Table};
    ///
    /// let table = Table::read(b"y,dose,town\n1,2,Bern\n0,4,Basel\n1,9,Bern\n", "fit.csv")?;
    /// let frame = ModelFrame::new(&table, &Formula::parse("y ~ dose + town")?, &FrameOptions::default())?;
    /// let found = frame.recipe().variables(&table, Missing::Error)?;
    /// assert_eq!(found, frame.variables);
    /// assert_eq!(found[0].numbers.map(|x| [x.min, x.mean, x.max]), Some([2.0, 5.0, 9.0]));
    /// assert_eq!((found[1].common.as_deref(), found[1].levels.len()), (Some("Bern"), 2));
    /// # Ok::<(), provi_table::Error>(())
    /// ```
    pub fn variables(&self, table: &Table, missing: Missing) -> Result<Vec<Variable>> {
        self.check()?;
        let table = &*table.with_missing(&MissingWords::new(&self.na), Retype::Whole);
        let table = &*table.with_days(&self.dates)?;
        let (rows, _) = complete_rows(table, &self.columns(), missing)?;
        self.variables_of(View { table, rows: &rows })
    }

    pub(crate) fn variables_of(&self, view: View<'_>) -> Result<Vec<Variable>> {
        self.columns().into_iter().map(|name| self.variable(view, name)).collect()
    }

    fn variable(&self, view: View<'_>, name: &str) -> Result<Variable> {
        let kind = view.table.kind(name).unwrap_or(ColumnKind::Missing);
        let as_number = self.is_number(name);
        let numbers = match as_number || (kind == ColumnKind::Number && self.levels_of(name).is_some()) {
            true => Some(NumberFacts::of(&view.numbers(name)?)),
            false => None,
        };
        let (mut levels, mut common) = (Vec::new(), None);
        let only_groups = !as_number && self.levels_of(name).is_none() && !self.is_tested(name);
        // A number that is only 0 or 1 is a category to whoever asks for its effect.
        let is_binary =
            |x: &NumberFacts| x.min.abs() <= 0.0 && (x.max - 1.0).abs() <= 0.0 && view.is_whole(name);
        let binary = kind == ColumnKind::Number && numbers.as_ref().is_some_and(is_binary);
        let counts = kind == ColumnKind::Boolean || binary || !as_number || self.levels_of(name).is_some();
        if counts && !only_groups {
            levels = view.levels(name)?;
            let mut rows = vec![0usize; levels.len()];
            view.places(name, &levels)?.into_iter().flatten().for_each(|place| rows[place] += 1);
            // Of several with the most rows, the first.
            let most = rows.iter().copied().max().unwrap_or(0);
            common =
                rows.iter().position(|count| *count == most).and_then(|place| levels.get(place)).cloned();
            if levels.len() > Variable::MOST_LEVELS {
                levels.clear();
            }
        }
        Ok(Variable { name: name.to_owned(), kind, numbers, common, levels })
    }

    /// The columns of a table's rows as this recipe uses them, with those of `also`: numbers (dates as days since 1970), true/false,
    /// and categories by the names of their levels. Rows with missing values are refused or left out; the recipe
    /// [without dates and words for missing values](Recipe::plain) makes the same design of them.
    pub fn columns_of(
        &self,
        table: &Table,
        also: Option<&str>,
        missing: Missing,
    ) -> Result<Vec<(String, Values)>> {
        self.check()?;
        let table = &*table.with_missing(&MissingWords::new(&self.na), Retype::Whole);
        let table = &*table.with_days(&self.dates)?;
        let mut names = self.columns();
        names.extend(also.filter(|name| !names.contains(name)));
        let (rows, _) = complete_rows(table, &names, missing)?;
        let view = View { table, rows: &rows };
        let of = |name: &str| -> Result<Values> {
            if !self.is_number(name) {
                let levels = view.levels(name)?;
                let places = view.places(name, &levels)?;
                let codes = places.into_iter().map(|place| place.map(|place| place as u32)).collect();
                return Ok(Values::Categories { codes, levels, ordered: false });
            }
            let numbers = view.numbers(name)?;
            Ok(match table.kind(name) {
                Some(ColumnKind::Boolean) => {
                    Values::Booleans(numbers.iter().map(|x| Some(*x > 0.5)).collect())
                }
                _ => Values::Numbers(numbers),
            })
        };
        names.into_iter().map(|name| Ok((name.to_owned(), of(name)?))).collect()
    }

    /// The same recipe for columns that have no missing values, and days instead of dates.
    pub fn plain(&self) -> Self {
        Self { na: Vec::new(), dates: Vec::new(), ..self.clone() }
    }

    /// Names of the columns in terms, in the order of their use: not those that only group or are offsets.
    pub fn term_columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for block in self.blocks() {
            block.columns_in_use(&mut |name| {
                if !names.contains(&name) {
                    names.push(name);
                }
            });
        }
        names
    }

    /// Whether the numbers of a column enter the design or an offset.
    pub fn is_number(&self, column: &str) -> bool {
        let terms = self.blocks().flat_map(|block| &block.terms);
        let mut found = terms.into_iter().any(|term| term.depends_on(column));
        for offset in &self.offsets {
            match offset {
                Offset::Number { x } => x.numbers(&mut |name| found |= name == column),
                Offset::Exposure { column: name } => found |= name == column,
            }
        }
        found
    }

    /// The levels of a column that the design codes as categories, the reference level first.
    pub fn levels_of(&self, column: &str) -> Option<Vec<String>> {
        let factors = self.blocks().flat_map(|block| &block.terms).flat_map(|term| &term.factors);
        let mut found: Option<(&Vec<String>, Option<usize>)> = None;
        for factor in factors {
            if let CodedFactor::Category { column: name, levels, reference } = factor
                && name == column
                && found.is_none_or(|(_, before)| before.is_none())
            {
                found = Some((levels, *reference));
            }
        }
        let (levels, reference) = found?;
        let first = reference.unwrap_or(0);
        let others = levels.iter().enumerate().filter(|(place, _)| *place != first);
        Some(levels.get(first).into_iter().chain(others.map(|(_, level)| level)).cloned().collect())
    }

    /// The values of a grouping column, in the order of the groups; empty for another column.
    pub fn group_levels(&self, column: &str) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for group in &self.groups {
            let Some(place) = group.factors.iter().position(|name| name == column) else { continue };
            for level in group.levels.iter().filter_map(|level| level.get(place)) {
                if seen.insert(level) {
                    out.push(level.clone());
                }
            }
        }
        out
    }

    /// Whether a column is the exposure.
    pub fn is_exposure(&self, column: &str) -> bool {
        self.offsets
            .iter()
            .any(|offset| matches!(offset, Offset::Exposure { column: name } if name == column))
    }

    /// Whether a comparison asks for the text of a column.
    fn is_tested(&self, column: &str) -> bool {
        let mut found = false;
        let mut look = |test: &crate::formula::TextTest| found |= test.column == column;
        for factor in self.blocks().flat_map(|block| &block.terms).flat_map(|term| &term.factors) {
            if let Some(x) = factor.number() {
                x.tests(&mut look);
            }
        }
        for offset in &self.offsets {
            if let Offset::Number { x } = offset {
                x.tests(&mut look);
            }
        }
        found
    }
}

impl View<'_> {
    /// Whether every number of a column is whole.
    fn is_whole(&self, column: &str) -> bool {
        self.numbers(column).is_ok_and(|all| all.iter().all(|x| x.fract().abs() <= 0.0))
    }
}

impl NumberFacts {
    fn of(values: &[f64]) -> Self {
        let mean = mean(values.iter().copied());
        let end = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(f64::NAN);
        Self { min: end(f64::min), mean, sd: standard_deviation(values, mean), max: end(f64::max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Formula, FrameOptions, ModelFrame};

    #[test]
    fn columns_as_they_are_used_make_the_same_design() {
        let text = "y,x,d,n,b,t,g\n1,1,2024-01-01,3,true,p,7\n0,2,2024-02-01,4,false,q,8\n1,6,2023-05-05,3,none,q,7\n\
            0,3,2024-01-09,4,true,r,9\n";
        let table = Table::read(text.as_bytes(), "t.csv").unwrap();
        let formula =
            Formula::parse("y ~ log(x) + d + factor(n) + b + I((t == \"q\") * x) + (1 + x | g)").unwrap();
        let options =
            FrameOptions { na: vec!["none".to_owned()], missing: Missing::Drop, ..FrameOptions::default() };
        let frame = ModelFrame::new(&table, &formula, &options).unwrap();
        let columns = frame.recipe().columns_of(&table, Some("y"), Missing::Drop).unwrap();
        assert!(columns.iter().any(|(name, values)| name == "y" && values.len() == 3));
        let again = Table::from_columns("again", columns).unwrap();
        let rows = frame.recipe().plain().rows(&again, crate::NewLevels::Refuse).unwrap();
        assert_eq!(rows.design, frame.design);
        assert_eq!(frame.recipe().term_columns(), ["x", "d", "n", "b", "t"]);
    }

    #[test]
    fn each_column_is_described_as_it_is_used() {
        let text = "y,x,n,b,t,g,e\n1,1,3,true,p,7,2\n0,2,4,false,q,8,1\n1,6,3,true,q,7,3\n0,3,4,true,r,9,1\n";
        let table = Table::read(text.as_bytes(), "t.csv").unwrap();
        let formula = Formula::parse("y ~ log(x) + factor(n) + b + I((t == \"q\") * x) + (1 | g)").unwrap();
        let options = FrameOptions { exposure: Some("e".to_owned()), ..FrameOptions::default() };
        let frame = ModelFrame::new(&table, &formula, &options).unwrap();
        let recipe = frame.recipe();
        let of = |name: &str| frame.variables.iter().find(|variable| variable.name == name).unwrap().clone();
        assert_eq!(of("x").numbers.map(|x| (x.min, x.mean, x.max)), Some((1.0, 3.0, 6.0)));
        assert_eq!((of("x").common, recipe.is_number("x")), (None, true));
        assert_eq!((of("n").common.as_deref(), recipe.is_number("n")), (Some("3"), false));
        assert_eq!(recipe.levels_of("n").unwrap(), ["3", "4"]);
        assert_eq!((of("b").common.as_deref(), of("b").levels.len()), (Some("true"), 2));
        assert_eq!((of("t").common.as_deref(), of("t").levels.len()), (Some("q"), 3));
        assert_eq!(
            (of("g").common, recipe.group_levels("g")),
            (None, vec!["7".into(), "8".into(), "9".into()])
        );
        let table = Table::read(b"y,s\n1,0\n0,1\n1,1\n", "t.csv").unwrap();
        let binary =
            ModelFrame::new(&table, &Formula::parse("y ~ s").unwrap(), &FrameOptions::default()).unwrap();
        assert_eq!((binary.variables[0].common.as_deref(), binary.variables[0].levels.len()), (Some("1"), 2));
        assert!(recipe.is_exposure("e") && of("e").numbers.is_some() && !recipe.is_exposure("x"));
    }
}
