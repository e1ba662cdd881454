//! The prior: what the options say about each coefficient, on the scale of the data.

use provi::scalar::Positive;
use provi::target::Prior;
use provi::{Gaussian, Matrix};
use provi_table::CodedColumn;

use super::opened::Head;
use super::scales::Scale;
use crate::error::{Error, Result};
use crate::given::Given;
use crate::options::{ModelOptions, NormalPrior, PRIOR_SCALE};

/// The population's prior, if a file holds its mean and covariance.
pub(super) fn given(options: &ModelOptions, head: &Head<'_>) -> Result<Option<Gaussian>> {
    let Some(path) = &options.prior_covariance else { return Ok(None) };
    Given::read(path)?.gaussian(&head.names[..head.population]).map(Some)
}

/// N(ν, Λ⁻¹) over all coefficients, those of the groups independent with their scales.
///
/// With `standard`, the priors speak of b in β = Tb: b_j = sd_j β_j of a centred and scaled column, and the intercept
/// b_0 = β_0 + Σ mean_j β_j at the means. So β has the mean Tν and the covariance T diag(s²)Tᵀ.
pub(super) fn assemble(
    options: &ModelOptions,
    head: &Head<'_>,
    given: Option<&Gaussian>,
    standard: Option<&[CodedColumn]>,
    scales: &[Scale],
) -> Result<Prior> {
    let (dim, population) = (head.names.len(), head.population);
    let mut sd = vec![1.0; dim];
    for scale in scales {
        scale.coefficients.iter().for_each(|&i| sd[i] = scale.sd);
    }
    let normals = normals(options, &head.names[..population])?;
    let mut mean = vec![0.0; dim];
    for (i, normal) in normals.iter().enumerate() {
        (mean[i], sd[i]) = (normal.mean, normal.sd);
    }
    if given.is_none() && standard.is_none() {
        let precisions: Vec<f64> = sd.iter().map(|sd| 1.0 / (sd * sd)).collect();
        return Ok(Prior::diagonal(&precisions)?.with_mean(&mean)?);
    }
    let mut covariance = Matrix::diagonal(&sd.iter().map(|sd| sd * sd).collect::<Vec<_>>());
    if let Some(given) = given {
        mean[..population].copy_from_slice(given.mean());
        let block = given.covariance();
        for i in 0..population {
            for j in 0..population {
                covariance[(i, j)] = block[(i, j)];
            }
        }
    } else if let Some(columns) = standard {
        let map = unstandardize(columns);
        let old = mean[..population].to_vec();
        for i in 0..population {
            mean[i] = (0..population).map(|k| map[(i, k)] * old[k]).sum();
            for j in 0..population {
                covariance[(i, j)] = (0..population).map(|k| map[(i, k)] * sd[k] * sd[k] * map[(j, k)]).sum();
            }
        }
    }
    Ok(Prior::covariance(covariance)?.with_mean(&mean)?)
}

/// T: from coefficients of standardized columns to those of the columns as they are.
fn unstandardize(columns: &[CodedColumn]) -> Matrix {
    let mut map = Matrix::diagonal(&columns.iter().map(|c| 1.0 / c.sd).collect::<Vec<_>>());
    if let Some(intercept) = columns.iter().position(|c| c.term.is_none()) {
        for (j, column) in columns.iter().enumerate().filter(|(j, _)| *j != intercept) {
            map[(intercept, j)] = -column.mean / column.sd;
        }
    }
    map
}

/// The normal prior of each population coefficient: the last that fits.
fn normals(options: &ModelOptions, names: &[String]) -> Result<Vec<NormalPrior>> {
    let sd = Positive::new("prior-scale", options.prior_scale.unwrap_or(PRIOR_SCALE))
        .map_err(Error::Option)?
        .get();
    let mut normals = vec![NormalPrior { mean: 0.0, sd }; names.len()];
    for spec in &options.prior {
        let mut fitting = false;
        for (_, normal) in names.iter().zip(&mut normals).filter(|(name, _)| spec.fits(name)) {
            (*normal, fitting) = (spec.normal, true);
        }
        if !fitting {
            return Err(Error::StrayPrior { spec: spec.to_string(), known: names.to_vec() });
        }
    }
    Ok(normals)
}
