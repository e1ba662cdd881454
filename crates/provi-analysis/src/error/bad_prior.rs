//! Errors of a fit that should become a prior.

use thiserror::Error;

/// Why the coefficients of a stored fit cannot have the same meaning in another model, and the way out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadPrior {
    /// It is no fit of provi.
    #[error(
        "it has no record of its model, so its columns cannot be compared; give a mean and a covariance with prior-covariance"
    )]
    NoRecord,
    /// It was there a moment ago.
    #[error("it cannot be read again: {0}; leave it where it is while the fit runs")]
    Gone(String),
    /// It is not a fit of a formula.
    #[error(
        "it is a fit of {kind}, not of a formula, so its columns cannot be compared; give its mean and covariance with prior-covariance"
    )]
    NotOfFormula {
        /// What it is a fit of.
        kind: &'static str,
    },
    /// A mixture whose covariance is not stored.
    #[error(
        "its scales are integrated over with sparse factors, so the covariance of its mixture is not stored; fit it with factor = dense, or \
         with scales = maximise"
    )]
    SparseMixture,
    /// Another response.
    #[error(
        "it is about the response `{found}`, and this model about `{expected}`: coefficients of one say nothing about the other; name the \
         columns alike, or give the prior with prior-covariance"
    )]
    Response {
        /// The response of the fit.
        found: String,
        /// The response of the model.
        expected: String,
    },
    /// Other levels of an ordered response.
    #[error(
        "its response has the levels {found}, this one has {expected}: the intercept and the cut points mean something else; fit both with the same levels"
    )]
    Levels {
        /// Those of the fit.
        found: String,
        /// Those of this model.
        expected: String,
    },
    /// Another level counts as 1.
    #[error(
        "in it the level `{found}` of the response counts as 1, and here `{expected}`; say which one is the reference with --reference"
    )]
    Success {
        /// The level of the fit.
        found: String,
        /// The level of the model.
        expected: String,
    },
    /// Another scale of the linear predictor.
    #[error(
        "its linear predictor is {found} (family {other}), and that of this model {expected} (family {own}); fit both with the same family"
    )]
    Link {
        /// The linear predictor of the fit, in words.
        found: String,
        /// Its family.
        other: String,
        /// The linear predictor of the model, in words.
        expected: String,
        /// Its family.
        own: String,
    },
    /// Another column is added to the linear predictor.
    #[error(
        "{what} is {found} in it and {expected} here, so the intercepts mean different things; use the same one in both"
    )]
    Added {
        /// Offset or exposure.
        what: &'static str,
        /// That of the fit.
        found: String,
        /// That of the model.
        expected: String,
    },
    /// Only one of the two has an intercept.
    #[error("it has {} intercept, and this model {}; write both formulas with one, or without", if *.fit { "an" } else { "no" }, if *.fit { "none" } else { "has one" })]
    Intercept {
        /// Whether the fit has one.
        fit: bool,
    },
    /// A column of the same name that is made in another way.
    #[error(
        "column `{column}` is coded in another way: {found} in it, {expected} here; write the term alike, and give --reference '{term}=LEVEL' for \
         the level with which others are compared"
    )]
    Coding {
        /// The column.
        column: String,
        /// The term.
        term: String,
        /// Its coding in the fit.
        found: String,
        /// Its coding in the model.
        expected: String,
    },
    /// No column is in both.
    #[error(
        "none of its columns is in this model, so there is no prior to take from it; its columns are {0}"
    )]
    Nothing(String),
    /// A term of the fit is not in the model.
    #[error(
        "it has the term `{0}`, which this formula has not, so that the other coefficients mean something else; keep the term in the formula"
    )]
    LeftOut(String),
    /// A new term changes what a coefficient of the fit means.
    #[error(
        "it has no term `{term}`, which shares `{column}` with one of its own terms and changes what that one's coefficients mean; leave it out, or \
         put it into the earlier fit too"
    )]
    Shared {
        /// The new term.
        term: String,
        /// The column of both.
        column: String,
    },
    /// Priors of standardized predictors.
    #[error(
        "standardize is about priors that are given, and these come from the fit, on the scale of the data; leave it out"
    )]
    Standardize,
    /// Another prior of a column that is in the fit.
    #[error("prior '{spec}' is about `{column}`, whose prior comes from the fit; leave one of the two out")]
    TwoPriors {
        /// The other prior.
        spec: String,
        /// The column.
        column: String,
    },
}
