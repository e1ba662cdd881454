//! Draws of the posterior itself, for a fit and its data.

use provi::checks::Checks;
use provi::exact_draws::ExactDraws;
use provi::target::Evaluator;
use provi::{Audit, Gaussian, Matrix, Provenance, Seed};

use super::sampled::Law;
use crate::error::{Error, Result};
use crate::model::{Model, ModelTarget};
use crate::run::fitted::Fitted;

impl Fitted {
    /// Makes the checks of the model against its data again, with replicated data whose coefficients are drawn from the posterior itself.
    /// The fit's own seed is used.
    pub fn check_exactly(&mut self, model: &Model) -> Result<()> {
        self.needs_known_scales("a check by draws of the posterior itself")?;
        let ModelTarget::Memory(glm) = &model.target else { return Err(Error::ExactNeedsRows) };
        let seed = Seed(self.file.seed);
        let q = self.dense("an exact draw")?.into_owned();
        let points = ExactDraws::new(glm, &q, seed)?.draw(Checks::REPLICATES)?;
        self.file.checks = Some(Checks::with_draws(glm, &self.gaussian, &points, seed)?);
        Ok(())
    }
}

/// Draws that are made as they are asked for, and what they are draws of.
#[derive(Debug)]
pub struct PosteriorDraws<'m> {
    draws: ExactDraws<'m>,
}

impl<'m> PosteriorDraws<'m> {
    /// Of a model, with q near its posterior: exact ones or, where those cost too much and a total variation of `tv` from the posterior
    /// is allowed, draws with a proved one [exact-draws].
    pub fn new(model: &'m Model, q: &Gaussian, tv: Option<f64>, seed: Seed) -> Result<Self> {
        model.needs_known_scales("a draw of the posterior itself")?;
        match &model.target {
            ModelTarget::Memory(glm) => Self::of_target(&**glm, q, tv, seed),
            ModelTarget::Sparse(_) | ModelTarget::SparseFiles(_) => {
                Err(Error::SparseFactor { what: "a draw of the posterior itself".to_owned() })
            }
            ModelTarget::Files(_) => Err(Error::ExactNeedsRows),
        }
    }

    /// The same for any log density with bounds of its curvature.
    pub fn of_target(
        target: impl Into<Evaluator<'m>>,
        q: &Gaussian,
        tv: Option<f64>,
        seed: Seed,
    ) -> Result<Self> {
        let target = target.into();
        let draws = match (ExactDraws::new(target, q, seed), tv) {
            (
                Err(provi::Error::ExactDrawsCost { .. } | provi::Error::ExactDrawsRounding { .. }),
                Some(most),
            ) => ExactDraws::near(target, q, &Audit::default(), most, seed),
            (found, _) => found,
        };
        Ok(Self { draws: draws? })
    }

    /// What they are draws of.
    pub fn law(&self) -> Law {
        let declared = self.draws.provenance() != Provenance::Proved;
        match self.draws.total_variation() {
            None => Law::Exact { rounding: self.draws.rounding(), declared },
            Some((bound, confidence)) => Law::Tv { bound, confidence, declared },
        }
    }

    /// A bound of the expected number of proposals for one draw.
    pub fn proposals_bound(&self) -> f64 {
        self.draws.proposals_bound()
    }

    /// Draws handed over so far.
    pub fn made(&self) -> u64 {
        self.draws.made()
    }

    /// The next ones, a row each; fewer once a stop is wanted.
    pub fn draw(&mut self, count: usize) -> Result<Matrix> {
        Ok(self.draws.draw(count)?)
    }
}
