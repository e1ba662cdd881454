//! Tests of the theory: an experiment and a verdict for every statement of `docs/theory.md`.
//!
//! Every experiment is a pure function from a [`Trial`] to an [`outcome::Outcome`]: checks with their confidence
//! limits, a verdict, notes, and the numbers of its pictures. [`ENTRIES`] is the table of all experiments.
#![forbid(unsafe_code)]

mod algebra;
mod certificates;
mod draw;
mod errata;
mod expectations;
pub mod figure;
mod law;
mod noise;
pub mod outcome;
pub mod page;
mod problems;
mod rates;
pub mod registry;
mod space;
pub mod statistics;
mod steps;
mod structure;
mod studies;
mod trial;
mod walk;

pub use registry::{Chapter, ENTRIES, Entry, Finding, find};
pub use trial::Trial;
