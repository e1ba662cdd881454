//! From a model to an answer, and what can be asked of it.

mod analysis;
pub mod claims;
pub mod contrast;
pub mod fitted;
mod fresh;
pub mod predict;
pub mod recording;
pub mod sampled;
pub mod sensitivity;
pub mod subject;
mod way;
pub mod worth;

pub use analysis::Analysis;
pub use fresh::fresh_seed;
pub(crate) use way::covered;
pub use way::{Aim, Answer, Way};
