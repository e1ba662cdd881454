//! A whole run as a file: `run.toml`, whose keys are the options of `provi fit`.

mod compiled;
mod place;

use std::path::{Path, PathBuf};

use provi::auto::Choice;
use provi_analysis::model::compiled::Digests;
use provi_analysis::options::{AuditOptions, ModelOptions, StepOptions};
use serde::{Deserialize, Serialize};

use crate::amount::{Seconds, Size};
use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use compiled::CompiledRun;

/// Everything that a fit depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct RunFile {
    /// The version of provi that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) provi: Option<String>,
    /// A table, or the data of a compiled model, which may have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<PathBuf>,
    /// Of the data's bytes; data with another one are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_sha256: Option<String>,
    /// The model of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) formula: Option<String>,
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
    /// Memory for the rows of files: how they are cut into blocks moves sums by their rounding.
    #[serde(default, with = "as_text", skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<Size>,
    /// Processes that share the fit, which move sums by their rounding too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) processes: Option<usize>,
    #[serde(default, with = "as_text", skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint_every: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) contrast: Vec<String>,
    #[serde(default, skip_serializing_if = "StepOptions::is_default")]
    pub(crate) step: StepOptions,
    #[serde(default, skip_serializing_if = "AuditOptions::is_default")]
    pub(crate) audit: AuditOptions,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) model: ModelOptions,
    /// Or a library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compiled: Option<CompiledRun>,
}

fn is_default(model: &ModelOptions) -> bool {
    *model == ModelOptions::default()
}

const HEADING: &str = "\
# Everything this fit depends on; to make it again: provi fit --config run.toml
# Paths are meant from the folder of this file.
";

impl RunFile {
    /// A run on a table, with the table's fingerprint.
    pub(crate) fn of_table(args: &FitArgs, sha256: &str, processes: usize) -> Self {
        Self {
            processes: args.distributed.then_some(processes),
            data: args.data.clone(),
            data_sha256: Some(sha256.to_owned()),
            formula: args.formula.clone(),
            model: args.model.clone().with_default_named(),
            ..Self::of_any(args)
        }
    }

    /// A run on a library, with the fingerprints of its files.
    pub(crate) fn of_library(args: &FitArgs, digests: &Digests) -> Self {
        Self {
            data: args.compiled.library.data_file.clone(),
            data_sha256: digests.data.clone(),
            compiled: Some(CompiledRun::new(&args.compiled, digests)),
            ..Self::of_any(args)
        }
    }

    fn of_any(args: &FitArgs) -> Self {
        Self {
            provi: Some(env!("CARGO_PKG_VERSION").to_owned()),
            data: None,
            data_sha256: None,
            formula: None,
            method: args.method,
            distance: args.distance,
            steps: args.steps,
            seed: Some(args.seed()),
            threads: args.threads,
            time_limit: args.time_limit,
            memory: args.memory,
            processes: None,
            checkpoint_every: args.checkpoint_every,
            contrast: args.contrast.clone(),
            step: args.step.clone(),
            audit: args.audit.clone(),
            model: ModelOptions::default(),
            compiled: None,
        }
    }

    /// From that file; its paths are meant from `folder`, or, where nothing is there, from where the command runs.
    pub(crate) fn read(path: &Path, folder: &Path) -> Result<Self> {
        let refused = |reason: String| Failure::BadRunFile { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let mut file: Self = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        file.check().map_err(|reason| refused(reason.to_owned()))?;
        // One that provi wrote means the prior it was made with; one written by hand, the default of today.
        if file.provi.is_some() && file.formula.is_some() {
            file.model = file.model.as_recorded();
        }
        for named in file.paths() {
            *named = place::found(named, folder);
        }
        Ok(file)
    }

    /// The same with every path that does not begin at the root put as it reads from that folder, so that the file means
    /// the same wherever the command runs.
    pub(crate) fn beside(mut self, folder: &Path) -> Result<Self> {
        for named in self.paths() {
            *named = place::seen_from(named, folder)
                .map_err(|error| provi_analysis::Error::write(folder, &error))?;
        }
        Ok(self)
    }

    /// The files and folders it names.
    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let compiled = self.compiled.iter_mut().flat_map(CompiledRun::paths);
        self.data.iter_mut().chain(&mut self.model.prior_covariance).chain(compiled)
    }

    /// Whether it says what is fitted, once.
    fn check(&self) -> std::result::Result<(), &'static str> {
        match (&self.formula, &self.compiled) {
            (Some(_), Some(_)) => {
                Err("it has a `formula` and a [compiled] model, and only one can be fitted")
            }
            (None, None) => Err("it has neither a `formula` nor a [compiled] model"),
            (Some(_), None) if self.data.is_none() => Err("its `formula` has no `data`"),
            (Some(_), None) => Ok(()),
            (None, Some(compiled)) if !is_default(&self.model) || !compiled.names_one() => {
                Err("[compiled] needs one of `stan` and `library`, and has no [model]")
            }
            (None, Some(_)) => Ok(()),
        }
    }

    pub(crate) fn to_toml(&self) -> Result<String> {
        let text = toml::to_string(self)
            .map_err(|error| Failure::BadRunFile { path: "run.toml".into(), reason: error.to_string() })?;
        Ok(format!("{HEADING}{text}"))
    }

    /// The fingerprints of its files, where the command line names no others.
    pub(crate) fn digests(&self, args: &FitArgs) -> Digests {
        let compiled = self.compiled.as_ref();
        let named = args.data.is_some() || args.compiled.library.data_file.is_some();
        Digests {
            model: compiled.and_then(|c| c.sha256.clone()).filter(|_| !args.compiled.library.is_given()),
            data: self.data_sha256.clone().filter(|_| !named),
            init: compiled.and_then(|c| c.init_sha256.clone()).filter(|_| args.compiled.init.is_none()),
        }
    }

    /// The arguments with the file behind them: what the command line says goes first.
    pub(crate) fn behind(self, args: &FitArgs) -> Result<FitArgs> {
        let list =
            |first: &Vec<String>, second: Vec<String>| if first.is_empty() { second } else { first.clone() };
        let (data, compiled) = match self.compiled {
            None => (args.data.clone().or(self.data), args.compiled.clone()),
            Some(compiled) => (args.data.clone(), compiled.behind(&args.compiled, self.data)),
        };
        if self.formula.is_some() {
            let stray = args.compiled.library.is_given().then_some("--stan or --library");
            if let Some(option) = stray.or_else(|| args.compiled.first_given()) {
                return Err(Failure::OfLibrary { option });
            }
        }
        Ok(FitArgs {
            data,
            formula: args.formula.clone().or(self.formula),
            method: args.method.or(self.method),
            distance: args.distance.or(self.distance),
            steps: args.steps.or(self.steps),
            seed: args.seed.or(self.seed),
            threads: args.threads.or(self.threads),
            time_limit: args.time_limit.or(self.time_limit),
            memory: args.memory.or(self.memory),
            checkpoint_every: args.checkpoint_every.or(self.checkpoint_every),
            contrast: list(&args.contrast, self.contrast),
            step: args.step.over(self.step),
            audit: args.audit.over(self.audit),
            model: args.model.over(self.model),
            compiled,
            ..args.clone()
        })
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
