//! Forward-backward steps in the Wasserstein space of Gaussians.

use super::{Batch, Step};
use crate::base::linalg::{Cholesky, add_gram, eigen, spectral_map};
use crate::base::matrix::{Matrix, packed_index};
use crate::sgd::step::lift;
use provi_kernels::{axpy, triangle};

/// The step η. Forward: the push-forward of q by z ↦ z − η(E∇V + E∇²V(z − m)), which has mean m − ηE∇V and factor MC. Backward:
/// the proximal step of the entropy,
/// ```text
/// min over Σ of W₂²(N(m, S), N(m, Σ))/(2η) − ½ log det Σ
/// ```
/// Its minimiser has the eigenvectors of S. For one eigenvalue s² of S it minimises (σ − s)²/2η − log σ, so
/// ```text
/// σ² − sσ − η = 0,   σ = ½(s + √(s² + 4η)),   σ² = ½(s² + 2η + √(s²(s² + 4η)))
/// ```
/// which is the prox of [prox-h] on the singular values of MC. In the coordinates of q, E∇²V = C⁻ᵀ(I + Ĝ)C⁻¹, so that
/// MC = C − ηC⁻ᵀ(I + Ĝ) and E∇V = C⁻ᵀĝ.
///
/// On a Gaussian target with E∇²V = h in some direction and ηh ≤ 1: the error of m is multiplied by 1 − ηh, and that of σ, near its fixed
/// point h^{−½}, by (1 − ηh)/(1 + ηh). Invariant: Σ ⪰ ηI.
pub(super) struct BuresWasserstein {
    /// (MC)ᵀ.
    pushed: Matrix,
    model: Cholesky,
    shift: Vec<f64>,
}

impl BuresWasserstein {
    pub(super) fn new(dim: usize) -> Self {
        Self { pushed: Matrix::zeros(dim, dim), model: Cholesky::with_dim(dim), shift: vec![0.0; dim] }
    }

    /// The step from ĝ and Ĝ.
    pub(super) fn move_by(&mut self, w: &mut [f64], slope: &[f64], excess: &Matrix, eta: f64) -> Option<()> {
        let d = slope.len();
        let (mean, factor) = w.split_at_mut(d);
        for i in 0..d {
            // I + Ĝ is symmetric: its row i is its column i.
            let column = self.pushed.row_mut(i);
            column.copy_from_slice(excess.row(i));
            column[i] += 1.0;
            triangle::solve_transposed(factor, column);
            column.iter_mut().for_each(|x| *x *= -eta);
            (i..d).for_each(|j| column[j] += factor[packed_index(j, i)]);
        }
        let mut covariance = Matrix::zeros(d, d);
        add_gram(self.pushed.entries(), d, &mut covariance);
        let (values, vectors) = eigen("pushed covariance", &covariance).ok()?;
        let covariance = spectral_map(&values, &vectors, |value| lift(value.max(0.0).sqrt(), eta).powi(2));
        self.model.factor_from(&covariance, 0.0).ok()?;
        self.shift.copy_from_slice(slope);
        triangle::solve_transposed(factor, &mut self.shift);
        axpy(-eta, &self.shift, mean);
        factor.copy_from_slice(&self.model.packed_lower());
        Some(())
    }
}

impl Step for BuresWasserstein {
    fn make(&mut self, w: &mut [f64], batch: &mut Batch, eta: f64) -> Option<()> {
        batch.average();
        self.move_by(w, &batch.slope, &batch.excess, eta)
    }
}
