//! Gaussian variational inference with proved convergence and certified answers.
#![forbid(unsafe_code)]

pub mod autodiff;
pub mod average;
pub mod curvature;
pub mod design;
pub mod draws;
pub mod error;
pub mod estimate;
pub mod estimator;
pub mod expectation;
pub mod fit;
pub mod gaussian;
mod linalg;
pub mod matrix;
pub mod method;
pub mod mode;
pub mod optimize;
pub mod plan;
pub mod scalar;
pub mod schedule;
mod special;
pub mod step;
pub mod target;
pub mod theory;
pub mod whiten;

pub use average::Average;
pub use curvature::{Curvature, Provenance, Quadratic};
pub use design::Design;
pub use draws::Seed;
pub use error::{Error, Result};
pub use fit::Fit;
pub use gaussian::{Gaussian, Symmetric, Triangular};
pub use matrix::Matrix;
pub use method::Method;
pub use plan::{Plan, Planner};
pub use schedule::Schedule;
pub use target::Target;

/// ‖x‖.
pub(crate) fn norm(x: &[f64]) -> f64 {
    provi_kernels::dot(x, x).sqrt()
}
