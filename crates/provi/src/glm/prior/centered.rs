//! The precision of coefficients that are independent except for one, the anchor; in its place a linear combination
//! is known.

use super::DataPrior;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Matrix, check_finite};
use crate::base::scalar::Positive;

/// Λ = diag(D) + κ c cᵀ with D_a = 0 and c_a ≠ 0 at one coefficient, the anchor a:
/// ```text
/// z_j ~ N(ν_j, 1/D_j) for j ≠ a,   cᵀz ~ N(m, 1/κ),   all independent
/// log det Λ = log κ + 2 log|c_a| + Σ_{j≠a} log D_j
/// ```
/// Λ is kept in this form: its quadratic form is a sum of squares, positive for any size of c, and costs O(d).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Centered {
    /// D.
    diagonal: Vec<f64>,
    /// κ.
    weight: f64,
    /// The entries of c that are not 0, with their index; the anchor is one of them.
    direction: Vec<(usize, f64)>,
    anchor: usize,
}

impl Centered {
    /// From the (mean, sd) of the coefficients; at the anchor, those of cᵀz. Also returns ν.
    pub(super) fn new(laws: &[(f64, f64)], anchor: usize, at: &[f64]) -> Result<(Self, Vec<f64>)> {
        let dim = laws.len();
        if at.len() != dim {
            return Err(Error::Shape { what: "the point of the prior", found: at.len(), expected: dim });
        }
        check_finite("the point of the prior", at)?;
        let Some(&own) = at.get(anchor) else {
            return Err(Error::Index { what: "prior", index: anchor, length: dim });
        };
        if own.abs() <= 0.0 {
            let what = "entry of the point of the prior at its own coefficient";
            return Err(Error::OutOfRange { what, value: own, needed: "other than 0" });
        }
        let mut diagonal = Vec::with_capacity(dim);
        for &(_, sd) in laws {
            let sd = Positive::new("prior sd", sd)?.get();
            diagonal.push(Positive::new("prior precision", 1.0 / (sd * sd))?.get());
        }
        let weight = std::mem::replace(&mut diagonal[anchor], 0.0);
        let direction: Vec<(usize, f64)> =
            at.iter().copied().enumerate().filter(|(_, c)| c.abs() > 0.0).collect();
        let mut mean: Vec<f64> = laws.iter().map(|law| law.0).collect();
        let others: f64 = direction.iter().filter(|(j, _)| *j != anchor).map(|&(j, c)| c * mean[j]).sum();
        mean[anchor] = (mean[anchor] - others) / own;
        Ok((Self { diagonal, weight, direction, anchor }, mean))
    }

    pub(super) fn dim(&self) -> usize {
        self.diagonal.len()
    }

    /// cᵀx, where `x(j)` is x_j.
    fn along(&self, x: impl Fn(usize) -> f64) -> f64 {
        self.direction.iter().map(|&(j, c)| c * x(j)).sum()
    }

    /// Adds Λx to `pull` and returns xᵀΛx.
    pub(super) fn twice_energy(&self, x: impl Fn(usize) -> f64, pull: &mut [f64]) -> f64 {
        let mut twice = 0.0;
        for (i, precision) in self.diagonal.iter().enumerate() {
            let x = x(i);
            pull[i] += precision * x;
            twice += precision * x * x;
        }
        let along = self.along(x);
        self.direction.iter().for_each(|&(j, c)| pull[j] += self.weight * along * c);
        twice + self.weight * along * along
    }

    pub(super) fn log_det(&self) -> f64 {
        let own = self.along(|j| if j == self.anchor { 1.0 } else { 0.0 });
        let others = self.diagonal.iter().enumerate().filter(|(j, _)| *j != self.anchor);
        self.weight.ln() + 2.0 * own.abs().ln() + others.map(|(_, x)| x.ln()).sum::<f64>()
    }

    /// Λ as a matrix.
    pub(super) fn matrix(&self) -> Matrix {
        let mut out = Matrix::diagonal(&self.diagonal);
        for &(i, a) in &self.direction {
            for &(j, b) in &self.direction {
                out[(i, j)] += self.weight * (a * b);
            }
        }
        out
    }

    /// (i, j, value) for i ≥ j, whose sums are the entries of Λ that are not 0.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let own = self.diagonal.iter().enumerate().map(|(i, &x)| (i, i, x));
        let pairs = self.direction.iter().flat_map(move |&(i, a)| {
            let below = self.direction.iter().filter(move |(j, _)| *j <= i);
            below.map(move |&(j, b)| (i, j, self.weight * (a * b)))
        });
        own.chain(pairs)
    }

    /// Bound of the error of [`Centered::matrix`], in spectral norm: three roundings of an entry of κ c cᵀ, one of
    /// the sum.
    pub(super) fn rounding(&self) -> f64 {
        let square: f64 = self.direction.iter().map(|(_, c)| c * c).sum();
        let largest = self.direction.iter().map(|&(j, _)| self.diagonal[j]).fold(0.0, f64::max);
        4.0 * f64::EPSILON * (self.weight * square + largest)
    }

    /// The standard deviation of each coefficient; that of the anchor is √(1/κ + Σ_{j≠a} c_j²/D_j)/|c_a|.
    pub(super) fn deviations(&self) -> Vec<f64> {
        let mut out: Vec<f64> = self.diagonal.iter().map(|x| x.powf(-0.5)).collect();
        let term = |&(j, c): &(usize, f64)| c * c / self.diagonal[j];
        let others: f64 = self.direction.iter().filter(|(j, _)| *j != self.anchor).map(term).sum();
        let own = self.along(|j| if j == self.anchor { 1.0 } else { 0.0 });
        out[self.anchor] = (1.0 / self.weight + others).sqrt() / own.abs();
        out
    }

    /// The arguments from which it was made; `mean` is ν.
    pub(super) fn laws(&self, mean: impl Fn(usize) -> f64) -> DataPrior {
        let mut at = vec![0.0; self.dim()];
        self.direction.iter().for_each(|&(j, c)| at[j] = c);
        let law = |(j, x): (usize, &f64)| (mean(j), x.powf(-0.5));
        let mut laws: Vec<(f64, f64)> = self.diagonal.iter().enumerate().map(law).collect();
        laws[self.anchor] = (self.along(mean), self.weight.powf(-0.5));
        DataPrior { laws, intercept: Some(self.anchor), at }
    }

    /// tr(CᵀΛC) = Σ_j D_j Σ_jj + κ‖Cᵀc‖², for C lower triangular with these rows.
    pub(super) fn trace<'c>(&self, row: impl Fn(usize) -> &'c [f64]) -> f64 {
        let square = |i: usize| provi_kernels::dot(row(i), row(i));
        let own: f64 = self.diagonal.iter().enumerate().map(|(i, a)| a * square(i)).sum();
        let mut along = vec![0.0; self.dim()];
        for &(i, c) in &self.direction {
            along.iter_mut().zip(row(i)).for_each(|(sum, x)| *sum += c * x);
        }
        own + self.weight * provi_kernels::dot(&along, &along)
    }

    /// From D (whose entry at the anchor is ignored), κ and c.
    pub(super) fn of(mut diagonal: Vec<f64>, weight: f64, at: &[f64], anchor: usize) -> Self {
        diagonal[anchor] = 0.0;
        let direction = at.iter().copied().enumerate().filter(|(_, c)| c.abs() > 0.0).collect();
        Self { diagonal, weight, direction, anchor }
    }

    pub(super) fn is_anchored_at(&self, i: usize) -> bool {
        self.anchor == i
    }

    /// D, with κc_a² for the anchor.
    pub(super) fn known(&self) -> Vec<f64> {
        let own = self.along(|j| if j == self.anchor { 1.0 } else { 0.0 });
        let mut out = self.diagonal.clone();
        out[self.anchor] = self.weight * own * own;
        out
    }

    /// The same precision in other coordinates: D_j is multiplied by the square of a factor, and c is transformed
    /// by `pull`.
    pub(super) fn through(&self, factors: &[f64], pull: impl FnOnce(&[f64]) -> Vec<f64>) -> Self {
        let diagonal = self.diagonal.iter().zip(factors).map(|(x, f)| x * f * f).collect();
        let mut at = vec![0.0; self.dim()];
        self.direction.iter().for_each(|&(j, c)| at[j] = c);
        Self::of(diagonal, self.weight, &pull(&at), self.anchor)
    }

    /// A lower bound of λ_min(Λ). With w = Σ_{j≠a} c_jz_j, w² ≤ γ·Σ D_jz_j², γ = Σ_{j≠a} c_j²/D_j, and for any t in (0, 1)
    /// ```text
    /// (c_az_a + w)² ≥ (1 − t)c_a²z_a² − (1/t − 1)w²
    /// Λ ⪰ min{κc_a²(1 − t), (1 − κγ(1/t − 1))·min D}
    /// ```
    /// Returns the best bound over a few t.
    pub(super) fn convexity(&self) -> f64 {
        let own = self.along(|j| if j == self.anchor { 1.0 } else { 0.0 });
        let others = || self.diagonal.iter().enumerate().filter(|(j, _)| *j != self.anchor);
        let least = others().map(|(_, x)| *x).fold(f64::INFINITY, f64::min);
        let term = |&(j, c): &(usize, f64)| c * c / self.diagonal[j];
        let tie: f64 = self.direction.iter().filter(|(j, _)| *j != self.anchor).map(term).sum();
        let (own, tie) = (self.weight * own * own, self.weight * tie);
        // κγ(1/t − 1) = share: from almost none of D to almost all of it.
        let at = |share: f64| {
            let rest = share / (tie + share);
            (own * rest).min((1.0 - share) * least)
        };
        if tie <= 0.0 {
            return own.min(least);
        }
        (1..=40).map(|k| at(0.5f64.powi(k))).chain([at(0.75), at(0.9)]).fold(0.0, f64::max)
    }

    /// Sets the precision of a coefficient. False if the coefficient is tied to others.
    pub(super) fn set(&mut self, i: usize, precision: f64) -> bool {
        let free = self.direction.iter().all(|(j, _)| *j != i);
        if free {
            self.diagonal[i] = precision;
        }
        free
    }

    /// Multiplies the precision of the first coefficients. False if they are tied to the others.
    pub(super) fn scale_first(&mut self, count: usize, factor: f64) -> bool {
        let within = self.direction.iter().all(|(j, _)| *j < count);
        let without = self.direction.iter().all(|(j, _)| *j >= count);
        self.diagonal[..count].iter_mut().for_each(|x| *x *= factor);
        if within {
            self.weight *= factor;
        }
        within || without
    }
}

#[cfg(test)]
mod tests {
    use crate::base::linalg::Cholesky;
    use crate::base::matrix::Matrix;
    use crate::glm::Prior;

    const LAWS: [(f64, f64); 4] = [(3.0, 0.5), (1.0, 2.0), (-1.0, 0.25), (0.0, 4.0)];
    const AT: [f64; 4] = [1.0, -2.0, 10.0, 0.0];

    fn centered() -> Prior {
        Prior::centered(&LAWS, 0, &AT).unwrap()
    }

    /// T of z = Tb, b independent with the laws: z_0 = b_0 − Σ c_j b_j.
    fn covariance() -> Matrix {
        let mut out = Matrix::zeros(4, 4);
        let map = |i: usize, k: usize| match (i, k) {
            (0, k) if k > 0 => -AT[k],
            (i, k) => f64::from(u8::from(i == k)),
        };
        for i in 0..4 {
            for j in 0..4 {
                out[(i, j)] = (0..4).map(|k| map(i, k) * LAWS[k].1.powi(2) * map(j, k)).sum();
            }
        }
        out
    }

    #[test]
    fn it_is_the_law_of_independent_coefficients_at_the_point() {
        let mean = [3.0 + 2.0 + 10.0, 1.0, -1.0, 0.0];
        let dense = Prior::covariance(covariance()).unwrap().with_mean(&mean).unwrap();
        let prior = centered();
        let z = [0.3, -0.7, 1.9, 2.0];
        let (mut pull, mut expected) = ([0.5; 4], [0.5; 4]);
        let (a, b) = (prior.energy(&z, &mut pull), dense.energy(&z, &mut expected));
        assert!((a - b).abs() < 1e-9 * b, "{a} {b}");
        for (a, b) in pull.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{pull:?} {expected:?}");
        }
        assert!((prior.constant(4).0 - dense.constant(4).0).abs() < 1e-10);
        let factor = [1.0, 0.2, 2.0, -0.3, 0.1, 0.7, 1.0, 2.0, 3.0, 4.0];
        let (a, b) = (prior.trace(4, &factor), dense.trace(4, &factor));
        assert!((a - b).abs() < 1e-9 * b, "{a} {b}");
        for (i, (own, theirs)) in
            prior.marginals(4).unwrap().iter().zip(dense.marginals(4).unwrap()).enumerate()
        {
            assert!((own.0 - mean[i]).abs() < 1e-12 && (own.1 - theirs.1).abs() < 1e-9 * theirs.1);
        }
        let formed = prior.quadratic(4).to_matrix(4);
        let inverse = Cholesky::new("Λ", &formed).unwrap().inverse();
        for i in 0..4 {
            for j in 0..4 {
                assert!((inverse[(i, j)] - covariance()[(i, j)]).abs() < 1e-9, "({i}, {j})");
            }
        }
        assert!(prior.rounding() > 0.0 && prior.rounding() < 1e-11);
    }

    #[test]
    fn its_laws_can_be_read_back() {
        let found = centered().as_centered().unwrap();
        assert_eq!((found.intercept, &found.at[..]), (Some(0), &AT[..]));
        for (a, b) in found.laws.iter().zip(LAWS) {
            assert!((a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-15);
        }
        assert!(Prior::default().as_centered().is_none());
    }

    #[test]
    fn a_point_far_from_zero_leaves_it_positive() {
        let prior = Prior::centered(&[(1.0, 1.0), (0.0, 1e-9)], 0, &[1.0, 1e9]).unwrap();
        // Where the intercept at the point stays put, only the slope's own law counts.
        let energy = prior.energy(&[1.0 - 1e9 * 1e-9, 1e-9], &mut [0.0; 2]);
        assert!((energy - 0.5).abs() < 1e-6, "{energy}");
    }

    #[test]
    fn scales_of_others_can_change_and_tied_ones_cannot() {
        let prior = centered().with_scale(4, &[3], 2.0).unwrap();
        assert!((prior.marginals(4).unwrap()[3].1 - 2.0).abs() < 1e-15);
        assert!((prior.constant(4).0 - centered().constant(4).0 + 2f64.ln()).abs() < 1e-14);
        for tied in [0, 1, 2] {
            assert!(centered().with_scale(4, &[tied], 2.0).is_err());
        }
    }

    #[test]
    fn a_wider_prior_has_the_same_mean_and_wider_deviations() {
        let wide = centered().widened(4, 3, 2.0).unwrap().marginals(4).unwrap();
        for (i, (a, b)) in wide.iter().zip(centered().marginals(4).unwrap()).enumerate() {
            let factor = if i < 3 { 2.0 } else { 1.0 };
            assert!((a.0 - b.0).abs() <= 0.0 && (a.1 - factor * b.1).abs() < 1e-12 * b.1);
        }
        assert!(centered().widened(4, 2, 2.0).is_err());
    }

    #[test]
    fn bad_points_are_refused() {
        assert!(Prior::centered(&LAWS, 4, &AT).is_err());
        assert!(Prior::centered(&LAWS, 3, &AT).is_err());
        assert!(Prior::centered(&LAWS, 0, &AT[..3]).is_err());
        assert!(Prior::centered(&[(0.0, 0.0)], 0, &[1.0]).is_err());
        assert!(Prior::centered(&[(0.0, 1.0)], 0, &[f64::NAN]).is_err());
    }
}
