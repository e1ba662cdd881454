//! Contrasts: linear expressions in the coefficients' names, such as `0.5*a - b`.

mod parse;

pub(crate) use parse::{BadContrast, parse};

use provi::functional::{Functional, MomentBounds};
use provi::{Certificate, Gaussian};

use crate::failure::{Failure, Result};
use crate::output::fit_file::{ContrastRecord, FitFile, LARGEST_METRIC};
use crate::output::table::Row;

/// What was asked for, understood before the work begins.
#[derive(Debug)]
pub(crate) struct Contrast {
    expression: String,
    weights: Vec<f64>,
}

impl Contrast {
    /// Every expression, in terms of these names.
    pub(crate) fn read(expressions: &[String], names: &[String]) -> Result<Vec<Self>> {
        let read = |text: &String| {
            let weights = parse(text, names).map_err(|error| Failure::contrast(error, text))?;
            Ok(Self { expression: text.trim().to_owned(), weights })
        };
        expressions.iter().map(read).collect()
    }

    /// What is known about it, the error as far as it is bounded.
    pub(crate) fn measure(
        self,
        q: &Gaussian,
        certificate: &Certificate,
        bounds: Option<&MomentBounds>,
    ) -> Result<ContrastRecord> {
        let unknown;
        let bounds = match bounds {
            Some(bounds) => bounds,
            None => {
                let reason = format!(
                    "the fit keeps no metric (it does for up to {LARGEST_METRIC} coefficients); name the contrast in `provi fit`"
                );
                unknown = MomentBounds { global: None, local: None, confidence: 1.0, reason };
                &unknown
            }
        };
        let errors = bounds.functional(q, &self.weights)?;
        let functional = Functional::new(q, &self.weights, errors, certificate)?;
        Ok(ContrastRecord { expression: self.expression, weights: self.weights, functional })
    }
}

/// The rows of a table.
pub(crate) fn rows(file: &FitFile) -> Vec<Row> {
    file.contrasts.iter().map(|c| (c.expression.clone(), c.functional.clone())).collect()
}
