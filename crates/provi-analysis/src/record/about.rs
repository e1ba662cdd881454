//! What a program states about a model of its own.

use super::fit_file::{Kind, ModelRecord};
use super::scale::Scale;

/// What a program states about a model without a formula. It changes no number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The name of the model.
    pub title: Option<String>,
    /// The name of the data.
    pub data: String,
    /// A digest of the data, such as [`sha256`](super::fit_file::sha256) of their bytes: fits are compared only if
    /// their digests are equal.
    pub data_sha256: String,
    /// Warnings about the data, as sentences.
    pub warnings: Vec<String>,
    /// The scales on which it is conditional. If a family with a noise lists none, its noise was given.
    pub scales: Vec<Scale>,
}

impl About {
    /// The same as a record of fit.json.
    pub(crate) fn record(self, kind: Kind) -> ModelRecord {
        let Self { title, data, data_sha256, warnings, scales } = self;
        ModelRecord { kind, title, data, data_sha256, warnings, scales, ..ModelRecord::default() }
    }
}
