//! Questions about effects that have no answer.

use thiserror::Error;

/// What is wrong with a question about effects.
#[derive(Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BadEffect {
    /// A name that is not a variable of the model.
    #[error("`{name}` is not a variable of this model; {}its variables are {}", .nearest.as_ref().map_or(String::new(), |n| format!("did you mean `{n}`? ")), listed(.known))]
    Unknown {
        /// The name as written.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
        /// The variables of the model.
        known: Vec<String>,
    },
    /// A model of an intercept, or of groups, alone; or slopes of categories alone.
    #[error("no variable of `{formula}` has what is asked for; name one, or a grouping column")]
    NoVariables {
        /// The formula.
        formula: String,
    },
    /// No range is known.
    #[error(
        "the fit keeps no ranges and levels of its columns (it is of an earlier version, or its rows were read block by block); give the data too"
    )]
    NoRanges,
    /// The slope of a category.
    #[error(
        "`{column}` has levels and no range of numbers, so it has no slope; ask for contrasts of its levels"
    )]
    NoSlope {
        /// The column.
        column: String,
    },
    /// Values without a single variable that they belong to.
    #[error("values belong to one variable, and {found} are asked for; name that variable alone")]
    ValuesOfMany {
        /// How many variables.
        found: usize,
    },
    /// A value that the column cannot have.
    #[error("`{found}` is no value of `{column}`; {needed}")]
    Value {
        /// The column.
        column: String,
        /// The value as written.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A contrast with one value.
    #[error(
        "a contrast compares values with the first one, so it needs at least two; give another value of `{column}`"
    )]
    OneValue {
        /// The column.
        column: String,
    },
    /// A category with one level.
    #[error("`{column}` has the one level `{level}`, and nothing to compare it with; leave it out")]
    OneLevel {
        /// The column.
        column: String,
        /// Its level.
        level: String,
    },
    /// A variable that is to be shown and split by at once.
    #[error("`{column}` is shown and split by at once; split by another column")]
    ByItself {
        /// The column.
        column: String,
    },
    /// A column with too many values to split by.
    #[error(
        "`{column}` has {found} different values, and at most {most} can be split by; cut it into few categories first"
    )]
    ByMany {
        /// The column.
        column: String,
        /// How many values.
        found: usize,
        /// Most that are allowed.
        most: usize,
    },
    /// A ratio of linear predictors.
    #[error("a {compare} compares responses, not linear predictors; leave the link scale out")]
    RatioOfLink {
        /// The comparison.
        compare: &'static str,
    },
    /// A ratio of something that is not positive.
    #[error(
        "a ratio needs responses above 0, and those of family {family} can be negative; compare by difference"
    )]
    RatioOfNumbers {
        /// The family.
        family: &'static str,
    },
    /// An odds ratio of something other than probabilities.
    #[error(
        "an odds ratio compares the probabilities of a binary response, which family {family} has not; compare by ratio or difference (of an ordered response \
         e^coefficient is the odds ratio at every cut)"
    )]
    OddsOfNoProbability {
        /// The family.
        family: &'static str,
    },
    /// A comparison of slopes or predictions.
    #[error("a {compare} is a contrast, and {kind} are asked for; leave one of both out")]
    NotCompared {
        /// The comparison.
        compare: &'static str,
        /// What is asked for.
        kind: &'static str,
    },
    /// Values of other variables where those are the data's own.
    #[error("over the data every row keeps its own `{column}`; leave its value out, or leave the data out")]
    HeldOverData {
        /// The column.
        column: String,
    },
    /// Too few points for a grid.
    #[error("{found} points make no grid; ask for 2 to {most}")]
    Points {
        /// The number asked for.
        found: usize,
        /// The most that are made.
        most: usize,
    },
    /// Too few draws for an interval.
    #[error("{found} draws are too few for an interval; ask for at least {least}")]
    Draws {
        /// The number asked for.
        found: usize,
        /// The least.
        least: usize,
    },
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|name| format!("`{name}`")).collect();
    format!("{}{}", shown.join(", "), if names.len() > shown.len() { ", …" } else { "" })
}
