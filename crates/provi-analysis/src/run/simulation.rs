//! Data that a model itself gives: parameters of the prior, then responses at the rows of the table.

use provi::target::Glm;
use provi::{Matrix, Seed, Target};

use crate::error::{Error, Result};
use crate::model::{Integrating, Model, ModelTarget};

/// A model that can be simulated: its rows are in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Simulation<'m> {
    pub(super) glm: &'m Glm,
    pub(super) integrating: Option<&'m Integrating>,
    pub(super) seed: Seed,
}

/// Parameters of the prior.
pub(super) struct Truth {
    /// The coefficients.
    pub(super) point: Vec<f64>,
    /// Logarithms of the scales that are integrated over, then coordinates of correlations; empty if there are none.
    pub(super) log_scales: Vec<f64>,
    /// The model at these scales.
    pub(super) model: Glm,
}

impl<'m> Simulation<'m> {
    /// Of a model; `what` is what was asked for.
    pub(super) fn new(model: &'m Model, what: &str, seed: Seed) -> Result<Self> {
        let glm = match &model.target {
            ModelTarget::Memory(glm) => &**glm,
            ModelTarget::Sparse(_) | ModelTarget::SparseFiles(_) => {
                return Err(Error::SparseFactor { what: what.to_owned() });
            }
            ModelTarget::Files(_) => return Err(Error::SimulationNeedsRows),
        };
        Ok(Self { glm, integrating: model.integrating.as_ref(), seed })
    }

    /// The parameters with this number.
    pub(super) fn truth(&self, number: u64) -> Result<Truth> {
        let (log_scales, model) = match self.integrating {
            None => (Vec::new(), self.glm.clone()),
            Some(Integrating { free, how, .. }) => {
                let log_scales = how.draw(free, number, self.seed)?;
                let model = free.model_at(self.glm, &log_scales)?;
                (log_scales, model)
            }
        };
        let point: Matrix = model.prior().sample(model.dim(), number..number + 1, self.seed)?;
        Ok(Truth { point: point.row(0).to_vec(), log_scales, model })
    }

    /// The same model with responses of these parameters.
    pub(super) fn replicated(&self, truth: &Truth, number: u64) -> Result<Glm> {
        Ok(truth.model.replicated(&truth.point, number, self.seed)?)
    }
}
