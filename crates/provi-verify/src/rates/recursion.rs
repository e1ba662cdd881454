//! The scalar recursion: one step, many steps, any schedule; an equality on a one-dimensional problem.

use super::far::far_problems;
use super::setting::{Setting, curve, problems};
use super::toy::Toy;
use crate::algebra::between;
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::space::distance2;
use crate::trial::Trial;
use crate::walk::{Walk, checkpoints, star};
use provi::average::Averager;
use provi::estimator::Exact;
use provi::optimize::{Composite, minimise};
use provi::schedule::StepKind;
use provi::step::Prox;
use provi::theory::{Contraction, Recursion, rate};
use provi::{Average, Method, Result, Schedule, Triangular};
use std::ops::ControlFlow;

const METHODS: [Method; 4] =
    [Method::ProxEnergy, Method::ProjEntropy, Method::ProjEntropyTriangular, Method::ProjStl];

/// One step from near and far: E‖w⁺−w*‖² against (1 − 2γμ + γ²a)e + γ²b.
fn one_step(setting: &Setting<'_>, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let recursion = setting.recursion()?;
    let star = star(setting.problem, setting.method)?;
    for s in [1.0, 0.2, 0.0] {
        let start = between(&star, &setting.start, s);
        let walk = Walk { start: &start, ..setting.walk() };
        let e = walk.start_distance2()?;
        let gamma = recursion.convexity() / recursion.growth();
        let errors = walk.errors(&Schedule::constant(gamma)?, &[1], trial.effort(300, 3000))?;
        let name = format!("{}, one step of μ/a from e = {e:.1e}", setting.name());
        outcome.check(Check::mean_at_most(
            name,
            errors.mean(0),
            trial.upper(recursion.advance(e, gamma)) + 1e-24,
        ));
    }
    Ok(())
}

/// The propagated recursion is below the closed forms of the same schedule.
fn never_looser(setting: &Setting<'_>, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let (table, mu, e0) = (setting.table()?, setting.problem.convexity, setting.e0);
    let recursion = setting.recursion()?;
    let kind = setting.method.step_kind();
    let gamma = mu / (2.0 * table.growth);
    let (constant, anytime) = (Schedule::constant(gamma)?, Schedule::anytime(kind, mu, table.growth)?);
    for t in [10, 1_000, 100_000] {
        let g2 = setting.gradient2();
        let closed = match kind {
            StepKind::Prox => [
                rate::prox_strong_constant(mu, table, g2, e0, gamma, t)?,
                rate::prox_strong_anytime(mu, table, g2, e0, t)?,
            ],
            StepKind::Proj => [
                rate::proj_strong_constant(mu, table, e0, gamma, t)?,
                rate::proj_strong_anytime(mu, table, e0, t)?,
            ],
        };
        for ((name, schedule), bound) in
            [("constant", &constant), ("anytime", &anytime)].into_iter().zip(closed)
        {
            let name = format!("{}, {name}, T = {t}: the recursion against the closed form", setting.name());
            outcome.check(Check::at_most(name, recursion.propagate(schedule, t, e0), trial.lower(bound)));
        }
    }
    Ok(())
}

/// Exact gradients contract at every step; nothing is random.
fn exact_steps(setting: &Setting<'_>, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let problem = setting.problem;
    let Some(expectations) = problem.target().expectations() else { return Ok(()) };
    let d = problem.dim();
    let contraction = Contraction::prox(problem.convexity, problem.smoothness)?;
    let schedule = Schedule::constant(contraction.optimal_gamma())?;
    let mut w = setting.start.clone();
    let mut bound = setting.e0;
    let mut composite = Composite { estimator: Exact::new(expectations, d), operator: Prox::new(d) };
    let mut last = Averager::new(Average::Last, w.len())?;
    let mut worst = (0.0f64, 0.0, f64::INFINITY);
    minimise(&mut composite, &mut w, &schedule, &mut last, 15, &mut |p| {
        bound = contraction.advance(bound, p.gamma);
        let e = distance2::<Triangular>(d, p.w, problem.star.parameters());
        if bound > 1e-18 && e / bound > worst.0 {
            worst = (e / bound, e, bound);
        }
        ControlFlow::Continue(())
    })?;
    let name = format!("{}, exact gradients, the worst of 15 steps", problem.name);
    outcome.check(Check::at_most(name, worst.1, trial.upper(worst.2)));
    Ok(())
}

/// [recursion].
pub(crate) fn recursion(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &problems(trial)? {
        for method in METHODS {
            let setting = Setting::new(problem, method)?;
            one_step(&setting, trial, &mut outcome)?;
            never_looser(&setting, trial, &mut outcome)?;
            let recursion = setting.recursion()?;
            // A schedule that no closed form covers: the recursion bounds it all the same.
            let gamma = recursion.convexity() / recursion.growth();
            let schedule = Schedule::practical(gamma, 200, 400.0)?;
            let claim = |t| Ok(recursion.propagate(&schedule, t, setting.e0));
            let errors = setting.hold(&schedule, "hold, then decay", claim, trial, &mut outcome)?;
            if problem.name.starts_with("logistic") {
                panels.push(setting.panel(setting.name(), &errors, Some(curve(&errors, claim)?), None));
            }
            if method == Method::ProxEnergy {
                exact_steps(&setting, trial, &mut outcome)?;
            }
        }
    }
    // Equality: multiplicative and additive noise in one dimension.
    let toy = Toy::PLAIN;
    let recursion = Recursion::new(toy.convexity, toy.noise()?)?;
    let schedule = Schedule::constant(0.05)?;
    let (mut measured, mut propagated) = (Vec::new(), Vec::new());
    for t in checkpoints(trial.effort(100, 400), 4) {
        let mean = toy.run(&schedule, t, 9.0, trial.effort(4000, 40_000));
        let bound = recursion.propagate(&schedule, t, 9.0);
        outcome.check(Check::mean_at_most(format!("on the line, t = {t}"), mean, trial.upper(bound)));
        measured.push((t as f64, mean.value));
        propagated.push((t as f64, bound));
    }
    panels.push(Panel {
        title: "½μw² with noise: equality".into(),
        x: Axis::log("step t"),
        y: Axis::log("E w_t²"),
        series: vec![
            Series::new("mean over runs", Mark::Points, 0, measured),
            Series::new("recursion", Mark::SecondBound, 1, propagated),
        ],
    });
    far_problems(trial, &mut outcome)?;
    outcome.figures.push(Figure {
        name: "recursion".into(),
        caption: "The recursion prices any schedule, here one that holds and then decays; on a problem of one dimension \
                  it is an equality."
            .into(),
        panels,
    });
    Ok(outcome)
}
