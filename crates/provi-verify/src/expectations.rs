//! Gaussian expectations by one-dimensional integrals, and the proved error of the trapezoid rule.

use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::normals;
use crate::space::{hessian, moments};
use crate::trial::Trial;
use provi::target::{Family, Glm, Prior};
use provi::{Design, Gaussian, Result, Target, Triangular};
use std::f64::consts::PI;

/// E g(u), u ~ N(0, 1), by a trapezoid rule so fine that only rounding remains.
fn fine(step: f64, mut g: impl FnMut(f64) -> Result<f64>) -> Result<f64> {
    let reach = (12.0 / step) as i64;
    let mut total = 0.0;
    for j in -reach..=reach {
        let u = j as f64 * step;
        total += step * (-0.5 * u * u).exp() / (2.0 * PI).sqrt() * g(u)?;
    }
    Ok(total)
}

/// [exact]: the library's moments against brute force, narrow to wide.
pub(crate) fn exact(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut series = Vec::new();
    let families = [
        Family::Bernoulli,
        Family::Poisson,
        Family::Gaussian { noise_sd: 0.7 },
        Family::Probit,
        Family::Gamma { noise_sd: 0.8 },
        Family::Cloglog,
    ];
    let rows = 6;
    for (color, family) in families.into_iter().enumerate() {
        let design = Design::from_rows(rows, 1, normals(70_001, rows))?;
        let least = if matches!(family, Family::Gamma { .. }) { 0.5 } else { 0.0 };
        let labels: Vec<f64> = (0..rows).map(|n| least + (n % 2) as f64).collect();
        let model = Glm::new(family, design, &labels, Prior::precision(0.5)?)?;
        let widths = trial.effort(vec![0.1, 1.0, 5.0], vec![0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 5.0, 12.0]);
        let mut points = Vec::new();
        let rates = matches!(family, Family::Poisson | Family::Gamma { .. } | Family::Cloglog);
        for s in widths.into_iter().filter(|s| !rates || *s < 2.5) {
            let q = Gaussian::<Triangular>::new(&[0.4], &[s])?;
            let found = moments(&model, &q)?;
            let step = (0.02 / s).min(0.05);
            let at = |u: f64| 0.4 + s * u;
            let mut slope = [0.0];
            let value = fine(step, |u| Ok(-model.log_density(&[at(u)], &mut slope)?))?;
            let first = fine(step, |u| {
                model.log_density(&[at(u)], &mut slope)?;
                Ok(-slope[0])
            })?;
            let second = fine(step, |u| Ok(hessian(&model, &[at(u)])?[(0, 0)]))?;
            let name = format!("{}, σ = {s}", family.name());
            let rounding = 1e-12 * (1.0 + value.abs());
            outcome.check(Check::at_most(
                format!("{name}: error of E V"),
                (found.value - value).abs(),
                trial.upper(found.value_error) + rounding,
            ));
            let off = (found.gradient[0] - first).hypot((found.hessian[(0, 0)] - second) * s);
            outcome.check(Check::at_most(
                format!("{name}: error of the gradient"),
                off,
                trial.upper(found.gradient_error) + rounding,
            ));
            outcome.check(Check::equal(
                format!("{name}: E∇²V"),
                found.hessian[(0, 0)],
                trial.upper(second),
                1e-8,
            ));
            points.push((s, ((found.value - value) / value).abs().max(1e-17)));
        }
        series.push(Series::new(family.name(), Mark::Measured, color, points));
    }
    // Several dimensions: the reduction itself, by quadrature in the plane.
    let design = Design::from_rows(5, 2, normals(70_009, 10))?;
    let model = Glm::logistic(design, &[1.0, 0.0, 1.0, 1.0, 0.0], Prior::precision(0.5)?)?;
    let q = Gaussian::<Triangular>::new(&[0.3, -0.2], &[0.8, 0.5, 1.1])?;
    let found = moments(&model, &q)?;
    let rule = provi_testkit::cubature::trapezoid(trial.effort(0.2, 0.1));
    let mut slope = [0.0; 2];
    let value = provi_testkit::cubature::cubature(2, &rule, |u| {
        let mut z = [0.0; 2];
        q.transport(u, &mut z);
        Ok(-model.log_density(&z, &mut slope)?)
    })?;
    outcome.check(Check::equal("logistic in the plane: E V", found.value, trial.upper(value), 1e-10));
    outcome.figures.push(Figure {
        name: "exact".into(),
        caption:
            "E V by one-dimensional integrals against brute force: relative difference over the width of q."
                .into(),
        panels: vec![Panel {
            title: "Exact expectations".into(),
            x: Axis::log("standard deviation of q"),
            y: Axis::log("relative difference of E V"),
            series,
        }],
    });
    Ok(outcome)
}

/// φ' and φ'' of the logistic likelihood.
fn logistic(s: f64) -> [f64; 2] {
    let e = (-s.abs()).exp();
    let p = if s > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
    [p, e / ((1.0 + e) * (1.0 + e))]
}

/// The trapezoid rule with step h and nodes |t| ≤ T.
fn coarse(mean: f64, sigma: f64, h: f64, reach: f64) -> [f64; 2] {
    let n = (reach / h).round() as i32;
    let mut out = [0.0; 2];
    for j in -n..=n {
        let t = f64::from(j) * h;
        let weight = h * (-0.5 * t * t).exp() / (2.0 * PI).sqrt();
        let values = logistic(mean + sigma * t);
        (0..2).for_each(|i| out[i] += weight * values[i]);
    }
    out
}

/// 2e^{a²/2}/(e^{2πa/h} − 1) + 2Q(T), a = min{2π/h, π/2σ}.
fn stated(sigma: f64, h: f64, reach: f64) -> f64 {
    let a = (2.0 * PI / h).min(PI / (2.0 * sigma));
    2.0 * (0.5 * a * a).exp() / (2.0 * PI * a / h).exp_m1() + libm::erfc(reach / std::f64::consts::SQRT_2)
}

/// Bound of the rounding error of the reference's sum of 3600 terms: nε. The statement is about exact arithmetic.
const ROUNDING: f64 = 4e-13;

/// [exact-bound].
pub(crate) fn exact_bound(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut series = Vec::new();
    for (color, sigma) in [0.5, 1.5, 4.0].into_iter().enumerate() {
        let (mut errors, mut bounds) = (Vec::new(), Vec::new());
        for h in
            trial.effort(vec![2.0, 1.0, 0.5], vec![3.0, 2.5, 2.0, 1.5, 1.2, 1.0, 0.8, 0.65, 0.5, 0.4, 0.3])
        {
            let reach = f64::ceil(8.0 / h) * h;
            let mut worst = 0.0f64;
            for i in 0..=trial.effort(10, 40) {
                let mean = f64::from(i) * 0.2;
                let reference = coarse(mean, sigma, 0.005, 9.0);
                let found = coarse(mean, sigma, h, reach);
                worst = worst.max((found[0] - reference[0]).abs()).max((found[1] - reference[1]).abs());
            }
            let bound = stated(sigma, h, reach);
            outcome.check(Check::at_most(
                format!("σ = {sigma}, h = {h}"),
                worst,
                trial.upper(bound) + ROUNDING,
            ));
            if worst > ROUNDING {
                errors.push((h, worst));
            }
            bounds.push((h, bound));
        }
        // The truncation alone: a fine rule that stops too early.
        for reach in [1.0, 2.0, 3.0] {
            let found = coarse(8.0, sigma, 0.02, reach);
            let reference = coarse(8.0, sigma, 0.005, 9.0);
            let error = (found[0] - reference[0]).abs();
            outcome.check(Check::at_most(
                format!("σ = {sigma}, nodes up to {reach}"),
                error,
                trial.upper(stated(sigma, 0.02, reach)) + ROUNDING,
            ));
        }
        series.push(Series::new(format!("error, σ = {sigma}"), Mark::Measured, color, errors));
        series.push(Series::new(format!("bound, σ = {sigma}"), Mark::Bound, color, bounds));
    }
    outcome.figures.push(Figure {
        name: "exact-bound".into(),
        caption: "The trapezoid rule for a logistic row: the worst error of Eφ' and Eφ'' over the predictor's mean, and \
                  the proved bound, over the step of the rule."
            .into(),
        panels: vec![Panel {
            title: "Quadrature with a proof".into(),
            x: Axis::log("step h"),
            y: Axis::log("error"),
            series,
        }],
    });
    Ok(outcome)
}
