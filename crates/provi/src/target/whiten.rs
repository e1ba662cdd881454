//! Better coordinates: any target as a function of y, where z = c + Py \[whiten\].

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::congruence;
use crate::base::matrix::{Matrix, packed_index, unpack_lower};
use crate::base::scratch::Scratch;
use crate::target::curvature::Curvature;
use crate::target::evaluate::Wrap;
use crate::target::expectations::{Expectations, Moments};
use crate::target::{FiniteSum, Target, TermSmoothness};

/// A target in the coordinates y of z = c + Py, P lower triangular with positive diagonal:
/// ```text
/// Ṽ(y) = V(c + Py) − log det P,   H̃ = PᵀHP,   m = c + Pm̃,   C = PC̃,   the same f
/// ```
/// P is triangular, so PC̃ is in 𝒯ᵈ, as the user's factor must be. Cost: one product with P and one with Pᵀ per
/// point; d operations each if zeros are skipped and P is diagonal.
#[derive(Clone, Debug)]
pub(crate) struct Whitened<'a, T: ?Sized> {
    inner: &'a T,
    center: Vec<f64>,
    factor: Vec<f64>,
    /// The diagonal of P, if it has no other entries and products skip them.
    scales: Option<Vec<f64>>,
    log_det: f64,
}

impl<'a, T: Target + ?Sized> Whitened<'a, T> {
    /// Coordinates with origin `center` and scales `factor` (P, packed row by row).
    pub(crate) fn new(inner: &'a T, center: Vec<f64>, factor: Vec<f64>) -> Self {
        let log_det = (0..center.len()).map(|i| factor[packed_index(i, i)].ln()).sum();
        Self { inner, center, factor, scales: None, log_det }
    }

    /// The same, with products that skip the zeros of P if only its diagonal is not zero.
    fn skipping_zeros(mut self) -> Self {
        self.scales = diagonal_of(self.center.len(), &self.factor);
        self
    }

    /// z = c + Py for one point or several.
    fn transport(&self, points: &[f64], z: &mut [f64]) {
        let Some(scales) = &self.scales else {
            return provi_kernels::triangle::transport(&self.factor, &self.center, points, z);
        };
        let d = self.center.len();
        for (y, z) in points.chunks_exact(d).zip(z.chunks_exact_mut(d)) {
            for i in 0..d {
                z[i] = self.center[i] + scales[i] * y[i];
            }
        }
    }

    /// Pᵀg for one gradient or several.
    fn pull_back(&self, pulled: &[f64], gradients: &mut [f64]) {
        let Some(scales) = &self.scales else {
            return provi_kernels::triangle::pull_back(&self.factor, pulled, gradients);
        };
        let d = self.center.len();
        for (from, to) in pulled.chunks_exact(d).zip(gradients.chunks_exact_mut(d)) {
            (0..d).for_each(|i| to[i] = scales[i] * from[i]);
        }
    }

    /// The distribution of c + Py for y ~ q̃.
    pub(crate) fn restore(&self, q: &Gaussian<Triangular>) -> Gaussian<Triangular> {
        q.pushed(&self.center, &self.factor)
    }

    fn matrix(&self) -> Matrix {
        unpack_lower(self.center.len(), &self.factor)
    }
}

/// The diagonal of a packed triangle that is zero elsewhere.
fn diagonal_of(dim: usize, packed: &[f64]) -> Option<Vec<f64>> {
    let zero = |i: usize| packed[packed_index(i, 0)..packed_index(i, i)].iter().all(|x| x.abs() <= 0.0);
    (0..dim).all(zero).then(|| (0..dim).map(|i| packed[packed_index(i, i)]).collect())
}

/// Wraps a target in these coordinates ([`Evaluator::wrap`](crate::target::Evaluator)).
pub(crate) struct Through<'c> {
    pub(crate) center: &'c [f64],
    pub(crate) factor: &'c [f64],
    /// Whether P is one of a family, whose products skip its zeros.
    pub(crate) of_family: bool,
}

impl Wrap for Through<'_> {
    type Around<'t, T: Target + ?Sized + 't> = Whitened<'t, T>;
    type Seen = ();

    fn around<'t, T: Target + ?Sized>(self, inner: &'t T) -> Whitened<'t, T> {
        let white = Whitened::new(inner, self.center.to_vec(), self.factor.to_vec());
        if self.of_family { white.skipping_zeros() } else { white }
    }

    fn seen<T: Target + ?Sized>(_: &Whitened<'_, T>) {}
}

/// Only steps use these coordinates. Audits and solvers use the target itself, so this wrapper offers no other
/// coordinates, no local curvature and no bounds of rounding.
impl<T: Target + ?Sized> Target for Whitened<'_, T> {
    crate::forward_target!(self => self.inner; batch names data_size rejections proves_its_curvature);

    fn dim(&self) -> usize {
        self.center.len()
    }

    fn log_density(&self, y: &[f64], gradient: &mut [f64]) -> Result<f64> {
        crate::target::batch_of_one(self, y, gradient)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (own, inner) = scratch.split(2 * points.len());
        let (z, pulled) = own.split_at_mut(points.len());
        self.transport(points, z);
        self.inner.log_densities(z, values, pulled, inner)?;
        self.pull_back(pulled, gradients);
        values.iter_mut().for_each(|v| *v += self.log_det);
        Ok(())
    }

    fn hessian(&self, y: &[f64], out: &mut Matrix) -> Result<bool> {
        let mut z = vec![0.0; y.len()];
        self.transport(y, &mut z);
        let has = self.inner.hessian(&z, out)?;
        if has {
            *out = congruence(out, &self.matrix());
        }
        Ok(has)
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        self.inner.curvature()?.map(|c| c.transformed(&self.matrix())).transpose()
    }

    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        self.inner.lower_curvature()?.map(|c| c.transformed(&self.matrix())).transpose()
    }

    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        self.inner.finite_sum().map(|_| self as &dyn FiniteSum)
    }

    fn expectations(&self) -> Option<&dyn Expectations> {
        self.inner.expectations().map(|_| self as &dyn Expectations)
    }
}

impl<T: Target + ?Sized> Expectations for Whitened<'_, T> {
    fn expect(&self, q: &Gaussian<Triangular>, out: &mut Moments) -> Result<()> {
        let Some(inner) = self.inner.expectations() else {
            return Err(crate::Error::MissingConstant {
                wanted: "an exact expectation",
                constant: "one-dimensional integrals",
                way_out: "use an estimator that draws",
            });
        };
        inner.expect(&self.restore(q), out)?;
        let p = self.matrix();
        let gradient = out.gradient.clone();
        provi_kernels::triangle::multiply_transposed(&self.factor, &gradient, &mut out.gradient);
        out.hessian = congruence(&out.hessian, &p);
        out.value -= self.log_det;
        out.gradient_error *= p.frobenius_norm();
        // The rows of C differ in these coordinates, so no bound is known.
        out.bend = f64::INFINITY;
        Ok(())
    }
}

impl<T: Target + ?Sized> Whitened<'_, T> {
    fn inner_sum(&self) -> Result<&dyn FiniteSum> {
        self.inner.finite_sum().ok_or(NO_SUM)
    }

    /// Maps the points to z = c + Py, calls `evaluate`, and maps the gradients back.
    fn through(
        &self,
        points: &[f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
        evaluate: impl FnOnce(&[f64], &mut [f64], &mut Scratch) -> Result<()>,
    ) -> Result<()> {
        let (own, inner) = scratch.split(2 * points.len());
        let (z, pulled) = own.split_at_mut(points.len());
        self.transport(points, z);
        evaluate(z, pulled, inner)?;
        self.pull_back(pulled, gradients);
        Ok(())
    }
}

const NO_SUM: crate::Error = crate::Error::MissingConstant {
    wanted: "single terms",
    constant: "a density that is a sum over data",
    way_out: "use the whole target",
};

/// The terms of a target in better coordinates; log det P is part of the rest.
impl<T: Target + ?Sized> FiniteSum for Whitened<'_, T> {
    fn dimension(&self) -> usize {
        self.center.len()
    }

    fn terms(&self) -> usize {
        self.inner.finite_sum().map_or(0, FiniteSum::terms)
    }

    fn weighted_terms(
        &self,
        terms: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let sum = self.inner_sum()?;
        self.through(points, gradients, scratch, |z, pulled, inner| {
            sum.weighted_terms(terms, weights, z, values, pulled, inner)
        })
    }

    fn add_rest(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let sum = self.inner_sum()?;
        let mut rest = vec![0.0; gradients.len()];
        values.iter_mut().for_each(|v| *v += self.log_det);
        self.through(points, &mut rest, scratch, |z, pulled, inner| {
            pulled.fill(0.0);
            sum.add_rest(z, values, pulled, inner)
        })?;
        provi_kernels::axpy(1.0, &rest, gradients);
        Ok(())
    }

    /// One product with P for both the rest and the terms.
    fn estimate(
        &self,
        terms: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let sum = self.inner_sum()?;
        self.through(points, gradients, scratch, |z, pulled, inner| {
            sum.estimate(terms, weights, z, values, pulled, inner)?;
            values.iter_mut().for_each(|v| *v += self.log_det);
            Ok(())
        })
    }

    fn term_smoothness(&self) -> Result<Option<TermSmoothness>> {
        self.inner_sum()?.term_smoothness_through(&self.factor)
    }

    fn spread_through(
        &self,
        factor: Option<&[f64]>,
        smoothness: &TermSmoothness,
        probabilities: &[f64],
    ) -> Result<f64> {
        match factor {
            None => self.inner_sum()?.spread_through(Some(&self.factor), smoothness, probabilities),
            Some(_) => Ok(smoothness.spread(probabilities)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::glm::{Glm, Prior};

    #[test]
    fn the_objective_gradient_and_curvature_transform_as_stated() {
        let design = Design::dense(3, 2, &[1.0, 0.5, -0.3, 2.0, 0.7, -1.1]).unwrap();
        let model = Glm::logistic(design, &[1.0, 0.0, 1.0], Prior::precisions(&[1.0, 3.0]).unwrap()).unwrap();
        let (center, p) = (vec![0.4, -0.2], vec![0.5, 0.3, 2.0]);
        let white = Whitened::new(&model, center, p);
        let q = Gaussian::new(&[0.1, -0.7], &[0.9, -0.4, 0.6]).unwrap();
        let original = white.restore(&q);
        let a = crate::target::expectations::neg_elbo(&white, &q).unwrap();
        let b = crate::target::expectations::neg_elbo(&model, &original).unwrap();
        assert!((a - b).abs() < 1e-12);

        let y = [0.2, 0.3];
        let mut g = [0.0; 2];
        white.log_density(&y, &mut g).unwrap();
        for i in 0..2 {
            let at = |h: f64| {
                let mut y = y;
                y[i] += h;
                white.log_density(&y, &mut [0.0; 2]).unwrap()
            };
            assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - g[i]).abs() < 1e-8);
        }
        let mut h = Matrix::zeros(2, 2);
        white.hessian(&y, &mut h).unwrap();
        let curvature = white.curvature().unwrap().unwrap();
        let spectrum = crate::base::linalg::eigenvalues("h", &h).unwrap();
        assert!(-spectrum[1] >= curvature.convexity() && -spectrum[0] <= curvature.smoothness().unwrap());
    }

    #[test]
    fn the_terms_transform_like_the_whole() {
        let design = Design::dense(3, 2, &[1.0, 0.5, -0.3, 2.0, 0.7, -1.1]).unwrap();
        let model = Glm::logistic(design, &[1.0, 0.0, 1.0], Prior::precisions(&[1.0, 3.0]).unwrap()).unwrap();
        let white = Whitened::new(&model, vec![0.4, -0.2], vec![0.5, 0.3, 2.0]);
        let (y, terms, ones, scratch) = ([0.2, 0.3], [0, 1, 2], [1.0; 3], &mut Scratch::default());
        let (mut whole, mut sum, mut parts) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        let value = white.log_density(&y, &mut whole).unwrap();
        let (mut estimate, mut pieces) = ([0.0], [0.0]);
        white.estimate(&terms, &ones, &y, &mut estimate, &mut sum, scratch).unwrap();
        white.weighted_terms(&terms, &ones, &y, &mut pieces, &mut parts, scratch).unwrap();
        white.add_rest(&y, &mut pieces, &mut parts, scratch).unwrap();
        assert!((value - estimate[0]).abs() < 1e-13 && (value - pieces[0]).abs() < 1e-13);
        for i in 0..2 {
            assert!((whole[i] - sum[i]).abs() < 1e-13 && (whole[i] - parts[i]).abs() < 1e-13);
        }
        // M_n = ¼‖Pᵀa_n‖², which no multiple of ‖a_n‖² gives; X below its trace, the M_n being no better.
        let smoothness = white.term_smoothness().unwrap().unwrap();
        let turned: [f64; 2] = [0.5 * -0.3 + 0.3 * 2.0, 2.0 * 2.0];
        let exact = 0.25 * (turned[0].powi(2) + turned[1].powi(2));
        assert!((smoothness.each[1] / exact - 1.0).abs() < 1e-12 && smoothness.each[1] >= exact);
        let thirds = [1.0 / 3.0; 3];
        let spread = white.spread_through(None, &smoothness, &thirds).unwrap();
        let most = smoothness.each.iter().fold(0.0f64, |a, m| a.max(m * m));
        assert!(spread < smoothness.spread(&thirds) && spread >= 3.0 * most);
    }
}
