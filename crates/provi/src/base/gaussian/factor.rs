//! The two factor spaces: 𝒯ᵈ, lower triangular with positive diagonal, and 𝒮ᵈ, symmetric positive definite.

use super::Gaussian;
use crate::base::error::{Error, Result};
use crate::base::linalg::{Cholesky, PackedCholesky, eigen, spectral_map};
use crate::base::matrix::{Matrix, pack_lower, packed_index, packed_len, unpack_lower, unpack_symmetric};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Triangular {}
    impl Sealed for super::Symmetric {}
}

/// A space of factors C, packed as d(d+1)/2 numbers row by row.
pub trait Factor: sealed::Sealed + Clone + std::fmt::Debug + Send + Sync + 'static {
    /// points_k = mean + C·draws_k. Cost: one pass over C.
    fn transport(packed: &[f64], mean: &[f64], draws: &[f64], points: &mut [f64]);

    /// C ← C + α·proj(Σ_k left_k right_kᵀ), proj = tril or (X + Xᵀ)/2. Cost: one pass over C.
    fn rank_update(packed: &mut [f64], alpha: f64, left: &[f64], right: &[f64]);

    /// Adds α·proj(X) for a full matrix X.
    fn add_projected(packed: &mut [f64], alpha: f64, matrix: &Matrix);

    /// ‖X‖_F² of an element of the space. Off-diagonal entries of a symmetric matrix count twice.
    fn square_norm(dim: usize, packed: &[f64]) -> f64;

    /// What is stored in order to apply C⁻ᵀ.
    type Inverse: std::fmt::Debug + Send;

    /// Room for C⁻ᵀ in dimension `dim`.
    fn inverse_room(dim: usize) -> Self::Inverse;

    /// Prepares C⁻ᵀ. Cost: O(d) on 𝒯ᵈ, a Cholesky factorisation on 𝒮ᵈ.
    fn prepare_inverse(packed: &[f64], inverse: &mut Self::Inverse) -> Result<()>;

    /// b ← C⁻ᵀb.
    fn solve_transposed(packed: &[f64], inverse: &Self::Inverse, b: &mut [f64]);

    /// out ← out + α·proj(C⁻ᵀ); returns ‖proj(C⁻ᵀ)‖_F. On 𝒯ᵈ, proj(C⁻ᵀ) = diag(1/C_ii).
    fn add_inverse(inverse: &mut Self::Inverse, alpha: f64, out: &mut [f64]) -> f64;

    /// log det C.
    fn log_det(dim: usize, packed: &[f64]) -> Result<f64>;

    /// C as a square matrix.
    fn to_matrix(dim: usize, packed: &[f64]) -> Matrix;

    /// Refuses a factor outside the domain of h(w) = E log q.
    fn check_domain(dim: usize, packed: &[f64]) -> Result<()>;

    /// The same distribution with a triangular factor.
    fn to_triangular(q: &Gaussian<Self>) -> Result<Gaussian<Triangular>>;

    /// The same distribution with a symmetric factor.
    fn to_symmetric(q: &Gaussian<Self>) -> Result<Gaussian<Symmetric>>;
}

/// 𝒯ᵈ: lower triangular. Its domain is "positive diagonal"; the condition xᵀCx > 0 for all x ≠ 0 is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangular {}

/// 𝒮ᵈ: symmetric, positive definite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetric {}

impl Factor for Triangular {
    /// The reciprocals of the diagonal.
    type Inverse = Vec<f64>;

    fn inverse_room(dim: usize) -> Vec<f64> {
        vec![0.0; dim]
    }

    fn prepare_inverse(packed: &[f64], inverse: &mut Vec<f64>) -> Result<()> {
        inverse.iter_mut().enumerate().for_each(|(i, x)| *x = 1.0 / packed[packed_index(i, i)]);
        Ok(())
    }

    fn solve_transposed(packed: &[f64], _inverse: &Vec<f64>, b: &mut [f64]) {
        provi_kernels::triangle::solve_transposed(packed, b);
    }

    fn add_inverse(inverse: &mut Vec<f64>, alpha: f64, out: &mut [f64]) -> f64 {
        inverse.iter().enumerate().for_each(|(i, x)| out[packed_index(i, i)] += alpha * x);
        provi_kernels::dot(inverse, inverse).sqrt()
    }

    fn transport(packed: &[f64], mean: &[f64], draws: &[f64], points: &mut [f64]) {
        provi_kernels::triangle::transport(packed, mean, draws, points);
    }

    fn rank_update(packed: &mut [f64], alpha: f64, left: &[f64], right: &[f64]) {
        provi_kernels::triangle::rank_update(packed, alpha, left, right);
    }

    fn add_projected(packed: &mut [f64], alpha: f64, matrix: &Matrix) {
        for i in 0..matrix.rows() {
            let row = &mut packed[packed_index(i, 0)..packed_index(i, i) + 1];
            provi_kernels::axpy(alpha, &matrix.row(i)[..=i], row);
        }
    }

    fn square_norm(_dim: usize, packed: &[f64]) -> f64 {
        provi_kernels::dot(packed, packed)
    }

    fn log_det(dim: usize, packed: &[f64]) -> Result<f64> {
        Ok((0..dim).map(|i| packed[packed_index(i, i)].ln()).sum())
    }

    fn to_matrix(dim: usize, packed: &[f64]) -> Matrix {
        unpack_lower(dim, packed)
    }

    fn check_domain(dim: usize, packed: &[f64]) -> Result<()> {
        match (0..dim).map(|i| packed[packed_index(i, i)]).find(|c| c.is_nan() || *c <= 0.0) {
            Some(value) => {
                Err(Error::OutOfRange { what: "diagonal of the triangular factor", value, needed: "above 0" })
            }
            None => Ok(()),
        }
    }

    fn to_triangular(q: &Gaussian<Self>) -> Result<Gaussian<Triangular>> {
        Ok(q.clone())
    }

    fn to_symmetric(q: &Gaussian<Self>) -> Result<Gaussian<Symmetric>> {
        let (values, vectors) = eigen("covariance", &q.covariance())?;
        let root = spectral_map(&values, &vectors, |x| x.max(0.0).sqrt());
        Gaussian::new(q.mean(), &pack_lower(&root))
    }
}

/// The Cholesky factor of a symmetric C, and room for its inverse.
pub struct SymmetricInverse {
    inverse: Vec<f64>,
    cholesky: PackedCholesky,
}

impl std::fmt::Debug for SymmetricInverse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SymmetricInverse").field("dim", &self.cholesky.dim()).finish_non_exhaustive()
    }
}

impl Factor for Symmetric {
    type Inverse = SymmetricInverse;

    fn inverse_room(dim: usize) -> SymmetricInverse {
        SymmetricInverse { inverse: vec![0.0; packed_len(dim)], cholesky: PackedCholesky::with_dim(dim) }
    }

    fn prepare_inverse(packed: &[f64], inverse: &mut SymmetricInverse) -> Result<()> {
        let dim = inverse.cholesky.dim();
        let not_positive = |pivot| Error::NotPositiveDefinite { what: "symmetric factor", dim, pivot };
        inverse.cholesky.factor(packed, 0.0).map_err(not_positive)?;
        inverse.cholesky.hand_over();
        Ok(())
    }

    fn solve_transposed(_packed: &[f64], inverse: &SymmetricInverse, b: &mut [f64]) {
        inverse.cholesky.solve(b);
    }

    fn add_inverse(inverse: &mut SymmetricInverse, alpha: f64, out: &mut [f64]) -> f64 {
        inverse.cholesky.invert(&mut inverse.inverse);
        provi_kernels::axpy(alpha, &inverse.inverse, out);
        Self::square_norm(inverse.cholesky.dim(), &inverse.inverse).sqrt()
    }

    fn transport(packed: &[f64], mean: &[f64], draws: &[f64], points: &mut [f64]) {
        provi_kernels::symmetric::transport(packed, mean, draws, points);
    }

    fn rank_update(packed: &mut [f64], alpha: f64, left: &[f64], right: &[f64]) {
        provi_kernels::symmetric::rank_update(packed, alpha, left, right);
    }

    fn add_projected(packed: &mut [f64], alpha: f64, matrix: &Matrix) {
        for i in 0..matrix.rows() {
            for j in 0..=i {
                packed[packed_index(i, j)] += 0.5 * alpha * (matrix[(i, j)] + matrix[(j, i)]);
            }
        }
    }

    fn square_norm(dim: usize, packed: &[f64]) -> f64 {
        let diagonal: f64 = (0..dim).map(|i| packed[packed_index(i, i)].powi(2)).sum();
        2.0 * provi_kernels::dot(packed, packed) - diagonal
    }

    fn log_det(dim: usize, packed: &[f64]) -> Result<f64> {
        Ok(Cholesky::new("symmetric factor", &unpack_symmetric(dim, packed))?.log_det())
    }

    fn to_matrix(dim: usize, packed: &[f64]) -> Matrix {
        unpack_symmetric(dim, packed)
    }

    fn check_domain(dim: usize, packed: &[f64]) -> Result<()> {
        Cholesky::new("symmetric factor", &unpack_symmetric(dim, packed)).map(|_| ())
    }

    fn to_triangular(q: &Gaussian<Self>) -> Result<Gaussian<Triangular>> {
        Gaussian::from_covariance(q.mean(), q.covariance())
    }

    fn to_symmetric(q: &Gaussian<Self>) -> Result<Gaussian<Symmetric>> {
        Ok(q.clone())
    }
}
