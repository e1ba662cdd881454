//! Tables and model formulas: CSV to design matrix, response and names.
//!
//! ```text
//! bytes ──► Table ──┐
//!                   ├──► ModelFrame     design (row-major), response, names
//! text ──► Formula ─┘
//! ```
//!
//! A [`Table`] holds typed columns and remembers the file's lines; a [`Formula`] is a parsed model,
//! with the place of each word in its text; a [`ModelFrame`] is what a model needs. No value is
//! dropped, filled in or rescaled on the way: what cannot be used is refused, with its line.
//!
//! ```
//! use provi_table::{Formula, ModelFrame, Table};
//!
//! let table = Table::from_csv_bytes(b"switch,arsenic,dist\n1,2.36,16.8\n0,0.71,47.3\n", "wells.csv")?;
//! let formula = Formula::parse("switch ~ .")?;
//! let frame = ModelFrame::new(&table, &formula)?;
//!
//! assert_eq!(frame.names, ["(Intercept)", "arsenic", "dist"]);
//! assert_eq!(frame.design, [1.0, 2.36, 16.8, 1.0, 0.71, 47.3]);
//! assert_eq!(frame.response, [1.0, 0.0]);
//! assert_eq!(frame.formula, "switch ~ arsenic + dist");
//! # Ok::<(), provi_table::Error>(())
//! ```

#![forbid(unsafe_code)]

mod column;
mod csv;
mod error;
mod formula;
mod frame;
mod nearest;
mod table;

pub use error::{Error, Result};
pub use formula::{Construct, Formula, Span, Spanned, Term};
pub use frame::{INTERCEPT, ModelFrame};
pub use nearest::nearest;
pub use table::Table;
