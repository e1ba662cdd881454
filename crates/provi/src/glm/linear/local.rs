//! Bounds of ∇²V around an answer for linear-predictor models, from the range of φ'' over the rows [cert-local].

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::glm::Family;
use crate::glm::family::{CLOGLOG_STEEPEST, CLOGLOG_TOP, Form};
use crate::target::{LocalCurvature, Taylor};

/// A model whose curvature bounds are Gram matrices of its rows.
pub(crate) trait LocalModel {
    /// The longest chain of additions behind an entry of a Gram matrix.
    fn gram_terms(&self) -> usize;

    /// The number of rows.
    fn terms(&self) -> usize;

    /// Writes Λ + Aᵀ diag(w·θ) A into `grams`, and adds Σ_n w_nθ_n‖a_n‖² to `sizes`; [`crate::stream::Rows`] says
    /// for which θ.
    fn local_grams(
        &self,
        q: &Gaussian<Triangular>,
        radii: &[f64],
        sizes: &mut [f64],
        grams: &mut [Matrix],
    ) -> Result<()>;

    /// Taylor's formula around q, with what holds up to each radius.
    fn taylor(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Taylor>>;
}

/// The local bounds of such a model.
pub(crate) struct LocalBounds<'a, M> {
    model: &'a M,
    q: Gaussian<Triangular>,
    at_once: usize,
}

/// Numbers that Gram matrices computed together may occupy (8 MB), unless there is only one.
const ROOM: usize = 1 << 20;

/// Multiply-adds of a Gram matrix from which one is costly: about a second on one core.
const COSTLY: usize = 1 << 33;

impl<'a, M: LocalModel> LocalBounds<'a, M> {
    /// Asks for at most `most` radii together. Memory: that many d × d matrices, or twice as many if upper bounds
    /// are needed, as far as they fit into 8 MB.
    pub(crate) fn new(model: &'a M, q: &Gaussian<Triangular>, most: usize) -> Self {
        let at_once = (ROOM / (2 * q.dim() * q.dim())).clamp(1, most);
        Self { model, q: q.clone(), at_once }
    }

    /// Lower bounds for the radii, then as many upper bounds as `count` allows; `None` for a bound that does not
    /// exist.
    fn matrices(&self, radii: &[f64], count: usize) -> Result<Vec<Option<Matrix>>> {
        let d = self.q.dim();
        let mut sizes = vec![0.0; count];
        let mut grams = vec![Matrix::zeros(d, d); count];
        self.model.local_grams(&self.q, radii, &mut sizes, &mut grams)?;
        let terms = (self.model.gram_terms() as f64 + 8.0) * f64::EPSILON;
        let settled = grams.into_iter().zip(sizes).enumerate().map(|(k, (mut gram, size))| {
            // Moved outwards by a bound of the rounding error.
            let sign = if k < radii.len() { -1.0 } else { 1.0 };
            let slack = sign * terms * (size + gram.frobenius_norm());
            (0..d).for_each(|i| gram[(i, i)] += slack);
            size.is_finite().then_some(gram)
        });
        Ok(settled.collect())
    }

    /// Zero if the bound is not finite: all that is known then is that ∇²V is not negative.
    fn or_nothing(&self, matrix: Option<Matrix>) -> Matrix {
        matrix.unwrap_or_else(|| Matrix::zeros(self.q.dim(), self.q.dim()))
    }
}

impl<M: LocalModel> LocalCurvature for LocalBounds<'_, M> {
    fn bounds(&self, radii: &[f64]) -> Result<Vec<(Matrix, Option<Matrix>)>> {
        let mut low = self.matrices(radii, 2 * radii.len())?;
        let high = low.split_off(radii.len());
        Ok(low.into_iter().map(|low| self.or_nothing(low)).zip(high).collect())
    }

    fn lower(&self, radii: &[f64]) -> Result<Vec<Matrix>> {
        Ok(self.matrices(radii, radii.len())?.into_iter().map(|low| self.or_nothing(low)).collect())
    }

    fn taylor(&self, radii: &[f64]) -> Result<Option<Taylor>> {
        self.model.taylor(&self.q, radii)
    }

    fn is_costly(&self) -> bool {
        let d = self.q.dim();
        self.model.terms().saturating_mul(d).saturating_mul(d) >= COSTLY
    }

    fn at_once(&self) -> usize {
        self.at_once
    }
}

impl Family {
    /// The smallest and the largest φ'' over [low, high], rounded outwards.
    ///
    /// Logistic: even, decreasing in |s|. Probit: decreasing in (2y−1)s. A rate κe^{±s}: monotone.
    /// Cloglog: eˢ increases, and log of the successes' ψ'' is concave: with v = eˢ, d log ψ''/ds = 1 + vD'/D − v·coth(v/2), D = v − 1 + e⁻ᵛ, both
    /// terms decreasing, the first since 2cosh v ≥ 2 + v².
    pub(crate) fn second_range(self, low: f64, high: f64, y: f64) -> [f64; 2] {
        let at = |s: f64| self.second_derivative(s, y);
        let [least, most] = match self.form(y) {
            Form::Quadratic { .. } => [at(low), at(high)],
            Form::Logistic => {
                let (near, far) = if low.abs() < high.abs() { (low, high) } else { (high, low) };
                [at(far), if low <= 0.0 && high >= 0.0 { 0.25 } else { at(near) }]
            }
            Form::Probit if y > 0.5 => [at(high), at(low)],
            Form::Probit => [at(low), at(high)],
            Form::Cloglog(parts) => {
                let success = |s: f64| provi_kernels::cloglog_success(s)[2];
                let (left, right) = (success(low), success(high));
                let inside = low <= CLOGLOG_TOP[1] && high >= CLOGLOG_TOP[0];
                let most = if inside { CLOGLOG_STEEPEST } else { left.max(right) };
                let missed = |s: f64| if parts.rate > 0.0 { parts.rate * s.exp() } else { 0.0 };
                [parts.success * left.min(right) + missed(low), parts.success * most + missed(high)]
            }
            Form::Rate(rate) if rate.sign < 0.0 => [at(high), at(low)],
            Form::Rate(_) => [at(low), at(high)],
            // Each half has its own range.
            Form::Ordered(halves) => {
                halves.sum(|shift, y| Self::Bernoulli.second_range(low + shift, high + shift, y))
            }
        };
        match self {
            Self::Gaussian { .. } => [least, most],
            _ => [least * (1.0 - 1e-12), most * (1.0 + 1e-12)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_the_second_derivative_is_what_a_search_finds() {
        let families = [
            Family::Ordered { gaps: crate::glm::Gaps::SOME },
            Family::Bernoulli,
            Family::Probit,
            Family::Cloglog,
            Family::Poisson,
            Family::Gamma { noise_sd: 1.3 },
            Family::Gaussian { noise_sd: 0.5 },
        ];
        for family in families {
            let coded: &[f64] = match family {
                Family::Cloglog => &[0.0, 1.0, -1.0, 3.5],
                Family::Ordered { .. } => &[0.0, 1.0, -0.3, -4.0],
                _ => &[0.0, 1.0],
            };
            for &y in coded {
                for (low, high) in [(-2.0, 1.0), (0.5, 3.0), (-4.0, -0.3), (-1.0, 1.0), (0.7, 2.0)] {
                    let values: Vec<f64> = (0..=2000)
                        .map(|i| family.derivatives(low + (high - low) * f64::from(i) / 2000.0, y)[2])
                        .collect();
                    let found = [
                        values.iter().copied().fold(f64::INFINITY, f64::min),
                        values.iter().copied().fold(0.0, f64::max),
                    ];
                    let range = family.second_range(low, high, y);
                    assert!(range[0] <= found[0] && range[1] >= found[1], "{family:?} {low} {high}");
                    // A sum of two ranges.
                    if y > 1.0 || family.gaps().is_some() && y < 0.0 {
                        continue;
                    }
                    assert!(
                        range[0] > found[0] - 1e-5 && range[1] < found[1] + 1e-5,
                        "{family:?} {low} {high}"
                    );
                }
            }
        }
    }
}
