//! The variables of a model: what each can be set to, and where it is held.

use provi_table::{ColumnKind, NumberFacts, Recipe, Values, Variable, date_of, day_of, nearest};
use serde::{Serialize, Serializer};

use super::asked::{EffectKind, EffectsAsked};
use crate::error::{BadEffect, Result};
use crate::number::plain;

/// A value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A number.
    Number(f64),
    /// A date, as its day since 1970.
    Date(f64),
    /// A level.
    Level(String),
    /// A row's own value, plus this number; 0 for the value itself.
    Own(f64),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(x) => f.write_str(&plain(*x)),
            Self::Date(day) => f.write_str(&date_of(*day)),
            Self::Level(level) => f.write_str(level),
            Self::Own(by) if *by > 0.0 => write!(f, "x + {}", plain(*by)),
            Self::Own(_) => f.write_str("x"),
        }
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Number(x) => to.serialize_f64(*x),
            other => to.collect_str(other),
        }
    }
}

/// What a variable is to the model.
pub(super) enum Role {
    /// A number; its facts, and whether its numbers are days.
    Number(NumberFacts, bool),
    /// A category: its levels, the reference first, and the most common one.
    Category(Vec<String>, Option<String>),
    /// A column that only groups: its levels.
    Group(Vec<String>),
}

/// The variables of a model.
pub(super) struct Variables {
    /// The recipe for columns in which days stand for dates.
    pub(super) recipe: Recipe,
    facts: Vec<Variable>,
    dates: Vec<String>,
}

/// The level that stands for no group.
const NO_GROUP: &str = "(no group)";

impl Variables {
    pub(super) fn new(recipe: &Recipe, facts: Vec<Variable>) -> Self {
        let dates = recipe.dates.iter().map(|date| date.column.clone()).collect();
        Self { recipe: recipe.plain(), facts, dates }
    }

    /// The variables that are asked for, in the order of the model. Numbers without a slope are left out only if nobody named them.
    pub(super) fn chosen(&self, asked: &EffectsAsked, over_data: bool, formula: &str) -> Result<Vec<String>> {
        let all: Vec<String> = self.recipe.term_columns().into_iter().map(str::to_owned).collect();
        let mut out = Vec::new();
        for name in if asked.variables.is_empty() { &all } else { &asked.variables } {
            let role = self.role(name)?;
            let number = matches!(role, Role::Number(..));
            let kind = asked.kind_for(number, over_data);
            let slope_of_none = kind == EffectKind::Slopes && !number;
            if slope_of_none && !asked.variables.is_empty() {
                return Err(BadEffect::NoSlope { column: name.clone() }.into());
            }
            if !slope_of_none && asked.by.as_ref() != Some(name) && !out.contains(name) {
                out.push(name.clone());
            }
        }
        match out.len() {
            0 => Err(BadEffect::NoVariables { formula: formula.to_owned() }.into()),
            found if found > 1 && !asked.values.is_empty() => Err(BadEffect::ValuesOfMany { found }.into()),
            _ => Ok(out),
        }
    }

    /// What a variable is.
    pub(super) fn role(&self, name: &str) -> Result<Role> {
        let known = self.recipe.columns();
        if !known.contains(&name) {
            return Err(BadEffect::Unknown {
                name: name.to_owned(),
                nearest: nearest(name, known.iter().copied()).map(str::to_owned),
                known: known.into_iter().map(str::to_owned).collect(),
            }
            .into());
        }
        let groups = self.recipe.group_levels(name);
        let Some(facts) = self.facts.iter().find(|variable| variable.name == name) else {
            return match groups.is_empty() {
                true => Err(BadEffect::NoRanges.into()),
                false => Ok(Role::Group(groups)),
            };
        };
        if let Some(levels) = self.recipe.levels_of(name) {
            return Ok(Role::Category(levels, facts.common.clone()));
        }
        // A column of one truth value still has both levels.
        if facts.kind == ColumnKind::Boolean && self.recipe.is_number(name) {
            return Ok(Role::Category(vec!["false".to_owned(), "true".to_owned()], facts.common.clone()));
        }
        match (facts.levels.is_empty(), facts.numbers) {
            (false, _) => Ok(Role::Category(facts.levels.clone(), facts.common.clone())),
            (true, Some(numbers)) => Ok(Role::Number(numbers, self.dates.iter().any(|date| date == name))),
            (true, None) => Ok(Role::Group(groups)),
        }
    }

    /// Where a variable is held that is not shown: a number at its mean, an exposure at 1, a category at its most common level. A
    /// column that only groups is held nowhere.
    fn held(&self, name: &str, asked: &EffectsAsked) -> Result<Option<Setting>> {
        if let Some((_, text)) = asked.at.iter().find(|(column, _)| column == name) {
            return Ok(Some(self.read(name, text)?));
        }
        Ok(match self.role(name)? {
            Role::Number(..) if self.recipe.is_exposure(name) => Some(Setting::Number(1.0)),
            Role::Number(numbers, days) => Some(number(numbers.mean, days)),
            Role::Category(levels, common) => common.or(levels.first().cloned()).map(Setting::Level),
            Role::Group(_) => None,
        })
    }

    /// Where the variables are held that are not shown alone, in the order of the model.
    pub(super) fn held_besides(
        &self,
        shown: &[String],
        asked: &EffectsAsked,
    ) -> Result<Vec<(String, Setting)>> {
        let mut out = Vec::new();
        for name in self.recipe.columns() {
            let alone = shown.len() == 1 && shown[0] == name;
            if !alone && asked.by.as_deref() != Some(name) {
                out.extend(self.held(name, asked)?.map(|held| (name.to_owned(), held)));
            }
        }
        Ok(out)
    }

    /// Whether a grid leaves effects of groups out.
    pub(super) fn leaves_groups_out(&self, shown: &[String], asked: &EffectsAsked) -> bool {
        let is_set = |name: &String| {
            shown.contains(name)
                || asked.by.as_ref() == Some(name)
                || asked.at.iter().any(|(at, _)| at == name)
        };
        self.recipe.groups.iter().any(|group| !group.factors.iter().all(is_set))
    }

    /// The values of a variable that are shown: those asked for, a grid over the range of a number, or every level.
    pub(super) fn grid(&self, name: &str, asked: &EffectsAsked) -> Result<Vec<Setting>> {
        if !asked.values.is_empty() {
            return asked.values.iter().map(|text| self.read(name, text)).collect();
        }
        Ok(match self.role(name)? {
            Role::Number(x, days) if x.max > x.min => {
                let last = (asked.points - 1) as f64;
                let at = |i: usize| x.min + (x.max - x.min) * (i as f64 / last);
                (0..asked.points).map(|i| number(at(i), days)).collect()
            }
            Role::Number(x, days) => vec![number(x.mean, days)],
            Role::Category(levels, _) | Role::Group(levels) => {
                levels.into_iter().map(Setting::Level).collect()
            }
        })
    }

    /// The values of a second variable: its mean and one standard deviation to either side, as far as its range goes, or every level.
    pub(super) fn parts(&self, name: &str) -> Result<Vec<Setting>> {
        Ok(match self.role(name)? {
            Role::Number(x, days) => {
                let mut at = [x.mean - x.sd, x.mean, x.mean + x.sd].map(|at| at.clamp(x.min, x.max)).to_vec();
                at.dedup();
                at.into_iter().map(|at| number(at, days)).collect()
            }
            Role::Category(levels, _) | Role::Group(levels) => {
                levels.into_iter().map(Setting::Level).collect()
            }
        })
    }

    /// The pairs that a contrast compares: (reference, value).
    pub(super) fn pairs(
        &self,
        name: &str,
        over_data: bool,
        asked: &EffectsAsked,
    ) -> Result<Vec<[Setting; 2]>> {
        let against_first = |all: Vec<Setting>| -> Vec<[Setting; 2]> {
            all.iter().skip(1).map(|value| [all[0].clone(), value.clone()]).collect()
        };
        if !asked.values.is_empty() {
            let found = against_first(self.grid(name, asked)?);
            return match found.is_empty() {
                true => Err(BadEffect::OneValue { column: name.to_owned() }.into()),
                false => Ok(found),
            };
        }
        match self.role(name)? {
            Role::Number(..) if over_data => Ok(vec![[Setting::Own(0.0), Setting::Own(1.0)]]),
            Role::Number(x, days) => Ok(vec![[number(x.mean, days), number(x.mean + 1.0, days)]]),
            Role::Category(levels, _) | Role::Group(levels) => match levels.as_slice() {
                [only] => Err(BadEffect::OneLevel { column: name.to_owned(), level: only.clone() }.into()),
                _ => Ok(against_first(levels.into_iter().map(Setting::Level).collect())),
            },
        }
    }

    /// A value as a user writes it.
    pub(super) fn read(&self, name: &str, text: &str) -> Result<Setting> {
        let text = text.trim();
        let refuse = |needed: String| {
            Err(BadEffect::Value { column: name.to_owned(), found: text.to_owned(), needed }.into())
        };
        match self.role(name)? {
            Role::Number(x, true) => match day_of(text) {
                Some(day) => Ok(Setting::Date(day)),
                None => refuse(format!("write a date such as {}", date_of(x.mean))),
            },
            Role::Number(..) => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Setting::Number(value)),
                _ => refuse("write a number".to_owned()),
            },
            Role::Category(levels, _) | Role::Group(levels) => match levels.iter().any(|level| level == text)
            {
                true => Ok(Setting::Level(text.to_owned())),
                false => {
                    let near = nearest(text, levels.iter().map(String::as_str));
                    let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
                    let shown: Vec<String> = levels.iter().take(10).map(|l| format!("`{l}`")).collect();
                    let more = if levels.len() > shown.len() { ", …" } else { "" };
                    refuse(format!("{near}its levels are {}{more}", shown.join(", ")))
                }
            },
        }
    }

    /// The columns of rows in which every variable is held, except those that `set` gives a value in each row.
    pub(super) fn columns(
        &self,
        rows: usize,
        set: &[(&str, Vec<Setting>)],
        asked: &EffectsAsked,
    ) -> Result<Vec<(String, Values)>> {
        let mut out = Vec::new();
        for name in self.recipe.columns() {
            let settings = match set.iter().find(|(own, _)| *own == name) {
                Some((_, values)) => values.clone(),
                None => {
                    let held = self.held(name, asked)?;
                    vec![held.unwrap_or(Setting::Level(NO_GROUP.to_owned())); rows]
                }
            };
            out.push((name.to_owned(), self.values(name, &settings)?));
        }
        Ok(out)
    }

    /// Settings as a column that the recipe reads.
    pub(super) fn values(&self, name: &str, settings: &[Setting]) -> Result<Values> {
        if self.recipe.is_number(name) {
            let number = |setting: &Setting| match setting {
                Setting::Number(x) | Setting::Date(x) => *x,
                Setting::Level(level) if level == "true" => 1.0,
                Setting::Level(level) => level.parse().unwrap_or(0.0),
                Setting::Own(by) => *by,
            };
            let numbers: Vec<f64> = settings.iter().map(number).collect();
            let boolean = self.facts.iter().any(|v| v.name == name && v.kind == ColumnKind::Boolean);
            return Ok(match boolean {
                true => Values::Booleans(numbers.iter().map(|x| Some(*x > 0.5)).collect()),
                false => Values::Numbers(numbers),
            });
        }
        let mut levels: Vec<String> = Vec::new();
        let mut codes = Vec::with_capacity(settings.len());
        for setting in settings {
            let text = match setting {
                Setting::Level(level) => level.clone(),
                other => other.to_string(),
            };
            let place = levels.iter().position(|level| *level == text).unwrap_or_else(|| {
                levels.push(text);
                levels.len() - 1
            });
            codes.push(Some(place as u32));
        }
        Ok(Values::Categories { codes, levels, ordered: false })
    }
}

fn number(x: f64, days: bool) -> Setting {
    if days { Setting::Date(x.floor()) } else { Setting::Number(x) }
}
