//! What a user may say about a model and a run, in every shell and in a run file alike.
//!
//! Each key of a run file is an option of the command, so there is one list of them: this one.

/// Options that run files hold as the text that the command line reads.
macro_rules! as_text {
    ($($spec:ident),+) => {$(
        impl From<$spec> for String {
            fn from(spec: $spec) -> Self {
                spec.to_string()
            }
        }

        impl TryFrom<String> for $spec {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )+};
}
use as_text;

mod names;
mod pair;
mod prior;
mod run;

pub use names::{FamilyName, MissingName};
pub use pair::{LevelSpec, ScaleSpec};
pub use prior::{NormalPrior, PriorSpec};
pub use run::{AuditOptions, RunOptions, StepOptions};

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The prior's standard deviation where none is given.
pub const PRIOR_SCALE: f64 = provi::target::Prior::SCALE;

/// How the response depends on the predictors, and what is believed beforehand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelOptions {
    /// How the response depends on the predictors [default: bernoulli for a binary response, binomial for counts
    /// of successes]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Model"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<FamilyName>,
    /// Standard deviation of the noise, for the gaussian family [default: the one that maximises the ELBO]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SD", allow_negative_numbers = true, help_heading = "Model")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_sd: Option<f64>,
    /// Prior of the coefficients, 'normal(0, 2.5)', or of some, 'dose=normal(1, 0.5)', 'age*=normal(0, 1)'; repeatable
    #[cfg_attr(feature = "clap", arg(long, value_name = "SPEC", help_heading = "Model"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PriorSpec>,
    /// Short for the prior `normal(0, SD)` of every coefficient
    #[cfg_attr(feature = "clap", arg(long, value_name = "SD", allow_negative_numbers = true, help_heading = "Model", help = format!(
        "Short for --prior 'normal(0, SD)' [default: {PRIOR_SCALE}]"
    )))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_scale: Option<f64>,
    /// Prior covariance of the population coefficients: CSV with the header `name,<name1>,<name2>,…` and a row each
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", conflicts_with_all = ["prior_scale", "standardize"], help_heading = "Model"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_covariance: Option<PathBuf>,
    /// Standard deviation between groups, '0.5', 'clinic=0.5' or 'clinic:age=0.1'; repeatable [default: those that
    /// maximise the ELBO]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SPEC", help_heading = "Model"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub group_scale: Vec<ScaleSpec>,
    /// Priors speak of standardized predictors (mean 0, sd 1); coefficients stay on the scale of the data
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Model"))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub standardize: bool,
    /// Column of weights: a row's log likelihood is multiplied by its weight
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN", help_heading = "Data"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Column added to the linear predictor
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN", help_heading = "Data"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// Column whose logarithm is added to the linear predictor, as of time at risk
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN", help_heading = "Data"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
    /// Reference level of a category, 'town=Bern'; repeatable [default: the first in order]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN=LEVEL", help_heading = "Data"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reference: Vec<LevelSpec>,
    /// What becomes of rows with a missing value in a column in use [default: drop]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Data"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingName>,
    /// Cell texts that mean a missing value, 'none,-9', beside an empty cell, NA, NaN, null, n/a, . and ?
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "WORDS",
            value_delimiter = ',',
            allow_hyphen_values = true,
            help_heading = "Data"
        )
    )]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub na: Vec<String>,
}

impl ModelOptions {
    /// What is said here, and otherwise there.
    pub fn over(&self, other: Self) -> Self {
        fn list<T: Clone>(first: &[T], second: Vec<T>) -> Vec<T> {
            if first.is_empty() { second } else { first.to_vec() }
        }
        Self {
            family: self.family.or(other.family),
            noise_sd: self.noise_sd.or(other.noise_sd),
            prior: list(&self.prior, other.prior),
            prior_scale: self.prior_scale.or(other.prior_scale),
            prior_covariance: self.prior_covariance.clone().or(other.prior_covariance),
            group_scale: list(&self.group_scale, other.group_scale),
            standardize: self.standardize || other.standardize,
            weights: self.weights.clone().or(other.weights),
            offset: self.offset.clone().or(other.offset),
            exposure: self.exposure.clone().or(other.exposure),
            reference: list(&self.reference, other.reference),
            missing: self.missing.or(other.missing),
            na: list(&self.na, other.na),
        }
    }

    /// The same with every prior of the population that many times as wide.
    pub fn with_wider_priors(&self, factor: f64) -> Self {
        let wider = |spec: &PriorSpec| PriorSpec {
            normal: NormalPrior { sd: factor * spec.normal.sd, ..spec.normal },
            ..spec.clone()
        };
        Self {
            prior: self.prior.iter().map(wider).collect(),
            prior_scale: Some(factor * self.prior_scale.unwrap_or(PRIOR_SCALE)),
            ..self.clone()
        }
    }

    /// The first option that the other says differently, by its key in a run file, with both values.
    pub fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let table = |options: &Self| toml::Table::try_from(options).unwrap_or_default();
        let (a, b) = (table(self), table(other));
        let shown = |value: Option<&toml::Value>| value.map_or("none".to_owned(), ToString::to_string);
        let keys = a.keys().chain(b.keys());
        keys.map(|key| (key, a.get(key), b.get(key)))
            .find(|(_, a, b)| a != b)
            .map(|(key, a, b)| (key.clone(), shown(a), shown(b)))
    }
}
