//! The library's integration tests, one program: each file is a module. `allocation` counts what its process allocates,
//! and stays apart.

mod adaptive;
mod auto;
mod bare;
mod certified;
mod checkpoints;
mod common;
mod controlled;
mod convergence;
mod exact_draws;
mod families;
mod functional;
mod goal;
mod gold;
mod golden;
mod groups;
#[cfg(feature = "autodiff")]
mod laws;
mod links;
mod marginal;
mod mixture;
mod ordered;
mod paper;
mod positive;
mod practical;
mod recoded;
mod regression;
mod robust;
mod rough;
mod rounding;
mod soundness;
mod stopped;
mod stream;
mod subsample;
mod threads;
mod tightness;
mod units;
mod walks;
