//! Means of N draws: the centred energy estimator, the entropy estimator and sticking the landing.

use super::path::{Noise, star};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, small};
use crate::space::{Space, gradient, square_norm};
use crate::trial::Trial;
use provi::estimator::Kind;
use provi::theory::{NoiseBound, noise};
use provi::{Result, Symmetric, Triangular};

/// V*, bounded with the true ‖w*−w̄‖².
fn v_star(problem: &Problem) -> Result<f64> {
    noise::v_star_bound(problem.dim(), problem.smoothness, problem.mode2)
}

/// [noise-centred].
pub(crate) fn centred(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &small()? {
        let v_star = v_star(problem)?;
        let centre = gradient(problem.target(), &problem.star, false)?;
        let mut series = Vec::new();
        for (color, batch) in [1, 4, 32].into_iter().enumerate() {
            let bound = noise::energy_batch(problem.dim(), problem.smoothness, batch, v_star)?;
            let path = Noise { batch, ..Noise::new(problem, Kind::Energy) }
                .path::<Triangular>(Some(&centre), trial)?;
            path.check(&mut outcome, &format!("{}, N = {batch}", problem.name), bound, trial);
            series.push(path.measured(&format!("N = {batch}"), color));
            series.push(path.bound(&format!("bound, N = {batch}"), color, bound));
        }
        let at_star = Noise::new(problem, Kind::Energy).measure::<Triangular>(
            problem.star.parameters(),
            &centre,
            trial.effort(1000, 20_000),
            811,
        )?;
        outcome.check(Check::mean_at_most(format!("{}: V*", problem.name), at_star, trial.upper(v_star)));
        let (x, y) = (Axis::log("‖w − w*‖²"), Axis::log("E‖g − ∇l(w*)‖²"));
        panels.push(Panel { title: problem.name.clone(), x, y, series });
    }
    outcome.figures.push(Figure {
        name: "noise-centred".into(),
        caption: "The energy estimator about ∇l(w*), means of N draws, and their bounds.".into(),
        panels,
    });
    Ok(outcome)
}

/// E‖g_N‖² over N at w* and half-way out, as a series with its bound.
fn over_batches<F: Space>(
    problem: &Problem,
    kind: Kind,
    bound: impl Fn(usize) -> Result<NoiseBound>,
    trial: &Trial,
    outcome: &mut Outcome,
) -> Result<[Vec<(f64, f64)>; 2]> {
    let (mut measured, mut claimed) = (Vec::new(), Vec::new());
    let w = star::<F>(problem)?;
    let zero = vec![0.0; w.parameters().len()];
    for batch in [1usize, 2, 4, 8, 16, 32, 64] {
        let noise = Noise { batch, ..Noise::new(problem, kind) };
        let bound = bound(batch)?;
        let mean = noise.measure::<F>(w.parameters(), &zero, trial.effort(500, 2000), 821)?;
        outcome.check(Check::mean_at_most(
            format!("{}, {kind:?}, N = {batch}, at w*", problem.name),
            mean,
            trial.upper(bound.floor) + 1e-20,
        ));
        if [2, 16].contains(&batch) {
            let name = format!("{}, {kind:?}, N = {batch}", problem.name);
            noise.path::<F>(None, trial)?.check(outcome, &name, bound, trial);
        }
        measured.push((batch as f64, mean.value));
        claimed.push((batch as f64, bound.floor));
    }
    Ok([measured, claimed])
}

/// [noise-batch].
pub(crate) fn batch(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for problem in &small()? {
        let (d, m, v_star) = (problem.dim(), problem.smoothness, v_star(problem)?);
        let k = problem.curvature.residual_smoothness().unwrap_or(m);
        let trace = problem.curvature.trace_inverse();
        let entropy = |n| noise::entropy_batch(d, m, n, v_star);
        let stl = |n| noise::stl_batch(d, m, k, trace, n);
        let mut series = Vec::new();
        let mut add = |name: &str, color, [measured, claimed]: [Vec<(f64, f64)>; 2]| {
            let seen = |p: Vec<(f64, f64)>| p.into_iter().filter(|(_, y)| *y > 1e-20).collect::<Vec<_>>();
            let (measured, claimed) = (seen(measured), seen(claimed));
            if !measured.is_empty() {
                series.push(Series::new(name, Mark::Measured, color, measured));
                series.push(Series::new(format!("{name}, bound"), Mark::Bound, color, claimed));
            }
        };
        let tri = over_batches::<Triangular>(problem, Kind::Entropy, entropy, trial, &mut outcome)?;
        over_batches::<Symmetric>(problem, Kind::Entropy, entropy, trial, &mut outcome)?;
        add("entropy", 1, tri);
        add("stl", 2, over_batches::<Symmetric>(problem, Kind::Stl, stl, trial, &mut outcome)?);
        // Exact gradients: no noise, only the distance.
        let far = crate::walk::far_start(problem);
        let q = provi::Gaussian::<Triangular>::new(&far[..d], &far[d..])?;
        let e = crate::space::distance2::<Triangular>(d, q.parameters(), problem.star.parameters());
        let slope = square_norm::<Triangular>(d, &gradient(problem.target(), &q, true)?);
        let bound = noise::exact_proj(m)?.at(e);
        outcome.check(Check::at_most(format!("{}: ‖∇f‖² far away", problem.name), slope, trial.upper(bound)));
        let (x, y) = (Axis::log("draws N"), Axis::log("E‖g_N‖² at w*"));
        panels.push(Panel { title: problem.name.clone(), x, y, series });
    }
    outcome.figures.push(Figure {
        name: "noise-batch".into(),
        caption: "The noise left at w* by means of N draws, and its bounds 2V*/N and 4S*/N. On the Gaussian target \
                  sticking the landing has none."
            .into(),
        panels,
    });
    Ok(outcome)
}
