//! Linear-predictor models: a prior, and rows of data that are in memory, in blocks, or in other processes.
//!
//! Users find the models in [`crate::target`], beside all other targets.

pub mod checks;
pub mod design;
pub mod device;
pub mod expectation;
pub(crate) mod family;
pub(crate) mod groups;
mod hierarchical;
pub(crate) mod linear;
pub(crate) mod marginal;
pub(crate) mod model;
pub(crate) mod normal_equations;
pub mod predict;
pub(crate) mod prior;
pub mod regression;
pub(crate) mod rows;
mod score;
pub mod separation;
mod simulate;
pub mod sparse;
mod sparse_glm;
pub mod stream;
pub(crate) mod terms;

pub use family::{Family, Gaps};
pub use hierarchical::{
    GROUP_SCALE, hierarchical_convexity, hierarchical_logistic, hierarchical_logistic_scaled,
};
pub use model::Glm;
pub use prior::{DataPrior, Prior};
pub use regression::{Likelihood, Regression};
pub use rows::{ColumnSummary, DataSummary, Time};
pub use sparse::SparseForm;
pub use sparse_glm::SparseGlm;
