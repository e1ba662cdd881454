//! What a plan promises, and the numbers behind it.

use super::{Coordinates, Setting};
use crate::curvature::Provenance;
use crate::method::Method;
use crate::schedule::Schedule;
use crate::theory::noise::NoiseBound;
use crate::theory::recursion::{Contraction, Recursion};

/// The constants of a plan, in the coordinates of its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Constants {
    /// d.
    pub dim: usize,
    /// μ.
    pub convexity: f64,
    /// M.
    pub smoothness: f64,
    /// K, where it is known.
    pub residual_smoothness: Option<f64>,
    /// a and b.
    pub noise: NoiseBound,
    /// e_0 ≥ ‖w_0 − w*‖².
    pub start: f64,
    /// The weakest origin of the above.
    pub provenance: Provenance,
}

/// What a bound measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Norm {
    /// E‖m−m*‖² + E‖C−C*‖_F² in the user's coordinates.
    Original,
    /// E of (m−m*)ᵀH_lo(m−m*) + tr((C−C*)ᵀH_lo(C−C*)).
    LowerCurvature,
    /// E‖P⁻¹(m−m*)‖² + E‖P⁻¹(C−C*)‖_F² with PPᵀ the Laplace covariance.
    Laplace,
    /// E f(w̄_T) − f*, in nats.
    Gap,
}

impl Norm {
    /// The formula, as printed.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Original => "E[‖m−m*‖² + ‖C−C*‖²]",
            Self::LowerCurvature => "E[(m−m*)ᵀH_lo(m−m*) + tr (C−C*)ᵀH_lo(C−C*)]",
            Self::Laplace => "E[‖P⁻¹(m−m*)‖² + ‖P⁻¹(C−C*)‖²], PPᵀ the Laplace covariance",
            Self::Gap => "E[f(w̄_T) − f*], nats",
        }
    }
}

/// A bound that holds before any draw is made, or the reason why there is none.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Promise {
    /// The bound.
    pub value: Option<f64>,
    /// The ledger key of the statement.
    pub key: Option<&'static str>,
    /// What is bounded.
    pub norm: Option<Norm>,
    /// The weakest origin of its constants.
    pub provenance: Option<Provenance>,
    /// Why there is no bound.
    pub reason: Option<String>,
}

impl Promise {
    pub(super) fn none(reason: String) -> Self {
        Self { value: None, key: None, norm: None, provenance: None, reason: Some(reason) }
    }

    pub(super) fn gap(value: f64, key: &'static str, provenance: Provenance) -> Self {
        Self {
            value: Some(value),
            key: Some(key),
            norm: Some(Norm::Gap),
            provenance: Some(provenance),
            reason: None,
        }
    }
}

/// The recursion propagated along the planned steps; no promise where it does not even keep e_0.
pub(super) fn of_steps(
    method: Method,
    constants: &Constants,
    start: f64,
    schedule: &Schedule,
    steps: u64,
    setting: &Setting,
) -> Promise {
    let value = match method {
        Method::Unproven(_) => {
            return Promise::none("no theorem covers this pairing of estimator and step".into());
        }
        Method::Exact => Contraction::prox(constants.convexity, constants.smoothness)
            .map(|c| c.propagate(schedule, steps, start)),
        _ => Recursion::new(constants.convexity, constants.noise).map(|r| match schedule {
            Schedule::Optimal { .. } => r.optimal_after(start, steps),
            other => r.propagate(other, steps, start),
        }),
    };
    match value {
        Ok(value) if value.is_finite() && value <= start => Promise {
            value: Some(value),
            key: Some("recursion"),
            norm: Some(match setting.frame.coordinates {
                Coordinates::Original => Norm::Original,
                Coordinates::Curvature => Norm::LowerCurvature,
                Coordinates::Laplace => Norm::Laplace,
            }),
            provenance: Some(constants.provenance),
            reason: None,
        },
        Ok(_) => {
            let limit = 2.0 * constants.convexity / constants.noise.growth;
            Promise::none(format!(
                "practical steps (γ₀ = {:.2e}) are larger than the proved range γ < 2μ/a = {limit:.2e} allows",
                schedule.at(0)
            ))
        }
        Err(error) => Promise::none(error.to_string()),
    }
}
