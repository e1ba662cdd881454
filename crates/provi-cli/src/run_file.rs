//! A whole run as a file: `run.toml`, whose keys are the options of `provi fit`.

mod keys;
mod place;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use provi_analysis::model::compiled::Digests;
use provi_analysis::options::{CompiledOptions, FileOptions, Layer, ModelOptions, RunOptions};
use serde::{Deserialize, Serialize};

use crate::args::FitArgs;
use crate::failure::{Failure, Result};
use keys::Keys;

/// Everything on which a fit depends. Options are keys of the file because they are fields of their types; none is
/// listed again here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct RunFile {
    /// The version of provi that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provi: Option<String>,
    /// A table, or the data of a compiled model, which may have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<PathBuf>,
    /// Digest of the data's bytes; data with another digest are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_sha256: Option<String>,
    /// The model of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) formula: Option<String>,
    /// Number of processes that share the fit; it changes sums by their rounding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) processes: Option<usize>,
    #[serde(flatten, skip_deserializing)]
    pub(crate) files: FileOptions,
    #[serde(flatten, skip_deserializing)]
    pub(crate) run: RunOptions,
    #[serde(skip_serializing_if = "Layer::is_unset")]
    pub(crate) model: ModelOptions,
    /// A library instead of a table.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) compiled: Option<CompiledOptions>,
}

const HEADING: &str = "\
# Everything this fit depends on; to make it again: provi fit --config run.toml
# Paths are meant from the folder of this file.
";

impl RunFile {
    /// A run on a table, with the table's digest.
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

    /// A run on a library, with the digests of its files.
    pub(crate) fn of_library(args: &FitArgs, digests: &Digests) -> Self {
        Self {
            data: args.compiled.library.data_file.clone(),
            data_sha256: digests.data.clone(),
            compiled: Some(CompiledOptions {
                sha256: digests.model.clone(),
                init_sha256: digests.init.clone(),
                ..args.compiled.clone()
            }),
            ..Self::of_any(args)
        }
    }

    fn of_any(args: &FitArgs) -> Self {
        Self {
            provi: Some(env!("CARGO_PKG_VERSION").to_owned()),
            files: args.files.clone(),
            run: RunOptions { seed: Some(args.seed()), ..args.run.clone() },
            ..Self::default()
        }
    }

    /// Parses the text. Keys of several types are side by side in it.
    fn parse(text: &str) -> std::result::Result<Self, toml::de::Error> {
        let mut keys = Keys::parse(text)?;
        let mut file: Self = keys.take()?;
        (file.run, file.files) = (keys.take()?, keys.take()?);
        if let Some(mut keys) = keys.table("compiled")? {
            let mut compiled: CompiledOptions = keys.take()?;
            (compiled.library, compiled.search) = (keys.take()?, keys.take()?);
            keys.finish()?;
            file.compiled = Some(compiled);
        }
        keys.finish()?;
        Ok(file)
    }

    /// Reads a file. Its paths are relative to `folder`, or, if nothing exists there, to the current folder.
    pub(crate) fn read(path: &Path, folder: &Path) -> Result<Self> {
        let refused = |reason: String| Failure::BadRunFile { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let mut file = Self::parse(&text).map_err(|error| refused(error.to_string()))?;
        file.check().map_err(|reason| refused(reason.to_owned()))?;
        // A file that provi wrote means the prior of its time; one written by hand means today's default.
        if file.provi.is_some() && file.formula.is_some() {
            file.model = file.model.as_recorded();
        }
        for named in file.paths() {
            *named = place::found(named, folder);
        }
        Ok(file)
    }

    /// The same with every relative path written relative to `folder`, so that the file means the same wherever the
    /// command runs.
    pub(crate) fn beside(mut self, folder: &Path) -> Result<Self> {
        for named in self.paths() {
            *named = place::seen_from(named, folder)
                .map_err(|error| provi_analysis::Error::write(folder, &error))?;
        }
        Ok(self)
    }

    /// The files and folders that it names.
    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let compiled = self.compiled.iter_mut().flat_map(|CompiledOptions { library, init, .. }| {
            let named = library.stan.iter_mut().chain(&mut library.library);
            named.chain(init).chain(&mut library.bridgestan)
        });
        let model = self.model.prior_covariance.iter_mut().chain(&mut self.model.prior_from);
        self.data.iter_mut().chain(model).chain(compiled)
    }

    /// Whether it says exactly once what is fitted.
    fn check(&self) -> std::result::Result<(), &'static str> {
        match (&self.formula, &self.compiled) {
            (Some(_), Some(_)) => {
                Err("it has a `formula` and a [compiled] model, and only one can be fitted")
            }
            (None, None) => Err("it has neither a `formula` nor a [compiled] model"),
            (Some(_), None) if self.data.is_none() => Err("its `formula` has no `data`"),
            (Some(_), None) => Ok(()),
            (None, Some(CompiledOptions { library, .. }))
                if !self.model.is_unset() || library.stan.is_some() == library.library.is_some() =>
            {
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

    /// The digests of its files, as far as the command line names no others.
    pub(crate) fn digests(&self, args: &FitArgs) -> Digests {
        let compiled = self.compiled.as_ref();
        let named = args.data.is_some() || args.compiled.library.data_file.is_some();
        Digests {
            model: compiled.and_then(|c| c.sha256.clone()).filter(|_| !args.compiled.library.is_given()),
            data: self.data_sha256.clone().filter(|_| !named),
            init: compiled.and_then(|c| c.init_sha256.clone()).filter(|_| args.compiled.init.is_none()),
        }
    }

    /// The arguments, completed by the file: the command line takes precedence.
    pub(crate) fn behind(self, args: &FitArgs) -> Result<FitArgs> {
        let given = args.clone();
        if self.formula.is_some() {
            let stray = given.compiled.library.is_given().then(|| "stan or --library".to_owned());
            if let Some(option) = stray.or_else(|| given.compiled.first_given()) {
                return Err(Failure::OfLibrary { option: format!("--{option}") });
            }
        }
        let (data, compiled) = match self.compiled {
            None => (given.data.or(self.data), given.compiled),
            Some(mut compiled) => {
                compiled.library.data_file = self.data;
                (given.data, given.compiled.over(compiled))
            }
        };
        Ok(FitArgs {
            data,
            compiled,
            formula: given.formula.or(self.formula),
            run: given.run.over(self.run),
            files: given.files.over(self.files),
            model: given.model.over(self.model),
            ..given
        })
    }
}
