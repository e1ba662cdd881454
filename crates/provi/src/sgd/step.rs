//! The step after a gradient move, w ← step(w, γ): the prox of −log det, or a projection on 𝒲_M.

mod ball;
mod bottom;
mod carried;
mod entropy;
mod fused;
mod proj;
mod prox;
mod within;

pub use ball::{Ball, BallSymmetric, BallTriangular};
pub use carried::ProjStl;
pub use entropy::ProjEntropy;
pub use fused::FusedProx;
pub use proj::{ProjSymmetric, ProjTriangular};
pub use prox::Prox;
pub(crate) use prox::lift;
pub(crate) use within::{Diagonal, ExactWithin, Floor, Within};
