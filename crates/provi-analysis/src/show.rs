//! What a reader sees of a fit: text, tables, the report page, and draws for other tools.

mod calibration;
pub mod compare;
pub mod effects;
mod fitted;
pub mod page;
mod prior_predictive;
pub mod rows;
pub mod summary;
pub mod words;
pub mod zarr;
