//! The paper's hierarchical model: groups that differ, around a common centre.
//!
//! Strong convexity comes from the joint prior alone, in closed form; the exact method then needs no draws.

use provi::target::{hierarchical_convexity, hierarchical_logistic};
use provi::{Design, Matrix, Method, Planner, Seed, Target};

fn main() -> provi::Result<()> {
    // Three schools, one feature and an intercept; each school has its own coefficients around θ.
    let rows = [
        (0, [1.0, -1.0], 0.0),
        (0, [1.0, 0.0], 0.0),
        (0, [1.0, 0.5], 1.0),
        (0, [1.0, 1.5], 1.0),
        (1, [1.0, -0.5], 1.0),
        (1, [1.0, 0.2], 1.0),
        (1, [1.0, 1.0], 1.0),
        (2, [1.0, -1.2], 0.0),
        (2, [1.0, -0.1], 0.0),
        (2, [1.0, 0.8], 0.0),
        (2, [1.0, 2.0], 1.0),
    ];
    let entries: Vec<f64> = rows.iter().flat_map(|r| r.1).collect();
    let labels: Vec<f64> = rows.iter().map(|r| r.2).collect();
    let groups: Vec<usize> = rows.iter().map(|r| r.0).collect();
    let (top, within) = (Matrix::scaled_identity(2, 0.5), Matrix::scaled_identity(2, 2.0));
    let features = Design::dense(rows.len(), 2, &entries)?;
    let target = hierarchical_logistic(&features, &labels, &groups, &top, &within)?;

    let curvature = target.curvature()?.ok_or(provi::Error::Empty { what: "curvature" })?;
    println!(
        "d = {}, μ = {:.6} (closed form {:.6})",
        target.dim(),
        curvature.convexity(),
        hierarchical_convexity(0.5, 2.0, 3)
    );
    println!("κ = {:.1} in the model's own coordinates", curvature.condition().unwrap_or(f64::NAN));

    let plan = Planner::new(Method::Exact).to_distance(&target, 1e-8)?;
    println!("{}: {} steps, {}", plan.method, plan.steps, plan.schedule);
    if let (Some(value), Some(norm)) = (plan.promise.value, plan.promise.norm) {
        println!("promise: {} ≤ {value:.1e} ({})", norm.formula(), curvature.provenance());
    }
    let fit = plan.run(&target, Seed(1))?;
    println!("−ELBO = {:.8} ± {:.1e}", fit.neg_elbo.value, fit.neg_elbo.error);
    let deviations = fit.gaussian.standard_deviations();
    for (name, (mean, sd)) in fit.names.iter().zip(fit.gaussian.mean().iter().zip(deviations)) {
        println!("  {name:9} {mean:8.4} ± {sd:.4}");
    }
    Ok(())
}
