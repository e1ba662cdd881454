//! Local curvature: bounds of ∇²V on an ellipsoid around an answer.

use crate::base::error::Result;
use crate::base::matrix::Matrix;
use crate::theory::envelope::Ring;

/// Bounds of ∇²V on {m + Cx, ‖x‖ ≤ r}, for one q and any r.
pub trait LocalCurvature {
    /// For each radius r: H_r ⪯ ∇²V on the ellipsoid, and an upper bound if there is one. H_r must not increase
    /// with r.
    fn bounds(&self, radii: &[f64]) -> Result<Vec<(Matrix, Option<Matrix>)>>;

    /// The lower bounds alone, which are often cheaper.
    fn lower(&self, radii: &[f64]) -> Result<Vec<Matrix>> {
        Ok(self.bounds(radii)?.into_iter().map(|(lower, _)| lower).collect())
    }

    /// ∇³V and bounds of the fourth derivatives on the ellipsoids, in the coordinates where q is standard [psi-envelope]. `None`: they are not
    /// known, or too many.
    #[doc(hidden)]
    fn taylor(&self, _radii: &[f64]) -> Result<Option<Taylor>> {
        Ok(None)
    }

    /// Whether a bound takes so much work that a little of its sharpness may be given up for fewer of them.
    fn is_costly(&self) -> bool {
        false
    }

    /// How many radii to ask for together, so that they can share work. No number depends on it.
    fn at_once(&self) -> usize {
        1
    }
}

/// Taylor's formula for U(x) = V(m + Cx) at 0, every number rounded to its safe side.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Taylor {
    /// The least and the largest eigenvalue of ∇²U(0).
    pub curvature: [f64; 2],
    /// τ_i = Σ_j T_ijj of a cubic T near ∇³U(0).
    pub trace: Vec<f64>,
    /// T itself: d rows of T_ijk, j ≥ k, times √2 where j > k; and |(∇³U(0) − T)[x,x,x]| ≤ the error times ‖x‖³.
    pub cubic: Vec<f64>,
    /// That error, which bounds the difference of the traces too.
    pub cubic_error: f64,
    /// |∇³U(0)[x,x,x] − 3(τ·x)‖x‖²/(d+2)| ≤ this times ‖x‖³.
    pub harmonic: f64,
    /// What is known up to each radius.
    pub rings: Vec<Ring>,
    /// Where V has no upper curvature: Σ of the means of its rates under q, a bound of the ‖a‖ of each rate e^{a·x}, and the trace of the
    /// Hessian of what is beside them.
    pub rates: Option<[f64; 3]>,
}
