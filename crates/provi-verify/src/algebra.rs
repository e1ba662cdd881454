//! Small dense linear algebra for measurements, independent of the library's own.

use faer::{Mat, Side};
use provi::Matrix;

fn view(a: &Matrix) -> Mat<f64> {
    Mat::from_fn(a.rows(), a.columns(), |i, j| a[(i, j)])
}

/// Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix. For finite matrices the decomposition
/// exists; any other matrix gives NaN, which every check reports as a violation.
pub(crate) fn eigen(a: &Matrix) -> (Vec<f64>, Matrix) {
    let d = a.rows();
    match view(a).self_adjoint_eigen(Side::Lower) {
        Ok(found) => {
            let mut vectors = Matrix::zeros(d, d);
            for i in 0..d {
                for j in 0..d {
                    vectors[(i, j)] = found.U()[(i, j)];
                }
            }
            ((0..d).map(|i| found.S()[i]).collect(), vectors)
        }
        Err(_) => (vec![f64::NAN; d], Matrix::scaled_identity(d, f64::NAN)),
    }
}

/// The smallest and the largest eigenvalue.
pub(crate) fn extremes(a: &Matrix) -> (f64, f64) {
    let (values, _) = eigen(a);
    (values[0], values[values.len() - 1])
}

/// V f(Λ) Vᵀ of a symmetric matrix.
pub(crate) fn spectral(a: &Matrix, f: impl Fn(f64) -> f64) -> Matrix {
    let (values, v) = eigen(a);
    let mut scaled = v.clone();
    for i in 0..a.rows() {
        for (j, &value) in values.iter().enumerate() {
            scaled[(i, j)] *= f(value);
        }
    }
    product(&scaled, &transposed(&v))
}

/// A⁻¹ of a symmetric positive definite matrix.
pub(crate) fn inverse(a: &Matrix) -> Matrix {
    spectral(a, |x| 1.0 / x)
}

/// A⁻¹ of any invertible matrix, by Gauss–Jordan with row pivots.
pub(crate) fn general_inverse(a: &Matrix) -> Matrix {
    let d = a.rows();
    let (mut a, mut out) = (a.clone(), Matrix::scaled_identity(d, 1.0));
    for i in 0..d {
        let pivot = (i..d).max_by(|&p, &q| a[(p, i)].abs().total_cmp(&a[(q, i)].abs())).unwrap_or(i);
        for m in [&mut a, &mut out] {
            for j in 0..d {
                let kept = m[(i, j)];
                m[(i, j)] = m[(pivot, j)];
                m[(pivot, j)] = kept;
            }
        }
        let scale = 1.0 / a[(i, i)];
        for m in [&mut a, &mut out] {
            m.row_mut(i).iter_mut().for_each(|x| *x *= scale);
        }
        for k in (0..d).filter(|&k| k != i) {
            let factor = a[(k, i)];
            for m in [&mut a, &mut out] {
                let row = m.row(i).to_vec();
                m.row_mut(k).iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    out
}

/// The lower triangular L with LLᵀ = A.
pub(crate) fn cholesky(a: &Matrix) -> Matrix {
    let d = a.rows();
    let mut l = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum();
            l[(i, j)] = if i == j { (a[(i, i)] - sum).sqrt() } else { (a[(i, j)] - sum) / l[(j, j)] };
        }
    }
    l
}

/// AB.
pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.columns());
    for i in 0..a.rows() {
        for k in 0..a.columns() {
            let x = a[(i, k)];
            out.row_mut(i).iter_mut().zip(b.row(k)).for_each(|(o, y)| *o += x * y);
        }
    }
    out
}

/// Aᵀ.
pub(crate) fn transposed(a: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.columns(), a.rows());
    for i in 0..a.rows() {
        for j in 0..a.columns() {
            out[(j, i)] = a[(i, j)];
        }
    }
    out
}

/// A + αB.
pub(crate) fn combination(a: &Matrix, alpha: f64, b: &Matrix) -> Matrix {
    let mut out = a.clone();
    out.entries_mut().iter_mut().zip(b.entries()).for_each(|(x, y)| *x += alpha * y);
    out
}

/// xyᵀ.
pub(crate) fn outer(x: &[f64], y: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(x.len(), y.len());
    for (i, x) in x.iter().enumerate() {
        out.row_mut(i).iter_mut().zip(y).for_each(|(o, y)| *o = x * y);
    }
    out
}

/// The lower half, packed row by row.
pub(crate) fn pack(a: &Matrix) -> Vec<f64> {
    (0..a.rows()).flat_map(|i| a.row(i)[..=i].to_vec()).collect()
}

/// Σ x_i y_i.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// xᵀAy.
pub(crate) fn form(a: &Matrix, x: &[f64], y: &[f64]) -> f64 {
    (0..a.rows()).map(|i| x[i] * dot(a.row(i), y)).sum()
}

/// x − y.
pub(crate) fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

/// w + s(v − w).
pub(crate) fn between(w: &[f64], v: &[f64], s: f64) -> Vec<f64> {
    w.iter().zip(v).map(|(a, b)| a + s * (b - a)).collect()
}

/// tr A.
pub(crate) fn trace(a: &Matrix) -> f64 {
    (0..a.rows()).map(|i| a[(i, i)]).sum()
}
