//! Prox-SGD with a bound, for a problem that has nothing to do with variational inference.
//!
//! Ridge-like lasso by rows: f(w) = ½ mean (x_nᵀw − y_n)² + ½μ‖w‖² + α‖w‖₁, one random row a step. The gradient's
//! variance is not bounded, but E‖g‖² ≤ a‖w − w*‖² + b is all that is asked for.

use provi::average::{Average, Averager};
use provi::draws::{Draws, Purpose};
use provi::optimize::{Composite, FnEstimator, FnOperator, QuadraticallyBounded, minimise};
use provi::{Schedule, Seed};
use std::ops::ControlFlow;

fn main() -> provi::Result<()> {
    let rows = [([1.0, 0.2], 1.1), ([-0.4, 1.0], 0.3), ([0.8, -0.6], 0.5), ([0.3, 0.9], 0.9)];
    let (ridge, alpha) = (0.5, 0.05f64);
    let slope = |w: &[f64], n: usize| {
        let (x, y) = rows[n];
        let residual = x[0] * w[0] + x[1] * w[1] - y;
        [residual * x[0] + ridge * w[0], residual * x[1] + ridge * w[1]]
    };
    let shrink = |w: &mut [f64], gamma: f64| {
        w.iter_mut().for_each(|x| *x = x.signum() * (x.abs() - gamma * alpha).max(0.0));
    };

    // w* by full gradients; then the constants: each row's gradient is L-Lipschitz, L = max ‖x_n‖² + μ.
    let mut optimum = [0.0; 2];
    for _ in 0..10_000 {
        let g =
            (0..4).map(|n| slope(&optimum, n)).fold([0.0; 2], |s, g| [s[0] + g[0] / 4.0, s[1] + g[1] / 4.0]);
        optimum = [optimum[0] - 0.3 * g[0], optimum[1] - 0.3 * g[1]];
        shrink(&mut optimum, 0.3);
    }
    let lipschitz = rows.iter().map(|(x, _)| x[0] * x[0] + x[1] * x[1]).fold(0.0, f64::max) + ridge;
    let second: f64 = (0..4).map(|n| slope(&optimum, n).iter().map(|g| g * g).sum::<f64>() / 4.0).sum();
    let problem = QuadraticallyBounded::new(2.0 * lipschitz * lipschitz, 2.0 * second, ridge, lipschitz)?;
    let start = optimum[0] * optimum[0] + optimum[1] * optimum[1];
    println!("a = {:.3}, b = {:.3}, μ = {ridge}, e_0 = {start:.4}", problem.growth, problem.floor);

    let recursion = problem.recursion()?;
    let steps = recursion.steps_to(start, 0.05, 1_000_000)?;
    let schedule: Schedule = recursion.optimal_schedule(start)?;
    println!("{steps} steps promise E‖w_T − w*‖² ≤ 0.05 with {schedule}");

    let mut total = 0.0;
    for run in 0..100 {
        let draws = Draws::new(Seed(run), Purpose::Optimise);
        let row = |w: &[f64], t: u64, g: &mut [f64]| {
            let mut u = [0.0; 2];
            draws.fill(t, 0, &mut u); // two signs make a fair choice among four rows
            g.copy_from_slice(&slope(w, usize::from(u[0] > 0.0) + 2 * usize::from(u[1] > 0.0)));
            Ok(())
        };
        let mut problem = Composite { estimator: FnEstimator::new(2, row), operator: FnOperator(shrink) };
        let (mut w, mut last) = ([0.0; 2], Averager::new(Average::Last, 2)?);
        minimise(&mut problem, &mut w, &schedule, &mut last, steps, &mut |_| ControlFlow::Continue(()))?;
        total += (w[0] - optimum[0]).powi(2) + (w[1] - optimum[1]).powi(2);
    }
    println!("mean over 100 runs: {:.5}", total / 100.0);
    Ok(())
}
