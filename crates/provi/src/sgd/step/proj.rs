//! Projections on the sets of non-degenerate factors.

use super::bottom::Bottom;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Factor, Symmetric};
use crate::base::linalg::{PackedCholesky, eigen, norm};
use crate::base::matrix::{Matrix, packed_index, unpack_symmetric_into};
use crate::base::scalar::Positive;
use crate::sgd::optimize::{Moved, Operator};
use provi_kernels::{dot, symmetric};

/// The dimension from which on a few eigenpairs are cheaper than all.
const FEW_FROM: usize = 16;

/// 1/√M, the smallest singular value of a factor in 𝒲_M.
pub(super) fn floor_of(smoothness: f64) -> Result<f64> {
    Ok(1.0 / Positive::new("smoothness M", smoothness)?.get().sqrt())
}

/// The projection on {C ∈ 𝒯ᵈ, C_ii ≥ 1/√M} [proj-tri]: C_ii ← max(C_ii, 1/√M).
///
/// The set is closed, convex and contains w*; ∇h is M-Lipschitz on it, so the theorem of the entropy estimator
/// holds. It does not cover STL. Cost: d comparisons.
#[derive(Clone, Copy, Debug)]
pub struct ProjTriangular {
    dim: usize,
    floor: f64,
}

impl ProjTriangular {
    /// For factors of size `dim` of a target with smoothness M.
    pub fn new(dim: usize, smoothness: f64) -> Result<Self> {
        Ok(Self { dim, floor: floor_of(smoothness)? })
    }
}

impl Operator for ProjTriangular {
    fn apply(&mut self, w: &mut [f64], _gamma: f64, _moved: &Moved) -> Result<()> {
        let factor = &mut w[self.dim..];
        for i in 0..self.dim {
            let c = &mut factor[packed_index(i, i)];
            *c = c.max(self.floor);
        }
        Ok(())
    }
}

/// The projection on 𝒲_M = {C ∈ 𝒮ᵈ, λ_min(C) ≥ 1/√M} [proj-sym]:
/// ```text
/// C ← UD̃Uᵀ,   UDUᵀ = C,   D̃ = max(D, 1/√M)
/// ```
/// It is the identity if C − I/√M has a Cholesky factor. By Weyl's inequality λ_min(C − γg) ≥ λ_min(C) − λ_max(γg),
/// even that test can be skipped while a tracked lower bound of λ_min stays above 1/√M. If a projection is needed
/// after a small move, only few eigenvalues are below, and a few eigenpairs are enough. Cost: O(1), O(d³/3), a
/// small multiple of that, or an eigendecomposition.
pub struct ProjSymmetric {
    dim: usize,
    floor: f64,
    /// A lower bound of λ_min of the factor after the last call.
    least: f64,
    /// ‖C‖_F at that time, plus the norms of the moves since.
    size: f64,
    square: Matrix,
    cholesky: PackedCholesky,
    bottom: Bottom,
    image: Vec<f64>,
    projections: u64,
    decompositions: u64,
}

impl std::fmt::Debug for ProjSymmetric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { dim, floor, least, decompositions, .. } = self;
        f.debug_struct("ProjSymmetric")
            .field("dim", dim)
            .field("floor", floor)
            .field("least", least)
            .field("decompositions", decompositions)
            .finish_non_exhaustive()
    }
}

impl ProjSymmetric {
    /// For factors of size `dim` of a target with smoothness M.
    pub fn new(dim: usize, smoothness: f64) -> Result<Self> {
        Ok(Self {
            dim,
            floor: floor_of(smoothness)?,
            bottom: Bottom::new(dim),
            image: vec![0.0; dim],
            least: f64::NEG_INFINITY,
            size: 0.0,
            square: Matrix::zeros(dim, dim),
            cholesky: PackedCholesky::with_dim(dim),
            projections: 0,
            decompositions: 0,
        })
    }

    /// Forgets what it knows about λ_min: someone else has changed C.
    pub(super) fn forget(&mut self) {
        self.least = f64::NEG_INFINITY;
    }

    /// Number of steps so far on which the constraint was active.
    pub fn projections(&self) -> u64 {
        self.projections
    }

    /// Number of eigendecompositions so far: projections for which a few eigenpairs were not enough.
    pub fn decompositions(&self) -> u64 {
        self.decompositions
    }
}

impl Operator for ProjSymmetric {
    fn apply(&mut self, w: &mut [f64], _gamma: f64, moved: &Moved) -> Result<()> {
        if !self.stays_inside(moved.distance, moved.distance) {
            self.restore(&mut w[self.dim..], None)?;
        }
        Ok(())
    }
}

impl ProjSymmetric {
    /// Whether C is certainly in the set after a move of norm at most `distance` that lowered λ_min by at most `fall`.
    pub(crate) fn stays_inside(&mut self, fall: f64, distance: f64) -> bool {
        // The move, and its rounding error: half an ulp of each entry of C.
        self.size += distance;
        self.least -= fall + 1e-12 * fall.abs() + 2.0 * f64::EPSILON * self.size;
        self.least >= self.floor
    }

    /// Updates the bound after C ← C + γC⁻¹, which maps each eigenvalue λ > 0 to λ + γ/λ: at least 2√γ, and
    /// increasing from √γ on.
    pub(crate) fn lifted(&mut self, gamma: f64) {
        // A computed inverse is not exact.
        let gamma = gamma * (1.0 - 1e-3);
        let root = gamma.sqrt();
        self.least = if self.least > root { self.least + gamma / self.least } else { 2.0 * root };
    }

    /// An estimate of λ_min from C⁻¹, never much below it: a few power steps, starting where the last ones ended.
    pub(crate) fn estimate_least(&mut self, inverse: &[f64]) -> f64 {
        let mut largest = 0.0;
        for _ in 0..4 {
            symmetric::multiply(inverse, self.bottom.vector(), &mut self.image);
            let size = norm(&self.image);
            largest = size / norm(self.bottom.vector());
            self.bottom.vector_mut().iter_mut().zip(&self.image).for_each(|(v, x)| *v = x / size);
        }
        1.0 / largest
    }

    /// Projects if necessary, and returns whether it did. `guess` is an estimate of λ_min; it only decides what is
    /// tried first.
    pub(crate) fn restore(&mut self, factor: &mut [f64], guess: Option<f64>) -> Result<bool> {
        let below = self.least;
        self.size = Symmetric::square_norm(self.dim, factor).sqrt();
        // The factorisation succeeds for a matrix within d·ε·‖C‖ of the tested one.
        let lost = 4.0 * self.dim as f64 * f64::EPSILON * self.size;
        // Test with some slack first: a bound above 1/√M saves the test on later steps.
        let tried = match guess {
            Some(guess) => [self.floor + 0.8 * (guess - self.floor).max(0.0), self.floor, self.floor],
            None => [4.0 * self.floor, 1.5 * self.floor, self.floor],
        };
        // A Rayleigh quotient below the floor proves that the constraint is active, so the test need not run and
        // fail.
        let (quotient, residual) = self.rayleigh(factor);
        let active = quotient < self.floor - lost;
        for (k, &shift) in tried.iter().enumerate().filter(|_| !active) {
            if (k == 0 || shift < tried[k - 1]) && self.cholesky.factor(factor, shift).is_ok() {
                self.least = shift - lost;
                return Ok(false);
            }
        }
        self.projections += 1;
        if self.lift_few(factor, below, quotient - 2.0 * residual, lost)? {
            self.least = self.floor - lost;
            return Ok(true);
        }
        self.decompositions += 1;
        if factor.iter().any(|x| !x.is_finite()) {
            return Err(Error::Eigen { what: "symmetric factor", dim: self.dim });
        }
        unpack_symmetric_into(factor, &mut self.square);
        let (values, vectors) = eigen("symmetric factor", &self.square)?;
        // Only eigenvalues below the floor move: C + Σ (1/√M − λ)vvᵀ. The memory of C holds the weighted vectors.
        let below = values.partition_point(|&x| x < self.floor);
        let len = below * self.dim;
        let (left, right) = (&mut self.square.entries_mut()[..len], &vectors.entries()[..len]);
        for ((left, right), value) in
            left.chunks_exact_mut(self.dim).zip(right.chunks_exact(self.dim)).zip(&values)
        {
            left.iter_mut().zip(right).for_each(|(l, r)| *l = (self.floor - value) * r);
        }
        Symmetric::rank_update(factor, 1.0, left, right);
        self.least = self.floor;
        Ok(true)
    }

    /// vᵀCv and ‖Cv − (vᵀCv)v‖ for the unit vector v near the eigenvector of λ_min.
    fn rayleigh(&mut self, factor: &[f64]) -> (f64, f64) {
        let v = self.bottom.vector();
        symmetric::multiply(factor, v, &mut self.image);
        let square = dot(v, v);
        let quotient = dot(&self.image, v) / square;
        (quotient, (dot(&self.image, &self.image) / square - quotient * quotient).max(0.0).sqrt())
    }

    /// The projection if few eigenvalues are below 1/√M, as after a step of few draws (each pushes at most one
    /// below), given λ_min ≥ `lower`. Their eigenpairs come from Lanczos steps on (C − σI)⁻¹ with σ first at
    /// `guess`, or else just under `lower`. A Cholesky factorisation verifies the result; if it fails, C is left
    /// unchanged and the function returns false.
    fn lift_few(&mut self, factor: &mut [f64], lower: f64, guess: f64, lost: f64) -> Result<bool> {
        let (d, floor) = (self.dim, self.floor);
        let mut shift = lower - lost;
        // Otherwise the move was not that of a step, and usually many eigenvalues are below.
        let near = floor - shift <= 4.0 * floor;
        if d < FEW_FROM || !near {
            return Ok(false);
        }
        if guess > shift && guess < floor && self.cholesky.factor(factor, guess).is_ok() {
            shift = guess;
        } else if self.cholesky.factor(factor, shift).is_err() {
            return Ok(false);
        }
        let Some(pairs) = self.bottom.below(&mut self.cholesky, factor, floor, shift) else {
            return Ok(false);
        };
        let weighted = &mut self.square.entries_mut()[..pairs.vectors.len()];
        let rows = pairs.vectors.chunks_exact(d).zip(&pairs.values);
        for (weighted, (vector, value)) in weighted.chunks_exact_mut(d).zip(rows) {
            weighted.iter_mut().zip(vector).for_each(|(l, v)| *l = (floor - value) * v);
        }
        Symmetric::rank_update(factor, 1.0, weighted, &pairs.vectors);
        let verified = self.cholesky.factor(factor, floor - lost).is_ok();
        if !verified {
            Symmetric::rank_update(factor, -1.0, weighted, &pairs.vectors);
        }
        Ok(verified)
    }

    /// C⁻¹, packed, into `out`.
    pub(crate) fn invert(&mut self, factor: &[f64], out: &mut [f64]) -> Result<()> {
        let not_positive =
            |pivot| Error::NotPositiveDefinite { what: "symmetric factor", dim: self.dim, pivot };
        self.cholesky.factor(factor, 0.0).map_err(not_positive)?;
        self.cholesky.invert(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn least_eigenvalue(dim: usize, packed: &[f64]) -> Result<f64> {
        let square = crate::base::matrix::unpack_symmetric(dim, packed);
        Ok(crate::base::linalg::eigenvalues("symmetric factor", &square)?[0])
    }

    fn unknown() -> Moved {
        Moved { distance: f64::MAX, value: None }
    }

    fn distance2(dim: usize, a: &[f64], b: &[f64]) -> f64 {
        let difference: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
        <crate::base::gaussian::Symmetric as crate::base::gaussian::Factor>::square_norm(dim, &difference)
    }

    proptest! {
        #[test]
        fn the_symmetric_projection_is_idempotent_feasible_and_non_expansive(
            a in proptest::collection::vec(-3.0..3.0f64, 10), b in proptest::collection::vec(-3.0..3.0f64, 10)
        ) {
            let project = |c: &[f64]| {
                let mut w = [&[0.0; 4], c].concat();
                ProjSymmetric::new(4, 4.0).unwrap().apply(&mut w, 1.0, &unknown()).unwrap();
                w[4..].to_vec()
            };
            let (pa, pb) = (project(&a), project(&b));
            prop_assert!(least_eigenvalue(4, &pa).unwrap() >= 0.5 - 1e-12);
            prop_assert!(distance2(4, &pa, &project(&pa)) < 1e-22);
            prop_assert!(distance2(4, &pa, &pb) <= distance2(4, &a, &b) * (1.0 + 1e-10) + 1e-20);
            // Obtuse angle at the projection: ⟨a − Pa, Pb − Pa⟩ ≤ 0 characterises it.
            let inner = 0.25 * (distance2(4, &plus(&a, &pb), &plus(&pa, &pa)) - distance2(4, &plus(&a, &pa), &plus(&pa, &pb)));
            prop_assert!(inner <= 1e-10, "{inner}");
        }
    }

    fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(x, y)| x + y).collect()
    }

    #[test]
    fn small_moves_need_no_decomposition_and_none_is_missed() {
        let mut proj = ProjSymmetric::new(2, 4.0).unwrap();
        let mut w = vec![0.0, 0.0, 1.0, 0.0, 1.0];
        proj.apply(&mut w, 1.0, &unknown()).unwrap();
        for _ in 0..30 {
            w[2] -= 0.03;
            proj.apply(&mut w, 1.0, &Moved { distance: 0.03, value: None }).unwrap();
            assert!(w[2] >= 0.5 - 1e-15);
        }
        assert!(proj.decompositions() > 0);
    }

    #[test]
    fn negative_eigenvalues_are_lifted_not_reflected() {
        // A singular value decomposition would see |−3| = 3 and leave it.
        let mut w = vec![0.0, 0.0, -3.0, 0.0, 2.0];
        ProjSymmetric::new(2, 1.0).unwrap().apply(&mut w, 1.0, &unknown()).unwrap();
        assert!((w[2] - 1.0).abs() < 1e-14 && (w[4] - 2.0).abs() < 1e-14);
    }

    #[test]
    fn the_triangular_projection_clamps_the_diagonal_only() {
        let mut w = vec![7.0, 7.0, 0.1, -9.0, 3.0];
        ProjTriangular::new(2, 4.0).unwrap().apply(&mut w, 1.0, &unknown()).unwrap();
        assert_eq!(w, [7.0, 7.0, 0.5, -9.0, 3.0]);
        assert!(ProjTriangular::new(2, 0.0).is_err());
    }
}
