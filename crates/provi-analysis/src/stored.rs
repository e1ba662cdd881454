//! A fit that is kept in a folder: its record, its Gaussian and, with the data, its model.

use std::path::Path;

use provi::{Gaussian, Matrix};

use crate::error::{Error, Result};
use crate::fit_file::FitFile;
use crate::given::Given;
use crate::model::{Data, Model, Scale};
use crate::options::ModelOptions;

/// A fit of provi.
#[derive(Debug)]
pub struct Stored {
    /// What fit.json says.
    pub file: FitFile,
    /// q.
    pub gaussian: Gaussian,
}

impl Stored {
    /// From fit.json, or its folder. A Gaussian of another tool has no record, and is refused.
    pub fn read(path: &Path) -> Result<Self> {
        let mut given = Given::read(path).map_err(no_fit)?;
        let Some(file) = given.record.take() else { return Err(Error::NoRecord { path: given.path }) };
        let gaussian = given.gaussian(&file.names).map_err(no_fit)?;
        Ok(Self { file: *file, gaussian })
    }

    /// The model again, from the data it was fitted to; from other data only if `force`.
    pub fn model(&self, data: &Path, force: bool) -> Result<Model> {
        let data = Data::read(data).map_err(|error| Error::table(error, &self.file.model.formula))?;
        if !force {
            refuse_other_data(&self.file, &data.sha256)?;
        }
        rebuild(&self.file, &data, &self.file.model.formula, &self.file.model.options)
    }
}

/// The model of a file, with perhaps other options, from its data.
pub fn rebuild(file: &FitFile, data: &Data, formula: &str, options: &ModelOptions) -> Result<Model> {
    let record = &file.model;
    let prior = match &record.prior_covariance {
        Some(rows) if options.prior_covariance == record.options.prior_covariance => {
            let matrix = Matrix::new(rows.len(), rows.len(), rows.concat())?;
            let mean = record.prior_mean.get(..rows.len()).unwrap_or_default();
            Some(Gaussian::from_covariance(mean, matrix)?)
        }
        _ => None,
    };
    let mut model = Model::build(data, formula, options, prior.as_ref())?;
    // A scale at the value it was chosen at is still one that was chosen.
    for scale in &mut model.scales {
        let same = |old: &&Scale| old.name == scale.name && (old.sd - scale.sd).abs() <= 0.0;
        if let Some(old) = record.scales.iter().find(same) {
            (scale.origin, scale.vanishing) = (old.origin, old.vanishing);
        }
    }
    Ok(model)
}

/// The words of `certify`, put for those who have nothing to certify.
fn no_fit(error: Error) -> Error {
    match error {
        Error::BadFit { path, problem } => Error::NoFit { path, problem },
        other => other,
    }
}

/// Data with another digest than the fit's.
pub fn refuse_other_data(file: &FitFile, found: &str) -> Result<()> {
    if file.model.data_sha256 == found {
        return Ok(());
    }
    Err(Error::OtherData { stored: file.model.data_sha256.clone(), found: found.to_owned() })
}
