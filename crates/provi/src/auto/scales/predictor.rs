//! Models whose prior, noise and gaps between cut points can be replaced, in memory or streamed.

use crate::auto::solve::{Look, Solver, State, Stop};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::glm::normal_equations::{NormalEquations, residual_sums};
use crate::glm::rows::{Row, Rows};
use crate::glm::sparse::{AnyGaussian, SparseModel, SparseSolver};
use crate::glm::stream::{Reduce, Source, Streamed};
use crate::glm::{Family, Gaps, Glm, Prior, SparseForm, SparseGlm};
use crate::target::Target;
use crate::{base::stop, target::solution};
use std::ops::ControlFlow;

/// A linear-predictor model whose prior and noise can be replaced.
pub trait LinearPredictor: Target + Clone {
    /// The prior.
    fn prior(&self) -> &Prior;

    /// The same data with another prior.
    fn with_prior(self, prior: Prior) -> Result<Self>;

    /// The same data with another noise deviation; an error if the family has none.
    fn with_noise_sd(self, noise_sd: f64) -> Result<Self>;

    /// The same data with other gaps between the cut points of ordered categories; an error for another family.
    fn with_gaps(self, gaps: &[f64]) -> Result<Self>;

    /// E_q ∂V/∂log δ_i for each of these gaps; zeros beyond the last.
    fn gap_slopes(&self, q: &AnyGaussian) -> Result<[f64; Gaps::MOST]>;

    /// A first guess of the noise: for a gaussian model the standard deviation of the responses, where a row of weight 2 counts as two
    /// rows; 1 if they do not vary, and for noise that is relative to the mean.
    fn response_deviation(&self) -> f64;

    /// E_q ∂V/∂log σ, σ the noise deviation: Σ_n w_n(1 − E_q(y_n − s_n)²/σ²) for a gaussian model.
    fn noise_slope(&self, q: &AnyGaussian) -> Result<f64>;

    /// The best Gaussian up to that gap, or as near as rounding allows, and its negative ELBO. The search begins at `from`; if
    /// that is not given, where it begins goes to `begun`.
    fn best(
        &self,
        goal: f64,
        from: Option<&AnyGaussian>,
        begun: &mut Option<AnyGaussian>,
    ) -> Result<(AnyGaussian, f64)> {
        let solver = Solver { goal, ..Solver::default() };
        let solution = match from {
            Some(from) => {
                stop::check_early()?;
                let mut told = |_: &Look, _: &State<'_>| go_on();
                solver.run_from(self, &*from.to_dense()?, &mut told)?
            }
            None => {
                let mut on = |_: &Look, _: &State<'_>| ControlFlow::Continue(());
                let mut noted = None;
                let found = solver.run_noting(self, &mut noted, &mut on);
                *begun = noted.map(AnyGaussian::from);
                found?
            }
        };
        unless_cut_off(solution.stop)?;
        Ok((solution.gaussian.into(), solution.neg_elbo))
    }

    /// The proved gap at each value of scales that are integrated over, in nats: far below what the sum over values leaves open.
    fn node_goal(&self) -> f64 {
        1e-7
    }

    /// The sparse form of the model, if it is solved by that.
    fn sparse(&self) -> Option<&SparseModel> {
        None
    }

    /// For a gaussian model, the sums from which it is solved for any prior and noise; `None` for others.
    fn normal_equations(&self) -> Result<Option<NormalEquations>> {
        Ok(None)
    }

    /// Whether the responses are normal, so that the posterior given the scales is a Gaussian.
    fn is_gaussian(&self) -> bool;

    /// Does the work for each item, in their order. Models whose rows are in memory do several at once; others one after the other, as
    /// processes that share the rows must do the same at the same time.
    fn for_each<P: Sync, T: Send>(&self, items: &[P], work: &(dyn Fn(&Self, &P) -> T + Sync)) -> Vec<T> {
        items.iter().map(|item| work(self, item)).collect()
    }
}

impl Rows {
    /// Adds Σ w_n E_q ∂φ_n/∂log σ to `sums`.
    pub(crate) fn add_noise_slope(&self, family: Family, q: &Gaussian<Triangular>, sums: &mut [f64]) {
        let slope = |row: Row| family.noise_slope(row.response, row.mean, row.variance, row.lever);
        self.add_over_predictors(q, |row| [row.weight * slope(row)], sums);
    }

    /// Adds Σ w_n E_q ∂φ_n/∂log δ_i of each gap δ_i to `sums`.
    pub(crate) fn add_gap_slopes(&self, family: Family, q: &Gaussian<Triangular>, sums: &mut [f64]) {
        let slopes = |row: Row| {
            family.gap_slopes(row.mean, row.variance, row.lever.category).map(|slope| row.weight * slope)
        };
        self.add_over_predictors(q, slopes, sums);
    }
}

/// Breaks off if a stop is wanted.
fn go_on() -> ControlFlow<()> {
    match stop::is_wanted() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

fn unless_cut_off(stop: Stop) -> Result<()> {
    match stop {
        Stop::Interrupted => Err(Error::Stopped { during: "the search for the scales" }),
        _ => Ok(()),
    }
}

/// The least gap that is sought at each value of the scales of a sparse model: rounding over many rows allows no less.
const LEAST_GAP: f64 = 1e-8;

/// Each solution uses all threads, and the solutions follow one another.
impl<M: LinearPredictor + SparseForm> LinearPredictor for SparseGlm<M> {
    fn prior(&self) -> &Prior {
        self.glm().prior()
    }

    fn with_prior(self, prior: Prior) -> Result<Self> {
        self.with(|glm| glm.with_prior(prior))
    }

    fn with_noise_sd(self, noise_sd: f64) -> Result<Self> {
        self.with(|glm| glm.with_noise_sd(noise_sd))
    }

    fn with_gaps(self, gaps: &[f64]) -> Result<Self> {
        self.with(|glm| glm.with_gaps(gaps))
    }

    fn gap_slopes(&self, q: &AnyGaussian) -> Result<[f64; Gaps::MOST]> {
        match q {
            AnyGaussian::Dense(_) => self.glm().gap_slopes(q),
            AnyGaussian::Sparse(q) => SparseGlm::sparse(self).gap_slopes(q),
        }
    }

    fn response_deviation(&self) -> f64 {
        self.glm().response_deviation()
    }

    fn noise_slope(&self, q: &AnyGaussian) -> Result<f64> {
        match q {
            AnyGaussian::Dense(_) => self.glm().noise_slope(q),
            AnyGaussian::Sparse(q) => SparseGlm::sparse(self).noise_slope(q),
        }
    }

    fn best(
        &self,
        goal: f64,
        from: Option<&AnyGaussian>,
        begun: &mut Option<AnyGaussian>,
    ) -> Result<(AnyGaussian, f64)> {
        let solver = SparseSolver { goal: goal.max(LEAST_GAP), ..SparseSolver::default() };
        let mut told = |_: &solution::Look| go_on();
        let solution = match from.and_then(AnyGaussian::as_sparse) {
            Some(from) => solver.run_from(SparseGlm::sparse(self), from, &mut told)?,
            None => solver.run_with(SparseGlm::sparse(self), &mut told)?,
        };
        if solution.stop == Stop::Interrupted {
            *begun = Some(solution.gaussian.into());
            return Err(Error::Stopped { during: "the search for the scales" });
        }
        Ok((solution.gaussian.into(), solution.neg_elbo))
    }

    fn sparse(&self) -> Option<&SparseModel> {
        Some(SparseGlm::sparse(self))
    }

    fn is_gaussian(&self) -> bool {
        self.glm().is_gaussian()
    }

    /// The bound is thousands of times the gap, by as much as the precision of a coefficient is above the prior's.
    fn node_goal(&self) -> f64 {
        1e-5
    }
}

/// The family with another noise.
fn noisy(family: Family, noise_sd: f64) -> Result<Family> {
    family.with_noise_sd(noise_sd).ok_or(Error::NoNoise { family: family.name() })
}

/// The family with other gaps.
fn gapped(family: Family, gaps: &[f64]) -> Result<Family> {
    match family {
        Family::Ordered { .. } => Ok(Family::Ordered { gaps: Gaps::new(gaps)? }),
        _ => Err(Error::NoGaps { family: family.name() }),
    }
}

impl LinearPredictor for Glm {
    fn prior(&self) -> &Prior {
        self.prior()
    }

    fn with_prior(self, prior: Prior) -> Result<Self> {
        self.with_prior(prior)
    }

    fn with_noise_sd(self, noise_sd: f64) -> Result<Self> {
        let family = noisy(self.family(), noise_sd)?;
        self.with_family(family)
    }

    fn with_gaps(self, gaps: &[f64]) -> Result<Self> {
        let family = gapped(self.family(), gaps)?;
        self.with_family(family)
    }

    fn gap_slopes(&self, q: &AnyGaussian) -> Result<[f64; Gaps::MOST]> {
        let (q, mut sums) = (q.to_dense()?, [0.0; Gaps::MOST]);
        self.rows.add_gap_slopes(self.family(), &q, &mut sums);
        Ok(sums)
    }

    fn response_deviation(&self) -> f64 {
        match self.family() {
            Family::Gaussian { .. } => self.rows.response_spread().deviation_or_one(),
            _ => 1.0,
        }
    }

    fn noise_slope(&self, q: &AnyGaussian) -> Result<f64> {
        let (q, mut sum) = (q.to_dense()?, [0.0]);
        self.rows.add_noise_slope(self.family(), &q, &mut sum);
        Ok(sum[0])
    }

    fn is_gaussian(&self) -> bool {
        matches!(self.family(), Family::Gaussian { .. })
    }

    fn normal_equations(&self) -> Result<Option<NormalEquations>> {
        let Family::Gaussian { noise_sd } = self.family() else { return Ok(None) };
        let d = self.dim();
        let mut gram = Matrix::zeros(d, d);
        self.rows.add_gram(1.0, &mut gram);
        let chains = self.rows.chains();
        let energies = self.rows.energy_chains();
        let chain = chains.grams.max(chains.sums).max(energies.slope + energies.chunks).max(self.rows.len());
        let residuals = |at: &[f64]| {
            let mut sums = vec![0.0; residual_sums(d)];
            self.rows.add_residual_sums(at, &mut sums);
            Ok(sums)
        };
        NormalEquations::new(gram, noise_sd, chain, residuals).map(Some)
    }

    #[cfg(feature = "parallel")]
    fn for_each<P: Sync, T: Send>(&self, items: &[P], work: &(dyn Fn(&Self, &P) -> T + Sync)) -> Vec<T> {
        use rayon::prelude::*;
        let carried = crate::base::stop::Carried::from_here();
        items.par_iter().map(|item| carried.within(|| work(self, item))).collect()
    }
}

impl<S: Source, R: Reduce> LinearPredictor for Streamed<S, R> {
    fn prior(&self) -> &Prior {
        self.prior()
    }

    fn with_prior(self, prior: Prior) -> Result<Self> {
        self.with_prior(prior)
    }

    fn with_noise_sd(self, noise_sd: f64) -> Result<Self> {
        let family = noisy(self.family(), noise_sd)?;
        self.with_noisy_family(family)
    }

    fn with_gaps(self, gaps: &[f64]) -> Result<Self> {
        let family = gapped(self.family(), gaps)?;
        self.with_noisy_family(family)
    }

    fn gap_slopes(&self, q: &AnyGaussian) -> Result<[f64; Gaps::MOST]> {
        let (q, family) = (q.to_dense()?, self.family());
        self.over_blocks(|rows, sums| rows.add_gap_slopes(family, &q, sums))
    }

    fn response_deviation(&self) -> f64 {
        match self.family() {
            Family::Gaussian { .. } => self.response_spread().deviation_or_one(),
            _ => 1.0,
        }
    }

    fn noise_slope(&self, q: &AnyGaussian) -> Result<f64> {
        let (q, family) = (q.to_dense()?, self.family());
        let [slope] = self.over_blocks(|rows, sums| rows.add_noise_slope(family, &q, sums))?;
        Ok(slope)
    }

    fn is_gaussian(&self) -> bool {
        matches!(self.family(), Family::Gaussian { .. })
    }

    fn normal_equations(&self) -> Result<Option<NormalEquations>> {
        self.gaussian_sums()
    }
}
