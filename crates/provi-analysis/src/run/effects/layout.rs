//! The rows at which effects are computed: a grid, or the rows of a table with a variable set.

use provi_table::{Missing, NewLevels, NewRows, Slopes, Table, Values};

use super::answer::Answer;
use super::asked::{EffectKind, EffectsAsked};
use super::variables::{Role, Setting, Variables};
use super::{Effect, MOST_PARTS, average, regression};
use crate::error::{BadEffect, Error, Result};

/// What effects are computed over.
pub(super) enum Ground {
    /// A grid, split by the values of a second variable; one part if there is none.
    Grid { parts: Vec<Option<Setting>> },
    /// The rows of a table, split by a column: each part's value and its rows.
    Data { columns: Vec<(String, Values)>, name: String, parts: Vec<(Option<Setting>, Vec<usize>)> },
}

impl Ground {
    pub(super) fn grid(variables: &Variables, asked: &EffectsAsked) -> Result<Self> {
        for (name, text) in &asked.at {
            variables.read(name, text)?;
        }
        let parts = match &asked.by {
            None => vec![None],
            Some(by) => few(by, variables.parts(by)?.into_iter().map(Some).collect())?,
        };
        Ok(Self::Grid { parts })
    }

    pub(super) fn data(columns: Vec<(String, Values)>, name: &str, asked: &EffectsAsked) -> Result<Self> {
        if let Some((column, _)) = asked.at.first() {
            return Err(BadEffect::HeldOverData { column: column.clone() }.into());
        }
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        let parts = match &asked.by {
            None => vec![(None, (0..rows).collect())],
            Some(by) => {
                let values = columns.iter().find(|(column, _)| column == by).map(|(_, values)| values);
                few(by, values.map(split).unwrap_or_default())?
            }
        };
        Ok(Self::Data { columns, name: name.to_owned(), parts })
    }

    /// The table's name.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Grid { .. } => None,
            Self::Data { name, .. } => Some(name.clone()),
        }
    }

    /// The rows of the table.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Grid { .. } => 0,
            Self::Data { columns, .. } => columns.first().map_or(0, |(_, values)| values.len()),
        }
    }
}

/// Refuses more parts than a reader can compare.
fn few<T>(by: &str, parts: Vec<T>) -> Result<Vec<T>> {
    match parts.len() {
        found if found > MOST_PARTS => {
            Err(BadEffect::ByMany { column: by.to_owned(), found, most: MOST_PARTS }.into())
        }
        _ => Ok(parts),
    }
}

/// The values of a column in order, with the rows of each.
fn split(values: &Values) -> Vec<(Option<Setting>, Vec<usize>)> {
    let mut out: Vec<(Option<Setting>, Vec<usize>)> = Vec::new();
    match values {
        Values::Categories { codes, levels, .. } => {
            out.extend(levels.iter().map(|level| (Some(Setting::Level(level.clone())), Vec::new())));
            for (row, code) in codes.iter().enumerate() {
                if let Some(part) = code.and_then(|code| out.get_mut(code as usize)) {
                    part.1.push(row);
                }
            }
        }
        Values::Booleans(all) => {
            for truth in [false, true] {
                let rows = (0..all.len()).filter(|row| all[*row] == Some(truth)).collect();
                out.push((Some(Setting::Level(truth.to_string())), rows));
            }
        }
        Values::Numbers(all) => {
            let mut order: Vec<usize> = (0..all.len()).collect();
            order.sort_by(|a, b| all[*a].total_cmp(&all[*b]));
            for same in order.chunk_by(|a, b| all[*a].total_cmp(&all[*b]).is_eq()) {
                let mut rows = same.to_vec();
                rows.sort_unstable();
                out.push((Some(Setting::Number(all[same[0]])), rows));
            }
        }
        _ => {}
    }
    out.retain(|(_, rows)| !rows.is_empty());
    out
}

/// The rows behind some effects.
pub(super) enum Arms {
    /// Predictions.
    One(NewRows),
    /// Slopes: the rows and their derivatives.
    Slope(NewRows, Slopes),
    /// Contrasts: the reference, and what is compared with it.
    Two([NewRows; 2]),
}

/// One effect to be computed: its labels, and the rows that it is averaged over.
pub(super) struct Cell {
    value: Option<Setting>,
    reference: Option<Setting>,
    by: Option<Setting>,
    pub(super) rows: Vec<usize>,
}

/// Effects that share their rows.
pub(super) struct Layout {
    variable: String,
    kind: EffectKind,
    arms: Arms,
    cells: Vec<Cell>,
}

impl Layout {
    /// The layouts of a variable.
    pub(super) fn of(
        variables: &Variables,
        ground: &Ground,
        name: &str,
        asked: &EffectsAsked,
    ) -> Result<Vec<Self>> {
        let number = matches!(variables.role(name)?, Role::Number(..));
        let over_data = matches!(ground, Ground::Data { .. });
        let kind = asked.kind_for(number, over_data);
        let layout = |arms, cells| Self { variable: name.to_owned(), kind, arms, cells };
        match ground {
            Ground::Grid { parts } if kind == EffectKind::Contrasts => {
                let set = crossed(parts, &variables.pairs(name, false, asked)?);
                let rows = |side: usize| -> Result<NewRows> {
                    let own = set.iter().map(|(_, pair)| pair[side].clone()).collect();
                    Ok(grid_rows(variables, name, own, &set, asked)?.0)
                };
                let arms = Arms::Two([rows(0)?, rows(1)?]);
                let cell = |(row, (by, [reference, value])): (usize, Placed<[Setting; 2]>)| Cell {
                    value: Some(value),
                    reference: Some(reference),
                    by,
                    rows: vec![row],
                };
                Ok(vec![layout(arms, set.into_iter().enumerate().map(cell).collect())])
            }
            Ground::Grid { parts } => {
                let set = crossed(parts, &variables.grid(name, asked)?);
                let own = set.iter().map(|(_, value)| value.clone()).collect();
                let (rows, table) = grid_rows(variables, name, own, &set, asked)?;
                let arms = match kind {
                    EffectKind::Slopes => Arms::Slope(rows, slopes(variables, &table, name)?),
                    _ => Arms::One(rows),
                };
                let cell = |(row, (by, value)): (usize, Placed<Setting>)| Cell {
                    value: Some(value),
                    reference: None,
                    by,
                    rows: vec![row],
                };
                Ok(vec![layout(arms, set.into_iter().enumerate().map(cell).collect())])
            }
            Ground::Data { columns, name: table, parts } => {
                let rows = |to: Option<&Setting>| data_rows(variables, columns, table, name, to);
                let cells = |value: Option<&Setting>, reference: Option<&Setting>| -> Vec<Cell> {
                    let cell = |(by, rows): &(Option<Setting>, Vec<usize>)| Cell {
                        value: value.cloned(),
                        reference: reference.cloned(),
                        by: by.clone(),
                        rows: rows.clone(),
                    };
                    parts.iter().map(cell).collect()
                };
                let mut out = Vec::new();
                match kind {
                    EffectKind::Predictions => {
                        for value in variables.grid(name, asked)? {
                            out.push(layout(Arms::One(rows(Some(&value))?.0), cells(Some(&value), None)));
                        }
                    }
                    EffectKind::Slopes => {
                        let (rows, table) = rows(None)?;
                        out.push(layout(
                            Arms::Slope(rows, slopes(variables, &table, name)?),
                            cells(None, None),
                        ));
                    }
                    EffectKind::Contrasts => {
                        for [reference, value] in variables.pairs(name, true, asked)? {
                            let arms = Arms::Two([rows(Some(&reference))?.0, rows(Some(&value))?.0]);
                            out.push(layout(arms, cells(Some(&value), Some(&reference))));
                        }
                    }
                }
                Ok(out)
            }
        }
    }

    /// Its effects; `levels` are those of the response, if it has levels without an order.
    pub(super) fn effects(
        self,
        answer: &Answer<'_>,
        levels: &[String],
        asked: &EffectsAsked,
    ) -> Result<Vec<Effect>> {
        let kind = match self.kind {
            EffectKind::Predictions => "prediction",
            EffectKind::Slopes => "slope",
            EffectKind::Contrasts => "contrast",
        };
        let one = |cell: &Cell, found: average::Found, outcome: Option<&String>| Effect {
            variable: self.variable.clone(),
            kind,
            value: cell.value.clone(),
            reference: cell.reference.clone(),
            by: cell.by.clone(),
            outcome: outcome.cloned(),
            rows: cell.rows.len(),
            estimate: found.estimate,
            low: found.low,
            high: found.high,
            error: found.error.map(|error| error.bound),
            status: found.error.map_or("estimate", |error| error.status()),
            interval: if found.drawn { "draws" } else { "quantiles" },
        };
        let Some(likelihood) = answer.likelihood else {
            let found = average::measure(answer, &self.arms, &self.cells, asked)?;
            return Ok(self.cells.iter().zip(found).map(|(cell, found)| one(cell, found, None)).collect());
        };
        let mut out = Vec::new();
        for (outcome, found) in regression::measure(answer, likelihood, &self.arms, &self.cells, asked)? {
            let level = if likelihood.outcomes() > 1 { levels.get(outcome) } else { None };
            out.extend(self.cells.iter().zip(found).map(|(cell, found)| one(cell, found, level)));
        }
        Ok(out)
    }
}

/// A row of a grid: the value of the second variable, and that of the first.
type Placed<T> = (Option<Setting>, T);

/// Every part with every value.
fn crossed<T: Clone>(parts: &[Option<Setting>], values: &[T]) -> Vec<Placed<T>> {
    parts.iter().flat_map(|by| values.iter().map(move |value| (by.clone(), value.clone()))).collect()
}

/// The rows of a grid in which the variable has the values `own`.
fn grid_rows<T>(
    variables: &Variables,
    name: &str,
    own: Vec<Setting>,
    set: &[Placed<T>],
    asked: &EffectsAsked,
) -> Result<(NewRows, Table)> {
    let rows = own.len();
    let mut columns = vec![(name, own)];
    if let Some(by) = &asked.by {
        columns.push((by, set.iter().filter_map(|(part, _)| part.clone()).collect()));
    }
    let table = Table::from_columns("the grid", variables.columns(rows, &columns, asked)?).map_err(bare)?;
    let mut found = variables.recipe.rows(&table, NewLevels::Population).map_err(bare)?;
    // A row without a group is at the population's own effects: no spread between groups is added.
    found.new_levels.clear();
    Ok((found, table))
}

/// The rows of a table in which the variable is set to a value; as they are if there is none.
fn data_rows(
    variables: &Variables,
    columns: &[(String, Values)],
    table: &str,
    name: &str,
    to: Option<&Setting>,
) -> Result<(NewRows, Table)> {
    let mut columns = columns.to_vec();
    if let (Some(to), Some((_, values))) = (to, columns.iter_mut().find(|(column, _)| column == name)) {
        match (to, &mut *values) {
            (Setting::Own(by), Values::Numbers(own)) => own.iter_mut().for_each(|x| *x += by),
            _ => *values = variables.values(name, &vec![to.clone(); values.len()])?,
        }
    }
    let table = Table::from_columns(table, columns).map_err(bare)?;
    Ok((variables.recipe.rows(&table, NewLevels::Refuse).map_err(bare)?, table))
}

fn slopes(variables: &Variables, table: &Table, name: &str) -> Result<Slopes> {
    variables.recipe.slopes(table, name, NewLevels::Population, Missing::Error).map_err(bare)
}

/// An error that does not point into the formula yet.
fn bare(error: provi_table::Error) -> Error {
    Error::table(error, "")
}
