//! What a frame says of itself beside its rows, and what it is refused for.

use std::collections::HashSet;

use super::{
    GroupTerm,
    learn::Learner,
    options::Warning,
    recipe::{CodedFactor, GroupRecipe, Recipe},
    rows::Role,
};
use crate::{
    error::{Error, Result},
    formula::Short,
};

/// Names, roles, groups and warnings of a recipe over its data.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) roles: Vec<Role>,
    pub(crate) terms: Vec<String>,
    pub(crate) groups: Vec<GroupTerm>,
    pub(crate) warnings: Vec<Warning>,
}

impl Learner<'_> {
    /// The head of a recipe, whose groups have that many rows of each level.
    pub(crate) fn head(&self, in_use: &[&str], recipe: &Recipe, counts: Vec<Vec<usize>>) -> Result<Head> {
        self.refuse_stray_references(recipe)?;
        refuse_repeated_names(&recipe.names)?;
        self.refuse_constant(recipe)?;
        let groups = groups(recipe, counts);
        Ok(Head {
            roles: roles(recipe),
            terms: recipe.population.terms.iter().map(|term| term.text.clone()).collect(),
            warnings: self.warnings(in_use, recipe, &groups),
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
            Some((column, _)) => Err(Error::StrayReference { column: column.clone(), categories }),
            None => Ok(()),
        }
    }

    /// A term of one number that is the same in every row repeats the intercept.
    fn refuse_constant(&self, recipe: &Recipe) -> Result<()> {
        if !recipe.population.intercept {
            return Ok(());
        }
        for column in &recipe.population.columns {
            let Some(term) = column.term.map(|term| &recipe.population.terms[term]) else { continue };
            let [CodedFactor::Number { x }] = term.factors.as_slice() else { continue };
            if let Some(value) = self.facts.constant(x)? {
                let error = Error::ConstantColumn {
                    table: self.facts.table().to_owned(),
                    column: column.name.clone(),
                    value: Short(value).to_string(),
                    span: None,
                };
                return Err(self.point(error, x));
            }
        }
        Ok(())
    }

    fn warnings(&self, in_use: &[&str], recipe: &Recipe, groups: &[GroupTerm]) -> Vec<Warning> {
        let rows = self.facts.rows();
        let mut warnings = Vec::new();
        for name in in_use {
            if let Some(inexact) = self.facts.inexact(name) {
                warnings.push(Warning::Inexact {
                    column: (*name).to_owned(),
                    count: inexact.count,
                    file: inexact.file,
                    line: inexact.line,
                    found: inexact.found,
                });
            }
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
        for group in groups {
            if let [level] = group.levels.as_slice() {
                warnings.push(Warning::OneGroup { group: group.text.clone(), level: level.clone() });
            }
        }
        warnings
    }
}

fn refuse_repeated_names(names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::RepeatedName { name: name.clone() }),
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
