//! The hot passes of provi: random normals, packed factors, design matrices, link functions.
//!
//! Every public function is safe and allocates nothing. Its body is written once over eight lanes and
//! compiled for AVX-512, for AVX2 with FMA, and for the target's baseline; the best that the processor
//! has is picked at run time ([`instruction_set`]). Beside each body stands its plain twin, the textbook
//! loop, which the tests hold it against and which `--cfg provi_scalar` puts in its place.
//!
//! **Bits.** [`normals`] and [`uniforms`] give the same bits everywhere. All else gives the same bits for the same
//! call on the same instruction set; between instruction sets sums differ by rounding (fused or not).
//!
//! **Finite numbers.** Arguments are taken to be finite. A NaN or an infinity yields no error, but may spread to
//! neighbouring entries of the result where the textbook formula would have kept them apart.

mod abreast;
mod aligned;
#[cfg(test)]
mod check;
mod dispatch;
mod lanes;
mod normals;
mod philox;
mod potential;
mod tile;
mod vector;

pub mod cholesky;
pub mod design;
pub mod expectation;
pub mod gram;
pub mod link;
pub mod loss;
pub mod prox;
pub mod symmetric;
pub mod triangle;

pub use dispatch::{instruction_set, use_instruction_set};
pub use normals::{normals, uniforms};
pub use vector::{axpy, dot};
