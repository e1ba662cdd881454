//! Gaussian priors with any mean and precision.

mod centered;
mod data;
mod entries;
mod sample;
mod standard;
mod ties;

use centered::Centered;
pub use data::DataPrior;
use ties::Ties;

use crate::base::error::{Error, Result};
use crate::base::linalg::Cholesky;
use crate::base::matrix::{Matrix, check_finite};
use crate::base::scalar::Positive;
use crate::target::curvature::Quadratic;

const LOG_2PI: f64 = 1.837_877_066_409_345_3;

/// N(ν, Λ⁻¹) on the coefficients, given by standard deviations or by precisions:
///
/// | in standard deviations | in precisions | |
/// |---|---|---|
/// | [`Prior::scale`] | [`Prior::precision`] | the same for every coefficient |
/// | [`Prior::scales`] | [`Prior::precisions`] | one for each |
/// | [`Prior::covariance`] | [`Prior::precision_matrix`] | a full matrix |
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    mean: Option<Vec<f64>>,
    precision: Precision,
    /// What is added to `precision` off its diagonal, if effects of groups are correlated.
    ties: Option<Ties>,
}

#[derive(Clone, Debug, PartialEq)]
enum Precision {
    Scalar(f64),
    Diagonal(Vec<f64>),
    Dense {
        matrix: Matrix,
        log_det: f64,
    },
    /// Symmetric; each row lists (column, value). The caller knows the log determinant.
    Sparse {
        rows: Vec<Vec<(usize, f64)>>,
        log_det: f64,
    },
    Centered(Box<Centered>),
}

impl From<Precision> for Prior {
    /// With mean zero.
    fn from(precision: Precision) -> Self {
        Self { mean: None, precision, ties: None }
    }
}

/// Independent coefficients with the standard deviation [`Prior::SCALE`]: wide but reasonable for a logit or log
/// link and predictors of unit spread.
impl Default for Prior {
    fn default() -> Self {
        Precision::Scalar(1.0 / (Self::SCALE * Self::SCALE)).into()
    }
}

impl Prior {
    /// Default standard deviation of a coefficient.
    pub const SCALE: f64 = 2.5;

    /// Every coefficient has this precision: Λ = λI, λ = 1/sd².
    pub fn precision(precision: f64) -> Result<Self> {
        let value = Positive::new("prior precision", precision)?.get();
        Ok(Precision::Scalar(value).into())
    }

    /// Every coefficient has this prior standard deviation.
    pub fn scale(sd: f64) -> Result<Self> {
        let sd = Positive::new("prior sd", sd)?.get();
        Self::precision(1.0 / (sd * sd))
    }

    /// Each coefficient has its own prior standard deviation.
    pub fn scales(sds: &[f64]) -> Result<Self> {
        let precision = |&sd: &f64| Positive::new("prior sd", sd).map(|sd| 1.0 / (sd.get() * sd.get()));
        Self::precisions(&sds.iter().map(precision).collect::<Result<Vec<_>>>()?)
    }

    /// Each coefficient has its own precision: Λ = diag(precisions).
    pub fn precisions(precisions: &[f64]) -> Result<Self> {
        for &value in precisions {
            Positive::new("prior precision", value)?;
        }
        Ok(Precision::Diagonal(precisions.to_vec()).into())
    }

    /// A full precision matrix Λ.
    pub fn precision_matrix(matrix: Matrix) -> Result<Self> {
        let dim = matrix.rows();
        let matrix = matrix.checked_symmetric("prior precision", dim)?;
        let log_det = Cholesky::new("prior precision", &matrix)?.log_det();
        Ok(Precision::Dense { matrix, log_det }.into())
    }

    /// A full covariance matrix Λ⁻¹.
    pub fn covariance(matrix: Matrix) -> Result<Self> {
        let dim = matrix.rows();
        let matrix = matrix.checked_symmetric("prior covariance", dim)?;
        Self::precision_matrix(Cholesky::new("prior covariance", &matrix)?.inverse())
    }

    /// Independent normal distributions N(mean, sd²) for every coefficient but one, the anchor a; in its place, a
    /// linear combination has a distribution:
    /// ```text
    /// z_j ~ N(mean_j, sd_j²) for j ≠ a,   Σ_j at_j z_j ~ N(mean_a, sd_a²)
    /// ```
    /// For example an intercept that is known at the means of the columns. at_a must not be 0. Cost of the energy:
    /// O(d).
    pub fn centered(laws: &[(f64, f64)], anchor: usize, at: &[f64]) -> Result<Self> {
        let (precision, mean) = Centered::new(laws, anchor, at)?;
        Self::from(Precision::Centered(Box::new(precision))).with_mean(&mean)
    }

    pub(crate) fn sparse(rows: Vec<Vec<(usize, f64)>>, log_det: f64) -> Self {
        Precision::Sparse { rows, log_det }.into()
    }

    /// Sets the prior mean ν (by default zero).
    pub fn with_mean(mut self, mean: &[f64]) -> Result<Self> {
        check_finite("prior mean", mean)?;
        self.mean = Some(mean.to_vec());
        Ok(self)
    }

    /// The same prior with another standard deviation for some of `dim` coefficients, which must be independent of
    /// all others.
    pub fn with_scale(&self, dim: usize, coefficients: &[usize], sd: f64) -> Result<Self> {
        let sd = Positive::new("prior sd", sd)?.get();
        let value = Positive::new("prior precision", 1.0 / (sd * sd))?.get();
        self.check(dim)?;
        if let Some(&index) = coefficients.iter().find(|&&i| i >= dim) {
            return Err(Error::Index { what: "prior", index, length: dim });
        }
        let mut prior = self.clone();
        if let Precision::Scalar(all) = prior.precision {
            prior.precision = Precision::Diagonal(vec![all; dim]);
        }
        for &i in coefficients {
            if self.ties.as_ref().is_some_and(|ties| ties.tie(i)) {
                return Err(Error::TiedScale { coefficient: i });
            }
            match &mut prior.precision {
                Precision::Scalar(_) => {}
                Precision::Diagonal(values) => values[i] = value,
                Precision::Dense { matrix, log_det } => {
                    if matrix.row(i).iter().enumerate().any(|(j, x)| j != i && x.abs() > 0.0) {
                        return Err(Error::TiedScale { coefficient: i });
                    }
                    *log_det += (value / matrix[(i, i)]).ln();
                    matrix[(i, i)] = value;
                }
                Precision::Sparse { .. } => return Err(Error::TiedScale { coefficient: i }),
                Precision::Centered(centered) => {
                    if !centered.set(i, value) {
                        return Err(Error::TiedScale { coefficient: i });
                    }
                }
            }
        }
        Ok(prior)
    }

    /// The same prior, in which the j-th coefficients of several sets have this covariance matrix, for every j, and are independent of all others.
    /// All sets have the same length.
    /// ```
    /// use provi::{matrix::Matrix, target::Prior};
    ///
    /// // Intercepts and slopes of two groups, with correlation ½ in each.
    /// let covariance = Matrix::new(2, 2, vec![1.0, 1.0, 1.0, 4.0])?;
    /// let prior = Prior::scale(1.0)?.with_covariance(4, &[&[0, 2], &[1, 3]], &covariance)?;
    /// assert!((prior.marginals(4)?[3].1 - 2.0).abs() < 1e-12);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn with_covariance(&self, dim: usize, sets: &[&[usize]], covariance: &Matrix) -> Result<Self> {
        let matrix = covariance.clone().checked_symmetric("prior covariance", sets.len())?;
        let precision = Cholesky::new("prior covariance", &matrix)?.inverse();
        let mut prior = self.clone();
        for (a, set) in sets.iter().enumerate() {
            if set.len() != sets[0].len() {
                let what = "coefficients that are correlated";
                return Err(Error::Shape { what, found: set.len(), expected: sets[0].len() });
            }
            prior = prior.with_scale(dim, set, precision[(a, a)].powf(-0.5))?;
        }
        let mut ties = prior.ties.take().unwrap_or_default();
        ties.add(sets, &precision, &matrix)?;
        prior.ties = Some(ties);
        Ok(prior)
    }

    /// The same mean, with the deviations of the first of `dim` coefficients multiplied by `factor`; they must be
    /// independent of the others.
    pub fn widened(&self, dim: usize, first: usize, factor: f64) -> Result<Self> {
        let factor = Positive::new("factor of a prior's width", factor)?.get();
        let square = Positive::new("factor of a prior's precision", 1.0 / (factor * factor))?.get();
        self.check(dim)?;
        if first > dim {
            return Err(Error::Index { what: "prior", index: first, length: dim });
        }
        let mut prior = self.clone();
        if let (Precision::Scalar(all), true) = (&prior.precision, first < dim) {
            prior.precision = Precision::Diagonal(vec![*all; dim]);
        }
        let tied = |j: usize, i: usize, x: f64| (j < first) != (i < first) && x.abs() > 0.0;
        if let Some(&(i, ..)) = self.ties.iter().flat_map(Ties::pairs).find(|(i, ..)| *i < first) {
            return Err(Error::TiedScale { coefficient: i });
        }
        match &mut prior.precision {
            Precision::Scalar(all) => *all *= square,
            Precision::Diagonal(values) => values[..first].iter_mut().for_each(|x| *x *= square),
            Precision::Dense { matrix, log_det } => {
                for i in 0..first {
                    for j in 0..dim {
                        if tied(j, i, matrix[(i, j)]) {
                            return Err(Error::TiedScale { coefficient: i });
                        }
                        matrix[(i, j)] *= square;
                    }
                }
                *log_det += first as f64 * square.ln();
            }
            Precision::Sparse { rows, log_det } => {
                for (i, row) in rows[..first].iter_mut().enumerate() {
                    if row.iter().any(|&(j, x)| tied(j, i, x)) {
                        return Err(Error::TiedScale { coefficient: i });
                    }
                    row.iter_mut().for_each(|(_, x)| *x *= square);
                }
                *log_det += first as f64 * square.ln();
            }
            Precision::Centered(centered) => {
                if !centered.scale_first(first, square) {
                    return Err(Error::TiedScale { coefficient: first });
                }
            }
        }
        Ok(prior)
    }

    /// The arguments of [`Prior::centered`], if the prior was made by it.
    pub fn as_centered(&self) -> Option<DataPrior> {
        match &self.precision {
            Precision::Centered(centered) => Some(centered.laws(|i| self.center(i))),
            _ => None,
        }
    }

    /// Whether any coefficient depends on another a priori.
    pub fn is_correlated(&self) -> bool {
        let off = |i: usize, j: usize, x: f64| i != j && x.abs() > 0.0;
        match &self.precision {
            _ if self.ties.is_some() => true,
            Precision::Scalar(_) | Precision::Diagonal(_) => false,
            Precision::Centered(_) => true,
            Precision::Dense { matrix, .. } => {
                (0..matrix.rows()).any(|i| matrix.row(i).iter().enumerate().any(|(j, &x)| off(i, j, x)))
            }
            Precision::Sparse { rows, .. } => {
                rows.iter().enumerate().any(|(i, row)| row.iter().any(|&(j, x)| off(i, j, x)))
            }
        }
    }

    /// Mean and standard deviation of each of `dim` coefficients. Cost: one inverse for a full precision matrix.
    pub fn marginals(&self, dim: usize) -> Result<Vec<(f64, f64)>> {
        self.check(dim)?;
        let mut deviations: Vec<f64> = match &self.precision {
            Precision::Scalar(value) => vec![value.powf(-0.5); dim],
            Precision::Diagonal(values) => values.iter().map(|x| x.powf(-0.5)).collect(),
            Precision::Centered(centered) => centered.deviations(),
            Precision::Dense { .. } | Precision::Sparse { .. } => {
                let matrix = self.quadratic(dim).to_matrix(dim);
                let covariance = Cholesky::new("prior precision", &matrix)?.inverse();
                (0..dim).map(|i| covariance[(i, i)].sqrt()).collect()
            }
        };
        for &(i, sd) in self.ties.iter().flat_map(Ties::deviations) {
            deviations[i] = sd;
        }
        Ok(deviations.into_iter().enumerate().map(|(i, sd)| (self.center(i), sd)).collect())
    }

    /// Refuses a prior that does not fit `dim` coefficients.
    pub(crate) fn check(&self, dim: usize) -> Result<()> {
        let found = match &self.precision {
            Precision::Scalar(_) => dim,
            Precision::Diagonal(values) => values.len(),
            Precision::Dense { matrix, .. } => matrix.rows(),
            Precision::Sparse { rows, .. } => rows.len(),
            Precision::Centered(centered) => centered.dim(),
        };
        if found != dim {
            return Err(Error::Shape { what: "prior precision", found, expected: dim });
        }
        match &self.mean {
            Some(mean) if mean.len() != dim => {
                Err(Error::Shape { what: "prior mean", found: mean.len(), expected: dim })
            }
            _ => Ok(()),
        }
    }

    /// ν_i.
    pub(crate) fn center(&self, i: usize) -> f64 {
        self.mean.as_ref().map_or(0.0, |m| m[i])
    }

    /// Adds Λ(z − ν) to `pull` and returns ½(z−ν)ᵀΛ(z−ν).
    pub(crate) fn energy(&self, z: &[f64], pull: &mut [f64]) -> f64 {
        let mut twice = 0.0;
        match &self.precision {
            Precision::Scalar(value) => {
                for i in 0..z.len() {
                    let x = z[i] - self.center(i);
                    pull[i] += value * x;
                    twice += value * x * x;
                }
            }
            Precision::Diagonal(values) => {
                for i in 0..z.len() {
                    let x = z[i] - self.center(i);
                    pull[i] += values[i] * x;
                    twice += values[i] * x * x;
                }
            }
            Precision::Dense { matrix, .. } => {
                for j in 0..z.len() {
                    let x = z[j] - self.center(j);
                    provi_kernels::axpy(x, matrix.row(j), pull);
                    // xᵀΛx row by row, through the same centred entries.
                    let row = matrix.row(j);
                    twice +=
                        x * row.iter().enumerate().map(|(i, a)| a * (z[i] - self.center(i))).sum::<f64>();
                }
            }
            Precision::Sparse { rows, .. } => {
                for (i, row) in rows.iter().enumerate() {
                    let slope: f64 = row.iter().map(|&(j, a)| a * (z[j] - self.center(j))).sum();
                    pull[i] += slope;
                    twice += slope * (z[i] - self.center(i));
                }
            }
            Precision::Centered(centered) => twice = centered.twice_energy(|i| z[i] - self.center(i), pull),
        }
        for &(i, j, a) in self.ties.iter().flat_map(Ties::pairs) {
            let (x, y) = (z[i] - self.center(i), z[j] - self.center(j));
            pull[i] += a * y;
            pull[j] += a * x;
            twice += 2.0 * a * x * y;
        }
        0.5 * twice
    }

    /// |Λ|X for X ≥ |z − ν|, entry by entry: bounds of the terms of Λ(z − ν).
    pub(crate) fn sizes(&self, reach: &[f64]) -> Vec<f64> {
        // Formed once: copying d² numbers for each row would take minutes with thousands of columns.
        let formed = match &self.precision {
            Precision::Centered(_) => Some(self.quadratic(reach.len()).to_matrix(reach.len())),
            _ => None,
        };
        let of_row =
            |matrix: &Matrix, i: usize| matrix.row(i).iter().zip(reach).map(|(a, x)| a.abs() * x).sum();
        let size = |i: usize| match &self.precision {
            Precision::Scalar(value) => value * reach[i],
            Precision::Diagonal(values) => values[i] * reach[i],
            Precision::Dense { matrix, .. } => of_row(matrix, i),
            Precision::Sparse { rows, .. } => rows[i].iter().map(|&(j, a)| a.abs() * reach[j]).sum(),
            Precision::Centered(_) => formed.as_ref().map_or(f64::INFINITY, |matrix| of_row(matrix, i)),
        };
        let mut sizes: Vec<f64> = (0..reach.len()).map(size).collect();
        // A formed matrix has the ties already.
        for &(i, j, a) in self.ties.iter().filter(|_| formed.is_none()).flat_map(Ties::pairs) {
            sizes[i] += a.abs() * reach[j];
            sizes[j] += a.abs() * reach[i];
        }
        sizes
    }

    /// The constant of −log N(z; ν, Λ⁻¹), (d/2) log 2π − ½ log det Λ, and the sum of the absolute values of its
    /// terms.
    ///
    /// A computed Cholesky factor is that of Λ + E, |E_ij| ≤ γ_{d+1}√(Λ_iiΛ_jj), which moves log det Λ by at most
    /// γ_{d+1}(Σ_i √((Λ⁻¹)_iiΛ_ii))². This counts as one more term.
    pub(crate) fn constant(&self, dim: usize) -> (f64, f64) {
        let (d, sizes) = (dim as f64, |values: &[f64]| values.iter().map(|x| x.ln().abs()).sum::<f64>());
        let (log_det, size) = match &self.precision {
            Precision::Scalar(value) => (d * value.ln(), d * value.ln().abs()),
            Precision::Diagonal(values) => (values.iter().map(|x| x.ln()).sum(), sizes(values)),
            Precision::Dense { matrix, log_det } => {
                // The matrix was factored before, so it has an inverse.
                let inverse = Cholesky::new("prior precision", matrix).map(|factor| factor.inverse());
                let roots = inverse.map_or(f64::INFINITY, |inverse| {
                    (0..dim).map(|i| (inverse[(i, i)] * matrix[(i, i)]).sqrt()).sum::<f64>()
                });
                (*log_det, log_det.abs() + d + roots * roots)
            }
            Precision::Sparse { log_det, .. } => (*log_det, log_det.abs() + d),
            Precision::Centered(centered) => (centered.log_det(), centered.log_det().abs() + d),
        };
        let (tied, tied_size) = self.ties.as_ref().map_or((0.0, 0.0), Ties::log_det);
        (0.5 * (d * LOG_2PI - log_det - tied), 0.5 * (d * LOG_2PI + size + tied_size))
    }

    /// Λ; if it is a multiple of the identity, as such.
    pub(crate) fn quadratic(&self, dim: usize) -> Quadratic {
        let Some(ties) = &self.ties else { return self.without_ties(dim) };
        let mut out = self.without_ties(dim).to_matrix(dim);
        for &(i, j, a) in ties.pairs() {
            out[(i, j)] += a;
            out[(j, i)] += a;
        }
        Quadratic::Matrix(out)
    }

    fn without_ties(&self, dim: usize) -> Quadratic {
        match &self.precision {
            Precision::Scalar(value) => Quadratic::Scalar(*value),
            Precision::Diagonal(values) => Quadratic::Matrix(Matrix::diagonal(values)),
            Precision::Dense { matrix, .. } => Quadratic::Matrix(matrix.clone()),
            Precision::Sparse { rows, .. } => {
                let mut out = Matrix::zeros(dim, dim);
                for (i, row) in rows.iter().enumerate() {
                    for &(j, value) in row {
                        out[(i, j)] += value;
                    }
                }
                Quadratic::Matrix(out)
            }
            Precision::Centered(centered) => Quadratic::Matrix(centered.matrix()),
        }
    }

    /// Bound of the error of the matrix of [`Prior::quadratic`], in spectral norm; zero if the matrix is stored.
    pub(crate) fn rounding(&self) -> f64 {
        match &self.precision {
            Precision::Centered(centered) => centered.rounding(),
            _ => 0.0,
        }
    }

    /// tr(CᵀΛC) for C lower triangular and packed: E(z−m)ᵀΛ(z−m) under N(m, CCᵀ).
    pub(crate) fn trace(&self, dim: usize, factor: &[f64]) -> f64 {
        let row = |i: usize| &factor[i * (i + 1) / 2..i * (i + 1) / 2 + i + 1];
        // (CCᵀ)_ij needs only the common columns 0..=min(i, j).
        let covariance = |i: usize, j: usize| {
            let width = i.min(j) + 1;
            provi_kernels::dot(&row(i)[..width], &row(j)[..width])
        };
        let tied: f64 =
            self.ties.iter().flat_map(Ties::pairs).map(|&(i, j, a)| 2.0 * a * covariance(i, j)).sum();
        let own = match &self.precision {
            Precision::Scalar(value) => value * provi_kernels::dot(factor, factor),
            Precision::Diagonal(values) => values.iter().enumerate().map(|(i, a)| a * covariance(i, i)).sum(),
            Precision::Dense { matrix, .. } => (0..dim)
                .map(|i| {
                    let off: f64 = (0..i).map(|j| matrix[(i, j)] * covariance(i, j)).sum();
                    2.0 * off + matrix[(i, i)] * covariance(i, i)
                })
                .sum(),
            Precision::Sparse { rows, .. } => rows
                .iter()
                .enumerate()
                .map(|(i, row)| row.iter().map(|&(j, a)| a * covariance(i, j)).sum::<f64>())
                .sum(),
            Precision::Centered(centered) => centered.trace(row),
        };
        own + tied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_scale_for_every_coefficient() {
        let scale = Prior::scale(Prior::SCALE).unwrap();
        assert_eq!(Prior::default(), scale);
        assert_eq!(Prior::scales(&[Prior::SCALE; 2]).unwrap().marginals(2), scale.marginals(2));
        assert!(Prior::scales(&[1.0, 0.0]).is_err());
    }

    #[test]
    fn every_storage_gives_the_same_energy_trace_and_constant() {
        let diagonal = Prior::precisions(&[2.0, 3.0]).unwrap().with_mean(&[0.5, -1.0]).unwrap();
        let dense =
            Prior::precision_matrix(Matrix::diagonal(&[2.0, 3.0])).unwrap().with_mean(&[0.5, -1.0]).unwrap();
        let sparse =
            Prior::sparse(vec![vec![(0, 2.0)], vec![(1, 3.0)]], 6f64.ln()).with_mean(&[0.5, -1.0]).unwrap();
        let covariance =
            Prior::covariance(Matrix::diagonal(&[0.5, 1.0 / 3.0])).unwrap().with_mean(&[0.5, -1.0]).unwrap();
        for prior in [&diagonal, &dense, &sparse, &covariance] {
            let mut pull = [1.0, 1.0];
            assert!((prior.energy(&[1.0, 1.0], &mut pull) - 6.25).abs() < 1e-12);
            assert!((pull[0] - 2.0).abs() < 1e-12 && (pull[1] - 7.0).abs() < 1e-12);
            assert!((prior.trace(2, &[1.0, 2.0, 3.0]) - (2.0 + 3.0 * 13.0)).abs() < 1e-12);
            assert!((prior.constant(2).0 - (LOG_2PI - 0.5 * 6f64.ln())).abs() < 1e-12);
        }
    }

    #[test]
    fn a_scale_changes_its_coefficients_alone() {
        for prior in [
            Prior::precision(4.0).unwrap(),
            Prior::precisions(&[4.0, 4.0]).unwrap(),
            Prior::precision_matrix(Matrix::diagonal(&[4.0, 4.0])).unwrap(),
        ] {
            let prior = prior.with_mean(&[1.0, -1.0]).unwrap().with_scale(2, &[1], 2.0).unwrap();
            let marginals = prior.marginals(2).unwrap();
            assert!((marginals[0].1 - 0.5).abs() < 1e-15 && (marginals[1].1 - 2.0).abs() < 1e-14);
            assert!((marginals[1].0 + 1.0).abs() < 1e-15);
            assert!((prior.constant(2).0 - LOG_2PI).abs() < 1e-14);
            assert!(prior.with_scale(2, &[2], 1.0).is_err());
        }
    }

    #[test]
    fn some_coefficients_can_be_made_wider() {
        for prior in [
            Prior::precision(4.0).unwrap(),
            Prior::precisions(&[4.0, 4.0]).unwrap(),
            Prior::precision_matrix(Matrix::diagonal(&[4.0, 4.0])).unwrap(),
            Prior::sparse(vec![vec![(0, 4.0)], vec![(1, 4.0)]], 16f64.ln()),
        ] {
            let wide = prior.widened(2, 1, 2.0).unwrap();
            let marginals = wide.marginals(2).unwrap();
            assert!((marginals[0].1 - 1.0).abs() < 1e-15 && (marginals[1].1 - 0.5).abs() < 1e-15);
            assert!((wide.constant(2).0 - prior.constant(2).0 - 2f64.ln()).abs() < 1e-14);
            assert!(prior.widened(2, 3, 2.0).is_err() && prior.widened(2, 1, 0.0).is_err());
        }
        let tied = Prior::precision_matrix(Matrix::new(2, 2, vec![2.0, 1.0, 1.0, 2.0]).unwrap()).unwrap();
        assert!(tied.widened(2, 1, 2.0).is_err());
        assert!(
            (tied.widened(2, 2, 2.0).unwrap().marginals(2).unwrap()[0].1 - 2.0 * (2f64 / 3.0).sqrt()).abs()
                < 1e-14
        );
    }

    #[test]
    fn bad_priors_are_refused() {
        assert!(Prior::precision(0.0).is_err());
        assert!(Prior::scale(f64::NAN).is_err());
        assert!(Prior::precisions(&[1.0, -1.0]).is_err());
        let indefinite = Matrix::new(2, 2, vec![1.0, 2.0, 2.0, 1.0]).unwrap();
        assert_eq!(
            Prior::precision_matrix(indefinite).unwrap_err().to_string(),
            "prior precision is not symmetric positive definite (pivot 1 of 2 fails)"
        );
        assert!(Prior::precisions(&[1.0]).unwrap().check(2).is_err());
        assert!(Prior::precision(1.0).unwrap().with_mean(&[0.0]).unwrap().check(2).is_err());
    }
}
