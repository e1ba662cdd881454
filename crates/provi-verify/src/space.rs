//! The two spaces of factors, for measurements: projections, distances, gradients.

use crate::algebra::{combination, difference, dot, general_inverse, pack, product, transposed};
use provi::expectation::Moments;
use provi::gaussian::Factor;
use provi::{Gaussian, Matrix, Result, Symmetric, Target, Triangular};

/// 𝒯ᵈ or 𝒮ᵈ.
pub(crate) trait Space: Factor {
    const SYMMETRIC: bool;

    /// tril(X) or (X + Xᵀ)/2.
    fn project(x: &Matrix) -> Matrix {
        let mut out = x.clone();
        for i in 0..x.rows() {
            for j in 0..i {
                if Self::SYMMETRIC {
                    out[(i, j)] = 0.5 * (x[(i, j)] + x[(j, i)]);
                    out[(j, i)] = out[(i, j)];
                } else {
                    out[(j, i)] = 0.0;
                }
            }
        }
        out
    }

    /// q with its factor in this space.
    fn of(q: &Gaussian<Triangular>) -> Result<Gaussian<Self>>;
}

impl Space for Triangular {
    const SYMMETRIC: bool = false;

    fn of(q: &Gaussian<Triangular>) -> Result<Gaussian<Self>> {
        Ok(q.clone())
    }
}

impl Space for Symmetric {
    const SYMMETRIC: bool = true;

    fn of(q: &Gaussian<Triangular>) -> Result<Gaussian<Self>> {
        q.to_symmetric()
    }
}

/// ‖(m, C)‖² of a flat vector: off-diagonals of a symmetric factor count twice.
pub(crate) fn square_norm<F: Factor>(d: usize, w: &[f64]) -> f64 {
    dot(&w[..d], &w[..d]) + F::square_norm(d, &w[d..])
}

/// ‖w − v‖².
pub(crate) fn distance2<F: Factor>(d: usize, w: &[f64], v: &[f64]) -> f64 {
    square_norm::<F>(d, &difference(w, v))
}

/// ⟨w, v⟩.
pub(crate) fn inner<F: Factor>(d: usize, w: &[f64], v: &[f64]) -> f64 {
    let sum: Vec<f64> = w.iter().zip(v).map(|(a, b)| a + b).collect();
    0.25 * (square_norm::<F>(d, &sum) - distance2::<F>(d, w, v))
}

/// E V, E∇V, E∇²V under q, for a target with exact expectations.
pub(crate) fn moments<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> Result<Moments> {
    let mut out = Moments::new(q.dim());
    if let Some(expectations) = target.expectations() {
        expectations.expect(&q.to_triangular()?, &mut out)?;
    }
    Ok(out)
}

/// ∇l, or ∇f with the entropy, on the factor's space: (E∇V, proj(E∇²V·C − C⁻ᵀ)), flat.
pub(crate) fn gradient<F: Space>(
    target: &dyn Target,
    q: &Gaussian<F>,
    with_entropy: bool,
) -> Result<Vec<f64>> {
    let moments = moments(target, q)?;
    let c = q.factor_matrix();
    let mut x = product(&moments.hessian, &c);
    if with_entropy {
        x = combination(&x, -1.0, &transposed(&general_inverse(&c)));
    }
    Ok([moments.gradient, pack(&F::project(&x))].concat())
}

/// f(w), with every constant.
pub(crate) fn objective<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> Result<f64> {
    let q = q.to_triangular()?;
    moments(target, &q)?.neg_elbo(&q)
}

/// ∇²V at z.
pub(crate) fn hessian(target: &dyn Target, z: &[f64]) -> Result<Matrix> {
    let mut out = Matrix::zeros(z.len(), z.len());
    target.hessian(z, &mut out)?;
    out.entries_mut().iter_mut().for_each(|x| *x = -*x);
    Ok(out)
}
