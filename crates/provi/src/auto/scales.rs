//! Scales estimated from the data: prior deviations and a noise level that maximise the ELBO (empirical Bayes), or that are integrated out
//! ([`FreeScales::integrate`]).
//!
//! With η the logarithms of the free scales, the profile of the negative ELBO is
//! ```text
//! F(η) = min_q f(q; η),   ∂F/∂log τ_b = n_b − Σ_{i∈b} E_q(z_i − ν_i)²/τ_b²,   ∂F/∂log σ = Σ_n w_n − Σ_n w_n E_q(y_n − s_n)²/σ²
//! ```
//! at the best q. That q depends on η does not matter for the derivative, because f is stationary in q there. −F(η)
//! bounds the log evidence at η from below, so its maximum is type-II maximum likelihood with that bound. Everything
//! certified at that maximum is conditional on the η found: the posterior contains no uncertainty about a scale.

mod certify;
mod integrate;
mod mixture;
mod one;
mod predictor;
mod prior;

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use crate::auto::solve::{Look, Solver, State, Stop};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::packed_index;
use crate::base::stop;
use crate::glm::Glm;
use crate::target::Target;
use crate::target::mode::{Path, climb};
pub use certify::NodeProof;
pub use integrate::Integration;
pub use mixture::{Rule, ScaleMixture, ScaleNode};
pub use predictor::LinearPredictor;
pub use prior::ScalePrior;

/// Which scales of a model are free, and where their search begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FreeScales {
    /// Sets of coefficients that share one prior deviation, each with a first guess of it.
    pub shared: Vec<(Vec<usize>, f64)>,
    /// A first guess of the noise deviation, if that of a gaussian model is free.
    pub noise_sd: Option<f64>,
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
    /// The best Gaussian at these scales, up to the solver's goal.
    pub gaussian: Gaussian<Triangular>,
    /// The negative ELBO F in nats; infinite if no model was solved.
    pub neg_elbo: f64,
    /// How many models were solved. 0 if the search was stopped before its first solution: the scales are then the
    /// first guesses, and the Gaussian is approximately at the mode.
    pub evaluations: u64,
    /// Whether the search was stopped. The scales are then the best so far, not a maximum.
    pub stopped_early: bool,
}

/// How near to the maximum the search goes, in nats.
const NATS: f64 = 1e-9;
/// A maximum counts as interior if it is this many nats above the ELBO near zero: a hundred times what the search
/// may miss.
const INTERIOR: f64 = 1e-7;
/// "Near zero" for a scale: this share of the scale found.
const NEAR_ZERO: f64 = 1e-3;
/// The gap of each inner solution, well below the differences that the search compares.
const INNER_GOAL: f64 = 1e-11;
/// No scale moves farther than this factor from its guess.
const RANGE: f64 = 1e7;
/// The noise never falls below its guess divided by this: rows that are fitted more closely are fitted exactly, and
/// the ELBO then has no maximum.
const NOISE_RANGE: f64 = 1e4;

impl FreeScales {
    /// Only the noise of a gaussian model. Its search begins at the standard deviation of the responses, where a
    /// row of weight 2 counts as two rows.
    pub fn noise(model: &impl LinearPredictor) -> Self {
        Self { shared: Vec::new(), noise_sd: Some(model.response_deviation()) }
    }

    /// The logarithms of the first guesses.
    fn start(&self) -> Result<Vec<f64>> {
        let start: Vec<f64> =
            self.shared.iter().map(|(_, guess)| *guess).chain(self.noise_sd).map(f64::ln).collect();
        match start.iter().find(|x| !x.is_finite()) {
            None => Ok(start),
            Some(&value) => {
                let needed = "the logarithm of a positive number";
                Err(Error::OutOfRange { what: "first guess of a scale", value, needed })
            }
        }
    }

    /// The model with the free scales at these values, given by their logarithms: first those of the sets of coefficients, then that of the
    /// noise.
    pub fn model_at<M: LinearPredictor>(&self, model: &M, log_scales: &[f64]) -> Result<M> {
        let expected = self.shared.len() + usize::from(self.noise_sd.is_some());
        if log_scales.len() != expected {
            return Err(Error::Shape { what: "scales", found: log_scales.len(), expected });
        }
        let mut prior = model.prior().clone();
        for ((coefficients, _), log_scale) in self.shared.iter().zip(log_scales) {
            prior = prior.with_scale(model.dim(), coefficients, log_scale.exp())?;
        }
        let mut model = model.clone().with_prior(prior)?;
        if let (Some(_), Some(log_sd)) = (self.noise_sd, log_scales.last()) {
            model = model.with_noise_sd(log_sd.exp())?;
        }
        Ok(model)
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
    /// let free = FreeScales { shared: vec![((0..5).collect(), 1.0)], noise_sd: Some(1.0) };
    /// let found = free.maximise(&model)?;
    /// assert!((found.shared[0] - (2.0f64 - 0.01).sqrt()).abs() < 1e-4);       // the textbook's estimators
    /// assert!((found.noise_sd.unwrap() - 0.02f64.sqrt()).abs() < 1e-4);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn maximise<M: LinearPredictor>(&self, model: &M) -> Result<ScaledModel<M>> {
        let start = self.start()?;
        let profile = Profile::new(self, model, &start);
        let found = stop::phase("the search for the scales", || {
            let (best, evaluations) = profile.maximum()?;
            let model = profile.at(&best)?;
            let (gaussian, neg_elbo) = profile.solve(&model)?;
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
            let left: f64 = coefficients.iter().map(|&i| variance(&gaussian, i) / prior).sum();
            let suspect = left > 0.98 * coefficients.len() as f64;
            // After a stop nothing more is tested.
            vanishing.push(suspect && !stopped_early && profile.is_no_worse_near_zero(&best, b, neg_elbo)?);
        }
        Ok(ScaledModel {
            vanishing,
            noise_sd: self.noise_sd.and(scales.last().copied()),
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
    gaussian: Gaussian<Triangular>,
    neg_elbo: f64,
    evaluations: u64,
    stopped_early: bool,
}

/// −F as a target in η; each solution starts from the last.
struct Profile<'a, M> {
    free: &'a FreeScales,
    model: &'a M,
    start: &'a [f64],
    last: RefCell<Option<Gaussian<Triangular>>>,
    /// The best so far, in case the search is stopped.
    best: RefCell<Option<Found>>,
    /// Where the first solution began, in case the search is stopped within it.
    begun: RefCell<Option<Gaussian<Triangular>>>,
    solved: Cell<u64>,
}

impl<'a, M: LinearPredictor> Profile<'a, M> {
    fn new(free: &'a FreeScales, model: &'a M, start: &'a [f64]) -> Self {
        let (last, best, begun, solved) = Default::default();
        Self { free, model, start, last, best, begun, solved }
    }

    /// The first guesses of the scales, with an approximate mode.
    fn begun(&self) -> Option<Found> {
        let gaussian = self.begun.take()?;
        let (eta, neg_elbo) = (self.start.to_vec(), f64::INFINITY);
        Some(Found { eta, gaussian, neg_elbo, evaluations: 0, stopped_early: true })
    }

    /// Records these scales if they are the best so far.
    fn remember(&self, eta: &[f64], gaussian: &Gaussian<Triangular>, neg_elbo: f64) {
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
    fn maximum(&self) -> Result<(Vec<f64>, u64)> {
        if let &[start] = self.start {
            let slope = |x: f64| {
                let mut gradient = [0.0];
                self.log_density(&[x], &mut gradient).map(|_| gradient[0])
            };
            let range = if self.free.noise_sd.is_some() { NOISE_RANGE } else { RANGE };
            let (found, evaluations) = one::climb(start, range.ln(), &slope)?;
            return Ok((vec![found], evaluations));
        }
        let best = climb(self, self.start, NATS, &mut Path::default())?;
        Ok((best.point, best.evaluations))
    }

    /// Whether the ELBO with scale `b` near zero is at least as large as at the best scales; then there is no
    /// interior maximum.
    fn is_no_worse_near_zero(&self, best: &[f64], b: usize, neg_elbo: f64) -> Result<bool> {
        let mut eta = best.to_vec();
        eta[b] += NEAR_ZERO.ln();
        match self.at(&eta).and_then(|model| self.solve(&model)) {
            Ok((_, there)) => Ok(there <= neg_elbo + INTERIOR),
            Err(error) if error.is_of_the_data() => Err(error),
            // Not tested.
            Err(Error::Stopped { .. }) => Ok(false),
            // If the model with so small a scale cannot be solved, it is not known to be worse.
            Err(_) => Ok(true),
        }
    }

    fn solve(&self, model: &M) -> Result<(Gaussian<Triangular>, f64)> {
        let solver = Solver { goal: INNER_GOAL, ..Solver::default() };
        let last = self.last.borrow().clone();
        let solution = match last {
            Some(start) => {
                stop::check_early()?;
                let mut told = |_: &Look, _: &State<'_>| match stop::is_wanted() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
                solver.run_from(model, &start, &mut told)?
            }
            None => {
                let mut on = |_: &Look, _: &State<'_>| ControlFlow::Continue(());
                solver.run_noting(model, &mut self.begun.borrow_mut(), &mut on)?
            }
        };
        if solution.stop == Stop::Interrupted {
            return Err(Error::Stopped { during: "the search for the scales" });
        }
        *self.last.borrow_mut() = Some(solution.gaussian.clone());
        Ok((solution.gaussian, solution.neg_elbo))
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
        let model = self.at(eta)?;
        let (q, neg_elbo) = self.solve(&model)?;
        self.remember(eta, &q, neg_elbo);
        for (b, (coefficients, _)) in self.free.shared.iter().enumerate() {
            let square = |i: usize| (q.mean()[i] - model.prior().center(i)).powi(2) + variance(&q, i);
            let total: f64 = coefficients.iter().map(|&i| square(i)).sum();
            gradient[b] = total / (2.0 * eta[b]).exp() - coefficients.len() as f64;
        }
        if let (Some(_), Some(last), Some(log_sd)) = (self.free.noise_sd, gradient.last_mut(), eta.last()) {
            let (weight, squares) = model.expected_squares(&q)?;
            stop::check()?;
            *last = squares / (2.0 * log_sd).exp() - weight;
        }
        Ok(-neg_elbo)
    }
}

/// Σ_ii.
fn variance(q: &Gaussian<Triangular>, i: usize) -> f64 {
    let row = &q.factor()[packed_index(i, 0)..packed_index(i, i) + 1];
    provi_kernels::dot(row, row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::stop::Polls;
    use crate::glm::Prior;
    use crate::glm::design::Design;

    /// A logistic model with one slope and four groups of five.
    fn grouped() -> (Glm, FreeScales) {
        let mut noise = [0.0; 20];
        provi_kernels::normals(3, 1, 4, &mut noise);
        let mut triplets = Vec::new();
        for n in 0..20 {
            triplets.extend([(n, 0, noise[n]), (n, 1 + n / 5, 1.0)]);
        }
        let y: Vec<f64> = (0..20).map(|n| f64::from(u8::from(n % 5 <= n / 5))).collect();
        let prior = Prior::scale(1.0).unwrap().with_mean(&[0.0, 0.1, 0.1, 0.1, 0.1]).unwrap();
        let model = Glm::logistic(Design::triplets(20, 5, &triplets).unwrap(), &y, prior).unwrap();
        (model, FreeScales { shared: vec![((1..5).collect(), 1.0)], noise_sd: None })
    }

    #[test]
    fn the_gradient_is_that_of_the_profile() {
        let (model, free) = grouped();
        let start = [0.3f64];
        let profile = Profile::new(&free, &model, &start);
        let mut gradient = [0.0];
        let mut at = |x: f64| (profile.log_density(&[x], &mut gradient).unwrap(), gradient[0]);
        let ((up, _), (down, _), (_, slope)) = (at(0.301), at(0.299), at(0.3));
        assert!(((up - down) / 0.002 - slope).abs() < 1e-5, "{} {slope}", (up - down) / 0.002);
    }

    #[test]
    fn no_other_scale_has_a_larger_elbo() {
        let (model, free) = grouped();
        let found = free.maximise(&model).unwrap();
        let tau = found.shared[0];
        let elbo = |tau: f64| {
            let prior = model.prior().with_scale(5, &[1, 2, 3, 4], tau).unwrap();
            -Solver::default().run(&model.clone().with_prior(prior).unwrap()).unwrap().neg_elbo
        };
        assert!((elbo(tau) + found.neg_elbo).abs() < 1e-8);
        for factor in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
            assert!(elbo(tau * factor) < elbo(tau), "{factor}");
        }
        assert!(!found.vanishing[0] && tau > 0.3 && tau < 3.0, "{tau}");
    }

    #[test]
    fn a_search_that_is_stopped_has_the_best_scales_so_far() {
        let (model, free) = grouped();
        let whole = free.maximise(&model).unwrap();
        assert!(!whole.stopped_early);
        // With patience for the first solution and no more.
        let asked = crate::base::stop::Stop::default();
        asked.ask();
        let patient = crate::base::stop::Signal::on(&asked).with_patience(std::time::Duration::MAX);
        let cut = patient.cover(|| free.maximise(&model)).unwrap();
        assert!(cut.stopped_early && cut.evaluations == 1, "{cut:?}");
        assert!((cut.shared[0] - 1.0).abs() < 1e-12 && cut.neg_elbo >= whole.neg_elbo);
        let there = Solver::default().run(&cut.model).unwrap();
        assert!((there.neg_elbo - cut.neg_elbo).abs() < 1e-9, "the Gaussian is that of these scales");
        // Cut off before the first solution: the first guesses, with an approximate mode.
        for cut in 1..4 {
            let begun = Polls::new("the search", cut).signal().cover(|| free.maximise(&model)).unwrap();
            assert!(begun.stopped_early && begun.evaluations == 0, "{cut}: {begun:?}");
            assert!((begun.shared[0] - 1.0).abs() < 1e-12 && !begun.vanishing[0]);
            let (mut at, mut away) = ([0.0; 5], [0.0; 5]);
            let there = begun.model.log_density(begun.gaussian.mean(), &mut at).unwrap();
            assert!(there > begun.model.log_density(&[0.0; 5], &mut away).unwrap(), "{cut}");
        }
        // Without any time there is no result to keep.
        let hasty = crate::base::stop::Signal::on(&asked).with_patience(std::time::Duration::ZERO);
        let nothing = hasty.cover(|| free.maximise(&model)).unwrap_err();
        assert!(matches!(nothing, Error::Stopped { .. }), "{nothing}");
        // A signal that nobody raises changes no bit.
        let watched = crate::base::stop::Signal::default().cover(|| free.maximise(&model)).unwrap();
        assert_eq!((watched.gaussian, watched.shared), (whole.gaussian, whole.shared));
    }

    #[test]
    fn groups_that_do_not_differ_are_said_to_vanish() {
        let (model, free) = grouped();
        let y: Vec<f64> = (0..20).map(|n| f64::from(u8::from(n % 5 < 2))).collect();
        let prior = model.prior().clone().with_mean(&[0.0; 5]).unwrap();
        let mut triplets: Vec<_> = (0..20).map(|n| (n, 1 + n / 5, 1.0)).collect();
        triplets.extend((0..20).map(|n| (n, 0, 1.0)));
        let model = Glm::logistic(Design::triplets(20, 5, &triplets).unwrap(), &y, prior).unwrap();
        let found = free.maximise(&model).unwrap();
        assert!(found.vanishing[0] && found.shared[0] < 0.1, "{:?}", found.shared);
    }

    #[test]
    fn a_small_scale_at_a_maximum_inside_does_not_vanish() {
        // One row per group, noise 1: the textbook's τ² is mean(y²) − 1, or 0 if that is negative. At τ² = 0.01 a
        // hundredth of the information comes from the data, and the maximum is still interior.
        let maximise = |square: f64| {
            let triplets: Vec<_> = (0..20).map(|n| (n, n, 1.0)).collect();
            let y: Vec<f64> =
                (0..20).map(|n| if n % 2 == 0 { square.sqrt() } else { -square.sqrt() }).collect();
            let design = Design::triplets(20, 20, &triplets).unwrap();
            let model = Glm::linear(design, &y, 1.0, Prior::scale(1.0).unwrap()).unwrap();
            FreeScales { shared: vec![((0..20).collect(), 0.5)], noise_sd: None }.maximise(&model).unwrap()
        };
        let inside = maximise(1.01);
        assert!((inside.shared[0] - 0.1).abs() < 1e-3 && !inside.vanishing[0], "{:?}", inside.shared);
        let outside = maximise(0.99);
        assert!(outside.shared[0] < 0.05 && outside.vanishing[0], "{:?}", outside.shared);
    }

    #[test]
    fn only_independent_coefficients_and_gaussian_noise_have_scales() {
        let (model, _) = grouped();
        let noise = FreeScales { noise_sd: Some(1.0), ..FreeScales::default() };
        assert_eq!(
            noise.maximise(&model).unwrap_err().to_string(),
            "family bernoulli has no noise deviation to choose"
        );
        let mut full = crate::base::matrix::Matrix::diagonal(&[1.0; 5]);
        (full[(1, 2)], full[(2, 1)]) = (0.5, 0.5);
        let tied = model.with_prior(Prior::precision_matrix(full).unwrap()).unwrap();
        let free = FreeScales { shared: vec![(vec![1], 1.0)], noise_sd: None };
        assert!(free.maximise(&tied).unwrap_err().to_string().contains("coefficient 1"));
    }
}
