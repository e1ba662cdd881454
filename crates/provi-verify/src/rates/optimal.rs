//! The schedule that minimises the recursion.

use super::setting::{Setting, curve, problems, slope};
use super::toy::Toy;
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::schedule::StepKind;
use provi::theory::Recursion;
use provi::{Method, Result, Schedule};

const METHODS: [Method; 4] =
    [Method::ProxEnergy, Method::ProjEntropy, Method::ProjEntropyTriangular, Method::ProjStl];

/// [schedule-optimal].
pub(crate) fn schedule_optimal(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &problems(trial)? {
        for method in METHODS {
            let setting = Setting::new(problem, method)?;
            let recursion = setting.recursion()?;
            let schedule = recursion.optimal_schedule(setting.e0)?;
            let claim = |t| Ok(recursion.optimal_after(setting.e0, t));
            let errors = setting.hold(&schedule, "optimal", claim, trial, &mut outcome)?;
            if problem.name.starts_with("logistic") {
                let mut panel = setting.panel(setting.name(), &errors, Some(curve(&errors, claim)?), None);
                panel.series.push(slope(&errors.means(), -1.0, "slope −1"));
                panels.push(panel);
            }
        }
    }
    // No other schedule has a smaller bound, and the number of steps is inside the predicted bracket.
    let toy = Toy::PLAIN;
    let recursion = Recursion::new(toy.convexity, toy.noise()?)?;
    let (e0, mu, a, b) = (7.0, toy.convexity, recursion.growth(), recursion.floor());
    for steps in [30, 300, 3000] {
        let best = recursion.optimal_after(e0, steps);
        for (name, other) in [
            ("anytime", Schedule::anytime(StepKind::Prox, mu, a)?),
            ("constant μ/a", Schedule::constant(mu / a)?),
            ("constant μ/8a", Schedule::constant(mu / (8.0 * a))?),
        ] {
            let bound = recursion.propagate(&other, steps, e0);
            outcome.check(Check::at_most(
                format!("{name}, T = {steps}: the optimal bound"),
                best,
                trial.upper(bound),
            ));
        }
        let needed = recursion.steps_to(e0, best, u64::MAX)? as f64;
        let (beta, kappa, log) = (b / (mu * mu), a / (mu * mu), (e0 / best).ln());
        let predicted = (beta * (1.0 / best - 1.0 / e0) + kappa * log).ceil();
        outcome.check(Check::at_most(format!("steps to ε = {best:.1e}"), needed, trial.upper(predicted)));
    }
    outcome.figures.push(Figure {
        name: "schedule-optimal".into(),
        caption:
            "The schedule that minimises the recursion at every step, four methods on logistic regression."
                .into(),
        panels,
    });
    Ok(outcome)
}
