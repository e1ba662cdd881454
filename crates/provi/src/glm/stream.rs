//! Models with more data than memory, or on more than one machine: rows come in blocks, and each process's sums end
//! in a reduction.
//!
//! ```text
//! Source ──► Rows, Rows, … ──► sums ──► Reduce ──► + prior ──► log p, ∇ log p, E_q V, H_lo, H_hi, …
//! ```
//! Every result of such a model is a sum over its rows plus a share of the prior. A [`Source`] yields the rows
//! block by block, as often as needed; a [`Reduce`] adds up the sums of several processes, each over its own
//! shards.

mod exchange;
mod memory;
mod moments;
mod pass;
mod reduce;
mod source;
mod sparse;
mod streamed;
mod survey;

pub use crate::glm::rows::Rows;
pub use exchange::{gather, together};
pub use memory::Memory;
pub use reduce::{Alone, Reduce};
pub use source::Source;
pub use streamed::Streamed;
