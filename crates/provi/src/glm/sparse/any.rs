//! A Gaussian that is held in one of two ways.

use super::SparseGaussian;
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::{Matrix, packed_index};
use crate::glm::design::Design;
use provi_kernels::triangle;
use std::borrow::Cow;
use std::ops::Range;

/// A Gaussian by the dense factor of its covariance, or by the sparse factor of its precision.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyGaussian {
    /// N(m, CCᵀ).
    Dense(Gaussian<Triangular>),
    /// N(m, P⁻¹).
    Sparse(SparseGaussian),
}

/// A normal law, however it is held: what tables, predictions and checks need of it.
pub trait NormalLaw {
    /// The mean.
    fn mean(&self) -> &[f64];

    /// The standard deviation of one coefficient.
    fn deviation(&self, i: usize) -> f64;

    /// The standard deviation of vᵀz.
    fn deviation_of(&self, v: &[f64]) -> Result<f64>;

    /// The variance of aᵀz for every row a of a design.
    fn row_variances(&self, design: &Design) -> Result<Vec<f64>>;

    /// The draws with these numbers from a list that is a pure function of the seed, one per row.
    fn sample_part(&self, which: Range<u64>, seed: Seed) -> Matrix;
}

impl NormalLaw for Gaussian<Triangular> {
    fn mean(&self) -> &[f64] {
        self.mean()
    }

    fn deviation(&self, i: usize) -> f64 {
        self.deviation(i)
    }

    fn deviation_of(&self, v: &[f64]) -> Result<f64> {
        if v.len() != self.dim() {
            return Err(Error::Shape { what: "functional", found: v.len(), expected: self.dim() });
        }
        let mut pulled = vec![0.0; v.len()];
        triangle::multiply_transposed(self.factor(), v, &mut pulled);
        Ok(norm(&pulled))
    }

    fn row_variances(&self, design: &Design) -> Result<Vec<f64>> {
        Ok(design.all_row_variances(self.factor()))
    }

    fn sample_part(&self, which: Range<u64>, seed: Seed) -> Matrix {
        self.sample_part(which, seed)
    }
}

impl NormalLaw for SparseGaussian {
    fn mean(&self) -> &[f64] {
        self.mean()
    }

    fn deviation(&self, i: usize) -> f64 {
        self.deviation(i)
    }

    fn deviation_of(&self, v: &[f64]) -> Result<f64> {
        if v.len() != self.dim() {
            return Err(Error::Shape { what: "functional", found: v.len(), expected: self.dim() });
        }
        let entries = v.iter().copied().enumerate().filter(|(_, x)| x.abs() > 0.0);
        self.deviation_of(&entries.collect::<Vec<_>>())
    }

    fn row_variances(&self, design: &Design) -> Result<Vec<f64>> {
        Ok(self.predictors(design)?.into_iter().map(|(_, deviation)| deviation * deviation).collect())
    }

    fn sample_part(&self, which: Range<u64>, seed: Seed) -> Matrix {
        self.sample_part(which, seed)
    }
}

impl NormalLaw for AnyGaussian {
    fn mean(&self) -> &[f64] {
        self.law().mean()
    }

    fn deviation(&self, i: usize) -> f64 {
        self.law().deviation(i)
    }

    fn deviation_of(&self, v: &[f64]) -> Result<f64> {
        self.law().deviation_of(v)
    }

    fn row_variances(&self, design: &Design) -> Result<Vec<f64>> {
        self.law().row_variances(design)
    }

    fn sample_part(&self, which: Range<u64>, seed: Seed) -> Matrix {
        self.law().sample_part(which, seed)
    }
}

impl From<Gaussian<Triangular>> for AnyGaussian {
    fn from(q: Gaussian<Triangular>) -> Self {
        Self::Dense(q)
    }
}

impl From<SparseGaussian> for AnyGaussian {
    fn from(q: SparseGaussian) -> Self {
        Self::Sparse(q)
    }
}

impl AnyGaussian {
    fn law(&self) -> &dyn NormalLaw {
        match self {
            Self::Dense(q) => q,
            Self::Sparse(q) => q,
        }
    }

    /// The dimension d.
    pub fn dim(&self) -> usize {
        self.mean().len()
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        self.law().mean()
    }

    /// How many numbers its factor has.
    pub fn fill(&self) -> usize {
        match self {
            Self::Dense(q) => q.factor().len(),
            Self::Sparse(q) => q.fill(),
        }
    }

    /// The dense Gaussian, if it is held so.
    pub fn as_dense(&self) -> Option<&Gaussian<Triangular>> {
        match self {
            Self::Dense(q) => Some(q),
            Self::Sparse(_) => None,
        }
    }

    /// The sparse Gaussian, if it is held so.
    pub fn as_sparse(&self) -> Option<&SparseGaussian> {
        match self {
            Self::Dense(_) => None,
            Self::Sparse(q) => Some(q),
        }
    }

    /// With a dense factor. Cost of a sparse one: O(d³), and d² numbers.
    pub fn to_dense(&self) -> Result<Cow<'_, Gaussian<Triangular>>> {
        match self {
            Self::Dense(q) => Ok(Cow::Borrowed(q)),
            Self::Sparse(q) => q.to_dense().map(Cow::Owned),
        }
    }

    /// The Gaussian whose mean and factor are (1 − t) of these and t of another's; `None` if that is one of other
    /// coordinates, or none.
    pub(crate) fn toward(&self, other: &Self, t: f64) -> Option<Self> {
        match (self, other) {
            (Self::Sparse(q), Self::Sparse(other)) => q.toward(other, t).map(Self::Sparse),
            (Self::Dense(q), Self::Dense(other)) if q.dim() == other.dim() => {
                let mix = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + t * (b - a)).collect();
                let (mean, factor): (Vec<f64>, Vec<f64>) =
                    (mix(q.mean(), other.mean()), mix(q.factor(), other.factor()));
                Gaussian::new(&mean, &factor).ok().map(Self::Dense)
            }
            _ => None,
        }
    }

    /// The standard deviation of every coefficient.
    pub fn standard_deviations(&self) -> Result<Vec<f64>> {
        match self {
            Self::Dense(q) => Ok(q.standard_deviations()),
            Self::Sparse(q) => q.standard_deviations().map(<[f64]>::to_vec),
        }
    }

    /// The covariance of each of these pairs of coefficients.
    pub(crate) fn covariances(&self, pairs: impl Iterator<Item = (usize, usize)>) -> Result<Vec<f64>> {
        match self {
            Self::Dense(q) => {
                let row = |i: usize, length: usize| &q.factor()[packed_index(i, 0)..][..length];
                let product = |(i, j): (usize, usize)| {
                    let length = i.min(j) + 1;
                    provi_kernels::dot(row(i, length), row(j, length))
                };
                Ok(pairs.map(product).collect())
            }
            Self::Sparse(q) => q.covariances(pairs),
        }
    }

    /// log q(z).
    pub fn log_density(&self, z: &[f64]) -> Result<f64> {
        match self {
            Self::Dense(q) => q.log_density(z),
            Self::Sparse(q) => q.log_density(z),
        }
    }

    /// `count` independent draws, one per row; a pure function of the seed.
    pub fn sample(&self, count: usize, seed: Seed) -> Matrix {
        self.sample_part(0..count as u64, seed)
    }

    /// The point that belongs to a standard normal vector.
    pub(crate) fn transport(&self, u: &[f64], point: &mut [f64]) {
        match self {
            Self::Dense(q) => q.transport(u, point),
            Self::Sparse(q) => q.transport(u, point),
        }
    }
}
