//! What is kept of a fit: the keys of fit.json, the folder it lies in, and Gaussians out of other files.

pub mod about;
pub mod fit_file;
pub mod gaussian_file;
pub mod library;
mod mirror;
pub mod scale;
pub mod store;
mod unfinished;

pub use unfinished::abandon;
