//! Algorithm 2 on symmetric factors, one whole step at a time.

use super::ProjSymmetric;
use crate::base::draws::Draws;
use crate::base::error::Result;
use crate::base::gaussian::{Factor, Symmetric};
use crate::base::linalg::norm;
use crate::base::matrix::packed_len;
use crate::sgd::estimator::{Kind, Sampled, Source};
use crate::sgd::optimize::{Moved, Problem};
use provi_kernels::{axpy, dot};

/// Proj-SGD with the entropy estimator on 𝒮ᵈ:
/// ```text
/// m ← m − γ/S Σ π_k,   C ← proj(C + γC⁻¹ − γ/S Σ sym(π_k u_kᵀ))
/// ```
/// C⁻¹ comes from one Cholesky factorisation, and most steps need no other: adding γC⁻¹ raises every eigenvalue, so
/// a step lowers λ_min by at most γ/S Σ (π_k·u_k + ‖π_k‖‖u_k‖)/2 (Weyl), and the projection is skipped while a
/// tracked lower bound stays above 1/√M.
///
/// Pass the same vector `w` at every step. Cost: O(d³), an inverse; no allocation unless the projection is active.
#[derive(Debug)]
pub struct ProjEntropy<'a> {
    dim: usize,
    pulls: Sampled<'a, Symmetric>,
    guard: ProjSymmetric,
    /// C⁻¹, packed.
    inverse: Vec<f64>,
}

impl<'a> ProjEntropy<'a> {
    /// `batch` ≥ 1 draws per step on a target with smoothness M.
    pub fn new(target: impl Into<Source<'a>>, draws: Draws, batch: usize, smoothness: f64) -> Result<Self> {
        let target = target.into();
        let d = target.dim();
        Ok(Self {
            dim: d,
            pulls: Sampled::new(Kind::Energy, target, draws, batch)?,
            guard: ProjSymmetric::new(d, smoothness)?,
            inverse: vec![0.0; packed_len(d)],
        })
    }

    /// The projection, which counts its eigendecompositions.
    pub fn projection(&self) -> &ProjSymmetric {
        &self.guard
    }
}

impl Problem for ProjEntropy<'_> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        self.pulls.pull(w, t)?;
        let d = self.dim;
        let (mean, factor) = w.split_at_mut(d);
        self.guard.invert(factor, &mut self.inverse)?;

        let (u, pulls, value) = self.pulls.parts();
        let scale = gamma / (pulls.len() / d) as f64;
        let (mut distance, mut fall) = (0.0, 0.0);
        for (pull, u) in pulls.chunks_exact(d).zip(u.chunks_exact(d)) {
            axpy(-scale, pull, mean);
            let (size, square) = (norm(pull), dot(u, u));
            distance += scale * size * (1.0 + square).sqrt();
            fall += 0.5 * scale * (dot(pull, u) + size * square.sqrt());
        }
        // Cancellation costs the bound of the decrease a few ulps of its terms.
        fall += 1e-12 * distance;
        distance += gamma * Symmetric::square_norm(d, &self.inverse).sqrt();
        let moved = Moved { distance: distance * (1.0 + 1e-12), value: Some(value) };
        if !moved.distance.is_finite() {
            return Ok(moved);
        }
        Symmetric::rank_update(factor, -scale, pulls, u);
        axpy(gamma, &self.inverse, factor);

        self.guard.lifted(gamma);
        if !self.guard.stays_inside(fall, moved.distance) {
            let guess = self.guard.estimate_least(&self.inverse);
            self.guard.restore(factor, Some(guess))?;
        }
        Ok(moved)
    }
}
