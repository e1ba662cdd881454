//! Targets with exact expectations under a Gaussian, and f computed from these \[exact\].

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular, entropy_constant};
use crate::base::linalg::{multiply_lower, norm};
use crate::base::matrix::{Matrix, pack_lower_into, packed_index};
use crate::target::curvature::Provenance;

/// A target whose Gaussian expectations can be computed.
pub trait Expectations {
    /// E V, E ∇V and E ∇²V under q, with error bounds.
    fn expect(&self, q: &Gaussian<Triangular>, out: &mut Moments) -> Result<()>;

    /// Whether ∇²V is the same at every z. E∇²V under any q is then H_lo itself.
    fn has_constant_hessian(&self) -> bool {
        false
    }

    /// A Gaussian near the best one, with a gap of about `goal`, if the target has a quicker way to it than a solver that
    /// holds all of C.
    fn near_optimum(&self, _goal: f64) -> Result<Option<Gaussian<Triangular>>> {
        Ok(None)
    }

    /// J ≥ ∫_{Bᶜ} D dq for the ball B = {‖C⁻¹(z−m)‖ ≤ R}, in closed form, with D = log(q/p) [local-kl]. `None` if
    /// no closed form is known.
    fn tail_integral(&self, _q: &Gaussian<Triangular>, _radius: f64) -> Result<Option<f64>> {
        Ok(None)
    }
}

/// E_q of V and its derivatives, with bounds of their errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// E V.
    pub value: f64,
    /// E ∇V.
    pub gradient: Vec<f64>,
    /// E ∇²V.
    pub hessian: Matrix,
    /// Upper bound of |error of `value`|.
    pub value_error: f64,
    /// Upper bound of the Euclidean norm of the error of (E∇V, E∇²V·C).
    pub gradient_error: f64,
    /// Upper bound of (l(w') − l(w) − ⟨∇l(w), w'−w⟩)/r² over all w' whose means and rows of C differ from those of
    /// w by at most r times their size, r ≤ [`Moments::NEAR`]. Infinite if no bound is known.
    pub(crate) bend: f64,
    /// Whether the error bounds are proved, declared or only checked.
    pub(crate) provenance: Provenance,
    /// tril(E∇²V·C), packed, if it was computed along with the rest; empty otherwise.
    pub(crate) product: Vec<f64>,
}

impl Moments {
    /// The largest r for which `bend` holds.
    pub(crate) const NEAR: f64 = 1e-9;

    /// Memory for dimension `dim`. Values that a user's target writes are declared; provi's own models say what
    /// they prove.
    pub fn new(dim: usize) -> Self {
        Self {
            value: 0.0,
            gradient: vec![0.0; dim],
            hessian: Matrix::zeros(dim, dim),
            value_error: 0.0,
            gradient_error: 0.0,
            bend: f64::INFINITY,
            provenance: Provenance::Declared,
            product: Vec::new(),
        }
    }

    /// Whether the error bounds are proved from a model, declared by a target's owner, or only checked.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Marks the error bounds as only checked, not proved.
    pub fn set_estimated(&mut self) {
        self.provenance = Provenance::Estimated;
    }

    /// f(w) = E V − log det C − (d/2)(1 + log 2π), the negative ELBO.
    pub fn neg_elbo(&self, q: &Gaussian<Triangular>) -> Result<f64> {
        Ok(self.value + q.neg_entropy()?)
    }

    /// Upper bound of the error of [`Moments::neg_elbo`]: the error of E V and the rounding of the entropy.
    pub fn neg_elbo_error(&self, q: &Gaussian<Triangular>) -> f64 {
        let d = q.dim();
        let logs: f64 = (0..d).map(|i| q.factor()[packed_index(i, i)].ln().abs()).sum();
        let size = self.value.abs() + logs + entropy_constant(d);
        self.value_error + (d as f64 + 8.0) * f64::EPSILON * size
    }

    /// Upper bound of the Euclidean norm of the error of ∇f on 𝒯ᵈ: the error of the moments, and the rounding of
    /// E∇²V·C and of the subtraction of 1/C_ii.
    pub(crate) fn neg_elbo_gradient_error(&self, q: &Gaussian<Triangular>) -> f64 {
        let d = q.dim();
        let reciprocals: f64 = (0..d).map(|i| q.factor()[packed_index(i, i)].powi(-2)).sum();
        let product = product_size(&self.hessian, q);
        self.gradient_error + (d as f64 + 8.0) * f64::EPSILON * (product + reciprocals.sqrt())
    }

    /// ∇l on 𝒯ᵈ at (m, C): (E∇V, tril(E∇²V·C)), as a flat vector like w.
    pub(crate) fn free_energy_gradient(&self, q: &Gaussian<Triangular>, out: &mut [f64]) {
        let d = q.dim();
        out[..d].copy_from_slice(&self.gradient);
        if self.product.is_empty() {
            pack_lower_into(&multiply_lower(&self.hessian, &q.factor_matrix()), &mut out[d..]);
        } else {
            out[d..].copy_from_slice(&self.product);
        }
    }

    /// ∇f on 𝒯ᵈ: ∇l with 1/C_ii subtracted from the diagonal.
    pub(crate) fn neg_elbo_gradient(&self, q: &Gaussian<Triangular>, out: &mut [f64]) {
        let d = q.dim();
        self.free_energy_gradient(q, out);
        for i in 0..d {
            out[d + packed_index(i, i)] -= 1.0 / q.factor()[packed_index(i, i)];
        }
    }
}

/// An upper bound of ‖|H||C|‖_F for positive semidefinite H: |H_ij| ≤ √(H_iiH_jj) makes it ‖h‖·‖|C|ᵀh‖, h = √diag
/// H. The bound is entry by entry, so that columns of very different size do not multiply each other's rounding.
pub(crate) fn product_size(hessian: &Matrix, q: &Gaussian<Triangular>) -> f64 {
    let d = q.dim();
    let roots: Vec<f64> = (0..d).map(|i| hessian[(i, i)].abs().sqrt()).collect();
    let mut pulled = vec![0.0; d];
    for i in 0..d {
        let row = &q.factor()[packed_index(i, 0)..packed_index(i, i) + 1];
        pulled.iter_mut().zip(row).for_each(|(sum, c)| *sum += roots[i] * c.abs());
    }
    norm(&roots) * norm(&pulled) * (1.0 + 1e-10)
}

/// f(w), the negative ELBO with every constant, for a target with exact expectations.
pub fn neg_elbo(target: &dyn Expectations, q: &Gaussian<Triangular>) -> Result<f64> {
    let mut moments = Moments::new(q.dim());
    target.expect(q, &mut moments)?;
    moments.neg_elbo(q)
}
