//! A lower curvature as a metric, with the Lipschitz constant of the residual in it.

use crate::base::error::{Error, Result};
use crate::base::linalg::{Cholesky, eigenvalue_error, eigenvalues};
use crate::base::matrix::Matrix;
use crate::certify::rounding::Allowance;
use crate::theory::certificate as theory;

/// H (in coordinates where q is standard), its Cholesky factor, and the Lipschitz constant of
/// ŝ(u) = H^{−½}s̃(u) [confidence]:
/// ```text
/// L ≤ ‖H^{−½}Q^{½}‖·‖Q^{½}‖ + ‖H^{−½}(H_mid − I)‖,   Q = (H̄ − H)/2, H_mid = (H̄ + H)/2
/// ```
/// for ∇²U between H and H̄: ∇s̃ = ∇²U − I, and ∇²U − H_mid = Q^{½}XQ^{½} with ‖X‖ ≤ 1.
pub(super) struct Metric {
    cholesky: Cholesky,
    lipschitz: f64,
    deviation: Option<f64>,
    /// A lower bound of λ_min(H).
    least: f64,
    /// An estimate of tr H̄; infinite if H̄ is not known.
    upper_trace: f64,
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metric").field("lipschitz", &self.lipschitz).finish_non_exhaustive()
    }
}

impl Metric {
    pub(super) fn new(lower: Matrix, upper: Option<&Matrix>) -> Result<Self> {
        // Lowered by more than the factorisation and the solves can lose, so that the computed H⁻¹ is too large
        // rather than too small.
        let dim = lower.rows();
        let trace: f64 = (0..dim).map(|i| lower[(i, i)].abs()).sum();
        let mut cholesky = Cholesky::with_dim(dim);
        cholesky
            .factor_from(&lower, 4.0 * (dim as f64 + 8.0) * f64::EPSILON * trace)
            .map_err(|pivot| Error::NotPositiveDefinite { what: "lower curvature", dim, pivot })?;
        let least = (eigenvalues("H", &lower)?[0] - eigenvalue_error(&lower)).max(f64::MIN_POSITIVE);
        let Some(upper) = upper else {
            let nothing = f64::INFINITY;
            return Ok(Self { cholesky, lipschitz: nothing, deviation: None, least, upper_trace: nothing });
        };
        let d = lower.rows();
        let (mut half, mut middle) = (upper.clone(), upper.clone());
        half.add_scaled(-1.0, &lower);
        middle.add_scaled(1.0, &lower);
        half.entries_mut().iter_mut().for_each(|x| *x *= 0.5);
        middle.entries_mut().iter_mut().for_each(|x| *x *= 0.5);
        (0..d).for_each(|i| middle[(i, i)] -= 1.0);
        // ‖H^{−½}X‖² = λ_max(L⁻¹XXᵀL⁻ᵀ) with H = LLᵀ.
        let root = |x: f64| x.max(0.0).sqrt();
        let spread = top("H̄ − H", &half)?;
        // The error of X = L⁻¹ by substitution is at most γ_d|X||L||X| entry by entry; products with it add their
        // own rounding.
        let inverse = cholesky.inverse_lower();
        let (size, unit) = (inverse.frobenius_norm(), 4.0 * (d as f64 + 8.0) * f64::EPSILON);
        let off = unit * size * (1.0 + size * crate::base::linalg::norm(&cholesky.packed_lower()));
        let relative = top("H^{−½}(H̄ − H)H^{−½}", &whiten(&inverse, &half))?
            + (2.0 * size + off) * off * half.frobenius_norm();
        let shift = crate::base::linalg::multiply(&inverse, &middle);
        let mut square = Matrix::zeros(d, d);
        for i in 0..d {
            for j in 0..=i {
                square[(i, j)] = provi_kernels::dot(shift.row(i), shift.row(j));
                square[(j, i)] = square[(i, j)];
            }
        }
        let moved = root(top("shift", &square)?) + off * middle.frobenius_norm();
        let lipschitz = root(relative) * root(spread) + moved;
        let mut negative = middle.clone();
        negative.entries_mut().iter_mut().for_each(|x| *x = -*x);
        let deviation =
            spread.max(0.0) + top("H_mid − I", &middle)?.max(top("I − H_mid", &negative)?).max(0.0);
        let up = 1.0 + 1e-10;
        let upper_trace = (0..d).map(|i| upper[(i, i)]).sum();
        Ok(Self { cholesky, lipschitz: lipschitz * up, deviation: Some(deviation * up), least, upper_trace })
    }

    /// The Lipschitz constant L.
    pub(super) fn lipschitz(&self) -> f64 {
        self.lipschitz
    }

    /// An estimate of tr H̄; never used in a proof.
    pub(super) fn upper_trace(&self) -> f64 {
        self.upper_trace
    }

    /// ℓ ≥ sup‖∇²U − I‖, if H̄ is known.
    pub(super) fn deviation_from_identity(&self) -> Option<f64> {
        self.deviation
    }

    /// sᵀH⁻¹s of each of the vectors in `s`, which are overwritten.
    pub(super) fn squares<'s>(&self, s: &'s mut [f64]) -> impl Iterator<Item = f64> + use<'s> {
        self.cholesky.solve_lower(s);
        s.chunks_exact(self.cholesky.dim()).map(|s| provi_kernels::dot(s, s))
    }

    /// [`theory::fisher_upper`] for measured residuals, with a bound of their rounding error added to √Ȳ
    /// \[rounding\]:
    /// ```text
    /// ‖ŝ(u)‖ ≤ ‖measured‖ + slope/√λ + (L + 1/√λ)·shift,   λ = λ_min(H)
    /// ```
    /// because what was measured is H^{−½}(s̃(û) + û − u) up to the target's rounding, and ŝ is L-Lipschitz.
    /// Infinite if doubles do not resolve the draws.
    pub(super) fn fisher_upper(
        &self,
        mean: f64,
        draws: u64,
        failure_probability: f64,
        allowance: &Allowance,
    ) -> Result<f64> {
        let lost =
            self.inverse_root() * (allowance.slope + allowance.shift) + self.lipschitz * allowance.shift;
        if !lost.is_finite() {
            return Ok(f64::INFINITY);
        }
        let root = theory::running_mean_upper(mean, draws).sqrt() + lost;
        theory::fisher_upper(root * root, self.lipschitz, draws, failure_probability)
    }

    /// √r² for a measured r² = sᵀH⁻¹s, where s has an error of at most `lost` in Euclidean norm.
    pub(super) fn residual(&self, square: f64, lost: f64) -> f64 {
        square.sqrt() * (1.0 + 1e-12) + self.inverse_root() * lost
    }

    /// An upper bound of ‖H^{−½}‖.
    pub(super) fn inverse_root(&self) -> f64 {
        (1.0 + 1e-12) / self.least.sqrt()
    }

    /// λ_max(H̄ + H⁻¹), rounded up.
    ///
    /// The error of X = L⁻¹ by substitution is at most dε|X||L||X| entry by entry; that of XᵀX is at most
    /// ‖X‖_F²·2dε‖X‖_F‖L‖_F plus the rounding of a product. Cost: a triangular inverse, a product and the
    /// eigenvalues.
    pub(super) fn largest_with_inverse(&self, upper: &Matrix) -> Result<f64> {
        let d = upper.rows();
        let inverse = self.cholesky.inverse_lower();
        let mut sum = crate::base::linalg::multiply_transposed(&inverse, &inverse);
        crate::base::linalg::mirror_lower(&mut sum);
        sum.add_scaled(1.0, upper);
        let (size, lower) = (inverse.frobenius_norm(), self.cholesky.packed_lower());
        let rounding = 4.0
            * (d as f64 + 8.0)
            * f64::EPSILON
            * size
            * size
            * (1.0 + size * crate::base::linalg::norm(&lower));
        Ok((top("H̄ + H⁻¹", &sum)? + rounding) * (1.0 + 1e-12))
    }

    /// √(vᵀH⁻¹v), rounded up, for a v with an error of at most `lost` in Euclidean norm.
    ///
    /// The solve is exact for some L + ΔL, |ΔL| ≤ γ_d|L|, and L for a matrix within γ_{d+1}·tr H of the lowered H.
    /// Together that is less than the amount by which H was lowered, so the matrix whose inverse is taken lies
    /// below H. What remains is the norm of d numbers.
    pub(super) fn inverse_norm(&self, v: &[f64], lost: f64) -> f64 {
        let mut copy = v.to_vec();
        self.squares(&mut copy).sum::<f64>().sqrt() * (1.0 + 1e-10) + self.inverse_root() * lost
    }
}

impl Metric {
    /// R, lower triangular and packed, with RRᵀ ⪰ C H⁻¹ Cᵀ: the metric in the coordinates z = m + Cu.
    ///
    /// a_i = L⁻¹Cᵀe_i gives S_ij = a_i·a_j. Its rounding and that of its factorisation are each at most
    /// (d+2)ε√(S_iiS_jj) in every entry, so both are below 2d(d+2)ε·diag S: the diagonal is raised by more.
    pub(super) fn spread(&self, factor: &Matrix) -> Result<Vec<f64>> {
        let d = factor.rows();
        let mut rows = factor.clone();
        self.cholesky.solve_lower(rows.entries_mut());
        let mut square = Matrix::zeros(d, d);
        for i in 0..d {
            for j in 0..=i {
                square[(i, j)] = provi_kernels::dot(rows.row(i), rows.row(j));
                square[(j, i)] = square[(i, j)];
            }
            square[(i, i)] *= 1.0 + 8.0 * (d * (d + 8)) as f64 * f64::EPSILON;
        }
        Ok(Cholesky::new("spread of the lower curvature", &square)?.packed_lower())
    }
}

/// L⁻¹XL⁻ᵀ for symmetric X.
fn whiten(inverse: &Matrix, x: &Matrix) -> Matrix {
    let d = x.rows();
    let mut transposed = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..=i {
            transposed[(j, i)] = inverse[(i, j)];
        }
    }
    crate::base::linalg::congruence(x, &transposed)
}

/// λ_max, rounded up.
fn top(what: &'static str, h: &Matrix) -> Result<f64> {
    Ok(eigenvalues(what, h)?.last().copied().unwrap_or(0.0) + eigenvalue_error(h))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_eigenvalue_with_the_inverse_is_from_above_and_close() {
        for (lower, upper) in [([0.5, 1.0, 2.0], [3.0, 1.5, 2.0]), ([1e-9, 1e-3, 1.0], [1.0, 1e6, 1.0])] {
            let metric = Metric::new(Matrix::diagonal(&lower), None).unwrap();
            let found = metric.largest_with_inverse(&Matrix::diagonal(&upper)).unwrap();
            let truth = lower.iter().zip(upper).map(|(l, u)| u + 1.0 / l).fold(0.0, f64::max);
            assert!(found >= truth && found <= truth * (1.0 + 1e-3), "{found} {truth}");
        }
    }

    #[test]
    fn the_sum_is_taken_before_the_eigenvalue() {
        // H̄ is steep where H⁻¹ is not: the two largest eigenvalues would add to 12.
        let metric = Metric::new(Matrix::diagonal(&[0.5, 4.0]), None).unwrap();
        let found = metric.largest_with_inverse(&Matrix::diagonal(&[1.0, 10.0])).unwrap();
        assert!((found - 10.25).abs() < 1e-9, "{found}");
    }
}
