//! The distance from the start of a plan to the optimum, for exact expectations.

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::pattern::Pattern;
use crate::sgd::method::Space;
use crate::target::Target;
use crate::target::expectations::Moments;

/// What the exact gradient proves about w_0.
pub(super) struct ExactStart {
    /// Upper bound of ‖w_0 − w*‖².
    pub(super) distance2: f64,
    pub(super) gradient_error: f64,
    pub(super) provenance: crate::Provenance,
}

/// ‖G‖²/μ² ≥ ‖w − w*‖², with G = ∇f on the factor's space, or on the part of it that a family has [cert-gap], \[pattern\].
pub(super) fn exact_distance2(
    target: &dyn Target,
    q: &Gaussian<Triangular>,
    convexity: f64,
    space: Space,
    pattern: &Pattern,
) -> Result<Option<ExactStart>> {
    let Some(expectations) = target.expectations() else { return Ok(None) };
    if convexity <= 0.0 {
        return Ok(None);
    }
    let mut moments = Moments::new(q.dim());
    expectations.expect(q, &mut moments)?;
    let (gradient_error, provenance) = (moments.neg_elbo_gradient_error(q), moments.provenance);
    if provenance != crate::Provenance::Proved {
        return Ok(Some(ExactStart { distance2: f64::INFINITY, gradient_error, provenance }));
    }
    let length = match space {
        Space::Triangular => {
            let mut gradient = vec![0.0; q.parameters().len()];
            moments.neg_elbo_gradient(q, &mut gradient);
            pattern.entries(q.dim())?.clear_others(&mut gradient[q.dim()..]);
            norm(&gradient)
        }
        Space::Symmetric => symmetric_gradient_norm(&moments, q)?,
    };
    // The two factors differ by a rotation, so the moments' error is the same in both spaces.
    let size = (length + gradient_error) * (1.0 + 1e-10) / convexity;
    Ok(Some(ExactStart { distance2: size * size, gradient_error, provenance }))
}

/// ‖(E∇V, sym(E∇²V·C − C⁻¹))‖_F with C the symmetric factor of q.
fn symmetric_gradient_norm(moments: &Moments, q: &Gaussian<Triangular>) -> Result<f64> {
    let c = q.to_symmetric()?.factor_matrix();
    let mut x = crate::base::linalg::multiply(&moments.hessian, &c);
    x.add_scaled(-1.0, &crate::base::linalg::Cholesky::new("symmetric factor", &c)?.inverse());
    let d = q.dim();
    let mut square = provi_kernels::dot(&moments.gradient, &moments.gradient);
    for i in 0..d {
        square += (0..d).map(|j| (0.5 * (x[(i, j)] + x[(j, i)])).powi(2)).sum::<f64>();
    }
    Ok(square.sqrt())
}
