//! Steps whose size the draws decide.

use super::{Moved, Operator, Problem};
use crate::base::error::{Error, Result};
use crate::base::linalg::norm;
use crate::base::scalar::Positive;
use crate::sgd::average::Averager;
use provi_kernels::axpy;

/// A stochastic gradient that is formed as a vector, because a step needs its length before it moves.
pub trait Formed {
    /// g_t(w) into `out`, and an estimate of the smooth part's value if it cost nothing.
    fn form(&mut self, w: &[f64], t: u64, out: &mut [f64]) -> Result<Option<f64>>;

    /// ‖x‖² of a vector like w.
    fn square(&self, x: &[f64]) -> f64 {
        provi_kernels::dot(x, x)
    }
}

impl<F: FnMut(&[f64], u64, &mut [f64]) -> Result<()>> Formed for F {
    fn form(&mut self, w: &[f64], t: u64, out: &mut [f64]) -> Result<Option<f64>> {
        self(w, t, out).map(|()| None)
    }
}

/// By which rule the draws decide.
#[derive(Clone, Debug, PartialEq)]
enum Rule {
    /// Σ‖g_s‖² so far.
    Adaptive { squares: f64 },
    /// w_0, r_t, Σ r_s²‖g_s‖² and Σ r_s² so far.
    Travelled { start: Vec<f64>, reach: f64, squares: f64, weights: f64 },
}

/// w ← proj_W(w − γ_t g) with a size that follows from the draws so far.
///
/// ```text
/// adaptive     γ_t = α/√(Σ_{s≤t}‖g_s‖²)                                        [rate-proj-adaptive]
/// travelled    γ_t = r_t²/√(Σ_{s≤t} r_s²‖g_s‖²),   r_t = max{r_ε, ‖w_s − w_0‖ : s ≤ t}     [dowg]
/// ```
/// α is D/√2 on a set of diameter D; it and r_ε are what the schedule gives as γ. The first is AdaGrad with one size for all
/// coordinates (McMahan & Streeter 2010; Duchi, Hazan & Singer 2011), the second DoWG (Khaled, Mishchenko & Jin 2023).
///
/// ```
/// use provi::average::{Average, Averager};
/// use provi::optimize::{Adaptive, FnOperator, minimise};
/// use provi::{Result, Schedule};
/// use std::ops::ControlFlow;
///
/// // |w − 0.3| on [−1, 1], D² = 4: a subgradient is all that is known.
/// let slope = |w: &[f64], _: u64, g: &mut [f64]| -> Result<()> { g[0] = (w[0] - 0.3).signum(); Ok(()) };
/// let mut problem = Adaptive::new(slope, FnOperator(|w: &mut [f64], _| w[0] = w[0].clamp(-1.0, 1.0)), 1);
/// let (mut w, mut mean) = ([-1.0], Averager::new(Average::over_starts(), 1)?);
/// let steps = 400;
/// minimise(&mut problem, &mut w, &Schedule::adaptive(4.0)?, &mut mean, steps, &mut |_| ControlFlow::Continue(()))?;
/// let gap = (mean.finish(&w)?[0] - 0.3).abs();
/// assert!(gap <= 2f64.sqrt() * 2.0 / (steps as f64).sqrt());                  // √2·D·G/√T, G = 1
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Adaptive<G, O> {
    source: G,
    operator: O,
    rule: Rule,
    gradient: Vec<f64>,
    last: f64,
}

impl<G: Formed, O: Operator> Adaptive<G, O> {
    /// For [`Schedule::Adaptive`](crate::Schedule::Adaptive), on vectors of length `len`.
    pub fn new(source: G, operator: O, len: usize) -> Self {
        Self {
            source,
            operator,
            rule: Rule::Adaptive { squares: 0.0 },
            gradient: vec![0.0; len],
            last: f64::NAN,
        }
    }

    /// For [`Schedule::Travelled`](crate::Schedule::Travelled), from `start`.
    pub fn travelled(source: G, operator: O, start: &[f64]) -> Self {
        let rule = Rule::Travelled { start: start.to_vec(), reach: 0.0, squares: 0.0, weights: 0.0 };
        Self { source, operator, rule, gradient: vec![0.0; start.len()], last: f64::NAN }
    }

    /// The bound that a run of [`Adaptive::travelled`] with exact gradients of a convex f proves about itself \[dowg\]: with r_T the
    /// distance travelled and ‖w_0 − w*‖ ≤ `start`,
    /// ```text
    /// f(w̄_T) − f* ≤ r_T(2‖w_0 − w*‖ + 3r_T)·√(Σ r_t²‖g_t‖²)/Σ r_t²
    /// ```
    /// `last` is w_T. `None` for the other rule, and before the first step.
    pub fn travelled_gap(&self, last: &[f64], start: f64) -> Option<f64> {
        let Rule::Travelled { start: first, reach, squares, weights } = &self.rule else { return None };
        if *weights <= 0.0 {
            return None;
        }
        let reach = reach.max(self.apart(first, last));
        Some(reach * (2.0 * start + 3.0 * reach) * squares.sqrt() / weights * (1.0 + 1e-12))
    }

    /// r_t at the last step made, for the rule of DoWG.
    pub fn reach(&self) -> Option<f64> {
        match &self.rule {
            Rule::Travelled { reach, .. } => Some(*reach),
            Rule::Adaptive { .. } => None,
        }
    }

    fn apart(&self, a: &[f64], b: &[f64]) -> f64 {
        let apart: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
        self.source.square(&apart).sqrt()
    }

    /// r_t at w = w_t; `first` is r_ε.
    fn widen(&mut self, w: &[f64], first: f64) {
        let Rule::Travelled { start, reach, .. } = &self.rule else { return };
        let wider = reach.max(first).max(self.apart(start, w));
        if let Rule::Travelled { reach, .. } = &mut self.rule {
            *reach = wider;
        }
    }
}

impl<G: Formed, O: Operator> Problem for Adaptive<G, O> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        if w.len() != self.gradient.len() {
            return Err(Error::Shape { what: "w", found: w.len(), expected: self.gradient.len() });
        }
        let value = self.source.form(w, t, &mut self.gradient)?;
        let square = self.source.square(&self.gradient);
        self.widen(w, gamma);
        let size = match &mut self.rule {
            Rule::Adaptive { squares } => {
                *squares += square;
                gamma / squares.sqrt()
            }
            Rule::Travelled { reach, squares, weights, .. } => {
                let weight = *reach * *reach;
                (*squares, *weights) = (*squares + weight * square, *weights + weight);
                weight / squares.sqrt()
            }
        };
        // Before the first gradient that is not zero there is nowhere to go.
        self.last = if square > 0.0 || square.is_nan() { size } else { 0.0 };
        let moved = Moved { distance: self.last * square.sqrt() * (1.0 + 1e-12), value };
        if moved.distance.is_finite() {
            axpy(-self.last, &self.gradient, w);
            self.operator.apply(w, self.last, &moved)?;
        }
        Ok(moved)
    }

    fn show(&mut self, w: &mut [f64], t: u64, average: &mut Averager) -> Result<()> {
        if let Some(before) = self.reach() {
            // r_ε is not known here before the first step, whose weight does not matter: there is no other yet.
            self.widen(w, 0.0);
            let now = self.reach().unwrap_or(before);
            average.weigh(if now > 0.0 { (before / now).powi(2) } else { 1.0 });
        }
        average.add(t, w)
    }

    fn follows_draws(&self) -> bool {
        true
    }

    fn step_size(&self, _planned: f64) -> f64 {
        self.last
    }

    fn memory(&self) -> Vec<f64> {
        match &self.rule {
            Rule::Adaptive { squares } => vec![*squares],
            Rule::Travelled { reach, squares, weights, .. } => vec![*reach, *squares, *weights],
        }
    }

    fn remember(&mut self, memory: &[f64]) -> Result<()> {
        let proper = memory.iter().all(|x| *x >= 0.0);
        match (&mut self.rule, memory) {
            (_, []) => Ok(()),
            (Rule::Adaptive { squares }, [sum]) if proper => {
                *squares = *sum;
                Ok(())
            }
            (Rule::Travelled { reach, squares, weights, .. }, [far, sum, all]) if proper => {
                (*reach, *squares, *weights) = (*far, *sum, *all);
                Ok(())
            }
            _ => Err(Error::Checkpoint { what: "is that of another plan" }),
        }
    }
}

/// How far the first step of DoWG goes, where nothing else is known: 10⁻⁴(1 + ‖w_0‖).
pub fn first_reach(start: &[f64]) -> Result<f64> {
    Ok(Positive::new("length of the first step", 1e-4 * (1.0 + norm(start)))?.get())
}

#[cfg(test)]
mod tests;
