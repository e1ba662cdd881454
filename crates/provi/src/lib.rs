//! Gaussian variational inference with proved convergence and certified answers.
#![forbid(unsafe_code)]

pub mod curvature;
pub mod design;
pub mod draws;
pub mod error;
pub mod expectation;
pub mod gaussian;
mod linalg;
pub mod matrix;
pub mod mode;
pub mod scalar;
mod special;
pub mod target;
pub mod whiten;

pub use curvature::{Curvature, Provenance, Quadratic};
pub use design::Design;
pub use draws::Seed;
pub use error::{Error, Result};
pub use gaussian::{Gaussian, Symmetric, Triangular};
pub use matrix::Matrix;
pub use target::Target;

/// ‖x‖.
pub(crate) fn norm(x: &[f64]) -> f64 {
    provi_kernels::dot(x, x).sqrt()
}
