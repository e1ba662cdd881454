//! Logistic regression: the model proves its own constants; a plan promises, a certificate proves.
//!
//! A batch of wells, some unsafe: did the household switch to another one? The plan carries a promise made
//! before any draw; the automatic path promises nothing, and proves afterwards how good its answer is.

use provi::target::{Glm, Prior};
use provi::{Auto, Design, Method, Planner, Seed, Target};

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
        Glm::logistic(Design::dense(10, 3, &entries)?, &labels, Prior::scale(1.0)?)?.with_names(names)?;

    if let Some(curvature) = target.curvature()? {
        println!("constants ({})", curvature.provenance());
        println!("  μ = {:.4}, M = {:.4}", curvature.convexity(), curvature.smoothness().unwrap_or(f64::NAN));
    }

    // A plan promises before the first draw.
    let plan = Planner::new(Method::ProxEnergy).to_distance(&target, 0.05)?;
    println!("\n{plan}\n\n{}", plan.run(&target, Seed(7))?);

    // The automatic path promises nothing beforehand, and proves what it reached.
    let answer = Auto::default().run(&target, Seed(7))?;
    println!("\n{answer}");
    Ok(())
}
