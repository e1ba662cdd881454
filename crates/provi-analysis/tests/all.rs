//! Integration tests, one program: each file is a module.

mod default_prior;
mod schema;
mod shared;
mod sparse;
mod spoiled;
