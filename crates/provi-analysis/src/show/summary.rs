//! A fit as rows and statements, for shells that only render.

use provi::certificate::Certificate;
use provi::functional::Functional;
use provi::scalar::Probability;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::record::fit_file::{EstimatesRecord, ModelRecord};
use crate::record::mixture::ScaleSummary;
use crate::run::fitted::Fitted;
use crate::show::rows;

/// The schema's name.
pub const SCHEMA: &str = "provi-summary/1";

/// What `provi summary --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of provi that made the fit.
    pub provi: String,
    /// The model and its data.
    pub model: ModelRecord,
    /// The probability of the intervals.
    pub level: f64,
    /// One row for each coefficient; those of groups follow the population's.
    pub coefficients: Vec<SummaryRow>,
    /// One row for each scale that is integrated over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scales: Vec<ScaleSummary>,
    /// One row for each contrast that was asked for.
    pub contrasts: Vec<SummaryRow>,
    /// What is proved.
    pub certificate: Certificate,
    /// What is only estimated.
    pub estimates: Option<EstimatesRecord>,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// The coefficient, or the contrast as it was written.
    pub name: String,
    /// Mean, sd and the probability of being positive, each with its proved error bound.
    #[serde(flatten)]
    pub functional: Functional,
    /// The central interval of q.
    pub interval: [f64; 2],
    /// Proved digits of mean and sd.
    pub digits: [Option<u32>; 2],
}

impl SummaryRow {
    /// A row with an interval of probability `level`.
    pub fn new(name: String, functional: Functional, level: f64) -> Result<Self> {
        let (interval, digits) = (functional.interval(level)?, functional.digits());
        Ok(Self { name, functional, interval, digits })
    }
}

impl Summary {
    /// The summary of a file; a file without a certificate proves nothing.
    pub fn new(fit: &Fitted, level: f64) -> Result<Self> {
        let file = &fit.file;
        let level = Probability::new("level", level)?.get();
        let nothing = || Certificate::nothing(&file.names, "the fit has no certificate");
        let certificate = file.certificate.clone().unwrap_or_else(nothing);
        let all = |rows: Vec<rows::Row>| -> Result<Vec<SummaryRow>> {
            rows.into_iter().map(|(name, functional)| SummaryRow::new(name, functional, level)).collect()
        };
        Ok(Self {
            schema: SCHEMA.to_owned(),
            provi: file.provi.clone(),
            model: file.model.clone(),
            level,
            coefficients: all(rows::coefficients(fit, &certificate).all()?)?,
            scales: rows::scales(fit, level)?,
            contrasts: all(rows::contrasts(fit))?,
            certificate,
            estimates: file.estimates.clone(),
        })
    }
}
