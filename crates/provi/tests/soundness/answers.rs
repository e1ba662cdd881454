//! Answers to audit: good ones, the best one, and deliberately wrong ones.

use super::problem::Dice;
use crate::common::{cholesky, dot, hessian, inverse, moments, objective, pack};
use provi::mode::find_mode;
use provi::target::Glm;
use provi::{Gaussian, Matrix, Target, Triangular};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Laplace,
    Optimum,
    Shifted,
    Narrow,
    Wide,
    MeanField,
    WideAndShifted,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Laplace,
        Self::Optimum,
        Self::Shifted,
        Self::Narrow,
        Self::Wide,
        Self::MeanField,
        Self::WideAndShifted,
    ];
}

pub(crate) fn gaussian(mean: &[f64], covariance: &Matrix) -> Gaussian<Triangular> {
    Gaussian::new(mean, &pack(&cholesky(covariance))).unwrap()
}

pub(crate) fn laplace(target: &Glm) -> Gaussian<Triangular> {
    let mode = find_mode(target, &vec![0.0; target.dim()]).unwrap();
    gaussian(&mode.point, &inverse(&hessian(target, &mode.point)))
}

/// The minimiser of f: the natural-gradient fixed point, damped until f falls.
pub(crate) fn optimum(target: &Glm) -> Gaussian<Triangular> {
    let mut q = laplace(target);
    let mut precision = inverse(&q.covariance());
    let mut f = objective(target, &q);
    for _ in 0..400 {
        let at = moments(target, &q);
        let mut t = 1.0;
        let mut next = None;
        while t > 1e-3 {
            let blend = |i: usize| (1.0 - t) * precision.entries()[i] + t * at.hessian.entries()[i];
            let trial = Matrix::new(q.dim(), q.dim(), (0..q.dim().pow(2)).map(blend).collect()).unwrap();
            let covariance = inverse(&trial);
            let mean: Vec<f64> =
                (0..q.dim()).map(|i| q.mean()[i] - t * dot(covariance.row(i), &at.gradient)).collect();
            let candidate = gaussian(&mean, &covariance);
            let value = provi::expectation::neg_elbo(target, &candidate).ok().filter(|v| v.is_finite());
            if let Some(value) = value.filter(|v| *v < f) {
                next = Some((candidate, trial, value));
                break;
            }
            t *= 0.5;
        }
        let Some((candidate, trial, value)) = next else { break };
        let fell = f - value;
        (q, precision, f) = (candidate, trial, value);
        if fell < 1e-14 * (1.0 + f.abs()) {
            break;
        }
    }
    q
}

/// An answer made from the best one.
pub(crate) fn answer(
    kind: Kind,
    target: &Glm,
    best: &Gaussian<Triangular>,
    dice: &mut Dice,
) -> Gaussian<Triangular> {
    let d = best.dim();
    let scaled = |mean: &[f64], scale: f64| {
        let factor: Vec<f64> = best.factor().iter().map(|x| x * scale).collect();
        Gaussian::new(mean, &factor).unwrap()
    };
    let stretch = dice.between(0.8, 1.5);
    let mut shifted = |most: f64| {
        let size = dice.between(0.05, most);
        let u: Vec<f64> = dice.direction(d).iter().map(|x| size * x).collect();
        let mut z = vec![0.0; d];
        best.transport(&u, &mut z);
        z
    };
    match kind {
        Kind::Laplace => laplace(target),
        Kind::Optimum => best.clone(),
        Kind::Shifted => scaled(&shifted(2.0), 1.0),
        Kind::Narrow => scaled(best.mean(), 0.5),
        Kind::Wide => scaled(best.mean(), 2.0),
        Kind::MeanField => {
            let precision = inverse(&best.covariance());
            let variances: Vec<f64> = (0..d).map(|i| 1.0 / precision[(i, i)]).collect();
            gaussian(best.mean(), &Matrix::diagonal(&variances))
        }
        Kind::WideAndShifted => scaled(&shifted(1.0), stretch),
    }
}
