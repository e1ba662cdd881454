//! The factors of a ball: the projection, the diameter, the noise.

use super::{UNKNOWN, projection};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::small;
use crate::trial::Trial;
use provi::mode::find_mode;
use provi::optimize::Operator;
use provi::step::{Ball, BallSymmetric, BallTriangular};
use provi::target::GaussianTarget;
use provi::theory::ball;
use provi::{Gaussian, Matrix, Result, Symmetric, Triangular};
use provi_testkit::cubature::{THREE_POINTS, cubature, raw_gradient, size2};
use provi_testkit::space::distance2;

fn around(d: usize, radius: f64) -> Ball {
    Ball { centre: vec![0.2; d], radius }
}

/// V = ½M‖z − z̃‖² on the edge of the ball: E‖g‖² of one entropy draw is the bound without the part of ∇h that cannot have its direction.
fn noise(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    for (d, m, radius) in [(1, 3.0, 8.0), (2, 2.0, 9.0), (3, 1.0, 12.0)] {
        let target = GaussianTarget::new(&vec![0.0; d], Matrix::scaled_identity(d, m))?;
        let floor = 1.0 / f64::sqrt(m);
        // Everything that the ball leaves to the factor, in one entry of the diagonal.
        let mut factor = Matrix::scaled_identity(d, floor);
        factor[(0, 0)] = (radius * radius - (d as f64 - 1.0) * floor * floor).sqrt();
        let q = Gaussian::<Triangular>::new(&vec![0.0; d], &crate::algebra::pack(&factor))?;
        let exact = cubature(d, &THREE_POINTS, |u| {
            let (left, mut x) = raw_gradient(provi::estimator::Kind::Energy, &target, &q, u)?;
            (0..d).for_each(|i| x[(i, i)] -= 1.0 / factor[(i, i)]);
            Ok(size2(&(left, x)))
        })?;
        let claim = ball::entropy(d, m, radius, 0.0, 1)?.floor;
        outcome.check(Check::at_most(
            format!("d = {d}, R = {radius}: E‖g‖² of a draw before the projection on 𝒯ᵈ"),
            exact,
            trial.upper(claim),
        ));
    }
    Ok(())
}

/// [proj-ball].
pub(crate) fn proj_ball(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (m, radius) = (4.0, 2.0);
    for d in [1, 2, 5] {
        projection::<Triangular>(d, trial, &mut outcome, &format!("𝒯ᵈ, d = {d}"), |w| {
            let mut out = w.to_vec();
            BallTriangular::new(around(d, radius), m)?.apply(&mut out, 0.1, &UNKNOWN)?;
            Ok(out)
        })?;
        projection::<Symmetric>(d, trial, &mut outcome, &format!("𝒮ᵈ, d = {d}"), |w| {
            let mut out = w.to_vec();
            BallSymmetric::new(around(d, radius), m)?.apply(&mut out, 0.1, &UNKNOWN)?;
            Ok(out)
        })?;
        // The two ends of the set.
        let end = |sign: f64| -> Result<Vec<f64>> {
            let mut w = [vec![0.2; d], crate::algebra::pack(&Matrix::zeros(d, d))].concat();
            w[0] += sign * 1e3;
            BallTriangular::new(around(d, radius), m)?.apply(&mut w, 0.1, &UNKNOWN)?;
            Ok(w)
        };
        let apart = distance2::<Triangular>(d, &end(1.0)?, &end(-1.0)?);
        let claim = ball::diameter2(d, m, radius)?;
        outcome.check(Check::equal(format!("d = {d}: squared diameter"), apart, trial.upper(claim), 1e-9));
    }
    noise(trial, &mut outcome)?;
    let mut inside = Vec::new();
    for problem in &small()? {
        let mode = find_mode(problem.target(), &vec![0.0; problem.dim()])?;
        let radius = ball::optimum_radius(problem.dim(), problem.convexity, mode.gradient_norm)?;
        let name = format!("{}: ‖w* − w̄‖", problem.name);
        outcome.check(Check::at_most(name, problem.mode2.sqrt(), trial.upper(radius)));
        inside.push((problem.condition(), problem.mode2.sqrt() / radius));
    }
    let line = |floor: f64| {
        (1..=60).map(|i| 0.1 * f64::from(i)).map(move |x| {
            let mut w = [0.0, 0.0, x, 0.0, 0.3];
            BallTriangular::new(Ball { centre: vec![0.0; 2], radius }, floor.powi(-2))?
                .apply(&mut w, 0.1, &UNKNOWN)?;
            Ok((x, w[2]))
        })
    };
    let drawn: Result<Vec<(f64, f64)>> = line(0.5).collect();
    let most = inside.iter().fold(1.0f64, |a, p| a.max(p.0));
    outcome.figures.push(Figure {
        name: "proj-ball".into(),
        caption: "Left: an entry of the diagonal before and after the projection on the factors of a ball of radius 2, the other one at its least value ½. \
                  Right: the optimum lies in the ball of radius √(d/μ) around (z̄, 0)."
            .into(),
        panels: vec![
            Panel {
                title: "The projection".into(),
                x: Axis::linear("C_11 before"),
                y: Axis::linear("C_11 after"),
                series: vec![Series::new("clamped and shrunk", Mark::Measured, 0, drawn?)],
            },
            Panel {
                title: "w* in the ball".into(),
                x: Axis::log("condition number κ"),
                y: Axis::linear("‖w* − w̄‖/R"),
                series: vec![
                    Series::new("problems", Mark::Points, 0, inside),
                    Series::new("bound", Mark::Bound, 1, vec![(1.0, 1.0), (most, 1.0)]),
                ],
            },
        ],
    });
    Ok(outcome)
}
