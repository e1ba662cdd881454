//! Curvature bounds of a target: 0 ⪯ H_lo ⪯ ∇²V(z) ⪯ H_hi for all z, with the origin of each bound.

use crate::base::error::{Error, Result};
use crate::base::linalg::{Cholesky, congruence, eigenvalue_error, eigenvalues};
use crate::base::matrix::Matrix;
use crate::base::printed;
use std::sync::OnceLock;

/// The origin of a constant. A statement is no stronger than the weakest of its constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Provenance {
    /// Derived from the model.
    Proved,
    /// Given by the user.
    Declared,
    /// Measured, without a proof.
    Estimated,
}

impl Provenance {
    /// The weaker of two origins.
    pub fn weakest(self, other: Self) -> Self {
        self.max(other)
    }
}

impl std::fmt::Display for Provenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Proved => "proved",
            Self::Declared => "declared",
            Self::Estimated => "estimated",
        })
    }
}

/// One bound of the curvature: a multiple of the identity, or a matrix.
#[derive(Clone, Debug, PartialEq)]
pub enum Quadratic {
    /// `value`·I.
    Scalar(f64),
    /// A symmetric positive semi-definite matrix.
    Matrix(Matrix),
}

impl Quadratic {
    /// The full matrix of size `dim`.
    pub fn to_matrix(&self, dim: usize) -> Matrix {
        match self {
            Self::Scalar(value) => Matrix::scaled_identity(dim, *value),
            Self::Matrix(matrix) => matrix.clone(),
        }
    }

    fn checked(self, what: &'static str, dim: usize) -> Result<Self> {
        match self {
            Self::Scalar(value) if value.is_finite() && value >= 0.0 => Ok(Self::Scalar(value)),
            Self::Scalar(value) => {
                Err(Error::OutOfRange { what, value, needed: "a finite number of at least 0" })
            }
            Self::Matrix(matrix) => Ok(Self::Matrix(matrix.checked_symmetric(what, dim)?)),
        }
    }

    /// Safe outer bounds (lower, upper) of the eigenvalues; for a scalar, one pair stands for all. `slack` is the
    /// spectral norm of the rounding error made when the matrix was formed.
    fn spectrum(&self, what: &'static str, slack: f64) -> Result<Vec<(f64, f64)>> {
        match self {
            Self::Scalar(value) => Ok(vec![((value - slack).max(0.0), value + slack)]),
            Self::Matrix(matrix) => {
                let error = eigenvalue_error(matrix) + slack;
                Ok(eigenvalues(what, matrix)?
                    .into_iter()
                    .map(|x| ((x - error).max(0.0), x + error))
                    .collect())
            }
        }
    }
}

/// The curvature of a target \[curvature\]:
/// ```text
/// 0 ⪯ H_lo ⪯ ∇²V(z) ⪯ H_hi for all z,   μ = λ_min(H_lo),   M = λ_max(H_hi)
/// ```
/// Every derived number is rounded to its safe side: eigenvalues are widened by the eigensolver's backward
/// error and by the rounding error of forming the matrices. Cost: up to three eigendecompositions when bounds are
/// given or a number is first asked for (none for multiples of the identity).
///
/// ```
/// use provi::{Curvature, Provenance, Quadratic};
///
/// let curvature = Curvature::declared(3, Quadratic::Scalar(0.5), Some(Quadratic::Scalar(2.0)))?;
/// assert_eq!((curvature.convexity(), curvature.smoothness()), (0.5, Some(2.0)));
/// assert_eq!(curvature.condition(), Some(4.0));
/// assert_eq!(curvature.provenance(), Provenance::Declared);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Curvature {
    dim: usize,
    lower: Quadratic,
    upper: Option<Quadratic>,
    lower_provenance: Provenance,
    upper_provenance: Provenance,
    slack: f64,
    /// A lower bound of μ known in closed form.
    known_convexity: f64,
    /// Computed on first use: a caller that needs only the matrices pays for no eigenvalues.
    constants: OnceLock<Constants>,
}

/// Equal if bounds and origins are equal; the constants follow from them.
impl PartialEq for Curvature {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |c: &Self| (c.dim, c.slack.to_bits(), c.known_convexity.to_bits());
        let origins = |c: &Self| (c.lower_provenance, c.upper_provenance);
        numbers(self) == numbers(other)
            && origins(self) == origins(other)
            && self.lower == other.lower
            && self.upper == other.upper
    }
}

/// "0.5 ≤ ∇²V ≤ 2 (declared)": μ rounded down and M rounded up.
impl std::fmt::Display for Curvature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Negation rounds down a lower bound of either sign.
        write!(f, "{} ≤ ∇²V", -printed::raised(-self.convexity(), 4))?;
        match self.smoothness() {
            Some(smoothness) => write!(f, " ≤ {} ({})", printed::raised(smoothness, 4), self.provenance()),
            None => write!(f, ", no upper bound ({})", self.provenance()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Constants {
    convexity: f64,
    smoothness: Option<f64>,
    spread: Option<f64>,
    trace_inverse: f64,
}

impl Constants {
    /// Constants that hold for any convex V, for an eigensolver that did not converge.
    const NOTHING: Self =
        Self { convexity: 0.0, smoothness: None, spread: None, trace_inverse: f64::INFINITY };

    fn new(dim: usize, lower: &Quadratic, upper: Option<&Quadratic>, slack: f64) -> Result<Self> {
        let spectrum = lower.spectrum("H_lo", slack)?;
        let convexity = spectrum.iter().fold(f64::INFINITY, |a, x| a.min(x.0));
        let trace_inverse = spectrum.iter().map(|x| 1.0 / x.0).sum::<f64>()
            * (dim as f64 / spectrum.len() as f64)
            * (1.0 + 4.0 * dim as f64 * f64::EPSILON);
        let Some(upper) = upper else {
            return Ok(Self { convexity, smoothness: None, spread: None, trace_inverse });
        };
        if upper == lower {
            let top = spectrum.iter().fold(0.0f64, |a, x| a.max(x.1));
            return Ok(Self { convexity, smoothness: Some(top), spread: Some(0.0), trace_inverse });
        }
        let top = upper.spectrum("H_hi", slack)?.iter().fold(0.0f64, |a, x| a.max(x.1));
        let spread = match (lower, upper) {
            (Quadratic::Scalar(a), Quadratic::Scalar(b)) => (b - a) * (1.0 + f64::EPSILON) + 2.0 * slack,
            _ => {
                let mut difference = upper.to_matrix(dim);
                difference.add_scaled(-1.0, &lower.to_matrix(dim));
                let error = eigenvalue_error(&difference) + 2.0 * slack;
                let values = eigenvalues("H_hi − H_lo", &difference)?;
                if values[0] < -(error + f64::EPSILON * top * 4.0 * dim as f64) {
                    return Err(Error::OutOfRange {
                        what: "λ_min(H_hi − H_lo)",
                        value: values[0],
                        needed: "at least 0: H_lo must lie below H_hi",
                    });
                }
                values.last().copied().unwrap_or(0.0).max(0.0) + error
            }
        };
        if convexity > top || spread < 0.0 {
            return Err(Error::OutOfRange {
                what: "smoothness M",
                value: top,
                needed: "at least the convexity μ",
            });
        }
        Ok(Self { convexity, smoothness: Some(top), spread: Some(spread), trace_inverse })
    }
}

impl Curvature {
    /// Both bounds, declared by the user: μ and M as numbers, or H_lo and H_hi as matrices.
    ///
    /// Only provi's own models prove their curvature. No other code can mark a curvature as proved, because that
    /// would switch off the checks that watch a declared curvature during a run.
    /// ```compile_fail,E0599
    /// let curvature = provi::Curvature::proved(1, provi::Quadratic::Scalar(1.0), None);
    /// ```
    pub fn declared(dim: usize, lower: Quadratic, upper: Option<Quadratic>) -> Result<Self> {
        Self::with_slack(dim, lower, upper, 0.0, Provenance::Declared)?.checked()
    }

    /// Both bounds, measured without a proof.
    pub fn estimated(dim: usize, lower: Quadratic, upper: Option<Quadratic>) -> Result<Self> {
        Self::with_slack(dim, lower, upper, 0.0, Provenance::Estimated)?.checked()
    }

    /// As [`Curvature::declared`], with a given origin. `slack` bounds, in spectral norm, the rounding error of
    /// forming the matrices; H_lo ⪯ H_hi is known.
    pub(crate) fn with_slack(
        dim: usize,
        lower: Quadratic,
        upper: Option<Quadratic>,
        slack: f64,
        provenance: Provenance,
    ) -> Result<Self> {
        if dim == 0 {
            return Err(Error::Empty { what: "curvature" });
        }
        Ok(Self {
            dim,
            lower: lower.checked("H_lo", dim)?,
            upper: upper.map(|h| h.checked("H_hi", dim)).transpose()?,
            lower_provenance: provenance,
            upper_provenance: provenance,
            slack,
            known_convexity: 0.0,
            constants: OnceLock::new(),
        })
    }

    /// The same with its constants computed, or the reason why they cannot be.
    fn checked(self) -> Result<Self> {
        let found = Constants::new(self.dim, &self.lower, self.upper.as_ref(), self.slack)?;
        Ok(Self { constants: OnceLock::from(found), ..self })
    }

    fn constants(&self) -> &Constants {
        self.constants.get_or_init(|| {
            Constants::new(self.dim, &self.lower, self.upper.as_ref(), self.slack)
                .unwrap_or(Constants::NOTHING)
        })
    }

    /// The same with a provenance no better than the given one.
    pub(crate) fn at_best(mut self, provenance: Provenance) -> Self {
        self.lower_provenance = self.lower_provenance.weakest(provenance);
        self.upper_provenance = self.upper_provenance.weakest(provenance);
        self
    }

    /// Raises μ to a bound known in closed form, in case the eigensolver's error hides it.
    pub(crate) fn with_convexity_at_least(mut self, convexity: f64) -> Self {
        self.known_convexity = self.known_convexity.max(convexity);
        self
    }

    /// The dimension d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The convexity μ, rounded down.
    pub fn convexity(&self) -> f64 {
        self.constants().convexity.max(self.known_convexity)
    }

    /// The smoothness M, rounded up; `None` if the target has no upper bound.
    pub fn smoothness(&self) -> Option<f64> {
        self.constants().smoothness
    }

    /// λ_max(H_hi − H_lo), rounded up: a bound of K, the smoothness of log p − log q_{w*} [stl-k].
    /// Zero exactly for a Gaussian target.
    pub fn residual_smoothness(&self) -> Option<f64> {
        // ±∇²r ⪯ H_hi − H_lo. This bound is never larger than the paper's K ≤ 2M or the coarser M − μ.
        self.constants().spread
    }

    /// tr H_lo⁻¹, rounded up; infinite when μ = 0. Bounds ‖C*‖_F².
    pub fn trace_inverse(&self) -> f64 {
        self.constants().trace_inverse
    }

    /// The condition number κ = M/μ.
    pub fn condition(&self) -> Option<f64> {
        self.smoothness().map(|m| m / self.convexity())
    }

    /// The lower bound H_lo.
    pub fn lower(&self) -> &Quadratic {
        &self.lower
    }

    /// The upper bound H_hi.
    pub fn upper(&self) -> Option<&Quadratic> {
        self.upper.as_ref()
    }

    /// Bound of the rounding error of forming H_lo and H_hi, in spectral norm.
    pub(crate) fn slack(&self) -> f64 {
        self.slack
    }

    /// The origin of H_lo.
    pub fn lower_provenance(&self) -> Provenance {
        self.lower_provenance
    }

    /// The origin of H_hi.
    pub fn upper_provenance(&self) -> Provenance {
        self.upper_provenance
    }

    /// The weaker of the two origins.
    pub fn provenance(&self) -> Provenance {
        self.lower_provenance.weakest(self.upper_provenance)
    }

    /// The curvature of V(c + Py) in y: PᵀHP on both sides \[whiten\]. P is square, row by row.
    pub(crate) fn transformed(&self, p: &Matrix) -> Result<Self> {
        let d = self.dim;
        let norm = p.frobenius_norm();
        let transform = |h: &Quadratic| Quadratic::Matrix(congruence(&h.to_matrix(d), p));
        let lower = transform(&self.lower);
        let upper = match &self.upper {
            Some(h) if *h == self.lower => Some(lower.clone()),
            other => other.as_ref().map(transform),
        };
        // Both products are sums of d terms: |fl(PᵀHP) − PᵀHP| ≤ 2γ_d ‖P‖_F²‖H‖_F.
        let size = self.upper.as_ref().unwrap_or(&self.lower).to_matrix(d).frobenius_norm();
        let slack = norm * norm * (self.slack + 3.0 * d as f64 * f64::EPSILON * size);
        let mut out = Self::with_slack(d, lower, upper, slack, Provenance::Proved)?.checked()?;
        out.lower_provenance = self.lower_provenance;
        out.upper_provenance = self.upper_provenance;
        Ok(out)
    }

    /// The curvature of the same target in coordinates with PPᵀ = H_lo⁻¹: μ̃ ≈ 1, and κ̃ = λ_max(H_lo⁻¹H_hi) is the
    /// smallest condition number that any choice of coordinates can prove \[whiten\]. Needs μ > 0.
    pub fn whitened(&self) -> Result<Self> {
        self.transformed(&crate::base::matrix::unpack_lower(self.dim, &self.whitening()?))
    }

    /// The lower triangular P with positive diagonal and PPᵀ = H_lo⁻¹, packed: the whitening with the best
    /// provable condition number \[whiten\].
    pub(crate) fn whitening(&self) -> Result<Vec<f64>> {
        let inverse = Cholesky::new("H_lo", &self.lower.to_matrix(self.dim))?.inverse();
        Ok(Cholesky::new("H_lo⁻¹", &inverse)?.packed_lower())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_bounds_are_exact() {
        let c = Curvature::declared(3, Quadratic::Scalar(0.5), Some(Quadratic::Scalar(2.0))).unwrap();
        assert!((c.convexity() - 0.5).abs() == 0.0 && c.smoothness() == Some(2.0));
        assert!((c.residual_smoothness().unwrap() - 1.5).abs() < 1e-15);
        assert!((c.trace_inverse() - 6.0).abs() < 1e-13);
        assert_eq!(c.condition(), Some(4.0));
    }

    #[test]
    fn matrices_are_bracketed_on_the_safe_side() {
        let lo = Matrix::diagonal(&[1.0, 4.0]);
        let hi = Matrix::diagonal(&[3.0, 5.0]);
        let c = Curvature::declared(2, Quadratic::Matrix(lo), Some(Quadratic::Matrix(hi))).unwrap();
        assert!(c.convexity() <= 1.0 && c.convexity() > 1.0 - 1e-13);
        assert!(c.smoothness().unwrap() >= 5.0 && c.smoothness().unwrap() < 5.0 + 1e-13);
        assert!(c.residual_smoothness().unwrap() >= 2.0 && c.residual_smoothness().unwrap() < 2.0 + 1e-13);
        assert!(c.trace_inverse() >= 1.25 && c.trace_inverse() < 1.25 + 1e-13);
    }

    #[test]
    fn a_gaussian_target_has_no_residual() {
        let h = Quadratic::Matrix(Matrix::diagonal(&[1.0, 7.0]));
        let c = Curvature::declared(2, h.clone(), Some(h)).unwrap();
        assert_eq!(c.residual_smoothness(), Some(0.0));
    }

    #[test]
    fn crossed_bounds_are_refused() {
        assert!(Curvature::declared(1, Quadratic::Scalar(2.0), Some(Quadratic::Scalar(1.0))).is_err());
        let lo = Quadratic::Matrix(Matrix::diagonal(&[1.0, 4.0]));
        let hi = Quadratic::Matrix(Matrix::diagonal(&[3.0, 2.0]));
        assert!(Curvature::declared(2, lo, Some(hi)).is_err());
        assert!(Curvature::declared(1, Quadratic::Scalar(f64::NAN), None).is_err());
    }

    #[test]
    fn whitening_by_the_lower_curvature_leaves_the_relative_condition_number() {
        let lo = Matrix::new(2, 2, vec![2.0, 1.0, 1.0, 3.0]).unwrap();
        let mut hi = lo.clone();
        hi[(0, 0)] += 4.0;
        let c = Curvature::declared(2, Quadratic::Matrix(lo), Some(Quadratic::Matrix(hi))).unwrap();
        let w = c.whitened().unwrap();
        assert!((w.convexity() - 1.0).abs() < 1e-12);
        // λ_max(H_lo⁻¹H_hi) = 1 + 4·(H_lo⁻¹)_00 = 1 + 4·3/5.
        assert!((w.smoothness().unwrap() - 3.4).abs() < 1e-12);
    }
}
