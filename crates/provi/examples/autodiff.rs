//! A model written as a plain Rust function, differentiated automatically.
//!
//! Robust regression: errors with heavy tails make the posterior no longer log-concave, so nothing can be
//! promised. The run is the same; it goes by the name `Unproven` and says so.

use provi::autodiff::{Autodiff, Matrix};
use provi::estimator::Kind;
use provi::method::{Guard, Recipe, Space};
use provi::{Method, Planner, Seed};

fn main() -> provi::Result<()> {
    // y = 1 + 2x with one wild observation.
    let x = [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5];
    let y = [-2.1, -0.9, 0.1, 1.0, 9.0, 3.1, 3.9];
    let design = Matrix::new(7, 2, x.iter().flat_map(|&x| [1.0, x]).collect::<Vec<f64>>())?;

    // Student errors with 4 degrees of freedom and scale ½, normal prior of standard deviation 5.
    let target = Autodiff::new(2, |z| {
        let residuals = (design.matvec(z) - &y) * 2.0;
        -2.5 * (residuals.square() * 0.25).ln_1p().sum() - 0.02 * z.norm_squared()
    });

    let recipe = Recipe::new(Kind::Stl, Guard::Nothing, Space::Triangular)?;
    let plan = Planner::new(Method::Unproven(recipe)).practical(&target, Some(5000))?;
    println!("{}: {} steps of {} draws", plan.method, plan.steps, plan.draws);
    println!("{}", plan.schedule);
    println!("promise: {}", plan.promise.reason.as_deref().unwrap_or("a bound, unexpectedly"));

    let fit = plan.run(&target, Seed(5))?;
    let deviations = fit.gaussian.standard_deviations();
    println!("\nmode       {:.4?}", plan.mode.point);
    println!("intercept  {:.4} ± {:.4}", fit.gaussian.mean()[0], deviations[0]);
    println!("slope      {:.4} ± {:.4}", fit.gaussian.mean()[1], deviations[1]);
    Ok(())
}
