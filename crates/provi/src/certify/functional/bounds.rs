//! What is saved with a certificate so that the errors of later functionals are known too.

use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::{packed_index, packed_len};
use crate::certify::certificate::Statement;
use crate::glm::sparse::NormalLaw;
use crate::target::curvature::Provenance;
use crate::target::rounding::deviations;
use crate::theory::certificate::{Ball, Outside, moment_error};
use crate::theory::upward;

/// The constants behind every functional's error, without the target and the draws that gave them.
/// ```text
/// global   |E_p vᵀz − vᵀm|, |sd_p vᵀz − ‖Cᵀv‖| ≤ √(vᵀH_lo⁻¹v)·√(2·KL)              [cert-moments]
/// local    ω + ‖Cᵀv‖T_1 and the like for the sd, ω = √(vᵀ(C H_R⁻¹ Cᵀ)v)·√F_B       [local-moments]
/// every    a constant times ‖Cᵀv‖                                                 [every-direction]
/// ```
/// Each metric is kept as a triangular R with RRᵀ ⪰ H_lo⁻¹, or RRᵀ ⪰ C H_R⁻¹ Cᵀ, in the user's coordinates: the
/// norm of v is ‖Rᵀv‖. Memory: d(d+1)/2 numbers each. Cost of a functional: one pass.
///
/// They can be read but not changed; those from a file are the file's claim.
/// ```compile_fail,E0594
/// fn forge(mut bounds: provi::functional::MomentBounds) {
///     bounds.confidence = 1.0;
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MomentBounds(pub(crate) MomentBoundsFields);

crate::certify::certificate::read_only!(MomentBounds, MomentBoundsFields);

/// The contents of [`MomentBounds`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MomentBoundsFields {
    /// From the curvature on the whole space.
    pub global: Option<GlobalBound>,
    /// From the curvature on a ball.
    pub local: Option<LocalBound>,
    /// Measured by draws.
    #[cfg_attr(feature = "serde", serde(default))]
    pub every: Option<EveryBound>,
    /// The probability over the audit's draws with which all bounds hold, together with the certificate's.
    pub confidence: f64,
    /// Why there is none.
    pub reason: String,
}

/// A KL bound and the metric that turns it into moments.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct GlobalBound {
    /// R with RRᵀ ⪰ H_lo⁻¹, lower triangular, packed row by row.
    pub metric: Vec<f64>,
    /// Upper bound of KL(q‖p), in nats.
    pub kl: f64,
    /// The weaker origin of the two.
    pub provenance: Provenance,
}

/// What is proved on a ball around m.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LocalBound {
    /// R with RRᵀ ⪰ C H_R⁻¹ Cᵀ, lower triangular, packed row by row.
    pub metric: Vec<f64>,
    /// The bound F_B.
    pub fisher: f64,
    /// The bounds T_0, T_1, T_2 of mass and moments outside the ball.
    pub outside: [f64; 3],
    /// α = P(χ²_d > R²).
    pub alpha: f64,
    /// α₂ = P(χ²_{d+2} > R²).
    pub alpha2: f64,
    /// The weakest origin of its constants.
    pub provenance: Provenance,
}

/// What is measured in every direction at once [every-direction].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct EveryBound {
    /// Bound of |E_p vᵀz − vᵀm|/‖Cᵀv‖ for every v.
    pub mean: f64,
    /// Bound of |sd_p vᵀz − ‖Cᵀv‖|/‖Cᵀv‖ for every v.
    pub sd: f64,
    /// The weakest origin of its constants.
    pub provenance: Provenance,
}

impl MomentBounds {
    /// Bounds that prove nothing, with the reason.
    pub fn nothing(reason: String) -> Self {
        Self(MomentBoundsFields { global: None, local: None, every: None, confidence: 1.0, reason })
    }

    /// Bounds of |E_p vᵀz − vᵀm| and |sd_p vᵀz − ‖Cᵀv‖|; q is the Gaussian at which they were measured.
    pub fn functional(&self, q: &Gaussian<Triangular>, v: &[f64]) -> Result<[Statement; 2]> {
        let deviation = q.deviation_of(v)?;
        let mut out = [Statement::missing(&self.reason), Statement::missing(&self.reason)];
        let mut offer = |errors: [f64; 2], key: &str, provenance| {
            out = [0, 1].map(|i| {
                out[i].clone().or_better(Statement::proved(errors[i], self.confidence, key, provenance))
            });
        };
        if let Some(global) = &self.global {
            let error = moment_error(metric_norm(&global.metric, v)?, global.kl);
            offer([error; 2], "cert-moments", global.provenance);
        }
        if let Some(local) = &self.local {
            let outside = Outside { moments: local.outside };
            let ball = Ball { fisher: local.fisher, outside, alpha: local.alpha, alpha2: local.alpha2 };
            let errors = ball.moments(deviation, metric_norm(&local.metric, v)?);
            offer(errors, "local-moments", local.provenance);
        }
        if let Some(every) = &self.every {
            let scale = metric_norm(q.factor(), v)?;
            // What rounding of q's own numbers does to a sum that may cancel.
            let sizes: f64 = deviations(q).iter().zip(v).map(|(sd, v)| sd * v.abs()).sum();
            let lost = 64.0 * (v.len() as f64 + 8.0) * f64::EPSILON * sizes;
            offer([scale * every.mean + lost, scale * every.sd + lost], "every-direction", every.provenance);
        }
        Ok(out)
    }
}

impl MomentBounds {
    /// Bound of |E_p g(vᵀz) − E_q g(vᵀz)| for every g with |g′| ≤ `slope` and values in an interval of this `width`: the couplings behind
    /// the bounds of the mean carry over.
    /// ```text
    /// global   slope·√(vᵀH_lo⁻¹v)·√(2·KL)                                            [cert-moments]
    /// local    slope·ω + width·(α + T_0)                                            [local-moments]
    /// ```
    /// A probability has width 1, and slope ¼ in the logit link.
    pub fn bounded_mean(&self, v: &[f64], slope: f64, width: f64) -> Result<Statement> {
        let mut out = Statement::missing(&self.reason);
        if let Some(global) = &self.global {
            let error = upward(slope * moment_error(metric_norm(&global.metric, v)?, global.kl));
            out = out.or_better(Statement::proved(error, self.confidence, "cert-moments", global.provenance));
        }
        if let Some(local) = &self.local {
            let omega = upward(metric_norm(&local.metric, v)? * local.fisher.sqrt());
            let error = upward(slope * omega + width * (local.alpha + local.outside[0]));
            out = out.or_better(Statement::proved(error, self.confidence, "local-moments", local.provenance));
        }
        Ok(out)
    }
}

/// ‖Rᵀv‖, rounded up: each row of R is known to 1e-10 of its norm, and the products may cancel.
fn metric_norm(metric: &[f64], v: &[f64]) -> Result<f64> {
    let d = v.len();
    if metric.len() != packed_len(d) {
        return Err(Error::Shape { what: "packed metric", found: metric.len(), expected: packed_len(d) });
    }
    let mut pulled = vec![0.0; d];
    provi_kernels::triangle::multiply_transposed(metric, v, &mut pulled);
    let row = |i: usize| norm(&metric[packed_index(i, 0)..=packed_index(i, i)]);
    let rows: f64 = (0..d).map(|i| v[i].abs() * row(i)).sum();
    Ok((norm(&pulled) + 1e-10 * rows) * (1.0 + 1e-10))
}
