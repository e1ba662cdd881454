//! From a table and a formula to a fit and its files; shared by the command and Python.
//!
//! ```text
//! Table, Formula, ModelOptions ──► Model ──► Way ──► Answer ──► FitFile ──► fit.json
//!                                    ▲        ▲ RunOptions         │
//!                                    └── Stored ◄─── a folder ◄────┘
//! ```
//!
//! A shell turns what its users say into options, calls this crate and renders what it gives: no default, no name of a
//! method and no word about a certificate lives in a shell. The mathematics is all in [`provi`].
#![forbid(unsafe_code)]

pub mod contrast;
pub mod error;
pub mod fit_file;
pub mod given;
pub mod memory;
pub mod model;
pub mod options;
pub mod page;
pub mod rows;
pub mod run;
pub mod sampled;
pub mod sensitivity;
pub mod store;
pub mod stored;
pub mod words;
pub mod worth;
pub mod zarr;

pub use error::{Error, Result};
