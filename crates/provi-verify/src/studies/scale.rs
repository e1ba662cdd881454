//! Steps to a given accuracy as dimension and condition number grow, against the law (d+3)κ².

use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, gaussian};
use crate::rates::Setting;
use crate::statistics::log_slope;
use crate::trial::Trial;
use crate::walk::checkpoints;
use provi::theory::rate;
use provi::{Method, Result};

/// Accuracy: E‖w_T−w*‖² ≤ ε‖w*−w̄‖².
const EPSILON: f64 = 0.1;

struct Needed {
    measured: f64,
    recursion: f64,
    closed: f64,
    law: f64,
}

/// Steps of the optimal schedule until the mean over runs is within the accuracy, and what was predicted.
fn needed(problem: &Problem, trial: &Trial) -> Result<Needed> {
    let setting = Setting::new(problem, Method::ProxEnergy)?;
    let goal = EPSILON * problem.mode2;
    let recursion = setting.recursion()?;
    let planned = recursion.steps_to(setting.e0, goal, u64::MAX)?;
    let at = checkpoints(planned, 12);
    let schedule = recursion.optimal_schedule(setting.e0)?;
    let errors = setting.walk().errors(&schedule, &at, trial.runs(8, 40))?;
    let measured =
        (0..at.len()).find(|&i| errors.mean(i).value <= goal).map_or(f64::INFINITY, |i| at[i] as f64);
    let table = setting.table()?;
    let closed =
        rate::prox_strong_anytime_steps(problem.convexity, table, setting.gradient2(), setting.e0, goal)?;
    let law = 2.0 * (problem.dim() as f64 + 3.0) * problem.condition().powi(2) / EPSILON;
    Ok(Needed { measured, recursion: planned as f64, closed: closed as f64, law })
}

/// One panel: measured, planned by the recursion, by the closed form, and the law.
fn panel(title: &str, x: Axis, found: &[(f64, Needed)]) -> Panel {
    let pick = |f: fn(&Needed) -> f64| found.iter().map(|(x, n)| (*x, f(n))).collect::<Vec<_>>();
    Panel {
        title: title.into(),
        x,
        y: Axis::log("steps to E‖w−w*‖² ≤ 0.1‖w*−w̄‖²"),
        series: vec![
            Series::new("measured", Mark::Measured, 0, pick(|n| n.measured)),
            Series::new("planned by the recursion", Mark::SecondBound, 1, pick(|n| n.recursion)),
            Series::new("closed form", Mark::Bound, 2, pick(|n| n.closed)),
            Series::new("2(d+3)κ²/ε", Mark::Reference, 7, pick(|n| n.law)),
        ],
    }
}

/// The study.
pub(crate) fn scale(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut by_dimension = Vec::new();
    for d in trial.effort(vec![2, 4, 8], vec![2, 4, 8, 16, 32]) {
        by_dimension.push((d as f64, needed(&gaussian(d, 2.0, 80 + d as u64)?, trial)?));
    }
    let mut by_condition = Vec::new();
    for kappa in trial.effort(vec![1.0, 2.0, 4.0], vec![1.0, 2.0, 4.0, 8.0, 16.0]) {
        by_condition.push((kappa, needed(&gaussian(3, kappa, 81)?, trial)?));
    }
    for (name, found) in [("d", &by_dimension), ("κ", &by_condition)] {
        for (x, n) in found {
            outcome.check(Check::at_most(
                format!("{name} = {x}: steps measured"),
                n.measured,
                trial.upper(n.recursion),
            ));
            outcome.check(Check::at_most(
                format!("{name} = {x}: steps planned"),
                n.recursion,
                trial.upper(n.closed),
            ));
        }
    }
    let slope = |found: &[(f64, Needed)], f: fn(&Needed) -> f64| {
        log_slope(&found.iter().map(|(x, n)| (*x, f(n))).collect::<Vec<_>>())
    };
    let shifted: Vec<(f64, f64)> = by_dimension.iter().map(|(d, n)| (d + 3.0, n.measured)).collect();
    outcome.notes.push(format!(
        "measured steps grow like (d+3)^{:.2} and κ^{:.2}; the plan's like κ^{:.2}",
        log_slope(&shifted),
        slope(&by_condition, |n| n.measured),
        slope(&by_condition, |n| n.recursion)
    ));
    outcome.figures.push(Figure {
        name: "scale".into(),
        caption: format!(
            "Prox-SGD on Gaussian targets, optimal schedule: steps to an accuracy over dimension (κ = 2) and condition \
             number (d = 3). {}.",
            outcome.notes[0]
        ),
        panels: vec![
            panel("Dimension", Axis::log("dimension d"), &by_dimension),
            panel("Condition number", Axis::log("condition number κ"), &by_condition),
        ],
    });
    Ok(outcome)
}
