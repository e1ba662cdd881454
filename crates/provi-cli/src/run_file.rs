//! A whole run as a file: `run.toml`, whose keys are the options of `provi fit`.

use std::path::{Path, PathBuf};

use provi::auto::Choice;
use provi_analysis::options::{AuditOptions, ModelOptions, StepOptions};
use serde::{Deserialize, Serialize};

use crate::args::FitArgs;
use crate::failure::{Failure, Result};

/// Everything that a fit depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct RunFile {
    /// The version of provi that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) provi: Option<String>,
    pub(crate) data: PathBuf,
    /// Of the data's bytes; data with another one are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_sha256: Option<String>,
    pub(crate) formula: String,
    #[serde(default, with = "as_text", skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<Choice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) distance: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time_limit: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) contrast: Vec<String>,
    #[serde(default, skip_serializing_if = "StepOptions::is_default")]
    pub(crate) step: StepOptions,
    #[serde(default, skip_serializing_if = "AuditOptions::is_default")]
    pub(crate) audit: AuditOptions,
    #[serde(default)]
    pub(crate) model: ModelOptions,
}

const HEADING: &str = "# Everything this fit depends on; to make it again: provi fit --config run.toml\n";

impl RunFile {
    /// What the arguments say, with the data's fingerprint.
    pub(crate) fn new(args: &FitArgs, data: &Path, formula: &str, sha256: &str) -> Self {
        Self {
            provi: Some(env!("CARGO_PKG_VERSION").to_owned()),
            data: data.to_owned(),
            data_sha256: Some(sha256.to_owned()),
            formula: formula.to_owned(),
            method: args.method,
            distance: args.distance,
            steps: args.steps,
            seed: Some(args.seed()),
            threads: args.threads,
            time_limit: args.time_limit,
            contrast: args.contrast.clone(),
            step: args.step.clone(),
            audit: args.audit.clone(),
            model: args.model.clone(),
        }
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let refused = |reason: String| Failure::BadRunFile { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let mut file: Self = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        // A path is meant from where the command runs, or from beside the file.
        if let (false, Some(folder)) = (file.data.exists(), path.parent())
            && folder.join(&file.data).exists()
        {
            file.data = folder.join(&file.data);
        }
        Ok(file)
    }

    pub(crate) fn to_toml(&self) -> Result<String> {
        let text = toml::to_string(self)
            .map_err(|error| Failure::BadRunFile { path: "run.toml".into(), reason: error.to_string() })?;
        Ok(format!("{HEADING}{text}"))
    }

    /// The arguments with the file behind them: what the command line says goes first.
    pub(crate) fn behind(self, args: &FitArgs) -> FitArgs {
        let list =
            |first: &Vec<String>, second: Vec<String>| if first.is_empty() { second } else { first.clone() };
        FitArgs {
            data: args.data.clone().or(Some(self.data)),
            formula: args.formula.clone().or(Some(self.formula)),
            method: args.method.or(self.method),
            distance: args.distance.or(self.distance),
            steps: args.steps.or(self.steps),
            seed: args.seed.or(self.seed),
            threads: args.threads.or(self.threads),
            time_limit: args.time_limit.or(self.time_limit),
            contrast: list(&args.contrast, self.contrast),
            step: args.step.over(self.step),
            audit: args.audit.over(self.audit),
            model: args.model.over(self.model),
            ..args.clone()
        }
    }
}

/// A value that reads and writes itself as text.
mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(value),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map(Some).map_err(D::Error::custom)
    }
}
