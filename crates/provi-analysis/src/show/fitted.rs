//! Views of a fit for readers.

use provi::Seed;
use provi::certificate::Certificate;
use provi_report::FitPage;

use super::page::page;
use super::summary::{Summary, SummaryRow};
use super::words::certificate::CertificateWords;
use super::words::{beside_the_formula, condition};
use super::zarr;
use crate::error::Result;
use crate::run::contrast::Contrast;
use crate::run::fitted::Fitted;
use crate::run::sampled::{self, Sampled};

impl Fitted {
    /// The certificate in words, the same for every shell.
    pub fn certificate_words(&self) -> Option<CertificateWords> {
        let condition = condition(&self.file.model);
        self.certificate()
            .map(|c| CertificateWords::new(c, self.file.least_kl(), self.file.estimates.as_ref(), condition))
    }

    /// What the answer is conditional on, what the model has besides its formula, and warnings about the data, one
    /// sentence each.
    pub fn notes(&self) -> Vec<String> {
        let said = [condition(&self.file.model), beside_the_formula(&self.file.model)];
        said.into_iter().flatten().chain(self.file.model.warnings.iter().cloned()).collect()
    }

    /// One row for each coefficient and each contrast, with intervals of probability `level` and what is proved
    /// about them.
    pub fn summary(&self, level: f64) -> Result<Summary> {
        Summary::new(self, level)
    }

    /// What is known about a linear combination of coefficients, such as `a - b`.
    pub fn contrast(&self, expression: &str, level: f64) -> Result<SummaryRow> {
        let nothing;
        let certificate = match self.certificate() {
            Some(certificate) => certificate,
            None => {
                nothing = Certificate::nothing(self.names(), "the fit has no certificate");
                &nothing
            }
        };
        let contrast = Contrast::read_one(expression, self.names(), self.file.model.recipe.as_ref())?;
        let found = self.measure(&contrast, certificate)?;
        SummaryRow::new(found.expression, found.functional, level)
    }

    /// The files of a Zarr store with draws of q, as (path, content): what `provi sample` writes and ArviZ opens.
    pub fn zarr(&self, count: usize, seed: Seed) -> Result<Vec<(String, Vec<u8>)>> {
        sampled::refuse_many(&self.gaussian, count, 3, false)?;
        let sampled = match &self.mixture {
            Some(mixture) => Sampled::of_mixture(mixture, &self.file, count, seed),
            None => Sampled::of_gaussian(&self.gaussian, self.names(), None, count, seed)?,
        };
        zarr::files(&sampled, self)
    }

    /// The data of the report page and its plots; `command` is the command that makes the fit again, and may be
    /// empty.
    pub fn page(&self, level: f64, command: &str) -> Result<FitPage> {
        page(self, level, command)
    }

    /// The report page itself.
    pub fn html(&self, level: f64, command: &str) -> Result<String> {
        Ok(self.page(level, command)?.html())
    }
}
