//! Curvature where the posterior lives: bounds of ∇²V on an ellipsoid around an answer.

use super::{Family, Glm, Target};
use crate::error::Result;
use crate::gaussian::{Gaussian, Triangular};
use crate::matrix::Matrix;

/// Bounds of ∇²V on {m + Cx, ‖x‖ ≤ r}, for one q and any r.
pub trait LocalCurvature {
    /// H_r ⪯ ∇²V on the ellipsoid, and an upper bound where there is one. H_r must not increase with r.
    fn bounds(&self, radius: f64) -> Result<(Matrix, Option<Matrix>)>;
}

/// For a linear-predictor model |a_nᵀ(z − m)| ≤ r‖Cᵀa_n‖, and φ_n'' is bounded over that interval [cert-local].
pub(super) struct GlmCurvature<'a> {
    model: &'a Glm,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl<'a> GlmCurvature<'a> {
    pub(super) fn new(model: &'a Glm, q: &Gaussian<Triangular>) -> Self {
        let means = model.predictor_means(q.mean());
        let mut deviations = model.design.all_row_variances(q.factor());
        deviations.iter_mut().for_each(|v| *v = v.sqrt());
        Self { model, means, deviations }
    }

    /// Λ + Aᵀ diag(w·θ) A, moved by `sign` times what forming it may have lost.
    fn matrix(&self, theta: &[f64], sign: f64) -> Matrix {
        let d = self.model.dim();
        let mut out = self.model.prior.quadratic(d).to_matrix(d);
        self.model.design.add_weighted_gram(theta, &mut out);
        let size = self.model.design.weighted_square_norm(theta) + out.frobenius_norm();
        let slack = sign * (self.model.design.gram_terms() as f64 + 8.0) * f64::EPSILON * size;
        (0..d).for_each(|i| out[(i, i)] += slack);
        out
    }
}

impl LocalCurvature for GlmCurvature<'_> {
    fn bounds(&self, radius: f64) -> Result<(Matrix, Option<Matrix>)> {
        let rows = self.means.len();
        let (mut low, mut high) = (vec![0.0; rows], vec![0.0; rows]);
        for n in 0..rows {
            // A whisker more than the interval: the predictors carry rounding.
            let reach = radius * self.deviations[n] * (1.0 + 1e-12) + 1e-13 * self.means[n].abs();
            let range = self.model.family.second_range(
                self.means[n] - reach,
                self.means[n] + reach,
                self.model.response[n],
            );
            low[n] = self.model.weights[n] * range[0];
            high[n] = self.model.weights[n] * range[1];
        }
        let finite = high.iter().all(|x| x.is_finite());
        Ok((self.matrix(&low, -1.0), finite.then(|| self.matrix(&high, 1.0))))
    }
}

impl Family {
    /// The least and the largest φ'' over [low, high], rounded outwards.
    ///
    /// Logistic: even, decreasing in |s|. Probit: decreasing in (2y−1)s. Poisson: eˢ increases.
    pub(crate) fn second_range(self, low: f64, high: f64, y: f64) -> [f64; 2] {
        let at = |s: f64| self.derivatives(s, y)[2];
        let [least, most] = match self {
            Self::Gaussian { .. } => [at(low), at(high)],
            Self::Bernoulli | Self::Binomial => {
                let (near, far) = if low.abs() < high.abs() { (low, high) } else { (high, low) };
                [at(far), if low <= 0.0 && high >= 0.0 { 0.25 } else { at(near) }]
            }
            Self::Probit => {
                if y > 0.5 {
                    [at(high), at(low)]
                } else {
                    [at(low), at(high)]
                }
            }
            Self::Poisson => [at(low), at(high)],
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
        let families =
            [Family::Bernoulli, Family::Probit, Family::Poisson, Family::Gaussian { noise_sd: 0.5 }];
        for family in families {
            for y in [0.0, 1.0] {
                for (low, high) in [(-2.0, 1.0), (0.5, 3.0), (-4.0, -0.3), (-1.0, 1.0)] {
                    let values: Vec<f64> = (0..=2000)
                        .map(|i| family.derivatives(low + (high - low) * f64::from(i) / 2000.0, y)[2])
                        .collect();
                    let found = [
                        values.iter().copied().fold(f64::INFINITY, f64::min),
                        values.iter().copied().fold(0.0, f64::max),
                    ];
                    let range = family.second_range(low, high, y);
                    assert!(range[0] <= found[0] && range[1] >= found[1], "{family:?} {low} {high}");
                    assert!(
                        range[0] > found[0] - 1e-5 && range[1] < found[1] + 1e-5,
                        "{family:?} {low} {high}"
                    );
                }
            }
        }
    }
}
