//! The command's tests, one program: each file is a module. `fuzz` is run alone with numbers of its own, and stays apart.

mod certify;
mod common;
mod compiled;
mod device;
mod effects;
mod errors;
mod families;
mod files;
mod fit;
mod folders;
mod gallery;
mod guide;
mod help;
mod killed;
mod large;
mod library;
mod loo;
mod mixed;
mod models;
mod ordered;
mod outputs;
mod priors;
mod programs;
mod questions;
mod recipes;
mod reference;
mod regressions;
mod robust;
mod room;
mod same_units;
mod scales;
mod sparse;
mod stopped;
mod survival;
mod tables;
mod verify;
mod workflow;

#[path = "../../provi-ffi/tests/fixture/libraries.rs"]
mod libraries;
