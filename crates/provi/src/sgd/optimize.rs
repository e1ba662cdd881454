//! Prox-SGD and Proj-SGD for any composite problem, no variational inference needed.
//!
//! ```text
//! minimise l + h:      w ← prox_{γh}(w − γg),   g an unbiased estimate of ∇l(w)
//! minimise f over 𝒲:   w ← proj_𝒲(w − γg),     g an unbiased estimate of ∇f(w)
//! ```
//! The only hypothesis on the noise is E‖g‖² ≤ a‖w − w*‖² + b. Subsampled least squares satisfies it; it does not
//! have a bounded variance. [`QuadraticallyBounded`] turns the constants into steps, averages and bounds;
//! [`minimise`] runs. [`Adaptive`] lets the draws decide the size of a step, on a set of known diameter.
//!
//! A lasso by rows, in one dimension so that w* is a soft threshold: plan, run, and see the bound hold.
//! ```
//! use provi::average::{Average, Averager};
//! use provi::optimize::{Composite, FnEstimator, FnOperator, QuadraticallyBounded, minimise};
//! use std::ops::ControlFlow;
//!
//! let (x, y, alpha) = ([1.0, 0.5, 1.5, 0.8], [2.0, 0.4, 2.5, 1.9], 0.3f64);
//! let mean = |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(&y).map(|(&x, &y)| f(x, y)).sum::<f64>() / 4.0;
//!
//! // l(w) = ½ mean (xw − y)², h(w) = α|w|
//! let curvature = mean(&|x, _| x * x);
//! let optimum = (mean(&|x, y| x * y) - alpha) / curvature;
//! // one row: E|g(w) − l'(w*)|² ≤ 2·mean x⁴·|w − w*|² + 2·Var g(w*)
//! let variance = mean(&|x, y| (x * (x * optimum - y)).powi(2)) - alpha * alpha;
//! let problem = QuadraticallyBounded::new(2.0 * mean(&|x, _| x.powi(4)), 2.0 * variance, curvature, curvature)?;
//!
//! let start = optimum * optimum; // w_0 = 0
//! let recursion = problem.recursion()?;
//! let steps = recursion.steps_to(start, 0.02, 1_000_000)?;
//! let schedule = recursion.optimal_schedule(start)?;
//!
//! let (mut state, mut total, runs) = (7u64, 0.0, 400);
//! for _ in 0..runs {
//!     let row = |w: &[f64], _t: u64, g: &mut [f64]| {
//!         state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
//!         let i = (state >> 62) as usize;
//!         g[0] = x[i] * (x[i] * w[0] - y[i]);
//!         Ok(())
//!     };
//!     let shrink = |w: &mut [f64], gamma: f64| w[0] = w[0].signum() * (w[0].abs() - gamma * alpha).max(0.0);
//!     let mut lasso = Composite { estimator: FnEstimator::new(1, row), operator: FnOperator(shrink) };
//!     let (mut w, mut last) = ([0.0], Averager::new(Average::Last, 1)?);
//!     minimise(&mut lasso, &mut w, &schedule, &mut last, steps, &mut |_| ControlFlow::Continue(()))?;
//!     total += (w[0] - optimum).powi(2);
//! }
//! assert!(total / runs as f64 <= 0.02);
//! # Ok::<(), provi::Error>(())
//! ```

mod adaptive;
mod bounded;

pub use adaptive::{Adaptive, Formed, first_reach};
pub use bounded::QuadraticallyBounded;

use std::ops::{ControlFlow, Range};

use crate::base::error::{Error, Result};
use crate::base::scalar::Positive;
use crate::sgd::average::Averager;
use crate::theory::schedule::{Schedule, Stepper};

/// What is known about the move of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// An upper bound of ‖γg‖; not finite if g is not. A projection may use it to skip its work.
    pub distance: f64,
    /// An estimate of the smooth part's value, if it cost nothing.
    pub value: Option<f64>,
}

/// A stochastic gradient.
pub trait Estimator {
    /// w ← w − γ·g_t(w), g_t(w) an estimate of the gradient at w.
    fn descend(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved>;
}

/// prox_{γh}, or the projection onto a convex set.
pub trait Operator {
    /// Applies the operator in place; `moved` describes the move before it.
    fn apply(&mut self, w: &mut [f64], gamma: f64, moved: &Moved) -> Result<()>;
}

impl<O: Operator + ?Sized> Operator for Box<O> {
    fn apply(&mut self, w: &mut [f64], gamma: f64, moved: &Moved) -> Result<()> {
        (**self).apply(w, gamma, moved)
    }
}

/// One step of a stochastic method. [`Composite`] is the plain one; fused implementations are others.
pub trait Problem {
    /// w_t → w_{t+1}.
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved>;

    /// Whether it decides the size of its steps by its draws. Then γ is the constant of its rule, not a size.
    fn follows_draws(&self) -> bool {
        false
    }

    /// The size of the last step; `planned` is the γ that was passed to it.
    fn step_size(&self, planned: f64) -> f64 {
        planned
    }

    /// What later steps need to know about earlier ones besides w.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Continues from the memory of another run; an empty one is a new run.
    fn remember(&mut self, memory: &[f64]) -> Result<()> {
        if memory.is_empty() { Ok(()) } else { Err(Error::Checkpoint { what: "is that of another plan" }) }
    }

    /// Brings w up to date, if parts of the steps were deferred.
    fn settle(&mut self, _w: &mut [f64]) -> Result<()> {
        Ok(())
    }

    /// Passes w_t to an average that wants it, before step t.
    fn show(&mut self, w: &mut [f64], t: u64, average: &mut Averager) -> Result<()> {
        self.settle(w)?;
        average.add(t, w)
    }

    /// Brings the average up to date, if parts of it were deferred, and then w.
    fn conclude(&mut self, w: &mut [f64], _average: &mut Averager) -> Result<()> {
        self.settle(w)
    }
}

/// Descend, then apply: prox_{γh}(w − γg) or proj_𝒲(w − γg).
#[derive(Clone, Debug)]
pub struct Composite<E, O> {
    /// The source of g.
    pub estimator: E,
    /// The prox or the projection.
    pub operator: O,
}

impl<E: Estimator, O: Operator> Problem for Composite<E, O> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        let moved = self.estimator.descend(w, t, gamma)?;
        self.operator.apply(w, gamma, &moved)?;
        Ok(moved)
    }
}

/// An estimator from a closure `(w, t, g)` that fills g.
#[derive(Clone, Debug)]
pub struct FnEstimator<F> {
    gradient: F,
    buffer: Vec<f64>,
}

impl<F: FnMut(&[f64], u64, &mut [f64]) -> Result<()>> FnEstimator<F> {
    /// For vectors of length `len`.
    pub fn new(len: usize, gradient: F) -> Self {
        Self { gradient, buffer: vec![0.0; len] }
    }
}

impl<F: FnMut(&[f64], u64, &mut [f64]) -> Result<()>> Estimator for FnEstimator<F> {
    fn descend(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        if w.len() != self.buffer.len() {
            return Err(Error::Shape { what: "w", found: w.len(), expected: self.buffer.len() });
        }
        (self.gradient)(w, t, &mut self.buffer)?;
        let mut square = 0.0;
        for (x, g) in w.iter_mut().zip(&self.buffer) {
            *x -= gamma * g;
            square += g * g;
        }
        let slack = 1.0 + (w.len() as f64 + 4.0) * f64::EPSILON;
        Ok(Moved { distance: gamma * square.sqrt() * slack, value: None })
    }
}

/// An operator from a closure `(w, γ)`.
#[derive(Clone, Debug)]
pub struct FnOperator<F>(pub F);

impl<F: FnMut(&mut [f64], f64)> Operator for FnOperator<F> {
    fn apply(&mut self, w: &mut [f64], gamma: f64, _moved: &Moved) -> Result<()> {
        (self.0)(w, gamma);
        Ok(())
    }
}

/// What a watcher sees after each step.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The step just made, from zero.
    pub t: u64,
    /// Its size.
    pub gamma: f64,
    /// What is known about the move.
    pub moved: Moved,
    /// w_{t+1}, without the parts that the problem has deferred.
    pub w: &'a [f64],
}

/// Runs `steps` steps from w, in place, and returns how many were made: fewer if `watch` broke off, or if a step
/// returned [`Error::Stopped`], which must leave w unchanged.
///
/// A bound of [`theory`](crate::theory) covers the run only if its length was fixed before the draws. A `watch`
/// that breaks off because of what it saw voids the bound. No allocation per step.
pub fn minimise<P: Problem + ?Sized>(
    problem: &mut P,
    w: &mut [f64],
    schedule: &Schedule,
    average: &mut Averager,
    steps: u64,
    watch: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
) -> Result<u64> {
    resume(problem, w, &mut schedule.stepper(), average, 0..steps, watch)
}

/// [`minimise`] for a range of steps; the stepper and the average continue from the last call.
pub fn resume<P: Problem + ?Sized>(
    problem: &mut P,
    w: &mut [f64],
    gammas: &mut Stepper<'_>,
    average: &mut Averager,
    steps: Range<u64>,
    watch: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
) -> Result<u64> {
    average.fits(w.len())?;
    if gammas.is_set_by_draws() != problem.follows_draws() {
        return Err(Error::Pairing {
            why: "steps that the draws decide need a problem that follows them, and no other schedule",
        });
    }
    let (mut made, mut gamma) = (0, f64::NAN);
    for t in steps.clone() {
        let shown = average.wants(t);
        if shown {
            problem.show(w, t, average)?;
        }
        gamma = Positive::new("step size γ", gammas.next_gamma())?.get();
        let moved = match problem.advance(w, t, gamma) {
            // Cut off before it changed w: this step is not made, and w_t is the last iterate.
            Err(Error::Stopped { .. }) => {
                if shown {
                    average.close();
                }
                break;
            }
            moved => moved?,
        };
        if !moved.distance.is_finite() {
            return Err(Error::Diverged { step: t, gamma });
        }
        made += 1;
        let gamma = problem.step_size(gamma);
        if watch(&Progress { t, gamma, moved, w }).is_break() {
            break;
        }
    }
    problem.conclude(w, average)?;
    // An operator can produce non-finite numbers although the move did not: check once at the end.
    if w.iter().all(|x| x.is_finite()) {
        Ok(made)
    } else {
        Err(Error::Diverged { step: (steps.start + made).saturating_sub(1), gamma })
    }
}

#[cfg(test)]
mod tests;
