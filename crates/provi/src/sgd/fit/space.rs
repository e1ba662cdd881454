//! The parameters that a run moves: all of w = (m, packed C), or m and the entries of a family.

use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Factor, Gaussian, Symmetric, Triangular};
use crate::base::pattern::Entries;
use crate::sgd::estimator::{Exact, Kind, Sampled, Source, Terms};
use crate::sgd::method::{Guard, MISSING_SMOOTHNESS};
use crate::sgd::optimize::{Adaptive, Composite, FnOperator, Moved, Operator, Problem};
use crate::sgd::plan::Plan;
use crate::sgd::step::{
    BallSymmetric, BallTriangular, Diagonal, ExactWithin, Floor, FusedProx, ProjEntropy, ProjStl,
    ProjSymmetric, ProjTriangular, Prox, Within,
};
use crate::sgd::walk::{Walk, Walker};
use crate::target::evaluate::Evaluator;
use std::marker::PhantomData;
use std::sync::Arc;

/// A move of which nothing is known.
pub(super) const UNKNOWN: Moved = Moved { distance: f64::MAX, value: None };

/// How a run holds its parameters, w = (m, numbers of the factor), and moves them.
pub(super) trait Parameters {
    /// The prox or the projection.
    fn operator(&self, plan: &Plan, dim: usize) -> Result<Box<dyn Operator>>;

    /// The steps of the plan's method, created from plain numbers.
    fn start<'a>(
        &self,
        plan: &'a Plan,
        view: Evaluator<'a>,
        seed: Seed,
        dim: usize,
    ) -> Result<Box<dyn Problem + 'a>>;

    /// Refuses numbers that are no factor.
    fn check_domain(&self, dim: usize, factor: &[f64]) -> Result<()>;

    /// log det C.
    fn log_det(&self, dim: usize, factor: &[f64]) -> Result<f64>;

    /// The Gaussian with these parameters.
    fn answer(&self, dim: usize, w: Vec<f64>) -> Result<Gaussian<Triangular>>;
}

/// Every entry of a factor of 𝒯ᵈ or 𝒮ᵈ.
pub(super) struct Dense<F>(PhantomData<F>);

impl<F> Dense<F> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<F: StepSpace> Parameters for Dense<F> {
    fn operator(&self, plan: &Plan, dim: usize) -> Result<Box<dyn Operator>> {
        F::operator(plan, dim)
    }

    fn start<'a>(
        &self,
        plan: &'a Plan,
        view: Evaluator<'a>,
        seed: Seed,
        dim: usize,
    ) -> Result<Box<dyn Problem + 'a>> {
        F::start(plan, view, seed, dim)
    }

    fn check_domain(&self, dim: usize, factor: &[f64]) -> Result<()> {
        F::check_domain(dim, factor)
    }

    fn log_det(&self, dim: usize, factor: &[f64]) -> Result<f64> {
        F::log_det(dim, factor)
    }

    fn answer(&self, dim: usize, w: Vec<f64>) -> Result<Gaussian<Triangular>> {
        Gaussian::<F>::from_parameters(dim, w).to_triangular()
    }
}

/// Every entry of a factor of 𝒯ᵈ, moved by a walk that stays in the domain.
pub(super) struct Walked(pub(super) Walk);

impl Parameters for Walked {
    fn operator(&self, _plan: &Plan, _dim: usize) -> Result<Box<dyn Operator>> {
        Ok(Box::new(nothing()))
    }

    fn start<'a>(
        &self,
        plan: &'a Plan,
        view: Evaluator<'a>,
        seed: Seed,
        _dim: usize,
    ) -> Result<Box<dyn Problem + 'a>> {
        let draws = Draws::new(seed, Purpose::Optimise).coupled(plan.coupling);
        Ok(Box::new(Walker::new(self.0, source(plan, view, seed)?, draws, plan.draws)?))
    }

    fn check_domain(&self, dim: usize, factor: &[f64]) -> Result<()> {
        Triangular::check_domain(dim, factor)
    }

    fn log_det(&self, dim: usize, factor: &[f64]) -> Result<f64> {
        Triangular::log_det(dim, factor)
    }

    fn answer(&self, dim: usize, w: Vec<f64>) -> Result<Gaussian<Triangular>> {
        Ok(Gaussian::from_parameters(dim, w))
    }
}

/// The whole target, or the terms that the plan draws.
fn source<'a>(plan: &'a Plan, view: Evaluator<'a>, seed: Seed) -> Result<Source<'a>> {
    Ok(match &plan.law {
        Some(law) => Terms::new(view.target(), law, seed)?.into(),
        None => view.into(),
    })
}

/// The entries of a pattern, and no others \[pattern\].
pub(super) struct Family(Arc<Entries>);

impl Family {
    pub(super) fn new(plan: &Plan) -> Result<Self> {
        Ok(Self(Arc::new(plan.pattern.entries(plan.start.dim())?)))
    }

    /// (m, the entries) of a Gaussian of the family.
    pub(super) fn parameters(&self, q: &Gaussian<Triangular>) -> Vec<f64> {
        let d = q.dim();
        let mut w = q.mean().to_vec();
        w.resize(d + self.0.len(), 0.0);
        self.0.gather(q.factor(), &mut w[d..]);
        w
    }

    fn diagonal(&self, plan: &Plan) -> Result<Diagonal> {
        let floor = match plan.method.guard() {
            Guard::Projection => Floor::Least(plan.smoothness.ok_or(MISSING_SMOOTHNESS)?.sqrt().recip()),
            Guard::Prox | Guard::Nothing => Floor::Prox,
        };
        Ok(Diagonal { entries: Arc::clone(&self.0), floor })
    }
}

impl Parameters for Family {
    fn operator(&self, plan: &Plan, _dim: usize) -> Result<Box<dyn Operator>> {
        Ok(Box::new(self.diagonal(plan)?))
    }

    fn start<'a>(
        &self,
        plan: &'a Plan,
        view: Evaluator<'a>,
        seed: Seed,
        _dim: usize,
    ) -> Result<Box<dyn Problem + 'a>> {
        if plan.method.estimator().is_none() {
            let expectations = view.target().expectations().ok_or(MISSING_SMOOTHNESS)?;
            return Ok(Box::new(ExactWithin::new(expectations, Arc::clone(&self.0))));
        }
        let source = source(plan, view, seed)?;
        let draws = Draws::new(seed, Purpose::Optimise).of(plan.base_law).coupled(plan.coupling);
        Ok(Box::new(Within::new(source, draws, plan.draws, self.diagonal(plan)?)?))
    }

    fn check_domain(&self, dim: usize, factor: &[f64]) -> Result<()> {
        match (0..dim).find(|&i| factor[self.0.diagonal(i)].is_nan() || factor[self.0.diagonal(i)] <= 0.0) {
            Some(pivot) => Err(Error::NotPositiveDefinite { what: "factor", dim, pivot }),
            None => Ok(()),
        }
    }

    fn log_det(&self, dim: usize, factor: &[f64]) -> Result<f64> {
        Ok((0..dim).map(|i| factor[self.0.diagonal(i)].ln()).sum())
    }

    fn answer(&self, dim: usize, w: Vec<f64>) -> Result<Gaussian<Triangular>> {
        let parameters = [w[..dim].to_vec(), self.0.scatter(&w[dim..])].concat();
        Ok(Gaussian::from_parameters(dim, parameters))
    }
}

/// A factor space of 𝒯ᵈ or 𝒮ᵈ with its operators.
pub(super) trait StepSpace: Factor {
    fn operator(plan: &Plan, dim: usize) -> Result<Box<dyn Operator>>;

    /// The steps of the plan's method, created from plain numbers.
    fn start<'a>(
        plan: &'a Plan,
        view: Evaluator<'a>,
        seed: Seed,
        dim: usize,
    ) -> Result<Box<dyn Problem + 'a>> {
        let operator = Self::operator(plan, dim)?;
        match plan.method.estimator() {
            Some(kind) if plan.method.follows_draws() => {
                let draws = Draws::new(seed, Purpose::Optimise).of(plan.base_law).coupled(plan.coupling);
                let estimator = Sampled::<Self>::new(kind, source(plan, view, seed)?, draws, plan.draws)?;
                if plan.method.is_adaptive() {
                    let len = plan.start.parameters().len();
                    return Ok(Box::new(Adaptive::new(estimator, operator, len)));
                }
                let mut start = plan.start.parameters().to_vec();
                Self::operator(plan, dim)?.apply(&mut start, 0.0, &UNKNOWN)?;
                Ok(Box::new(Adaptive::travelled(estimator, operator, &start)))
            }
            Some(kind) => Self::problem(plan, kind, source(plan, view, seed)?, seed, operator),
            None => {
                let expectations = view.target().expectations().ok_or(MISSING_SMOOTHNESS)?;
                Ok(Box::new(Composite { estimator: Exact::new(expectations, dim), operator }))
            }
        }
    }

    /// The steps of a method that draws.
    fn problem<'a>(
        plan: &Plan,
        kind: Kind,
        source: Source<'a>,
        seed: Seed,
        operator: Box<dyn Operator>,
    ) -> Result<Box<dyn Problem + 'a>>;
}

impl StepSpace for Triangular {
    fn operator(plan: &Plan, dim: usize) -> Result<Box<dyn Operator>> {
        if let Some(ball) = &plan.ball {
            let smoothness = plan.smoothness.ok_or(MISSING_SMOOTHNESS)?;
            return Ok(Box::new(BallTriangular::new(ball.clone(), smoothness)?));
        }
        Ok(match plan.method.guard() {
            Guard::Prox => Box::new(Prox::new(dim)),
            Guard::Projection => {
                Box::new(ProjTriangular::new(dim, plan.smoothness.ok_or(MISSING_SMOOTHNESS)?)?)
            }
            Guard::Nothing => Box::new(nothing()),
        })
    }

    /// The energy estimator and the prox share their passes over C.
    fn problem<'a>(
        plan: &Plan,
        kind: Kind,
        source: Source<'a>,
        seed: Seed,
        operator: Box<dyn Operator>,
    ) -> Result<Box<dyn Problem + 'a>> {
        let draws = Draws::new(seed, Purpose::Optimise).of(plan.base_law).coupled(plan.coupling);
        if kind == Kind::Energy && plan.control.is_none() {
            return Ok(Box::new(FusedProx::new(source, draws, plan.draws)?));
        }
        let mut estimator = Sampled::<Self>::new(kind, source, draws, plan.draws)?;
        if let Some(control) = &plan.control {
            estimator = estimator.controlled(control.clone())?;
        }
        Ok(Box::new(Composite { estimator, operator }))
    }
}

impl StepSpace for Symmetric {
    fn operator(plan: &Plan, dim: usize) -> Result<Box<dyn Operator>> {
        if let Some(ball) = &plan.ball {
            let smoothness = plan.smoothness.ok_or(MISSING_SMOOTHNESS)?;
            return Ok(Box::new(BallSymmetric::new(ball.clone(), smoothness)?));
        }
        Ok(match plan.method.guard() {
            Guard::Nothing => Box::new(nothing()),
            _ => Box::new(ProjSymmetric::new(dim, plan.smoothness.ok_or(MISSING_SMOOTHNESS)?)?),
        })
    }

    /// With the projection: fused steps that share their factorisations.
    fn problem<'a>(
        plan: &Plan,
        kind: Kind,
        source: Source<'a>,
        seed: Seed,
        operator: Box<dyn Operator>,
    ) -> Result<Box<dyn Problem + 'a>> {
        let draws = Draws::new(seed, Purpose::Optimise).of(plan.base_law).coupled(plan.coupling);
        let smoothness = plan.smoothness.filter(|_| plan.method.guard() == Guard::Projection);
        Ok(match (kind, smoothness) {
            (Kind::Stl, Some(m)) if ProjStl::pays(source.dim(), plan.draws) => {
                Box::new(ProjStl::new(source, draws, plan.draws, m)?)
            }
            (Kind::Entropy, Some(m)) => Box::new(ProjEntropy::new(source, draws, plan.draws, m)?),
            _ => Box::new(Composite {
                estimator: Sampled::<Self>::new(kind, source, draws, plan.draws)?,
                operator,
            }),
        })
    }
}

fn nothing() -> impl Operator {
    FnOperator(|_: &mut [f64], _: f64| {})
}
