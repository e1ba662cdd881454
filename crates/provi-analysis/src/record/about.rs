//! What a program says about a model of its own.

use super::fit_file::{Kind, ModelRecord};
use super::scale::Scale;

/// What a program says about a model that has no formula. Nothing of it changes a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// What it is called.
    pub title: Option<String>,
    /// What its data are called.
    pub data: String,
    /// A digest of them, such as [`sha256`](super::fit_file::sha256) of their bytes: fits are compared only if theirs are the same.
    pub data_sha256: String,
    /// What would trouble a fit, in words.
    pub warnings: Vec<String>,
    /// The scales it is conditional on; none of a gaussian family means that its noise was given.
    pub scales: Vec<Scale>,
}

impl About {
    /// The same in the words of fit.json.
    pub(crate) fn record(self, kind: Kind) -> ModelRecord {
        let Self { title, data, data_sha256, warnings, scales } = self;
        ModelRecord { kind, title, data, data_sha256, warnings, scales, ..ModelRecord::default() }
    }
}
