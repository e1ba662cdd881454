//! Priors in coordinates that do not depend on units.

use super::centered::Centered;
use super::{Precision, Prior, Ties};
use crate::base::linalg::congruence;
use crate::target::standard::Standard;

/// The prior of b in β = Tb, and a bound, in spectral norm, of the error of forming its precision beyond
/// [`Prior::rounding`].
pub(crate) struct Moved {
    pub(crate) prior: Prior,
    pub(crate) lost: f64,
}

impl Prior {
    /// Λ_jj after the columns are centred, without the terms that tie coefficients to the constant column's.
    pub(crate) fn known(&self, dim: usize, map: &Standard) -> Vec<f64> {
        match &self.precision {
            Precision::Scalar(value) => vec![*value; dim],
            Precision::Diagonal(values) => values.clone(),
            Precision::Centered(centered) => centered.known(),
            Precision::Sparse { rows, .. } if !map.is_centred() => {
                let factors = map.columns().1;
                let own = |(i, row): (usize, &Vec<(usize, f64)>)| {
                    row.iter().filter(|(j, _)| *j == i).map(|(_, x)| x * factors[i] * factors[i]).sum()
                };
                rows.iter().enumerate().map(own).collect()
            }
            Precision::Sparse { .. } | Precision::Dense { .. } => {
                let moved = congruence(&self.quadratic(dim).to_matrix(dim), &map.matrix());
                (0..dim).map(|j| moved[(j, j)].abs()).collect()
            }
        }
    }

    /// The prior of b: T⁻¹ν and TᵀΛT; the latter in an exact form if there is one.
    pub(crate) fn in_standard(&self, dim: usize, map: &Standard) -> Moved {
        let factors = map.columns().1;
        let scaled = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            values.zip(&factors).map(|(x, f)| x * f * f).collect()
        };
        let tied = map.constant().filter(|_| map.is_centred()).map(|(i, _)| i);
        let mut lost = 0.0;
        let independent = |diagonal: Vec<f64>| match tied {
            None => Precision::Diagonal(diagonal),
            Some(i) => {
                let mut unit = vec![0.0; dim];
                unit[i] = 1.0;
                // The constant coefficient's own precision, before scaling.
                let weight = diagonal[i] / (factors[i] * factors[i]);
                Precision::Centered(Box::new(Centered::of(diagonal, weight, &map.pull(&unit), i)))
            }
        };
        // Tied coefficients are not the constant column's, so they are scaled and nothing else.
        let mut ties = self.ties.as_ref().map(|ties| ties.scaled(&factors));
        let precision = match &self.precision {
            Precision::Scalar(value) => independent(scaled(&mut std::iter::repeat_n(*value, dim))),
            Precision::Diagonal(values) => independent(scaled(&mut values.iter().copied())),
            Precision::Centered(centered) if tied.is_none_or(|i| centered.is_anchored_at(i)) => {
                Precision::Centered(Box::new(centered.through(&factors, |c| map.pull(c))))
            }
            Precision::Sparse { rows, log_det } if tied.is_none() => {
                let entry = |i: usize, &(j, x): &(usize, f64)| (j, x * factors[i] * factors[j]);
                let rows = rows.iter().enumerate().map(|(i, row)| row.iter().map(|e| entry(i, e)).collect());
                Precision::Sparse { rows: rows.collect(), log_det: log_det + 2.0 * map.log_det() }
            }
            _ => {
                let (own, t) = (self.quadratic(dim).to_matrix(dim), map.matrix());
                // Both products are sums of d terms: the error is entry by entry below 2γ_d |T|ᵀ|Λ||T|.
                let size = t.frobenius_norm().powi(2) * own.frobenius_norm();
                lost = (3.0 * dim as f64 + 8.0) * f64::EPSILON * size
                    + self.rounding() * t.frobenius_norm().powi(2);
                let matrix = congruence(&own, &t);
                // They are part of the matrix now.
                ties = None;
                let log_det = -2.0 * self.constant(dim).0 + dim as f64 * super::LOG_2PI + 2.0 * map.log_det();
                Precision::Dense { matrix, log_det }
            }
        };
        let mean = self.mean.as_ref().map(|mean| map.to_standard(mean));
        Moved { prior: Self { mean, precision, ties }, lost }
    }

    /// A lower bound of λ_min(Λ) in closed form, if there is one. An eigensolver's error would hide it if the
    /// precisions differ widely.
    pub(crate) fn convexity(&self) -> Option<f64> {
        let least = match &self.precision {
            Precision::Scalar(value) => *value,
            Precision::Diagonal(values) => values.iter().copied().fold(f64::INFINITY, f64::min),
            Precision::Centered(centered) => centered.convexity(),
            Precision::Dense { .. } | Precision::Sparse { .. } => return None,
        };
        let share = self.ties.as_ref().map_or(1.0, Ties::convexity);
        Some(share * least * (1.0 - 1e-12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::linalg::eigenvalues;
    use crate::base::matrix::Matrix;

    fn map() -> Standard {
        Standard::new(Some((1, 2.0)), vec![3.0, 0.0, -40.0, 0.0], &[0.6, 1.0, 9.0, 2e-3])
    }

    /// Coefficients 0, 2 and 3 are correlated.
    fn tied(prior: Prior) -> Prior {
        let covariance = Matrix::new(3, 3, vec![1.0, 0.3, -0.5, 0.3, 4.0, 0.4, -0.5, 0.4, 2.0]).unwrap();
        prior.with_covariance(4, &[&[0], &[2], &[3]], &covariance).unwrap()
    }

    fn priors() -> Vec<Prior> {
        let mut dense = Matrix::diagonal(&[2.0, 1.0, 0.5, 3.0]);
        (dense[(0, 2)], dense[(2, 0)]) = (0.3, 0.3);
        let sparse = vec![vec![(0, 2.0)], vec![(1, 1.0)], vec![(2, 0.5)], vec![(3, 3.0)]];
        let laws = [(0.1, 0.5), (1.0, 2.0), (-1.0, 0.25), (0.0, 4.0)];
        [
            Prior::precision(0.7).unwrap(),
            Prior::precisions(&[2.0, 1.0, 0.5, 3.0]).unwrap(),
            Prior::precision_matrix(dense).unwrap(),
            Prior::sparse(sparse, 3f64.ln()),
        ]
        .map(|prior| prior.with_mean(&[0.5, -1.0, 0.25, 2.0]).unwrap())
        .into_iter()
        .chain([Prior::centered(&laws, 1, &[2.5, 2.0, -39.0, 0.0]).unwrap()])
        .chain([Prior::centered(&laws, 0, &[2.5, 2.0, -39.0, 0.0]).unwrap()])
        .chain([
            tied(Prior::precision(0.7).unwrap()),
            tied(Prior::centered(&laws, 1, &[0.0, 2.0, 0.0, 0.0]).unwrap()),
        ])
        .collect()
    }

    /// −log of the density of b is that of β with the Jacobian's logarithm taken off.
    #[test]
    fn the_law_of_b_is_that_of_beta() {
        let scales_alone = Standard::new(None, vec![0.0; 4], &[0.6, 1.0, 9.0, 2e-3]);
        for map in [map(), scales_alone] {
            for prior in priors() {
                let moved = prior.in_standard(4, &map).prior;
                for b in [[0.3, -0.7, 1.9, 0.01], [0.0, 5.0, -2.0, 0.3]] {
                    let (mut pull, mut own_pull) = ([0.0; 4], [0.0; 4]);
                    let own =
                        prior.energy(&map.to_own(&b), &mut own_pull) + prior.constant(4).0 - map.log_det();
                    let found = moved.energy(&b, &mut pull) + moved.constant(4).0;
                    assert!((own - found).abs() < 1e-9 * (1.0 + own.abs()), "{own} {found} {prior:?}");
                    for (x, y) in pull.iter().zip(map.pull(&own_pull)) {
                        assert!((x - y).abs() < 1e-8 * (1.0 + y.abs()), "{x} {y} {prior:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_closed_form_is_below_the_least_eigenvalue_and_near_it() {
        for prior in priors().into_iter().flat_map(|p| [p.in_standard(4, &map()).prior, p]) {
            let least = eigenvalues("Λ", &prior.quadratic(4).to_matrix(4)).unwrap()[0];
            if let Some(found) = prior.convexity() {
                assert!(found <= least * (1.0 + 1e-9) && found >= 0.2 * least, "{found} {least} {prior:?}");
            }
        }
        // The direction of the tie is the coefficient's own: nothing is lost.
        let own = Prior::centered(&[(0.0, 1.0), (0.0, 1e9)], 0, &[1.0, 0.0]).unwrap();
        assert!((own.convexity().unwrap() / 1e-18 - 1.0).abs() < 1e-9);
    }
}
