//! Local curvature: bounds of ∇²V on an ellipsoid around an answer.

use crate::base::error::Result;
use crate::base::matrix::Matrix;

/// Bounds of ∇²V on {m + Cx, ‖x‖ ≤ r}, for one q and any r.
pub trait LocalCurvature {
    /// For each radius r: H_r ⪯ ∇²V on the ellipsoid, and an upper bound if there is one. H_r must not increase
    /// with r.
    fn bounds(&self, radii: &[f64]) -> Result<Vec<(Matrix, Option<Matrix>)>>;

    /// The lower bounds alone, which are often cheaper.
    fn lower(&self, radii: &[f64]) -> Result<Vec<Matrix>> {
        Ok(self.bounds(radii)?.into_iter().map(|(lower, _)| lower).collect())
    }

    /// How many radii to ask for together, so that they can share work. No number depends on it.
    fn at_once(&self) -> usize {
        1
    }
}
