//! Whitening: the best provable condition number, and which bounds transfer.

use crate::algebra::{
    cholesky, combination, difference, dot, extremes, form, general_inverse, inverse, product, transposed,
};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{normals, regression};
use crate::space::objective;
use crate::statistics::quantile;
use crate::trial::Trial;
use provi::plan::Coordinates;
use provi::target::Family;
use provi::{Gaussian, Matrix, Method, Planner, Result, Seed, Target, Triangular};

/// λ_max(PᵀH_hiP)/λ_min(PᵀH_loP).
fn condition(low: &Matrix, high: &Matrix, p: &Matrix) -> f64 {
    let seen = |h: &Matrix| {
        let x = product(&product(&transposed(p), h), p);
        combination(&x, 1.0, &transposed(&x))
    };
    extremes(&seen(high)).1 / extremes(&seen(low)).0
}

/// A random lower triangular factor with positive diagonal.
fn factor(key: u64, d: usize) -> Vec<f64> {
    let mut out = normals(key, d * (d + 1) / 2);
    (0..d).for_each(|i| out[i * (i + 3) / 2] = 0.3 + out[i * (i + 3) / 2].abs());
    out
}

/// |vᵀ(m−m*)| and the difference of deviations against ‖Pᵀv‖·‖w̃−w̃*‖, the worst of random cases.
fn transfer(trial: &Trial, outcome: &mut Outcome) -> Result<()> {
    let d = 3;
    let mut worst = (0.0f64, 0.0, 1.0);
    for key in 0..trial.effort(50, 500) {
        let a = Gaussian::<Triangular>::new(&normals(460 + key, d), &factor(1460 + key, d))?;
        let b = Gaussian::<Triangular>::new(&normals(2560 + key, d), &factor(3560 + key, d))?;
        let p = Gaussian::<Triangular>::new(&vec![0.0; d], &factor(4660 + key, d))?.factor_matrix();
        let back = general_inverse(&p);
        let shift = difference(a.mean(), b.mean());
        let white: Vec<f64> = (0..d).map(|i| dot(back.row(i), &shift)).collect();
        let spread = product(&back, &combination(&a.factor_matrix(), -1.0, &b.factor_matrix()));
        let length = (dot(&white, &white) + dot(spread.entries(), spread.entries())).sqrt();
        // One direction that is unfavourable for the bound, and one at random.
        for v in [normals(5760 + key, d), shift.clone()] {
            let pulled: Vec<f64> = (0..d).map(|j| (0..d).map(|i| p[(i, j)] * v[i]).sum()).collect();
            let sd = |q: &Gaussian<Triangular>| form(&q.covariance(), &v, &v).sqrt();
            let found = dot(&v, &shift).hypot(sd(&a) - sd(&b));
            let bound = dot(&pulled, &pulled).sqrt() * length;
            if found / bound > worst.0 {
                worst = (found / bound, found, bound);
            }
        }
    }
    outcome.check(Check::at_most("mean and deviation of a functional", worst.1, trial.upper(worst.2)));
    Ok(())
}

/// [whiten].
pub(crate) fn whiten(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let model = regression(Family::Bernoulli, 701, 5, 1.0)?;
    // An anisotropic prior, so that whitening makes a difference.
    let prior = provi::target::Prior::precisions(&[0.2, 1.0, 3.0, 10.0, 40.0])?;
    let model = model.with_prior(prior)?;
    let d = model.dim();
    let Some(curvature) = model.curvature()? else { return Ok(outcome) };
    let Some(upper) = curvature.upper() else { return Ok(outcome) };
    let (low, high) = (curvature.lower().to_matrix(d), upper.to_matrix(d));
    let best = cholesky(&inverse(&low));
    let smallest = condition(&low, &high, &best);
    let (mut near, mut random) = (Vec::new(), Vec::new());
    for key in 0..trial.effort(50, 1000) {
        let other = Matrix::new(d, d, normals(6410 + key, d * d))?;
        random.push(condition(&low, &high, &other));
        for size in [0.003, 0.01, 0.03, 0.1, 0.3] {
            near.push((size, condition(&low, &high, &combination(&best, size, &other))));
        }
    }
    let least = near.iter().map(|p| p.1).chain(random.iter().copied()).fold(f64::INFINITY, f64::min);
    outcome.check(Check::at_least("the least κ̃ of random coordinates", least, trial.lower(smallest)));
    let planner = Planner::new(Method::Exact).coordinates(Coordinates::Curvature);
    if let Some(constants) = planner.to_steps(&model, 10)?.constants {
        let found = constants.smoothness / constants.convexity;
        outcome.check(Check::equal("κ̃ of the library's coordinates", found, trial.lower(smallest), 1e-8));
    }
    // The same f and the same optimum from any coordinates.
    let mut values = Vec::new();
    for coordinates in [Coordinates::Original, Coordinates::Curvature, Coordinates::Laplace] {
        let plan = Planner::new(Method::Exact).coordinates(coordinates).to_distance(&model, 1e-16)?;
        let fit = plan.run(&model, Seed(1))?;
        values.push(objective(&model, &fit.gaussian)?);
    }
    for value in &values[1..] {
        outcome.check(Check::equal("f* from other coordinates", *value, values[0], 1e-10));
    }
    transfer(trial, &mut outcome)?;
    let sizes = [0.003, 0.01, 0.03, 0.1, 0.3];
    let at = |size: f64, p: f64| {
        let values: Vec<f64> = near.iter().filter(|x| (x.0 - size).abs() < 1e-12).map(|x| x.1).collect();
        quantile(&values, p)
    };
    outcome.figures.push(Figure {
        name: "whiten".into(),
        caption: format!(
            "The condition number of coordinates P = P* + s·noise (median, and the least and largest of many): none is \
             below κ̃ = λ_max(H_lo⁻¹H_hi) = {smallest:.3}; in the original coordinates it is {:.0}.",
            curvature.condition().unwrap_or(f64::NAN)
        ),
        panels: vec![Panel {
            title: "No coordinates beat those of H_lo".into(),
            x: Axis::log("size s of the perturbation"),
            y: Axis::log("provable condition number"),
            series: vec![
                Series::new("perturbed coordinates", Mark::Measured, 0, sizes.iter().map(|&s| (s, at(s, 0.5))).collect())
                    .with_band(sizes.iter().map(|&s| (s, at(s, 0.0), at(s, 1.0))).collect()),
                Series::new("bound", Mark::Bound, 1, sizes.iter().map(|&s| (s, smallest)).collect()),
            ],
        }],
    });
    Ok(outcome)
}
