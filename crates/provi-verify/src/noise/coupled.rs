//! Draws of a step that depend on each other.

use super::path::Noise;
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, small};
use crate::space::{distance2, gradient};
use crate::statistics::Mean;
use crate::trial::Trial;
use provi::coupling::Coupling;
use provi::estimator::Kind;
use provi::plan::Coordinates;
use provi::theory::noise;
use provi::{Method, Planner, Result, Seed, Symmetric, Triangular};

const COUPLED: [Coupling; 3] = [Coupling::Antithetic, Coupling::Latin, Coupling::Sobol];

/// The variance at w* of the mean of N energy draws, over N, at most that of N_c independent draws.
fn at_star(problem: &Problem, trial: &Trial, outcome: &mut Outcome) -> Result<Panel> {
    let centre = gradient(problem.target(), &problem.star, false)?;
    let w = problem.star.parameters();
    let plain = Noise::new(problem, Kind::Energy);
    let single = plain.measure::<Triangular>(w, &centre, trial.effort(4000, 40_000), 841)?;
    let mut series = Vec::new();
    for (color, (name, coupling)) in Coupling::named().enumerate() {
        let mut measured = Vec::new();
        for batch in [2usize, 4, 8, 16, 32, 64] {
            let noise = Noise { batch, coupling, ..plain };
            let mean = noise.measure::<Triangular>(w, &centre, trial.effort(500, 4000), 842)?;
            let allowed = trial.upper(single.upper() / coupling.counted(batch) as f64);
            outcome.check(Check::mean_at_most(
                format!("{}, {name}, N = {batch}, at w*", problem.name),
                mean,
                allowed,
            ));
            measured.push((batch as f64, mean.value));
        }
        series.push(Series::new(name, Mark::Measured, color, measured));
    }
    let (x, y) = (Axis::log("draws N"), Axis::log("Var g_N at w*"));
    Ok(Panel { title: problem.name.clone(), x, y, series })
}

/// The bounds of N_c draws along a path to w*.
fn paths(problem: &Problem, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let (d, m, batch) = (problem.dim(), problem.smoothness, 8);
    let v_star = noise::v_star_bound(d, m, problem.mode2)?;
    let k = problem.curvature.residual_smoothness().unwrap_or(m);
    let centre = gradient(problem.target(), &problem.star, false)?;
    for coupling in COUPLED {
        let counted = coupling.counted(batch);
        let of = |kind| Noise { batch, coupling, ..Noise::new(problem, kind) };
        let energy = noise::energy_batch(d, m, counted, v_star)?;
        let name = |kind: &str| format!("{}, {coupling} {kind}, N = {batch}", problem.name);
        of(Kind::Energy).path::<Triangular>(Some(&centre), trial)?.check(
            outcome,
            &name("energy"),
            energy,
            trial,
        );
        let stl = noise::stl_batch(d, m, k, problem.curvature.trace_inverse(), counted)?;
        of(Kind::Stl).path::<Symmetric>(None, trial)?.check(outcome, &name("stl"), stl, trial);
    }
    Ok(())
}

/// Planned runs keep their promise.
fn promises(problem: &Problem, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    for coupling in [Coupling::Antithetic, Coupling::Latin] {
        let planner = Planner::new(Method::ProxEnergy).coordinates(Coordinates::Original).draws(8);
        let plan = planner.coupling(coupling).to_distance(problem.target(), 0.05 * problem.mode2)?;
        let runs: Result<Vec<f64>> = (0..trial.runs(4, 30))
            .map(|seed| {
                let q = plan.run(problem.target(), Seed(seed))?.gaussian;
                Ok(distance2::<Triangular>(problem.dim(), q.parameters(), problem.star.parameters()))
            })
            .collect();
        let promised = trial.upper(plan.promise.value.unwrap_or(0.0));
        let name = format!("{}, {coupling}: promise", problem.name);
        outcome.check(Check::mean_at_most(name, Mean::of(&runs?), promised));
    }
    Ok(())
}

/// [noise-coupled].
pub(crate) fn coupled(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &small()? {
        panels.push(at_star(problem, trial, &mut outcome)?);
        paths(problem, trial, &mut outcome)?;
        promises(problem, trial, &mut outcome)?;
    }
    outcome.figures.push(Figure {
        name: "noise-coupled".into(),
        caption: "The noise left at w* by means of N energy draws that are independent, antithetic, a Latin hypercube or scrambled Sobol' \
                  points. Proved are σ²/⌊N/2⌋, σ²/(N−1) and σ² for the last three, σ² the noise of one draw."
            .into(),
        panels,
    });
    Ok(outcome)
}
