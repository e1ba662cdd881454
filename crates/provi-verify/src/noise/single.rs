//! One draw: the bounds of the paper's table.

use super::path::Noise;
use crate::algebra::{difference, dot, pack};
use crate::figure::{Axis, Figure, Panel};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, gaussian, normals, probit, small, w1, w2, w4};
use crate::trial::Trial;
use provi::estimator::Kind;
use provi::target::GaussianTarget;
use provi::theory::{NoiseBound, noise};
use provi::{Gaussian, Matrix, Result, Symmetric, Triangular};
use provi_testkit::cubature::{THREE_POINTS, cubature, raw_gradient, size2};
use provi_testkit::space::{Space, distance2};

fn problems(trial: &Trial) -> Result<Vec<Problem>> {
    let mut out = small()?;
    out.push(probit(3)?);
    if !trial.quick {
        out.extend([w1()?, w2()?, w4()?]);
    }
    Ok(out)
}

fn axes() -> (Axis, Axis) {
    (Axis::log("‖w − w*‖²"), Axis::log("E‖g‖²"))
}

/// Only the small problems are plotted; the others are in the table.
fn is_drawn(i: usize) -> bool {
    i < 3
}

/// Compares both factor spaces with one bound, and plots them; for problems that are not plotted, only 𝒯ᵈ.
fn both_spaces(
    noise: &Noise<'_>,
    bound: NoiseBound,
    drawn: bool,
    trial: &Trial,
    outcome: &mut Outcome,
) -> Result<Option<Panel>> {
    let name = &noise.problem.name;
    let triangular = noise.path::<Triangular>(None, trial)?;
    triangular.check(outcome, &format!("{name}, 𝒯"), bound, trial);
    if !drawn {
        return Ok(None);
    }
    let symmetric = noise.path::<Symmetric>(None, trial)?;
    symmetric.check(outcome, &format!("{name}, 𝒮"), bound, trial);
    let (x, y) = axes();
    let series = vec![
        triangular.measured("triangular factor", 0),
        symmetric.measured("symmetric factor", 1),
        triangular.bound("bound", 0, bound),
    ];
    Ok(Some(Panel { title: name.clone(), x, y, series }))
}

/// [noise-energy].
pub(crate) fn energy(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for (i, problem) in problems(trial)?.iter().enumerate() {
        let bound = noise::energy(problem.dim(), problem.smoothness, problem.mode2)?;
        let noise = Noise::new(problem, Kind::Energy);
        panels.extend(both_spaces(&noise, bound, is_drawn(i), trial, &mut outcome)?);
    }
    // Attained before the projection by V = ½M‖z−z̄‖², whatever m and C.
    for (d, m) in [(1, 0.7), (2, 3.0), (3, 1.0), (4, 2.5)] {
        let mode = normals(30 + d as u64, d);
        let target = GaussianTarget::new(&mode, Matrix::scaled_identity(d, m))?;
        let entries = normals(40 + d as u64, d + d * (d + 1) / 2);
        let mut factor = entries[d..].to_vec();
        (0..d).for_each(|i| factor[i * (i + 3) / 2] = 0.5 + factor[i * (i + 3) / 2].abs());
        let q = Gaussian::<Triangular>::new(&entries[..d], &factor)?;
        let exact = cubature(d, &THREE_POINTS, |u| Ok(size2(&raw_gradient(Kind::Energy, &target, &q, u)?)))?;
        let shift = difference(q.mean(), &mode);
        let mean2 = dot(&shift, &shift);
        let claim = noise::energy_second_moment(d, m, mean2, dot(q.factor(), q.factor()))?;
        outcome.check(Check::equal(
            format!("isotropic quadratic, d = {d}, before the projection"),
            exact,
            trial.upper(claim),
            1e-10,
        ));
    }
    outcome.figures.push(Figure {
        name: "noise-energy".into(),
        caption: "The energy estimator along a path from far away to w*: measured second moment (band: six standard \
                  errors) and its bound 2(d+3)M²(‖w−w*‖² + ‖w*−w̄‖²)."
            .into(),
        panels,
    });
    Ok(outcome)
}

/// [noise-entropy].
pub(crate) fn entropy(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for (i, problem) in problems(trial)?.iter().enumerate() {
        let m = problem.smoothness;
        let bound = noise::entropy(problem.dim(), m, m, problem.mode2)?;
        let noise = Noise::new(problem, Kind::Entropy);
        panels.extend(both_spaces(&noise, bound, is_drawn(i), trial, &mut outcome)?);
    }
    // Where the entropy's part dominates: narrow factors on the edge of 𝒲_L, M small compared with L. E‖g‖² is a
    // polynomial.
    for (d, region) in [(1, 1e2), (2, 1e4), (3, 1e6)] {
        let problem = gaussian(d, 1.0, 60 + d as u64)?;
        let narrow = Matrix::scaled_identity(d, f64::powf(region, -0.5));
        let q = Gaussian::<Triangular>::new(problem.star.mean(), &pack(&narrow))?;
        let exact = cubature(d, &THREE_POINTS, |u| {
            let (left, x) = raw_gradient(Kind::Entropy, problem.target(), &q, u)?;
            Ok(size2(&(left, <Triangular as Space>::project(&x))))
        })?;
        let e = distance2::<Triangular>(d, q.parameters(), problem.star.parameters());
        let bound = noise::entropy(d, problem.smoothness, region, problem.mode2)?;
        outcome.check(Check::at_most(
            format!("narrow factor, d = {d}, L = {region:e}"),
            exact,
            trial.upper(bound.at(e)),
        ));
    }
    // Smoothness alone carries the bound, so V = −½z² must obey it too, with any point for w*: at C = ½, half-way to
    // w̄ = 0, E‖g‖² = 7.
    let bound = noise::entropy(1, 1.0, 4.0, 1.0 / 16.0)?.at(1.0 / 16.0);
    outcome.check(Check::at_most("V = −½z² at C = ½", 4.0 * 0.25 + 2.0 + 4.0, trial.upper(bound)));
    outcome.figures.push(Figure {
        name: "noise-entropy".into(),
        caption: "The entropy estimator on 𝒲_M: measured second moment and its bound \
                  4(d+3)M²(‖w−w*‖² + ‖w*−w̄‖²) + 2dM."
            .into(),
        panels,
    });
    Ok(outcome)
}

/// [noise-stl].
pub(crate) fn stl(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut panels = Vec::new();
    for (i, problem) in problems(trial)?.iter().enumerate() {
        let (d, m) = (problem.dim(), problem.smoothness);
        let residual = problem.curvature.residual_smoothness().unwrap_or(m);
        let bound = noise::stl(d, m, residual, problem.curvature.trace_inverse())?;
        let measure = |kind| Noise::new(problem, kind).path::<Symmetric>(None, trial);
        let path = measure(Kind::Stl)?;
        path.check(&mut outcome, &format!("{}, 𝒮", problem.name), bound, trial);
        if is_drawn(i) {
            let (x, y) = axes();
            let series = vec![
                measure(Kind::Energy)?.measured("energy", 0),
                measure(Kind::Entropy)?.measured("entropy", 1),
                path.measured("sticking the landing", 2),
                path.bound("its bound", 2, bound),
            ];
            panels.push(Panel { title: problem.name.clone(), x, y, series });
        }
    }
    outcome.figures.push(Figure {
        name: "noise-stl".into(),
        caption:
            "Three estimators on 𝒲_M, symmetric factors. On the Gaussian target the noise of sticking the \
                  landing vanishes with ‖w−w*‖², that of the others does not; elsewhere it ends at a floor."
                .into(),
        panels,
    });
    Ok(outcome)
}
