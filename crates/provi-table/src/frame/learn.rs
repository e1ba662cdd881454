//! From a formula and facts about the data to a recipe: levels, contrasts, and the constants of bases and scales.

use super::{
    apply::offsets,
    basis::{Polynomial, Spline, distinct},
    facts::{Counted, Facts, Spread},
    fill::MOST_ENTRIES,
    options::FrameOptions,
    recipe::{Block, CodedColumn, CodedFactor, CodedTerm, GroupRecipe, Recipe},
    smooth::Smooth,
};
use crate::{
    column::ColumnKind,
    days::DateColumn,
    error::{BadModel, BadValue, Error, Result, UnfitColumn},
    formula::{Expression, Factor, Formula, Group, Smoothing, Term},
    nearest::nearest,
    room::available_memory,
};

/// The most coefficients of a fit: the answer alone has a number for every pair of them.
const MOST_COEFFICIENTS: usize = 1 << 20;

/// A size in bytes so small that free memory is not checked.
const SMALL: u64 = 64 << 20;

/// The intercept's name, as R writes it.
pub const INTERCEPT: &str = "(Intercept)";

/// What learning needs at every step.
#[derive(Clone, Copy)]
pub(crate) struct Learner<'a> {
    pub(crate) facts: &'a dyn Facts,
    pub(crate) formula: &'a Formula,
    pub(crate) options: &'a FrameOptions,
    /// Whether all rows of the design are made at once.
    pub(crate) whole: bool,
}

impl Learner<'_> {
    /// The recipe of a formula whose `.` is expanded, and the numbers of rows of each group's levels; no column is
    /// standardized yet.
    pub(crate) fn recipe(&self, dates: Vec<DateColumn>) -> Result<(Recipe, Vec<Vec<usize>>)> {
        let terms: Vec<&[Factor]> =
            self.formula.terms.iter().filter_map(|term| product(&term.node)).filter(has_columns).collect();
        let population = self.block(&terms, self.formula.intercept)?;
        let mut coefficients = population.columns.len();
        let mut groups: Vec<(GroupRecipe, Vec<usize>)> = Vec::new();
        for group in &self.formula.groups {
            groups.push(self.group(&group.node, &mut coefficients)?);
        }
        for (factor, x, how) in self.formula.smooths() {
            let curve = self.smooth(factor, x, how)?;
            self.count(&mut coefficients, &curve.text, 1, curve.block.columns.len())?;
            groups.push((curve, vec![self.facts.rows()]));
        }
        let (groups, counts): (Vec<GroupRecipe>, _) = groups.into_iter().unzip();
        let offsets = offsets(self.formula, self.options);
        self.refuse_repeated_offsets()?;
        let mut names: Vec<String> = population.columns.iter().map(|column| column.name.clone()).collect();
        groups.iter().for_each(|group| names.extend(group.names()));
        let formula = self.text()?;
        let (version, na) = (Recipe::VERSION, self.options.na.clone());
        Ok((Recipe { version, formula, names, population, groups, offsets, na, dates }, counts))
    }

    /// Refuses an offset that is given twice, in the formula and as an option: it is unclear whether it should
    /// count twice.
    fn refuse_repeated_offsets(&self) -> Result<()> {
        let written =
            self.formula.offsets.iter().map(|x| (x.node.to_string(), format!("`offset({})`", x.node)));
        let name = |column: &String| Expression::Column(column.clone());
        let column = self.options.offset.iter().map(|c| (name(c).to_string(), format!("the offset `{c}`")));
        let exposure = self.options.exposure.iter();
        let exposure = exposure.map(|c| (format!("log({})", name(c)), format!("the exposure `{c}`")));
        let all: Vec<(String, String)> = written.chain(column).chain(exposure).collect();
        for (i, (text, second)) in all.iter().enumerate() {
            if let Some((_, first)) = all[..i].iter().find(|(other, _)| other == text) {
                let (text, first, second) = (text.clone(), first.clone(), second.clone());
                return Err(Error::Model(BadModel::RepeatedOffset { text, first, second }));
            }
        }
        Ok(())
    }

    /// The columns of some terms.
    fn block(&self, terms: &[&[Factor]], intercept: bool) -> Result<Block> {
        let mut coded = Vec::with_capacity(terms.len());
        let mut full_given = intercept;
        let mut width = usize::from(intercept);
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
            let term = CodedTerm { text: text(factors), factors: term };
            // Before its columns even have names.
            width = width.saturating_add(term.width());
            self.refuse_wide(width, &term)?;
            coded.push(term);
        }
        let columns = intercept.then(|| (INTERCEPT.to_owned(), None)).into_iter().chain(
            coded
                .iter()
                .enumerate()
                .flat_map(|(i, term)| term.names().into_iter().map(move |name| (name, Some(i)))),
        );
        let columns = columns.map(|(name, term)| CodedColumn { name, term, mean: 0.0, sd: 1.0 }).collect();
        Ok(Block { intercept, terms: coded, columns })
    }

    /// A factor with its constants; at this stage a category always has a reference level.
    fn factor(&self, factor: &Factor) -> Result<CodedFactor> {
        let number = |x: &Expression| {
            self.facts.check(x).map_err(|error| self.point(error, x))?;
            Ok(CodedFactor::Number { x: x.clone() })
        };
        let spread = |x: &Expression| self.facts.spread(x).map_err(|error| self.point(error, x));
        let points =
            |x: &Expression| self.facts.points(x, &factor.to_string()).map_err(|error| self.point(error, x));
        let few = |needed: usize, x: &Expression, distinct: usize| {
            let error = Error::Value(BadValue::TooFewValues {
                term: factor.to_string(),
                needed,
                distinct,
                span: None,
            });
            self.point(error, x)
        };
        if let Some((coded, x)) =
            self.options.coded.iter().find_map(|coded| Some((coded, coded.meant_by(factor)?)))
        {
            // Its constants are known; the numbers must still be there.
            coded.check()?;
            number(x)?;
            return Ok(coded.clone());
        }
        match factor {
            Factor::Column(name) => match self.facts.kind(name) {
                Some(ColumnKind::Category) => {
                    if let Some(error) = self.facts.mixed(name)? {
                        return Err(self.point_at(error, name));
                    }
                    self.category(name)
                }
                _ => number(&Expression::Column(name.clone())),
            },
            Factor::Category(name) => self.category(name),
            Factor::Levels(name, listed) => self.listed(name, listed),
            Factor::Number(x) => number(x),
            Factor::Center(x) => {
                let mean = spread(x)?.mean;
                Ok(CodedFactor::Scaled { x: x.clone(), mean, sd: 1.0, function: "center".to_owned() })
            }
            Factor::Scale(x) => {
                let Spread { mean, sd, distinct } = spread(x)?;
                if sd <= 0.0 {
                    return Err(few(1, x, distinct));
                }
                Ok(CodedFactor::Scaled { x: x.clone(), mean, sd, function: "scale".to_owned() })
            }
            Factor::Polynomial(x, degree) => {
                let values = points(x)?;
                let basis =
                    Polynomial::learn(&values, *degree).ok_or_else(|| few(*degree, x, distinct(&values)))?;
                Ok(CodedFactor::Polynomial { x: x.clone(), basis })
            }
            // Its straight line; the curve is a group term.
            Factor::Smooth(x, _) => {
                let mean = spread(x)?.mean;
                Ok(CodedFactor::Scaled { x: x.clone(), mean, sd: 1.0, function: "s".to_owned() })
            }
            Factor::Spline(x, count) => {
                let values = points(x)?;
                let basis =
                    Spline::learn(&values, *count).ok_or_else(|| few(*count, x, distinct(&values)))?;
                Ok(CodedFactor::Spline { x: x.clone(), basis })
            }
        }
    }

    fn category(&self, column: &str) -> Result<CodedFactor> {
        let levels = self.facts.levels(column).map_err(|error| self.point_at(error, column))?;
        let reference = self.reference(column, &levels)?;
        Ok(CodedFactor::Category { column: column.to_owned(), levels, reference: Some(reference) })
    }

    /// A category whose levels are in the order of a list; levels that no row has are left out.
    fn listed(&self, column: &str, listed: &[String]) -> Result<CodedFactor> {
        let found = self.facts.levels(column).map_err(|error| self.point_at(error, column))?;
        if let Some(level) = found.iter().find(|level| !listed.contains(level)) {
            let error = Error::Column(UnfitColumn::UnlistedLevel {
                table: self.facts.table().to_owned(),
                column: column.to_owned(),
                level: level.as_str().into(),
                nearest: nearest(level, listed.iter().map(String::as_str)).map(Into::into),
                span: None,
            });
            return Err(self.point_at(error, column));
        }
        let levels: Vec<String> = listed.iter().filter(|level| found.contains(level)).cloned().collect();
        let reference = self.reference(column, &levels)?;
        Ok(CodedFactor::Category { column: column.to_owned(), levels, reference: Some(reference) })
    }

    /// Refuses a block that becomes too large, with the term at which it does.
    fn refuse_wide(&self, columns: usize, term: &CodedTerm) -> Result<()> {
        let rows = self.facts.rows();
        // The design is made here and copied once, row by row, into the model.
        let bytes = (rows as u64).saturating_mul(columns as u64).saturating_mul(16);
        let fits = rows.saturating_mul(columns) <= MOST_ENTRIES
            && (bytes < SMALL || available_memory().is_none_or(|room| bytes <= room));
        if columns <= MOST_COEFFICIENTS && (fits || !self.whole) {
            return Ok(());
        }
        let (column, levels) = term.widest().map_or((None, 0), |(levels, column)| (Some(column), levels));
        Err(Error::Model(BadModel::DesignTooLarge { rows, columns, term: term.text.clone(), column, levels }))
    }

    /// Index of the level asked for, otherwise 0.
    pub(crate) fn reference(&self, column: &str, levels: &[String]) -> Result<usize> {
        let Some((_, level)) = self.options.references.iter().find(|(name, _)| name == column) else {
            return Ok(0);
        };
        levels.iter().position(|other| other == level).ok_or_else(|| {
            Error::Model(BadModel::UnknownReference {
                column: column.to_owned(),
                level: level.clone(),
                nearest: nearest(level, levels.iter().map(String::as_str)).map(str::to_owned),
                levels: levels.to_vec(),
            })
        })
    }

    /// A group term; `coefficients` is the number of coefficients of all terms so far.
    fn group(&self, group: &Group, coefficients: &mut usize) -> Result<(GroupRecipe, Vec<usize>)> {
        let terms: Vec<&[Factor]> = group.terms.iter().filter_map(product).collect();
        let block = self.block(&terms, group.intercept)?;
        let point = |error| self.formula.point_column(error);
        let levels: Vec<Counted> = self.facts.combinations(&group.factors).map_err(point)?;
        self.count(coefficients, &group.to_string(), levels.len(), block.columns.len())?;
        let (levels, counts) = levels.into_iter().unzip();
        let (text, factors, correlated) = (group.to_string(), group.factors.clone(), group.correlated);
        Ok((GroupRecipe { text, factors, levels, correlated, block }, counts))
    }

    /// The curve of a smooth, as a group term with the one level to which all rows belong.
    fn smooth(&self, factor: &Factor, x: &Expression, how: Smoothing) -> Result<GroupRecipe> {
        let known = self.options.coded.iter().find(
            |coded| matches!(coded, CodedFactor::Smooth { x: other, basis } if other == x && basis.is_sound() && basis.is(how)),
        );
        let curve = match known {
            Some(known) => known.clone(),
            None => {
                let points =
                    self.facts.points(x, &factor.to_string()).map_err(|error| self.point(error, x))?;
                let few = || {
                    let error = Error::Value(BadValue::TooFewForSmooth {
                        term: factor.to_string(),
                        x: x.to_string(),
                        period: how.period.is_some(),
                        needed: Smooth::needed(how),
                        distinct: Smooth::distinct(&points, how),
                        span: None,
                    });
                    self.point(error, x)
                };
                let basis = Smooth::learn(&points, how).ok_or_else(few)?;
                CodedFactor::Smooth { x: x.clone(), basis }
            }
        };
        let text = format!("s({x})");
        let mut block = Block::of(curve);
        block.terms[0].text.clone_from(&text);
        Ok(GroupRecipe { text, factors: Vec::new(), levels: vec![Vec::new()], correlated: false, block })
    }

    /// Adds the coefficients of a group term, unless they are too many.
    fn count(&self, coefficients: &mut usize, group: &str, levels: usize, columns: usize) -> Result<()> {
        *coefficients = coefficients.saturating_add(levels.saturating_mul(columns));
        match *coefficients > MOST_COEFFICIENTS {
            true => Err(Error::Model(BadModel::TooManyGroups {
                group: group.to_owned(),
                levels,
                coefficients: *coefficients,
                most: MOST_COEFFICIENTS,
            })),
            false => Ok(()),
        }
    }

    /// Divides the columns that are not indicators by their standard deviation, after centring if there is an
    /// intercept. The curve of a smooth stays, because its prior is about its own scale. `spreads` are those of every column of every block, the population's first.
    pub(crate) fn standardize(&self, recipe: &mut Recipe, spreads: &[Vec<Spread>]) {
        for (block, spreads) in recipe.blocks_mut().zip(spreads) {
            let indicator: Vec<bool> = block.terms.iter().map(|term| self.is_indicator(term)).collect();
            for (column, spread) in block.columns.iter_mut().zip(spreads) {
                let Some(term) = column.term else { continue };
                if !indicator[term] && spread.sd > 0.0 {
                    column.sd = spread.sd;
                    column.mean = if block.intercept { spread.mean } else { 0.0 };
                }
            }
        }
    }

    /// Whether the term keeps its own scale: it consists of 0 and 1 only, or is the curve of a smooth.
    fn is_indicator(&self, term: &CodedTerm) -> bool {
        term.factors.iter().all(|factor| match factor {
            CodedFactor::Category { .. } | CodedFactor::Smooth { .. } => true,
            CodedFactor::Number { x: Expression::Column(name) } => {
                self.facts.kind(name) == Some(ColumnKind::Boolean)
            }
            CodedFactor::Number { x } => x.is_truth(),
            _ => false,
        })
    }

    fn one_level(&self, column: &str, level: &str) -> Error {
        let error = Error::Column(UnfitColumn::OneLevel {
            table: self.facts.table().to_owned(),
            column: column.to_owned(),
            level: level.to_owned(),
            span: None,
        });
        self.point_at(error, column)
    }

    /// The same error, with the place of its column.
    pub(crate) fn point_at(&self, error: Error, column: &str) -> Error {
        error.at(self.formula.place_of(column))
    }

    /// The same error, with the place of the first column of the expression that it may be about.
    pub(crate) fn point(&self, error: Error, x: &Expression) -> Error {
        self.formula.point(error, x)
    }
}

impl Formula {
    /// An error with the place of its column.
    pub(crate) fn point_column(&self, error: Error) -> Error {
        match error.column().map(|column| self.place_of(column)) {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// An error with the place of its column, or of the first column of the expression that it is about.
    pub(crate) fn point(&self, error: Error, x: &Expression) -> Error {
        let about = error.column().map(str::to_owned);
        let mut first = None;
        x.columns(&mut |name| {
            first.get_or_insert(name);
        });
        match about.as_deref().or(first) {
            Some(column) => error.at(self.place_of(column)),
            None => error,
        }
    }
}

/// R's rule: a category is coded by contrasts in a term if the term without it is part of an earlier term;
/// otherwise every level has its own column. The empty term, which the intercept stands for, is part of all.
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

/// Whether a term has columns of the population: a cyclic smooth has none.
fn has_columns(factors: &&[Factor]) -> bool {
    !factors.iter().any(Factor::is_cyclic)
}

fn text(factors: &[Factor]) -> String {
    Term::Product(factors.to_vec()).to_string()
}

impl GroupRecipe {
    /// Names of the coefficients, level by level: `(x | clinic)[3]`, with 1 for the intercept; of a curve, those of its columns.
    pub(crate) fn names(&self) -> Vec<String> {
        if self.is_smooth() {
            return self.block.columns.iter().map(|column| column.name.clone()).collect();
        }
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
