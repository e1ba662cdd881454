//! The test kit's algebra, with eigenvalues by another library than the kit's: here matrices are larger.

use faer::{Mat, Side};
use provi::Matrix;
pub(crate) use provi_testkit::algebra::inverse as general_inverse;
pub(crate) use provi_testkit::algebra::{
    between, cholesky, combination, difference, dot, form, outer, pack, product, recomposed, trace,
    transposed,
};

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
    recomposed(eigen(a), f)
}

/// A⁻¹ of a symmetric positive definite matrix.
pub(crate) fn inverse(a: &Matrix) -> Matrix {
    spectral(a, |x| 1.0 / x)
}
