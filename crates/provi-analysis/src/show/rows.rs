//! The rows of a posterior table: names, and what is known about each quantity.

use provi::certificate::MomentStatement;
use provi::functional::{Functional, PosteriorMoments};
use provi::{Certificate, Gaussian};

use crate::error::Result;
use crate::record::fit_file::FitFile;

/// Default probability of intervals.
pub const LEVEL: f64 = 0.95;

/// A name, and what is known about the quantity.
pub type Row = (String, Functional);

/// Every coefficient, with its errors from the certificate.
pub fn coefficients(q: &Gaussian, certificate: &Certificate) -> Result<Vec<Row>> {
    let row = |(i, moment): (usize, &MomentStatement)| {
        Ok((moment.name.clone(), Functional::coordinate(q, i, certificate)?))
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

/// The contrasts that were asked for.
pub fn contrasts(file: &FitFile) -> Vec<Row> {
    file.contrasts.iter().map(|c| (c.expression.clone(), c.functional.clone())).collect()
}
