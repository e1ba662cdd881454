//! The gap to the best Gaussian of a family, from the exact gradient \[pattern\].

use super::Audited;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::pattern::Pattern;
use crate::certify::certificate::{FamilyGap, Statement};
use crate::target::curvature::Provenance;
use crate::target::expectations::Moments;
use crate::target::{Target, trusted_curvature};
use crate::theory::certificate as theory;

impl Audited {
    /// The same result with the gap of q to the best Gaussian of its family \[pattern\]:
    /// ```text
    /// f(w) − min_𝒱 f ≤ ½‖proj_𝒱 ∇f(w)‖²,   ‖·‖ the dual norm of H_lo on 𝒱
    /// ```
    /// if expectations are exact, and otherwise what the audit proved about the best of all Gaussians, which is at least
    /// as good. Everything else the certificate says holds for any q and is as it was. Nothing changes for
    /// [`Pattern::Full`]. Refuses a q that is not of the family.
    pub fn within(
        mut self,
        target: &dyn Target,
        q: &Gaussian<Triangular>,
        pattern: &Pattern,
    ) -> Result<Self> {
        if pattern.is_full() {
            return Ok(self);
        }
        let all = self.certificate.smallest_gap().clone();
        let gap = match gap_within(target, q, pattern) {
            // What rests on constants that proved wrong is not computed again from them.
            Ok(_) if self.revoked.is_some() => {
                Statement::missing(self.revoked.as_deref().unwrap_or_default())
            }
            Ok(Some(own)) => own.or_better(all),
            Err(error @ (Error::Pattern { .. } | Error::Reduce { .. })) => return Err(error),
            // Cut off, or not to be computed at this q: the answer keeps what the audit proved.
            Ok(None) | Err(_) => all,
        };
        self.certificate.0.family = Some(FamilyGap::new(pattern.to_string(), gap));
        Ok(self)
    }
}

/// The deterministic bound; `None` if expectations or a lower curvature are missing, or the family is no subspace.
fn gap_within(target: &dyn Target, q: &Gaussian<Triangular>, pattern: &Pattern) -> Result<Option<Statement>> {
    if !pattern.is_subspace() {
        return Ok(None);
    }
    let d = q.dim();
    let entries = pattern.entries(d)?;
    let mut kept = q.factor().to_vec();
    entries.clear_others(&mut kept);
    if kept != q.factor() {
        let why = "the Gaussian has entries outside of it".into();
        return Err(Error::Pattern { family: pattern.to_string(), why });
    }
    let Some(expectations) = target.expectations() else { return Ok(None) };
    let Some(curvature) = trusted_curvature(target)?.filter(|c| c.convexity() > 0.0) else { return Ok(None) };
    let Ok(norm) = curvature.dual_norm_within(&entries) else { return Ok(None) };
    let mut moments = Moments::new(d);
    expectations.expect(q, &mut moments)?;
    if moments.provenance == Provenance::Estimated {
        return Ok(None);
    }
    let mut gradient = vec![0.0; q.parameters().len()];
    moments.neg_elbo_gradient(q, &mut gradient);
    // The projection on the family does not lengthen an error.
    let error = moments.neg_elbo_gradient_error(q) / curvature.convexity().sqrt();
    let bound = theory::gap(norm.square(&gradient)?.sqrt(), error);
    let provenance = curvature.lower_provenance().weakest(moments.provenance);
    Ok(bound.is_finite().then(|| Statement::proved(bound, 1.0, "pattern", provenance)))
}
