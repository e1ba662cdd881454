//! From constants to schedules and bounds, for any problem with a quadratically bounded gradient estimate.

use crate::base::error::Result;
use crate::base::scalar::{NonNegative, Positive};
use crate::sgd::average::Average;
use crate::theory::rate;
use crate::theory::schedule::{Schedule, StepKind};
use crate::theory::{NoiseBound, Recursion};

/// What a composite problem declares (Def. 5): E‖g‖² ≤ a‖w − w*‖² + b, μ-strong convexity, M-smoothness.
///
/// μ = 0 for a problem that is only convex. M is the smoothness of l; Proj-SGD does not need it. `gradient2`, where
/// a bound needs it, is an upper bound of ‖∇l(w*)‖², such as M²‖w* − argmin l‖².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuadraticallyBounded {
    /// The noise growth a.
    pub growth: f64,
    /// The noise floor b.
    pub floor: f64,
    /// The convexity μ.
    pub convexity: f64,
    /// The smoothness M.
    pub smoothness: f64,
}

impl QuadraticallyBounded {
    /// Checks the four constants.
    pub fn new(growth: f64, floor: f64, convexity: f64, smoothness: f64) -> Result<Self> {
        NoiseBound::new(growth, floor)?;
        NonNegative::new("convexity μ", convexity)?;
        Positive::new("smoothness M", smoothness)?;
        Ok(Self { growth, floor, convexity, smoothness })
    }

    fn noise(&self) -> NoiseBound {
        NoiseBound { growth: self.growth, floor: self.floor }
    }

    /// The recursion for Proj-SGD; also for Prox-SGD if a and b bound E‖g − ∇l(w*)‖² \[recursion\].
    pub fn recursion(&self) -> Result<Recursion> {
        Recursion::new(self.convexity, self.noise())
    }

    /// The recursion for Prox-SGD if a and b bound E‖g‖²: then 2a and 2(b + ‖∇l(w*)‖²) bound E‖g − ∇l(w*)‖².
    pub fn prox_recursion(&self, gradient2: f64) -> Result<Recursion> {
        let gradient2 = NonNegative::new("‖∇l(w*)‖²", gradient2)?.get();
        let noise = NoiseBound { growth: 2.0 * self.growth, floor: 2.0 * (self.floor + gradient2) };
        Recursion::new(self.convexity, noise)
    }

    /// Decaying steps for a strongly convex problem.
    pub fn anytime(&self, kind: StepKind) -> Result<Schedule> {
        Schedule::anytime(kind, self.convexity, self.growth)
    }

    /// A constant step for a strongly convex problem; refused outside the proved range.
    pub fn constant(&self, kind: StepKind, gamma: f64) -> Result<Schedule> {
        Schedule::strong_constant(kind, self.convexity, self.growth, gamma)
    }

    /// The constant step for T steps of a convex problem.
    pub fn convex(&self, kind: StepKind, steps: u64) -> Result<Schedule> {
        Schedule::convex(kind, self.growth, self.smoothness, steps)
    }

    /// The average to which the convex bounds apply, for a constant step γ.
    pub fn average(&self, kind: StepKind, gamma: f64) -> Result<Average> {
        match kind {
            StepKind::Prox => Average::prox(self.growth, gamma),
            StepKind::Proj => Average::proj(self.growth, gamma),
        }
    }

    /// Bound of E‖w_T − w*‖² under [`QuadraticallyBounded::anytime`]; `gradient2` is used for prox only.
    pub fn distance2(&self, kind: StepKind, gradient2: f64, start2: f64, steps: u64) -> Result<f64> {
        match kind {
            StepKind::Prox => {
                rate::prox_strong_anytime(self.convexity, self.noise(), gradient2, start2, steps)
            }
            StepKind::Proj => rate::proj_strong_anytime(self.convexity, self.noise(), start2, steps),
        }
    }

    /// Bound of E f(w̄_T) − f* for the [`QuadraticallyBounded::average`] under any constant step (prox: γ ≤ 1/M).
    pub fn gap(&self, kind: StepKind, start2: f64, gamma: f64, steps: u64) -> Result<f64> {
        match kind {
            StepKind::Prox => rate::prox_convex_constant(self.smoothness, self.noise(), start2, gamma, steps),
            StepKind::Proj => rate::proj_convex_constant(self.noise(), start2, gamma, steps),
        }
    }
}
