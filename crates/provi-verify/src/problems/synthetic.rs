//! Problems made from numbered streams of normals.

use super::Problem;
use crate::algebra::{cholesky, dot, eigen, inverse, product, transposed};
use provi::target::{Family, GaussianTarget, Glm, Prior};
use provi::{Design, Matrix, Result};
pub(crate) use provi_testkit::normals;

/// A random orthogonal matrix.
pub(crate) fn orthogonal(key: u64, d: usize) -> Matrix {
    let noise = normals(key, d * d);
    let mut symmetric = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..d {
            symmetric[(i, j)] = noise[i * d + j] + noise[j * d + i];
        }
    }
    eigen(&symmetric).1
}

/// V = ½(z−ν)ᵀH(z−ν), H rotated, with eigenvalues spread geometrically over [1, κ].
pub(crate) fn gaussian(d: usize, condition: f64, key: u64) -> Result<Problem> {
    let last = (d.max(2) - 1) as f64;
    let spectrum: Vec<f64> = (0..d).map(|i| condition.powf(i as f64 / last)).collect();
    let v = orthogonal(key, d);
    let mut precision = product(&product(&v, &Matrix::diagonal(&spectrum)), &transposed(&v));
    for i in 0..d {
        for j in 0..i {
            precision[(j, i)] = precision[(i, j)];
        }
    }
    Problem::new(
        format!("Gaussian, d = {d}, κ = {condition}"),
        GaussianTarget::new(&normals(key + 1, d), precision)?,
    )
}

/// Rows of independent normals of the given scale.
pub(crate) fn design_rows(key: u64, rows: usize, columns: usize, scale: f64) -> Vec<f64> {
    normals(key, rows * columns).iter().map(|x| scale * x).collect()
}

/// Labels by a logistic model with coefficients of unit length.
fn labels(key: u64, entries: &[f64], columns: usize) -> Vec<f64> {
    let rows = entries.len() / columns;
    let truth = normals(key + 100, columns);
    let coins = normals(key + 101, rows);
    (0..rows)
        .map(|n| {
            let s = dot(&entries[n * columns..(n + 1) * columns], &truth);
            let coin = 0.5 * libm::erfc(-coins[n] / std::f64::consts::SQRT_2);
            f64::from(u8::from(coin < 1.0 / (1.0 + (-s).exp())))
        })
        .collect()
}

/// A regression of any family with 6d rows, weights and offsets.
pub(crate) fn regression(family: Family, key: u64, d: usize, precision: f64) -> Result<Glm> {
    let rows = 6 * d;
    let entries = design_rows(key, rows, d, 0.7);
    let response = labels(key, &entries, d);
    let weights: Vec<f64> = normals(key + 1, rows).iter().map(|x| 0.2 + x.abs()).collect();
    let offsets: Vec<f64> = normals(key + 2, rows).iter().map(|x| 0.3 * x).collect();
    Glm::new(family, Design::from_rows(rows, d, entries)?, &response, Prior::precision(precision)?)?
        .with_weights(&weights)?
        .with_offsets(&offsets)
}

/// Logistic regression with κ ≤ 5.
pub(crate) fn logistic(d: usize) -> Result<Problem> {
    let rows = 6 * d;
    let entries = design_rows(501, rows, d, 1.0);
    let response = labels(501, &entries, d);
    let design = Design::from_rows(rows, d, entries)?;
    Ok(Problem::new(format!("logistic, d = {d}"), Glm::logistic(design, &response, Prior::precision(3.0)?)?)?
        .with_condition())
}

/// Probit regression with κ ≤ 5.
pub(crate) fn probit(d: usize) -> Result<Problem> {
    Ok(Problem::new(format!("probit, d = {d}"), regression(Family::Probit, 503, d, 6.0)?)?.with_condition())
}

/// Groups of 1, 3, 6 and 12 rows.
const UNEQUAL: [usize; 4] = [1, 3, 6, 12];

/// A hierarchical logistic regression with one feature and unequal groups, in curvature coordinates: y = P⁻¹z with
/// PPᵀ = Λ⁻¹, where the prior is standard and κ ≤ 5.
pub(crate) fn hierarchical() -> Result<Problem> {
    let groups = UNEQUAL.len();
    let d = groups + 1;
    let (s, r) = (2.0, 3.0);
    let mut prior = Matrix::scaled_identity(d, r);
    prior[(0, 0)] = s + groups as f64 * r;
    for i in 1..d {
        prior[(0, i)] = -r;
        prior[(i, 0)] = -r;
    }
    let p = cholesky(&inverse(&prior));
    let rows: usize = UNEQUAL.iter().sum();
    let features = normals(510, rows);
    let response: Vec<f64> = normals(511, rows).iter().map(|x| f64::from(u8::from(*x > -0.3))).collect();
    let membership = UNEQUAL.iter().enumerate().flat_map(|(g, &size)| vec![g; size]);
    let entries: Vec<f64> = membership
        .zip(&features)
        .flat_map(|(g, x)| p.row(1 + g).iter().map(|p| x * p).collect::<Vec<f64>>())
        .collect();
    let design = Design::from_rows(rows, d, entries)?;
    Ok(Problem::new(
        format!("hierarchical, d = {d}"),
        Glm::logistic(design, &response, Prior::precision(1.0)?)?,
    )?
    .with_condition())
}

/// From logistic (t = 1) to linear regression (t → 0): the likelihood with weight t, and 1 − t of its steepest
/// quadratic put into the prior, so that H_hi stays and K = ¼tλ_max(AᵀA) shrinks.
pub(crate) fn logistic_to_linear(d: usize, t: f64) -> Result<Problem> {
    let rows = 6 * d;
    let entries = design_rows(501, rows, d, 1.0);
    let response = labels(501, &entries, d);
    let mut prior = Matrix::scaled_identity(d, 3.0);
    for row in entries.chunks_exact(d) {
        for i in 0..d {
            for j in 0..d {
                prior[(i, j)] += 0.25 * (1.0 - t) * row[i] * row[j];
            }
        }
    }
    let design = Design::from_rows(rows, d, entries)?;
    let target =
        Glm::logistic(design, &response, Prior::precision_matrix(prior)?)?.with_weights(&vec![t; rows])?;
    Problem::new(format!("t = {t}"), target)
}
