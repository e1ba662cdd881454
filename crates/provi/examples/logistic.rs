//! Logistic regression: the model proves its own constants, and two plans show what they are worth.
//!
//! A batch of wells, some unsafe: did the household switch to another one? The first plan carries a promise
//! made before any draw; the second takes the larger steps of practice, and says what it cannot promise.

use provi::target::{Glm, Prior};
use provi::{Design, Method, Planner, Seed, Target};

fn main() -> provi::Result<()> {
    // Intercept, arsenic level and distance to the next safe well, both centred and scaled.
    let wells = [
        [1.0, 1.2, -0.8, 1.0],
        [1.0, -0.6, 1.1, 0.0],
        [1.0, 0.4, -0.3, 1.0],
        [1.0, -0.9, 0.6, 0.0],
        [1.0, 0.1, 0.2, 1.0],
        [1.0, 1.9, 1.4, 1.0],
        [1.0, -1.1, -0.5, 0.0],
        [1.0, 0.3, 1.6, 0.0],
        [1.0, -0.4, -1.2, 1.0],
        [1.0, -0.2, 0.9, 0.0],
    ];
    let entries: Vec<f64> = wells.iter().flat_map(|w| w[..3].to_vec()).collect();
    let labels: Vec<f64> = wells.iter().map(|w| w[3]).collect();
    let names = ["(Intercept)", "arsenic", "distance"].map(String::from).to_vec();
    let target =
        Glm::logistic(Design::dense(&entries, 10, 3)?, &labels, Prior::scale(1.0)?)?.with_names(names)?;

    if let Some(curvature) = target.curvature()? {
        println!("constants ({})", curvature.provenance());
        println!("  μ = {:.4}, M = {:.4}", curvature.convexity(), curvature.smoothness().unwrap_or(f64::NAN));
    }

    let proved = Planner::new(Method::ProxEnergy).to_distance(&target, 0.05)?;
    let practical = Planner::new(Method::ProjStl).practical(&target, Some(4000))?;
    for (title, plan) in [("a proved plan", &proved), ("a practical plan", &practical)] {
        println!(
            "\n{title}: {}, {} steps of {} draws, {}",
            plan.method, plan.steps, plan.draws, plan.average
        );
        println!("  {}", plan.schedule);
        match (plan.promise.value, plan.promise.norm) {
            (Some(value), Some(norm)) => println!("  promise: {} ≤ {value:.4}", norm.formula()),
            _ => println!("  no promise: {}", plan.promise.reason.as_deref().unwrap_or("unknown")),
        }
        let fit = plan.run(&target, Seed(7))?;
        println!("  −ELBO = {:.6} (exact: {})", fit.neg_elbo.value, fit.neg_elbo.exact);
        let deviations = fit.gaussian.standard_deviations();
        for (name, (mean, sd)) in fit.names.iter().zip(fit.gaussian.mean().iter().zip(deviations)) {
            println!("  {name:12} {mean:8.4} ± {sd:.4}");
        }
    }
    Ok(())
}
