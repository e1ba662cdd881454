//! Predicted probabilities of the posterior itself, measured by an audit with the data of the fit [measured-events].

use provi::audit::Audit;
use provi::predict::Prediction;
use provi::target::Family;
use provi::theory::bounded::Law;
use provi::{Seed, Target};

use super::predict::NewData;
use crate::error::{Error, Result};
use crate::model::{Model, ModelTarget};

/// What is proved of the probabilities of new rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbabilityErrors {
    /// Upper bound of the difference between the posterior's probability and the predicted one, row by row.
    pub each: Vec<f64>,
    /// The probability over the audit's draws with which all of them hold.
    pub confidence: f64,
}

impl NewData<'_> {
    /// An audit at the fitted Gaussian with the fit's data, which is asked for the probability of each row. Rows of groups that the fit has not seen, and
    /// those beyond [`MOST_ASKED`](super::predict::MOST_ASKED), have the bound of the total variation. `None` for rates and values, and where nothing is proved.
    pub fn measured_errors(
        &self,
        model: &Model,
        predictions: &[Prediction],
        seed: Seed,
    ) -> Result<Option<ProbabilityErrors>> {
        model.needs_known_scales("a measured probability")?;
        let law = match self.family {
            Family::Bernoulli | Family::Binomial => Law::Logistic,
            Family::Probit => Law::Probit,
            _ => return Ok(None),
        };
        let glm = match &model.target {
            ModelTarget::Memory(glm) => glm,
            // Nothing is proved of a posterior in so many dimensions.
            ModelTarget::Sparse(_) | ModelTarget::SparseFiles(_) => return Ok(None),
            ModelTarget::Files(_) => return Err(Error::ExactNeedsRows),
        };
        let (asked, questions) = self.questions(law);
        let stored = self.certificate();
        let delta = stored.map_or(1e-6, |c| c.grounds.failure_probability);
        let audit = Audit { failure_probability: delta.clamp(1e-12, 0.5), ..Audit::default() };
        let Some(q) = self.gaussian().filter(|q| q.dim() == glm.dim()) else { return Ok(None) };
        let audited = audit.ask(glm, q, seed, &questions)?;
        let found = audited.certificate();
        // Both hold together: the stored one and this one have draws of their own.
        let kept = stored.and_then(|c| c.tv.bound());
        let Some(plain) = [kept, found.tv.bound()].into_iter().flatten().min_by(f64::total_cmp) else {
            return Ok(None);
        };
        let mut each = vec![plain.min(1.0); predictions.len()];
        for (&row, [low, high]) in asked.iter().zip(audited.answers()) {
            // The prediction itself is good to far less than 1e-9.
            let mean = predictions[row].mean;
            each[row] = each[row].min((high - mean).max(mean - low).max(0.0) + 1e-9);
        }
        let lost = kept.map_or(0.0, |_| delta) + found.grounds.failure_probability;
        Ok(Some(ProbabilityErrors { each, confidence: (1.0 - lost).max(0.0) }))
    }
}
