//! The closed forms for convex problems: f(w̄_T) − f* of the θ-average, and of the last iterate.

use super::setting::{Setting, problems, slope};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::statistics::{Mean, quantile};
use crate::trial::Trial;
use provi::schedule::StepKind;
use provi::theory::rate;
use provi::{Average, Method, Result, Schedule};

fn convex(trial: &Trial, kind: StepKind, methods: &[Method], name: &str) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in problems(trial)?.iter().take(3) {
        for &method in methods {
            let setting = Setting::new(problem, method)?;
            let (table, m, e0) = (setting.table()?, problem.smoothness, setting.e0);
            let (mut means, mut band, mut last, mut claimed) = (vec![], vec![], vec![], vec![]);
            for steps in trial.effort(vec![100, 1000], vec![30, 100, 300, 1000, 3000, 10_000]) {
                let schedule = Schedule::convex(kind, table.growth, m, steps)?;
                let (average, bound) = match kind {
                    StepKind::Prox => (
                        Average::prox(table.growth, schedule.at(0))?,
                        rate::prox_convex(m, table, e0, steps)?,
                    ),
                    StepKind::Proj => {
                        (Average::proj(table.growth, schedule.at(0))?, rate::proj_convex(table, e0, steps)?)
                    }
                };
                let gaps = setting.walk().gaps(&schedule, average, steps, setting.runs(trial))?;
                let mean = Mean::of(&gaps.average);
                let label = format!("{}, T = {steps}", setting.name());
                outcome.check(Check::mean_at_most(label, mean, trial.upper(bound)));
                let t = steps as f64;
                means.push((t, mean.value));
                band.push((t, quantile(&gaps.average, 0.1), quantile(&gaps.average, 0.9)));
                last.push((t, Mean::of(&gaps.last).value));
                claimed.push((t, bound));
            }
            if problem.name.starts_with("logistic") || methods.len() == 1 {
                let reference = slope(&means, -0.5, "slope −½");
                panels.push(Panel {
                    title: setting.name(),
                    x: Axis::log("number of steps T, fixed ahead"),
                    y: Axis::log("f − f*, nats"),
                    series: vec![
                        Series::new("θ-average", Mark::Measured, 0, means).with_band(band),
                        Series::new("last iterate", Mark::Measured, 3, last),
                        Series::new("bound of the average", Mark::Bound, 0, claimed),
                        reference,
                    ],
                });
            }
        }
    }
    outcome.figures.push(Figure {
        name: name.into(),
        caption:
            "The convex theorem bounds the gap of the θ-average, which weighs early iterates most; the last \
                  iterate, which it says nothing about, is better on these problems."
                .into(),
        panels,
    });
    Ok(outcome)
}

/// [rate-prox-convex].
pub(crate) fn prox_convex(trial: &Trial) -> Result<Outcome> {
    convex(trial, StepKind::Prox, &[Method::ProxEnergy], "rate-prox-convex")
}

/// [rate-proj-convex].
pub(crate) fn proj_convex(trial: &Trial) -> Result<Outcome> {
    let methods = [Method::ProjEntropy, Method::ProjEntropyTriangular, Method::ProjStl];
    convex(trial, StepKind::Proj, &methods, "rate-proj-convex")
}
