//! The rows of a posterior table: names, and what is known about each quantity.

use provi::certificate::MomentStatement;
use provi::functional::{Functional, PosteriorMoments};
use provi::scales::ScaleMixture;
use provi::{Certificate, Gaussian};

use crate::error::Result;
use crate::record::fit_file::ContrastRecord;
use crate::record::mixture::{ScaleSummary, summaries};
use crate::run::fitted::Fitted;

/// Default probability of intervals.
pub const LEVEL: f64 = 0.95;

/// A name, and what is known about the quantity.
pub type Row = (String, Functional);

/// Every coefficient, with its errors from the certificate, and that of its sign from what was measured.
pub fn coefficients(
    q: &Gaussian,
    mixture: Option<&ScaleMixture>,
    certificate: &Certificate,
    measured: Option<&PosteriorMoments>,
) -> Result<Vec<Row>> {
    let row = |(i, moment): (usize, &MomentStatement)| {
        let found = match mixture {
            Some(mixture) => mixture.coordinate(i, certificate)?,
            None => Functional::coordinate(q, i, certificate)?,
        };
        Ok((moment.name.clone(), found.knowing(measured, i)))
    };
    certificate.moments.iter().enumerate().map(row).collect()
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

/// The probability that the i-th coefficient is positive, with its proved error bound: the posterior's own if it was measured more closely than
/// q's is known to be, q's otherwise.
pub fn positive(q: &Functional, measured: Option<&PosteriorMoments>, i: usize) -> (f64, Option<f64>) {
    let plain = (q.positive.value, q.positive.error.bound());
    let own = measured.and_then(|all| Some((*all.positive.get(i)?, *all.positive_error.get(i)?)));
    match own {
        Some((value, error)) if plain.1.is_none_or(|known| error <= known) => (value, Some(error)),
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
