//! What is proved about a Gaussian with a sparse precision.

use super::{Certificate, CertificateFields, Interval, Statement};
use crate::base::error::Result;
use crate::glm::sparse::{SparseGaussian, SparseModel};

/// Why the posterior is left open.
const HIGH: &str = "no route is sharp in so many dimensions";
/// Why q is left open.
const STRANGE: &str = "its factor is not of this model's structure, or an expectation overflows";
/// Why the gap is left open.
const FLAT: &str = "no positive diagonal is known below the prior's precision";

impl Certificate {
    /// The gap of a sparse Gaussian \[sparse-optimum\], and log p(x) ≥ −f(q) \[cert-evidence\]: both without draws. How far the
    /// posterior is from q is left open, so no coordinates are listed.
    pub fn sparse(model: &SparseModel, q: &SparseGaussian) -> Result<Self> {
        let Some(found) = model.facts(q)? else { return Ok(Self::nothing(&[], STRANGE)) };
        let gap = match found.gap {
            Some(gap) => Statement::proved(gap.value, 1.0, "sparse-optimum", gap.provenance),
            None => Statement::missing(FLAT),
        };
        let elbo = -found.neg_elbo - found.neg_elbo_error;
        let lower = Statement::proved(elbo, 1.0, "cert-evidence", found.provenance);
        let Self(nothing) = Self::nothing(&[], HIGH);
        let evidence = Interval::new(lower, Statement::missing(HIGH));
        Ok(Self(CertificateFields { gap, evidence, ..nothing }).only_finite())
    }
}
