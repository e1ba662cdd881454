//! The named problems on which statements are tested.

mod embedded;
mod synthetic;

pub(crate) use embedded::{w1, w2, w4};
pub(crate) use synthetic::{
    design_rows, gaussian, hierarchical, logistic, logistic_to_linear, normals, orthogonal, probit,
    regression,
};

use crate::algebra::{difference, dot};
use crate::space::objective;
use provi::mode::find_mode;
use provi::solve::Solver;
use provi::{Curvature, Error, Gaussian, Result, Target, Triangular};

/// A target with everything that is known about it.
pub(crate) struct Problem {
    pub(crate) name: String,
    pub(crate) target: Box<dyn Target + Send + Sync>,
    pub(crate) curvature: Curvature,
    /// M.
    pub(crate) smoothness: f64,
    /// μ.
    pub(crate) convexity: f64,
    /// The optimum w*, to the last digits.
    pub(crate) star: Gaussian<Triangular>,
    /// f(w*).
    pub(crate) best: f64,
    /// ‖w* − w̄‖², w̄ = (mode, 0).
    pub(crate) mode2: f64,
}

impl Problem {
    /// Finds w* and the mode.
    pub(crate) fn new(name: impl Into<String>, target: impl Target + Send + Sync + 'static) -> Result<Self> {
        const NEEDED: Error = Error::MissingConstant {
            wanted: "an experiment",
            constant: "an upper bound of ∇²V",
            way_out: "use a family whose curvature is bounded",
        };
        let curvature = target.curvature()?.ok_or(NEEDED)?;
        let star = Solver { goal: 1e-28, iterations: 3000 }.run(&target)?.gaussian;
        let mode = find_mode(&target, &vec![0.0; star.dim()])?;
        let shift = difference(star.mean(), &mode.point);
        let best = objective(&target, &star)?;
        Ok(Self {
            name: name.into(),
            smoothness: curvature.smoothness().ok_or(NEEDED)?,
            convexity: curvature.convexity(),
            curvature,
            best,
            mode2: dot(&shift, &shift) + dot(star.factor(), star.factor()),
            star,
            target: Box::new(target),
        })
    }

    pub(crate) fn dim(&self) -> usize {
        self.star.dim()
    }

    /// The same with κ in its name.
    fn with_condition(mut self) -> Self {
        self.name = format!("{}, κ = {:.1}", self.name, self.condition());
        self
    }

    /// M/μ.
    pub(crate) fn condition(&self) -> f64 {
        self.smoothness / self.convexity
    }

    pub(crate) fn target(&self) -> &dyn Target {
        self.target.as_ref()
    }
}

/// The small problems of the noise and rate experiments: κ ≤ 5, unequal groups in the hierarchical one.
pub(crate) fn small() -> Result<Vec<Problem>> {
    Ok(vec![gaussian(4, 4.0, 11)?, logistic(4)?, hierarchical()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_problems_are_well_conditioned_and_their_optima_are_stationary() {
        for problem in small().unwrap().iter().chain([&probit(3).unwrap(), &w1().unwrap()]) {
            assert!(problem.condition() <= 5.0, "{}: {}", problem.name, problem.condition());
            let slope = crate::space::gradient(problem.target(), &problem.star, true).unwrap();
            assert!(slope.iter().all(|x| x.abs() < 1e-6 * problem.smoothness), "{}: {slope:?}", problem.name);
        }
    }
}
