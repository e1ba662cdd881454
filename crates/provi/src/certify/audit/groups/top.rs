//! What the groups have in common: θ, integrated out.

use crate::base::error::Result;
use crate::base::linalg::{Cholesky, congruence, eigenvalue_error, eigenvalues, norm};
use crate::base::matrix::Matrix;
use crate::glm::groups::Groups;

/// The largest relative error of A, seen from its own inverse, with which anything is said.
const MOST_LOST: f64 = 1e-7;

/// θ₀ and A.
pub(super) struct Top {
    /// θ₀.
    pub(super) point: Vec<f64>,
    /// T(θ₀−ν), and the sum of the absolute values of its terms.
    base: Vec<f64>,
    size: f64,
    /// A, factored.
    factor: Cholesky,
    pub(super) inverse: Matrix,
    /// α = λ_min(A^{−½}TA^{−½}), rounded down.
    pub(super) rest: f64,
    /// ½ log det T − ½ log det A − ½(θ₀−ν)ᵀT(θ₀−ν), and a bound of its error.
    pub(super) constant: f64,
    pub(super) lost: f64,
    /// The relative error of A, and (n + k + 16)ε‖A^{−½}‖.
    relative: f64,
    unit: f64,
}

/// y at one draw of all groups.
pub(super) struct Place {
    pub(super) y: Vec<f64>,
    /// A bound of the error of y.
    lost: f64,
    relative: f64,
}

impl Place {
    /// A bound of the error of y, for ‖y‖ of at most that length.
    pub(super) fn off(&self, length: f64) -> f64 {
        self.lost + (self.relative + (self.y.len() + 8) as f64 * f64::EPSILON) * length
    }

    /// Bounds of ‖y‖.
    pub(super) fn sides(&self) -> [f64; 2] {
        let size = norm(&self.y);
        let off = self.off(size);
        [(size - off).max(0.0), size + off]
    }
}

impl Top {
    /// `None` where rounding is too large. `constant_error` is that of the model's own constant.
    ///
    /// A computed entry of A or T is within (n + 4)ε√(A_ssA_tt), and a computed factor is that of a matrix within as much again. Seen from
    /// A^{−½} that is at most (n + k + 16)ε(Σ_s √(A_ss(A⁻¹)_ss))².
    pub(super) fn new(groups: &Groups, point: Vec<f64>, constant_error: f64) -> Result<Option<Self>> {
        let (k, whole) = (point.len(), &groups.whole);
        let members: usize = groups.each.iter().map(|group| group.coefficients.len()).sum();
        let unit = 2.0 * (members + k + 16) as f64 * f64::EPSILON;
        let factor = Cholesky::new("precision of θ given its groups", whole)?;
        let own = Cholesky::new("precision of θ", &groups.precision)?;
        let (inverse, own_inverse) = (factor.inverse(), own.inverse());
        let roots = |m: &Matrix| (0..k).map(|s| (whole[(s, s)] * m[(s, s)]).sqrt()).sum::<f64>().powi(2);
        let trace = |m: &Matrix| (0..k).map(|s| m[(s, s)]).sum::<f64>();
        let relative = unit * roots(&inverse) + groups.rounding * trace(&inverse);
        let own_relative = unit * roots(&own_inverse) + groups.rounding * trace(&own_inverse);
        if relative.is_nan() || own_relative.is_nan() || relative.max(own_relative) > MOST_LOST {
            return Ok(None);
        }
        let lower = factor.inverse_lower();
        let mut across = Matrix::zeros(k, k);
        for s in 0..k {
            for t in 0..k {
                across[(t, s)] = lower[(s, t)];
            }
        }
        let seen = congruence(&groups.precision, &across);
        let least = eigenvalues("T seen from A", &seen)?.first().copied().unwrap_or(0.0);
        let rest = least - eigenvalue_error(&seen) - 4.0 * relative;
        let away: Vec<f64> = point.iter().zip(&groups.center).map(|(x, c)| x - c).collect();
        let base: Vec<f64> = (0..k).map(|s| provi_kernels::dot(groups.precision.row(s), &away)).collect();
        let size = (0..k).map(|s| whole[(s, s)].sqrt() * away[s].abs()).sum::<f64>();
        let energy = 0.5 * provi_kernels::dot(&base, &away);
        let logs = [0.5 * own.log_det(), -0.5 * factor.log_det()];
        let constant = logs[0] + logs[1] - energy;
        let lost = k as f64 * (relative + own_relative)
            + unit * (size * size + energy.abs() + logs[0].abs() + logs[1].abs() + k as f64)
            + groups.rounding * norm(&away).powi(2)
            + 2.0 * constant_error;
        // Entries of T(θ₀−ν) are sums of terms of at most √A_ss·Σ√A_tt|θ₀−ν|_t.
        let size = (0..k).map(|s| whole[(s, s)].sqrt()).sum::<f64>() * size;
        let unit = unit * trace(&inverse).sqrt() * (1.0 + 1e-6);
        let found = Self { point, base, size, factor, inverse, rest, constant, lost, relative, unit };
        Ok((rest > 0.0 && found.constant.is_finite()).then_some(found))
    }

    /// k.
    pub(super) fn dim(&self) -> usize {
        self.point.len()
    }

    /// y = L⁻¹g, A = LLᵀ, at the k-th draw of each group: g = T(θ₀−ν) − Σ S_iᵀR_i(z_i − μ_i).
    pub(super) fn place(&self, groups: &Groups, parts: &[Matrix], k: usize) -> Place {
        let (mut g, mut size) = (self.base.clone(), self.size);
        for (group, part) in groups.each.iter().zip(parts) {
            let z = part.row(k);
            let mean = |a: usize| group.mean_of(a, &self.point);
            for (a, tied) in group.tied.iter().enumerate() {
                let Some(t) = *tied else { continue };
                for (b, r) in group.precision.row(a).iter().enumerate() {
                    let term = r * (z[b] - mean(b));
                    g[t] -= term;
                    size += term.abs() + r.abs() * z[b].abs();
                }
            }
        }
        self.factor.solve_lower(&mut g);
        // Twice, for the triangular solve.
        Place { lost: 2.0 * self.unit * size, relative: 2.0 * self.relative, y: g }
    }

    /// A⁻¹g from y.
    pub(super) fn step(&self, place: &Place) -> Vec<f64> {
        let mut out = place.y.clone();
        self.factor.solve_upper(&mut out);
        out
    }

    /// The relative error of such a step.
    pub(super) fn relative(&self) -> f64 {
        self.relative
    }
}
