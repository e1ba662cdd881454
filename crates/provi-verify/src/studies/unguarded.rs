//! Why steps matter: the same problems, budget and step sizes for all optimisers.

use super::rivals::{End, Rival, run};
use crate::algebra::pack;
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, gaussian, logistic};
use crate::statistics::quantile;
use crate::trial::Trial;
use provi::{Matrix, Result};
use rayon::prelude::*;

/// Starts: (0, cI).
fn start(problem: &Problem, scale: f64) -> Vec<f64> {
    let d = problem.dim();
    [vec![0.0; d], pack(&Matrix::scaled_identity(d, scale))].concat()
}

/// Median gap and shares of failures over seeds.
struct Cell {
    gap: f64,
    left: f64,
    failed: f64,
}

fn cell(rival: Rival, problem: &Problem, start: &[f64], gamma: f64, steps: u64, seeds: u64) -> Result<Cell> {
    let ends: Result<Vec<End>> =
        (0..seeds).into_par_iter().map(|seed| run(rival, problem, start, gamma, steps, 300 + seed)).collect();
    let ends = ends?;
    let gaps: Vec<f64> = ends.iter().map(|e| if let End::Gap(g) = e { *g } else { f64::INFINITY }).collect();
    let share =
        |wanted: fn(&End) -> bool| ends.iter().filter(|e| wanted(e)).count() as f64 / ends.len() as f64;
    Ok(Cell {
        gap: quantile(&gaps, 0.5),
        left: share(|e| *e == End::LeftDomain),
        failed: share(|e| !matches!(e, End::Gap(_))),
    })
}

/// The study.
pub(crate) fn why_steps(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let steps = trial.effort(300, 3000);
    let seeds = trial.runs(6, 24);
    let count = trial.effort(7, 15);
    let gammas: Vec<f64> =
        (0..count).map(|i| 10f64.powf(-4.5 + 4.5 * f64::from(i) / f64::from(count - 1))).collect();
    let (mut gaps, mut failures) = (Vec::new(), Vec::new());
    for problem in [logistic(4)?, gaussian(8, 30.0, 84)?] {
        for (scale, begin) in [(1.0, "wide start, C = I"), (0.02, "narrow start, C = 0.02 I")] {
            let from = start(&problem, scale);
            let (mut gap_series, mut failure_series) = (Vec::new(), Vec::new());
            for (color, rival) in Rival::ALL.into_iter().enumerate() {
                let cells: Result<Vec<Cell>> =
                    gammas.iter().map(|&g| cell(rival, &problem, &from, g, steps, seeds)).collect();
                let cells = cells?;
                let left = cells.iter().fold(0.0f64, |a, c| a.max(c.left));
                let name = format!("{}, {begin}, {}", problem.name, rival.name());
                if rival.is_guarded() {
                    outcome.check(Check::at_most(
                        format!("{name}: share of runs that left the domain"),
                        left,
                        0.0,
                    ));
                } else if scale < 0.1 {
                    outcome.check(Check::refutes(format!("{name}: no run leaves the domain?"), left, 0.0));
                }
                let best = cells.iter().zip(&gammas).min_by(|a, b| a.0.gap.total_cmp(&b.0.gap));
                let usable = cells.iter().zip(&gammas).filter(|(c, _)| c.failed <= 0.0).map(|(_, g)| *g);
                let largest = usable.fold(f64::NAN, f64::max);
                if let Some((c, g)) = best {
                    outcome.notes.push(format!(
                        "{name}: best median gap {:.2e} at γ = {g:.1e}; largest γ without a failed run {largest:.1e}",
                        c.gap
                    ));
                }
                let seen = |f: fn(&Cell) -> f64| {
                    let points = gammas.iter().zip(&cells).map(|(g, c)| (*g, f(c)));
                    points.filter(|p| p.1.is_finite()).collect::<Vec<_>>()
                };
                gap_series.push(Series::new(rival.name(), Mark::Rival, color, seen(|c| c.gap)));
                failure_series.push(Series::new(
                    rival.name(),
                    Mark::Rival,
                    color,
                    seen(|c| 100.0 * c.failed),
                ));
            }
            let title = format!("{}, {begin}", problem.name);
            let (x, y) = (Axis::log("step size γ"), Axis::log("median f − f*, nats"));
            gaps.push(Panel { title: title.clone(), x, y, series: gap_series });
            let (x, y) = (Axis::log("step size γ"), Axis::linear("failed runs, %"));
            failures.push(Panel { title, x, y, series: failure_series });
        }
    }
    // A step inside the theorem's range, for the prox: no run fails, from either start.
    let problem = logistic(4)?;
    let growth = 2.0 * (problem.dim() as f64 + 3.0) * problem.smoothness.powi(2);
    for scale in [1.0, 0.02] {
        let from = start(&problem, scale);
        let found =
            cell(Rival::ProxEnergy, &problem, &from, problem.convexity / (2.0 * growth), steps, seeds)?;
        outcome.check(Check::at_most(
            format!("prox-energy, γ = μ/2a, C = {scale} I: failed runs"),
            found.failed,
            0.0,
        ));
        outcome.check(Check::at_least(
            format!("prox-energy, γ = μ/2a, C = {scale} I: runs that finished"),
            1.0 - found.failed,
            trial.lower(1.0),
        ));
    }
    outcome.figures.push(Figure {
        name: "why-steps".into(),
        caption: format!(
            "The same start, draws, budget ({steps} steps of constant size, one draw each) and grid of step sizes for \
             everybody; medians over {seeds} seeds. Where a curve stops, more than half of the \
             runs failed; where nothing is clamped, prox, projection and plain SGD make the same steps."
        ),
        panels: gaps,
    });
    outcome.figures.push(Figure {
        name: "why-steps-failures".into(),
        caption: "Runs that left the domain of the entropy or overflowed.".into(),
        panels: failures,
    });
    Ok(outcome)
}
