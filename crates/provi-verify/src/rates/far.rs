//! W2 and W4: the regime of the rate is out of reach, but the bounds hold.

use crate::algebra::{cholesky, dot, general_inverse, inverse, pack, product};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, w2, w4};
use crate::trial::Trial;
use crate::walk::distance;
use provi::{Gaussian, Matrix, Method, Planner, Result, Seed, Symmetric, Target, Triangular};
use rayon::prelude::*;

/// P⁻¹ of the curvature coordinates PPᵀ = H_lo⁻¹.
fn inverse_coordinates(problem: &Problem) -> Matrix {
    general_inverse(&cholesky(&inverse(&problem.curvature.lower().to_matrix(problem.dim()))))
}

/// P⁻¹(m, C), in the method's space.
fn whitened(back: &Matrix, method: Method, q: &Gaussian<Triangular>) -> Result<Vec<f64>> {
    let d = q.dim();
    let mean: Vec<f64> = (0..d).map(|i| dot(back.row(i), q.mean())).collect();
    let white = Gaussian::<Triangular>::new(&mean, &pack(&product(back, &q.factor_matrix())))?;
    Ok(if crate::walk::is_symmetric(method) {
        let q: Gaussian<Symmetric> = white.to_symmetric()?;
        q.parameters().to_vec()
    } else {
        white.parameters().to_vec()
    })
}

/// Plans of a few steps on W2 and W4: the mean squared distance of a few runs against the promise.
pub(crate) fn far_problems(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    if trial.quick {
        return Ok(());
    }
    let methods = [Method::ProxEnergy, Method::ProjEntropy, Method::ProjEntropyTriangular, Method::ProjStl];
    for (problem, steps) in [(w2()?, 300), (w4()?, 60)] {
        let back = inverse_coordinates(&problem);
        for method in methods {
            let plan = Planner::new(method).to_steps(problem.target(), steps)?;
            let promise = plan.promise.value.unwrap_or(f64::INFINITY);
            let goal = whitened(&back, method, &problem.star)?;
            let target: &(dyn Target + Send + Sync) = problem.target.as_ref();
            let errors: Result<Vec<f64>> = (0..4u64)
                .into_par_iter()
                .map(|seed| {
                    let fit = plan.run(target, Seed(seed))?;
                    let found = whitened(&back, method, &fit.gaussian)?;
                    Ok(distance(method, problem.dim(), &found, &goal))
                })
                .collect();
            let mean = crate::statistics::Mean::of(&errors?);
            let name = format!("{}, {}, {steps} planned steps", problem.name, method.name());
            outcome.check(Check::mean_at_most(name, mean, trial.upper(promise)));
        }
    }
    Ok(())
}
