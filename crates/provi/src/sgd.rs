//! The paper's walk: an unbiased gradient, a step, an average; the plan that says beforehand what they reach, and the run.

pub mod average;
pub mod estimator;
pub mod fit;
pub mod memory;
pub mod method;
pub mod optimize;
pub mod plan;
pub(crate) mod report;
pub mod step;
pub mod subsample;
