//! A fit that is kept in a folder: its record, its Gaussian and, with the data, its model.

use std::path::Path;

use clap::ValueEnum;
use provi::Gaussian;

use crate::args::{FamilyName, ModelArgs};
use crate::failure::{Failure, Result};
use crate::given::Given;
use crate::model::Model;
use crate::output::fit_file::FitFile;

/// A fit of provi.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) file: FitFile,
    pub(crate) gaussian: Gaussian,
}

impl Stored {
    /// From fit.json, or its folder. A Gaussian of another tool has no record, and is refused.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut given = Given::read(path).map_err(no_fit)?;
        let Some(file) = given.record.take() else { return Err(Failure::NoRecord { path: given.path }) };
        let gaussian = given.gaussian(&file.names).map_err(no_fit)?;
        Ok(Self { file: *file, gaussian })
    }

    /// The model again, from the data it was fitted to; from other data only if `force`.
    pub(crate) fn model(&self, data: &Path, force: bool) -> Result<Model> {
        Model::read_if(&model_args(&self.file, data)?, |found| {
            if force { Ok(()) } else { refuse_other_data(&self.file, found) }
        })
    }
}

/// The words of `certify`, put for those who have nothing to certify.
fn no_fit(failure: Failure) -> Failure {
    match failure {
        Failure::BadFit { path, problem } => Failure::NoFit { path, problem },
        other => other,
    }
}

/// Data with another digest than the fit's.
pub(crate) fn refuse_other_data(file: &FitFile, found: &str) -> Result<()> {
    if file.model.data_sha256 == found {
        return Ok(());
    }
    Err(Failure::OtherData { stored: file.model.data_sha256.clone(), found: found.to_owned() })
}

/// The options that make the file's model.
pub(crate) fn model_args(file: &FitFile, data: &Path) -> Result<ModelArgs> {
    let (model, prior) = (&file.model, &file.model.prior);
    if prior.distribution != "normal" || prior.mean.abs() > 0.0 {
        let found = format!("{}({}, {})", prior.distribution, prior.mean, prior.sd);
        return Err(Failure::UnknownModel { what: "prior", found });
    }
    let family = FamilyName::from_str(&model.family, false)
        .map_err(|_| Failure::UnknownModel { what: "family", found: model.family.clone() })?;
    Ok(ModelArgs {
        data: data.to_owned(),
        formula: model.formula.clone(),
        family: Some(family),
        noise_sd: model.noise_sd,
        prior_scale: prior.sd,
    })
}
