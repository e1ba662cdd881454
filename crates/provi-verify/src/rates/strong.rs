//! The closed forms for strongly convex problems.

use super::setting::{Setting, problems, slope};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{gaussian, w1};
use crate::trial::Trial;
use provi::schedule::StepKind;
use provi::theory::rate;
use provi::{Method, Result, Schedule};

const PROJ: [Method; 3] = [Method::ProjEntropy, Method::ProjEntropyTriangular, Method::ProjStl];

/// [rate-prox-strong].
pub(crate) fn prox_strong(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &problems(trial)? {
        let setting = Setting::new(problem, Method::ProxEnergy)?;
        let (table, mu, e0) = (setting.table()?, problem.convexity, setting.e0);
        let gamma = mu / (2.0 * table.growth);
        let schedule = Schedule::strong_constant(StepKind::Prox, mu, table.growth, gamma)?;
        let claim = |t| rate::prox_strong_constant(mu, table, setting.gradient2(), e0, gamma, t);
        let errors = setting.hold(&schedule, "γ = μ/2a", claim, trial, &mut outcome)?;
        panels.push(setting.beside_bounds(problem.name.clone(), &errors, &schedule, claim)?);
    }
    outcome.figures.push(Figure {
        name: "rate-prox-strong".into(),
        caption: "Prox-SGD with a constant step μ/2a: exponential to a noise ball. Mean and 10–90% of runs; the bounds \
                  hold for the mean."
            .into(),
        panels,
    });
    Ok(outcome)
}

/// [rate-prox-anytime].
pub(crate) fn prox_anytime(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &problems(trial)? {
        let setting = Setting::new(problem, Method::ProxEnergy)?;
        let (table, mu, e0) = (setting.table()?, problem.convexity, setting.e0);
        let schedule = Schedule::anytime(StepKind::Prox, mu, table.growth)?;
        let claim = |t| rate::prox_strong_anytime(mu, table, setting.gradient2(), e0, t);
        let errors = setting.hold(&schedule, "anytime", claim, trial, &mut outcome)?;
        let mut panel = setting.beside_bounds(problem.name.clone(), &errors, &schedule, claim)?;
        panel.series.push(slope(&errors.means(), -1.0, "slope −1"));
        panels.push(panel);
    }
    outcome.figures.push(Figure {
        name: "rate-prox-anytime".into(),
        caption: "Prox-SGD with the anytime schedule: 1/T without knowing T.".into(),
        panels,
    });
    Ok(outcome)
}

/// [rate-prox-log].
pub(crate) fn prox_log(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in problems(trial)?.iter().take(3) {
        let setting = Setting::new(problem, Method::ProxEnergy)?;
        let (table, mu, e0) = (setting.table()?, problem.convexity, setting.e0);
        let scale = 1.0 / mu;
        // The smallest T that the theorem allows, and multiples of it.
        let mut first = 3u64;
        while Schedule::log_over_t(mu, table.growth, scale, first).is_err() {
            first = first * 5 / 4 + 1;
        }
        let (mut means, mut band, mut closed, mut propagated) = (vec![], vec![], vec![], vec![]);
        for factor in trial.effort(vec![1], vec![1, 2, 4]) {
            let steps = factor * first;
            let schedule = Schedule::log_over_t(mu, table.growth, scale, steps)?;
            let errors = setting.walk().errors(&schedule, &[steps], setting.runs(trial))?;
            let bound = rate::prox_strong_log(mu, table, setting.gradient2(), e0, scale, steps)?;
            let name = format!("{}, T = {steps}", setting.name());
            outcome.check(Check::mean_at_most(name, errors.mean(0), trial.upper(bound)));
            means.extend(errors.means());
            band.extend(errors.band());
            closed.push((steps as f64, bound));
            propagated.push((steps as f64, setting.recursion()?.propagate(&schedule, steps, e0)));
        }
        let reference = slope(&means, -1.0, "slope −1");
        panels.push(Panel {
            title: problem.name.clone(),
            x: Axis::log("number of steps T, fixed ahead"),
            y: Axis::log("‖w_T − w*‖²"),
            series: vec![
                Series::new("mean over runs", Mark::Measured, 0, means).with_band(band),
                Series::new("recursion", Mark::SecondBound, 1, propagated),
                Series::new("closed form", Mark::Bound, 2, closed),
                reference,
            ],
        });
    }
    outcome.figures.push(Figure {
        name: "rate-prox-log".into(),
        caption:
            "Prox-SGD with γ = log T/(μT), one constant step for a number of steps fixed ahead: log T/T."
                .into(),
        panels,
    });
    Ok(outcome)
}

/// [rate-proj-strong].
pub(crate) fn proj_strong(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &problems(trial)? {
        for method in PROJ {
            let setting = Setting::new(problem, method)?;
            let (table, mu, e0) = (setting.table()?, problem.convexity, setting.e0);
            let gamma = mu / (2.0 * table.growth);
            let schedule = Schedule::strong_constant(StepKind::Proj, mu, table.growth, gamma)?;
            let claim = |t| rate::proj_strong_constant(mu, table, e0, gamma, t);
            let errors = setting.hold(&schedule, "γ = μ/2a", claim, trial, &mut outcome)?;
            if problem.name.starts_with("logistic") {
                panels.push(setting.beside_bounds(setting.name(), &errors, &schedule, claim)?);
            }
        }
    }
    outcome.figures.push(Figure {
        name: "rate-proj-strong".into(),
        caption: "Proj-SGD with a constant step μ/2a: entropy estimator with both projections, and sticking the landing."
            .into(),
        panels,
    });
    Ok(outcome)
}

/// [rate-proj-anytime].
pub(crate) fn proj_anytime(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &problems(trial)? {
        for method in PROJ {
            let setting = Setting::new(problem, method)?;
            let (table, mu, e0) = (setting.table()?, problem.convexity, setting.e0);
            let schedule = Schedule::anytime(StepKind::Proj, mu, table.growth)?;
            let claim = |t| rate::proj_strong_anytime(mu, table, e0, t);
            let errors = setting.hold(&schedule, "anytime", claim, trial, &mut outcome)?;
            if problem.name.starts_with("logistic") {
                let mut panel = setting.beside_bounds(setting.name(), &errors, &schedule, claim)?;
                panel.series.push(slope(&errors.means(), -1.0, "slope −1"));
                panels.push(panel);
            }
        }
    }
    outcome.figures.push(Figure {
        name: "rate-proj-anytime".into(),
        caption: "Proj-SGD with the anytime schedule: 1/T without knowing T.".into(),
        panels,
    });
    Ok(outcome)
}

/// [rate-proj-stl-gaussian].
pub(crate) fn stl_gaussian(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    let mut problems = vec![gaussian(3, 1.0, 22)?, gaussian(3, 2.0, 21)?, gaussian(4, 3.0, 23)?];
    if !trial.quick {
        problems.push(w1()?);
    }
    for problem in &problems {
        let setting = Setting::new(problem, Method::ProjStl)?;
        let (d, m, mu, e0) = (problem.dim(), problem.smoothness, problem.convexity, setting.e0);
        let growth = 8.0 * (d as f64 + 3.0) * m * m;
        let gamma = mu / (2.0 * growth);
        let schedule = Schedule::constant(gamma)?;
        let claim = |t| rate::proj_stl_gaussian(d, m, mu, e0, gamma, t);
        let errors = setting.hold(&schedule, "γ = μ/2a", claim, trial, &mut outcome)?;
        let mut panel = setting.beside_bounds(problem.name.clone(), &errors, &schedule, claim)?;
        panel.x = Axis::linear("step t");
        panels.push(panel);
    }
    outcome.figures.push(Figure {
        name: "rate-proj-stl-gaussian".into(),
        caption: "Sticking the landing on Gaussian targets: no floor, a straight line on a logarithmic axis, down to \
                  rounding."
            .into(),
        panels,
    });
    Ok(outcome)
}
