//! What a plan promises, and the constants behind it.

use crate::base::error::{Error, Result};
use crate::base::scalar::Positive;
use crate::sgd::average::{Average, Averager};
use crate::sgd::method::Method;
use crate::target::curvature::Provenance;
use crate::theory::noise::NoiseBound;
use crate::theory::recursion::{Contraction, Recursion};
use crate::theory::schedule::Schedule;
use std::ops::Deref;

/// The constants of a plan, in the coordinates of its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Constants {
    /// The dimension d.
    pub dim: usize,
    /// The convexity μ.
    pub convexity: f64,
    /// The smoothness M.
    pub smoothness: f64,
    /// The residual smoothness K, if it is known.
    pub residual_smoothness: Option<f64>,
    /// The noise bound (a, b).
    pub noise: NoiseBound,
    /// e_0 ≥ ‖w_0 − w*‖².
    pub start: f64,
    /// ε: bound of the error that quadrature and rounding cause in an exact gradient, four times their bound at
    /// w_0; 0 for a method that draws.
    pub gradient_error: f64,
    /// The weakest origin of these constants.
    pub provenance: Provenance,
}

impl Constants {
    /// The step size up to which the recursion contracts: 2μ/a, or 2/M for the exact gradient.
    pub fn largest_step(&self, method: Method) -> f64 {
        match method {
            Method::Exact => 2.0 / self.smoothness,
            _ => 2.0 * self.convexity / self.noise.growth,
        }
    }

    /// Steps on the exact gradient to a promise of at most `accuracy`.
    ///
    /// The promise is (√e_T + ε/μ)², where ε bounds the error of that gradient, so the contraction itself must
    /// reach (√accuracy − ε/μ)². An accuracy at or below (ε/μ)² is out of reach, whatever the number of steps.
    pub(super) fn exact_steps_to(&self, accuracy: f64) -> Result<u64> {
        let contraction = Contraction::prox(self.convexity, self.smoothness)?;
        let accuracy = Positive::new("accuracy", accuracy)?.get();
        let root = accuracy.sqrt() - self.gradient_error / self.convexity;
        // A root of the size of rounding errors counts as zero.
        if root <= 1e-12 * accuracy.sqrt() {
            let floor = (self.gradient_error / self.convexity).powi(2);
            return Err(Error::BelowRounding { accuracy, floor });
        }
        contraction.steps_to(self.start, root * root * (1.0 - 8.0 * f64::EPSILON))
    }
}

/// What a bound measures.
///
/// C is the factor of the steps. Methods on symmetric factors return a triangular factor of the same distribution;
/// for them a bound is about (m, PC̃), C̃ symmetric, not about the triangular factor \[whiten\]. For any factor,
/// |vᵀ(m−m*)| and the difference of the standard deviations of vᵀz are at most ‖Pᵀv‖ times the square root of the
/// bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Norm {
    /// E‖m−m*‖² + E‖C−C*‖_F² in the user's coordinates.
    Original,
    /// E of (m−m*)ᵀH_lo(m−m*) + tr((C−C*)ᵀH_lo(C−C*)).
    LowerCurvature,
    /// E‖P⁻¹(m−m*)‖² + E‖P⁻¹(C−C*)‖_F² with PPᵀ the Laplace covariance.
    Laplace,
    /// E‖P⁻¹(m−m*)‖² + E‖P⁻¹(C−C*)‖_F² with P a factor that keeps the family of q, or a scale for each coordinate.
    Scaled,
    /// E f(w̄_T) − f*, in nats.
    Gap,
    /// E f(w̄_T) − min f over the declared ball, in nats; f* if the ball holds w*.
    BallGap,
}

impl Norm {
    /// The formula, as printed.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Original => "E[‖m−m*‖² + ‖C−C*‖²]",
            Self::LowerCurvature => "E[(m−m*)ᵀH_lo(m−m*) + tr (C−C*)ᵀH_lo(C−C*)]",
            Self::Laplace => "E[‖P⁻¹(m−m*)‖² + ‖P⁻¹(C−C*)‖²], PPᵀ the Laplace covariance",
            Self::Scaled => "E[‖P⁻¹(m−m*)‖² + ‖P⁻¹(C−C*)‖²], P the scale of the family",
            Self::Gap => "E[f(w̄_T) − f*], nats",
            Self::BallGap => "E[f(w̄_T)] − min f over the declared ball, nats",
        }
    }
}

/// A bound that holds before any draw is made, or the reason why there is none.
/// ```text
/// E‖w_T − w*‖² ≤ value   in the norm of `norm`,   or   E f(w̄_T) − f* ≤ value
/// ```
/// The mean is over runs with independent seeds, and w* is the best Gaussian (of the plan's family), not the posterior; with another base
/// law, the best m + Cu of that law, which is not the best Gaussian \[base-law\]. For a single run,
/// [`with_probability`](crate::theory::recursion::with_probability) divides by δ. Steps must not depend on the draws, except as the
/// adaptive methods let them, and the length never: a run that stops early keeps its answer and loses the value.
///
/// A promise can be read but not changed; only a plan can make one that has a value.
/// ```compile_fail,E0594
/// fn forge(mut fit: provi::Fit) {
///     fit.promise.value = Some(1e-9);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Promise(Said);

impl Deref for Promise {
    type Target = Said;

    fn deref(&self) -> &Said {
        &self.0
    }
}

/// The contents of a [`Promise`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Said {
    /// The bound.
    pub value: Option<f64>,
    /// The ledger key of the statement.
    pub key: Option<&'static str>,
    /// The quantity that is bounded.
    pub norm: Option<Norm>,
    /// The weakest origin of its constants.
    pub provenance: Option<Provenance>,
    /// Why there is no bound.
    pub reason: Option<String>,
    /// The run was resumed from a checkpoint after this many steps. The bound holds if these steps were made as
    /// planned, which only the checkpoint says. `None`: all steps were made in one run.
    pub taken_up: Option<u64>,
}

impl Promise {
    /// No bound, with the reason.
    pub fn none(reason: String) -> Self {
        Self(Said {
            value: None,
            key: None,
            norm: None,
            provenance: None,
            reason: Some(reason),
            taken_up: None,
        })
    }

    /// The same promise without its value, with the reason.
    pub(crate) fn broken(&self, reason: &str) -> Self {
        Self(Said { value: None, reason: Some(reason.into()), ..self.0.clone() })
    }

    /// The same promise for a run that was resumed after this many steps, if it was.
    pub(crate) fn taken_up(&self, step: Option<u64>) -> Self {
        Self(Said { taken_up: step.filter(|_| self.0.value.is_some()), ..self.0.clone() })
    }

    pub(super) fn gap(value: f64, key: &'static str, provenance: Provenance) -> Self {
        Self::of(value, key, Norm::Gap, provenance)
    }

    pub(super) fn of(value: f64, key: &'static str, norm: Norm, provenance: Provenance) -> Self {
        Self(Said {
            value: Some(value),
            key: Some(key),
            norm: Some(norm),
            provenance: Some(provenance),
            reason: None,
            taken_up: None,
        })
    }
}

/// The recursion propagated along the planned steps, and averaged as the iterates are: ‖·‖² is convex, so the
/// average of the iterates is no farther from w*, in the mean, than the average of the bounds.
pub(super) fn of_steps(
    method: Method,
    constants: &Constants,
    schedule: &Schedule,
    average: Average,
    steps: u64,
    norm: Norm,
) -> Promise {
    if let Method::Unproven(recipe) = method {
        return Promise::none(recipe.reason());
    }
    if method.is_adaptive() {
        return Promise::none("the bound of adaptive steps is for the mean of w_0..w_{T−1}".into());
    }
    let limit = constants.largest_step(method);
    if schedule.at(0) >= limit {
        let gamma = schedule.at(0);
        return Promise::none(format!(
            "practical steps: γ₀ = {gamma:.2e} is not below {limit:.2e}, the largest step that the theorems cover here"
        ));
    }
    if steps > WALKED && !is_immediate(method, schedule, average) {
        return Promise::none(format!(
            "the bound of these steps is computed step by step, and {steps} steps are more than {WALKED}"
        ));
    }
    match bound(method, constants, schedule, average, steps) {
        Ok(value) if value.is_finite() => Promise::of(value, "recursion", norm, constants.provenance),
        Ok(_) => Promise::none("the recursion does not contract under these steps".into()),
        Err(error) => Promise::none(error.to_string()),
    }
}

/// The most steps whose bound is computed step by step: some tenths of a second.
const WALKED: u64 = 1 << 26;

/// Whether the time to compute the bound does not grow with the number of steps.
fn is_immediate(method: Method, schedule: &Schedule, average: Average) -> bool {
    let closed = match schedule {
        Schedule::Constant { .. } => true,
        Schedule::LogOverT { .. } | Schedule::Convex { .. } | Schedule::Optimal { .. } => {
            method != Method::Exact
        }
        _ => false,
    };
    average == Average::Last && closed
}

fn bound(
    method: Method,
    constants: &Constants,
    schedule: &Schedule,
    average: Average,
    steps: u64,
) -> Result<f64> {
    let start = constants.start;
    if let Method::Exact = method {
        let contraction = Contraction::prox(constants.convexity, constants.smoothness)?;
        let value = match average {
            Average::Last => contraction.propagate(schedule, steps, start),
            _ => average_bound(average, schedule, steps, start, |e, gamma| contraction.advance(e, gamma))?,
        };
        // A gradient with an error of at most ε moves the fixed point by at most ε/μ.
        let root = value.sqrt() + constants.gradient_error / constants.convexity;
        return Ok(root * root);
    }
    let recursion = Recursion::new(constants.convexity, constants.noise)?;
    match (average, schedule) {
        (Average::Last, Schedule::Optimal { .. }) => Ok(recursion.optimal_after(start, steps)),
        (Average::Last, other) => Ok(recursion.propagate(other, steps, start)),
        _ => average_bound(average, schedule, steps, start, |e, gamma| recursion.advance(e, gamma)),
    }
}

fn average_bound(
    average: Average,
    schedule: &Schedule,
    steps: u64,
    start: f64,
    advance: impl Fn(f64, f64) -> f64,
) -> Result<f64> {
    let mut averager = Averager::new(average, 1)?;
    let (mut e, mut gammas) = (start, schedule.stepper());
    for t in 0..steps {
        averager.add(t, &[e])?;
        e = advance(e, gammas.next_gamma());
        if !e.is_finite() {
            return Ok(f64::INFINITY);
        }
    }
    Ok(averager.finish(&[e])?[0] * (1.0 + 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;
    use crate::glm::{Glm, Prior};
    use crate::sgd::plan::Planner;

    #[test]
    fn more_steps_than_can_be_followed_earn_no_promise_and_take_no_time() {
        let design = Design::dense(3, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0]).unwrap();
        let target = Glm::logistic(design, &[1.0, 0.0, 1.0], Prior::scale(1.0).unwrap()).unwrap();
        let planner = Planner::new(Method::Exact);
        let promised = |steps| planner.practical(&target, Some(steps)).unwrap().promise.value;
        assert!(promised(1000).is_some());
        assert!(promised(crate::sgd::plan::MOST_STEPS).is_none());
    }
}
