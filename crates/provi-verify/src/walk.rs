//! Runs of the methods, many seeds at a time.

use crate::problems::Problem;
use crate::space::{Space, distance2, objective};
use crate::statistics::{Mean, quantile};
use provi::average::Averager;
use provi::draws::{Draws, Purpose, Seed};
use provi::estimator::Sampled;
use provi::optimize::{Composite, Moved, Operator, minimise};
use provi::step::{ProjSymmetric, ProjTriangular, Prox};
use provi::target::Evaluator;
use provi::{Average, BaseLaw, Gaussian, Method, Result, Schedule, Symmetric, Triangular};
use rayon::prelude::*;
use std::ops::ControlFlow;

/// One method on one problem from one start.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) method: Method,
    /// (m, packed C); read in the method's own space.
    pub(crate) start: &'a [f64],
    pub(crate) draws: usize,
    /// The law of the draws.
    pub(crate) base_law: BaseLaw,
}

/// The result of one run: errors at the checkpoints, and the answers.
struct Trace {
    errors: Vec<f64>,
    last: Vec<f64>,
    average: Vec<f64>,
}

/// ‖w_t − w*‖² over seeds at each checkpoint.
pub(crate) struct Errors {
    pub(crate) at: Vec<u64>,
    pub(crate) runs: Vec<Vec<f64>>,
}

impl Errors {
    fn column(&self, i: usize) -> Vec<f64> {
        self.runs.iter().map(|run| run[i]).collect()
    }

    pub(crate) fn mean(&self, i: usize) -> Mean {
        Mean::of(&self.column(i))
    }

    pub(crate) fn means(&self) -> Vec<(f64, f64)> {
        (0..self.at.len()).map(|i| (self.at[i] as f64, self.mean(i).value)).collect()
    }

    /// The 10% and 90% quantiles over seeds.
    pub(crate) fn band(&self) -> Vec<(f64, f64, f64)> {
        (0..self.at.len())
            .map(|i| {
                let column = self.column(i);
                (self.at[i] as f64, quantile(&column, 0.1), quantile(&column, 0.9))
            })
            .collect()
    }
}

/// f − f* over seeds, for the last iterate and for the average.
pub(crate) struct Gaps {
    pub(crate) last: Vec<f64>,
    pub(crate) average: Vec<f64>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(problem: &'a Problem, method: Method, start: &'a [f64]) -> Self {
        Self { problem, method, start, draws: 1, base_law: BaseLaw::Gaussian }
    }

    fn is_symmetric(&self) -> bool {
        is_symmetric(self.method)
    }

    /// ‖w_0 − w*‖², after w_0 has been projected into the method's set.
    pub(crate) fn start_distance2(&self) -> Result<f64> {
        let mut w = self.start.to_vec();
        self.operator()?.apply(&mut w, 0.0, &Moved { distance: f64::MAX, value: None })?;
        let star = star(self.problem, self.method)?;
        Ok(distance(self.method, self.problem.dim(), &w, &star))
    }

    fn operator(&self) -> Result<Box<dyn Operator>> {
        let (d, smoothness) = (self.problem.dim(), self.problem.smoothness);
        Ok(match self.method {
            Method::ProjEntropyTriangular | Method::ProjControlled => {
                Box::new(ProjTriangular::new(d, smoothness)?)
            }
            Method::ProjEntropy | Method::ProjStl => Box::new(ProjSymmetric::new(d, smoothness)?),
            _ => Box::new(Prox::new(d)),
        })
    }

    fn run(
        &self,
        schedule: &Schedule,
        average: Average,
        at: &[u64],
        star: &[f64],
        seed: u64,
    ) -> Result<Trace> {
        if self.is_symmetric() {
            self.run_in::<Symmetric>(schedule, average, at, star, seed)
        } else {
            self.run_in::<Triangular>(schedule, average, at, star, seed)
        }
    }

    fn run_in<F: Space>(
        &self,
        schedule: &Schedule,
        average: Average,
        at: &[u64],
        star: &[f64],
        seed: u64,
    ) -> Result<Trace> {
        let d = self.problem.dim();
        let draws = Draws::new(Seed(seed), Purpose::Optimise).of(self.base_law);
        let evaluator = Evaluator::Serial(self.problem.target());
        let mut operator = self.operator()?;
        let mut w = self.start.to_vec();
        operator.apply(&mut w, 0.0, &Moved { distance: f64::MAX, value: None })?;
        let mut averager = Averager::new(average, w.len())?;
        let kind = self.method.estimator().unwrap_or(provi::estimator::Kind::Energy);
        let estimator = Sampled::<F>::new(kind, evaluator, draws, self.draws)?;
        let mut problem = Composite { estimator, operator };
        let mut errors = Vec::with_capacity(at.len());
        let steps = at.last().copied().unwrap_or(0);
        minimise(&mut problem, &mut w, schedule, &mut averager, steps, &mut |p| {
            if at.get(errors.len()) == Some(&(p.t + 1)) {
                errors.push(distance2::<F>(d, p.w, star));
            }
            ControlFlow::Continue(())
        })?;
        let average = averager.finish(&w)?;
        Ok(Trace { errors, last: w, average })
    }

    /// ‖w_t − w*‖² at the checkpoints, for each of `seeds` seeds.
    pub(crate) fn errors(&self, schedule: &Schedule, at: &[u64], seeds: u64) -> Result<Errors> {
        let star = star(self.problem, self.method)?;
        let runs: Result<Vec<Vec<f64>>> = (0..seeds)
            .into_par_iter()
            .map(|seed| Ok(self.run(schedule, Average::Last, at, &star, 1000 + seed)?.errors))
            .collect();
        Ok(Errors { at: at.to_vec(), runs: runs? })
    }

    /// f − f* after `steps` steps, for each of `seeds` seeds.
    pub(crate) fn gaps(&self, schedule: &Schedule, average: Average, steps: u64, seeds: u64) -> Result<Gaps> {
        let star = star(self.problem, self.method)?;
        let pairs: Result<Vec<(f64, f64)>> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let trace = self.run(schedule, average, &[steps], &star, 5000 + seed)?;
                Ok((self.gap(&trace.last)?, self.gap(&trace.average)?))
            })
            .collect();
        let (last, average) = pairs?.into_iter().unzip();
        Ok(Gaps { last, average })
    }

    /// f(w) − f*.
    fn gap(&self, w: &[f64]) -> Result<f64> {
        let (m, c) = w.split_at(self.problem.dim());
        let f = if self.is_symmetric() {
            objective(self.problem.target(), &Gaussian::<Symmetric>::new(m, c)?)?
        } else {
            objective(self.problem.target(), &Gaussian::<Triangular>::new(m, c)?)?
        };
        Ok(f - self.problem.best)
    }
}

/// Whether the method's factor lives in 𝒮ᵈ.
pub(crate) fn is_symmetric(method: Method) -> bool {
    matches!(method, Method::ProjEntropy | Method::ProjStl)
}

/// w* as a flat vector in the method's space.
pub(crate) fn star(problem: &Problem, method: Method) -> Result<Vec<f64>> {
    Ok(if is_symmetric(method) {
        Symmetric::of(&problem.star)?.parameters().to_vec()
    } else {
        problem.star.parameters().to_vec()
    })
}

/// ‖w − v‖² in the method's space.
pub(crate) fn distance(method: Method, d: usize, w: &[f64], v: &[f64]) -> f64 {
    if is_symmetric(method) { distance2::<Symmetric>(d, w, v) } else { distance2::<Triangular>(d, w, v) }
}

/// (m, C) far from w*: every mean is off by the widest scale, and C is twice as wide.
pub(crate) fn far_start(problem: &Problem) -> Vec<f64> {
    let (d, scale) = (problem.dim(), problem.convexity.powf(-0.5));
    let wide = provi::Matrix::scaled_identity(d, 2.0 * scale);
    [vec![scale; d], crate::algebra::pack(&wide)].concat()
}

/// Checkpoints: about `per_decade` per decade up to `steps`.
pub(crate) fn checkpoints(steps: u64, per_decade: u32) -> Vec<u64> {
    let mut out: Vec<u64> = (0..)
        .map(|i| 10f64.powf(f64::from(i) / f64::from(per_decade)).round() as u64)
        .take_while(|t| *t < steps)
        .collect();
    out.push(steps);
    out.dedup();
    out
}
