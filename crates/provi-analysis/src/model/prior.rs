//! The prior of each coefficient, from the options and the scale of the data.

use provi::scalar::Positive;
use provi::target::{DataPrior, DataSummary, Family, Prior};
use provi::{Gaussian, Matrix};
use provi_table::CodedColumn;

use super::opened::Head;
use crate::capacity::refuse_beyond;
use crate::error::{Error, Result};
use crate::options::{ModelOptions, PRIOR_SCALE};
use crate::record::gaussian_file::GaussianFile;
use crate::record::scale::Scale;

/// The population's prior, if a file holds its covariance.
pub(super) fn given(options: &ModelOptions, head: &Head<'_>) -> Result<Option<Gaussian>> {
    let Some(path) = &options.prior_covariance else { return Ok(None) };
    let others = [
        (options.prior.iter().any(|spec| spec.normal().is_some()), "prior"),
        (options.prior_scale.is_some(), "prior-scale"),
        (options.standardize, "standardize"),
    ];
    if let Some((_, other)) = others.into_iter().find(|(said, _)| *said) {
        return Err(Error::TwoPriors { other });
    }
    let given = GaussianFile::read_covariance(path)?.gaussian(&head.names[..head.population])?;
    Ok(Some(given.to_dense()?.into_owned()))
}

/// The parts of which a prior is made.
pub(super) struct Parts<'a> {
    pub(super) options: &'a ModelOptions,
    pub(super) names: &'a [String],
    pub(super) population: usize,
    /// A mean and a covariance of the population.
    pub(super) given: Option<&'a Gaussian>,
    /// Columns with the means and deviations to which priors refer, if predictors are standardized.
    pub(super) standard: Option<&'a [CodedColumn]>,
    pub(super) scales: &'a [Scale],
}

impl Parts<'_> {
    /// N(ν, Λ⁻¹) over all coefficients; those of the groups are independent, with their scales.
    ///
    /// Coefficients without an option have the default prior, whose scales come from the data.
    pub(super) fn assemble(&self, family: Family, data: &DataSummary) -> Result<Prior> {
        let mut group_sds = vec![1.0; self.names.len() - self.population];
        for scale in self.scales {
            scale.coefficients.iter().for_each(|&i| group_sds[i - self.population] = scale.sd);
        }
        if let Some(given) = self.given {
            return self.around(given, &group_sds);
        }
        let mut laws = self.population_laws(family, data)?;
        group_sds.into_iter().for_each(|sd| laws.push((0.0, sd)));
        Ok(laws.prior()?)
    }

    /// The prior of each population coefficient: from the last option that matches it, or the default.
    ///
    /// With standardized predictors, N(ν, s²) is the prior of b_j = sd_j β_j, and for the intercept that of b_0 =
    /// β_0 + Σ mean_j β_j at the means.
    pub(super) fn population_laws(&self, family: Family, data: &DataSummary) -> Result<DataPrior> {
        let names = &self.names[..self.population];
        let mut laws = match self.options.leaves_prior_open() {
            true => DataPrior::new(data, family, self.population),
            false => {
                let laws = DataPrior {
                    laws: vec![(0.0, 1.0); names.len()],
                    intercept: None,
                    at: vec![0.0; names.len()],
                };
                let sd = Positive::new("prior-scale", self.options.prior_scale.unwrap_or(PRIOR_SCALE))
                    .map_err(Error::Option)?
                    .get();
                (0..names.len()).fold(laws, |laws, j| self.with_law(laws, j, (0.0, sd)))
            }
        };
        for (spec, normal) in self.options.prior.iter().filter_map(|spec| Some((spec, spec.normal()?))) {
            let fitting: Vec<usize> = (0..names.len()).filter(|&j| spec.fits(&names[j])).collect();
            if fitting.is_empty() {
                return Err(Error::StrayPrior { spec: spec.to_string(), known: names.to_vec() });
            }
            let law = (normal.mean, normal.sd);
            laws = fitting.into_iter().fold(laws, |laws, j| self.with_law(laws, j, law));
        }
        Ok(laws)
    }

    /// Gives coefficient j the (mean, sd) of an option.
    fn with_law(&self, mut laws: DataPrior, j: usize, (mean, sd): (f64, f64)) -> DataPrior {
        match self.standard.map(|columns| (columns, &columns[j])) {
            None => laws.set(j, (mean, sd)),
            Some((_, column)) if column.term.is_some() => laws.set(j, (mean / column.sd, sd / column.sd)),
            Some((columns, _)) => {
                laws.laws[j] = (mean, sd);
                laws.intercept = Some(j);
                let own = |(i, column): (usize, &CodedColumn)| if i == j { 1.0 } else { column.mean };
                laws.at = columns.iter().enumerate().map(own).collect();
            }
        }
        laws
    }

    /// A given Gaussian of the population, together with the groups.
    fn around(&self, given: &Gaussian, group_sds: &[f64]) -> Result<Prior> {
        let (dim, population) = (self.names.len(), self.population);
        let numbers = 4 * 8 * (dim as u128) * (dim as u128);
        refuse_beyond(|| format!("a given covariance beside {dim} coefficients"), numbers)?;
        let mut mean = given.mean().to_vec();
        mean.resize(dim, 0.0);
        let ones = vec![1.0; population];
        let squares: Vec<f64> = ones.iter().chain(group_sds).map(|sd| sd * sd).collect();
        let mut covariance = Matrix::diagonal(&squares);
        let block = given.covariance();
        for i in 0..population {
            for j in 0..population {
                covariance[(i, j)] = block[(i, j)];
            }
        }
        Ok(Prior::covariance(covariance)?.with_mean(&mean)?)
    }
}
