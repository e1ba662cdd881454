//! The terms that draws use, and their effect on a promise.

use super::Frame;
use crate::base::error::{Error, Result};
use crate::base::scratch::Scratch;
use crate::sgd::estimator::NO_TERMS;
use crate::sgd::subsample::{Law, Subsample};
use crate::target::curvature::Provenance;
use crate::target::whiten::Whitened;
use crate::target::{FiniteSum, Target, TermSmoothness};
use crate::theory::noise::TermNoise;
use std::sync::Arc;

/// How terms are drawn in the coordinates of the steps, and the constants if the M_n are known.
pub(super) struct DrawnTerms {
    pub(super) law: Arc<Law>,
    bounds: Option<Bounds>,
}

struct Bounds {
    /// X.
    spread: f64,
    /// Y.
    pull2: f64,
    provenance: Provenance,
}

impl DrawnTerms {
    pub(super) fn new(target: &dyn Target, subsample: Subsample, frame: &Frame) -> Result<Self> {
        match &frame.factor {
            None => Self::of(target.finite_sum().ok_or(NO_TERMS)?, subsample, &frame.center),
            Some(factor) => {
                target.finite_sum().ok_or(NO_TERMS)?;
                let white = Whitened::new(target, frame.center.clone(), factor.clone());
                Self::of(&white, subsample, &vec![0.0; frame.center.len()])
            }
        }
    }

    /// In the sum's own coordinates; `mode` is the computed mode.
    fn of(sum: &dyn FiniteSum, subsample: Subsample, mode: &[f64]) -> Result<Self> {
        let smoothness = sum.term_smoothness()?;
        if let Some(found) = smoothness.as_ref().map(|s| s.each.len()).filter(|&len| len != sum.terms()) {
            return Err(Error::Shape { what: "smoothness of the terms", found, expected: sum.terms() });
        }
        let each = smoothness.as_ref().map(|s| &s.each[..]);
        let law = Law::new(subsample, sum.terms(), each)?;
        let bounds = smoothness.map(|smoothness| Bounds::new(sum, &law, &smoothness, mode)).transpose()?;
        Ok(Self { law: Arc::new(law), bounds })
    }

    /// The origin of the constants.
    pub(super) fn provenance(&self) -> Option<Provenance> {
        self.bounds.as_ref().map(|b| b.provenance)
    }

    /// The constants, if the optimum is at most `distance` from the computed mode.
    pub(super) fn noise(&self, distance: f64) -> Result<TermNoise> {
        let bounds = self.bounds.as_ref().ok_or(Error::MissingConstant {
            wanted: "a promise on a subsample",
            constant: "the smoothness M_n of each term",
            way_out: "declare it, or use the whole target",
        })?;
        TermNoise::new(self.law.subsample().terms, bounds.spread, bounds.pull2, distance)
    }

    /// X/B. If the M_n are not known: its value for rows of one size in coordinates with ∇²V ≈ I, where Σ_n M_n ≈ d
    /// in d directions make X ≈ d.
    pub(super) fn practical_spread(&self, d: f64) -> f64 {
        self.bounds.as_ref().map_or(d, |b| b.spread) / self.law.subsample().terms as f64
    }
}

impl Bounds {
    /// One pass over the terms, one at a time: Y is a sum of squares.
    fn new(sum: &dyn FiniteSum, law: &Law, smoothness: &TermSmoothness, mode: &[f64]) -> Result<Self> {
        let spread = sum.spread_through(None, smoothness, &law.probabilities())?;
        let (mut value, mut gradient) = ([0.0], vec![0.0; mode.len()]);
        let mut scratch = Scratch::default();
        let mut pull2 = 0.0;
        for n in 0..sum.terms() {
            sum.weighted_terms(&[n], &[1.0], mode, &mut value, &mut gradient, &mut scratch)?;
            pull2 += provi_kernels::dot(&gradient, &gradient) / law.probability(n);
        }
        // The factor exceeds the rounding error of gradients that do not cancel.
        Ok(Self { spread, pull2: pull2 * (1.0 + 1e-9), provenance: smoothness.provenance })
    }
}
