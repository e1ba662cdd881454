//! Algorithm 3 with C⁻¹ updated from step to step: O(d²) per draw while the constraint is inactive.

use super::ProjSymmetric;
use crate::base::draws::Draws;
use crate::base::error::Result;
use crate::base::linalg::norm;
use crate::base::matrix::packed_len;
use crate::sgd::estimator::{Kind, Sampled, Source};
use crate::sgd::optimize::{Moved, Problem};
use provi_kernels::{axpy, dot, symmetric};

/// Steps between two checks of the drift of C⁻¹.
const PROBE_EVERY: u64 = 16;
/// The drift ‖C(C⁻¹u) − u‖/‖u‖ above which C⁻¹ is recomputed.
const DRIFT: f64 = 1e-10;
/// Steps after which C⁻¹ is recomputed whatever its drift.
const REFRESH_EVERY: u64 = 10_000;
/// C⁻¹ is not updated if the update brings C nearer to singular than this, relative to itself.
const PIVOT: f64 = 0.1;

/// Proj-SGD with STL on 𝒮ᵈ, one whole step at a time:
/// ```text
/// a_k = π_k − C⁻¹u_k,   m ← m − γ/S Σ a_k,   C ← proj(C − γ/S Σ sym(a_k u_kᵀ))
/// ```
/// A step changes C by S symmetric products of two vectors, and C⁻¹ by as many (Woodbury), so C⁻¹ is updated along
/// with C. A Cholesky factorisation recomputes it after a projection, when a draw shows its drift, and after many
/// steps in any case.
///
/// The projection is skipped while a tracked lower bound keeps λ_min above 1/√M: a step lowers λ_min by at most γ/S
/// Σ (a_k·u_k + ‖a_k‖‖u_k‖)/2 (Weyl). Otherwise [`ProjSymmetric`] decides.
///
/// Pass the same vector `w` at every step. Cost: five passes over a triangle per draw, O(S²d), no allocation; O(d³)
/// besides when the projection may be active.
pub struct ProjStl<'a> {
    pulls: Sampled<'a, crate::Symmetric>,
    guard: ProjSymmetric,
    /// C⁻¹, packed.
    inverse: Vec<f64>,
    /// Steps since C⁻¹ was computed; `None` if it must be computed.
    age: Option<u64>,
    refreshes: u64,
    /// C⁻¹u_k; later one factor of the update of C⁻¹.
    solved: Vec<f64>,
    /// C⁻¹a_k; later the other factor.
    turned: Vec<f64>,
    room: Vec<f64>,
    origin: Vec<f64>,
}

impl std::fmt::Debug for ProjStl<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pulls, guard, age, refreshes, .. } = self;
        f.debug_struct("ProjStl")
            .field("pulls", pulls)
            .field("guard", guard)
            .field("age", age)
            .field("refreshes", refreshes)
            .finish_non_exhaustive()
    }
}

impl<'a> ProjStl<'a> {
    /// `batch` ≥ 1 draws per step on a target with smoothness M.
    pub fn new(target: impl Into<Source<'a>>, draws: Draws, batch: usize, smoothness: f64) -> Result<Self> {
        Kind::Stl.check_law(draws.law())?;
        let target = target.into();
        let d = target.dim();
        let pulls = Sampled::new(Kind::Energy, target, draws, batch)?;
        Ok(Self {
            pulls,
            guard: ProjSymmetric::new(d, smoothness)?,
            inverse: vec![0.0; packed_len(d)],
            age: None,
            refreshes: 0,
            solved: vec![0.0; batch * d],
            turned: vec![0.0; batch * d],
            room: vec![0.0; d],
            origin: vec![0.0; d],
        })
    }

    /// Whether updating C⁻¹ is faster than factoring C anew: S² ≤ 2d.
    ///
    /// Measured while the constraint is inactive, the two take the same time between S = 4 and 8 at d = 20, between
    /// 8 and 16 at d = 50 and 100, and between 16 and 32 at d = 200 (`docs/performance.md`).
    pub fn pays(dim: usize, batch: usize) -> bool {
        batch.saturating_mul(batch) <= dim.saturating_mul(2)
    }

    /// The projection, which counts its eigendecompositions.
    pub fn projection(&self) -> &ProjSymmetric {
        &self.guard
    }

    /// How often C⁻¹ was recomputed.
    pub fn refreshes(&self) -> u64 {
        self.refreshes
    }

    fn refresh(&mut self, factor: &[f64]) -> Result<()> {
        self.guard.invert(factor, &mut self.inverse)?;
        (self.age, self.refreshes) = (Some(0), self.refreshes + 1);
        Ok(())
    }

    /// Writes C⁻¹u_k into `solved`, from an inverse that is recent and, as far as the draw can tell, accurate.
    fn solve(&mut self, factor: &[f64]) -> Result<()> {
        let due = self.age.is_none_or(|age| age >= REFRESH_EVERY);
        if due {
            self.refresh(factor)?;
        }
        symmetric::transport(&self.inverse, &self.origin, self.pulls.parts().0, &mut self.solved);
        if !due && self.age.is_some_and(|age| age.is_multiple_of(PROBE_EVERY)) {
            // A fresh draw is independent of the inverse: a random probe at the cost of one product.
            let (u, d) = (self.pulls.parts().0, self.room.len());
            symmetric::multiply(factor, &self.solved[..d], &mut self.room);
            axpy(-1.0, &u[..d], &mut self.room);
            let drift = norm(&self.room) / norm(&u[..d]);
            if drift.is_nan() || drift > DRIFT {
                self.refresh(factor)?;
                symmetric::transport(&self.inverse, &self.origin, self.pulls.parts().0, &mut self.solved);
            }
        }
        Ok(())
    }

    /// Updates C⁻¹ for C − 2c Σ sym(a_k u_kᵀ), one draw after the other. Returns false if C comes near singular.
    ///
    /// With p = C⁻¹a, q = C⁻¹u, A = c·u·q, B = 1 − c·a·q, D = c·a·p and Δ = B² − AD, Woodbury's formula reads
    /// ```text
    /// (C − c(auᵀ + uaᵀ))⁻¹ = C⁻¹ + c/Δ·(A ppᵀ + B(pqᵀ + qpᵀ) + D qqᵀ)
    /// ```
    /// C stays positive definite exactly if B > √(AD); the bracket is then indefinite, that is, one product sym(xyᵀ):
    /// half the work of two. Its factors are those of As² + 2Bst + Dt² = (As + rt)(rs + Dt)/r with r = B + √Δ.
    fn carry(&mut self, c: f64) -> bool {
        let d = self.room.len();
        let (u, a, _) = self.pulls.parts();
        for (k, (a, u)) in a.chunks_exact(d).zip(u.chunks_exact(d)).enumerate() {
            let (xs, x) = self.turned.split_at_mut(k * d);
            let (ys, y) = self.solved.split_at_mut(k * d);
            let (x, y) = (&mut x[..d], &mut y[..d]);
            // The changes by the earlier draws.
            for (xl, yl) in xs.chunks_exact(d).zip(ys.chunks_exact(d)) {
                for (v, out) in [(a, &mut *x), (u, &mut *y)] {
                    let (along_x, along_y) = (dot(xl, v), dot(yl, v));
                    axpy(0.5 * along_y, xl, out);
                    axpy(0.5 * along_x, yl, out);
                }
            }
            let (uu, au, aa) = (c * dot(u, y), 1.0 - c * dot(a, y), c * dot(a, x));
            let pivot = au - (uu * aa).max(0.0).sqrt();
            if pivot.is_nan() || pivot < PIVOT {
                return false;
            }
            let delta = au * au - uu * aa;
            let root = au + delta.sqrt();
            let weight = c / (delta * root);
            for (x, y) in x.iter_mut().zip(y) {
                (*x, *y) = (weight * (uu * *x + root * *y), root * *x + aa * *y);
            }
        }
        symmetric::rank_update(&mut self.inverse, 1.0, &self.turned, &self.solved);
        true
    }
}

impl Problem for ProjStl<'_> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        self.pulls.pull(w, t)?;
        let d = self.room.len();
        let (mean, factor) = w.split_at_mut(d);
        self.solve(factor)?;

        let (u, a, value) = self.pulls.parts();
        axpy(-1.0, &self.solved, a);
        let scale = gamma / (a.len() / d) as f64;
        let (mut distance, mut fall) = (0.0, 0.0);
        for (a, u) in a.chunks_exact(d).zip(u.chunks_exact(d)) {
            axpy(-scale, a, mean);
            let (size, square) = (norm(a), dot(u, u));
            distance += scale * size * (1.0 + square).sqrt();
            fall += 0.5 * scale * (dot(a, u) + size * square.sqrt());
        }
        let moved = Moved { distance: distance * (1.0 + 1e-12), value: Some(value) };
        if !moved.distance.is_finite() {
            return Ok(moved);
        }
        symmetric::transport(&self.inverse, &self.origin, a, &mut self.turned);
        symmetric::rank_update(factor, -scale, a, u);

        let carried = self.carry(0.5 * scale);
        self.age = if carried { self.age.map(|age| age + 1) } else { None };
        // Cancellation costs the bound of the decrease a few ulps of its terms.
        if !self.guard.stays_inside(fall + 1e-12 * distance, moved.distance) {
            let guess = carried.then(|| self.guard.estimate_least(&self.inverse));
            if self.guard.restore(factor, guess)? {
                self.age = None;
            }
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests;
