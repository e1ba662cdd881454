//! The rows of a posterior table: names, and what is known about each quantity.

use provi::functional::{Functional, PosteriorMoments};
use provi::scales::ScaleMixture;
use provi::sparse::AnyGaussian;
use provi::{Certificate, Provenance};

use crate::error::Result;
use crate::record::fit_file::ContrastRecord;
use crate::record::mixture::{ScaleSummary, summaries};
use crate::run::fitted::Fitted;

/// Default probability of intervals.
pub const LEVEL: f64 = 0.95;

/// A name, and what is known about the quantity.
pub type Row = (String, Functional);

/// The coefficients of an answer, with their errors from the certificate, and those of their signs from what was measured.
#[derive(Clone, Copy, Debug)]
pub struct Coefficients<'a> {
    /// Their names.
    pub names: &'a [String],
    /// The answer.
    pub q: &'a AnyGaussian,
    /// The mixture over scales, if it is one.
    pub mixture: Option<&'a ScaleMixture>,
    /// What is proved.
    pub certificate: &'a Certificate,
    /// The posterior's own moments, if they were measured.
    pub measured: Option<&'a PosteriorMoments>,
}

impl Coefficients<'_> {
    /// Every one.
    pub fn all(&self) -> Result<Vec<Row>> {
        self.first(self.names.len())
    }

    /// The first ones: those of the population come before those of groups.
    pub fn first(&self, count: usize) -> Result<Vec<Row>> {
        let row = |(i, name): (usize, &String)| {
            let found = match self.mixture {
                Some(mixture) => mixture.coordinate(i, self.certificate)?,
                None => Functional::coordinate(self.q, i, self.certificate)?,
            };
            Ok((name.clone(), found.knowing(self.measured, i)))
        };
        self.names.iter().take(count).enumerate().map(row).collect()
    }
}

/// The coefficients of a fit.
pub fn coefficients<'a>(fit: &'a Fitted, certificate: &'a Certificate) -> Coefficients<'a> {
    Coefficients {
        names: &fit.file.names,
        q: &fit.gaussian,
        mixture: fit.mixture.as_ref(),
        certificate,
        measured: fit.file.posterior.as_ref(),
    }
}

/// Whether the error bounds of the coefficients rest on a curvature that nobody has proved: such bounds are no proofs.
pub fn rest_on_a_word(rows: &[Row], measured: Option<&PosteriorMoments>) -> bool {
    match measured {
        Some(own) => own.provenance != Provenance::Proved,
        None => rows.iter().any(|(_, f)| f.mean_error.provenance().is_some_and(|p| p != Provenance::Proved)),
    }
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

/// The probability that the i-th coefficient is positive, with its proved error bound: q's, unless the posterior's own was measured and cannot
/// be that.
pub fn positive(q: &Functional, measured: Option<&PosteriorMoments>, i: usize) -> (f64, Option<f64>) {
    let plain = (q.positive.value, q.positive.error.bound());
    let own = measured.and_then(|all| Some((*all.positive.get(i)?, *all.positive_error.get(i)?)));
    match own {
        Some((value, error)) if (plain.0 - value).abs() > error => (value, Some(error)),
        _ => plain,
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
