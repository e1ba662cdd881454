//! Scales estimated from the data: prior deviations and a noise level that maximise the ELBO (empirical Bayes), or that are integrated out
//! ([`FreeScales::integrate`]).
//!
//! With η the logarithms of the free scales, the profile of the negative ELBO is
//! ```text
//! F(η) = min_q f(q; η),   ∂F/∂log τ_b = n_b − Σ_{i∈b} E_q(z_i − ν_i)²/τ_b²,   ∂F/∂log σ = E_q ∂V/∂log σ
//! ```
//! at the best q: Σ_n w_n(1 − E_q(y_n − s_n)²/σ²) for the gaussian family. The gaps between the cut points of ordered categories are such scales too,
//! with ∂F/∂log δ_i = E_q ∂V/∂log δ_i. Coefficients of several sets may be correlated; then η holds coordinates of their correlations too. That q depends on η does not matter for the derivative, because f is stationary in q there. −F(η)
//! bounds the log evidence at η from below, so its maximum is type-II maximum likelihood with that bound. Everything
//! certified at that maximum is conditional on the η found: the posterior contains no uncertainty about a scale.

mod certify;
mod correlation;
mod draw;
mod integrate;
mod marginals;
mod mixture;
mod one;
mod predictor;
mod prior;

use std::cell::{Cell, RefCell};

use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::glm::normal_equations::NormalEquations;
use crate::glm::sparse::{AnyGaussian, NormalLaw};
use crate::glm::{Glm, Prior};
use crate::target::Target;
use crate::target::mode::{Path, climb};
pub use certify::NodeProof;
pub use integrate::Integration;
pub use marginals::WeightedMarginals;
pub use mixture::{Rule, ScaleMixture, ScaleNode};
pub use predictor::LinearPredictor;
pub use prior::ScalePrior;

/// Which scales of a model are free, and where their search begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FreeScales {
    /// Sets of coefficients that share one prior deviation, each with a first guess of it.
    pub shared: Vec<(Vec<usize>, f64)>,
    /// A first guess of the noise deviation, if the family has one and it is free.
    pub noise_sd: Option<f64>,
    /// First guesses of all gaps between the cut points of ordered categories, if they are free; empty if they are not.
    pub gaps: Vec<f64>,
    /// Places in `shared` of sets whose coefficients are correlated: for every j, the j-th coefficients of these sets have one covariance
    /// matrix, whose correlations are free. No set is in two of these lists.
    pub correlated: Vec<Vec<usize>>,
}

/// A model with the scales that maximise its ELBO.
#[derive(Clone, Debug)]
pub struct ScaledModel<M = Glm> {
    /// The model with these scales.
    pub model: M,
    /// The prior deviation τ of each set of coefficients.
    pub shared: Vec<f64>,
    /// For each set: whether the ELBO keeps growing as the scale goes to zero. True if less than a fiftieth of the
    /// prior's information comes from the data, and a far smaller scale is no worse. An interior maximum is never
    /// vanishing, however small the scale.
    pub vanishing: Vec<bool>,
    /// The noise deviation σ, if it was free.
    pub noise_sd: Option<f64>,
    /// The gaps between the cut points of ordered categories, if they were free.
    pub gaps: Vec<f64>,
    /// The best Gaussian at these scales, up to the solver's goal.
    pub gaussian: AnyGaussian,
    /// The negative ELBO F in nats; infinite if no model was solved.
    pub neg_elbo: f64,
    /// How many models were solved. 0 if the search was stopped before its first solution: the scales are then the
    /// first guesses, and the Gaussian is approximately at the mode.
    pub evaluations: u64,
    /// Whether the search was stopped. The scales are then the best so far, not a maximum.
    pub stopped_early: bool,
}

/// How near to the maximum the search goes, in nats, if no more is allowed.
const NATS: f64 = 1e-9;
/// A maximum counts as interior if it is above the ELBO near zero by this many times what the search may miss.
const INTERIOR: f64 = 100.0;
/// "Near zero" for a scale: this share of the scale found.
const NEAR_ZERO: f64 = 1e-3;
/// The gap of each inner solution, as a share of how near the search goes: well below the differences that it compares.
const INNER_SHARE: f64 = 0.01;
/// Normal equations are used if they prove a KL below this, in nats.
const EXACT: f64 = 1e-10;
/// No scale moves farther than this factor from its guess.
const RANGE: f64 = 1e7;
/// The noise never falls below its guess divided by this: rows that are fitted more closely are fitted exactly, and
/// the ELBO then has no maximum.
const NOISE_RANGE: f64 = 1e4;

impl FreeScales {
    /// Only the noise of a model. That of a gaussian one begins its search at the standard deviation of the responses, where a
    /// row of weight 2 counts as two rows; a relative noise begins at 1.
    pub fn noise(model: &impl LinearPredictor) -> Self {
        Self { noise_sd: Some(model.response_deviation()), ..Self::default() }
    }

    /// Where the search begins: the logarithms of the first guesses, and no correlation.
    fn start(&self) -> Result<Vec<f64>> {
        let mut start: Vec<f64> = self.known_scales().map(f64::ln).collect();
        if let Some(&value) = start.iter().find(|x| !x.is_finite()) {
            let needed = "the logarithm of a positive number";
            return Err(Error::OutOfRange { what: "first guess of a scale", value, needed });
        }
        let mut seen = vec![false; self.shared.len()];
        for &b in self.correlated.iter().flatten() {
            match seen.get_mut(b) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    let (what, length) = ("sets of correlated coefficients", self.shared.len());
                    return Err(Error::Index { what, index: b, length });
                }
            }
        }
        start.resize(self.parameters(), 0.0);
        Ok(start)
    }

    /// The first guesses: of deviations, of the noise, of gaps.
    fn known_scales(&self) -> impl Iterator<Item = f64> {
        let shared = self.shared.iter().map(|(_, guess)| *guess);
        shared.chain(self.noise_sd).chain(self.gaps.iter().copied())
    }

    /// How many scales are free, without correlations.
    fn scales(&self) -> usize {
        self.known_scales().count()
    }

    /// How many scales and correlations are free.
    pub fn parameters(&self) -> usize {
        self.scales() + self.effects().map(correlation::pairs).sum::<usize>()
    }

    /// The number of effects in each list of correlated sets.
    fn effects(&self) -> impl Iterator<Item = usize> {
        self.correlated.iter().map(Vec::len)
    }

    /// The correlated sets, each with its coordinates.
    fn blocks<'a>(&'a self, eta: &'a [f64]) -> impl Iterator<Item = (&'a [usize], &'a [f64])> {
        let mut rest = &eta[self.scales()..];
        self.correlated.iter().map(move |sets| {
            let (own, beyond) = rest.split_at(correlation::pairs(sets.len()));
            rest = beyond;
            (&sets[..], own)
        })
    }

    /// The prior at η.
    fn prior_at(&self, prior: &Prior, dim: usize, eta: &[f64]) -> Result<Prior> {
        let mut prior = prior.clone();
        let alone = |b: usize| !self.correlated.iter().any(|sets| sets.contains(&b));
        for (b, ((coefficients, _), log_scale)) in self.shared.iter().zip(eta).enumerate() {
            if alone(b) {
                prior = prior.with_scale(dim, coefficients, log_scale.exp())?;
            }
        }
        for (sets, x) in self.blocks(eta) {
            let deviations: Vec<f64> = sets.iter().map(|&b| eta[b].exp()).collect();
            let members: Vec<&[usize]> = sets.iter().map(|&b| &self.shared[b].0[..]).collect();
            prior = prior.with_covariance(dim, &members, &correlation::covariance(&deviations, x))?;
        }
        Ok(prior)
    }

    /// The noise deviation at η, if it is free.
    fn noise_at(&self, eta: &[f64]) -> Option<f64> {
        self.noise_sd.map(|_| eta[self.shared.len()].exp())
    }

    /// The gaps between cut points at η, if they are free.
    fn gaps_at(&self, eta: &[f64]) -> Option<Vec<f64>> {
        let first = self.shared.len() + usize::from(self.noise_sd.is_some());
        let gaps = &eta[first..first + self.gaps.len()];
        (!gaps.is_empty()).then(|| gaps.iter().map(|log| log.exp()).collect())
    }

    /// The model with the free scales at these values: first the logarithms of the deviations of the sets of coefficients, then that of the
    /// noise, then those of the gaps, then the coordinates of the correlations.
    pub fn model_at<M: LinearPredictor>(&self, model: &M, log_scales: &[f64]) -> Result<M> {
        let expected = self.parameters();
        if log_scales.len() != expected {
            return Err(Error::Shape { what: "scales", found: log_scales.len(), expected });
        }
        let prior = self.prior_at(model.prior(), model.dim(), log_scales)?;
        let mut model = model.clone().with_prior(prior)?;
        if let Some(gaps) = self.gaps_at(log_scales) {
            model = model.with_gaps(&gaps)?;
        }
        match self.noise_at(log_scales) {
            Some(sd) => model.with_noise_sd(sd),
            None => Ok(model),
        }
    }

    /// The sums of a gaussian model from which it is solved at any η without another pass, unless rounding spoils them.
    fn equations<M: LinearPredictor>(&self, model: &M, start: &[f64]) -> Result<Option<NormalEquations>> {
        let Some(found) = model.normal_equations()? else { return Ok(None) };
        let prior = self.prior_at(model.prior(), model.dim(), start)?;
        let noise = self.noise_at(start);
        let Ok((q, _)) = found.solve(&prior, noise) else { return Ok(None) };
        let exact = found.exactness(&q, &prior, noise)?;
        Ok(exact.filter(|exact| exact.kl < EXACT).map(|_| found))
    }

    /// Maximises the ELBO over the free scales. Cost: ten to fifty solutions of the model, each started from the
    /// last. A search that is stopped ([`crate::stop`]) returns the best scales so far; before its first solution,
    /// the first guesses and as much of the search for the mode as there was time for.
    ///
    /// ```
    /// use provi::{Design, scales::FreeScales, target::{Glm, Prior}};
    ///
    /// // y = z + noise in five groups of two: the deviations between groups and within them are both estimated.
    /// let (mut triplets, mut y) = (Vec::new(), Vec::new());
    /// for (group, center) in [-2.0, -1.0, 0.0, 1.0, 2.0].into_iter().enumerate() {
    ///     for noise in [-0.1, 0.1] {
    ///         triplets.push((y.len(), group, 1.0));
    ///         y.push(center + noise);
    ///     }
    /// }
    /// let model = Glm::linear(Design::triplets(10, 5, &triplets)?, &y, 1.0, Prior::scale(1.0)?)?;
    /// let free = FreeScales { shared: vec![((0..5).collect(), 1.0)], noise_sd: Some(1.0), ..FreeScales::default() };
    /// let found = free.maximise(&model)?;
    /// assert!((found.shared[0] - (2.0f64 - 0.01).sqrt()).abs() < 1e-4);       // the textbook's estimators
    /// assert!((found.noise_sd.unwrap() - 0.02f64.sqrt()).abs() < 1e-4);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn maximise<M: LinearPredictor>(&self, model: &M) -> Result<ScaledModel<M>> {
        self.maximise_to(model, 0.0)
    }

    /// As [`FreeScales::maximise`], up to that many nats: a rough maximum will do where another search begins.
    pub fn maximise_to<M: LinearPredictor>(&self, model: &M, nats: f64) -> Result<ScaledModel<M>> {
        let missed = nats.max(NATS);
        let start = self.start()?;
        let equations = self.equations(model, &start)?;
        let profile =
            Profile { goal: INNER_SHARE * missed, ..Profile::new(self, model, equations.as_ref(), &start) };
        let found = stop::phase("the search for the scales", || {
            let (best, evaluations) = profile.maximum(nats)?;
            let (gaussian, neg_elbo) = profile.best_at(&best)?;
            Ok(Found { eta: best, gaussian, neg_elbo, evaluations: evaluations + 1, stopped_early: false })
        });
        let Found { eta: best, gaussian, neg_elbo, evaluations, stopped_early } = match found {
            Err(stopped @ Error::Stopped { .. }) => {
                profile.best.take().or_else(|| profile.begun()).ok_or(stopped)?
            }
            found => found?,
        };
        let model = profile.at(&best)?;
        let scales: Vec<f64> = best.iter().map(|x| x.exp()).collect();
        let mut vanishing = Vec::with_capacity(self.shared.len());
        for (b, (coefficients, _)) in self.shared.iter().enumerate() {
            let prior = scales[b] * scales[b];
            let left: f64 = coefficients.iter().map(|&i| gaussian.deviation(i).powi(2) / prior).sum();
            let suspect = left > 0.98 * coefficients.len() as f64;
            // After a stop nothing more is tested.
            vanishing.push(
                suspect
                    && !stopped_early
                    && profile.is_no_worse_near_zero(&best, b, neg_elbo + INTERIOR * missed)?,
            );
        }
        Ok(ScaledModel {
            vanishing,
            noise_sd: self.noise_at(&best),
            gaps: self.gaps_at(&best).unwrap_or_default(),
            shared: scales[..self.shared.len()].to_vec(),
            model,
            gaussian,
            neg_elbo,
            evaluations,
            stopped_early,
        })
    }
}

/// Scales and the results that belong to them.
#[derive(Clone, Debug)]
struct Found {
    eta: Vec<f64>,
    gaussian: AnyGaussian,
    neg_elbo: f64,
    evaluations: u64,
    stopped_early: bool,
}

/// −F as a target in η; each solution starts from the last.
struct Profile<'a, M> {
    free: &'a FreeScales,
    model: &'a M,
    equations: Option<&'a NormalEquations>,
    start: &'a [f64],
    /// The gap of each solution, in nats.
    goal: f64,
    last: RefCell<Option<AnyGaussian>>,
    /// The best so far, in case the search is stopped.
    best: RefCell<Option<Found>>,
    /// Where the first solution began, in case the search is stopped within it.
    begun: RefCell<Option<AnyGaussian>>,
    solved: Cell<u64>,
}

impl<'a, M: LinearPredictor> Profile<'a, M> {
    fn new(
        free: &'a FreeScales,
        model: &'a M,
        equations: Option<&'a NormalEquations>,
        start: &'a [f64],
    ) -> Self {
        let (last, best, begun, solved) = Default::default();
        Self { free, model, equations, start, goal: INNER_SHARE * NATS, last, best, begun, solved }
    }

    /// The first guesses of the scales, with an approximate mode.
    fn begun(&self) -> Option<Found> {
        let gaussian = self.begun.take()?;
        let (eta, neg_elbo) = (self.start.to_vec(), f64::INFINITY);
        Some(Found { eta, gaussian, neg_elbo, evaluations: 0, stopped_early: true })
    }

    /// Records these scales if they are the best so far.
    fn remember(&self, eta: &[f64], gaussian: &AnyGaussian, neg_elbo: f64) {
        self.solved.set(self.solved.get() + 1);
        let mut best = self.best.borrow_mut();
        if best.as_ref().is_none_or(|best| neg_elbo < best.neg_elbo) {
            let (eta, gaussian, evaluations) = (eta.to_vec(), gaussian.clone(), self.solved.get());
            *best = Some(Found { eta, gaussian, neg_elbo, evaluations, stopped_early: true });
        }
    }

    /// The model at η.
    fn at(&self, eta: &[f64]) -> Result<M> {
        self.free.model_at(self.model, eta)
    }

    /// Where the ELBO is largest, and how many models were solved to find it.
    fn maximum(&self, nats: f64) -> Result<(Vec<f64>, u64)> {
        if let &[start] = self.start {
            let slope = |x: f64| {
                let mut gradient = [0.0];
                self.log_density(&[x], &mut gradient).map(|_| gradient[0])
            };
            let range = if self.free.noise_sd.is_some() { NOISE_RANGE } else { RANGE };
            let (found, evaluations) = one::climb(start, range.ln(), nats, &slope)?;
            return Ok((vec![found], evaluations));
        }
        let best = climb(self, self.start, nats.max(NATS), &mut Path::default())?;
        Ok((best.point, best.evaluations))
    }

    /// Whether the negative ELBO with scale `b` near zero is no larger than this; then there is no interior maximum.
    fn is_no_worse_near_zero(&self, best: &[f64], b: usize, neg_elbo: f64) -> Result<bool> {
        let mut eta = best.to_vec();
        eta[b] += NEAR_ZERO.ln();
        match self.best_at(&eta) {
            Ok((_, there)) => Ok(there <= neg_elbo),
            Err(error) if error.is_of_the_data() => Err(error),
            // Not tested.
            Err(Error::Stopped { .. }) => Ok(false),
            // If the model with so small a scale cannot be solved, it is not known to be worse.
            Err(_) => Ok(true),
        }
    }

    /// The best Gaussian at η, and its negative ELBO.
    fn best_at(&self, eta: &[f64]) -> Result<(AnyGaussian, f64)> {
        match self.equations {
            Some(equations) => {
                stop::check()?;
                let prior = self.free.prior_at(self.model.prior(), self.model.dim(), eta)?;
                let (q, neg_elbo) = equations.solve(&prior, self.free.noise_at(eta))?;
                let q = AnyGaussian::from(q);
                *self.last.borrow_mut() = Some(q.clone());
                Ok((q, neg_elbo))
            }
            None => self.solve(&self.at(eta)?),
        }
    }

    /// ∂F/∂log σ at the best q.
    fn noise_slope(&self, eta: &[f64], q: &AnyGaussian) -> Result<f64> {
        match (self.equations, self.free.noise_at(eta)) {
            (Some(equations), Some(sd)) => {
                let q = &*q.to_dense()?;
                let prior = self.free.prior_at(self.model.prior(), self.model.dim(), eta)?;
                let (weight, squares) = equations.expected_squares(q, &prior, Some(sd));
                Ok(weight - squares / (sd * sd))
            }
            _ => self.at(eta)?.noise_slope(q),
        }
    }

    fn solve(&self, model: &M) -> Result<(AnyGaussian, f64)> {
        let last = self.last.borrow().clone();
        let (q, neg_elbo) = model.best(self.goal, last.as_ref(), &mut self.begun.borrow_mut())?;
        *self.last.borrow_mut() = Some(q.clone());
        Ok((q, neg_elbo))
    }
}

impl<M: LinearPredictor> Target for Profile<'_, M> {
    fn dim(&self) -> usize {
        self.start.len()
    }

    fn log_density(&self, eta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let far = eta.iter().zip(self.start).any(|(x, start)| (x - start).abs() > RANGE.ln());
        if far || eta.iter().any(|x| !x.is_finite()) {
            return Ok(f64::NEG_INFINITY);
        }
        let (q, neg_elbo) = self.best_at(eta)?;
        self.remember(eta, &q, neg_elbo);
        let center = |i: usize| q.mean()[i] - self.model.prior().center(i);
        for (b, (coefficients, _)) in self.free.shared.iter().enumerate() {
            let total: f64 = coefficients.iter().map(|&i| center(i).powi(2) + q.deviation(i).powi(2)).sum();
            gradient[b] = total / (2.0 * eta[b]).exp() - coefficients.len() as f64;
        }
        if self.free.noise_sd.is_some() {
            let b = self.free.shared.len();
            gradient[b] = -self.noise_slope(eta, &q)?;
            stop::check()?;
        }
        if !self.free.gaps.is_empty() {
            let first = self.free.scales() - self.free.gaps.len();
            let slopes = self.at(eta)?.gap_slopes(&q)?;
            gradient[first..].iter_mut().zip(&slopes[..self.free.gaps.len()]).for_each(|(to, x)| *to = -x);
            stop::check()?;
        }
        let mut place = self.free.scales();
        for (sets, x) in self.free.blocks(eta) {
            let members = |b: usize| &self.free.shared[sets[b]].0;
            let mut moments = Matrix::zeros(sets.len(), sets.len());
            for a in 0..sets.len() {
                for b in 0..sets.len() {
                    let pairs = || members(a).iter().copied().zip(members(b).iter().copied());
                    let between: f64 = q.covariances(pairs())?.iter().sum();
                    moments[(a, b)] = between + pairs().map(|(i, j)| center(i) * center(j)).sum::<f64>();
                }
            }
            let deviations: Vec<f64> = sets.iter().map(|&b| eta[b].exp()).collect();
            let count = members(0).len() as f64;
            let Some((of_deviations, of_x)) = correlation::slopes(&deviations, x, &moments, count) else {
                return Ok(f64::NEG_INFINITY);
            };
            sets.iter().zip(of_deviations).for_each(|(&b, slope)| gradient[b] = slope);
            gradient[place..place + of_x.len()].copy_from_slice(&of_x);
            place += of_x.len();
        }
        Ok(-neg_elbo)
    }
}

#[cfg(test)]
mod tests;
