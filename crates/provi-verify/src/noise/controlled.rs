//! Draws that are controlled by a quadratic.

use super::path::Noise;
use crate::algebra::{difference, dot};
use crate::figure::{Axis, Figure, Panel};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, normals, small};
use crate::space::{distance2, gradient};
use crate::statistics::Mean;
use crate::trial::Trial;
use provi::estimator::{Control, Kind};
use provi::mode::find_mode;
use provi::plan::Coordinates;
use provi::target::GaussianTarget;
use provi::theory::noise;
use provi::{Gaussian, Matrix, Method, Planner, Result, Seed, Triangular};
use provi_testkit::cubature::{THREE_POINTS, cubature, raw_gradient, size2};

/// r = ±K(z − z̄) on every axis: the second moment of the part that is drawn, before the projection, is the bound.
fn attained(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    for (d, m, mu) in [(1, 3.0, 0.5), (2, 3.0, 1.0), (3, 9.0, 1.0)] {
        let mode = normals(350 + d as u64, d);
        let mut precision = Matrix::zeros(d, d);
        (0..d).for_each(|i| precision[(i, i)] = if i % 2 == 0 { m } else { mu });
        let target = GaussianTarget::new(&mode, precision)?;
        let mut entries = normals(360 + d as u64, d + d * (d + 1) / 2);
        (0..d).for_each(|i| entries[d + i * (i + 3) / 2] = 0.5 + entries[d + i * (i + 3) / 2].abs());
        let q = Gaussian::<Triangular>::new(&entries[..d], &entries[d..])?;
        let c = noise::control(m, mu)?;
        let k = noise::controlled_residual(m, mu, c)?;
        let exact = cubature(d, &THREE_POINTS, |u| {
            let (mut left, mut x) = raw_gradient(Kind::Energy, &target, &q, u)?;
            let mut z = vec![0.0; d];
            q.transport(u, &mut z);
            for i in 0..d {
                let part = c * (z[i] - mode[i]);
                left[i] -= part;
                (0..d).for_each(|j| x[(i, j)] -= part * u[j]);
            }
            Ok(size2(&(left, x)))
        })?;
        let shift = difference(q.mean(), &mode);
        let claim = noise::energy_second_moment(d, k, dot(&shift, &shift), dot(q.factor(), q.factor()))?;
        let name = format!("curvatures M and μ, d = {d}, before the projection");
        outcome.check(Check::equal(name, exact, trial.upper(claim), 1e-10));
    }
    Ok(())
}

/// Both estimators along a path to w*, beside plain draws of the energy estimator.
fn paths(problem: &Problem, control: &Control, trial: &Trial, outcome: &mut Outcome) -> Result<Panel> {
    let (d, m) = (problem.dim(), problem.smoothness);
    let k = noise::controlled_residual(m, problem.convexity, control.curvature)?;
    let v_star = noise::controlled_v_star(d, k, problem.mode2, 0.0)?;
    let centre = gradient(problem.target(), &problem.star, false)?;
    let plain = Noise::new(problem, Kind::Energy);
    let energy = Noise { control: Some(control), ..plain };
    let bound = noise::controlled_energy_batch(d, m, k, 1, v_star)?;
    let along = energy.path::<Triangular>(Some(&centre), trial)?;
    along.check(outcome, &format!("{}, energy", problem.name), bound, trial);
    let other = noise::controlled_entropy_batch(d, m, k, 4, v_star)?;
    let entropy = Noise { control: Some(control), batch: 4, ..Noise::new(problem, Kind::Entropy) };
    let entropy = entropy.path::<Triangular>(None, trial)?;
    entropy.check(outcome, &format!("{}, entropy, N = 4", problem.name), other, trial);
    let count = trial.effort(2000, 20_000);
    let w = problem.star.parameters();
    let at_star = energy.measure::<Triangular>(w, &centre, count, 831)?;
    outcome.check(Check::mean_at_most(format!("{}: V*", problem.name), at_star, trial.upper(v_star)));
    let plain = plain.path::<Triangular>(Some(&centre), trial)?;
    Ok(Panel {
        title: problem.name.clone(),
        x: Axis::log("‖w − w*‖²"),
        y: Axis::log("E‖g − ∇l(w*)‖²"),
        series: vec![
            along.measured("controlled", 0),
            along.bound("its bound", 0, bound),
            plain.measured("plain", 1),
        ],
    })
}

/// Planned runs keep their promise, with fewer steps than plain draws need.
fn promises(problem: &Problem, trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let accuracy = 0.02 * problem.mode2;
    for (method, without) in [
        (Method::ProxControlled, Method::ProxEnergy),
        (Method::ProjControlled, Method::ProjEntropyTriangular),
    ] {
        let planner = |method| Planner::new(method).coordinates(Coordinates::Original).draws(4);
        let plan = planner(method).to_distance(problem.target(), accuracy)?;
        let runs: Result<Vec<f64>> = (0..trial.runs(6, 40))
            .map(|seed| {
                let q = plan.run(problem.target(), Seed(seed))?.gaussian;
                Ok(distance2::<Triangular>(problem.dim(), q.parameters(), problem.star.parameters()))
            })
            .collect();
        let promised = trial.upper(plan.promise.value.unwrap_or(0.0));
        let name = format!("{}, {method}: promise", problem.name);
        outcome.check(Check::mean_at_most(name, Mean::of(&runs?), promised));
        let longer = planner(without).to_distance(problem.target(), accuracy)?;
        let (ours, plain) = (plan.steps as f64, longer.steps as f64);
        outcome.check(Check::at_most(
            format!("{}, {method}: steps of those of {without}", problem.name),
            ours,
            plain,
        ));
    }
    Ok(())
}

/// [noise-controlled].
pub(crate) fn controlled(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    attained(trial, &mut outcome)?;
    let mut panels = Vec::new();
    for problem in &small()? {
        let centre = find_mode(problem.target(), &vec![0.0; problem.dim()])?.point;
        let curvature = noise::control(problem.smoothness, problem.convexity)?;
        panels.push(paths(problem, &Control { curvature, centre }, trial, &mut outcome)?);
        promises(problem, trial, &mut outcome)?;
    }
    outcome.figures.push(Figure {
        name: "noise-controlled".into(),
        caption: "The energy estimator about ∇l(w*) with the quadratic ½c‖z − z̄‖², c = (M + μ)/2, as control variate, its bound \
                  with K = (M − μ)/2 in place of M, and the same draws without it. The bound always falls; the noise itself does so only where the curvature under q is \
                  nearer to c than to 0."
            .into(),
        panels,
    });
    Ok(outcome)
}
