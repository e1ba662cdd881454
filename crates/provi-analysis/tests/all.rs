//! Integration tests, one program: each file is a module.

mod default_prior;
mod effects;
mod prior_from;
mod prior_predictive;
mod schema;
mod shared;
mod smooths;
mod sparse;
mod spoiled;
