//! What is known about ∇²V, and what follows for the objective, its minimiser and its coordinates.

mod coordinates;
mod family;
mod minimiser;
mod models;
mod sparse;

pub(crate) use coordinates::whiten;
pub(crate) use family::pattern;
pub(crate) use minimiser::structure;
pub(crate) use models::{curvature, hierarchical, linear_predictor};
pub(crate) use sparse::sparse_optimum;
