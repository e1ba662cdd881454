//! The few eigenpairs of a symmetric matrix below a floor.

use crate::base::linalg::{PackedCholesky, norm, tridiagonal_eigen};
use provi_kernels::{axpy, dot};

/// Lanczos steps with one shift.
const STEPS: usize = 12;
/// Lanczos steps with the first shift if one pair shows: enough to find a nearer shift, which converges sooner.
const FIRST: usize = 6;
/// Most shifts tried.
const SHIFTS: usize = 4;
/// The residual at which a pair has converged, relative to its eigenvalue of (C − σI)⁻¹.
const SETTLED: f64 = 1e-11;

/// Lanczos steps on (C − σI)⁻¹ with σ below λ_min, in a few rounds. Each round estimates λ_min, so that the next
/// can use a σ nearer to it, which separates the wanted pairs. Memory is kept from call to call.
#[derive(Debug)]
pub(super) struct Bottom {
    /// The start of the next search: the latest known eigenvector of λ_min.
    vector: Vec<f64>,
    /// Orthonormal vectors, row by row.
    basis: Vec<f64>,
    next: Vec<f64>,
    pairs: Pairs,
}

/// Eigenvalues in no particular order, and their eigenvectors row by row.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<f64>,
}

impl Bottom {
    pub(super) fn new(dim: usize) -> Self {
        // Any vector will do that is not orthogonal to an eigenvector by construction.
        let mut vector = vec![0.0; dim];
        provi_kernels::normals(0, 0, 0, &mut vector);
        Self { vector, basis: vec![0.0; (STEPS + 1) * dim], next: vec![0.0; dim], pairs: Pairs::default() }
    }

    /// A vector near the eigenvector of λ_min.
    pub(super) fn vector(&self) -> &[f64] {
        &self.vector
    }

    pub(super) fn vector_mut(&mut self) -> &mut [f64] {
        &mut self.vector
    }

    /// The eigenpairs of C below `floor`, from a σ below λ_min for which `cholesky` has a factor. `None` if they do
    /// not converge soon. The caller must test the result: nothing here proves that no pair was missed.
    pub(super) fn below(
        &mut self,
        cholesky: &mut PackedCholesky,
        factor: &[f64],
        floor: f64,
        mut shift: f64,
    ) -> Option<&Pairs> {
        // A start near the last known direction, with a component in every other direction.
        provi_kernels::normals(1, 0, 0, &mut self.next);
        let (size, scale) = (norm(&self.vector), 0.1 / norm(&self.next));
        self.next.iter_mut().zip(&self.vector).for_each(|(x, v)| *x = scale * *x + v / size);
        for tried in 0..SHIFTS {
            cholesky.hand_over();
            let found = self.round(cholesky, tried == 0, 1.0 / (floor - shift));
            let least = shift + 1.0 / found.largest;
            if found.settled {
                self.vector.copy_from_slice(&self.next);
                self.pairs.values.iter_mut().for_each(|x| *x = shift + 1.0 / *x);
                return Some(&self.pairs);
            }
            // As near as the residual allows; the factorisation shows whether that was too near.
            let mut distance = (least - shift) * (3.0 * found.residual).clamp(0.02, 0.5);
            loop {
                let nearer = least - distance;
                if nearer.is_nan() || nearer <= shift {
                    return None;
                }
                if cholesky.factor(factor, nearer).is_ok() {
                    shift = nearer;
                    break;
                }
                distance *= 3.0;
            }
        }
        None
    }

    /// Lanczos steps from `next`, which then becomes the leading Ritz vector. Keeps the pairs above `threshold`.
    fn round(&mut self, cholesky: &PackedCholesky, first: bool, threshold: f64) -> Round {
        let d = self.next.len();
        let (mut diagonal, mut beside) = ([0.0; STEPS], [0.0; STEPS]);
        let mut coefficients = [[0.0; STEPS]; STEPS];
        let mut size = norm(&self.next);
        for step in 1..=STEPS {
            let (known, own) = self.basis.split_at_mut((step - 1) * d);
            let own = &mut own[..d];
            own.iter_mut().zip(&self.next).for_each(|(v, x)| *v = x / size);
            self.next.copy_from_slice(own);
            cholesky.solve(&mut self.next);
            diagonal[step - 1] = dot(&self.next, own);
            // Two orthogonalisations are enough.
            for _ in 0..2 {
                for v in known.chunks_exact(d).chain([&*own]) {
                    let along = dot(&self.next, v);
                    axpy(-along, v, &mut self.next);
                }
            }
            size = norm(&self.next);
            beside[step - 1] = size;
            if step < 4 || !step.is_multiple_of(2) {
                continue;
            }
            let mut values = diagonal;
            coefficients.iter_mut().enumerate().for_each(|(k, row)| {
                row.fill(0.0);
                row[k] = 1.0;
            });
            let (values, coefficients) = (&mut values[..step], &mut coefficients[..step]);
            if !tridiagonal_eigen(values, &beside[..step - 1], coefficients) {
                break;
            }
            let residual = |k: usize| size * coefficients[k][step - 1].abs() / values[k];
            let leading = (0..step).fold(0, |best, k| if values[k] > values[best] { k } else { best });
            let settled =
                (0..step).filter(|&k| k == leading || values[k] > threshold).all(|k| residual(k) <= SETTLED);
            let one = first && step == FIRST && values.iter().filter(|x| **x > threshold).count() <= 1;
            if settled || one || step == STEPS {
                let found = Round { largest: values[leading], residual: residual(leading), settled };
                self.pairs.values.clear();
                self.pairs.vectors.clear();
                for k in (0..step).filter(|&k| values[k] > threshold) {
                    self.pairs.values.push(values[k]);
                    let start = self.pairs.vectors.len();
                    self.pairs.vectors.resize(start + d, 0.0);
                    combine(&self.basis, &coefficients[k], &mut self.pairs.vectors[start..]);
                }
                // Pairs that have not converged take part in the next round.
                self.next.fill(0.0);
                for k in (0..step).filter(|&k| k == leading || (!settled && values[k] > threshold)) {
                    combine(&self.basis, &coefficients[k], &mut self.next);
                }
                return found;
            }
        }
        Round { largest: f64::NAN, residual: f64::NAN, settled: false }
    }
}

/// The result of a round: the largest Ritz value of (C − σI)⁻¹, its relative residual, and whether all pairs have
/// converged.
struct Round {
    largest: f64,
    residual: f64,
    settled: bool,
}

/// out ← out + Σ_k coefficient_k v_k.
fn combine(basis: &[f64], coefficients: &[f64], out: &mut [f64]) {
    for (v, c) in basis.chunks_exact(out.len()).zip(coefficients) {
        axpy(*c, v, out);
    }
}
