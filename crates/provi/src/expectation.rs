//! Expectations of V, ∇V and ∇²V under a Gaussian, by one-dimensional integrals \[exact\].
//!
//! With μ_n = a_nᵀm + o_n, σ_n = ‖Cᵀa_n‖ and s ~ N(μ_n, σ_n²), a linear-predictor model has
//! ```text
//! E V   = ½[(m−ν)ᵀΛ(m−ν) + tr(CᵀΛC)] + Σ_n w_n E φ_n(s) + const
//! E ∇V  = Λ(m−ν) + Aᵀ(w·E φ'(s)),    E ∇²V = Λ + Aᵀ diag(w·E φ''(s)) A
//! ```
//! and ∇_C l = proj(E∇²V · C). So f and ∇f cost a few passes over the data and have no noise.

mod pass;
mod quadrature;
mod tail;

use crate::curvature::Provenance;
use crate::error::Result;
use crate::gaussian::{Gaussian, Triangular};
use crate::linalg::multiply_lower;
use crate::matrix::{Matrix, pack_lower_into, packed_index};
use crate::target::{Family, Glm};
pub(crate) use pass::{Chains, sums};
pub(crate) use tail::TAIL_SUMS;

/// A target whose Gaussian expectations are available.
pub trait Expectations {
    /// E V, E ∇V and E ∇²V under q, with error bounds.
    fn expect(&self, q: &Gaussian<Triangular>, out: &mut Moments) -> Result<()>;

    /// Whether ∇²V is the same at every z. E∇²V under any q is then H_lo itself.
    fn has_constant_hessian(&self) -> bool {
        false
    }

    /// J ≥ ∫_{Bᶜ} D dq for the ball B = {‖C⁻¹(z−m)‖ ≤ R}, in closed form [local-kl]. `None`: there is none.
    fn tail_integral(&self, _q: &Gaussian<Triangular>, _radius: f64) -> Result<Option<f64>> {
        Ok(None)
    }
}

/// E_q of V and its derivatives, and how far each may be off.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// E V.
    pub value: f64,
    /// E ∇V.
    pub gradient: Vec<f64>,
    /// E ∇²V.
    pub hessian: Matrix,
    /// Bounds |error of `value`|.
    pub value_error: f64,
    /// Bounds the Euclidean norm of the error of (E∇V, E∇²V·C).
    pub gradient_error: f64,
    /// Whether the error bounds are proved, declared or only checked.
    pub(crate) provenance: Provenance,
    /// tril(E∇²V·C) where it was made on the way, packed; empty otherwise.
    pub(crate) product: Vec<f64>,
}

impl Moments {
    /// Room for dimension `dim`. What somebody else's target writes into it is declared; provi's own models say what they prove.
    pub fn new(dim: usize) -> Self {
        Self {
            value: 0.0,
            gradient: vec![0.0; dim],
            hessian: Matrix::zeros(dim, dim),
            value_error: 0.0,
            gradient_error: 0.0,
            provenance: Provenance::Declared,
            product: Vec::new(),
        }
    }

    /// Whether the error bounds are proved from a model, declared by a target's owner, or only checked.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Says that the error bounds are only checked, not proved.
    pub fn set_estimated(&mut self) {
        self.provenance = Provenance::Estimated;
    }

    /// f(w) = E V − log det C − (d/2)(1 + log 2π), the negative ELBO.
    pub fn neg_elbo(&self, q: &Gaussian<Triangular>) -> Result<f64> {
        Ok(self.value + q.neg_entropy()?)
    }

    /// Bounds the error of [`Moments::neg_elbo`]: that of E V, and the rounding of the entropy.
    pub fn neg_elbo_error(&self, q: &Gaussian<Triangular>) -> f64 {
        let d = q.dim();
        let logs: f64 = (0..d).map(|i| q.factor()[packed_index(i, i)].ln().abs()).sum();
        let size = self.value.abs() + logs + crate::gaussian::entropy_constant(d);
        self.value_error + (d as f64 + 8.0) * f64::EPSILON * size
    }

    /// Bounds the Euclidean norm of the error of ∇f on 𝒯ᵈ: that of the moments, and the rounding of E∇²V·C and of the
    /// subtraction of 1/C_ii.
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

    /// ∇f on 𝒯ᵈ: ∇l with 1/C_ii taken off the diagonal.
    pub(crate) fn neg_elbo_gradient(&self, q: &Gaussian<Triangular>, out: &mut [f64]) {
        let d = q.dim();
        self.free_energy_gradient(q, out);
        for i in 0..d {
            out[d + packed_index(i, i)] -= 1.0 / q.factor()[packed_index(i, i)];
        }
    }
}

/// ‖|H||C|‖_F, at most, for a positive semidefinite H: |H_ij| ≤ √(H_iiH_jj) makes it ‖h‖·‖|C|ᵀh‖, h = √diag H. Entry by
/// entry, so that columns of very different size do not multiply each other's rounding.
fn product_size(hessian: &Matrix, q: &Gaussian<Triangular>) -> f64 {
    let d = q.dim();
    let roots: Vec<f64> = (0..d).map(|i| hessian[(i, i)].abs().sqrt()).collect();
    let mut pulled = vec![0.0; d];
    for i in 0..d {
        let row = &q.factor()[packed_index(i, 0)..packed_index(i, i) + 1];
        pulled.iter_mut().zip(row).for_each(|(sum, c)| *sum += roots[i] * c.abs());
    }
    crate::norm(&roots) * crate::norm(&pulled) * (1.0 + 1e-10)
}

/// f(w), the negative ELBO with every constant, for a target with exact expectations.
pub fn neg_elbo(target: &dyn Expectations, q: &Gaussian<Triangular>) -> Result<f64> {
    let mut moments = Moments::new(q.dim());
    target.expect(q, &mut moments)?;
    moments.neg_elbo(q)
}

/// E φ'(s) for s ~ N(μ, σ²) and a response of zero.
pub(crate) fn mean_slopes(family: Family, means: &[f64], deviations: &[f64]) -> Vec<f64> {
    quadrature::expect(family, means, deviations, &vec![0.0; means.len()]).first
}

impl Expectations for Glm {
    fn expect(&self, q: &Gaussian<Triangular>, out: &mut Moments) -> Result<()> {
        self.linear.check_dim(q)?;
        let (mut sums, chains) = (sums(q.dim()), self.rows.chains());
        out.hessian = self.linear.precision();
        self.rows.add_expectations(self.linear.family, q, chains, &mut sums, &mut out.hessian);
        self.linear.conclude_moments(q, &sums, chains, out)
    }

    fn has_constant_hessian(&self) -> bool {
        matches!(self.linear.family, Family::Gaussian { .. })
    }

    fn tail_integral(&self, q: &Gaussian<Triangular>, radius: f64) -> Result<Option<f64>> {
        if self.linear.family != Family::Poisson {
            return Ok(None);
        }
        let mut sums = [0.0; TAIL_SUMS];
        self.rows.add_poisson_tail(q, radius, &mut sums);
        self.linear.poisson_tail(q, radius, self.rows.len(), sums).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Design;
    use crate::target::{Prior, Target};

    fn problem(family: Family) -> (Glm, Gaussian<Triangular>) {
        let mut entries = vec![0.0; 60];
        provi_kernels::normals(8, 0, 0, &mut entries);
        let design = Design::dense(&entries, 20, 3).unwrap();
        let y: Vec<f64> = (0..20).map(|n| f64::from(n % 2)).collect();
        let model = Glm::new(family, design, &y, Prior::diagonal(&[1.0, 2.0, 0.5]).unwrap()).unwrap();
        let model = model.with_weights(&[0.7; 20]).unwrap().with_offsets(&[0.2; 20]).unwrap();
        let q = Gaussian::new(&[0.3, -0.4, 0.2], &[0.8, 0.1, 0.5, -0.3, 0.2, 0.9]).unwrap();
        (model, q)
    }

    const ALL: [Family; 4] =
        [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson];

    #[test]
    fn gradients_are_the_differences_of_the_value() {
        for family in ALL {
            let (model, q) = problem(family);
            let mut moments = Moments::new(3);
            model.expect(&q, &mut moments).unwrap();
            let mut gradient = vec![0.0; 9];
            moments.neg_elbo_gradient(&q, &mut gradient);
            for i in 0..9 {
                let shifted = |h: f64| {
                    let mut q = q.clone();
                    q.parameters_mut()[i] += h;
                    neg_elbo(&model, &q).unwrap()
                };
                let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                assert!(
                    (slope - gradient[i]).abs() < 1e-8 * (1.0 + gradient[i].abs()),
                    "{family:?} {i}: {slope} {}",
                    gradient[i]
                );
            }
        }
    }

    #[test]
    fn sparse_designs_have_the_moments_of_dense_ones() {
        for family in ALL {
            let (dense, q) = problem(family);
            let mut entries = vec![0.0; 60];
            provi_kernels::normals(8, 0, 0, &mut entries);
            let triplets: Vec<_> = (0..60).map(|e| (e / 3, e % 3, entries[e])).collect();
            let mut sparse = dense.clone();
            sparse.rows.design = Design::triplets(20, 3, &triplets).unwrap();
            let (mut a, mut b) = (Moments::new(3), Moments::new(3));
            dense.expect(&q, &mut a).unwrap();
            sparse.expect(&q, &mut b).unwrap();
            assert!((a.value - b.value).abs() <= a.value_error + b.value_error);
            for (x, y) in
                a.gradient.iter().chain(a.hessian.entries()).zip(b.gradient.iter().chain(b.hessian.entries()))
            {
                assert!((x - y).abs() <= 1e-12 * (1.0 + x.abs()), "{family:?}");
            }
        }
    }

    #[test]
    fn the_value_is_the_monte_carlo_mean() {
        for family in ALL {
            let (model, q) = problem(family);
            let mut moments = Moments::new(3);
            model.expect(&q, &mut moments).unwrap();
            let draws = q.sample(40_000, crate::Seed(11));
            let mut g = [0.0; 3];
            let values: Vec<f64> =
                (0..40_000).map(|k| -model.log_density(draws.row(k), &mut g).unwrap()).collect();
            let mean = values.iter().sum::<f64>() / 4e4;
            let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4e4).sqrt();
            // Six standard errors: false alarm near 2e-9.
            assert!((mean - moments.value).abs() < 6.0 * sd / 200.0, "{family:?}");
        }
    }

    /// A plain sum of N terms may lose N units; 16 chunks of N/16 rows, summed in blocks of 128, lose 128 + N/2048 + 16. The bound
    /// holds against a compensated sum of small pieces, and is as small as the blocks make it.
    #[test]
    fn the_bound_on_rounding_follows_the_chunks_of_a_sum() {
        let (rows, piece) = (40_000, 100);
        let mut entries = vec![0.0; 2 * rows];
        provi_kernels::normals(3, 0, 0, &mut entries);
        let y: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(n % 3 == 0))).collect();
        let q = Gaussian::new(&[0.3, -0.4], &[0.02, 0.001, 0.03]).unwrap();
        let block = |from: usize, to: usize| {
            let design = Design::dense(&entries[2 * from..2 * to], to - from, 2).unwrap();
            crate::rows::Rows::new(Family::Bernoulli, design, &y[from..to]).unwrap()
        };
        let sums_of = |block: &crate::rows::Rows| {
            let (mut sums, mut hessian) = (sums(2), Matrix::zeros(2, 2));
            block.add_expectations(Family::Bernoulli, &q, block.chains(), &mut sums, &mut hessian);
            sums
        };
        let whole = sums_of(&block(0, rows));
        let (mut total, mut lost, mut error) = (0.0f64, 0.0, 0.0);
        for from in (0..rows).step_by(piece) {
            let sums = sums_of(&block(from, from + piece));
            // Neumaier's sum: what is lost is added up apart.
            let next = total + sums[0];
            lost += if total.abs() >= sums[0].abs() {
                (total - next) + sums[0]
            } else {
                (sums[0] - next) + total
            };
            (total, error) = (next, error + sums[1]);
        }
        assert!((whole[0] - (total + lost)).abs() <= whole[1] + error);
        let plain = rows as f64 * f64::EPSILON * whole[0].abs();
        assert_eq!(block(0, rows).chains().sums, 128 + 20 + 16);
        assert!(whole[1] < plain / 100.0, "{} of {plain}", whole[1]);
        assert!(whole[1] > plain / 300.0, "{} of {plain}: is the chain counted?", whole[1]);
    }
}
