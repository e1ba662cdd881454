//! The rows of a posterior table: names, and what is known about each quantity.

use provi::Certificate;
use provi::functional::{Functional, PosteriorMoments};
use provi::scales::ScaleMixture;
use provi::sparse::AnyGaussian;

use crate::error::Result;
use crate::record::fit_file::ContrastRecord;
use crate::record::mixture::{ScaleSummary, summaries};
use crate::run::fitted::Fitted;

/// Default probability of intervals.
pub const LEVEL: f64 = 0.95;

/// A name, and what is known about the quantity.
pub type Row = (String, Functional);

/// Every coefficient, with its errors from the certificate.
pub fn coefficients(
    names: &[String],
    q: &AnyGaussian,
    mixture: Option<&ScaleMixture>,
    certificate: &Certificate,
) -> Result<Vec<Row>> {
    first_coefficients(names, q, mixture, certificate, names.len())
}

/// The first ones, those of the population before those of groups.
pub fn first_coefficients(
    names: &[String],
    q: &AnyGaussian,
    mixture: Option<&ScaleMixture>,
    certificate: &Certificate,
    count: usize,
) -> Result<Vec<Row>> {
    let row = |(i, name): (usize, &String)| {
        let found = match mixture {
            Some(mixture) => mixture.coordinate(i, certificate)?,
            None => Functional::coordinate(q, i, certificate)?,
        };
        Ok((name.clone(), found))
    };
    names.iter().take(count).enumerate().map(row).collect()
}

/// Mean and sd of the i-th coefficient, each with its proved error bound: the posterior's own if they were
/// measured, q's otherwise.
pub fn moments(q: &Functional, measured: Option<&PosteriorMoments>, i: usize) -> [(f64, Option<f64>); 2] {
    match measured {
        Some(all) if i < all.mean.len() => {
            [(all.mean[i], Some(all.mean_error[i])), (all.sd[i], Some(all.sd_error[i]))]
        }
        _ => [(q.mean, q.mean_error.bound()), (q.sd, q.sd_error.bound())],
    }
}

/// The contrasts that were asked for. In a mixture over scales their intervals are the mixture's.
pub fn contrasts(fit: &Fitted) -> Vec<Row> {
    let functional = |c: &ContrastRecord| match (&fit.mixture, fit.certificate()) {
        (Some(mixture), Some(certificate)) => {
            let errors = [c.functional.mean_error.clone(), c.functional.sd_error.clone()];
            mixture.functional(&c.weights, errors, certificate).unwrap_or_else(|_| c.functional.clone())
        }
        _ => c.functional.clone(),
    };
    fit.file.contrasts.iter().map(|c| (c.expression.clone(), functional(c))).collect()
}

/// The scales that are integrated over, with intervals of probability `level`.
pub fn scales(fit: &Fitted, level: f64) -> Result<Vec<ScaleSummary>> {
    let (Some(mixture), Some(record)) = (&fit.mixture, &fit.file.mixture) else { return Ok(Vec::new()) };
    let scales: Vec<_> = record.scales.iter().map(|s| (s.name.clone(), s.prior.clone())).collect();
    summaries(mixture, &scales, level)
}
