//! The family q = N(m, CCᵀ), with C lower triangular or symmetric.

mod factor;

pub use factor::{Factor, Symmetric, Triangular};

use crate::base::base_law::BaseLaw;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::linalg::{Cholesky, norm};
use crate::base::matrix::{Matrix, check_finite, pack_lower, packed_index, packed_len};
use crate::base::stop;
use std::marker::PhantomData;
use std::ops::Range;

/// q_w = N(m, CCᵀ), held as one flat vector w = (m, packed C), which is what steps and averages act on.
///
/// Packed factors have d(d+1)/2 entries, row by row: the paper's tril(c) for [`Triangular`], symm(c) for
/// [`Symmetric`]. Packing is storage only: norms and projections are Frobenius, so the off-diagonal entries
/// of a symmetric factor count twice.
/// ```text
/// z = Cu + m, u ~ N(0, I),   log q(z) = −½‖C⁻¹(z−m)‖² − log det C − (d/2) log 2π
/// ```
/// Memory: d(d+3)/2 numbers. Cost: a transport is one pass over C; log density and conversions between the spaces
/// factorise CCᵀ unless C is triangular already; the covariance and the deviations are O(d³) and O(d²).
///
/// ```
/// use provi::{Gaussian, Triangular};
///
/// let q = Gaussian::<Triangular>::new(&[1.0, 2.0], &[2.0, 0.5, 1.0])?;   // C = [2 0; ½ 1]
/// let mut z = [0.0; 2];
/// q.transport(&[1.0, -1.0], &mut z);
/// assert_eq!(z, [3.0, 1.5]);
/// assert_eq!(q.log_det()?, 2f64.ln());
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian<F: Factor = Triangular> {
    dim: usize,
    parameters: Vec<f64>,
    space: PhantomData<F>,
}

/// One line for each coordinate: its mean and its standard deviation. Correlations are not shown.
impl<F: Factor> std::fmt::Display for Gaussian<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = (self.dim - 1).to_string().len() + 1;
        write!(f, "{:<width$}  {:>12}  {:>12}", "", "mean", "sd")?;
        for (i, (mean, sd)) in self.mean().iter().zip(self.standard_deviations()).enumerate() {
            write!(f, "\nz{i:<0$}  {mean:>12.5}  {sd:>12.5}", width - 1)?;
        }
        Ok(())
    }
}

impl<F: Factor> Gaussian<F> {
    /// From a mean and a packed factor. The factor must have a positive diagonal (triangular) or be positive
    /// definite (symmetric).
    pub fn new(mean: &[f64], packed_factor: &[f64]) -> Result<Self> {
        let dim = mean.len();
        if dim == 0 {
            return Err(Error::Empty { what: "mean" });
        }
        if packed_factor.len() != packed_len(dim) {
            return Err(Error::Shape {
                what: "packed factor",
                found: packed_factor.len(),
                expected: packed_len(dim),
            });
        }
        Self::checked(dim, [mean, packed_factor].concat())
    }

    /// From the flat vector (m, packed C); checks its length and its domain.
    pub(crate) fn checked(dim: usize, parameters: Vec<f64>) -> Result<Self> {
        let (mean, packed_factor) = parameters.split_at(dim);
        check_finite("mean", mean)?;
        check_finite("packed factor", packed_factor)?;
        F::check_domain(dim, packed_factor)?;
        Ok(Self::from_parameters(dim, parameters))
    }

    /// From the flat vector (m, packed C), without checks.
    pub(crate) fn from_parameters(dim: usize, parameters: Vec<f64>) -> Self {
        debug_assert_eq!(parameters.len(), dim + packed_len(dim));
        Self { dim, parameters, space: PhantomData }
    }

    /// N(0, I).
    pub fn standard(dim: usize) -> Self {
        let mut parameters = vec![0.0; dim + packed_len(dim)];
        for i in 0..dim {
            parameters[dim + packed_index(i, i)] = 1.0;
        }
        Self::from_parameters(dim, parameters)
    }

    /// The dimension d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The mean m.
    pub fn mean(&self) -> &[f64] {
        &self.parameters[..self.dim]
    }

    /// The factor C, packed row by row.
    pub fn factor(&self) -> &[f64] {
        &self.parameters[self.dim..]
    }

    /// The flat vector w = (m, packed C).
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// The flat vector w = (m, packed C), for writing.
    pub(crate) fn parameters_mut(&mut self) -> &mut [f64] {
        &mut self.parameters
    }

    /// The flat vector w = (m, packed C) itself.
    pub(crate) fn into_parameters(self) -> Vec<f64> {
        self.parameters
    }

    /// Writes z_k = Cu_k + m into `points` for the draws u_k. Draws and points are held one per row. Cost: one pass
    /// over C.
    pub fn transport(&self, draws: &[f64], points: &mut [f64]) {
        F::transport(self.factor(), self.mean(), draws, points);
    }

    /// log det C.
    pub fn log_det(&self) -> Result<f64> {
        F::log_det(self.dim, self.factor())
    }

    /// h(w) = E log q = −log det C − (d/2)(1 + log 2π).
    pub fn neg_entropy(&self) -> Result<f64> {
        Ok(-self.log_det()? - entropy_constant(self.dim))
    }

    /// The entropy −E log q.
    pub fn entropy(&self) -> Result<f64> {
        Ok(-self.neg_entropy()?)
    }

    /// The square matrix C.
    pub fn factor_matrix(&self) -> Matrix {
        F::to_matrix(self.dim, self.factor())
    }

    /// CCᵀ.
    pub fn covariance(&self) -> Matrix {
        let c = self.factor_matrix();
        let mut out = Matrix::zeros(self.dim, self.dim);
        for i in 0..self.dim {
            for j in 0..=i {
                out[(i, j)] = provi_kernels::dot(c.row(i), c.row(j));
                out[(j, i)] = out[(i, j)];
            }
        }
        out
    }

    /// √(CCᵀ)_ii, the marginal standard deviations.
    pub fn standard_deviations(&self) -> Vec<f64> {
        let c = self.factor_matrix();
        (0..self.dim).map(|i| provi_kernels::dot(c.row(i), c.row(i)).sqrt()).collect()
    }

    /// The same distribution with a triangular factor, the Cholesky factor of CCᵀ.
    pub fn to_triangular(&self) -> Result<Gaussian<Triangular>> {
        F::to_triangular(self)
    }

    /// The same distribution with a symmetric factor, (CCᵀ)^½.
    pub fn to_symmetric(&self) -> Result<Gaussian<Symmetric>> {
        F::to_symmetric(self)
    }

    /// log q(z).
    pub fn log_density(&self, z: &[f64]) -> Result<f64> {
        if z.len() != self.dim {
            return Err(Error::Shape { what: "point", found: z.len(), expected: self.dim });
        }
        let q = self.to_triangular()?;
        let mut u: Vec<f64> = z.iter().zip(q.mean()).map(|(z, m)| z - m).collect();
        provi_kernels::triangle::solve(q.factor(), &mut u);
        let normaliser = 0.5 * self.dim as f64 * (2.0 * std::f64::consts::PI).ln();
        Ok(-0.5 * provi_kernels::dot(&u, &u) - q.log_det()? - normaliser)
    }

    /// `count` independent draws, one per row; a pure function of the seed.
    pub fn sample(&self, count: usize, seed: Seed) -> Matrix {
        self.sample_part(0..count as u64, seed)
    }

    /// The draws with these numbers from the list that [`Gaussian::sample`] makes, one per row. A list of any
    /// length can so be made part by part.
    pub fn sample_part(&self, which: Range<u64>, seed: Seed) -> Matrix {
        let draws = Draws::new(seed, Purpose::Sample);
        let mut out = Matrix::zeros(which.end.saturating_sub(which.start) as usize, self.dim);
        let mut u = vec![0.0; self.dim];
        for (row, k) in which.enumerate().take_while(|_| !stop::trips()) {
            draws.fill(k, 0, &mut u);
            self.transport(&u, out.row_mut(row));
        }
        out
    }
}

impl Gaussian<Triangular> {
    /// √(CCᵀ)_ii for one coordinate. Cost: one row of C.
    pub(crate) fn deviation(&self, i: usize) -> f64 {
        norm(&self.factor()[packed_index(i, 0)..=packed_index(i, i)])
    }

    /// From mean and covariance.
    pub fn from_covariance(mean: &[f64], covariance: Matrix) -> Result<Self> {
        let covariance = covariance.checked_symmetric("covariance", mean.len())?;
        if mean.is_empty() {
            return Err(Error::Empty { what: "mean" });
        }
        Self::new(mean, &Cholesky::new("covariance", &covariance)?.packed_lower())
    }

    /// The distribution of c + Pz for z ~ self: mean c + Pm, factor PC (both triangular).
    pub(crate) fn pushed(&self, center: &[f64], p: &[f64]) -> Self {
        let d = self.dim;
        let mut mean = vec![0.0; d];
        provi_kernels::triangle::multiply(p, self.mean(), &mut mean);
        mean.iter_mut().zip(center).for_each(|(m, c)| *m += c);
        let product = crate::base::linalg::multiply(
            &crate::base::matrix::unpack_lower(d, p),
            &crate::base::matrix::unpack_lower(d, self.factor()),
        );
        Self::from_parameters(d, [mean, pack_lower(&product)].concat())
    }
}

/// (d/2)(1 + log 2π): what the entropy of N(m, CCᵀ) adds to log det C.
pub(crate) fn entropy_constant(dim: usize) -> f64 {
    BaseLaw::Gaussian.entropy_of(dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Gaussian<Triangular> {
        Gaussian::new(&[1.0, -2.0, 0.5], &[1.5, 0.3, 0.7, -0.2, 0.4, 2.0]).unwrap()
    }

    #[test]
    fn both_factors_describe_the_same_distribution() {
        let t = example();
        let s = t.to_symmetric().unwrap();
        let back = s.to_triangular().unwrap();
        for (a, b) in t.covariance().entries().iter().zip(s.covariance().entries()) {
            assert!((a - b).abs() < 1e-12);
        }
        for (a, b) in t.parameters().iter().zip(back.parameters()) {
            assert!((a - b).abs() < 1e-12);
        }
        assert!((t.log_det().unwrap() - s.log_det().unwrap()).abs() < 1e-12);
        let z = [0.3, 0.1, -4.0];
        assert!((t.log_density(&z).unwrap() - s.log_density(&z).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn log_density_is_the_formula() {
        let q = Gaussian::<Triangular>::new(&[1.0], &[2.0]).unwrap();
        let expected = -0.5 * (2.0 * std::f64::consts::PI * 4.0).ln() - 0.5 * (3.0f64 - 1.0).powi(2) / 4.0;
        assert!((q.log_density(&[3.0]).unwrap() - expected).abs() < 1e-14);
        assert!(
            (q.entropy().unwrap() - 0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E * 4.0).ln())
                .abs()
                < 1e-14
        );
    }

    #[test]
    fn samples_are_reproducible_and_have_the_right_moments() {
        let q = example();
        let draws = q.sample(20_000, Seed(3));
        assert_eq!(draws, q.sample(20_000, Seed(3)));
        assert_eq!(q.sample_part(19_000..19_007, Seed(3)).row(6), draws.row(19_006));
        let covariance = q.covariance();
        // Six standard errors of the mean of 20 000 draws: false alarm below 1e-8.
        for i in 0..3 {
            let mean = (0..20_000).map(|k| draws[(k, i)]).sum::<f64>() / 20_000.0;
            assert!((mean - q.mean()[i]).abs() < 6.0 * (covariance[(i, i)] / 20_000.0).sqrt());
        }
    }

    #[test]
    fn pushing_through_an_affine_map_transforms_mean_and_covariance() {
        let q = example();
        let pushed = q.pushed(&[1.0, 1.0, 1.0], &[2.0, 1.0, 3.0, 0.0, 0.0, 1.0]);
        assert!((pushed.mean()[0] - 3.0).abs() < 1e-14);
        assert!((pushed.mean()[1] - (1.0 + 1.0 - 6.0)).abs() < 1e-14);
        let (a, b) = (q.covariance(), pushed.covariance());
        assert!((b[(1, 1)] - (a[(0, 0)] + 6.0 * a[(0, 1)] + 9.0 * a[(1, 1)])).abs() < 1e-12);
    }

    #[test]
    fn factors_outside_the_domain_are_refused() {
        assert!(Gaussian::<Triangular>::new(&[0.0, 0.0], &[1.0, 5.0, -1.0]).is_err());
        // Positive diagonal is the domain of 𝒯ᵈ even where xᵀCx < 0.
        assert!(Gaussian::<Triangular>::new(&[0.0, 0.0], &[1.0, -10.0, 1.0]).is_ok());
        assert!(Gaussian::<Symmetric>::new(&[0.0, 0.0], &[1.0, -10.0, 1.0]).is_err());
        assert!(Gaussian::<Triangular>::new(&[0.0], &[1.0, 2.0]).is_err());
        assert!(Gaussian::<Triangular>::new(&[], &[]).is_err());
        assert!(Gaussian::<Symmetric>::new(&[f64::NAN], &[1.0]).is_err());
    }
}
