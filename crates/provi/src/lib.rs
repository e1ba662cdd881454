//! Gaussian variational inference with proved convergence and certified answers.
#![forbid(unsafe_code)]

pub mod average;
pub mod error;
pub mod optimize;
pub mod scalar;
pub mod schedule;
pub mod theory;

pub use error::{Error, Result};
