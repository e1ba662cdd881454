//! Any log density: a function that returns its value and fills its gradient.
//!
//! What the function does not say, its owner may: declared curvature makes a promise possible, and the promise
//! then says on whose word it rests.

use provi::target::{Closure, Declared};
use provi::{Curvature, Method, Planner, Quadratic, Seed};

fn main() -> provi::Result<()> {
    // V(z) = ½(z₀² + 2z₁²) + log cosh(z₀ − z₁): curvature between diag(1, 2) and diag(1, 2) + (1,−1)(1,−1)ᵀ.
    let density = Closure::new(2, |z: &[f64], gradient: &mut [f64]| {
        let gap = z[0] - z[1];
        gradient[0] = -z[0] - gap.tanh();
        gradient[1] = -2.0 * z[1] + gap.tanh();
        -0.5 * (z[0] * z[0] + 2.0 * z[1] * z[1]) - gap.cosh().ln()
    })?;

    match Planner::new(Method::ProxEnergy).to_distance(&density, 0.1) {
        Ok(_) => println!("unexpected: a plan without constants"),
        Err(error) => println!("without constants: {error}\n"),
    }

    // λ_min = 1 and λ_max of [2 −1; −1 3] is (5 + √5)/2 < 3.62.
    let curvature = Curvature::declared(2, Quadratic::Scalar(1.0), Some(Quadratic::Scalar(3.62)))?;
    let target = Declared::new(density).with_curvature(curvature)?;
    let plan = Planner::new(Method::ProxEnergy).draws(8).to_distance(&target, 0.05)?;
    println!("{}: {} steps of {} draws", plan.method, plan.steps, plan.draws);
    println!("{}", plan.schedule);
    if let (Some(value), Some(provenance)) = (plan.promise.value, plan.promise.provenance) {
        println!("promise: E‖w_T − w*‖² ≤ {value:.4}, from {provenance} constants");
    }
    let fit = plan.run(&target, Seed(3))?;
    println!("\nmean       {:.4?}", fit.gaussian.mean());
    println!("deviations {:.4?}", fit.gaussian.standard_deviations());
    println!("−ELBO      {:.4} ± {:.4} (standard error)", fit.neg_elbo.value, fit.neg_elbo.error);
    Ok(())
}
