//! Small dense linear algebra: every loop written out.

use provi::Matrix;

/// ab.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.columns());
    for i in 0..a.rows() {
        for k in 0..a.columns() {
            for j in 0..b.columns() {
                out[(i, j)] += a[(i, k)] * b[(k, j)];
            }
        }
    }
    out
}

/// aᵀ.
pub fn transposed(a: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.columns(), a.rows());
    for i in 0..a.rows() {
        for j in 0..a.columns() {
            out[(j, i)] = a[(i, j)];
        }
    }
    out
}

/// a + αb.
pub fn combination(a: &Matrix, alpha: f64, b: &Matrix) -> Matrix {
    let mut out = a.clone();
    out.entries_mut().iter_mut().zip(b.entries()).for_each(|(x, y)| *x += alpha * y);
    out
}

/// a⁻¹ by Gauss–Jordan with row pivots.
pub fn inverse(a: &Matrix) -> Matrix {
    let d = a.rows();
    let (mut a, mut out) = (a.clone(), Matrix::scaled_identity(d, 1.0));
    for i in 0..d {
        let pivot = (i..d).max_by(|&p, &q| a[(p, i)].abs().total_cmp(&a[(q, i)].abs())).unwrap_or(i);
        for j in 0..d {
            for m in [&mut a, &mut out] {
                let swap = m[(i, j)];
                m[(i, j)] = m[(pivot, j)];
                m[(pivot, j)] = swap;
            }
        }
        let scale = 1.0 / a[(i, i)];
        a.row_mut(i).iter_mut().for_each(|x| *x *= scale);
        out.row_mut(i).iter_mut().for_each(|x| *x *= scale);
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

/// The lower triangular L with LLᵀ = a.
pub fn cholesky(a: &Matrix) -> Matrix {
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

/// Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations.
pub fn eigen(a: &Matrix) -> (Vec<f64>, Matrix) {
    let d = a.rows();
    let (mut a, mut v) = (a.clone(), Matrix::scaled_identity(d, 1.0));
    for _sweep in 0..60 {
        let off: f64 = (0..d).flat_map(|i| (0..i).map(move |j| (i, j))).map(|p| a[p] * a[p]).sum();
        if off <= 1e-30 * a.frobenius_norm().powi(2) {
            break;
        }
        for p in 0..d {
            for q in p + 1..d {
                if a[(p, q)].abs() <= f64::MIN_POSITIVE {
                    continue;
                }
                let theta = 0.5 * (a[(q, q)] - a[(p, p)]) / a[(p, q)];
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for k in 0..d {
                    let (x, y) = (a[(k, p)], a[(k, q)]);
                    (a[(k, p)], a[(k, q)]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[(k, p)], v[(k, q)]);
                    (v[(k, p)], v[(k, q)]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..d {
                    let (x, y) = (a[(p, k)], a[(q, k)]);
                    (a[(p, k)], a[(q, k)]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..d).collect();
    order.sort_by(|&i, &j| a[(i, i)].total_cmp(&a[(j, j)]));
    let mut vectors = Matrix::zeros(d, d);
    for (column, &from) in order.iter().enumerate() {
        (0..d).for_each(|i| vectors[(i, column)] = v[(i, from)]);
    }
    (order.iter().map(|&i| a[(i, i)]).collect(), vectors)
}

/// The least and the largest eigenvalue.
pub fn extremes(a: &Matrix) -> (f64, f64) {
    let (values, _) = eigen(a);
    (values[0], values[values.len() - 1])
}

/// V f(Λ) Vᵀ of a symmetric matrix.
pub fn spectral(a: &Matrix, f: impl Fn(f64) -> f64) -> Matrix {
    recomposed(eigen(a), f)
}

/// V f(Λ) Vᵀ out of eigenvalues and eigenvectors (columns), whoever found them.
pub fn recomposed((values, v): (Vec<f64>, Matrix), f: impl Fn(f64) -> f64) -> Matrix {
    let mut scaled = v.clone();
    for i in 0..v.rows() {
        for (j, &value) in values.iter().enumerate() {
            scaled[(i, j)] *= f(value);
        }
    }
    product(&scaled, &transposed(&v))
}

/// The lower half, packed row by row.
pub fn pack(a: &Matrix) -> Vec<f64> {
    (0..a.rows()).flat_map(|i| a.row(i)[..=i].to_vec()).collect()
}

/// Σ a_ij b_ij.
pub fn inner(a: &Matrix, b: &Matrix) -> f64 {
    dot(a.entries(), b.entries())
}

/// Σ x_i y_i.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// xᵀAy.
pub fn form(a: &Matrix, x: &[f64], y: &[f64]) -> f64 {
    (0..a.rows()).map(|i| x[i] * dot(a.row(i), y)).sum()
}

/// x − y.
pub fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

/// xyᵀ.
pub fn outer(x: &[f64], y: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(x.len(), y.len());
    for (i, x) in x.iter().enumerate() {
        out.row_mut(i).iter_mut().zip(y).for_each(|(o, y)| *o = x * y);
    }
    out
}

/// w + s(v − w).
pub fn between(w: &[f64], v: &[f64], s: f64) -> Vec<f64> {
    w.iter().zip(v).map(|(a, b)| a + s * (b - a)).collect()
}

/// tr a.
pub fn trace(a: &Matrix) -> f64 {
    (0..a.rows()).map(|i| a[(i, i)]).sum()
}
