//! What solvers say of their way and of their answer.

use crate::target::curvature::Provenance;

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Stop {
    /// The gap is below the goal.
    Reached,
    /// Rounding ends the progress: the answer is as good as the arithmetic allows.
    Stalled,
    /// The watcher broke off.
    Interrupted,
    /// The iterations ran out.
    Exhausted,
}

/// A bound of f(w) − f* [cert-gap]: ½(‖G‖ + ε)² in the dual norm of H_lo.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct GapBound {
    /// The bound, in nats.
    pub value: f64,
    /// ε: quadrature and rounding errors of the gradient, in the dual norm.
    pub error: f64,
    /// The weaker origin of H_lo and of ε.
    pub provenance: Provenance,
}

/// The state of a solver.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Look {
    /// Iterations made.
    pub iteration: usize,
    /// f, with every constant.
    pub neg_elbo: f64,
    /// f − f*: a bound if `proved`, otherwise half the squared natural decrement, an estimate.
    pub gap: f64,
    /// Whether the gap is a bound.
    pub proved: bool,
}
