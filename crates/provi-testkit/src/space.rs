//! The two spaces of factors: projections, distances, gradients.

use crate::algebra::{combination, difference, dot, inverse, pack, product, transposed};
use provi::expectation::Moments;
use provi::gaussian::Factor;
use provi::{Error, Gaussian, Matrix, Result, Symmetric, Target, Triangular};

/// 𝒯ᵈ or 𝒮ᵈ.
pub trait Space: Factor {
    /// Whether factors are symmetric, rather than triangular.
    const SYMMETRIC: bool;

    /// tril(X) or (X + Xᵀ)/2, as a square matrix.
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
}

impl Space for Triangular {
    const SYMMETRIC: bool = false;
}

impl Space for Symmetric {
    const SYMMETRIC: bool = true;
}

/// ‖(m, C)‖² of a flat vector: off-diagonals of a symmetric factor count twice.
pub fn square_norm<F: Factor>(d: usize, w: &[f64]) -> f64 {
    let c = F::to_matrix(d, &w[d..]);
    dot(&w[..d], &w[..d]) + dot(c.entries(), c.entries())
}

/// ‖w − v‖² of flat vectors (m, packed C).
pub fn distance2<F: Factor>(d: usize, w: &[f64], v: &[f64]) -> f64 {
    square_norm::<F>(d, &difference(w, v))
}

/// E V, E∇V, E∇²V under q, for a target that has them.
pub fn moments<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> Result<Moments> {
    let expectations = target.expectations().ok_or(Error::MissingConstant {
        wanted: "a reference value",
        constant: "the target's exact expectations",
        way_out: "use a target that has them, such as a regression",
    })?;
    let mut out = Moments::new(q.dim());
    expectations.expect(&q.to_triangular()?, &mut out)?;
    Ok(out)
}

/// ∇l, or ∇f with the entropy, on the factor's space: (E∇V, proj(E∇²V·C − C⁻ᵀ)), flat.
pub fn gradient<F: Space>(target: &dyn Target, q: &Gaussian<F>, with_entropy: bool) -> Result<Vec<f64>> {
    let moments = moments(target, q)?;
    let c = q.factor_matrix();
    let mut x = product(&moments.hessian, &c);
    if with_entropy {
        x = combination(&x, -1.0, &transposed(&inverse(&c)));
    }
    Ok([moments.gradient, pack(&F::project(&x))].concat())
}

/// f(w), with every constant.
pub fn objective<F: Factor>(target: &dyn Target, q: &Gaussian<F>) -> Result<f64> {
    let q = q.to_triangular()?;
    moments(target, &q)?.neg_elbo(&q)
}

/// ∇²V at z, for a target that has a Hessian.
pub fn hessian(target: &dyn Target, z: &[f64]) -> Result<Matrix> {
    let mut out = Matrix::zeros(z.len(), z.len());
    if !target.hessian(z, &mut out)? {
        return Err(Error::MissingConstant {
            wanted: "a reference value",
            constant: "the target's Hessian",
            way_out: "use a target that has one, such as a regression",
        });
    }
    out.entries_mut().iter_mut().for_each(|x| *x = -*x);
    Ok(out)
}
