//! Models with a linear predictor and a Gaussian prior.

use super::local::GlmCurvature;
use super::{Family, FiniteSum, LocalCurvature, Prior, Scratch, Target};
use crate::chunked;
use crate::curvature::{Curvature, Provenance, Quadratic};
use crate::design::{BLOCK, Design};
use crate::error::{Error, Result};
use crate::expectation::Expectations;
use crate::gaussian::{Gaussian, Triangular};
use crate::matrix::{Matrix, check_finite};
use provi_kernels::axpy;
use provi_kernels::loss::{MOST_ROWS, SPARE, Slots};
use std::ops::Range;

/// Rows whose losses are summed together: whole blocks of any size.
const ROWS_A_SLOT: usize = MOST_ROWS / BLOCK * BLOCK;

/// A linear-predictor model [linear-predictor]:
/// ```text
/// V(z) = ½(z−ν)ᵀΛ(z−ν) + Σ_n w_n φ_n(a_nᵀz + o_n) + const,   θ_min ≤ φ_n'' ≤ θ_max
/// H_lo = Λ + θ_min AᵀWA,   H_hi = Λ + θ_max AᵀWA
/// ```
/// with every constant of the prior and the likelihood included, so that the ELBO bounds the log evidence. Cost: one pass
/// over A for a batch of points; the curvature forms AᵀWA once, O(nd²), and takes its eigenvalues, O(d³).
///
/// ```
/// use provi::{Design, target::{Glm, Prior, Target}};
///
/// let design = Design::dense(&[1.0, 0.5, 1.0, -1.5, 1.0, 2.0], 3, 2)?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0], Prior::scale(2.5)?)?;
/// let curvature = target.curvature()?.unwrap();
/// assert_eq!(curvature.convexity(), 1.0 / 6.25);          // the prior's precision
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Glm {
    pub(crate) family: Family,
    pub(crate) design: Design,
    pub(crate) response: Vec<f64>,
    /// What each row's φ is multiplied by: the user's weight, times the trials of a binomial row.
    pub(crate) weights: Vec<f64>,
    trials: Option<Vec<f64>>,
    /// All weights are 1.
    unweighted: bool,
    pub(crate) offsets: Option<Vec<f64>>,
    pub(crate) prior: Prior,
    names: Option<Vec<String>>,
    constant: f64,
    known_convexity: f64,
}

impl Glm {
    /// A model of any [`Family`].
    pub fn new(family: Family, design: Design, response: &[f64], prior: Prior) -> Result<Self> {
        let rows = design.rows();
        if response.len() != rows {
            return Err(Error::Shape { what: "response", found: response.len(), expected: rows });
        }
        prior.check(design.columns())?;
        let response = family.checked_response(response)?;
        let mut model = Self {
            family,
            design,
            response,
            weights: vec![1.0; rows],
            trials: None,
            unweighted: true,
            offsets: None,
            prior,
            names: None,
            constant: 0.0,
            known_convexity: 0.0,
        };
        model.refresh_constant();
        Ok(model)
    }

    /// Linear regression with known noise standard deviation: a Gaussian posterior.
    pub fn linear(design: Design, response: &[f64], noise_sd: f64, prior: Prior) -> Result<Self> {
        Self::new(Family::Gaussian { noise_sd }, design, response, prior)
    }

    /// Logistic regression; labels 0/1 or −1/1.
    pub fn logistic(design: Design, labels: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Bernoulli, design, labels, prior)
    }

    /// Logistic regression on counts: k_n successes in n_n trials, with the binomial coefficients in the evidence.
    /// ```text
    /// V(z) = … + Σ_n n_n [log(1+e^{s_n}) − (k_n/n_n) s_n] − Σ_n log C(n_n, k_n)
    /// ```
    pub fn binomial(design: Design, successes: &[f64], trials: &[f64], prior: Prior) -> Result<Self> {
        if trials.len() != successes.len() {
            return Err(Error::Shape { what: "trials", found: trials.len(), expected: successes.len() });
        }
        let whole = |x: f64| (0.0..=9.0e15).contains(&x) && (x - x.floor()).abs() <= 0.0;
        let family = Family::Binomial.name();
        for (row, (&k, &n)) in successes.iter().zip(trials).enumerate() {
            if !whole(n) || n < 1.0 {
                let needed = "a whole number of trials, at least 1";
                return Err(Error::Response { family, row, value: n, needed });
            }
            if !whole(k) || k > n {
                let needed = "a whole number from 0 to the trials of its row";
                return Err(Error::Response { family, row, value: k, needed });
            }
        }
        let mut model = Self::new(Family::Binomial, design, &vec![0.0; successes.len()], prior)?;
        model.response = successes.iter().zip(trials).map(|(k, n)| k / n).collect();
        model.trials = Some(trials.to_vec());
        let rows = vec![1.0; trials.len()];
        model.with_weights(&rows)
    }

    /// Probit regression; labels 0/1 or −1/1.
    pub fn probit(design: Design, labels: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Probit, design, labels, prior)
    }

    /// Poisson regression with log link. Its curvature has no upper bound M.
    pub fn poisson(design: Design, counts: &[f64], prior: Prior) -> Result<Self> {
        Self::new(Family::Poisson, design, counts, prior)
    }

    /// Poisson regression on means y_n ≥ 0 of counts, such as claims a year, what they are means over being the weights:
    /// ```text
    /// w_n [y_n s_n − e^{s_n}]   is   log Poisson(w_n y_n; w_n e^{s_n})   up to what does not depend on z
    /// ```
    /// That part is left as [`Glm::poisson`] has it, −w_n log Γ(y_n + 1), so the evidence is that of no density over y; the
    /// posterior, and every bound on the way to it, is the same.
    pub fn poisson_rates(design: Design, means: &[f64], prior: Prior) -> Result<Self> {
        let family = Family::Poisson.name();
        if let Some(row) = means.iter().position(|y| !(0.0..=9.0e15).contains(y)) {
            let needed = "a number of at least 0";
            return Err(Error::Response { family, row, value: means[row], needed });
        }
        let whole: Vec<f64> = means.iter().map(|y| y.floor()).collect();
        let mut model = Self::poisson(design, &whole, prior)?;
        model.response = means.to_vec();
        model.refresh_constant();
        Ok(model)
    }

    /// Multiplies each observation's log likelihood by a weight of at least 0.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.response.len() {
            return Err(Error::Shape {
                what: "weights",
                found: weights.len(),
                expected: self.response.len(),
            });
        }
        check_finite("weights", weights)?;
        if let Some(&value) = weights.iter().find(|&&w| w < 0.0) {
            return Err(Error::OutOfRange { what: "weight", value, needed: "at least 0" });
        }
        self.weights = match &self.trials {
            Some(trials) => weights.iter().zip(trials).map(|(w, n)| w * n).collect(),
            None => weights.to_vec(),
        };
        self.unweighted = self.weights.iter().all(|w| w.to_bits() == 1f64.to_bits());
        self.refresh_constant();
        Ok(self)
    }

    /// Adds a known offset to each linear predictor.
    pub fn with_offsets(mut self, offsets: &[f64]) -> Result<Self> {
        if offsets.len() != self.response.len() {
            return Err(Error::Shape {
                what: "offsets",
                found: offsets.len(),
                expected: self.response.len(),
            });
        }
        check_finite("offsets", offsets)?;
        self.offsets = Some(offsets.to_vec());
        Ok(self)
    }

    /// Names the coefficients.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.design.columns() {
            return Err(Error::Shape { what: "names", found: names.len(), expected: self.design.columns() });
        }
        self.names = Some(names);
        Ok(self)
    }

    /// The likelihood.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Trials of each row, for the binomial family.
    pub(crate) fn trials(&self) -> Option<&[f64]> {
        self.trials.as_deref()
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The same data under another prior.
    pub fn with_prior(mut self, prior: Prior) -> Result<Self> {
        prior.check(self.design.columns())?;
        self.prior = prior;
        self.known_convexity = 0.0;
        self.refresh_constant();
        Ok(self)
    }

    /// The same responses under another member of the family.
    pub(crate) fn with_family(mut self, family: Family) -> Result<Self> {
        self.response = family.checked_response(&self.response)?;
        self.family = family;
        self.refresh_constant();
        Ok(self)
    }

    /// The design matrix.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// A lower bound of μ known in closed form, where an eigensolver's error would hide it.
    pub(crate) fn with_known_convexity(mut self, convexity: f64) -> Self {
        self.known_convexity = convexity;
        self
    }

    /// Λ + θAᵀWA, and what forming it from n rows may have lost: at most about θnε‖√W A‖_F².
    fn bound(&self, theta: f64) -> (Quadratic, f64) {
        let d = self.design.columns();
        let scaled: Vec<f64> = self.weights.iter().map(|w| theta * w).collect();
        let mut h = self.prior.quadratic(d).to_matrix(d);
        self.design.add_weighted_gram(&scaled, &mut h);
        let size = self.design.weighted_square_norm(&self.weights);
        (Quadratic::Matrix(h), theta * (self.design.rows() as f64 + 4.0) * f64::EPSILON * size)
    }

    /// H_lo; where θ_min = 0 it is the prior's own matrix, which is given and not formed.
    fn lower_bound(&self) -> (Quadratic, f64) {
        match self.family.curvature_range().0 {
            low if low > 0.0 => self.bound(low),
            _ => (self.prior.quadratic(self.design.columns()), 0.0),
        }
    }

    fn refresh_constant(&mut self) {
        let rows = self.response.iter().zip(&self.weights);
        let likelihood: f64 = match &self.trials {
            // −log C(n, k) for each unit of a row's own weight, which is w/n.
            Some(trials) => {
                rows.zip(trials).map(|((&y, w), &n)| -w / n * ln_choose(n, (y * n).round())).sum()
            }
            None => rows.map(|(&y, w)| w * self.family.constant(y)).sum(),
        };
        self.constant = self.prior.constant(self.design.columns()) + likelihood;
    }

    /// The constant of V.
    pub(crate) fn constant(&self) -> f64 {
        self.constant
    }

    /// Predictors of the rows of `range` at the points, offsets included.
    pub(crate) fn predictors(&self, range: Range<usize>, points: &[f64], out: &mut [f64]) {
        let count = points.len() / self.design.columns();
        self.design.predict(range.clone(), points, out);
        if let Some(offsets) = &self.offsets {
            for (offset, out) in offsets[range].iter().zip(out.chunks_exact_mut(count)) {
                out.iter_mut().for_each(|s| *s += offset);
            }
        }
    }

    /// a_nᵀm + o_n for every row.
    pub(crate) fn predictor_means(&self, mean: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.design.rows()];
        chunked::fill(&mut out, BLOCK, self.design.entries(), |first, out| {
            self.predictors(first..first + out.len(), mean, out);
        });
        out
    }
}

/// log C(n, k).
fn ln_choose(n: f64, k: f64) -> f64 {
    libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
}

impl Target for Glm {
    fn dim(&self) -> usize {
        self.design.columns()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut value = [0.0];
        self.log_densities(z, &mut value, gradient, &mut Scratch::default())?;
        Ok(value[0])
    }

    /// Blocks of rows stay in cache between the predictors and the gradient, and chunks of blocks are spread over threads.
    /// Cost: one pass over A.
    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let d = self.dim();
        let count = values.len();
        let block = self.design.rows_at_once(count);
        values.fill(0.0);
        gradients.fill(0.0);
        chunked::reduce(
            self.design.chunks(count),
            (count * (d + 1), (block + SPARE) * count),
            scratch,
            |range, partial, room| {
                let (energies, pulls) = partial.split_at_mut(count);
                let (predictors, room) = room.split_at_mut(block * count);
                for start in range.clone().step_by(ROWS_A_SLOT) {
                    let mut slots = Slots::new(count, room);
                    let end = (start + ROWS_A_SLOT).min(range.end);
                    for first in (start..end).step_by(block) {
                        let rows = first..(first + block).min(end);
                        let predictors = &mut predictors[..rows.len() * count];
                        self.predictors(rows.clone(), points, predictors);
                        self.family.energies_and_slopes(
                            self.unweighted,
                            &self.response[rows.clone()],
                            &self.weights[rows.clone()],
                            predictors,
                            &mut slots,
                        );
                        self.design.pull_back(rows, predictors, pulls);
                    }
                    slots.finish(energies);
                }
            },
            |partial| {
                let (energies, pulls) = partial.split_at(count);
                axpy(1.0, energies, values);
                axpy(1.0, pulls, gradients);
            },
        );
        for ((z, value), pull) in points.chunks_exact(d).zip(values).zip(gradients.chunks_exact_mut(d)) {
            *value = -(*value + self.prior.energy(z, pull) + self.constant);
            pull.iter_mut().for_each(|x| *x = -*x);
        }
        Ok(())
    }

    fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
        *out = self.prior.quadratic(self.dim()).to_matrix(self.dim());
        let weigh = |range: Range<usize>, _: &mut [f64], weights: &mut [f64]| {
            let mut predictors = [0.0; BLOCK];
            let predictors = &mut predictors[..range.len()];
            self.predictors(range.clone(), z, predictors);
            self.family.second_derivatives(&self.response[range.clone()], predictors, weights);
            weights.iter_mut().zip(&self.weights[range]).for_each(|(second, w)| *second *= w);
        };
        self.design.add_gram_and_sums(0, weigh, |_| (), out);
        out.entries_mut().iter_mut().for_each(|x| *x = -*x);
        Ok(true)
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        let (low, high) = self.family.curvature_range();
        let (lower, slack) = self.lower_bound();
        let upper = match high {
            Some(high) if high - low <= 0.0 => Some(lower.clone()),
            Some(high) => {
                // Where θ_min > 0 both bounds share one slack; here the upper one is moved by its own.
                let (mut h, lost) = self.bound(high);
                if slack <= 0.0 {
                    match &mut h {
                        Quadratic::Scalar(value) => *value += lost,
                        Quadratic::Matrix(h) => (0..self.dim()).for_each(|i| h[(i, i)] += lost),
                    }
                }
                Some(h)
            }
            None => None,
        };
        let curvature = Curvature::with_slack(self.dim(), lower, upper, slack, Provenance::Proved)?;
        Ok(Some(curvature.with_convexity_at_least(self.known_convexity)))
    }

    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        let (lower, slack) = self.lower_bound();
        let curvature = Curvature::with_slack(self.dim(), lower, None, slack, Provenance::Proved)?;
        Ok(Some(curvature.with_convexity_at_least(self.known_convexity)))
    }

    fn names(&self) -> Vec<String> {
        self.names.clone().unwrap_or_else(|| (0..self.dim()).map(|j| format!("x{j}")).collect())
    }

    fn expectations(&self) -> Option<&dyn Expectations> {
        Some(self)
    }

    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        Some(self)
    }

    fn data_size(&self) -> (usize, usize) {
        let indices = if self.design.is_sparse() { self.design.entries() + self.design.rows() } else { 0 };
        (self.design.rows(), self.design.entries() + indices)
    }

    fn local_curvature<'s>(
        &'s self,
        q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        Ok(Some(Box::new(GlmCurvature::new(self, q))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(family: Family, sparse: bool) -> Glm {
        let mut entries = vec![0.0; 30];
        provi_kernels::normals(5, 1, 0, &mut entries);
        let design = if sparse {
            let triplets: Vec<_> = (0..30).map(|e| (e / 3, e % 3, entries[e])).collect();
            Design::triplets(10, 3, &triplets).unwrap()
        } else {
            Design::dense(&entries, 10, 3).unwrap()
        };
        let y: Vec<f64> = (0..10).map(|n| f64::from(n % 2)).collect();
        let weights: Vec<f64> = (0..10).map(|n| 0.5 + 0.1 * f64::from(n)).collect();
        let prior =
            Prior::precision(Matrix::new(3, 3, vec![2.0, 0.3, 0.0, 0.3, 1.0, 0.1, 0.0, 0.1, 0.7]).unwrap());
        Glm::new(family, design, &y, prior.unwrap().with_mean(&[0.1, -0.2, 0.3]).unwrap())
            .unwrap()
            .with_weights(&weights)
            .unwrap()
            .with_offsets(&[0.25; 10])
            .unwrap()
    }

    const ALL: [Family; 4] =
        [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson];

    #[test]
    fn gradient_and_hessian_match_differences_dense_and_sparse() {
        for family in ALL {
            for sparse in [false, true] {
                let model = model(family, sparse);
                let z = [0.4, -0.3, 0.8];
                let (mut g, mut up, mut down) = ([0.0; 3], [0.0; 3], [0.0; 3]);
                let mut h = Matrix::zeros(3, 3);
                model.log_density(&z, &mut g).unwrap();
                assert!(model.hessian(&z, &mut h).unwrap());
                for i in 0..3 {
                    let step = 1e-5;
                    let (mut zu, mut zd) = (z, z);
                    zu[i] += step;
                    zd[i] -= step;
                    let slope = (model.log_density(&zu, &mut up).unwrap()
                        - model.log_density(&zd, &mut down).unwrap())
                        / (2.0 * step);
                    assert!((slope - g[i]).abs() < 1e-7, "{family:?} {slope} {}", g[i]);
                    for j in 0..3 {
                        assert!(((up[j] - down[j]) / (2.0 * step) - h[(i, j)]).abs() < 1e-7);
                    }
                }
            }
        }
    }

    #[test]
    fn a_batch_equals_its_single_points() {
        for family in ALL {
            let model = model(family, false);
            let points = [0.1, 0.2, 0.3, -1.0, 2.0, 0.5];
            let (mut values, mut gradients) = ([0.0; 2], [0.0; 6]);
            model.log_densities(&points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
            for k in 0..2 {
                let mut gradient = [0.0; 3];
                let value = model.log_density(&points[3 * k..3 * k + 3], &mut gradient).unwrap();
                assert!((value - values[k]).abs() < 1e-13);
                for i in 0..3 {
                    assert!((gradient[i] - gradients[3 * k + i]).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn a_binomial_row_is_its_trials_one_by_one() {
        let prior = || Prior::scale(1.5).unwrap();
        let counts = Design::dense(&[1.0, 0.3, 1.0, -0.8], 2, 2).unwrap();
        let grouped = Glm::binomial(counts, &[2.0, 0.0], &[3.0, 2.0], prior()).unwrap();
        let grouped = grouped.with_weights(&[1.0, 0.5]).unwrap();
        let rows: Vec<f64> = [[1.0, 0.3]; 3].into_iter().chain([[1.0, -0.8]; 2]).flatten().collect();
        let single = Design::dense(&rows, 5, 2).unwrap();
        let single = Glm::logistic(single, &[1.0, 1.0, 0.0, 0.0, 0.0], prior()).unwrap();
        let single = single.with_weights(&[1.0, 1.0, 1.0, 0.5, 0.5]).unwrap();
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        let z = [0.4, -1.1];
        // Three orders of two successes in three trials; the row of weight ½ has one.
        let difference = grouped.log_density(&z, &mut a).unwrap() - single.log_density(&z, &mut b).unwrap();
        assert!((difference - 3f64.ln()).abs() < 1e-13);
        assert!((a[0] - b[0]).abs() < 1e-13 && (a[1] - b[1]).abs() < 1e-13);
        let bound = |model: &Glm| model.curvature().unwrap().unwrap().smoothness().unwrap();
        assert!((bound(&grouped) - bound(&single)).abs() < 1e-12);
    }

    #[test]
    fn impossible_counts_are_refused() {
        let refused = |k: f64, n: f64| {
            let design = Design::dense(&[1.0], 1, 1).unwrap();
            Glm::binomial(design, &[k], &[n], Prior::scale(1.0).unwrap()).unwrap_err().to_string()
        };
        assert!(refused(3.0, 2.0).contains("response 3 at row 0 is not a whole number from 0 to the trials"));
        assert!(refused(1.5, 2.0).contains("response 1.5"));
        assert!(refused(0.0, 0.0).contains("at least 1"));
    }

    #[test]
    fn sizes_and_weights_are_checked() {
        let design = Design::dense(&[1.0, 2.0], 2, 1).unwrap();
        let prior = Prior::isotropic(1.0).unwrap();
        assert!(Glm::logistic(design.clone(), &[1.0], prior.clone()).is_err());
        assert!(Glm::logistic(design.clone(), &[1.0, 0.5], prior.clone()).is_err());
        let ok = Glm::logistic(design, &[1.0, 0.0], prior).unwrap();
        assert!(ok.clone().with_weights(&[1.0, -1.0]).is_err());
        assert!(ok.clone().with_offsets(&[1.0]).is_err());
        assert!(ok.with_names(vec!["a".into(), "b".into()]).is_err());
    }
}
