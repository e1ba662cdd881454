//! From a table and a formula to a fit and its files; shared by the command and Python.
//!
//! ```text
//! table, formula, ModelOptions ──► Analysis ─┐       RunOptions        ┌──► summary, contrasts, predictions, draws
//! design and response ───────────────────────┼──► Problem ──► Fitted ──┼──► fit.json ──► Fitted
//! any log density ───────────────────────────┘                         └──► the report page
//! ```
//!
//! A shell turns its users' input into options, calls this crate and renders the results. Defaults, names of
//! methods and the wording of certificates live here, not in a shell. The mathematics is in [`provi`].
#![forbid(unsafe_code)]

pub mod capacity;
pub mod error;
pub mod model;
pub mod number;
pub mod options;
pub mod record;
pub mod run;
pub mod show;
pub mod threads;

pub use error::{Error, Result};
pub use record::abandon;

pub use run::fitted::Fitted;
pub use run::problem::Problem;
pub use run::{Analysis, fresh_seed};
pub use show::compare::Comparison;
