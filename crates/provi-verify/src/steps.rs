//! The prox and the projections, as operators: optimal, non-expansive, inside their sets.

mod ball;

pub(crate) use ball::proj_ball;

use crate::algebra::{extremes, pack};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{normals, small};
use crate::trial::Trial;
use provi::gaussian::Factor;
use provi::optimize::{Moved, Operator};
use provi::step::{ProjSymmetric, ProjTriangular, Prox};
use provi::{Matrix, Result, Symmetric, Triangular};
use provi_testkit::space::{Space, distance2};

const UNKNOWN: Moved = Moved { distance: f64::MAX, value: None };

/// The prox of one diagonal entry.
fn lift(c: f64, gamma: f64) -> Result<f64> {
    let mut w = [0.0, c];
    Prox::new(1).apply(&mut w, gamma, &UNKNOWN)?;
    Ok(w[1])
}

/// The root of x² − cx − γ by bisection in the logarithm of x.
fn bisect(c: f64, gamma: f64) -> f64 {
    let (mut low, mut high) = (-700.0f64, (c.abs() + gamma.sqrt() + 1.0).ln());
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        let x = middle.exp();
        // Divided by x, so that nothing cancels: x − c − γ/x.
        if x - c < gamma / x { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).exp()
}

/// [prox-h].
pub(crate) fn prox(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut worst, mut stretch) = (1.0f64, 0.0f64);
    let count = trial.effort(200, 4000);
    let noise = normals(9000, 3 * count);
    let mut last: Option<(f64, f64, f64)> = None;
    for n in noise.chunks_exact(3) {
        let (c, gamma) = (n[0] * 10f64.powf(2.0 * n[1]), 10f64.powf(2.0 * n[2] - 2.0));
        let (found, truth) = (lift(c, gamma)?, bisect(c, gamma));
        if (found / truth - 1.0).abs() > (worst - 1.0).abs() {
            worst = found / truth;
        }
        if let Some((before, _, _)) = last {
            let shift = (lift(before, gamma)? - found).abs() / (before - c).abs();
            stretch = stretch.max(shift);
        }
        last = Some((c, gamma, found));
    }
    outcome.check(Check::equal(
        "lifted entry over the minimiser, the worst case",
        worst,
        trial.upper(1.0),
        1e-9,
    ));
    outcome.check(Check::at_most("|prox(c) − prox(c')|/|c − c'|", stretch, trial.upper(1.0)));
    // Where the textbook root cancels to 0 and leaves the domain, the conjugate root does not.
    let (c, gamma) = (-1e8, 1e-3);
    outcome.check(Check::equal("c = −1e8, γ = 1e-3", lift(c, gamma)?, trial.upper(bisect(c, gamma)), 1e-9));
    let textbook = 0.5 * (c + (c * c + 4.0 * gamma).sqrt());
    outcome
        .notes
        .push(format!("at c = −1e8, γ = 1e-3 the textbook root gives {textbook}, outside the domain"));
    let mut series = Vec::new();
    for (color, gamma) in [0.01, 0.1, 1.0].into_iter().enumerate() {
        let points: Result<Vec<(f64, f64)>> =
            (-40..=40).map(|i| 0.1 * f64::from(i)).map(|c| Ok((c, lift(c, gamma)?))).collect();
        series.push(Series::new(format!("γ = {gamma}"), Mark::Measured, color, points?));
    }
    series.push(Series::new("identity", Mark::Reference, 7, vec![(0.0, 0.0), (4.0, 4.0)]));
    outcome.figures.push(Figure {
        name: "prox-h".into(),
        caption: "The prox of −log: what a step does to a diagonal entry of C. Always positive, however negative the \
                  entry had become."
            .into(),
        panels: vec![Panel {
            title: "The proximal step".into(),
            x: Axis::linear("C_ii after the gradient step"),
            y: Axis::linear("C_ii after the prox"),
            series,
        }],
    });
    Ok(outcome)
}

fn symmetric_noise(key: u64, d: usize, scale: f64) -> Result<Matrix> {
    let mut x = <Symmetric as Space>::project(&Matrix::new(d, d, normals(key, d * d))?);
    x.entries_mut().iter_mut().for_each(|x| *x *= scale);
    Ok(x)
}

/// Nearest point, idempotent and non-expansive, over random pairs; each projection acts on vectors (m, C).
fn projection<F: Factor>(
    d: usize,
    trial: &Trial,
    outcome: &mut Outcome,
    name: &str,
    mut project: impl FnMut(&[f64]) -> Result<Vec<f64>>,
) -> Result<()> {
    let (mut nearest, mut stretch, mut again) = ((0.0f64, 0.0, 1.0), 0.0f64, 0.0f64);
    for key in 0..trial.effort(40u64, 400) {
        let vector = |k: u64| -> Result<Vec<f64>> {
            Ok([normals(k, d), pack(&symmetric_noise(k + 1, d, 1.5)?)].concat())
        };
        let (a, b) = (vector(11_000 + 4 * key)?, vector(11_002 + 4 * key)?);
        let (pa, pb) = (project(&a)?, project(&b)?);
        stretch = stretch.max((distance2::<F>(d, &pa, &pb) / distance2::<F>(d, &a, &b)).sqrt());
        again = again.max(distance2::<F>(d, &pa, &project(&pa)?).sqrt());
        // Any other point of the set is at least as far: pb is one, and so is the segment from pa to it.
        let own = distance2::<F>(d, &a, &pa);
        for s in [0.001, 0.1, 1.0] {
            let other = distance2::<F>(d, &a, &crate::algebra::between(&pa, &pb, s));
            if own / other > nearest.0 {
                nearest = (own / other, own, other);
            }
        }
    }
    let (_, own, other) = nearest;
    outcome.check(Check::at_most(
        format!("{name}: squared distance, against another point of the set"),
        own,
        trial.upper(other),
    ));
    outcome.check(Check::at_most(format!("{name}: ‖proj a − proj b‖/‖a − b‖"), stretch, trial.upper(1.0)));
    outcome.check(Check::at_most(format!("{name}: a second projection moves"), again, 1e-12));
    Ok(())
}

/// [proj-sym].
pub(crate) fn proj_symmetric(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let m = 4.0;
    for d in [1, 2, 5] {
        projection::<Symmetric>(d, trial, &mut outcome, &format!("d = {d}"), |w| {
            let mut out = w.to_vec();
            ProjSymmetric::new(d, m)?.apply(&mut out, 0.1, &UNKNOWN)?;
            Ok(out)
        })?;
        let mut least = f64::INFINITY;
        for key in 0..20 {
            let mut w = [vec![0.0; d], pack(&symmetric_noise(12_000 + key, d, 3.0)?)].concat();
            ProjSymmetric::new(d, m)?.apply(&mut w, 0.1, &UNKNOWN)?;
            least = least.min(extremes(&Symmetric::to_matrix(d, &w[d..])).0);
        }
        outcome.check(Check::at_least(
            format!("d = {d}: σ_min(C) after it"),
            least,
            trial.lower(m.powf(-0.5)),
        ));
    }
    // In the plane, diagonal matrices: what clamping does to eigenvalues.
    let clamp: Result<Vec<(f64, f64)>> = (-20..=20)
        .map(|i| 0.1 * f64::from(i))
        .map(|x| {
            let mut w = [0.0, x];
            ProjSymmetric::new(1, m)?.apply(&mut w, 0.1, &UNKNOWN)?;
            Ok((x, w[1]))
        })
        .collect();
    let svd = (-20..=20)
        .map(|i| 0.1 * f64::from(i))
        .map(|x: f64| (x, x.abs().max(m.powf(-0.5)) * x.signum()))
        .collect();
    outcome.figures.push(Figure {
        name: "proj-sym".into(),
        caption: "The projection on 𝒲_M clamps eigenvalues at 1/√M (here ½). Clamping singular values, as the pseudocode \
                  says, leaves negative eigenvalues negative."
            .into(),
        panels: vec![Panel {
            title: "The projection".into(),
            x: Axis::linear("eigenvalue before"),
            y: Axis::linear("eigenvalue after"),
            series: vec![
                Series::new("eigenvalues clamped", Mark::Measured, 0, clamp?),
                Series::new("singular values clamped", Mark::Measured, 1, svd),
            ],
        }],
    });
    Ok(outcome)
}

/// [proj-tri].
pub(crate) fn proj_triangular(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let m = 4.0;
    for d in [1, 2, 5] {
        projection::<Triangular>(d, trial, &mut outcome, &format!("d = {d}"), |w| {
            let mut out = w.to_vec();
            ProjTriangular::new(d, m)?.apply(&mut out, 0.1, &UNKNOWN)?;
            Ok(out)
        })?;
    }
    let mut scatter = Vec::new();
    let mut problems = small()?;
    for k in 0..trial.effort(5, 40) {
        let model = crate::problems::regression(
            provi::target::Family::Bernoulli,
            4000 + 5 * k,
            1 + k as usize % 5,
            0.3,
        )?;
        problems.push(crate::problems::Problem::new(format!("random logistic {k}"), model)?);
    }
    for problem in &problems {
        let c = problem.star.factor();
        let least = (0..problem.dim()).map(|i| c[i * (i + 3) / 2]).fold(f64::INFINITY, f64::min);
        let edge = problem.smoothness.powf(-0.5);
        outcome.check(Check::at_least(format!("{}: least C*_ii", problem.name), least, trial.lower(edge)));
        scatter.push((problem.condition(), least / edge));
        // On the set ‖∇h‖² = Σ 1/C_ii² ≤ dM, attained on its edge.
        let mut w = [vec![0.0; problem.dim()], vec![-1.0; problem.star.factor().len()]].concat();
        ProjTriangular::new(problem.dim(), problem.smoothness)?.apply(&mut w, 0.1, &UNKNOWN)?;
        let d = problem.dim();
        let slope: f64 = (0..d).map(|i| w[d + i * (i + 3) / 2].powi(-2)).sum();
        outcome.check(Check::at_most(
            format!("{}: ‖∇h‖² on the edge", problem.name),
            slope,
            trial.upper(d as f64 * problem.smoothness),
        ));
    }
    let most = scatter.iter().fold(1.0f64, |a, p| a.max(p.0));
    outcome.figures.push(Figure {
        name: "proj-tri".into(),
        caption:
            "The optimum lies in the triangular set {C_ii ≥ 1/√M}: its least diagonal entry in units of 1/√M."
                .into(),
        panels: vec![Panel {
            title: "w* in the triangular set".into(),
            x: Axis::log("condition number κ"),
            y: Axis::log("min C*_ii·√M"),
            series: vec![
                Series::new("problems", Mark::Points, 0, scatter),
                Series::new("bound", Mark::Bound, 1, vec![(1.0, 1.0), (most, 1.0)]),
            ],
        }],
    });
    Ok(outcome)
}
