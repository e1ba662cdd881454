//! What a frame states besides its rows, and why it may be refused.

use std::collections::HashSet;

use super::{
    GroupTerm,
    learn::Learner,
    options::Warning,
    recipe::{CodedFactor, GroupRecipe, Offset, Recipe},
    rows::Role,
};
use crate::{
    column::ColumnKind,
    error::{BadModel, Error, Result, UnfitColumn},
    formula::{Expression, Factor, Response, Short, Term},
};

/// Names, roles, groups and warnings of a recipe for its data.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) roles: Vec<Role>,
    pub(crate) terms: Vec<String>,
    pub(crate) groups: Vec<GroupTerm>,
    pub(crate) warnings: Vec<Warning>,
}

impl Learner<'_> {
    /// The head of a recipe; `counts` are the numbers of rows of each group's levels.
    pub(crate) fn head(&self, in_use: &[&str], recipe: &Recipe, counts: Vec<Vec<usize>>) -> Result<Head> {
        self.refuse_stray_references(recipe)?;
        refuse_repeated_names(&recipe.names)?;
        self.refuse_constant(recipe)?;
        let groups = groups(recipe, counts);
        Ok(Head {
            roles: roles(recipe),
            terms: recipe.population.terms.iter().map(|term| term.text.clone()).collect(),
            warnings: self.warnings(in_use, recipe, &groups)?,
            groups,
        })
    }

    fn refuse_stray_references(&self, recipe: &Recipe) -> Result<()> {
        let mut categories: Vec<String> = Vec::new();
        for factor in recipe.blocks().flat_map(|block| &block.terms).flat_map(|term| &term.factors) {
            if let CodedFactor::Category { column, .. } = factor
                && !categories.contains(column)
            {
                categories.push(column.clone());
            }
        }
        let response = self.formula.response_name();
        let stray = |(column, _): &&(String, String)| !categories.contains(column) && *column != response;
        match self.options.references.iter().find(stray) {
            Some((column, _)) => {
                Err(Error::Model(BadModel::StrayReference { column: column.clone(), categories }))
            }
            None => Ok(()),
        }
    }

    /// Refuses a term of one number that is the same in every row, because it repeats the intercept.
    fn refuse_constant(&self, recipe: &Recipe) -> Result<()> {
        if !recipe.population.intercept {
            return Ok(());
        }
        for column in &recipe.population.columns {
            let Some(term) = column.term.map(|term| &recipe.population.terms[term]) else { continue };
            let [CodedFactor::Number { x }] = term.factors.as_slice() else { continue };
            if let Some(value) = self.facts.constant(x)? {
                let error = Error::Column(UnfitColumn::ConstantColumn {
                    table: self.facts.table().to_owned(),
                    column: column.name.clone(),
                    value: Short(value).to_string(),
                    span: None,
                });
                return Err(self.point(error, x));
            }
        }
        Ok(())
    }

    fn warnings(&self, in_use: &[&str], recipe: &Recipe, groups: &[GroupTerm]) -> Result<Vec<Warning>> {
        let rows = self.facts.rows();
        let mut warnings = Vec::new();
        let numbers = self.used_as_numbers(recipe);
        for name in in_use {
            if let Some(inexact) = self.facts.inexact(name).filter(|_| numbers.contains(name)) {
                warnings.push(Warning::Inexact {
                    column: (*name).to_owned(),
                    count: inexact.count,
                    file: inexact.file,
                    line: inexact.line,
                    found: inexact.found,
                });
            }
        }
        self.warn_of_names(recipe, &mut warnings)?;
        for date in recipe.dates.iter().filter(|date| numbers.contains(date.column.as_str())) {
            warnings.push(Warning::DaysSince1970 { column: date.column.clone() });
        }
        for factor in recipe.population.terms.iter().flat_map(|term| &term.factors) {
            if let CodedFactor::Category { column, levels, .. } = factor
                && 2 * levels.len() > rows
                && levels.len() > 10
            {
                let warning = Warning::ManyLevels { column: column.clone(), levels: levels.len(), rows };
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        let columns = recipe.population.columns.len();
        if columns > rows {
            warnings.push(Warning::MoreColumnsThanRows { columns, rows });
        }
        for group in groups.iter().filter(|group| !group.is_smooth()) {
            if let [level] = group.levels.as_slice() {
                warnings.push(Warning::OneGroup { group: group.text.clone(), level: level.clone() });
            }
        }
        Ok(warnings)
    }

    /// The columns whose values are used as numbers, rather than as names.
    fn used_as_numbers<'a>(&'a self, recipe: &'a Recipe) -> HashSet<&'a str> {
        let mut names = HashSet::new();
        let mut see = |name: &'a str| {
            names.insert(name);
        };
        match self.formula.response() {
            Response::Value(x) => x.numbers(&mut see),
            Response::Ordered { .. } | Response::Multinomial { .. } => {}
            other => other.columns(&mut see),
        }
        for factor in recipe.blocks().flat_map(|block| &block.terms).flat_map(|term| &term.factors) {
            match factor {
                CodedFactor::Category { .. } => {}
                CodedFactor::Number { x }
                | CodedFactor::Scaled { x, .. }
                | CodedFactor::Polynomial { x, .. }
                | CodedFactor::Spline { x, .. }
                | CodedFactor::Smooth { x, .. } => x.numbers(&mut see),
            }
        }
        for offset in &recipe.offsets {
            match offset {
                Offset::Number { x } => x.numbers(&mut see),
                Offset::Exposure { column } => see(column),
            }
        }
        self.options.weights.iter().for_each(|name| see(name));
        names
    }

    /// Warnings about names of categories and groups.
    fn warn_of_names(&self, recipe: &Recipe, warnings: &mut Vec<Warning>) -> Result<()> {
        let mut names: Vec<&str> = Vec::new();
        for factor in recipe.blocks().flat_map(|block| &block.terms).flat_map(|term| &term.factors) {
            if let CodedFactor::Category { column, .. } = factor {
                names.push(column);
            }
        }
        names.extend(recipe.groups.iter().flat_map(|group| &group.factors).map(String::as_str));
        let mut seen = HashSet::new();
        for name in names.into_iter().filter(|name| seen.insert(*name)) {
            if let Some(coarse) = self.facts.coarse(name) {
                warnings.push(Warning::CoarseNames {
                    column: name.to_owned(),
                    count: coarse.count,
                    file: coarse.file,
                    line: coarse.line,
                    found: coarse.found,
                });
            }
        }
        let mut plain: Vec<&str> = Vec::new();
        if let Response::Value(Expression::Column(name)) = self.formula.response() {
            plain.push(name);
        }
        let varying = self.formula.groups.iter().flat_map(|group| &group.node.terms);
        for term in self.formula.terms.iter().map(|term| &term.node).chain(varying) {
            let Term::Product(factors) = term else { continue };
            for factor in factors {
                match factor {
                    Factor::Column(name) => plain.push(name),
                    Factor::Levels(name, listed) => self.warn_of_unused(name, listed, warnings)?,
                    _ => {}
                }
            }
        }
        let mut seen = HashSet::new();
        for name in plain.into_iter().filter(|name| seen.insert(*name)) {
            if self.facts.kind(name) == Some(ColumnKind::Category) {
                warnings.extend(words_among_numbers(name, &self.facts.levels(name)?));
            }
        }
        Ok(())
    }

    fn warn_of_unused(&self, column: &str, listed: &[String], warnings: &mut Vec<Warning>) -> Result<()> {
        let found = self.facts.levels(column)?;
        for level in listed.iter().filter(|level| !found.contains(level)) {
            let warning = Warning::UnusedLevel { column: column.to_owned(), level: level.clone() };
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        Ok(())
    }
}

/// Most words that a warning lists.
const MOST_WORDS: usize = 5;

/// Levels that are numbers together with levels that are not: more often a typing error, or a word for "no value",
/// than categories.
fn words_among_numbers(column: &str, levels: &[String]) -> Option<Warning> {
    let is_number =
        |level: &&String| level.contains(|c: char| c.is_ascii_digit()) && level.parse::<f64>().is_ok();
    let numbers = levels.iter().filter(is_number).count();
    let others = levels.len() - numbers;
    if numbers == 0 || others == 0 {
        return None;
    }
    let words = levels.iter().filter(|level| !is_number(level)).take(MOST_WORDS).cloned().collect();
    Some(Warning::WordsAmongNumbers { column: column.to_owned(), numbers, words, others })
}

fn refuse_repeated_names(names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::Model(BadModel::RepeatedName { name: name.clone() })),
        None => Ok(()),
    }
}

fn groups(recipe: &Recipe, counts: Vec<Vec<usize>>) -> Vec<GroupTerm> {
    let mut first = recipe.population.columns.len();
    let term = |(group, counts): (&GroupRecipe, Vec<usize>)| {
        let start = first;
        first += group.levels.len() * group.block.columns.len();
        GroupTerm {
            text: group.text.clone(),
            factors: group.factors.clone(),
            levels: group.levels.iter().map(|level| level.join(":")).collect(),
            counts,
            columns: group.block.columns.iter().map(|column| column.name.clone()).collect(),
            correlated: group.correlated,
            first: start,
        }
    };
    recipe.groups.iter().zip(counts).map(term).collect()
}

fn roles(recipe: &Recipe) -> Vec<Role> {
    let population = recipe.population.columns.iter();
    let mut roles: Vec<Role> = population
        .map(|column| column.term.map_or(Role::Intercept, |term| Role::Population { term }))
        .collect();
    for (term, group) in recipe.groups.iter().enumerate() {
        for level in 0..group.levels.len() {
            roles.extend((0..group.block.columns.len()).map(|column| Role::Group { term, level, column }));
        }
    }
    roles
}
