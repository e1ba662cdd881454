//! Building blocks that know nothing of inference: errors, checked numbers, memory, matrices, special functions,
//! draws, Gaussians.

pub mod base_law;
pub(crate) mod bytes;
pub(crate) mod chunked;
pub mod coupling;
pub mod draws;
pub mod error;
pub mod gaussian;
pub(crate) mod linalg;
pub mod location_scale;
pub mod matrix;
pub mod mixture;
pub(crate) mod normal_mixture;
pub mod pattern;
pub mod printed;
pub mod scalar;
pub(crate) mod scratch;
pub(crate) mod secant;
pub(crate) mod special;
pub mod stop;
pub(crate) mod together;
