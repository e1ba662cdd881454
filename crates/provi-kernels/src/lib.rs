//! The hot loops of provi: random normals, packed factors, design matrices, link functions.
//!
//! Every public function is safe and allocates nothing. Its body is written once over eight lanes and compiled for
//! AVX-512, for AVX2 with FMA, and for the target's baseline; the best that the processor has is chosen at run time
//! ([`instruction_set`]). Each body has a plain version, the textbook loop, with which the tests compare it and
//! which `--cfg provi_scalar` uses instead.
//!
//! **Bits.** [`normals`], [`uniforms`] and the laws beside them ([`laplaces`]) give the same bits everywhere. Everything else gives the same bits for
//! the same call on the same instruction set; between instruction sets, sums differ by rounding (fused or not).
//!
//! **Finite numbers.** Arguments must be finite. A NaN or an infinity causes no error, but may spread to
//! neighbouring entries of the result where the textbook formula would keep them apart.

mod abreast;
mod aligned;
#[cfg(test)]
mod check;
mod dispatch;
mod lanes;
mod laws;
mod normals;
mod philox;
mod potential;
mod tile;
mod vector;

pub mod cholesky;
pub mod cubic;
pub mod design;
pub mod expectation;
pub mod gram;
pub mod link;
pub mod loss;
pub mod prox;
pub mod symmetric;
pub mod triangle;

pub use dispatch::{instruction_set, use_instruction_set};
pub use laws::{flats, laplaces, logistics, polar};
pub use normals::{normals, uniforms};
pub use potential::{Cloglog, EXCESS as PROBIT_EXCESS, cloglog_success};
pub use vector::{axpy, dot};
