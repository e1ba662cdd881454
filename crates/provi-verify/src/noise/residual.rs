//! The residual r = log p − log q_{w*}: its smoothness, and the noise floor of sticking the landing that it causes.

use super::path::{Noise, star};
use crate::algebra::{combination, extremes, inverse};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, gaussian, logistic, logistic_to_linear, normals, probit, small};
use crate::space::hessian;
use crate::statistics::log_slope;
use crate::trial::Trial;
use provi::estimator::Kind;
use provi::theory::noise;
use provi::{Result, Symmetric};
use provi_testkit::cubature::{cubature, raw_gradient, size2, trapezoid};

/// The largest |eigenvalue| of ∇²r found over points near and far.
fn search(problem: &Problem, count: u64) -> Result<f64> {
    let precision = inverse(&problem.star.covariance());
    let mut largest = 0.0f64;
    for k in 0..count {
        let scale = 10f64.powi(k as i32 % 5 - 2);
        let centre = if k % 2 == 0 { 1.0 } else { 0.0 };
        let z: Vec<f64> = normals(1900 + k, problem.dim())
            .iter()
            .zip(problem.star.mean())
            .map(|(x, m)| centre * m + scale * x)
            .collect();
        let (low, high) = extremes(&combination(&precision, -1.0, &hessian(problem.target(), &z)?));
        largest = largest.max(high).max(-low);
    }
    Ok(largest)
}

/// [stl-k].
pub(crate) fn smoothness(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut problems = small()?;
    problems.push(probit(3)?);
    problems.extend([2, 6].into_iter().map(logistic).collect::<Result<Vec<_>>>()?);
    let count = trial.effort(100, 1000);
    let (mut found, mut bound, mut printed) = (Vec::new(), Vec::new(), Vec::new());
    for (i, problem) in problems.iter().enumerate() {
        let k = problem.curvature.residual_smoothness().unwrap_or(f64::INFINITY);
        let largest = search(problem, count)?;
        outcome.check(Check::at_most(
            format!("{}: ‖∇²r‖ over {count} points", problem.name),
            largest,
            trial.upper(k) + 1e-9,
        ));
        outcome.check(Check::at_most(
            format!("{}: K ≤ M − μ", problem.name),
            k,
            trial.upper(problem.smoothness - problem.convexity) * (1.0 + 1e-9) + 1e-9,
        ));
        let place = (i + 1) as f64;
        found.push((place, largest / problem.smoothness));
        bound.push((place, k / problem.smoothness));
        printed.push((place, 2.0));
    }
    let names: Vec<String> =
        problems.iter().enumerate().map(|(i, p)| format!("{}: {}", i + 1, p.name)).collect();
    outcome.figures.push(Figure {
        name: "stl-k".into(),
        caption: format!(
            "The smoothness of the residual in units of M: the largest ‖∇²r‖ found, the bound used, and the paper's 2M. {}.",
            names.join("; ")
        ),
        panels: vec![Panel {
            title: "Smoothness of the residual".into(),
            x: Axis::linear("problem"),
            y: Axis::linear("‖∇²r‖/M"),
            series: vec![
                Series::new("K", Mark::Points, 1, bound),
                Series::new("found", Mark::Points, 0, found),
                Series::new("the paper's 2M", Mark::Reference, 7, printed),
            ],
        }],
    });
    Ok(outcome)
}

/// [stl-floor]: E‖g‖² at w* as the target goes from logistic to linear.
pub(crate) fn floor(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut measured, mut band, mut claimed) = (Vec::new(), Vec::new(), Vec::new());
    let count = trial.effort(2000, 50_000);
    for t in [1.0, 0.5, 0.2, 0.1, 0.03, 0.01, 1e-3] {
        let problem = logistic_to_linear(4, t)?;
        let k = problem.curvature.residual_smoothness().unwrap_or(f64::INFINITY);
        let bound = noise::stl(4, problem.smoothness, k, problem.curvature.trace_inverse())?.floor;
        let w = star::<Symmetric>(&problem)?;
        let zero = vec![0.0; w.parameters().len()];
        let noise = Noise::new(&problem, Kind::Stl);
        let mean = noise.measure::<Symmetric>(w.parameters(), &zero, count, 801)?;
        outcome.check(Check::mean_at_most(
            format!("logistic to linear, K = {k:.2e}"),
            mean,
            trial.upper(bound),
        ));
        measured.push((k, mean.value));
        band.push((k, mean.lower().max(0.2 * mean.value), mean.upper()));
        claimed.push((k, bound));
    }
    let slope = log_slope(&measured);
    outcome.notes.push(format!("the measured floor falls like K^{slope:.2}; the bound like K²"));
    // S* itself, by quadrature in two dimensions.
    for problem in [logistic(2)?, probit(2)?] {
        let w = star::<Symmetric>(&problem)?;
        let rule = trapezoid(trial.effort(0.4, 0.25));
        let moment = cubature(2, &rule, |u| Ok(size2(&raw_gradient(Kind::Stl, problem.target(), &w, u)?)))?;
        let k = problem.curvature.residual_smoothness().unwrap_or(f64::INFINITY);
        let claim = noise::stl_moment_at_optimum(2, k, problem.curvature.trace_inverse())?;
        outcome.check(Check::at_most(
            format!("{}: S* by quadrature", problem.name),
            moment,
            trial.upper(claim),
        ));
    }
    // A Gaussian target: no floor at all.
    let problem = gaussian(4, 4.0, 11)?;
    let w = star::<Symmetric>(&problem)?;
    let zero = vec![0.0; w.parameters().len()];
    let noise = Noise::new(&problem, Kind::Stl);
    let mean = noise.measure::<Symmetric>(w.parameters(), &zero, 500, 802)?;
    outcome.check(Check::at_most("Gaussian: E‖g‖² at w*", mean.value, 1e-20));
    outcome.figures.push(Figure {
        name: "stl-floor".into(),
        caption: format!(
            "The noise of sticking the landing at w* as a logistic target turns into a linear one (d = 4): it \
             vanishes with K (measured exponent {slope:.2})."
        ),
        panels: vec![Panel {
            title: "The floor vanishes as the target nears a Gaussian".into(),
            x: Axis::log("K, smoothness of the residual"),
            y: Axis::log("E‖g‖² at w*"),
            series: vec![
                Series::new("measured", Mark::Measured, 0, measured).with_band(band),
                Series::new("bound 4c_d K² tr H_lo⁻¹", Mark::Bound, 1, claimed),
            ],
        }],
    });
    Ok(outcome)
}
