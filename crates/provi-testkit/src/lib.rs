//! What the library is held against: plain algebra, quadrature, and estimators written out from their formulas.
//!
//! Everything here is slow and obvious, and uses none of the library's own algebra, so that the two check each other. The
//! library's integration tests and `provi verify` share it.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod cubature;
mod normals;
pub mod space;

pub use normals::normals;
