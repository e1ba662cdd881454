//! What is stored of a fit: the keys of fit.json, the folder in which it lies, and Gaussians from other files.

pub mod about;
mod digest;
pub mod fit_file;
pub mod gaussian_file;
pub mod library;
pub mod located;
mod mirror;
pub mod mixture;
pub mod prior_from;
pub mod robustness;
pub mod scale;
pub mod store;
pub mod trust;
mod unfinished;

pub use unfinished::abandon;
