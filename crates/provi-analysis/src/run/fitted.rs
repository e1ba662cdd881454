//! A fit, new or loaded from its folder: its record, its Gaussian and, with the data, its model.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use provi::certificate::Certificate;
use provi::scales::ScaleMixture;
use provi::sparse::{AnyGaussian, NormalLaw};
use provi::{Gaussian, Matrix, Seed};

use crate::capacity::refuse_beyond;
use crate::error::{BadFit, Error, Result};
use crate::model::{Data, Given, Model, Origin, Scale};
use crate::options::ModelOptions;
use crate::record::fit_file::{ContrastRecord, FitFile, Kind, TracePoint};
use crate::record::gaussian_file::GaussianFile;
use crate::record::mixture::MixtureRecord;
use crate::record::store::Store;
use crate::run::contrast::Contrast;

/// A fit of provi, of any kind of model.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The contents of fit.json.
    pub file: FitFile,
    /// The answer q; for a mixture over scales, the Gaussian with its mean and covariance, or that of its heaviest node if precisions are
    /// sparse.
    pub gaussian: AnyGaussian,
    /// The answer itself, if scales are integrated over.
    pub mixture: Option<ScaleMixture>,
}

impl Fitted {
    /// From fit.json, or its folder. A Gaussian of another tool has no record, and is refused.
    pub fn load(path: &Path) -> Result<Self> {
        let mut given = GaussianFile::read(path).map_err(no_fit)?;
        let Some(file) = given.record.take() else { return Err(Error::NoRecord { path: given.path }) };
        let gaussian = given.gaussian(&file.names).map_err(no_fit)?;
        Self::of(*file, gaussian)
            .map_err(|error| Error::NoFit { path: given.path, problem: BadFit::Record(error.to_string()) })
    }

    /// From the contents of fit.json and the Gaussian in it.
    pub fn of(file: FitFile, gaussian: AnyGaussian) -> Result<Self> {
        let mixture = file.mixture.as_ref().map(MixtureRecord::mixture).transpose()?;
        Ok(Self { file, gaussian, mixture })
    }

    /// The answer with a dense factor, for what needs one; refused if d² numbers are too many.
    pub fn dense(&self, what: &str) -> Result<Cow<'_, Gaussian>> {
        if self.gaussian.as_dense().is_none() {
            let d = self.gaussian.dim() as u128;
            refuse_beyond(|| format!("{what}, with the covariance of {d} coefficients,"), 4 * 8 * d * d)?;
        }
        Ok(self.gaussian.to_dense()?)
    }

    /// The covariance of the coefficients, whose means and deviations are [`Self::moments`]. With sparse factors the fit keeps the Gaussian of the heaviest
    /// node beside the mixture over the scales, and that is another one.
    pub fn covariance(&self, what: &str) -> Result<Matrix> {
        match self.sparse_mixture(what)? {
            Some(mixture) => Ok(mixture.covariance()?),
            None => Ok(self.dense(what)?.covariance()),
        }
    }

    /// The factor of that covariance.
    pub fn factor(&self, what: &str) -> Result<Matrix> {
        match self.sparse_mixture(what)? {
            Some(mixture) => Ok(mixture.gaussian()?.factor_matrix()),
            None => Ok(self.dense(what)?.factor_matrix()),
        }
    }

    /// The mixture of Gaussians with sparse factors, if it is one and there is room for a covariance.
    fn sparse_mixture(&self, what: &str) -> Result<Option<&ScaleMixture>> {
        let (Some(mixture), AnyGaussian::Sparse(_)) = (&self.mixture, &self.gaussian) else {
            return Ok(None);
        };
        // One node at a time is dense.
        let d = mixture.dim() as u128;
        refuse_beyond(|| format!("{what}, with the covariance of {d} coefficients,"), 4 * 8 * d * d)?;
        Ok(Some(mixture))
    }

    /// Mean and standard deviation of every coefficient.
    pub fn moments(&self) -> Result<[Vec<f64>; 2]> {
        match (&self.mixture, &self.gaussian) {
            (Some(mixture), AnyGaussian::Sparse(_)) => Ok([mixture.mean(), mixture.standard_deviations()]),
            (_, q) => Ok([q.mean().to_vec(), q.standard_deviations()?]),
        }
    }

    /// A contrast of the answer.
    pub fn measure(&self, contrast: &Contrast, certificate: &Certificate) -> Result<ContrastRecord> {
        match &self.mixture {
            Some(mixture) => contrast.measure_mixture(mixture, certificate),
            None => contrast.measure(&self.gaussian, certificate, self.file.moment_bounds.as_ref()),
        }
    }

    /// Refuses what needs one Gaussian at known scales.
    pub fn needs_known_scales(&self, what: &str) -> Result<()> {
        match self.mixture {
            None => Ok(()),
            Some(_) => Err(Error::ScalesIntegrated { what: what.to_owned() }),
        }
    }

    /// Writes fit.json, and beside it the factor of a large fit. A folder that holds a fit is refused unless
    /// `force`; one to which another process writes is always refused.
    pub fn save(&self, dir: &Path, force: bool) -> Result<PathBuf> {
        Store::open(dir, force)?.save_alone(&self.file, &self.gaussian)
    }

    /// The names of the coefficients.
    pub fn names(&self) -> &[String] {
        &self.file.names
    }

    /// What is proved. Absent in files older than certificates.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.file.certificate.as_ref()
    }

    /// The progress of the run.
    pub fn trace(&self) -> &[TracePoint] {
        &self.file.trace
    }

    /// Draws of the answer, one per row; a pure function of the seed. Refused if memory does not suffice.
    pub fn sample(&self, count: usize, seed: Seed) -> Result<Matrix> {
        let needed = 16 * count as u128 * self.gaussian.dim() as u128;
        refuse_beyond(|| format!("{count} draws of {} coefficients", self.gaussian.dim()), needed)?;
        Ok(match &self.mixture {
            Some(mixture) => {
                let [points, _] = mixture.sample(count, seed);
                points
            }
            None => self.gaussian.sample(count, seed),
        })
    }

    /// The names of what is drawn: coefficients, then the scales that are integrated over.
    pub fn draw_names(&self) -> Vec<String> {
        let scales = self.file.mixture.iter().flat_map(|record| &record.scales);
        self.file.names.iter().cloned().chain(scales.map(|scale| scale.name.clone())).collect()
    }

    /// The draws with these numbers: coefficients, then the scales that are integrated over.
    pub fn draw_part(&self, which: Range<u64>, seed: Seed) -> Result<Matrix> {
        let Some(mixture) = &self.mixture else { return Ok(self.gaussian.sample_part(which, seed)) };
        let [points, scales] = mixture.sample_part(which, seed);
        let row = |k| points.row(k).iter().chain(scales.row(k)).copied();
        let entries = (0..points.rows()).flat_map(row).collect();
        Ok(Matrix::new(points.rows(), points.columns() + scales.columns(), entries)?)
    }

    /// Makes the model again from the data it was fitted to; from other data only if `force`.
    pub fn model(&self, data: &Data, force: bool) -> Result<Model> {
        self.needs_formula("its model cannot be made again")?;
        self.needs_one_predictor("what is asked for")?;
        if !force {
            refuse_other_data(&self.file, data)?;
        }
        rebuild(&self.file, data, &self.file.model.formula, &self.file.model.options.clone().as_recorded())
    }

    /// Refuses a fit that is not of a formula.
    pub(crate) fn needs_formula(&self, what: &'static str) -> Result<()> {
        match self.file.model.kind {
            Kind::Formula => Ok(()),
            kind => Err(Error::NotOfFormula { kind: kind.name(), what }),
        }
    }
}

/// The model of a file, made from its data, possibly with other options ([`ModelOptions::as_recorded`]).
pub fn rebuild(file: &FitFile, data: &Data, formula: &str, options: &ModelOptions) -> Result<Model> {
    let record = &file.model;
    let prior = match &record.prior_covariance {
        Some(rows)
            if options.prior_covariance == record.options.prior_covariance
                && options.prior_from == record.options.prior_from =>
        {
            let matrix = Matrix::new(rows.len(), rows.len(), rows.concat())?;
            let mean = record.prior_mean.get(..rows.len()).unwrap_or_default();
            Some(Gaussian::from_covariance(mean, matrix)?)
        }
        _ => None,
    };
    let mut model = match (&prior, &record.prior_from, &record.recipe) {
        (Some(prior), Some(from), Some(recipe)) => {
            let model = Model::make(data, formula, options, Given::Recorded { prior, recipe })?;
            Model { prior_from: Some(from.clone()), ..model }
        }
        _ => Model::build(data, formula, options, prior.as_ref())?,
    };
    // A scale fixed at its estimated value is still an estimated one.
    for scale in &mut model.scales {
        let integrated = scale.origin == Origin::Integrated;
        let same = |old: &&Scale| old.name == scale.name && (integrated || (old.sd - scale.sd).abs() <= 0.0);
        if let Some(old) = record.scales.iter().find(same) {
            (scale.origin, scale.vanishing, scale.sd) = (old.origin, old.vanishing, old.sd);
        }
    }
    Ok(model)
}

/// The error of `certify`, reworded for callers that certify nothing.
fn no_fit(error: Error) -> Error {
    match error {
        Error::BadFit { path, problem } => Error::NoFit { path, problem },
        other => other,
    }
}

/// Refuses data with another digest than the fit's data.
pub fn refuse_other_data(file: &FitFile, data: &Data) -> Result<()> {
    let refuse = |error| Error::table(error, &file.model.formula);
    if data.is_the_data_of(&file.model.data_sha256).map_err(refuse)? {
        return Ok(());
    }
    let found = data.sha256().map_err(refuse)?.to_owned();
    Err(Error::OtherData { stored: file.model.data_sha256.clone(), found })
}
