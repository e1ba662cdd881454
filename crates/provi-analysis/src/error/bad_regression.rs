//! Errors about families beyond one log-concave function of one linear predictor.

use thiserror::Error;

/// What such a family does not take.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadRegression {
    /// A command or an option that needs another kind of likelihood.
    #[error(
        "{what} is not there for family {family}, whose likelihood is not one log-concave function of one linear predictor; fit, certify, summary, \
         predict, effects, sample, loo and report are"
    )]
    NotThere {
        /// What was asked for.
        what: String,
        /// The family.
        family: &'static str,
    },
    /// An option of other families.
    #[error("{option} does not go with family {family}; leave it out")]
    StrayOption {
        /// The option, as in run files.
        option: &'static str,
        /// The family.
        family: &'static str,
    },
    /// Rows that are not in memory.
    #[error("family {family} needs its rows in memory: give one file, and leave the option memory out")]
    Files {
        /// The family.
        family: &'static str,
    },
    /// A group term, or a smooth.
    #[error(
        "family {family} takes no term such as `{term}`; leave it out, write a category as a term of its own, and a curve as poly(x, 3) or bs(x, 5)"
    )]
    Groups {
        /// The family.
        family: &'static str,
        /// The term.
        term: String,
    },
    /// A multinomial response for another family.
    #[error("a response multinomial(..) goes with family multinomial, not with {family}")]
    StrayLevels {
        /// The family.
        family: &'static str,
    },
    /// A multinomial family for a response that has no levels.
    #[error(
        "family multinomial needs a column of levels, and the response is {response}; write multinomial(column)"
    )]
    NoLevels {
        /// The response, as the formula has it.
        response: String,
    },
    /// A prior of the coefficient of one level.
    #[error(
        "prior '{pattern}' is about one level of the response, and all levels share the prior of a column; write '{column}' for all of them"
    )]
    PriorOfLevel {
        /// The pattern, as written.
        pattern: String,
        /// The column.
        column: String,
    },
    /// Successes without trials.
    #[error(
        "family betabinomial needs the number of trials, and the response `{column}` has none; write cbind(successes, failures) or successes | trials(n)"
    )]
    NoTrials {
        /// The column of the response.
        column: String,
    },
}
