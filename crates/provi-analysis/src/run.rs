//! From a model to an answer, and what can be computed from the answer.

mod analysis;
pub mod assessment;
pub mod calibrate;
pub mod claims;
pub mod contrast;
pub mod effects;
pub mod fitted;
mod fresh;
mod integrated;
pub mod located;
pub mod loo;
pub mod measured;
pub mod posterior;
pub mod predict;
pub mod prior_predictive;
pub mod problem;
pub mod recording;
pub mod regression;
pub mod robust;
pub mod sampled;
pub mod sensitivity;
mod simulation;
mod sparse;
mod state;
mod strategy;

pub use analysis::Analysis;
pub use fresh::fresh_seed;
pub(crate) use strategy::covered;
pub use strategy::{Aim, Answer, Found, Strategy};
