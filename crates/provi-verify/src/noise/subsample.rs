//! One datum at a time: V = Σ_n V_n, term n drawn with probability π_n.

use crate::algebra::{difference, dot};
use crate::cubature::{THREE_POINTS, cubature, raw_gradient, size2, trapezoid};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{design_rows, normals};
use crate::trial::Trial;
use provi::estimator::Kind;
use provi::mode::find_mode;
use provi::target::{GaussianTarget, Glm, Prior};
use provi::theory::noise;
use provi::{Design, Gaussian, Matrix, Result, Target, Triangular};

struct Term {
    probability: f64,
    smoothness: f64,
    stationary: Vec<f64>,
    target: Box<dyn Target>,
}

/// Σ_n E‖g_n‖²/π_n: the second moment of a reweighted term.
fn moment(terms: &[Term], q: &Gaussian<Triangular>, rule: &[(f64, f64)]) -> Result<f64> {
    terms
        .iter()
        .map(|t| {
            let target = t.target.as_ref();
            let one = cubature(q.dim(), rule, |u| Ok(size2(&raw_gradient(Kind::Energy, target, q, u)?)))?;
            Ok(one / t.probability)
        })
        .sum()
}

fn claim(terms: &[Term], q: &Gaussian<Triangular>) -> Result<f64> {
    let weight = |t: &Term| t.smoothness.powi(2) / t.probability;
    let mean2 = |t: &Term| {
        let shift = difference(q.mean(), &t.stationary);
        weight(t) * dot(&shift, &shift)
    };
    let (total, means) = (terms.iter().map(weight).sum(), terms.iter().map(mean2).sum());
    noise::subsample_second_moment(q.dim(), total, means, dot(q.factor(), q.factor()))
}

fn quadratics() -> Result<Vec<Term>> {
    [(0.2, 1.5), (0.5, 0.4), (0.3, 3.0)]
        .into_iter()
        .enumerate()
        .map(|(n, (probability, smoothness))| {
            let stationary = normals(260 + n as u64, 2);
            let target = GaussianTarget::new(&stationary, Matrix::scaled_identity(2, smoothness))?;
            Ok(Term { probability, smoothness, stationary, target: Box::new(target) })
        })
        .collect()
}

/// Logistic terms with an equal share of the prior each, drawn alike.
fn logistic(rows: usize) -> Result<Vec<Term>> {
    let entries = design_rows(270, rows, 2, 1.0);
    (0..rows)
        .map(|n| {
            let design = Design::dense(&entries[2 * n..2 * n + 2], 1, 2)?;
            let prior = Prior::isotropic(1.0 / rows as f64)?;
            let target = Glm::logistic(design, &[f64::from(u8::from(n % 3 != 1))], prior)?;
            let stationary = find_mode(&target, &[0.0; 2])?.point;
            let smoothness = target.curvature()?.and_then(|c| c.smoothness()).unwrap_or(f64::INFINITY);
            Ok(Term { probability: 1.0 / rows as f64, smoothness, stationary, target: Box::new(target) })
        })
        .collect()
}

/// [noise-subsample].
pub(crate) fn subsample(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let q = Gaussian::<Triangular>::new(&[0.7, -0.4], &[0.8, 0.3, 0.5])?;
    let terms = quadratics()?;
    outcome.check(Check::equal(
        "isotropic quadratic terms, before the projection",
        moment(&terms, &q, &THREE_POINTS)?,
        trial.upper(claim(&terms, &q)?),
        1e-10,
    ));
    let rule = trapezoid(trial.effort(0.5, 0.3));
    let (mut measured, mut claimed) = (Vec::new(), Vec::new());
    for rows in trial.effort(vec![3, 10], vec![3, 6, 12, 25, 50]) {
        let terms = logistic(rows)?;
        let (found, bound) = (moment(&terms, &q, &rule)?, claim(&terms, &q)?);
        outcome.check(Check::at_most(format!("{rows} logistic terms"), found, trial.upper(bound)));
        measured.push((rows as f64, found));
        claimed.push((rows as f64, bound));
    }
    outcome.figures.push(Figure {
        name: "noise-subsample".into(),
        caption:
            "One datum at a time: the second moment of the reweighted energy estimator and its bound, for a \
                  logistic model of N terms with equal shares of the prior (d = 2, by quadrature)."
                .into(),
        panels: vec![Panel {
            title: "Subsampled terms".into(),
            x: Axis::log("terms N"),
            y: Axis::log("E‖g‖²"),
            series: vec![
                Series::new("by quadrature", Mark::Measured, 0, measured),
                Series::new("bound", Mark::Bound, 0, claimed),
            ],
        }],
    });
    Ok(outcome)
}
