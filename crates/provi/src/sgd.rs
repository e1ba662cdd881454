//! Stochastic gradients as in the paper: an unbiased gradient, a step, an average; the plan that promises a bound
//! before the run; and the run itself.

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
pub mod walk;
