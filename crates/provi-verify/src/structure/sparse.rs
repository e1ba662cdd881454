//! The best Gaussian of a model with group effects, and the gap of Gaussians with its pattern.

use crate::algebra::general_inverse;
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::normals;
use crate::trial::Trial;
use provi::solve::Solver;
use provi::sparse::SparseSolver;
use provi::target::{Family, Glm, Prior};
use provi::{Design, Result};

/// Rows of the smallest model.
const ROWS: usize = 48;

/// An intercept, one column, and effects of groups: of one factor, or of two that are crossed.
fn grouped(key: u64, family: Family, crossed: bool, prior_sd: f64) -> Result<(Glm, Vec<(usize, usize)>)> {
    let (x, noise) = (normals(key, ROWS), normals(key + 1, ROWS));
    let (first, second) = (6, if crossed { 5 } else { 0 });
    let mut triplets = Vec::new();
    let mut meet = Vec::new();
    for n in 0..ROWS {
        let mut columns = vec![(0, 1.0), (1, x[n]), (2 + n % first, 1.0)];
        if crossed {
            columns.push((2 + first + (n * 3 + n / 7) % second, 1.0));
        }
        meet.extend(columns.iter().flat_map(|&(i, _)| columns.iter().map(move |&(j, _)| (i, j))));
        triplets.extend(columns.into_iter().map(|(j, value)| (n, j, value)));
    }
    let response = |n: usize| match family {
        Family::Gaussian { .. } => noise[n] + x[n],
        Family::Poisson => (noise[n] + 0.3 * x[n]).exp().floor().min(8.0),
        _ => f64::from(u8::from(noise[n] + x[n] > 0.1)),
    };
    let y: Vec<f64> = (0..ROWS).map(response).collect();
    let design = Design::triplets(ROWS, 2 + first + second, &triplets)?;
    Ok((Glm::new(family, design, &y, Prior::scale(prior_sd)?)?, meet))
}

/// [sparse-optimum].
pub(crate) fn sparse_optimum(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    let families = [Family::Bernoulli, Family::Poisson, Family::Gaussian { noise_sd: 0.9 }];
    for k in 0..trial.effort(12u64, 48) {
        let family = families[k as usize % 3];
        let crossed = k % 2 == 1;
        // A narrow prior dominates the rows, and then the bound is nearly an equality.
        let prior_sd = [0.02, 0.3, 1.5, 5.0][k as usize / 3 % 4];
        let (model, meet) = grouped(600 + 2 * k, family, crossed, prior_sd)?;
        let name = format!(
            "{}, {} groups, prior sd {prior_sd}",
            family.name(),
            if crossed { "crossed" } else { "nested" }
        );
        let dense = Solver { goal: 1e-14, ..Solver::default() }.run(&model)?;
        let precision = general_inverse(&dense.gaussian.covariance());
        let d = precision.rows();
        let size =
            |i: usize, j: usize| precision[(i, j)].abs() / (precision[(i, i)] * precision[(j, j)]).sqrt();
        let outside = (0..d)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .filter(|pair| !meet.contains(pair))
            .map(|(i, j)| size(i, j))
            .fold(0.0, f64::max);
        // The solver's answer may be √gap away from the optimum.
        outcome.check(Check::at_most(format!("{name}: entries of Σ*⁻¹ outside the pattern"), outside, 1e-5));
        let sparse = model.sparse()?;
        for iterations in 0..4 {
            let found = SparseSolver { iterations, ..SparseSolver::default() }.run(&sparse)?;
            let Some(bound) = found.gap else { continue };
            let room = found.neg_elbo_error + dense.neg_elbo_error + dense.gap.map_or(0.0, |gap| gap.value);
            let gap = found.neg_elbo - dense.neg_elbo;
            let check = format!("{name}: gap after {iterations} steps");
            outcome.check(Check::at_most(check, gap, trial.upper(bound.value) + room));
            points.push((gap, bound.value));
        }
    }
    points.retain(|(gap, _)| *gap > 1e-11);
    let (low, high) = points.iter().fold((f64::INFINITY, 0.0f64), |(a, b), p| (a.min(p.0), b.max(p.0)));
    outcome.figures.push(Figure {
        name: "sparse-optimum".into(),
        caption: "Models with group effects: the gap f − f* of Gaussians with a sparse precision, after few steps of the solver, against its bound. \
                  Where the prior is narrow the bound is nearly an equality; where it is wide, H_lo is far below the curvature of the rows."
            .into(),
        panels: vec![Panel {
            title: "Gaussians with a sparse precision".into(),
            x: Axis::log("f − f*, nats"),
            y: Axis::log("its bound, nats"),
            series: vec![
                Series::new("answers", Mark::Points, 0, points),
                Series::new("bound = gap", Mark::Reference, 7, vec![(low, low), (high, high)]),
            ],
        }],
    });
    Ok(outcome)
}
