//! What users see: texts and tables.

pub(crate) mod certificate;
pub(crate) mod columns;
pub(crate) mod describe;
pub(crate) mod estimates;
pub(crate) mod flow;
pub(crate) mod forest;
pub(crate) mod robust;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod wrap;
