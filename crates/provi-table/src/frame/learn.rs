//! A formula and a table to a recipe: levels, contrasts, and the constants of bases and scales.

use super::{
    basis::{Polynomial, Spline, distinct, mean, standard_deviation},
    options::FrameOptions,
    recipe::{Block, CodedColumn, CodedFactor, CodedTerm, GroupRecipe, Offset, Recipe},
    view::View,
};
use crate::{
    column::ColumnKind,
    error::{Error, Result},
    formula::{Expression, Factor, Formula, Group, Term},
    nearest::nearest,
};

/// The intercept's name, as R writes it.
pub const INTERCEPT: &str = "(Intercept)";

/// What learning needs at every step.
#[derive(Clone, Copy)]
pub(crate) struct Learner<'a> {
    pub(crate) view: View<'a>,
    pub(crate) formula: &'a Formula,
    pub(crate) options: &'a FrameOptions,
}

impl Learner<'_> {
    /// The recipe of a formula whose `.` is written out.
    pub(crate) fn recipe(&self) -> Result<Recipe> {
        let terms: Vec<&[Factor]> =
            self.formula.terms.iter().filter_map(|term| product(&term.node)).collect();
        let population = self.block(&terms, self.formula.intercept)?;
        let groups: Vec<GroupRecipe> =
            self.formula.groups.iter().map(|group| self.group(&group.node)).collect::<Result<_>>()?;
        let mut offsets: Vec<Offset> =
            self.formula.offsets.iter().map(|offset| Offset::Number { x: offset.node.clone() }).collect();
        if let Some(column) = &self.options.offset {
            offsets.push(Offset::Number { x: Expression::Column(column.clone()) });
        }
        if let Some(column) = &self.options.exposure {
            offsets.push(Offset::Exposure { column: column.clone() });
        }
        let mut names: Vec<String> = population.columns.iter().map(|column| column.name.clone()).collect();
        groups.iter().for_each(|group| names.extend(group.names()));
        Ok(Recipe {
            version: Recipe::VERSION,
            formula: self.formula.to_string(),
            names,
            population,
            groups,
            offsets,
        })
    }

    /// The columns of some terms.
    fn block(&self, terms: &[&[Factor]], intercept: bool) -> Result<Block> {
        let mut coded = Vec::with_capacity(terms.len());
        let mut full_given = intercept;
        for (place, factors) in terms.iter().enumerate() {
            let mut term = Vec::with_capacity(factors.len());
            for factor in *factors {
                let mut one = self.factor(factor)?;
                if let CodedFactor::Category { column, reference, levels } = &mut one {
                    if !has_margin(&terms[..place], factors, factor) {
                        *reference = None;
                    }
                    // Without an intercept, the first category takes its place.
                    if !full_given {
                        *reference = None;
                    }
                    full_given = true;
                    if let [level] = levels.as_slice() {
                        return Err(self.one_level(column, level));
                    }
                }
                term.push(one);
            }
            coded.push(CodedTerm { text: text(factors), factors: term });
        }
        let columns = intercept.then(|| (INTERCEPT.to_owned(), None)).into_iter().chain(
            coded
                .iter()
                .enumerate()
                .flat_map(|(i, term)| term.names().into_iter().map(move |name| (name, Some(i)))),
        );
        let columns = columns.map(|(name, term)| CodedColumn { name, term, mean: 0.0, sd: 1.0 }).collect();
        let mut block = Block { intercept, terms: coded, columns };
        if self.options.standardize {
            self.standardize(&mut block)?;
        }
        Ok(block)
    }

    /// A factor with its constants; a category refers to a level for now.
    fn factor(&self, factor: &Factor) -> Result<CodedFactor> {
        let evaluate = |x: &Expression| self.view.evaluate(x).map_err(|error| self.point(error, x));
        let few = |needed: usize, x: &Expression, values: &[f64]| {
            let error = Error::TooFewValues {
                term: factor.to_string(),
                needed,
                distinct: distinct(values),
                span: None,
            };
            self.point(error, x)
        };
        Ok(match factor {
            Factor::Column(name) => match self.view.table.kind(name) {
                Some(ColumnKind::Category) => {
                    self.refuse_mixed(name)?;
                    self.category(name)?
                }
                _ => {
                    let x = Expression::Column(name.clone());
                    evaluate(&x)?;
                    CodedFactor::Number { x }
                }
            },
            Factor::Category(name) => self.category(name)?,
            Factor::Number(x) => {
                evaluate(x)?;
                CodedFactor::Number { x: x.clone() }
            }
            Factor::Center(x) => {
                let mean = mean(&evaluate(x)?);
                CodedFactor::Scaled { x: x.clone(), mean, sd: 1.0, function: "center".to_owned() }
            }
            Factor::Scale(x) => {
                let values = evaluate(x)?;
                let mean = mean(&values);
                let sd = standard_deviation(&values, mean);
                if sd <= 0.0 {
                    return Err(few(1, x, &values));
                }
                CodedFactor::Scaled { x: x.clone(), mean, sd, function: "scale".to_owned() }
            }
            Factor::Polynomial(x, degree) => {
                let values = evaluate(x)?;
                let basis = Polynomial::learn(&values, *degree).ok_or_else(|| few(*degree, x, &values))?;
                CodedFactor::Polynomial { x: x.clone(), basis }
            }
            Factor::Spline(x, count) => {
                let values = evaluate(x)?;
                let basis = Spline::learn(&values, *count).ok_or_else(|| few(*count, x, &values))?;
                CodedFactor::Spline { x: x.clone(), basis }
            }
        })
    }

    fn category(&self, column: &str) -> Result<CodedFactor> {
        let levels = self.view.levels(column).map_err(|error| self.point_at(error, column))?;
        let reference = self.reference(column, &levels)?;
        Ok(CodedFactor::Category { column: column.to_owned(), levels, reference: Some(reference) })
    }

    /// Index of the level asked for, or the first.
    pub(crate) fn reference(&self, column: &str, levels: &[String]) -> Result<usize> {
        let Some((_, level)) = self.options.references.iter().find(|(name, _)| name == column) else {
            return Ok(0);
        };
        levels.iter().position(|other| other == level).ok_or_else(|| Error::UnknownReference {
            column: column.to_owned(),
            level: level.clone(),
            nearest: nearest(level, levels.iter().map(String::as_str)).map(str::to_owned),
            levels: levels.to_vec(),
        })
    }

    fn group(&self, group: &Group) -> Result<GroupRecipe> {
        let terms: Vec<&[Factor]> = group.terms.iter().filter_map(product).collect();
        let block = self.block(&terms, group.intercept)?;
        let levels = self.group_levels(&group.factors)?;
        Ok(GroupRecipe {
            text: group.to_string(),
            factors: group.factors.clone(),
            levels,
            correlated: group.correlated,
            block,
        })
    }

    /// The combinations of levels that occur, in the order of the columns' levels.
    fn group_levels(&self, factors: &[String]) -> Result<Vec<Vec<String>>> {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); self.view.rows.len()];
        let mut levels = Vec::new();
        for factor in factors {
            let point = |error| self.point_at(error, factor);
            let own = self.view.levels(factor).map_err(point)?;
            let cells = self.view.cells(factor).map_err(point)?;
            let places: std::collections::HashMap<&str, usize> =
                own.iter().zip(0..).map(|(level, place)| (level.as_str(), place)).collect();
            for (row, cell) in rows.iter_mut().zip(&cells) {
                row.extend(places.get(cell.as_str()));
            }
            levels.push(own);
        }
        rows.sort_unstable();
        rows.dedup();
        let named =
            |row: Vec<usize>| row.iter().zip(&levels).map(|(&place, own)| own[place].clone()).collect();
        Ok(rows.into_iter().map(named).collect())
    }

    /// Mean and deviation of the columns that are not indicators.
    fn standardize(&self, block: &mut Block) -> Result<()> {
        let values = block.values(self.view)?;
        let width = block.columns.len();
        let indicator: Vec<bool> = block.terms.iter().map(|term| self.is_indicator(term)).collect();
        for (place, column) in block.columns.iter_mut().enumerate() {
            let Some(term) = column.term else { continue };
            if indicator[term] {
                continue;
            }
            let own: Vec<f64> = values.iter().skip(place).step_by(width).copied().collect();
            let centre = mean(&own);
            let sd = standard_deviation(&own, centre);
            if sd > 0.0 {
                column.sd = sd;
                column.mean = if block.intercept { centre } else { 0.0 };
            }
        }
        Ok(())
    }

    /// Is the term made of 0 and 1 alone?
    fn is_indicator(&self, term: &CodedTerm) -> bool {
        term.factors.iter().all(|factor| match factor {
            CodedFactor::Category { .. } => true,
            CodedFactor::Number { x: Expression::Column(name) } => {
                self.view.table.kind(name) == Some(ColumnKind::Boolean)
            }
            _ => false,
        })
    }

    /// Text that is mostly numbers is a slip more often than a category.
    fn refuse_mixed(&self, name: &str) -> Result<()> {
        let column = self.view.table.column(self.view.table.place(name)?);
        let present = self.view.table.rows() - column.missing;
        match &column.first_text {
            Some(cell) if 2 * column.numbers >= present => {
                let (line, found) = self.view.table.found(cell);
                let error = Error::MixedColumn {
                    table: self.view.table.name().to_owned(),
                    column: name.to_owned(),
                    line,
                    found,
                    numbers: column.numbers,
                    span: None,
                };
                Err(self.point_at(error, name))
            }
            _ => Ok(()),
        }
    }

    fn one_level(&self, column: &str, level: &str) -> Error {
        let error = Error::OneLevel {
            table: self.view.table.name().to_owned(),
            column: column.to_owned(),
            level: level.to_owned(),
            span: None,
        };
        self.point_at(error, column)
    }

    /// The same refusal, with the place of its column.
    pub(crate) fn point_at(&self, error: Error, column: &str) -> Error {
        error.at(self.formula.place_of(column))
    }

    /// The same refusal, with the place of the first column of the expression that it may be about.
    pub(crate) fn point(&self, error: Error, x: &Expression) -> Error {
        let about = error.column().map(str::to_owned);
        let mut first = None;
        x.columns(&mut |name| {
            first.get_or_insert(name);
        });
        match about.as_deref().or(first) {
            Some(column) => self.point_at(error, column),
            None => error,
        }
    }
}

/// R's rule: a category is coded by contrasts in a term if the term without it is part of a term before;
/// otherwise every level has its own column. Nothing, which the intercept stands for, is part of all.
fn has_margin(before: &[&[Factor]], term: &[Factor], factor: &Factor) -> bool {
    let mut margin = term.iter().filter(|other| *other != factor).peekable();
    if margin.peek().is_none() {
        return true;
    }
    let margin: Vec<&Factor> = margin.collect();
    before.iter().any(|earlier| margin.iter().all(|other| earlier.contains(other)))
}

fn product(term: &Term) -> Option<&[Factor]> {
    match term {
        Term::Product(factors) => Some(factors),
        Term::Others { .. } => None,
    }
}

fn text(factors: &[Factor]) -> String {
    Term::Product(factors.to_vec()).to_string()
}

impl GroupRecipe {
    /// Names of the coefficients, level by level: `(x | clinic)[3]`, with 1 for the intercept.
    pub(crate) fn names(&self) -> Vec<String> {
        let grouping = self.factors.join(":");
        let name = |level: &[String], column: &CodedColumn| {
            let varying = column.term.map_or("1", |_| column.name.as_str());
            format!("({varying} | {grouping})[{}]", level.join(":"))
        };
        self.levels
            .iter()
            .flat_map(|level| self.block.columns.iter().map(move |column| name(level, column)))
            .collect()
    }
}
