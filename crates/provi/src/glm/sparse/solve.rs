//! The best Gaussian of a model with many coefficients, by its sparse precision \[sparse-optimum\].
//!
//! The natural-gradient step of the dense solver, m' = m − P'⁻¹E∇V with P' = E∇²V, keeps the sparsity. It is damped along
//! P + t(E∇²V − P): f decreases along it at first, as the derivative at t = 0 is −E∇VᵀP⁻¹E∇V − ½‖L⁻¹(E∇²V − P)L⁻ᵀ‖².

use super::{SparseGaussian, SparseModel, SparseMoments};
use crate::base::error::{Error, Result};
use crate::base::gaussian::entropy_constant;
use crate::base::linalg::sparse::Selected;
use crate::base::stop;
use crate::glm::Gaps;
use crate::glm::rows::Lever;
use crate::target::curvature::Provenance;
use crate::target::solution::{GapBound, Look, Stop};
use std::ops::ControlFlow;
use std::time::Duration;

/// Halvings of a step before the solver gives up.
const HALVINGS: i32 = 40;

/// Iterations without progress that end a run.
const IDLE: usize = 4;

/// The deterministic solver on sparse precisions, and its options.
///
/// ```
/// use provi::{Design, sparse::SparseSolver, target::{Glm, Prior}};
///
/// // An intercept and three groups of two rows.
/// let entries: Vec<_> = (0..6).flat_map(|n| [(n, 0, 1.0), (n, 1 + n / 2, 1.0)]).collect();
/// let design = Design::triplets(6, 4, &entries)?;
/// let model = Glm::logistic(design, &[1.0, 0.0, 1.0, 1.0, 0.0, 1.0], Prior::scale(1.0)?)?;
/// let solution = SparseSolver::default().run(&model.sparse()?)?;
/// assert!(solution.gap.unwrap().value <= 1e-10);           // f − f*, proved, in nats
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseSolver {
    /// The gap f − f* to reach, in nats. Default 1e-10.
    pub goal: f64,
    /// Most iterations. Default 200.
    pub iterations: usize,
}

impl Default for SparseSolver {
    fn default() -> Self {
        Self { goal: 1e-10, iterations: 200 }
    }
}

/// The answer of a sparse solver.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SparseSolution {
    /// The best Gaussian q*, up to the gap.
    pub gaussian: SparseGaussian,
    /// f(q).
    pub neg_elbo: f64,
    /// Upper bound of the error of `neg_elbo`.
    pub neg_elbo_error: f64,
    /// Whether that bound is proved.
    pub neg_elbo_proved: bool,
    /// The proved gap, if a D ≻ 0 below the prior's precision is known.
    pub gap: Option<GapBound>,
    /// Why it stopped.
    pub stop: Stop,
    /// Iterations made.
    pub iterations: usize,
    /// Passes over the rows, including line searches.
    pub expectation_evaluations: u64,
    /// f and the gap at each iteration.
    pub history: Vec<Look>,
}

/// f and what is known of it at one q, by places.
struct Point {
    mean: Vec<f64>,
    /// P as it was assembled.
    precision: Vec<f64>,
    /// Its factor L; q's precision is LLᵀ.
    factor: Vec<f64>,
    moments: SparseMoments,
    neg_elbo: f64,
    neg_elbo_error: f64,
    /// The gap's bound and the part of its root that is due to errors.
    bound: Option<(f64, f64)>,
}

impl Point {
    /// The bound of the gap; infinite if there is none.
    fn bounded(&self) -> f64 {
        self.bound.map_or(f64::INFINITY, |(gap, _)| gap)
    }

    /// By how much rounding may move f; a guess if it has no bound.
    fn noise(&self) -> f64 {
        self.neg_elbo_error.min(1e-10 * (1.0 + self.neg_elbo.abs()))
    }
}

impl SparseSolver {
    /// Starts at the prior mean, with the curvature there.
    pub fn run(&self, model: &SparseModel) -> Result<SparseSolution> {
        self.run_with(model, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`SparseSolver::run`]; `watch` is called before each iteration and may break.
    pub fn run_with(
        &self,
        model: &SparseModel,
        watch: &mut dyn FnMut(&Look) -> ControlFlow<()>,
    ) -> Result<SparseSolution> {
        stop::careful_phase("the search", Duration::ZERO, || self.iterate(model, None, watch))
    }

    /// The same from a Gaussian that was the answer under another prior or noise; one of other coordinates, or at which
    /// no expectation is finite, counts for nothing.
    pub fn run_from(
        &self,
        model: &SparseModel,
        from: &SparseGaussian,
        watch: &mut dyn FnMut(&Look) -> ControlFlow<()>,
    ) -> Result<SparseSolution> {
        stop::careful_phase("the search", Duration::ZERO, || self.iterate(model, Some(from), watch))
    }

    fn iterate(
        &self,
        model: &SparseModel,
        from: Option<&SparseGaussian>,
        watch: &mut dyn FnMut(&Look) -> ControlFlow<()>,
    ) -> Result<SparseSolution> {
        let mut evaluations = 0;
        let mut now = match from.map(|from| model.point(from)).transpose()?.flatten() {
            Some(point) => point,
            None => start(model, &mut evaluations)?,
        };
        let mut best = None::<Point>;
        let (mut history, mut iteration, mut idle) = (Vec::new(), 0, 0);
        let stop = loop {
            let gap = now.bounded();
            let proved = now.bound.is_some() && now.moments.provenance == Provenance::Proved;
            let look = Look { iteration, neg_elbo: now.neg_elbo, gap, proved };
            history.push(look);
            if gap <= self.goal {
                break Stop::Reached;
            }
            if idle >= IDLE {
                break Stop::Stalled;
            }
            if watch(&look).is_break() {
                break Stop::Interrupted;
            }
            if iteration == self.iterations {
                break Stop::Exhausted;
            }
            let next = step(model, &now, &mut evaluations);
            if stop::was_cut_off() {
                break Stop::Interrupted;
            }
            let Some(next) = next? else { break Stop::Stalled };
            // Below the rounding of f only the gap shows progress.
            let settled = (now.neg_elbo - next.neg_elbo).abs() <= 4.0 * next.noise();
            let progress = next.bound.is_some_and(|(next, _)| next <= 0.9 * gap);
            idle = if settled && !progress { idle + 1 } else { 0 };
            let before = std::mem::replace(&mut now, next);
            if best.as_ref().is_none_or(|best| before.bounded() < best.bounded()) {
                best = Some(before);
            }
            iteration += 1;
        };
        let now = match best {
            Some(best) if best.bounded() < now.bounded() => best,
            _ => now,
        };
        let provenance = now.moments.provenance;
        let gaussian = model.gaussian(&now.mean, now.factor);
        if stop != Stop::Interrupted {
            gaussian.standard_deviations()?;
        }
        Ok(SparseSolution {
            gap: now.bound.map(|(value, error)| GapBound { value, error, provenance }),
            neg_elbo: now.neg_elbo,
            neg_elbo_error: now.neg_elbo_error,
            neg_elbo_proved: provenance == Provenance::Proved && now.neg_elbo_error.is_finite(),
            gaussian,
            stop,
            iterations: iteration,
            expectation_evaluations: evaluations,
            history,
        })
    }
}

/// What is known of a given q: f, the bound of its error and whether that is proved, and the gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseFacts {
    pub(crate) neg_elbo: f64,
    pub(crate) neg_elbo_error: f64,
    pub(crate) provenance: Provenance,
    pub(crate) gap: Option<GapBound>,
}

impl SparseModel {
    /// What is known of q under this model; `None` if it is a Gaussian of other coordinates, or an expectation overflows.
    pub(crate) fn facts(&self, q: &SparseGaussian) -> Result<Option<SparseFacts>> {
        Ok(self.point(q)?.map(|point| SparseFacts {
            neg_elbo: point.neg_elbo,
            neg_elbo_error: point.neg_elbo_error,
            provenance: point.moments.provenance,
            gap: point.bound.map(|(value, error)| GapBound {
                value,
                error,
                provenance: point.moments.provenance,
            }),
        }))
    }

    /// Σ w_n E_q ∂φ_n/∂log σ, σ the noise deviation.
    pub(crate) fn noise_slope(&self, q: &SparseGaussian) -> Result<f64> {
        let family = self.linear.family;
        let slope = |y: f64, mean: f64, variance: f64, lever| [family.noise_slope(y, mean, variance, lever)];
        self.slopes(q, slope).map(|[slope]| slope)
    }

    /// Σ w_n E_q ∂φ_n/∂log δ_i of each gap δ_i between the cut points of ordered categories.
    pub(crate) fn gap_slopes(&self, q: &SparseGaussian) -> Result<[f64; Gaps::MOST]> {
        let family = self.linear.family;
        self.slopes(q, |_, mean, variance, lever| family.gap_slopes(mean, variance, lever.category))
    }

    fn slopes<const N: usize>(
        &self,
        q: &SparseGaussian,
        slope: impl Fn(f64, f64, f64, Lever) -> [f64; N] + Sync,
    ) -> Result<[f64; N]> {
        match q.by_places(&self.map, &self.structure) {
            Some((mean, _)) => self.expected_slopes(&mean, &q.selected()?, slope),
            None => Err(Error::Shape { what: "sparse Gaussian", found: q.dim(), expected: self.dim() }),
        }
    }

    fn point(&self, q: &SparseGaussian) -> Result<Option<Point>> {
        let Some((mean, factor)) = q.by_places(&self.map, &self.structure) else { return Ok(None) };
        // The product LLᵀ rounds by no more than a factorization of it does.
        evaluate(self, mean, self.structure.square(factor), factor.to_vec())
    }
}

/// Times that a start is made narrower if an expectation overflows, and by how much its precision grows each time.
const NARROWER: usize = 20;
const GROWTH: f64 = 10.0;

/// The prior mean, with the curvature there as precision, or more where a Gaussian so wide has no finite expectations.
fn start(model: &SparseModel, evaluations: &mut u64) -> Result<Point> {
    let mean = model.prior_mean();
    let mut precision = model.curvature_at(&mean)?;
    *evaluations += 1;
    for _ in 0..NARROWER {
        *evaluations += 1;
        if let Some(point) = at(model, mean.clone(), precision.clone())? {
            return Ok(point);
        }
        precision.iter_mut().for_each(|x| *x *= GROWTH);
    }
    Err(Error::NotFinite { what: "negative ELBO at the start", index: 0, value: f64::INFINITY })
}

/// f at q = N(mean, precision⁻¹); `None` if an expectation overflows.
fn at(model: &SparseModel, mean: Vec<f64>, precision: Vec<f64>) -> Result<Option<Point>> {
    let mut factor = precision.clone();
    model.structure().factor("expected curvature", &mut factor)?;
    evaluate(model, mean, precision, factor)
}

fn evaluate(
    model: &SparseModel,
    mean: Vec<f64>,
    precision: Vec<f64>,
    factor: Vec<f64>,
) -> Result<Option<Point>> {
    let structure = model.structure();
    let dim = structure.dim();
    let roots: Vec<f64> =
        (0..dim).map(|place| precision[structure.diagonal(place)].max(0.0).sqrt()).collect();
    let selected = Selected::new(structure, &factor, &roots)?;
    let moments = match model.expect(&mean, &selected) {
        Ok(moments) => moments,
        Err(Error::NotFinite { .. }) if !stop::was_cut_off() => return Ok(None),
        Err(error) => return Err(error),
    };
    let logs: f64 = (0..dim).map(|place| factor[structure.diagonal(place)].ln().abs()).sum();
    let neg_elbo = moments.value + structure.half_log_det(&factor) - entropy_constant(dim);
    let size = moments.value.abs() + logs + entropy_constant(dim);
    let neg_elbo_error = moments.value_error + (dim as f64 + 8.0) * f64::EPSILON * size;
    let bound = model.gap(&moments, &precision, &selected);
    let point = Point { mean, precision, factor, moments, neg_elbo, neg_elbo_error, bound };
    Ok(point.neg_elbo.is_finite().then_some(point))
}

/// The next point; `None` if no step decreases f.
fn step(model: &SparseModel, now: &Point, evaluations: &mut u64) -> Result<Option<Point>> {
    let structure = model.structure();
    for halving in 0..HALVINGS {
        let t = 0.5f64.powi(halving);
        let target = &now.moments.hessian;
        let precision: Vec<f64> = match halving {
            0 => target.clone(),
            _ => now.precision.iter().zip(target).map(|(p, h)| p + t * (h - p)).collect(),
        };
        let mut factor = precision.clone();
        match structure.factor("expected curvature", &mut factor) {
            Err(Error::NotPositiveDefinite { .. }) => continue,
            made => made?,
        }
        let mut direction = now.moments.gradient.clone();
        structure.solve_lower(&factor, &mut direction);
        structure.solve_upper(&factor, &mut direction);
        let mean = now.mean.iter().zip(&direction).map(|(m, x)| m - t * x).collect();
        *evaluations += 1;
        let Some(next) = evaluate(model, mean, precision, factor)? else { continue };
        if next.neg_elbo <= now.neg_elbo + 2.0 * next.noise().min(now.noise()) {
            return Ok(Some(next));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
