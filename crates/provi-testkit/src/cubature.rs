//! Expectations over u ~ N(0, I) by product rules, and estimators written out from their formulas.

use crate::algebra::{combination, difference, dot, inverse, outer, transposed};
use provi::estimator::Kind;
use provi::gaussian::Factor;
use provi::{Gaussian, Matrix, Result, Target};
use std::f64::consts::PI;

/// Nodes and weights for N(0, 1), exact for polynomials up to degree 5.
pub const THREE_POINTS: [(f64, f64); 3] =
    [(-1.732_050_807_568_877_2, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];

/// Nodes and weights for N(0, 1): the trapezoid rule, exact to rounding for smooth functions.
pub fn trapezoid(step: f64) -> Vec<(f64, f64)> {
    let reach = (8.5 / step) as i32;
    let weight = |u: f64| step * (-0.5 * u * u).exp() / (2.0 * PI).sqrt();
    (-reach..=reach).map(|j| f64::from(j) * step).map(|u| (u, weight(u))).collect()
}

/// E φ(u), u ~ N(0, I), by the tensor product of a rule.
pub fn cubature(d: usize, rule: &[(f64, f64)], mut phi: impl FnMut(&[f64]) -> Result<f64>) -> Result<f64> {
    let (mut index, mut u, mut total) = (vec![0; d], vec![0.0; d], 0.0);
    loop {
        let mut weight = 1.0;
        for i in 0..d {
            u[i] = rule[index[i]].0;
            weight *= rule[index[i]].1;
        }
        total += weight * phi(&u)?;
        let Some(next) = index.iter().position(|&k| k + 1 < rule.len()) else { return Ok(total) };
        index[next] += 1;
        index[..next].fill(0);
    }
}

/// One draw of an estimator before the projection on the factor's space: the mean's part and the factor's.
pub fn raw_gradient<F: Factor>(
    kind: Kind,
    target: &dyn Target,
    q: &Gaussian<F>,
    u: &[f64],
) -> Result<(Vec<f64>, Matrix)> {
    let d = q.dim();
    let back = transposed(&inverse(&q.factor_matrix()));
    let (mut z, mut pull) = (vec![0.0; d], vec![0.0; d]);
    q.transport(u, &mut z);
    let value = -target.log_density(&z, &mut pull)?;
    pull.iter_mut().for_each(|x| *x = -*x);
    let solved: Vec<f64> = (0..d).map(|i| dot(back.row(i), u)).collect();
    Ok(match kind {
        Kind::Entropy => {
            let x = combination(&outer(&pull, u), -1.0, &back);
            (pull, x)
        }
        Kind::Stl => {
            let residual = difference(&pull, &solved);
            let x = outer(&residual, u);
            (residual, x)
        }
        Kind::Score => {
            let log_q = -0.5 * dot(u, u) - q.log_det()? - 0.5 * d as f64 * (2.0 * PI).ln();
            let ratio = log_q + value;
            let left: Vec<f64> = solved.iter().map(|x| ratio * x).collect();
            let x = combination(&outer(&left, u), -ratio, &back);
            (left, x)
        }
        _ => {
            let x = outer(&pull, u);
            (pull, x)
        }
    })
}

/// ‖(left, X)‖².
pub fn size2(g: &(Vec<f64>, Matrix)) -> f64 {
    dot(&g.0, &g.0) + dot(g.1.entries(), g.1.entries())
}
