//! Steps that the draws decide: against any slopes, with noise, and without.

use super::setting::{problems, slope};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::Problem;
use crate::space::{distance2, gradient, objective};
use crate::statistics::{Mean, quantile};
use crate::trial::Trial;
use crate::walk::far_start;
use provi::average::Averager;
use provi::optimize::{Adaptive, FnOperator, Operator, Progress, minimise};
use provi::step::ProjTriangular;
use provi::{Average, Gaussian, Method, Planner, Result, Schedule, Seed, Triangular};
use rayon::prelude::*;
use std::ops::ControlFlow;

fn go(_: &Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Σ g_t(w_t − w)/√Σg² on [−1, 1], w the worse end, for slopes of sizes growthᵗ that turn round at step `switch`.
fn regret(growth: f64, steps: u64, switch: u64) -> Result<f64> {
    let (mut sums, mut square) = ([0.0; 2], 0.0);
    let game = |w: &[f64], t: u64, g: &mut [f64]| {
        g[0] = growth.powi(t as i32) * if t < switch { -1.0 } else { 1.0 };
        square += g[0] * g[0];
        sums[0] += g[0] * (w[0] + 1.0);
        sums[1] += g[0] * (w[0] - 1.0);
        Ok(())
    };
    let clamp = FnOperator(|w: &mut [f64], _| w[0] = w[0].clamp(-1.0, 1.0));
    let mut problem = Adaptive::new(game, clamp, 1);
    let (mut w, mut last) = ([-1.0], Averager::new(Average::Last, 1)?);
    minimise(&mut problem, &mut w, &Schedule::adaptive(4.0)?, &mut last, steps, &mut go)?;
    drop(problem);
    Ok(sums[0].max(sums[1]) / square.sqrt())
}

/// [rate-proj-adaptive].
pub(crate) fn proj_adaptive(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut worst = 0.0f64;
    for growth in [0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0] {
        for steps in [1u64, 2, 3, 5, 8, 13, 21, 34, 55] {
            for switch in 0..=steps {
                worst = worst.max(regret(growth, steps, switch)?);
            }
        }
    }
    let claim = 2.0 * 2f64.sqrt();
    outcome.check(Check::at_most("Σ⟨g_t, w_t − w⟩/√Σ‖g_t‖², the worst game", worst, trial.upper(claim)));
    let mut panels = Vec::new();
    for problem in problems(trial)?.iter().take(3) {
        for method in [Method::ProjAdaptive, Method::ProjAdaptiveStl] {
            let (mut means, mut band, mut claimed) = (vec![], vec![], vec![]);
            for steps in trial.effort(vec![100u64, 1000], vec![30, 100, 300, 1000, 3000, 10_000]) {
                let plan = Planner::new(method).convex(problem.target(), steps)?;
                let gaps: Result<Vec<f64>> = (0..trial.runs(16, 40))
                    .into_par_iter()
                    .map(|seed| {
                        let q = plan.run(problem.target(), Seed(seed))?.gaussian;
                        Ok(objective(problem.target(), &q)? - problem.best)
                    })
                    .collect();
                let gaps = gaps?;
                let (bound, t) = (plan.promise.value.unwrap_or(0.0), steps as f64);
                let label = format!("{}, {method}, T = {steps}", problem.name);
                outcome.check(Check::mean_at_most(label, Mean::of(&gaps), trial.upper(bound)));
                means.push((t, Mean::of(&gaps).value));
                band.push((t, quantile(&gaps, 0.1), quantile(&gaps, 0.9)));
                claimed.push((t, bound));
            }
            let reference = slope(&means, -0.5, "slope −½");
            panels.push(Panel {
                title: format!("{}, {method}", problem.name),
                x: Axis::log("number of steps T, fixed ahead"),
                y: Axis::log("f − f*, nats"),
                series: vec![
                    Series::new("mean of w_0..w_{T−1}", Mark::Measured, 0, means).with_band(band),
                    Series::new("its bound", Mark::Bound, 0, claimed),
                    reference,
                ],
            });
        }
    }
    outcome.figures.push(Figure {
        name: "rate-proj-adaptive".into(),
        caption: "Steps γ_t = D/√(2Σ‖g_s‖²) on the factors of a ball: the gap of the mean of the iterates, and the bound, into which \
                  the size of no step and no distance to w* goes."
            .into(),
        panels,
    });
    Ok(outcome)
}

/// DoWG with exact gradients of f from far away: the gap, and what the run proves about it.
fn travelled(problem: &Problem, steps: u64) -> Result<(f64, f64)> {
    let d = problem.dim();
    let mut guard = ProjTriangular::new(d, problem.smoothness)?;
    let mut start = far_start(problem);
    guard.apply(&mut start, 0.0, &provi::optimize::Moved { distance: f64::MAX, value: None })?;
    let apart = distance2::<Triangular>(d, &start, problem.star.parameters()).sqrt();
    let exact = |w: &[f64], _: u64, g: &mut [f64]| -> Result<()> {
        let q = Gaussian::<Triangular>::new(&w[..d], &w[d..])?;
        g.copy_from_slice(&gradient(problem.target(), &q, true)?);
        Ok(())
    };
    let mut run = Adaptive::travelled(exact, guard, &start);
    let (mut w, mut mean) = (start.clone(), Averager::new(Average::Travelled, start.len())?);
    minimise(&mut run, &mut w, &Schedule::travelled(0.1 * apart)?, &mut mean, steps, &mut go)?;
    let answer = mean.finish(&w)?;
    let gap = objective(problem.target(), &Gaussian::<Triangular>::new(&answer[..d], &answer[d..])?)?;
    Ok((gap - problem.best, run.travelled_gap(&w, apart).unwrap_or(f64::INFINITY)))
}

/// [dowg].
pub(crate) fn dowg(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in problems(trial)?.iter().take(3) {
        let (mut gaps, mut claimed) = (vec![], vec![]);
        for steps in trial.effort(vec![1u64, 10, 100], vec![1, 3, 10, 30, 100, 300, 1000, 3000]) {
            let (gap, bound) = travelled(problem, steps)?;
            outcome.check(Check::at_most(format!("{}, T = {steps}", problem.name), gap, trial.upper(bound)));
            gaps.push((steps as f64, gap));
            claimed.push((steps as f64, bound));
        }
        panels.push(Panel {
            title: problem.name.clone(),
            x: Axis::log("number of steps T"),
            y: Axis::log("f − f*, nats"),
            series: vec![
                Series::new("weighted mean of the iterates", Mark::Measured, 0, gaps),
                Series::new("what the run proves", Mark::Bound, 0, claimed),
            ],
        });
    }
    outcome.figures.push(Figure {
        name: "dowg".into(),
        caption: "DoWG with exact gradients, first step a tenth of the way: the gap of the mean with weights r_t², and the bound from the \
                  distance travelled and the gradients seen. With noise nothing of this is proved."
            .into(),
        panels,
    });
    Ok(outcome)
}
