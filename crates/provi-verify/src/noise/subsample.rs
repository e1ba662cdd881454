//! One datum at a time: V = Σ_n V_n, term n drawn with probability π_n.

use super::path::Noise;
use crate::algebra::{difference, dot};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{design_rows, normals};
use crate::space::gradient;
use crate::trial::Trial;
use provi::estimator::Kind;
use provi::mode::find_mode;
use provi::plan::Coordinates;
use provi::subsample::{Law, Sampling, Subsample};
use provi::target::{GaussianTarget, Glm, Prior};
use provi::theory::{NoiseBound, noise};
use provi::{Design, Error, Gaussian, Matrix, Method, Planner, Result, Symmetric, Target, Triangular};
use provi_testkit::cubature::{THREE_POINTS, cubature, raw_gradient, size2, trapezoid};

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

/// Logistic terms, each with an equal share of the prior, drawn with equal probability.
fn logistic(rows: usize) -> Result<Vec<Term>> {
    let entries = design_rows(270, rows, 2, 1.0);
    (0..rows)
        .map(|n| {
            let design = Design::dense(1, 2, &entries[2 * n..2 * n + 2])?;
            let prior = Prior::precision(1.0 / rows as f64)?;
            let target = Glm::logistic(design, &[f64::from(u8::from(n % 3 != 1))], prior)?;
            let stationary = find_mode(&target, &[0.0; 2])?.point;
            let smoothness = target.curvature()?.and_then(|c| c.smoothness()).unwrap_or(f64::INFINITY);
            Ok(Term { probability: 1.0 / rows as f64, smoothness, stationary, target: Box::new(target) })
        })
        .collect()
}

/// The library's estimator on terms of a logistic model, with the constants that a plan would use.
fn drawn(trial: &Trial, outcome: &mut Outcome) -> Result<Vec<Series>> {
    let problem = &crate::problems::logistic(4)?;
    let missing = Error::Empty { what: "finite sum (no terms)" };
    let sum = problem.target().finite_sum().ok_or(missing)?;
    let smoothness = sum.term_smoothness()?;
    let mut series = Vec::new();
    for (color, sampling) in [Sampling::Uniform, Sampling::Importance].into_iter().enumerate() {
        for terms in trial.effort(vec![2], vec![1, 8]) {
            let subsample = Subsample { terms, sampling };
            let law = Law::new(subsample, sum.terms(), smoothness.as_ref().map(|s| &s.each[..]))?;
            let bound = |method| -> Result<NoiseBound> {
                let planner = Planner::new(method).coordinates(Coordinates::Original);
                let plan = planner.subsample(terms, sampling).to_steps(problem.target(), 1)?;
                Ok(plan.constants.map_or(NoiseBound { growth: 0.0, floor: 0.0 }, |c| c.noise))
            };
            let name = |method: Method| format!("{method}, {terms} of {} terms, {sampling}", sum.terms());
            let energy = Noise { law: Some(&law), ..Noise::new(problem, Kind::Energy) };
            let centre = gradient(problem.target(), &problem.star, false)?;
            let path = energy.path::<Triangular>(Some(&centre), trial)?;
            let claimed = bound(Method::ProxEnergy)?;
            path.check(outcome, &name(Method::ProxEnergy), claimed, trial);
            let entropy = Noise { kind: Kind::Entropy, ..energy };
            let other = entropy.path::<Symmetric>(None, trial)?;
            other.check(outcome, &name(Method::ProjEntropy), bound(Method::ProjEntropy)?, trial);
            if terms <= 2 {
                series.push(path.measured(sampling.name(), color));
                series.push(path.bound(&format!("bound, {sampling}"), color, claimed));
            }
        }
    }
    Ok(series)
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
    let drawn = drawn(trial, &mut outcome)?;
    outcome.figures.push(Figure {
        name: "noise-subsample".into(),
        caption:
            "One datum at a time. Left: the second moment of the reweighted energy estimator and its bound, for a \
                  logistic model of N terms with equal shares of the prior (d = 2, by quadrature). Right: the \
                  library's estimator on few terms of a logistic model, about ∇l(w*), and the bound of its plans."
                .into(),
        panels: vec![Panel {
            title: "Subsampled terms".into(),
            x: Axis::log("terms N"),
            y: Axis::log("E‖g‖²"),
            series: vec![
                Series::new("by quadrature", Mark::Measured, 0, measured),
                Series::new("bound", Mark::Bound, 0, claimed),
            ],
        },
        Panel {
            title: "Terms drawn by the library".into(),
            x: Axis::log("‖w − w*‖²"),
            y: Axis::log("E‖g − ∇l(w*)‖²"),
            series: drawn,
        }],
    });
    Ok(outcome)
}
