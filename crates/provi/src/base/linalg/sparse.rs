//! Symmetric positive definite matrices with few entries: order, Cholesky factor, selected inverse.
//!
//! The columns of a factor that have the same rows below them form a front. All numbers of a matrix, of its factor and
//! of the selected entries of its inverse are stored alike: front by front, each a dense block.

mod factor;
mod selected;
mod structure;

pub(crate) use selected::Selected;
pub(crate) use structure::{Cliques, Structure};

#[cfg(test)]
mod tests;
