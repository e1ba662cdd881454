//! The optimum itself, without noise, for targets with exact Gaussian expectations \[exact\].
//!
//! f is convex on ℝᵈ × 𝒯ᵈ and its gradient costs a pass over the data, so the best Gaussian is found like the
//! solution of any smooth convex problem. With H = E∇²V, the model
//! ```text
//! E∇Vᵀδ + ½δᵀHδ + ½tr(C'ᵀHC') − log det C'     (δ = m' − m)
//! ```
//! has the gradient of f at (m, C), and its minimiser m' = m − H⁻¹E∇V, C'C'ᵀ = H⁻¹ is the natural-gradient step:
//! always a descent direction, always in the domain, and the answer itself for a Gaussian target. Secant pairs
//! correct the natural metric (L-BFGS), and a line search on exact f makes it converge from any start.

mod state;
mod within;

use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{inverse_factor, multiply, multiply_transposed};
use crate::base::matrix::{packed_index, packed_len, unpack_lower};
use crate::base::pattern::Entries;
use crate::base::secant::Secants;
use crate::base::stop;
use crate::target::curvature::{Curvature, Provenance};
use crate::target::dual::DualNorm;
use crate::target::expectations::{Expectations, Moments};
use crate::target::mode::about_laplace;
pub use crate::target::solution::{GapBound, Look, Stop};
use crate::target::{Standardized, Target};
use provi_kernels::{axpy, dot};
pub use state::State;
use state::{Remembered, remembered};
use std::ops::ControlFlow;
use std::time::Duration;
use within::Family;

const MEMORY: usize = 20;

/// The deterministic solver and its options.
///
/// ```
/// use provi::{Design, solve::Solver, target::{Glm, Prior}};
///
/// let design = Design::dense(3, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0])?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0], Prior::scale(2.5)?)?;
/// let solution = Solver::default().run(&target)?;
/// assert!(solution.gap.unwrap().value <= 1e-10);           // f − f*, proved, in nats
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solver {
    /// The gap f − f* to reach, in nats: proved if H_lo ≻ 0 is known, estimated otherwise. Default 1e-10.
    pub goal: f64,
    /// Most iterations. Default 1000.
    pub iterations: usize,
}

impl Default for Solver {
    fn default() -> Self {
        Self { goal: 1e-10, iterations: 1000 }
    }
}

/// Called before each iteration with the state of the solver; may break.
pub type Watcher<'a> = dyn FnMut(&Look, &State<'_>) -> ControlFlow<()> + 'a;

/// The answer of a solver.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution {
    /// The best Gaussian q*, up to the gap.
    pub gaussian: Gaussian<Triangular>,
    /// f(q).
    pub neg_elbo: f64,
    /// Upper bound of the error of `neg_elbo`.
    pub neg_elbo_error: f64,
    /// Whether that bound is proved.
    pub neg_elbo_proved: bool,
    /// The proved gap, if H_lo ≻ 0 is known.
    pub gap: Option<GapBound>,
    /// Why it stopped.
    pub stop: Stop,
    /// Iterations made.
    pub iterations: usize,
    /// Evaluations of E V and its derivatives, including line searches.
    pub expectation_evaluations: u64,
    /// Evaluations of log p and its derivatives before the first iteration, for the mode and its curvature.
    pub gradient_evaluations: u64,
    /// f and the gap at each iteration.
    pub history: Vec<Look>,
}

impl Solution {
    /// The same solution in the user's coordinates.
    fn of(self, standard: Option<&Standardized<'_>>) -> Self {
        match standard {
            Some(standard) => Self { gaussian: standard.map().own_gaussian(&self.gaussian), ..self },
            None => self,
        }
    }
}

/// Iterations are made in the standard coordinates of the target, if it has them ([`Target::standardized`]); starts
/// and solutions are in its own coordinates.
impl Solver {
    /// Starts from an approximate Laplace approximation.
    pub fn run(&self, target: &dyn Target) -> Result<Solution> {
        self.run_with(target, &mut |_, _| ControlFlow::Continue(()))
    }

    /// As [`Solver::run`]; `watch` is called before each iteration and may break.
    pub fn run_with(&self, target: &dyn Target, watch: &mut Watcher<'_>) -> Result<Solution> {
        self.run_noting(target, &mut None, watch)
    }

    /// As [`Solver::run_with`]. `begun` receives the start of the iterations, in case they are cut off before the
    /// first.
    pub(crate) fn run_noting(
        &self,
        target: &dyn Target,
        begun: &mut Option<Gaussian<Triangular>>,
        watch: &mut Watcher<'_>,
    ) -> Result<Solution> {
        let standard = target.standardized()?;
        let target = standard.as_ref().map_or(target, Standardized::target);
        let (start, evaluations) = match near_optimum(target, self.goal)? {
            Some(start) => (start, 0),
            None => about_laplace(target, &vec![0.0; target.dim()])?,
        };
        let own = |standard: &Standardized<'_>| standard.map().own_gaussian(&start);
        *begun = Some(standard.as_ref().map_or_else(|| start.clone(), own));
        let solution = self.go(target, start, &[], None, watch)?.of(standard.as_ref());
        Ok(Solution { gradient_evaluations: evaluations, ..solution })
    }

    /// Starts from any Gaussian.
    pub(crate) fn run_from(
        &self,
        target: &dyn Target,
        start: &Gaussian<Triangular>,
        watch: &mut Watcher<'_>,
    ) -> Result<Solution> {
        let standard = target.standardized()?;
        let given = || standard.as_ref().map_or_else(|| start.clone(), |s| s.map().standard_gaussian(start));
        let target = standard.as_ref().map_or(target, Standardized::target);
        let start = near_optimum(target, self.goal)?.unwrap_or_else(given);
        Ok(self.go(target, start, &[], None, watch)?.of(standard.as_ref()))
    }

    /// Continues another run from its [`State::gaussian`] and [`State::memory`]: makes the iterations that it would
    /// have made, to the same bits.
    pub(crate) fn take_up(
        &self,
        target: &dyn Target,
        start: &Gaussian<Triangular>,
        memory: &[f64],
        watch: &mut Watcher<'_>,
    ) -> Result<Solution> {
        let standard = target.standardized()?;
        let target = standard.as_ref().map_or(target, Standardized::target);
        Ok(self.go(target, start.clone(), memory, None, watch)?.of(standard.as_ref()))
    }

    /// [`Solver::take_up`] within a family: f is minimised over the Gaussians whose factor has these entries, as `start`
    /// must, and the gap is to the best of them \[pattern\]. In the target's own coordinates, since others do not
    /// keep the family.
    pub(crate) fn take_up_within(
        &self,
        target: &dyn Target,
        start: &Gaussian<Triangular>,
        memory: &[f64],
        entries: &Entries,
        watch: &mut Watcher<'_>,
    ) -> Result<Solution> {
        self.go(target, start.clone(), memory, Some(entries), watch)
    }

    fn go(
        &self,
        target: &dyn Target,
        start: Gaussian<Triangular>,
        memory: &[f64],
        family: Option<&Entries>,
        watch: &mut Watcher<'_>,
    ) -> Result<Solution> {
        let go = || self.iterate(target, start, memory, family, watch);
        stop::careful_phase("the search", Duration::ZERO, go)
    }

    fn iterate(
        &self,
        target: &dyn Target,
        start: Gaussian<Triangular>,
        memory: &[f64],
        family: Option<&Entries>,
        watch: &mut Watcher<'_>,
    ) -> Result<Solution> {
        let mut objective = Objective::new(target, self.goal, family)?;
        let start = objective.at(start)?;
        stop::check()?;
        if !start.neg_elbo.is_finite() {
            return Err(Error::NotFinite {
                what: "negative ELBO at the start",
                index: 0,
                value: start.neg_elbo,
            });
        }
        let mut secants = Secants::new(MEMORY);
        let (mut now, mut best) = (start, None::<Point>);
        let (mut history, mut idle) = (Vec::new(), 0);
        let mut resumed = false;
        if let Some(Remembered { looks, best: q, pairs }) = remembered(memory) {
            if let Some((mean, factor)) = q.split_at_checked(now.q.dim()).filter(|_| !q.is_empty()) {
                best = Some(objective.at(Gaussian::new(mean, factor)?)?);
            }
            secants.read_from(now.q.parameters().len(), pairs);
            (idle, resumed) = (looks, true);
        }
        let mut iteration = 0;
        let stop = loop {
            let proved = now.bound.is_some_and(|(_, provenance)| provenance == Provenance::Proved);
            let look = Look { iteration, neg_elbo: now.neg_elbo, gap: now.gap, proved };
            history.push(look);
            if now.gap <= self.goal {
                break Stop::Reached;
            }
            // Below the rounding of f, only the gradient shows progress; a few looks without progress end the run.
            // The look at which a run is resumed has already been counted.
            idle = match &best {
                _ if std::mem::take(&mut resumed) => idle,
                Some(best) if now.gap > 0.5 * best.gap && now.decrement2 <= now.moments.value_error => {
                    idle + 1
                }
                _ => 0,
            };
            if best.as_ref().is_none_or(|best| now.gap < best.gap) {
                best = Some(now.clone());
            }
            if idle >= 4 {
                break Stop::Stalled;
            }
            let best_q = best.as_ref().map(|best| &best.q);
            let state = State { gaussian: &now.q, best: best_q, idle, secants: &secants };
            if watch(&look, &state).is_break() {
                break Stop::Interrupted;
            }
            if iteration == self.iterations {
                break Stop::Exhausted;
            }
            let next = objective.step(&now, &mut secants);
            if stop::was_cut_off() {
                // The point where the step began is complete, so it can still be saved as a checkpoint.
                let best_q = best.as_ref().map(|best| &best.q);
                let _ = watch(&look, &State { gaussian: &now.q, best: best_q, idle, secants: &secants });
                break Stop::Interrupted;
            }
            let Some(next) = next? else {
                break Stop::Stalled;
            };
            secants.push(
                difference(&next, &now, |p| p.q.parameters()),
                difference(&next, &now, |p| &p.gradient),
            );
            now = next;
            iteration += 1;
        };
        let answer = match best {
            Some(best) if best.gap < now.gap => best,
            _ => now,
        };
        Ok(Solution {
            gap: answer.bound.map(|(error, provenance)| GapBound { value: answer.gap, error, provenance }),
            neg_elbo: answer.neg_elbo,
            neg_elbo_error: answer.moments.neg_elbo_error(&answer.q),
            neg_elbo_proved: answer.moments.provenance == Provenance::Proved,
            gaussian: answer.q,
            stop,
            iterations: iteration,
            expectation_evaluations: objective.evaluations,
            gradient_evaluations: 0,
            history,
        })
    }
}

/// What a target finds itself, if it has a quicker way.
fn near_optimum(target: &dyn Target, goal: f64) -> Result<Option<Gaussian<Triangular>>> {
    match target.expectations() {
        Some(expectations) => {
            stop::careful_phase("the search", Duration::ZERO, || expectations.near_optimum(goal))
        }
        None => Ok(None),
    }
}

fn difference(a: &Point, b: &Point, field: impl Fn(&Point) -> &[f64]) -> Vec<f64> {
    field(a).iter().zip(field(b)).map(|(a, b)| a - b).collect()
}

/// f and what the solver knows of it at one q.
#[derive(Clone, Debug)]
struct Point {
    q: Gaussian<Triangular>,
    moments: Moments,
    gradient: Vec<f64>,
    neg_elbo: f64,
    /// ∇fᵀN∇f in the natural metric N: twice the decrease that the quadratic model predicts. Zero once the goal is
    /// reached.
    decrement2: f64,
    gap: f64,
    /// If the gap is a bound: the error of the gradient that it allows for, and its provenance.
    bound: Option<(f64, Provenance)>,
}

/// H_lo, prepared to measure gradients.
struct Metric {
    norm: DualNorm,
    convexity: f64,
    provenance: Provenance,
}

struct Objective<'a> {
    target: &'a dyn Target,
    expectations: &'a dyn Expectations,
    /// Computed on first use; the inner `None` means that there is none.
    metric: Option<Option<Metric>>,
    goal: f64,
    evaluations: u64,
    family: Option<Family<'a>>,
}

impl<'a> Objective<'a> {
    fn new(target: &'a dyn Target, goal: f64, family: Option<&'a Entries>) -> Result<Self> {
        let Some(expectations) = target.expectations() else {
            return Err(Error::MissingConstant {
                wanted: "the deterministic solver",
                constant: "Gaussian expectations in closed form or by quadrature",
                way_out: "use the stochastic ascent",
            });
        };
        let family = family.map(Family::new);
        Ok(Self { target, expectations, metric: None, goal, evaluations: 0, family })
    }

    fn metric(&mut self) -> Result<Option<&Metric>> {
        if self.metric.is_none() {
            self.metric = Some(match self.target.lower_curvature()? {
                Some(c) if c.convexity() > 0.0 => self.dual_norm(&c).ok().map(|norm| Metric {
                    norm,
                    convexity: c.convexity(),
                    provenance: c.lower_provenance(),
                }),
                _ => None,
            });
        }
        Ok(self.metric.as_ref().and_then(Option::as_ref))
    }

    fn dual_norm(&self, curvature: &Curvature) -> Result<DualNorm> {
        match &self.family {
            Some(family) => curvature.dual_norm_within(family.entries),
            None => curvature.dual_norm(),
        }
    }

    /// g ← N·g, the natural metric at a point, or that of the family.
    fn natural(&self, at: &Point, g: &mut [f64]) {
        let Some(family) = &self.family else { return natural(&at.q, g) };
        let before = g.to_vec();
        if family.natural(at, g).is_err() {
            // Without an inverse of E∇²V: the metric of all factors, projected on the family.
            g.copy_from_slice(&before);
            natural(&at.q, g);
            family.entries.clear_others(&mut g[at.q.dim()..]);
        }
    }

    /// Everything the solver needs at q; f = +∞ if an expectation overflows.
    fn at(&mut self, q: Gaussian<Triangular>) -> Result<Point> {
        self.evaluations += 1;
        let d = q.dim();
        let mut out = Point {
            moments: Moments::new(d),
            gradient: vec![0.0; q.parameters().len()],
            q,
            neg_elbo: f64::INFINITY,
            decrement2: f64::INFINITY,
            gap: f64::INFINITY,
            bound: None,
        };
        match self.expectations.expect(&out.q, &mut out.moments) {
            Ok(()) => {}
            Err(Error::NotFinite { .. }) if !stop::was_cut_off() => return Ok(out),
            Err(error) => return Err(error),
        }
        stop::check()?;
        let neg_elbo = out.moments.neg_elbo(&out.q)?;
        out.moments.neg_elbo_gradient(&out.q, &mut out.gradient);
        if let Some(family) = &self.family {
            family.entries.clear_others(&mut out.gradient[d..]);
        }
        let size = dot(&out.gradient, &out.gradient);
        if !(neg_elbo.is_finite() && size.is_finite()) {
            return Ok(out);
        }
        out.neg_elbo = neg_elbo;
        let error = out.moments.neg_elbo_gradient_error(&out.q);
        if self.expectations.has_constant_hessian()
            && self.family.is_none()
            && let Some(convexity) = convexity_at(&out.q, size.sqrt() + error)
        {
            let gap = 0.5 * (size.sqrt() + error).powi(2) / convexity * (1.0 + 1e-10);
            if gap <= self.goal {
                out.gap = gap;
                out.bound = Some((error / convexity.sqrt() * (1.0 + 1e-14), out.moments.provenance));
                out.decrement2 = 0.0;
                return Ok(out);
            }
        }
        if let Some(metric) = self.metric()? {
            let error = error / metric.convexity.sqrt() * (1.0 + 1e-14);
            let norm = metric.norm.square(&out.gradient)?.sqrt();
            out.gap = 0.5 * (norm + error).powi(2) * (1.0 + 1e-14);
            out.bound = Some((error, metric.provenance.weakest(out.moments.provenance)));
            if out.gap <= self.goal {
                out.decrement2 = 0.0;
                return Ok(out);
            }
        }
        let mut natural_gradient = out.gradient.clone();
        self.natural(&out, &mut natural_gradient);
        out.decrement2 = dot(&natural_gradient, &out.gradient).max(0.0);
        if out.bound.is_none() {
            out.gap = 0.5 * out.decrement2;
        }
        Ok(out)
    }

    /// The next point: along the secant direction if there is one, else towards the model's minimiser. `None` if
    /// neither decreases f at working precision.
    fn step(&mut self, now: &Point, secants: &mut Secants) -> Result<Option<Point>> {
        if !secants.is_empty() {
            let mut direction = secants.apply(&now.gradient, |v| self.natural(now, v));
            direction.iter_mut().for_each(|x| *x = -*x);
            if let Some(next) = self.search(now, &direction)? {
                return Ok(Some(next));
            }
            secants.forget();
        }
        let minimiser = match &self.family {
            Some(family) => family.model_minimiser(now),
            None => model_minimiser(now),
        };
        let direction = match minimiser {
            Ok(direction) => direction,
            // E∇²V is not positive definite at working precision: use the natural gradient, which needs no inverse.
            Err(Error::NotPositiveDefinite { .. }) => {
                let mut direction = now.gradient.clone();
                self.natural(now, &mut direction);
                direction.iter_mut().for_each(|x| *x = -*x);
                direction
            }
            Err(error) => return Err(error),
        };
        self.search(now, &direction)
    }

    /// A step t along `direction` with sufficient decrease or, where f is flat within rounding, with a smaller
    /// slope.
    fn search(&mut self, now: &Point, direction: &[f64]) -> Result<Option<Point>> {
        let slope = dot(&now.gradient, direction);
        if slope.is_nan() || slope >= 0.0 {
            return Ok(None);
        }
        let d = now.q.dim();
        let mut t = 1.0f64;
        for i in 0..d {
            // At most nine tenths of the way to the border of the domain.
            let k = d + packed_index(i, i);
            t = t.min(-0.9 * now.q.parameters()[k] / direction[k].min(-f64::MIN_POSITIVE));
        }
        for _ in 0..60 {
            let mut q = now.q.clone();
            axpy(t, direction, q.parameters_mut());
            let next = self.at(q)?;
            if !next.neg_elbo.is_finite() {
                t *= 0.1;
                continue;
            }
            let end = dot(&next.gradient, direction);
            let decreases = next.neg_elbo <= now.neg_elbo + 1e-4 * t * slope;
            let flat =
                next.neg_elbo <= now.neg_elbo + now.moments.value_error && end.abs() <= 0.8 * slope.abs();
            if decreases || flat {
                return Ok(Some(next));
            }
            // The secant estimate of the zero of the slope, kept away from both ends.
            let guess = if end > 0.0 { slope / (slope - end) } else { 0.5 };
            t *= guess.clamp(0.1, 0.7);
        }
        Ok(None)
    }
}

/// A lower bound of λ_min(H), H = E∇²V, if tril(HC) is within `residual` of diag(1/C_ii), as it is near an optimum.
///
/// S = CᵀHC − I is symmetric, and its lower half is that of CᵀE, E = tril(HC) − diag(1/C_ii): C is lower triangular. So
/// ‖S‖ ≤ √2‖C‖‖E‖ =: s, and H ⪰ (1 − s)(CCᵀ)⁻¹ ⪰ (1 − s)/‖C‖_F². `None` if s is not small.
fn convexity_at(q: &Gaussian<Triangular>, residual: f64) -> Option<f64> {
    let square = dot(q.factor(), q.factor()) * (1.0 + 1e-10);
    let spread = std::f64::consts::SQRT_2 * square.sqrt() * residual * (1.0 + 1e-10);
    (spread < 0.5).then(|| (1.0 - spread) / square * (1.0 - 1e-10))
}

/// g ← N·g, the natural metric on (m, C): (CCᵀg_m, CΦ(tril(Cᵀg_C))), Φ halving the diagonal. It inverts the Hessian
/// of f where V is quadratic and q its optimum.
fn natural(q: &Gaussian<Triangular>, g: &mut [f64]) {
    let d = q.dim();
    let (mean, triangle) = g.split_at_mut(d);
    let mut pulled = vec![0.0; d];
    provi_kernels::triangle::multiply_transposed(q.factor(), mean, &mut pulled);
    provi_kernels::triangle::multiply(q.factor(), &pulled, mean);
    let c = q.factor_matrix();
    let mut inner = multiply_transposed(&c, &unpack_lower(d, triangle));
    for i in 0..d {
        inner[(i, i)] *= 0.5;
        inner.row_mut(i)[i + 1..].fill(0.0);
    }
    let product = multiply(&c, &inner);
    for i in 0..d {
        triangle[packed_index(i, 0)..=packed_index(i, i)].copy_from_slice(&product.row(i)[..=i]);
    }
}

/// (−H⁻¹E∇V, C' − C) with C'C'ᵀ = H⁻¹ and H = E∇²V.
fn model_minimiser(now: &Point) -> Result<Vec<f64>> {
    let d = now.q.dim();
    let mut factor = vec![0.0; packed_len(d)];
    inverse_factor("E∇²V", &now.moments.hessian, &mut factor)?;
    let mut pulled = vec![0.0; d];
    provi_kernels::triangle::multiply_transposed(&factor, &now.moments.gradient, &mut pulled);
    let mut direction = vec![0.0; d];
    provi_kernels::triangle::multiply(&factor, &pulled, &mut direction);
    direction.iter_mut().for_each(|x| *x = -*x);
    direction.extend(factor.iter().zip(now.q.factor()).map(|(a, b)| a - b));
    Ok(direction)
}

#[cfg(test)]
mod tests;
