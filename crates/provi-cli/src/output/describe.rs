//! A fit on the screen, the same after `provi fit` and out of its file.

use provi::Gaussian;

use super::fit_file::FitFile;
use super::{certificate, estimates, summary, table};
use crate::contrast;
use crate::failure::Result;

/// Model, posterior, contrasts, run, certificate and estimates; a file of before certificates has fewer.
pub(crate) fn describe(file: &FitFile, q: &Gaussian, level: f64) -> Result<String> {
    let mut parts = vec![summary::recorded_model(&file.model, file.names.len())];
    if let Some(certificate) = &file.certificate {
        parts.push(table::posterior(&table::coefficients(q, certificate)?, level)?);
        parts.push(table::contrasts(&contrast::rows(file), level)?);
    }
    parts.push(summary::run(file));
    parts.extend(file.certificate.as_ref().map(certificate::describe));
    parts.extend(file.estimates.as_ref().map(estimates::describe));
    parts.retain(|part| !part.is_empty());
    Ok(parts.join("\n"))
}
