//! What users see and keep: texts, tables, fit.json.

pub(crate) mod certificate;
pub(crate) mod columns;
pub(crate) mod describe;
pub(crate) mod estimates;
pub(crate) mod fit_file;
pub(crate) mod forest;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod page;
pub(crate) mod store;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod wrap;
pub(crate) mod zarr;

use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
