//! A Gaussian target, whose optimum is known in closed form.

use super::{Rounding, Target, own};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{Cholesky, multiply_lower};
use crate::base::matrix::{Matrix, check_finite, pack_lower_into, packed_index, packed_len};
use crate::base::scratch::Scratch;
use crate::target::curvature::{Curvature, Provenance, Quadratic};
use crate::target::expectations::{Expectations, Moments};

/// How many rows of P(z − c) are turned into gradients at a time.
const TURNED: usize = 16;

/// log p(z) = −½(z−c)ᵀP(z−c) + constant.
///
/// The best Gaussian is the target itself: m* = c, CCᵀ = P⁻¹, f* = −(constant + (d/2) log 2π − ½ log det P).
#[derive(Clone, Debug)]
pub struct GaussianTarget {
    mean: Vec<f64>,
    precision: Lines,
    constant: f64,
    log_det: f64,
}

/// A symmetric matrix stored row by row. Each row starts on a cache line and is padded with zeros: loads of eight
/// numbers that cross two lines slow a product down by a sixth.
#[derive(Clone, Debug)]
struct Lines {
    dim: usize,
    /// Distance from one row to the next.
    stride: usize,
    /// Position of the first row.
    start: usize,
    room: Vec<f64>,
}

impl Lines {
    fn new(matrix: &Matrix) -> Self {
        let (dim, stride) = (matrix.rows(), matrix.rows().next_multiple_of(8));
        let mut room = vec![0.0; dim * stride + 8];
        let start = room.as_ptr().align_offset(64).min(8);
        for i in 0..dim {
            room[start + i * stride..][..dim].copy_from_slice(matrix.row(i));
        }
        Self { dim, stride, start, room }
    }

    /// All rows with their padding.
    fn entries(&self) -> &[f64] {
        &self.room[self.start..][..self.dim * self.stride]
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.entries()[i * self.stride..][..self.dim]
    }

    fn copy_into(&self, out: &mut Matrix) {
        (0..self.dim).for_each(|i| out.row_mut(i).copy_from_slice(self.row(i)));
    }

    fn to_matrix(&self) -> Matrix {
        let mut out = Matrix::zeros(self.dim, self.dim);
        self.copy_into(&mut out);
        out
    }
}

impl GaussianTarget {
    /// From mean and precision, normalised: log p integrates to one.
    pub fn new(mean: &[f64], precision: Matrix) -> Result<Self> {
        let d = mean.len();
        if d == 0 {
            return Err(Error::Empty { what: "mean" });
        }
        check_finite("mean", mean)?;
        let precision = precision.checked_symmetric("precision", d)?;
        let log_det = Cholesky::new("precision", &precision)?.log_det();
        let constant = 0.5 * log_det - 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
        Ok(Self { mean: mean.to_vec(), precision: Lines::new(&precision), constant, log_det })
    }

    /// Replaces the normalising constant; 0 gives the bare quadratic form.
    pub fn constant(mut self, constant: f64) -> Result<Self> {
        check_finite("constant", &[constant])?;
        self.constant = constant;
        Ok(self)
    }

    /// The best Gaussian approximation, which is exact.
    pub fn optimum(&self) -> Result<Gaussian<Triangular>> {
        let inverse = Cholesky::new("precision", &self.precision.to_matrix())?.inverse();
        Gaussian::from_covariance(&self.mean, inverse)
    }

    /// log p(x) = log ∫ p(z, x) dz.
    pub fn log_evidence(&self) -> f64 {
        self.constant + 0.5 * self.mean.len() as f64 * (2.0 * std::f64::consts::PI).ln() - 0.5 * self.log_det
    }
}

impl Target for GaussianTarget {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let centred: Vec<f64> = z.iter().zip(&self.mean).map(|(z, c)| z - c).collect();
        let mut twice = 0.0;
        for i in 0..z.len() {
            let pull = provi_kernels::dot(self.precision.row(i), &centred);
            gradient[i] = -pull;
            twice += pull * centred[i];
        }
        Ok(self.constant - 0.5 * twice)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (d, stride) = (self.dim(), self.precision.stride);
        let count = values.len();
        let (centred, products) = scratch.floats((stride + d) * count).split_at_mut(stride * count);
        for (centred, z) in centred.chunks_exact_mut(stride).zip(points.chunks_exact(d)) {
            for i in 0..d {
                centred[i] = z[i] - self.mean[i];
            }
            centred[d..].fill(0.0);
        }
        // P is symmetric: its rows are an n × d design, and the predictors are P(z − c).
        provi_kernels::design::predict(self.precision.entries(), stride, centred, products);
        // A few rows of the products at a time, which stay in cache while every point uses them.
        for (first, rows) in (0..d).step_by(TURNED).zip(products.chunks(TURNED * count.max(1))) {
            for (k, gradient) in gradients.chunks_exact_mut(d).enumerate() {
                let row = rows.iter().skip(k).step_by(count);
                gradient[first..].iter_mut().zip(row).for_each(|(gradient, product)| *gradient = -product);
            }
        }
        let draws = gradients.chunks_exact(d).zip(centred.chunks_exact(stride));
        for (value, (gradient, centred)) in values.iter_mut().zip(draws) {
            *value = self.constant + 0.5 * provi_kernels::dot(gradient, &centred[..d]);
        }
        Ok(())
    }

    fn hessian(&self, _z: &[f64], out: &mut Matrix) -> Result<bool> {
        self.precision.copy_into(out);
        out.entries_mut().iter_mut().for_each(|x| *x = -*x);
        Ok(true)
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        let h = Quadratic::Matrix(self.precision.to_matrix());
        Curvature::with_slack(self.dim(), h.clone(), Some(h), 0.0, Provenance::Proved).map(Some)
    }

    fn proves_its_curvature(&self, _: own::Word) -> bool {
        true
    }

    fn expectations(&self) -> Option<&dyn Expectations> {
        Some(self)
    }

    /// P(z − c) is d sums of d products, and V is a sum of d such numbers.
    fn rounding(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        let (d, spreads) = (self.dim(), super::rounding::deviations(q));
        let unit = (2.0 * d as f64 + 24.0) * f64::EPSILON;
        let each = radii.iter().map(|radius| {
            let reach: Vec<f64> =
                (0..d).map(|i| (q.mean()[i] - self.mean[i]).abs() + radius * spreads[i]).collect();
            let row = |i: usize| self.precision.row(i).iter().zip(&reach).map(|(a, x)| a.abs() * x).sum();
            let sizes: Vec<f64> = (0..d).map(row).collect();
            let energy = 0.5 * provi_kernels::dot(&sizes, &reach);
            Rounding {
                value: unit * (energy + self.constant.abs()),
                slopes: sizes.iter().map(|size| unit * size).collect(),
                sizes,
                constant: unit * (d as f64 + self.constant.abs() + self.log_det.abs()),
            }
        });
        Ok(Some(each.collect()))
    }
}

impl Expectations for GaussianTarget {
    fn expect(&self, q: &Gaussian<Triangular>, out: &mut Moments) -> Result<()> {
        let d = self.dim();
        let value = self.log_density(q.mean(), &mut out.gradient)?;
        out.gradient.iter_mut().for_each(|x| *x = -*x);
        self.precision.copy_into(&mut out.hessian);
        // tr(CᵀPC) = ⟨C, tril(PC)⟩, and tril(PC) is the gradient in C.
        out.product.resize(packed_len(d), 0.0);
        pack_lower_into(&multiply_lower(&out.hessian, &q.factor_matrix()), &mut out.product);
        let row = |i: usize| packed_index(i, 0)..packed_index(i, i) + 1;
        let trace: f64 = (0..d).map(|i| provi_kernels::dot(&q.factor()[row(i)], &out.product[row(i)])).sum();
        out.value = -value + 0.5 * trace;
        // Sums of d products, and sums of d such sums, which may cancel in P(m−c) and in the two quadratic forms.
        let unit = (2.0 * d as f64 + 16.0) * f64::EPSILON;
        let precision = crate::base::linalg::norm(self.precision.entries());
        let distance = q.mean().iter().zip(&self.mean).map(|(m, c)| (m - c).powi(2)).sum::<f64>().sqrt();
        let spread = crate::base::linalg::norm(q.factor());
        out.value_error = unit * (self.constant.abs() + precision * (distance * distance + spread * spread));
        out.gradient_error = unit * precision * (distance + spread);
        out.bend = f64::INFINITY;
        out.provenance = Provenance::Proved;
        Ok(())
    }

    fn has_constant_hessian(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_gradient_and_batch_agree() {
        let p = Matrix::new(2, 2, vec![2.0, 0.5, 0.5, 1.0]).unwrap();
        let target = GaussianTarget::new(&[1.0, -1.0], p).unwrap();
        let points = [0.0, 0.0, 2.0, 1.0, -0.3, 0.7];
        let (mut values, mut gradients) = ([0.0; 3], [0.0; 6]);
        target.log_densities(&points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
        for k in 0..3 {
            let mut g = [0.0; 2];
            let value = target.log_density(&points[2 * k..2 * k + 2], &mut g).unwrap();
            assert!((value - values[k]).abs() < 1e-14);
            assert!((g[0] - gradients[2 * k]).abs() < 1e-14 && (g[1] - gradients[2 * k + 1]).abs() < 1e-14);
        }
        assert!(target.log_evidence().abs() < 1e-14);
        assert!(GaussianTarget::new(&[], Matrix::zeros(0, 0)).is_err());
    }
}
