//! A question about effects.

use std::str::FromStr;

use provi::scalar::Probability;
use provi::target::Family;

use super::{LEAST_DRAWS, MOST_POINTS};
use crate::error::{BadEffect, Error, Result};

/// A question about effects.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectsAsked {
    /// The variables; empty for all.
    pub variables: Vec<String>,
    /// On a grid, a second variable; over data, a column by which their rows are split.
    pub by: Option<String>,
    /// What is asked; without it, predictions on a grid, and over data slopes of numbers and contrasts of categories.
    pub kind: Option<EffectKind>,
    /// The scale of the numbers.
    pub scale: EffectScale,
    /// How a contrast compares.
    pub compare: Compare,
    /// Values of the variable, which is then the only one. A contrast compares with the first.
    pub values: Vec<String>,
    /// Where other variables are held on a grid, instead of at their means and most common levels.
    pub at: Vec<(String, String)>,
    /// Points of the grid of a number.
    pub points: usize,
    /// Probability of the intervals.
    pub level: f64,
    /// Draws behind intervals that have no formula.
    pub draws: usize,
    /// Their seed; the fit's own if none is given.
    pub seed: Option<u64>,
}

impl Default for EffectsAsked {
    fn default() -> Self {
        Self {
            variables: Vec::new(),
            by: None,
            kind: None,
            scale: EffectScale::Response,
            compare: Compare::Difference,
            values: Vec::new(),
            at: Vec::new(),
            points: 5,
            level: 0.95,
            draws: 4000,
            seed: None,
        }
    }
}

/// What is asked of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum EffectKind {
    /// The predicted response
    Predictions,
    /// Its slope in a number
    Slopes,
    /// Levels against the reference level, or values against the first
    Contrasts,
}

/// The scale of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum EffectScale {
    /// The mean response: a probability, a rate or a value
    Response,
    /// The linear predictor: log odds, a log rate or a value
    Link,
}

/// How a contrast compares two responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Compare {
    /// The second less the first
    Difference,
    /// The second over the first: a risk ratio or a rate ratio
    Ratio,
    /// The ratio of their odds
    OddsRatio,
}

impl EffectKind {
    const ALL: [Self; 3] = [Self::Predictions, Self::Slopes, Self::Contrasts];

    /// The word that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Predictions => "predictions",
            Self::Slopes => "slopes",
            Self::Contrasts => "contrasts",
        }
    }
}

impl EffectScale {
    const ALL: [Self; 2] = [Self::Response, Self::Link];

    /// The word that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Link => "link",
        }
    }
}

impl Compare {
    const ALL: [Self; 3] = [Self::Difference, Self::Ratio, Self::OddsRatio];

    /// The word that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Difference => "difference",
            Self::Ratio => "ratio",
            Self::OddsRatio => "odds-ratio",
        }
    }
}

/// The one of that name, or a text that lists all names.
fn named<T: Copy, const N: usize>(
    text: &str,
    what: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> std::result::Result<T, String> {
    all.into_iter()
        .find(|one| name(*one) == text)
        .ok_or_else(|| format!("`{text}` is not {what}; use {}", all.map(name).join(", ")))
}

impl FromStr for EffectKind {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        named(text, "a kind of effects", Self::ALL, Self::name)
    }
}

impl FromStr for EffectScale {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        named(text, "a scale of effects", Self::ALL, Self::name)
    }
}

impl FromStr for Compare {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        named(text, "a way to compare", Self::ALL, Self::name)
    }
}

impl EffectsAsked {
    /// Refuses what has no answer for this family, by its name.
    pub(super) fn check(&self, family: Family, name: &'static str) -> Result<()> {
        let compare = self.compare.name();
        let refuse = |error: BadEffect| Err(Error::from(error));
        Probability::new("probability of an interval", self.level)?;
        if !(2..=MOST_POINTS).contains(&self.points) {
            return refuse(BadEffect::Points { found: self.points, most: MOST_POINTS });
        }
        if self.draws < LEAST_DRAWS {
            return refuse(BadEffect::Draws { found: self.draws, least: LEAST_DRAWS });
        }
        if let (Some(by), true) = (&self.by, self.by.as_ref().is_some_and(|by| self.variables.contains(by))) {
            return refuse(BadEffect::ByItself { column: by.clone() });
        }
        if self.compare == Compare::Difference {
            return Ok(());
        }
        match self.kind {
            Some(kind) if kind != EffectKind::Contrasts => {
                refuse(BadEffect::NotCompared { compare, kind: kind.name() })
            }
            _ if self.scale == EffectScale::Link => refuse(BadEffect::RatioOfLink { compare }),
            _ if self.compare == Compare::OddsRatio && !is_probability(family) => {
                refuse(BadEffect::OddsOfNoProbability { family: name })
            }
            _ if matches!(family, Family::Gaussian { .. }) => {
                refuse(BadEffect::RatioOfNumbers { family: name })
            }
            _ => Ok(()),
        }
    }

    /// What is asked of a number or a category, on a grid or over data.
    pub(super) fn kind_for(&self, number: bool, over_data: bool) -> EffectKind {
        match self.kind {
            Some(kind) => kind,
            None if self.compare != Compare::Difference => EffectKind::Contrasts,
            None if !over_data => EffectKind::Predictions,
            None if number && self.values.is_empty() => EffectKind::Slopes,
            None => EffectKind::Contrasts,
        }
    }
}

/// Whether the mean response is a probability.
pub(super) fn is_probability(family: Family) -> bool {
    matches!(family, Family::Bernoulli | Family::Binomial | Family::Probit)
}
