//! More data than memory, more work than one machine: rows that come in blocks from anywhere, and sums that end in a
//! reduction over processes.
//!
//! ```text
//! Source ──► Rows, Rows, … ──► sums ──► Reduce ──► + prior ──► log p, ∇ log p, E_q V, H_lo, H_hi, …
//! ```
//! Every answer that a model of this kind gives is a sum over its rows and a share of the prior. A [`Source`] hands out the rows
//! block by block, as often as it is asked; a [`Reduce`] adds up what several processes found, each in its own shards.

mod exchange;
mod memory;
mod moments;
mod pass;
mod reduce;
mod source;
mod streamed;
mod survey;

pub use crate::glm::rows::Rows;
pub use exchange::{gather, together};
pub use memory::Memory;
pub use reduce::{Alone, Reduce};
pub use source::Source;
pub use streamed::Streamed;
