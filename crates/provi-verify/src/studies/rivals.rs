//! Optimisers side by side: the proved ones, plain SGD, and Adam with a log-diagonal factor.

use crate::problems::Problem;
use crate::space::{Space, objective};
use provi::draws::{Draws, Purpose, Seed};
use provi::estimator::{Kind, Sampled};
use provi::optimize::{Moved, Operator};
use provi::step::{ProjSymmetric, ProjTriangular, Prox};
use provi::target::Evaluator;
use provi::{Gaussian, Result, Symmetric, Triangular};

/// Which optimiser runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    ProxEnergy,
    ProjEntropyTriangular,
    ProjStl,
    /// Gradient steps on f with the entropy estimator, without prox or projection.
    PlainSgd,
    /// Adam on (m, strict triangle, log diagonal), entropy estimator.
    Adam,
}

impl Rival {
    pub(crate) const ALL: [Self; 5] =
        [Self::ProxEnergy, Self::ProjEntropyTriangular, Self::ProjStl, Self::PlainSgd, Self::Adam];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ProxEnergy => "prox-energy",
            Self::ProjEntropyTriangular => "proj-entropy-triangular",
            Self::ProjStl => "proj-stl",
            Self::PlainSgd => "plain SGD",
            Self::Adam => "Adam, log diagonal",
        }
    }

    /// Whether a step keeps the factor in its domain.
    pub(crate) fn is_guarded(self) -> bool {
        !matches!(self, Self::PlainSgd)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// f − f*.
    Gap(f64),
    /// A diagonal entry of C reached zero or below: the objective is not defined there.
    LeftDomain,
    /// Numbers overflowed, or f grew beyond 10⁶ nats.
    Overflowed,
}

/// `steps` steps of constant size from (m, C), one draw each.
pub(crate) fn run(
    rival: Rival,
    problem: &Problem,
    start: &[f64],
    gamma: f64,
    steps: u64,
    seed: u64,
) -> Result<End> {
    match rival {
        Rival::ProxEnergy => guarded::<Triangular>(
            problem,
            Kind::Energy,
            Box::new(Prox::new(problem.dim())),
            start,
            gamma,
            steps,
            seed,
        ),
        Rival::ProjEntropyTriangular => {
            let operator = Box::new(ProjTriangular::new(problem.dim(), problem.smoothness)?);
            guarded::<Triangular>(problem, Kind::Entropy, operator, start, gamma, steps, seed)
        }
        Rival::ProjStl => {
            let operator = Box::new(ProjSymmetric::new(problem.dim(), problem.smoothness)?);
            guarded::<Symmetric>(problem, Kind::Stl, operator, start, gamma, steps, seed)
        }
        Rival::PlainSgd => plain(problem, start, gamma, steps, seed),
        Rival::Adam => adam(problem, start, gamma, steps, seed),
    }
}

fn estimator<F: Space>(problem: &Problem, kind: Kind, seed: u64) -> Result<Sampled<'_, F>> {
    Sampled::new(kind, Evaluator::Serial(problem.target()), Draws::new(Seed(seed), Purpose::Optimise), 1)
}

/// f(w) − f*, or how it failed.
fn end<F: Space>(problem: &Problem, w: &[f64]) -> Result<End> {
    if !w.iter().all(|x| x.is_finite() && x.abs() < 1e150) {
        return Ok(End::Overflowed);
    }
    let d = problem.dim();
    let Ok(q) = Gaussian::<F>::new(&w[..d], &w[d..]) else { return Ok(End::LeftDomain) };
    let gap = objective(problem.target(), &q)? - problem.best;
    Ok(if gap < 1e6 { End::Gap(gap) } else { End::Overflowed })
}

fn guarded<F: Space>(
    problem: &Problem,
    kind: Kind,
    mut operator: Box<dyn Operator>,
    start: &[f64],
    gamma: f64,
    steps: u64,
    seed: u64,
) -> Result<End> {
    let mut estimator = estimator::<F>(problem, kind, seed)?;
    let (mut w, mut g) = (start.to_vec(), vec![0.0; start.len()]);
    let unknown = Moved { distance: f64::MAX, value: None };
    operator.apply(&mut w, 0.0, &unknown)?;
    for t in 0..steps {
        // An estimator refuses a target or a factor that is not finite: that counts as an overflow.
        if estimator.gradient(&w, t, &mut g).is_err() || !g.iter().all(|x| x.is_finite()) {
            return Ok(End::Overflowed);
        }
        w.iter_mut().zip(&g).for_each(|(w, g)| *w -= gamma * g);
        if operator.apply(&mut w, gamma, &unknown).is_err() {
            return Ok(End::Overflowed);
        }
    }
    end::<F>(problem, &w)
}

fn is_inside(d: usize, w: &[f64]) -> bool {
    (0..d).all(|i| w[d + i * (i + 3) / 2] > 0.0)
}

fn plain(problem: &Problem, start: &[f64], gamma: f64, steps: u64, seed: u64) -> Result<End> {
    let d = problem.dim();
    let mut estimator = estimator::<Triangular>(problem, Kind::Entropy, seed)?;
    let (mut w, mut g) = (start.to_vec(), vec![0.0; start.len()]);
    for t in 0..steps {
        if estimator.gradient(&w, t, &mut g).is_err() || !g.iter().all(|x| x.is_finite()) {
            return Ok(End::Overflowed);
        }
        w.iter_mut().zip(&g).for_each(|(w, g)| *w -= gamma * g);
        if !is_inside(d, &w) {
            return Ok(End::LeftDomain);
        }
    }
    end::<Triangular>(problem, &w)
}

/// Adam with its usual β₁ = 0.9, β₂ = 0.999, ε = 1e-8; dC_ii = C_ii·dlog C_ii.
fn adam(problem: &Problem, start: &[f64], gamma: f64, steps: u64, seed: u64) -> Result<End> {
    let d = problem.dim();
    let diagonal: Vec<usize> = (0..d).map(|i| d + i * (i + 3) / 2).collect();
    let mut estimator = estimator::<Triangular>(problem, Kind::Entropy, seed)?;
    let (mut w, mut g) = (start.to_vec(), vec![0.0; start.len()]);
    let (mut first, mut second) = (vec![0.0; w.len()], vec![0.0; w.len()]);
    let (b1, b2) = (0.9f64, 0.999f64);
    for t in 0..steps {
        if estimator.gradient(&w, t, &mut g).is_err() || !g.iter().all(|x| x.is_finite()) {
            return Ok(End::Overflowed);
        }
        diagonal.iter().for_each(|&i| g[i] *= w[i]);
        let n = (t + 1) as i32;
        for i in 0..w.len() {
            first[i] = b1 * first[i] + (1.0 - b1) * g[i];
            second[i] = b2 * second[i] + (1.0 - b2) * g[i] * g[i];
            let step =
                gamma * first[i] / (1.0 - b1.powi(n)) / ((second[i] / (1.0 - b2.powi(n))).sqrt() + 1e-8);
            if diagonal.contains(&i) { w[i] *= (-step).exp() } else { w[i] -= step }
        }
    }
    end::<Triangular>(problem, &w)
}
