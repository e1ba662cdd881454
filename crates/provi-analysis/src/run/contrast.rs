//! Contrasts: linear expressions in the coefficients' names, such as `0.5*a - b`.

mod parse;
mod reference;

use parse::parse;

use provi::Certificate;
use provi::certificate::Statement;
use provi::functional::{Functional, MomentBounds};
use provi::scales::ScaleMixture;
use provi::sparse::AnyGaussian;
use provi_table::Recipe;

use crate::error::{Error, Result};
use crate::record::fit_file::{ContrastRecord, LARGEST_METRIC};

/// A contrast, parsed before the work begins.
#[derive(Debug)]
pub struct Contrast {
    expression: String,
    weights: Vec<f64>,
}

impl Contrast {
    /// Parses every expression in terms of these names. The recipe of the design, if there is one, knows the
    /// reference levels.
    pub fn read(expressions: &[String], names: &[String], recipe: Option<&Recipe>) -> Result<Vec<Self>> {
        expressions.iter().map(|text| Self::read_one(text, names, recipe)).collect()
    }

    /// Parses one expression.
    pub fn read_one(text: &str, names: &[String], recipe: Option<&Recipe>) -> Result<Self> {
        let weights = parse(text, names)
            .map_err(|error| reference::instead(error, text, names, recipe))
            .map_err(|error| Error::Contrast { error: Box::new(error), text: text.to_owned() })?;
        Ok(Self { expression: text.trim().to_owned(), weights })
    }

    /// With these weights, and a text that says what they are.
    pub fn of_weights(expression: String, weights: Vec<f64>) -> Self {
        Self { expression, weights }
    }

    /// The weight of each coefficient.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// What is known about it in a mixture over scales.
    pub fn measure_mixture(
        &self,
        mixture: &ScaleMixture,
        certificate: &Certificate,
    ) -> Result<ContrastRecord> {
        let errors = ScaleMixture::summed_errors(&self.weights, certificate);
        let functional = mixture.functional(&self.weights, errors, certificate)?;
        Ok(ContrastRecord { expression: self.expression.clone(), weights: self.weights.clone(), functional })
    }

    /// What is known about it, with its error if that is bounded.
    pub fn measure(
        &self,
        q: &AnyGaussian,
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
                unknown = MomentBounds::nothing(reason);
                &unknown
            }
        };
        let errors = match q {
            AnyGaussian::Dense(q) => bounds.functional(q, &self.weights)?,
            AnyGaussian::Sparse(_) => {
                let reason = certificate.kl.reason().unwrap_or("the factor is sparse").to_owned();
                [Statement::NotProved { reason: reason.clone() }, Statement::NotProved { reason }]
            }
        };
        let functional = Functional::new(q, &self.weights, errors, certificate)?;
        Ok(ContrastRecord { expression: self.expression.clone(), weights: self.weights.clone(), functional })
    }
}
