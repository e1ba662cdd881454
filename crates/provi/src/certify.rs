//! What can be proved about an answer, however it was found: audits, certificates, functionals, evidence,
//! estimates.

pub mod audit;
pub mod certificate;
pub mod estimate;
pub mod evidence;
pub mod exact_draws;
pub mod functional;
mod rounding;
pub mod trust;
