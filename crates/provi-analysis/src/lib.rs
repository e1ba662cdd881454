//! From a table and a formula to a fit and its files; shared by the command and Python.
//!
//! ```text
//! table, formula, ModelOptions ──► Analysis ─┐       RunOptions        ┌──► summary, contrasts, predictions, draws
//! design and response ───────────────────────┼──► Subject ──► Fitted ──┼──► fit.json ──► Fitted
//! any log density ───────────────────────────┘                         └──► the report page
//! ```
//!
//! A shell turns what its users say into options, calls this crate and renders what it gives: no default, no name of a
//! method and no word about a certificate lives in a shell. The mathematics is all in [`provi`].
#![forbid(unsafe_code)]

mod analysis;
pub mod claims;
pub mod compiled;
pub mod conflict;
pub mod contrast;
pub mod error;
pub mod fit_file;
pub mod fitted;
mod fresh;
pub mod given;
pub mod memory;
pub mod model;
pub mod options;
pub mod page;
pub mod predict;
pub mod room;
pub mod rows;
pub mod run;
pub mod sampled;
pub mod sensitivity;
pub mod store;
pub mod subject;
pub mod summary;
pub mod threads;
mod unfinished;
pub mod words;
pub mod worth;
pub mod zarr;

pub use analysis::Analysis;
pub use error::{Error, Result};
pub use fitted::Fitted;
pub use fresh::fresh_seed;
pub use subject::Subject;
pub use unfinished::abandon;
