//! Gaussian variational inference with proved convergence and certified answers.
#![forbid(unsafe_code)]

pub mod autodiff;
pub mod error;
pub mod scalar;
mod special;

pub use error::{Error, Result};
