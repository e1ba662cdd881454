//! Prox-SGD on a lower triangle: a step costs one pass over C, or less.
//!
//! With π_s the pulls at the S points z_s = m + Cu_s, a step is
//! ```text
//! C_ij ← C_ij − γ/S Σ_s π_s(i) u_s(j)  (j < i),     C_ii ← lift(C_ii − γ/S Σ_s π_s(i) u_s(i)),
//! lift(c) = ½(c + √(c² + 4γ))
//! ```
//! C is needed only to form the Cu_s, and the draws do not depend on it. So [`Deferred`] takes the draws of one or
//! more steps at a time, and one pass applies the last updates and forms the next products. [`Tiles`] is the layout
//! that suits the pass: eight rows are eight lanes, so no sum runs across lanes, and no row has an incomplete end.

mod deferred;
mod plain;
mod sweep;
mod tiles;

pub use deferred::Deferred;
pub use tiles::Tiles;

#[cfg(test)]
mod tests;
